// Locks on files: flock, record locks, OFD locks, leases of processes that end.
#include "compat.h"
#include <sys/file.h>

static int file(void) { return MUST(open("locked", O_RDWR | O_CREAT, 0600)); }
static struct flock range(int type, long start, long len) {
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
}
static int set(int fd, int cmd, int type, long start, long len) {
	struct flock l = range(type, start, len);
	return fcntl(fd, cmd, &l);
}
static void ask(int fd, int cmd, int type, long start, long len, pid_t owner, const char *label) {
	struct flock l = range(type, start, len);
	if (fcntl(fd, cmd, &l) < 0) say("%s: -1 %s", label, errno_name(errno));
	else if (l.l_type == F_UNLCK) say("%s: free", label);
	else say("%s: %s lock from %ld, %ld bytes, owner %s", label, l.l_type == F_RDLCK ? "read" : "write", (long)l.l_start, (long)l.l_len,
		l.l_pid == owner ? "known" : l.l_pid == -1 ? "-1" : "another");
}

// other runs a block in a child that holds nothing of the parent's locks.
#define OTHER for (pid_t c_ = fork(), o_ = 1; o_; o_ = 0, c_ ? (void)waitpid(c_, NULL, 0) : _exit(0)) if (c_ == 0)

static void flocks(void) {
	int a = file(), b = file(), d = MUST(dup(a));
	CALL(flock(a, LOCK_SH), "shared");
	CALL(flock(b, LOCK_SH | LOCK_NB), "shared by another open file");
	CALL(flock(b, LOCK_EX | LOCK_NB), "exclusive by another");
	CALL(flock(a, LOCK_UN), "unlock the first");
	CALL(flock(b, LOCK_EX | LOCK_NB), "upgrade");
	CALL(flock(a, LOCK_SH | LOCK_NB), "shared by the first");
	CALL(flock(b, LOCK_UN), "unlock");
	CALL(flock(b, LOCK_UN), "unlock again");
	CALL(flock(a, LOCK_EX), "exclusive");
	CALL(flock(d, LOCK_EX | LOCK_NB), "by a dup");
	close(a);
	CALL(flock(b, LOCK_EX | LOCK_NB), "after one of two descriptors is closed");
	OTHER CALL(flock(d, LOCK_UN), "a child unlocks what it has inherited");
	CALL(flock(b, LOCK_EX | LOCK_NB), "the parent's is gone");
	OTHER {
		int c = file();
		CALL(flock(c, LOCK_SH | LOCK_NB), "another process");
	}
	OTHER {
		int c = file();
		flock(b, LOCK_UN);
		flock(c, LOCK_EX);
	}
	CALL(flock(b, LOCK_EX | LOCK_NB), "after another process held it and ended");
	CALL(flock(b, 0x10), "a bad operation");
	int ro = MUST(open("locked", O_RDONLY));
	flock(b, LOCK_UN);
	CALL(flock(ro, LOCK_EX | LOCK_NB), "exclusive on what is open to read");
	CALL(flock(CLOSED_FD, LOCK_SH), "a closed descriptor");
	close(b), close(d), close(ro);
	a = file();
	pid_t child = fork();
	if (child == 0) {
		close(a);
		int c = file();
		flock(c, LOCK_EX);
		nap(60);
		_exit(0);
	}
	close(a), a = file();
	while (flock(a, LOCK_EX | LOCK_NB) == 0) flock(a, LOCK_UN), nap(1);
	CALL(flock(a, LOCK_EX), "wait for a process that ends");
	reap(child, "child");
	close(a);
}

