// Locks: flock, record locks of processes and of open files, waiting, and who loses them when.
#include "compat.h"
#include <sys/file.h>
#include <sys/socket.h>

static int fresh(void) {
	static int n;
	char name[32];
	snprintf(name, sizeof name, "f%d-%d", getpid(), n++);
	return MUST(open(name, O_RDWR | O_CREAT | O_EXCL, 0644));
}

static int again(int fd, int flags) {
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return MUST(open(path, flags));
}

static void whole(void) {
	int a = fresh(), b = again(a, O_RDWR);
	CALL(flock(a, LOCK_SH), "a shared");
	CALL(flock(b, LOCK_SH | LOCK_NB), "b shared");
	CALL(flock(b, LOCK_EX | LOCK_NB), "b exclusive");
	CALL(flock(a, LOCK_EX | LOCK_NB), "a exclusive: b lost its lock");
	CALL(flock(b, LOCK_SH | LOCK_NB), "b shared");
	int c = dup(a);
	CALL(flock(c, LOCK_UN), "unlock through a duplicate");
	CALL(flock(b, LOCK_EX | LOCK_NB), "b exclusive");
	close(b);
	CALL(flock(a, LOCK_EX | LOCK_NB), "a exclusive after b was closed");
	IN_CHILD("child") { CALL(flock(a, LOCK_EX | LOCK_NB), "the same file in a child"); }
	CALL(flock(a, 7), "a bad operation");
	CALL(flock(CLOSED_FD, LOCK_SH), "no descriptor");
}

static void *unlock_later(void *arg) {
	nap(30);
	return (void *)(long)flock((int)(intptr_t)arg, LOCK_UN);
}

static void waiting(void) {
	int a = fresh(), b = again(a, O_RDWR);
	flock(a, LOCK_EX);
	pthread_t t;
	int64_t start = now_ms();
	pthread_create(&t, NULL, unlock_later, (void *)(intptr_t)a);
	CALL(flock(b, LOCK_EX), "wait");
	IS(now_ms() - start >= 25, "it took a while");
	pthread_join(t, NULL);
	struct itimerval soon = {{0, 30000}, {0, 30000}}, off = {0};
	struct sigaction act = {.sa_handler = (void (*)(int))say};
	act.sa_handler = SIG_DFL;
	extern void nothing(int);
	act.sa_handler = nothing;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CALL(flock(a, LOCK_SH), "interrupted");
	setitimer(ITIMER_REAL, &off, NULL);
}
void nothing(int signo) { (void)signo; }

static long lock(int fd, int cmd, int type, long start, long len) {
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
	return fcntl(fd, cmd, &l);
}

static void ask(int fd, int cmd, int type, long start, long len, pid_t mine) {
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
	if (fcntl(fd, cmd, &l) < 0) say("ask: %s", errno_name(errno));
	else if (l.l_type == F_UNLCK) say("ask %ld+%ld: free", start, len);
	else say("ask %ld+%ld: type %d %ld+%ld by %s", start, len, l.l_type, (long)l.l_start, (long)l.l_len, l.l_pid == mine ? "the parent" : l.l_pid == -1 ? "an open file" : "somebody");
}

static void ranges(void) {
	int fd = fresh();
	pid_t me = getpid();
	CALL(lock(fd, F_SETLK, F_WRLCK, 10, 10), "write lock 10+10");
	CALL(lock(fd, F_SETLK, F_RDLCK, 15, 1), "its middle to a read lock");
	CALL(lock(fd, F_SETLK, F_RDLCK, 100, 0), "read lock 100 to the end");
	IN_CHILD("child") {
		ask(fd, F_GETLK, F_WRLCK, 0, 0, me);
		ask(fd, F_GETLK, F_RDLCK, 15, 1, me);
		ask(fd, F_GETLK, F_RDLCK, 16, 1, me);
		ask(fd, F_GETLK, F_WRLCK, 0, 10, me);
		ask(fd, F_GETLK, F_WRLCK, 5000, 1, me);
		CALL(lock(fd, F_SETLK, F_RDLCK, 15, 1), "read lock");
		CALL(lock(fd, F_SETLK, F_WRLCK, 15, 1), "write lock");
	}
	CALL(lock(fd, F_SETLK, F_UNLCK, 12, 2), "unlock inside");
	IN_CHILD("child") {
		ask(fd, F_GETLK, F_WRLCK, 12, 2, me);
		ask(fd, F_GETLK, F_WRLCK, 11, 2, me);
	}
	int other = again(fd, O_RDWR);
	close(other);
	IN_CHILD("child") { ask(fd, F_GETLK, F_WRLCK, 0, 0, me); }
	CALL(lock(fd, F_SETLK, 9, 0, 0), "a bad type");
	CALL(lock(fd, F_SETLK, F_WRLCK, -1, 5), "a negative start");
	CALL(lock(fd, F_SETLK, F_WRLCK, 5, -5), "a negative length");
	CALL(lock(fd, F_SETLK, F_WRLCK, 5, -6), "too negative a length");
	CALL(fcntl(fd, F_SETLK, NULL), "a bad address");
	int ro = again(fd, O_RDONLY);
	CALL(lock(ro, F_SETLK, F_WRLCK, 0, 1), "write lock without the right");
	CALL(lock(ro, F_SETLK, F_RDLCK, 0, 1), "read lock");
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -2, .l_len = 1};
	CALL(fcntl(fd, F_SETLK, &l), "before the start of an empty file");
	ftruncate(fd, 10);
	CALL(fcntl(fd, F_SETLK, &l), "from the end");
	IN_CHILD("child") { ask(fd, F_GETLK, F_WRLCK, 0, 0, me); }
}

