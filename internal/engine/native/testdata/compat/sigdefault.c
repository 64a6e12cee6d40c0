// What signals do to a process by default: ends, core, stops, continues; and what its parent learns.
#include "compat.h"
#include <sys/prctl.h>
#include <sys/resource.h>

static void by_default(void) {
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	for (int signo = 1; signo < 32; signo++) {
		if (signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU) continue;
		pid_t child = fork();
		if (child == 0) {
			signal(signo, SIG_DFL);
			raise(signo);
			_exit(0);
		}
		char label[32];
		strcpy(label, signal_name(signo));
		reap(child, label);
	}
	pid_t child = fork();
	if (child == 0) {
		raise(SIGRTMIN + 3);
		_exit(0);
	}
	reap(child, "SIGRTMIN+3");
}

static volatile int handled;
static void on_abort(int signo) { handled++; }
static void aborts(void) {
	IN_CHILD("abort") abort();
	IN_CHILD("abort, ignored") {
		signal(SIGABRT, SIG_IGN);
		abort();
	}
	IN_CHILD("abort, handled") {
		signal(SIGABRT, on_abort);
		abort();
	}
	IN_CHILD("abort, blocked") {
		sigset_t s;
		sigfillset(&s);
		sigprocmask(SIG_BLOCK, &s, NULL);
		abort();
	}
	IN_CHILD("a fault, ignored") {
		signal(SIGSEGV, SIG_IGN);
		*(volatile int *)8 = 1;
	}
	IN_CHILD("a fault, blocked") {
		sigset_t s;
		sigfillset(&s);
		sigprocmask(SIG_BLOCK, &s, NULL);
		*(volatile int *)8 = 1;
	}
	IN_CHILD("a fault in the handler of the fault") {
		void again(int signo) { *(volatile int *)8 = 1; }
		signal(SIGSEGV, again);
		*(volatile int *)8 = 1;
	}
	IN_CHILD("kill with a handler for it") {
		signal(SIGTERM, on_abort);
		kill(getpid(), SIGTERM);
		_exit(handled == 1 ? 8 : 9);
	}
}

static void stops(void) {
	pid_t child = fork();
	int status;
	if (child == 0) {
		raise(SIGSTOP);
		pause();
	}
	IS(waitpid(child, &status, WUNTRACED) == child, "a stop is reported");
	show_status("child", status);
	CALL(waitpid(child, &status, WUNTRACED | WNOHANG), "only once");
	CALL(waitpid(child, &status, WNOHANG), "not ended");
	kill(child, SIGCONT);
	IS(waitpid(child, &status, WCONTINUED) == child, "a continue is reported");
	show_status("child", status);
	kill(child, SIGTERM);
	reap(child, "child");
}

static void stop_and_go(void) {
	int p[2], status;
	char c;
	MUST(pipe(p));
	pid_t child = fork();
	if (child == 0)
		for (;;) nap(2), MUST(write(p[1], "x", 1));
	MUST(read(p[0], &c, 1));
	CALL(kill(child, SIGSTOP), "stop");
	waitpid(child, &status, WUNTRACED);
	show_status("child", status);
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	while (read(p[0], &c, 1) == 1) {}
	nap(20);
	CALL(read(p[0], &c, 1), "a stopped child writes nothing");
	CALL(kill(child, SIGTERM), "terminate it while stopped");
	nap(10);
	CALL(waitpid(child, &status, WNOHANG), "it is still there");
	CALL(kill(child, SIGCONT), "continue");
	reap(child, "child");
	child = fork();
	if (child == 0)
		for (;;) pause();
	kill(child, SIGSTOP);
	waitpid(child, &status, WUNTRACED);
	kill(child, SIGKILL);
	reap(child, "killed while stopped");
	close(p[0]), close(p[1]);
}

static void waitids(void) {
	pid_t child = fork();
	siginfo_t i;
	if (child == 0) {
		raise(SIGSTOP);
		pause();
	}
	CALL(waitid(P_PID, child, &i, WSTOPPED), "waitid for a stop");
	IS(i.si_code == CLD_STOPPED && i.si_status == SIGSTOP && i.si_pid == child && i.si_signo == SIGCHLD, "its facts");
	kill(child, SIGCONT);
	CALL(waitid(P_PID, child, &i, WCONTINUED), "waitid for a continue");
	IS(i.si_code == CLD_CONTINUED && i.si_status == SIGCONT, "its facts");
	kill(child, SIGTERM);
	CALL(waitid(P_PID, child, &i, WEXITED), "waitid for the end");
	IS(i.si_code == CLD_KILLED && i.si_status == SIGTERM, "its facts");
}

static volatile siginfo_t last;
static volatile int infos;
static void on_child(int signo, siginfo_t *i, void *c) { memcpy((void *)&last, i, sizeof last), infos++; }
static void notices(void) {
	struct sigaction a = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO};
	int status;
	for (int nocldstop = 0; nocldstop < 2; nocldstop++) {
		a.sa_flags = SA_SIGINFO | (nocldstop ? SA_NOCLDSTOP : 0);
		sigaction(SIGCHLD, &a, NULL);
		infos = 0;
		pid_t child = fork();
		if (child == 0) {
			raise(SIGSTOP);
			_exit(1);
		}
		while (waitpid(child, &status, WUNTRACED) != child) {}
		show_status("child", status);
		say("SIGCHLD after a stop: %d", infos);
		if (infos) IS(last.si_code == CLD_STOPPED, "it says stopped");
		infos = 0;
		kill(child, SIGCONT);
		while (waitpid(child, &status, 0) != child) {}
		show_status("child", status);
		IS(infos >= 1, "SIGCHLD after the end");
	}
}

// In an orphaned process group, stop signals of a terminal do nothing.
static void groups(void) {
	int status;
	pid_t child = fork();
	if (child == 0) {
		setsid();
		raise(SIGTSTP);
		_exit(6);
	}
	reap(child, "SIGTSTP in an orphaned group");
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		raise(SIGTSTP);
		_exit(6);
	}
	waitpid(child, &status, WUNTRACED);
	show_status("SIGTSTP in a group of its own", status);
	kill(child, SIGCONT);
	reap(child, "continued");
	child = fork();
	if (child == 0) {
		signal(SIGTSTP, SIG_IGN);
		raise(SIGTSTP);
		_exit(6);
	}
	reap(child, "SIGTSTP ignored");
}

CASES(C(by_default), C(aborts), C(stops), C(stop_and_go), C(waitids), C(notices), C(groups))
