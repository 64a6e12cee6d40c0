// Waiting for children: options, zombies, groups, orphans, exit codes, pidfds.
#include "compat.h"
#include <linux/wait.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static pid_t exiting(int code) {
	pid_t child = MUST(fork());
	if (child == 0) _exit(code);
	return child;
}
static pid_t waiting(void) {
	pid_t child = MUST(fork());
	if (child == 0)
		for (;;) pause();
	return child;
}

static void codes(void) {
	static const int code[] = {0, 1, 127, 255, 256, 257, -1};
	for (unsigned i = 0; i < COUNT(code); i++) {
		char label[16];
		sprintf(label, "exit %d", code[i]);
		reap(exiting(code[i]), label);
	}
	CALL(wait(NULL), "no child");
	CALL(waitpid(-1, NULL, WNOHANG), "no child, WNOHANG");
	CALL(waitpid(getpid(), NULL, 0), "not a child");
	CALL(waitpid(1, NULL, 0), "not a child either");
	CALL(waitpid(-999999, NULL, 0), "no such group");
	CALL(waitpid(-1, NULL, 0x100000), "bad options");
	CALL(syscall(SYS_wait4, INT32_MIN, NULL, 0, NULL), "the least pid");
	siginfo_t i;
	CALL(waitid(P_ALL, 0, &i, WNOHANG), "waitid for nothing");
	CALL(waitid(99, 0, &i, WEXITED), "waitid for a bad type");
	CALL(waitid(P_PID, -1, &i, WEXITED), "waitid for pid -1");
}

static void options(void) {
	pid_t child = waiting();
	int status;
	siginfo_t i = {.si_pid = 77, .si_signo = 77};
	CALL(waitpid(child, &status, WNOHANG), "WNOHANG, running");
	CALL(waitid(P_PID, child, &i, WEXITED | WNOHANG), "waitid WNOHANG, running");
	say("pid %d, signo %d", i.si_pid, i.si_signo);
	kill(child, SIGTERM);
	CALL(waitid(P_PID, child, &i, WEXITED | WNOWAIT), "WNOWAIT");
	IS(i.si_pid == child && i.si_status == SIGTERM && i.si_code == CLD_KILLED && i.si_signo == SIGCHLD && i.si_uid == getuid(), "the facts");
	CALL(kill(child, 0), "the zombie can be asked for");
	CALL(kill(child, SIGKILL), "and killed");
	CALL(waitid(P_ALL, 0, &i, WEXITED | WNOWAIT), "still there");
	IS(waitpid(-1, &status, 0) == child, "taken");
	show_status("child", status);
	CALL(kill(child, 0), "gone");
	child = exiting(3);
	struct rusage u;
	memset(&u, 0xff, sizeof u);
	IS(wait4(child, &status, 0, &u) == child, "wait4");
	IS(u.ru_utime.tv_sec == 0 && u.ru_maxrss >= 0, "its use of resources");
	child = exiting(3);
	IS(wait4(child, NULL, 0, NULL) == child, "wait4 without status");
	child = exiting(3);
	CALL(syscall(SYS_wait4, child, (int *)8, 0, NULL), "wait4 to a bad address");
	CALL(syscall(SYS_wait4, child, NULL, 0, NULL), "the child is gone all the same");
}

static void selection(void) {
	pid_t a = exiting(1), b = exiting(2);
	int status;
	IS(waitpid(b, &status, 0) == b, "the second first");
	show_status("second", status);
	IS(waitpid(0, &status, 0) == a, "any of the own group");
	show_status("first", status);
	a = fork();
	if (a == 0) {
		setpgid(0, 0);
		_exit(3);
	}
	setpgid(a, a);
	b = exiting(4);
	IS(waitpid(-a, &status, 0) == a, "of another group");
	IS(waitpid(0, &status, 0) == b, "of the own group");
	CALL(waitpid(-a, &status, 0), "the group is empty");
	int seen = 0;
	for (int i = 0; i < 5; i++) exiting(i);
	for (int i = 0; i < 5; i++) {
		MUST(wait(&status));
		seen |= 1 << WEXITSTATUS(status);
	}
	say("five children: %#x", seen);
}

static void not_kept(void) {
	int p[2];
	char c;
	MUST(pipe(p));
	signal(SIGCHLD, SIG_IGN);
	if (fork() == 0) _exit(0);
	CALL(wait(NULL), "SIGCHLD ignored: wait for the end, then no child");
	struct sigaction a = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
	sigaction(SIGCHLD, &a, NULL);
	pid_t child = fork();
	if (child == 0) {
		close(p[1]);
		_exit(0);
	}
	close(p[1]);
	MUST(read(p[0], &c, 1) + 1);
	CALL(waitpid(child, NULL, 0), "SA_NOCLDWAIT");
	signal(SIGCHLD, SIG_DFL);
	close(p[0]);
}

// A process whose parent ends is given to a reaper.
static void orphans(void) {
	int p[2], q[2];
	pid_t grandchild = 0, self = getpid();
	MUST(pipe(p)), MUST(pipe(q));
	CALL(prctl(PR_SET_CHILD_SUBREAPER, 1), "become a reaper");
	pid_t child = fork();
	if (child == 0) {
		pid_t g = fork();
		if (g == 0) {
			char c;
			MUST(write(p[1], &(pid_t){getpid()}, sizeof(pid_t)));
			MUST(read(q[0], &c, 1));
			_exit(getppid() == self ? 5 : 6);
		}
		_exit(0);
	}
	reap(child, "child");
	MUST(read(p[0], &grandchild, sizeof grandchild));
	MUST(write(q[1], "x", 1));
	reap(grandchild, "grandchild, now a child");
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	child = fork();
	if (child == 0) {
		if (fork() == 0) {
			char c;
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			MUST(write(p[1], "r", 1));
			read(q[0], &c, 1);
			_exit(0);
		}
		char c;
		MUST(read(p[0], &c, 1));
		_exit(0);
	}
	close(q[1]), close(p[1]);
	reap(child, "child whose child asked for a signal at its death");
	char c;
	CALL(read(p[0], &c, 1), "the grandchild is gone");
	close(p[0]), close(q[0]);
}