static void files(void) {
	int a = fresh(), b = again(a, O_RDWR);
	CALL(lock(a, F_OFD_SETLK, F_WRLCK, 0, 10), "a");
	CALL(lock(b, F_OFD_SETLK, F_RDLCK, 5, 1), "b");
	CALL(lock(b, F_SETLK, F_RDLCK, 5, 1), "the process");
	ask(b, F_OFD_GETLK, F_RDLCK, 5, 1, 0);
	ask(b, F_GETLK, F_RDLCK, 5, 1, 0);
	int c = dup(a);
	close(c);
	CALL(lock(b, F_OFD_SETLK, F_RDLCK, 5, 1), "b, after a duplicate was closed");
	close(a);
	CALL(lock(b, F_OFD_SETLK, F_RDLCK, 5, 1), "b, after a was closed");
	struct flock l = {.l_type = F_WRLCK, .l_pid = 5};
	CALL(fcntl(b, F_OFD_SETLK, &l), "with a pid");
}

static void record_waiting(void) {
	int fd = fresh(), p[2];
	MUST(pipe(p));
	lock(fd, F_SETLK, F_WRLCK, 0, 1);
	pid_t child = fork();
	if (!child) {
		lock(fd, F_SETLK, F_WRLCK, 1, 1);
		write(p[1], "x", 1);
		CALL(lock(fd, F_SETLKW, F_WRLCK, 0, 1), "the child waits for 0");
		_exit(0);
	}
	char c;
	read(p[0], &c, 1);
	asleep(child);
	CALL(lock(fd, F_SETLKW, F_WRLCK, 1, 1), "the parent waits for 1");
	MUST(lock(fd, F_SETLK, F_UNLCK, 0, 1)); // without a line: the child writes one now
	reap(child, "child");
	CALL(lock(fd, F_SETLKW, F_WRLCK, 0, 2), "the parent has both");
	child = fork();
	if (!child) {
		CALL(lock(fd, F_SETLKW, F_RDLCK, 0, 1), "the child waits");
		_exit(0);
	}
	asleep(child);
	close(fd);
	reap(child, "child");
}

// Record locks on what is no regular file: pipes, sockets, FIFOs, devices.
static void nameless(void) {
	int p[2], s[2];
	MUST(pipe(p)), MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s)), MUST(mkfifo("fifo", 0600));
	int fifo = MUST(open("fifo", O_RDWR)), null = MUST(open("/dev/null", O_RDWR)), dir = MUST(open(".", O_RDONLY)), path = MUST(open("fifo", O_PATH));
	static const char *const name[] = {"reading end", "writing end", "socket", "FIFO", "device", "folder", "O_PATH"};
	int fd[] = {p[0], p[1], s[0], fifo, null, dir, path};
	for (unsigned i = 0; i < COUNT(fd); i++) {
		CALL(lock(fd[i], F_SETLK, F_RDLCK, 0, 0), "%s: read lock", name[i]);
		CALL(lock(fd[i], F_SETLK, F_WRLCK, 10, 5), "%s: write lock", name[i]);
		CALL(lock(fd[i], F_SETLKW, F_UNLCK, 0, 0), "%s: unlock", name[i]);
		CALL(lock(fd[i], F_OFD_SETLK, F_WRLCK, 30, 5), "%s: write lock of the open file", name[i]);
		CALL(lock(fd[i], F_SETLK, 9, 0, 0), "%s: a bad type", name[i]);
		CALL(lock(fd[i], F_SETLK, F_RDLCK, -1, 5), "%s: a bad start", name[i]);
		CALL(lock(fd[i], F_GETLK, F_UNLCK, 0, 0), "%s: ask for no lock", name[i]);
		CALL(fcntl(fd[i], F_SETLK, NULL), "%s: a bad address", name[i]);
		struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 5, .l_len = 1};
		CALL(fcntl(fd[i], F_GETLK, &l), "%s: ask", name[i]);
		say("type %d whence %d start %ld", l.l_type, l.l_whence, (long)l.l_start);
		l.l_whence = 9;
		CALL(fcntl(fd[i], F_SETLK, &l), "%s: a bad whence", name[i]);
	}
	CALL(lock(fifo, F_SETLK, F_WRLCK, 0, 10), "lock the FIFO");
	IN_CHILD("child") {
		CALL(lock(fifo, F_SETLK, F_WRLCK, 5, 1), "the FIFO in a child");
		CALL(lock(open("fifo", O_RDWR), F_SETLK, F_RDLCK, 5, 1), "opened anew");
	}
}

CASES(C(whole), C(waiting), C(ranges), C(files), C(record_waiting), C(nameless))
