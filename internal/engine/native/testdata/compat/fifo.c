// Named pipes: how opening waits, and what readers see when writers come and go.
#include "compat.h"

static char buf[100];

static const char *fresh(void) {
	static int n;
	static char name[4][32];
	char *p = name[n % 4];
	snprintf(p, 32, "p%d-%d", getpid(), n++);
	MUST(mkfifo(p, 0600));
	return p;
}

static void nonblocking(void) {
	const char *p = fresh();
	CALL(open(p, O_WRONLY | O_NONBLOCK), "a writer alone");
	int r = OK(open(p, O_RDONLY | O_NONBLOCK), "a reader alone");
	POLL(r, "no writer yet");
	CALL(read(r, buf, 10), "read");
	int w = OK(open(p, O_WRONLY | O_NONBLOCK), "a writer");
	POLL(r, "with a writer");
	CALL(read(r, buf, 10), "read");
	CALL(write(w, "hello", 5), "write");
	POLL(r, "with bytes");
	close(w);
	POLL(r, "after the writer");
	CALL(read(r, buf, 3), "read");
	CALL(read(r, buf, 10), "read");
	CALL(read(r, buf, 10), "read at the end");
	POLL(r, "at the end");
	w = OK(open(p, O_WRONLY | O_NONBLOCK), "another writer");
	POLL(r, "with another writer");
	close(r);
	signal(SIGPIPE, SIG_IGN);
	CALL(write(w, "x", 1), "write without a reader");
	POLL(w, "a writer without a reader");
	int rw = OK(open(p, O_RDWR), "both");
	CALL(write(rw, "abc", 3), "write");
	CALL(read(rw, buf, 10), "read");
	struct stat st;
	fstat(rw, &st);
	say("mode %o size %ld", st.st_mode, (long)st.st_size);
	CALL(lseek(rw, 0, SEEK_SET), "seek");
	CALL(ftruncate(rw, 0), "ftruncate");
}

static void waits(void) {
	const char *p = fresh();
	int told[2];
	MUST(pipe(told));
	pid_t child = fork();
	if (!child) {
		int w = MUST(open(p, O_WRONLY));
		write(told[1], "x", 1);
		write(w, "from the child", 14);
		_exit(0);
	}
	nap(50);
	POLL(told[0], "the child waits");
	int r = OK(open(p, O_RDONLY), "open");
	nap(50);
	CALL(read(r, buf, 100), "read");
	CALL(read(r, buf, 100), "read at the end");
	reap(child, "child");
	close(r);
	child = fork();
	if (!child) {
		r = MUST(open(p, O_RDONLY));
		CALL(read(r, buf, 100), "the child reads");
		_exit(0);
	}
	nap(50);
	int w = OK(open(p, O_WRONLY), "open");
	close(w);
	reap(child, "child");
}

static void on_alarm(int signo) { (void)signo; }

static void interrupted(void) {
	const char *p = fresh();
	struct sigaction act = {.sa_handler = on_alarm};
	sigaction(SIGALRM, &act, NULL);
	struct itimerval soon = {.it_value.tv_usec = 30000};
	setitimer(ITIMER_REAL, &soon, NULL);
	CALL(open(p, O_RDONLY), "a reader, interrupted");
	CALL(open(p, O_WRONLY | O_NONBLOCK), "it is gone");
	pid_t child = fork();
	if (!child) {
		open(p, O_WRONLY);
		_exit(0);
	}
	nap(50);
	kill(child, SIGKILL);
	reap(child, "a killed writer");
	int r = OK(open(p, O_RDONLY | O_NONBLOCK), "a reader");
	CALL(read(r, buf, 1), "no writer is left");
	int w = MUST(open(p, O_WRONLY));
	CALL(read(r, buf, 1), "now there is one");
	unlink(p);
	CALL(write(w, "x", 1), "write after unlink");
	CALL(read(r, buf, 1), "read after unlink");
	CALL(open(p, O_RDONLY), "the name is gone");
	MUST(mkfifo(p, 0600));
	CALL(open(p, O_WRONLY | O_NONBLOCK), "a new one has no reader");
}

CASES(C(nonblocking), C(waits), C(interrupted))
