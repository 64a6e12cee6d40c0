// The signal that the end of a child sends to its parent: clone(2) masks it with CSIGNAL, clone3(2) checks it, and a number that is
// no signal sends nothing.
#include "compat.h"
#include <linux/sched.h>
#include <sys/prctl.h>

static volatile int came[65];
static void noted(int signo) { came[signo]++; }

// notes counts every signal that a process can handle.
static void notes(void) {
	struct sigaction a = {.sa_handler = noted};
	for (int s = 1; s < 65; s++) {
		came[s] = 0;
		if (s != SIGKILL && s != SIGSTOP && s != 32 && s != 33) sigaction(s, &a, NULL);
	}
}

// told says which signals came, in one line.
static void told(const char *label) {
	char text[256] = "";
	for (int s = 1; s < 65; s++)
		if (came[s]) sprintf(text + strlen(text), " %s*%d", signal_name(s), came[s]), came[s] = 0;
	say("%s: signals%s", label, *text ? text : " none");
}

static pid_t cloned(unsigned long flags, int code) {
	pid_t child = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (child == 0) _exit(code);
	return child;
}

static int field(const char *path, int n) {
	char text[1024];
	int fd = open(path, O_RDONLY);
	long got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0) close(fd);
	text[got < 0 ? 0 : got] = 0;
	char *p = strrchr(text, ')');
	if (!p) return -1;
	for (int i = 2; p && i < n; i++) p = strchr(p + 1, ' ');
	return p ? atoi(p + 1) : -1;
}

static void one(unsigned long flags, const char *label) {
	char path[64];
	int hold[2], status = -1;
	siginfo_t info;
	MUST(pipe(hold));
	fflush(stdout);
	pid_t child = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (child < 0) {
		say("%s: clone %s", label, errno_name(errno));
		return;
	}
	if (child == 0) {
		char c;
		close(hold[1]), read(hold[0], &c, 1);
		_exit(7);
	}
	sprintf(path, "/proc/%d/stat", child);
	say("%s: exit_signal in stat: %d", label, field(path, 38));
	close(hold[0]), close(hold[1]);
	CALL(waitid(P_PID, child, &info, WEXITED | WNOWAIT | __WALL), "%s: waitid", label);
	say("%s: si_signo %d, si_code %d, si_status %d", label, info.si_signo, info.si_code, info.si_status);
	told(label);
	CALL(waitpid(child, &status, WNOHANG) == child, "%s: wait finds it", label);
	CALL(waitpid(child, &status, WNOHANG | __WCLONE) == child, "%s: with __WCLONE", label);
	CALL(waitpid(child, &status, WNOHANG | __WALL) == child, "%s: with __WALL", label);
	show_status(label, status);
}

static void numbers(void) {
	static const int number[] = {0, 1, SIGUSR1, SIGCHLD, 31, 34, 63, 64, 65, 66, 127, 128, 200, 254, 255};
	notes();
	for (unsigned i = 0; i < COUNT(number); i++) {
		char label[32];
		sprintf(label, "exit signal %d", number[i]);
		one(number[i], label);
	}
	one(0x100000000UL | 65, "a flag above 32 bits");
}

static void all(void) {
	notes();
	int faults = 0;
	for (int n = 0; n < 256; n++) {
		if (n == SIGKILL || n == SIGSTOP || n == 32 || n == 33) continue; // as they cannot be handled here
		pid_t child = cloned(n, n);
		int status = 0;
		if (child < 0 || waitpid(child, &status, __WALL) != child || WEXITSTATUS(status) != n) {
			say("exit signal %d: clone %d, status %#x", n, child < 0 ? -1 : 1, status);
			faults++;
			continue;
		}
		for (int s = 1; s < 65; s++) {
			if ((came[s] != 0) != (s == n)) say("exit signal %d: signal %d came %d times", n, s, came[s]), faults++;
			came[s] = 0;
		}
	}
	say("%d faults", faults);
}