static void groups(void) {
	pid_t self = getpid();
	int p[2];
	char c;
	MUST(pipe(p));
	IS(getpgid(0) == getpgrp() && getsid(0) == getsid(self), "own group and session");
	CALL(getpgid(0x3ffffff), "the group of nobody");
	CALL(getsid(0x3ffffff), "the session of nobody");
	CALL(setpgid(0, -1), "a negative group");
	CALL(setpgid(0x3ffffff, 0), "the group of nobody");
	IN_CHILD("child that makes a group") {
		IS(setpgid(0, 0) == 0 && getpgrp() == getpid(), "its own group");
		CALL(setsid(), "a leader of a group cannot make a session");
		CALL(setpgid(0, 0), "again");
		CALL(setpgid(0, 0x3ffffff), "a group that does not exist");
	}
	IN_CHILD("child that makes a session") {
		IS(setsid() == getpid() && getsid(0) == getpid() && getpgrp() == getpid(), "its own session");
		CALL(setsid(), "again");
		CALL(setpgid(0, 0), "a leader of a session");
		CALL(open("/dev/tty", O_RDWR), "it has no terminal");
	}
	pid_t a = fork();
	if (a == 0) {
		setpgid(0, 0);
		MUST(write(p[1], "x", 1));
		for (;;) pause();
	}
	MUST(read(p[0], &c, 1));
	pid_t b = fork();
	if (b == 0) {
		IS(setpgid(0, a) == 0 && getpgrp() == a, "join another group");
		MUST(write(p[1], "x", 1));
		for (;;) pause();
	}
	MUST(read(p[0], &c, 1));
	CALL(kill(-a, 0), "signal 0 to the group");
	CALL(kill(-a, SIGTERM), "signal to the group");
	reap(a, "first");
	reap(b, "second");
	CALL(kill(-a, 0), "the group is gone");
	a = fork();
	if (a == 0) {
		execl("/bin/sleep", "sleep", "5", NULL);
		_exit(1);
	}
	nap(50);
	CALL(setpgid(a, a), "the group of a child after exec");
	kill(a, SIGKILL);
	reap(a, "child");
	a = fork(); // a group with a zombie in it, for which nobody waits any more when its parent dies first
	if (a == 0) {
		setpgid(0, 0);
		if (fork() == 0) _exit(0);
		nap(50);
		MUST(write(p[1], "x", 1));
		for (;;) pause();
	}
	MUST(read(p[0], &c, 1));
	CALL(kill(-a, SIGKILL), "signal to a group with a zombie");
	reap(a, "its leader");
	close(p[0]), close(p[1]);
}

static int pidfd_open(pid_t pid, int flags) { return syscall(SYS_pidfd_open, pid, flags); }
static int pidfd_signal(int fd, int signo) { return syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0); }

static void pidfds(void) {
	pid_t child = waiting();
	siginfo_t i;
	CALL(pidfd_open(0x3ffffff, 0), "of nobody");
	CALL(pidfd_open(0, 0), "of pid 0");
	CALL(pidfd_open(-1, 0), "of pid -1");
	CALL(pidfd_open(child, 0x40), "a bad flag");
	int fd = OK(pidfd_open(child, 0), "of a child");
	IS(fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	POLL(fd, "running");
	CALL(pidfd_signal(fd, 0), "signal 0");
	CALL(pidfd_signal(fd, 99), "a bad signal");
	CALL(pidfd_signal(0, SIGTERM), "not a pidfd");
	int ep = MUST(epoll_create1(0));
	struct epoll_event e = {.events = EPOLLIN};
	CALL(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "add to an epoll");
	CALL(pidfd_signal(fd, SIGTERM), "SIGTERM");
	CALL(epoll_wait(ep, &e, 1, 2000), "epoll_wait for the end");
	IS(ready(fd, POLLIN, 0) & POLLIN, "poll says readable");
	CALL(pidfd_signal(fd, 0), "signal 0 to the zombie");
	CALL(waitid(P_PIDFD, fd, &i, WEXITED), "waitid");
	IS(i.si_pid == child && i.si_status == SIGTERM, "the child");
	CALL(pidfd_signal(fd, 0), "signal 0 to nobody");
	CALL(waitid(P_PIDFD, fd, &i, WEXITED), "waitid again");
	IS(ready(fd, POLLIN, 0) & POLLIN, "still readable");
	char c;
	CALL(read(fd, &c, 1), "read");
	close(ep), close(fd);
	child = waiting();
	fd = MUST(pidfd_open(child, O_NONBLOCK));
	CALL(waitid(P_PIDFD, fd, &i, WEXITED), "waitid, non-blocking");
	kill(child, SIGKILL);
	ready(fd, POLLIN, 2000);
	CALL(waitid(P_PIDFD, fd, &i, WEXITED), "waitid, non-blocking, ended");
	close(fd);
}

CASES(C(codes), C(options), C(selection), C(not_kept), C(orphans), C(groups), C(pidfds))