static void records(void) {
	int fd = file();
	pid_t self = getpid();
	CALL(set(fd, F_SETLK, F_WRLCK, 10, 10), "write lock 10..19");
	CALL(set(fd, F_SETLK, F_RDLCK, 30, 0), "read lock from 30 to the end");
	ask(fd, F_GETLK, F_WRLCK, 0, 0, self, "own locks do not count");
	OTHER {
		int o = file();
		ask(o, F_GETLK, F_WRLCK, 0, 10, self, "0..9");
		ask(o, F_GETLK, F_WRLCK, 0, 11, self, "0..10");
		ask(o, F_GETLK, F_RDLCK, 15, 1, self, "15");
		ask(o, F_GETLK, F_RDLCK, 40, 1, self, "40, to read");
		ask(o, F_GETLK, F_WRLCK, 1000000, 1, self, "1000000, to write");
		CALL(set(o, F_SETLK, F_RDLCK, 15, 1), "lock 15");
		CALL(set(o, F_SETLK, F_RDLCK, 35, 5), "lock 35..39 to read");
		CALL(set(o, F_SETLK, F_WRLCK, 35, 5), "lock 35..39 to write");
	}
	CALL(set(fd, F_SETLK, F_UNLCK, 13, 2), "unlock 13..14");
	CALL(set(fd, F_SETLK, F_RDLCK, 18, 4), "read lock 18..21");
	OTHER {
		ask(fd, F_GETLK, F_WRLCK, 0, 100, self, "the first");
		ask(fd, F_GETLK, F_WRLCK, 13, 2, self, "13..14");
		ask(fd, F_GETLK, F_WRLCK, 14, 100, self, "from 14");
		ask(fd, F_GETLK, F_WRLCK, 18, 100, self, "from 18");
		ask(fd, F_GETLK, F_WRLCK, 22, 8, self, "22..29");
	}
	close(file());
	OTHER ask(fd, F_GETLK, F_WRLCK, 0, 0, self, "closing another descriptor of the file drops all");
	CALL(set(fd, F_SETLK, F_WRLCK, -1, 5), "a negative start");
	CALL(set(fd, F_SETLK, F_WRLCK, 10, -5), "a negative length");
	OTHER ask(fd, F_GETLK, F_WRLCK, 0, 0, self, "it means 5..9");
	CALL(set(fd, F_SETLK, 99, 0, 0), "a bad type");
	int ro = MUST(open("locked", O_RDONLY)), p[2];
	MUST(pipe(p));
	CALL(set(ro, F_SETLK, F_WRLCK, 0, 0), "a write lock on what is open to read");
	CALL(set(p[0], F_SETLK, F_RDLCK, 0, 0), "a pipe");
	CALL(fcntl(fd, F_SETLK, NULL), "a bad address");
	MUST(ftruncate(fd, 0)), MUST(write(fd, "0123456789", 10));
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -3, .l_len = 2};
	CALL(fcntl(fd, F_SETLK, &l), "from the end");
	OTHER ask(fd, F_GETLK, F_WRLCK, 7, 0, self, "from 7");
	IN_CHILD("locks are not inherited") _exit(set(fd, F_SETLK, F_WRLCK, 8, 1) < 0 && errno == EAGAIN ? 3 : 4);
	close(fd), close(ro), close(p[0]), close(p[1]);
}

static volatile int handled;
static void on_alarm(int signo) { handled++; }
static void waiting(void) {
	int fd = file(), p[2], q[2];
	char c;
	MUST(pipe(p)), MUST(pipe(q));
	pid_t child = fork();
	if (child == 0) {
		set(fd, F_SETLK, F_WRLCK, 0, 1);
		MUST(write(p[1], "x", 1));
		nap(40);
		set(fd, F_SETLK, F_UNLCK, 0, 1);
		set(fd, F_SETLK, F_WRLCK, 5, 1);
		MUST(write(p[1], "y", 1));
		read(q[0], &c, 1);
		set(fd, F_SETLKW, F_WRLCK, 0, 1);
		_exit(0);
	}
	MUST(read(p[0], &c, 1));
	int64_t start = now_ms();
	CALL(set(fd, F_SETLKW, F_WRLCK, 0, 1), "wait for a lock");
	IS(now_ms() - start >= 20, "until the other gives it");
	MUST(read(p[0], &c, 1));
	struct sigaction a = {.sa_handler = on_alarm};
	sigaction(SIGALRM, &a, NULL);
	struct itimerval t = {{0, 20000}, {0, 20000}}, off = {0};
	setitimer(ITIMER_REAL, &t, NULL);
	CALL(set(fd, F_SETLKW, F_WRLCK, 5, 1), "wait, interrupted");
	setitimer(ITIMER_REAL, &off, NULL);
	MUST(write(q[1], "z", 1));
	nap(60);
	CALL(set(fd, F_SETLKW, F_WRLCK, 5, 1), "a circle of two");
	set(fd, F_SETLK, F_UNLCK, 0, 0);
	reap(child, "child");
	child = fork();
	if (child == 0) {
		set(fd, F_SETLK, F_WRLCK, 0, 0);
		MUST(write(p[1], "x", 1));
		for (;;) pause();
	}
	MUST(read(p[0], &c, 1));
	CALL(set(fd, F_SETLK, F_RDLCK, 0, 0), "held by a child");
	kill(child, SIGKILL);
	CALL(set(fd, F_SETLKW, F_RDLCK, 0, 0), "wait for one that was killed");
	reap(child, "child");
	close(fd), close(p[0]), close(p[1]), close(q[0]), close(q[1]);
}

static void descriptions(void) {
	int a = file(), b = file();
	CALL(set(a, F_OFD_SETLK, F_WRLCK, 0, 10), "lock 0..9");
	CALL(set(b, F_OFD_SETLK, F_WRLCK, 5, 1), "another open file of the same process");
	ask(b, F_OFD_GETLK, F_WRLCK, 0, 0, getpid(), "ask");
	CALL(set(b, F_SETLK, F_WRLCK, 5, 1), "a record lock beside it");
	int d = MUST(dup(a));
	close(a);
	CALL(set(b, F_OFD_SETLK, F_RDLCK, 9, 1), "a dup keeps it");
	IN_CHILD("a child keeps it too") _exit(set(d, F_OFD_SETLK, F_WRLCK, 0, 10) == 0 ? 3 : 4);
	close(d);
	CALL(set(b, F_OFD_SETLK, F_RDLCK, 9, 1), "all closed");
	struct flock l = range(F_RDLCK, 0, 1);
	l.l_pid = 7;
	CALL(fcntl(b, F_OFD_SETLK, &l), "with a pid");
	close(b);
}

CASES(C(flocks), C(records), C(waiting), C(descriptions))