static void ignored(void) {
	signal(SIGCHLD, SIG_IGN);
	int status;
	static const int number[] = {0, SIGUSR2, 65, 255};
	signal(SIGUSR2, SIG_IGN);
	for (unsigned i = 0; i < COUNT(number); i++) {
		pid_t child = cloned(number[i], 5);
		CALL(waitpid(child, &status, __WALL) == child, "exit signal %d while SIGCHLD is ignored", number[i]);
	}
	pid_t child = cloned(SIGCHLD, 5);
	CALL(waitpid(child, &status, __WALL), "SIGCHLD while it is ignored");
}

static void wakes(void) {
	// The end of a child without a signal ends a wait all the same.
	int status = 0;
	pid_t child = syscall(SYS_clone, 200, NULL, NULL, NULL, NULL);
	if (child == 0) {
		nap(20);
		_exit(9);
	}
	IS(waitpid(child, &status, __WCLONE) == child, "a waiting parent wakes up");
	show_status("child", status);
}

static void parents(void) {
	// CLONE_PARENT: the new process has the exit signal of the one that made it.
	notes();
	int status;
	pid_t child = syscall(SYS_clone, 99, NULL, NULL, NULL, NULL);
	if (child == 0) {
		pid_t sibling = cloned(CLONE_PARENT | SIGUSR1, 3);
		_exit(sibling > 0 ? 4 : 5);
	}
	CALL(waitpid(child, &status, __WALL) == child, "the first");
	show_status("the first", status);
	CALL(waitpid(-1, &status, 0), "the second, as a common child");
	OK(waitpid(-1, &status, __WALL), "the second");
	show_status("the second", status);
	told("both");
}

static void executed(void) {
	// A child that executes a program has SIGCHLD from then on.
	notes();
	int status, hold[2], go[2];
	char path[64], text[16], c;
	MUST(pipe(hold)), MUST(pipe(go));
	pid_t child = syscall(SYS_clone, 77, NULL, NULL, NULL, NULL);
	if (child == 0) {
		dup2(hold[0], 0), dup2(go[1], 1);
		close(hold[1]), close(go[0]);
		execl("/bin/cat", "cat", NULL);
		_exit(99);
	}
	MUST(write(hold[1], "x", 1)), MUST(read(go[0], &c, 1));
	sprintf(path, "/proc/%d/stat", child);
	say("exit_signal in stat: %d", field(path, 38));
	close(hold[0]), close(hold[1]);
	CALL(waitpid(child, &status, 0) == child, "a common wait finds it");
	show_status("child", status);
	told("its end");
}

static void orphans(void) {
	// A child whose parent ends has SIGCHLD at its next one.
	notes();
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	int status, hold[2], back[2];
	pid_t grandchild;
	char path[64];
	MUST(pipe(hold)), MUST(pipe(back));
	pid_t child = fork();
	if (child == 0) {
		grandchild = syscall(SYS_clone, 88, NULL, NULL, NULL, NULL);
		if (grandchild == 0) {
			char c;
			close(hold[1]), read(hold[0], &c, 1);
			_exit(6);
		}
		write(back[1], &grandchild, sizeof grandchild);
		_exit(1);
	}
	MUST(read(back[0], &grandchild, sizeof grandchild));
	CALL(waitpid(child, &status, 0) == child, "the parent");
	told("its end");
	sprintf(path, "/proc/%d/stat", grandchild);
	say("exit_signal in stat: %d", field(path, 38));
	close(hold[0]), close(hold[1]);
	CALL(waitpid(grandchild, &status, 0) == grandchild, "the orphan");
	show_status("the orphan", status);
	told("its end");
}

static void zombies(void) {
	// An orphan that had ended before is reported to its new parent as a common child.
	notes();
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	int status, back[2];
	pid_t grandchild;
	MUST(pipe(back));
	pid_t child = fork();
	if (child == 0) {
		siginfo_t info;
		grandchild = cloned(123, 6);
		waitid(P_PID, grandchild, &info, WEXITED | WNOWAIT | __WALL);
		write(back[1], &grandchild, sizeof grandchild);
		_exit(1);
	}
	MUST(read(back[0], &grandchild, sizeof grandchild));
	CALL(waitpid(child, &status, 0) == child, "the parent");
	CALL(waitpid(grandchild, &status, 0) == grandchild, "the orphan");
	show_status("the orphan", status);
	IS(came[SIGCHLD] > 0, "it was reported");
}

