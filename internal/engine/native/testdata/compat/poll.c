// poll, ppoll, select, pselect: sets, bad descriptors, timeouts, masks.
#include "compat.h"
#include <sys/resource.h>
#include <sys/select.h>

static int p[2], q[2];
static void open_pipes(void) {
	MUST(pipe2(p, O_NONBLOCK));
	MUST(pipe2(q, O_NONBLOCK));
	MUST(write(q[1], "x", 1));
}
static void close_pipes(void) { close(p[0]), close(p[1]), close(q[0]), close(q[1]); }

static void polls(void) {
	open_pipes();
	int file = MUST(open("file", O_RDWR | O_CREAT, 0600)), dir = MUST(open(".", O_RDONLY)), path = MUST(open(".", O_PATH));
	struct { const char *name; int fd, wanted; } t[] = {
		{"empty pipe", p[0], POLLIN}, {"pipe with data", q[0], POLLIN}, {"pipe with data, nothing wanted", q[0], 0},
		{"write end", p[1], POLLOUT}, {"write end asked to read", p[1], POLLIN}, {"file", file, POLLIN | POLLOUT | POLLPRI | POLLRDNORM | POLLWRNORM},
		{"folder", dir, POLLIN | POLLOUT}, {"O_PATH", path, POLLIN}, {"closed", CLOSED_FD, POLLIN}, {"negative", -1, POLLIN}, {"-100", -100, POLLIN},
		{"pipe with data, all wanted", q[0], 0x7fff},
	};
	struct pollfd all[COUNT(t)];
	for (size_t i = 0; i < COUNT(t); i++) {
		struct pollfd f = {t[i].fd, t[i].wanted, 0x7fff};
		CALL(poll(&f, 1, 0), "%s", t[i].name);
		say("  events: %s", events(f.revents));
		all[i] = (struct pollfd){t[i].fd, t[i].wanted, 0x7fff};
	}
	CALL(poll(all, COUNT(t), -1), "all at once");
	CALL(poll(NULL, 0, 0), "none");
	CALL(poll(NULL, 1, 0), "a bad address");
	struct pollfd twice[2] = {{q[0], POLLIN, 0}, {q[0], POLLIN, 0}};
	CALL(poll(twice, 2, 0), "the same one twice");
	int64_t start = now_ms();
	CALL(poll(NULL, 0, 30), "none for 30 ms");
	IS(now_ms() - start >= 29, "waited");
	start = now_ms();
	struct pollfd f = {p[0], POLLIN, 77};
	CALL(poll(&f, 1, 30), "an empty pipe for 30 ms");
	IS(now_ms() - start >= 29, "waited");
	say("events: %s", events(f.revents));
	close(file), close(dir), close(path);
	close_pipes();
}

static void *write_later(void *arg) {
	nap(30);
	return (void *)write(p[1], "y", 1);
}
static void *close_later(void *arg) {
	nap(30);
	close(p[1]);
	return NULL;
}

static void wakes(void) {
	pthread_t t;
	open_pipes();
	struct pollfd f[2] = {{p[0], POLLIN, 0}, {-1, 0, 0}};
	pthread_create(&t, NULL, write_later, NULL);
	CALL(poll(f, 2, -1), "poll that waits");
	say("events: %s", events(f[0].revents));
	pthread_join(t, NULL);
	char c;
	MUST(read(p[0], &c, 1));
	pthread_create(&t, NULL, write_later, NULL);
	fd_set r;
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	CALL(select(p[0] + 1, &r, NULL, NULL, NULL), "select that waits");
	IS(FD_ISSET(p[0], &r), "in the set");
	pthread_join(t, NULL);
	MUST(read(p[0], &c, 1));
	pthread_create(&t, NULL, close_later, NULL);
	f[0].events = 0;
	CALL(poll(f, 1, 2000), "poll for a hang-up only");
	say("events: %s", events(f[0].revents));
	pthread_join(t, NULL);
	close_pipes();
}