static void forgotten(void) {
	// A parent that executes a program gets SIGCHLD from the children it has, whatever signal was asked for.
	int status, hold[2], go[2], end[2], ended[2];
	char c;
	MUST(pipe(hold)), MUST(pipe(go)), MUST(pipe(end)), MUST(pipe(ended));
	pid_t parent = fork();
	if (parent == 0) {
		signal(SIGUSR1, SIG_DFL);
		close(end[1]);
		pid_t child = syscall(SYS_clone, SIGUSR1, NULL, NULL, NULL, NULL);
		if (child == 0) {
			close(hold[1]);
			read(end[0], &c, 1);
			_exit(0);
		}
		dup2(hold[0], 0), dup2(go[1], 1);
		close(hold[1]), close(ended[1]);
		execl("/bin/cat", "cat", NULL);
		_exit(99);
	}
	close(ended[1]);
	MUST(write(hold[1], "x", 1)), MUST(read(go[0], &c, 1)); // it executes cat
	close(end[0]), close(end[1]);
	CALL(read(ended[0], &c, 1), "its child ends");
	nap(20);
	close(hold[0]), close(hold[1]);
	CALL(waitpid(parent, &status, 0) == parent, "the parent");
	show_status("the parent", status);
}

static long clone3(uint64_t flags, uint64_t signal, uint64_t size) {
	struct clone_args a = {.flags = flags, .exit_signal = signal};
	char room[128] = {0};
	memcpy(room, &a, sizeof a);
	long r = syscall(SYS_clone3, room, size);
	if (r == 0) _exit(0);
	return r;
}

static void third(void) {
	static const uint64_t number[] = {0, 1, 17, 63, 64, 65, 127, 128, 255, 256, 257, 1ULL << 32, 1ULL << 32 | 17, 1ULL << 63, ~0ULL};
	notes();
	if (clone3(0, 17, 64) < 0) {
		say("skip: no clone3");
		return;
	}
	waitpid(-1, NULL, __WALL);
	for (unsigned i = 0; i < COUNT(number); i++) {
		OK(clone3(0, number[i], 64), "clone3 with exit signal %#llx", (unsigned long long)number[i]);
		while (waitpid(-1, NULL, __WALL) > 0) {}
	}
	told("all");
	OK(clone3(17, 0, 64), "with the signal in flags");
	OK(clone3(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM, 17, 64), "of a thread");
	OK(clone3(CLONE_PARENT, 17, 64), "with CLONE_PARENT");
	OK(clone3(CLONE_PIDFD, 17, 64), "with a pidfd to a bad address");
	OK(clone3(CLONE_DETACHED, 17, 64), "with CLONE_DETACHED");
	OK(clone3(1ULL << 40, 17, 64), "with an unknown flag");
	OK(clone3(0, 17, 63), "too small");
	OK(clone3(0, 17, 65), "of an odd size");
	OK(clone3(0, 17, 96), "larger, with zeros");
	OK(clone3(0, 17, 1 << 20), "too large");
	char room[96] = {0};
	room[95] = 1;
	OK(syscall(SYS_clone3, room, 96), "with more than this Linux knows");
	OK(syscall(SYS_clone3, 8L, 64L), "at a bad address");
	while (waitpid(-1, NULL, __WALL) > 0) {}
}

static void deaths(void) {
	// PR_SET_PDEATHSIG refuses what is no signal.
	static const long number[] = {0, 1, 64, 65, 255, -1, 1L << 32, 1L << 40 | 9};
	for (unsigned i = 0; i < COUNT(number); i++) CALL(prctl(PR_SET_PDEATHSIG, number[i]), "PR_SET_PDEATHSIG %#lx", number[i]);
	prctl(PR_SET_PDEATHSIG, 0);
}

CASES(C(numbers), C(all), C(ignored), C(wakes), C(parents), C(executed), C(orphans), C(zombies), C(forgotten), C(third), C(deaths))