static void selects(void) {
	open_pipes();
	fd_set r, w, e;
	int top = q[1] + 1;
	int file = MUST(open("file", O_RDWR | O_CREAT, 0600));
	if (file >= top) top = file + 1;
	struct timeval zero = {0, 0};
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&e);
	FD_SET(p[0], &r);
	FD_SET(q[0], &r);
	FD_SET(file, &r);
	FD_SET(p[1], &w);
	FD_SET(file, &w);
	FD_SET(q[0], &e);
	FD_SET(file, &e);
	CALL(select(top, &r, &w, &e, &zero), "select");
	say("read: empty %d, data %d, file %d", !!FD_ISSET(p[0], &r), !!FD_ISSET(q[0], &r), !!FD_ISSET(file, &r));
	say("write: pipe %d, file %d", !!FD_ISSET(p[1], &w), !!FD_ISSET(file, &w));
	say("except: pipe %d, file %d", !!FD_ISSET(q[0], &e), !!FD_ISSET(file, &e));
	FD_SET(p[0], &r);
	CALL(select(p[0] + 1, &r, NULL, NULL, &zero), "select of the lower ones");
	IS(!FD_ISSET(p[0], &r), "cleared");
	CALL(select(0, NULL, NULL, NULL, &zero), "nothing");
	CALL(select(-1, NULL, NULL, NULL, &zero), "nfds -1");
	int closed = MUST(dup(file));
	close(closed);
	FD_ZERO(&r);
	FD_SET(closed, &r);
	CALL(select(closed + 1, &r, NULL, NULL, &zero), "a closed one");
	IS(FD_ISSET(closed, &r), "its bit is as it was");
	CALL(select(closed, &r, NULL, NULL, &zero), "a closed one beyond nfds");
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	struct timeval tv = {0, 30000};
	int64_t start = now_ms();
	CALL(select(top, &r, NULL, NULL, &tv), "select for 30 ms");
	IS(now_ms() - start >= 29, "waited");
	IS(tv.tv_sec == 0 && tv.tv_usec == 0, "the time left is 0");
	IS(!FD_ISSET(p[0], &r), "cleared");
	FD_SET(q[0], &r);
	tv.tv_sec = 5;
	CALL(select(top, &r, NULL, NULL, &tv), "select with 5 s, ready at once");
	IS(tv.tv_sec == 4 && tv.tv_usec > 0, "most of the time is left");
	tv.tv_sec = -1;
	CALL(select(0, NULL, NULL, NULL, &tv), "a negative time");
	tv.tv_sec = 0, tv.tv_usec = 1500000;
	start = now_ms();
	CALL(syscall(SYS_select, 1, NULL, NULL, NULL, &(struct timeval){0, -1}), "negative microseconds");
	CALL(select(1, (fd_set *)8, NULL, NULL, &zero), "a bad address");
	close(p[1]);
	FD_ZERO(&r);
	FD_ZERO(&e);
	FD_SET(p[0], &r);
	FD_SET(p[0], &e);
	CALL(select(top, &r, NULL, &e, &zero), "a hang-up");
	say("read %d, except %d", !!FD_ISSET(p[0], &r), !!FD_ISSET(p[0], &e));
	close(q[0]);
	FD_ZERO(&w);
	FD_SET(q[1], &w);
	CALL(select(top, NULL, &w, NULL, &zero), "a write end without reader");
	close(file);
	close(p[0]), close(q[1]);
}

static volatile int handled;
static void on_signal(int signo) { handled++; }

static void masks(void) {
	open_pipes();
	sigset_t block, none, now;
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	signal(SIGUSR1, on_signal);
	sigprocmask(SIG_BLOCK, &block, NULL);
	struct timespec ts = {2, 0}, zero = {0, 0}, shortly = {0, 10000000}, bad = {0, -1}, big = {0, 1000000000}, past = {-1, 0};
	struct pollfd f = {p[0], POLLIN, 0};
	raise(SIGUSR1);
	CALL(poll(&f, 1, 10), "poll, the signal is blocked");
	CALL(ppoll(&f, 1, &ts, &none), "ppoll that lets it in");
	say("handled: %d", handled);
	sigprocmask(SIG_BLOCK, NULL, &now);
	IS(sigismember(&now, SIGUSR1), "blocked again afterwards");
	raise(SIGUSR1);
	CALL(pselect(0, NULL, NULL, NULL, &ts, &none), "pselect that lets it in");
	say("handled: %d", handled);
	raise(SIGUSR1);
	CALL(ppoll(&f, 1, &zero, &none), "ppoll with timeout 0");
	say("handled: %d", handled);
	CALL(ppoll(&f, 1, &bad, NULL), "negative nanoseconds");
	CALL(ppoll(&f, 1, &big, NULL), "too many nanoseconds");
	CALL(ppoll(&f, 1, &past, NULL), "negative seconds");
	CALL(pselect(0, NULL, NULL, NULL, &bad, NULL), "pselect, negative nanoseconds");
	CALL(ppoll(NULL, 0, &shortly, NULL), "ppoll for 10 ms");
	CALL(pselect(0, NULL, NULL, NULL, &shortly, &block), "pselect for 10 ms");
	f.fd = q[0];
	raise(SIGUSR1);
	CALL(ppoll(&f, 1, &ts, &none), "an event and a signal at once");
	say("handled: %d", handled);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	say("handled: %d", handled);
	struct timespec left = {5, 0};
	CALL(syscall(SYS_ppoll, &f, 1, &left, NULL, 0), "the raw call");
	IS(left.tv_sec == 4, "says what time is left");
	CALL(syscall(SYS_ppoll, &f, 1, &left, &none, 4), "a bad size of the mask");
	close_pipes();
}

static void limits(void) {
	struct rlimit l;
	MUST(getrlimit(RLIMIT_NOFILE, &l));
	l.rlim_cur = 64;
	MUST(setrlimit(RLIMIT_NOFILE, &l));
	static struct pollfd f[65];
	for (int i = 0; i < 65; i++) f[i].fd = -1;
	CALL(poll(f, 64, 0), "as many as the limit of descriptors");
	CALL(poll(f, 65, 0), "one more");
	CALL(poll(f, (nfds_t)-1, 0), "a huge number");
}

CASES(C(polls), C(wakes), C(selects), C(masks), C(limits))
