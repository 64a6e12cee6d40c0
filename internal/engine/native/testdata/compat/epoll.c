// epoll: errors, level triggering, the identity of an entry, nesting, masks, order, exclusive waiters.
#include "compat.h"
#include "epoll.h"
#include <sys/eventfd.h>
#include <sys/socket.h>

static void put(int fd) { MUST(eventfd_write(fd, 1)); }
static void get(int fd) {
	eventfd_t v;
	eventfd_read(fd, &v);
}
static int event(void) { return MUST(eventfd(0, EFD_NONBLOCK)); }

static void errors(void) {
	struct epoll_event e = {.events = EPOLLIN};
	int p[2], file = MUST(open("file", O_RDWR | O_CREAT, 0600)), dir = MUST(open(".", O_RDONLY));
	int null = MUST(open("/dev/null", O_RDWR)), path = MUST(open(".", O_PATH));
	MUST(pipe(p));
	CALL(epoll_create(0), "create with size 0");
	CALL(epoll_create(-1), "create with size -1");
	OK(epoll_create(1), "create");
	CALL(epoll_create1(1), "create1 with a bad flag");
	int ep = OK(epoll_create1(EPOLL_CLOEXEC), "create1");
	IS(fcntl(ep, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	CALL(add(ep, file, EPOLLIN, 1), "add a file");
	CALL(add(ep, dir, EPOLLIN, 1), "add a folder");
	CALL(add(ep, null, EPOLLIN, 1), "add /dev/null");
	CALL(add(ep, path, EPOLLIN, 1), "add an O_PATH descriptor");
	CALL(add(ep, CLOSED_FD, EPOLLIN, 1), "add a closed descriptor");
	CALL(add(ep, -1, EPOLLIN, 1), "add -1");
	CALL(add(ep, ep, EPOLLIN, 1), "add itself");
	CALL(add(p[0], p[1], EPOLLIN, 1), "not an epoll");
	CALL(add(CLOSED_FD, p[1], EPOLLIN, 1), "closed epoll");
	CALL(add(ep, p[0], EPOLLIN, 1), "add");
	CALL(add(ep, p[0], EPOLLOUT, 1), "add again");
	CALL(mod(ep, p[1], EPOLLOUT, 1), "mod what is not there");
	CALL(del(ep, p[1]), "del what is not there");
	CALL(epoll_ctl(ep, EPOLL_CTL_ADD, p[1], NULL), "add with a bad address");
	CALL(epoll_ctl(ep, 99, p[0], &e), "a bad operation");
	CALL(del(ep, p[0]), "del");
	CALL(del(ep, p[0]), "del again");
	CALL(epoll_wait(ep, &e, 0, 0), "wait for at most 0 events");
	CALL(epoll_wait(ep, &e, -1, 0), "wait for at most -1 events");
	CALL(epoll_wait(p[0], &e, 1, 0), "wait on a pipe");
	CALL(epoll_wait(CLOSED_FD, &e, 1, 0), "wait on a closed descriptor");
	CALL(epoll_wait(ep, NULL, 1, 0), "nothing to report to a bad address");
	add(ep, p[1], EPOLLOUT, 1);
	CALL(epoll_wait(ep, NULL, 1, 0), "an event to report to a bad address");
	WAIT(ep, "after that");
	char c;
	CALL(read(ep, &c, 1), "read an epoll");
	CALL(write(ep, &c, 1), "write an epoll");
	CALL(fcntl(ep, F_GETFL) & O_ACCMODE, "access mode");
	close(ep), close(p[0]), close(p[1]), close(file), close(dir), close(null), close(path);
}

static void level(void) {
	int ep = MUST(epoll_create1(0)), fd = event();
	add(ep, fd, EPOLLIN, 7);
	WAIT(ep, "nothing");
	put(fd);
	WAIT(ep, "readable");
	WAIT(ep, "still readable");
	POLL(ep, "the epoll itself");
	get(fd);
	WAIT(ep, "read");
	POLL(ep, "the epoll itself");
	mod(ep, fd, EPOLLIN | EPOLLOUT, 8);
	WAIT(ep, "also writable");
	mod(ep, fd, 0, 9);
	put(fd);
	WAIT(ep, "no events wanted");
	mod(ep, fd, EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLRDNORM | EPOLLRDBAND, 10);
	WAIT(ep, "all kinds of reading wanted");
	mod(ep, fd, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND, 11);
	WAIT(ep, "all kinds of writing wanted");
	close(fd);
	WAIT(ep, "closed");
	close(ep);
}

static void hangup(void) {
	int ep = MUST(epoll_create1(0)), p[2], s[2];
	MUST(pipe2(p, O_NONBLOCK));
	add(ep, p[0], 0, 1);
	add(ep, p[1], 0, 2);
	WAIT(ep, "pipe");
	MUST(write(p[1], "x", 1));
	close(p[1]);
	WAIT(ep, "writer gone");
	mod(ep, p[0], EPOLLIN, 1);
	WAIT(ep, "writer gone, data");
	close(p[0]);
	MUST(pipe2(p, O_NONBLOCK));
	add(ep, p[1], EPOLLOUT, 2);
	close(p[0]);
	WAIT(ep, "reader gone");
	close(p[1]);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
	add(ep, s[0], EPOLLIN | EPOLLOUT | EPOLLRDHUP, 3);
	WAIT(ep, "socket");
	shutdown(s[1], SHUT_WR);
	WAIT(ep, "peer shut its writing");
	shutdown(s[0], SHUT_WR);
	WAIT(ep, "own writing shut");
	close(s[1]);
	WAIT(ep, "peer closed");
	mod(ep, s[0], 0, 3);
	WAIT(ep, "no events wanted");
	close(s[0]), close(ep);
}

// An entry is a descriptor and its open file description; it goes when the description goes.
static void identity(void) {
	int ep = MUST(epoll_create1(0)), fd = event(), d = MUST(dup(fd));
	CALL(add(ep, fd, EPOLLIN, 1), "add");
	CALL(add(ep, d, EPOLLIN, 2), "add a dup");
	put(fd);
	WAIT(ep, "both");
	close(fd);
	WAIT(ep, "first closed, the dup is open");
	CALL(del(ep, fd), "del the closed");
	int other = event();
	IS(other == fd, "the number is used anew");
	CALL(del(ep, other), "del the new");
	CALL(add(ep, other, EPOLLIN, 3), "add the new");
	put(other);
	WAIT(ep, "three");
	close(d);
	WAIT(ep, "the dup closed");
	CALL(dup2(other, other) == other ? 0 : -1, "dup2 on itself");
	WAIT(ep, "after dup2 on itself");
	int quiet = event();
	MUST(dup2(quiet, other));
	WAIT(ep, "after dup2 over it");
	close(other), close(quiet), close(ep);
	ep = MUST(epoll_create1(0)), fd = event();
	add(ep, fd, EPOLLIN, 4);
	IN_CHILD("child that holds a copy") {
		put(fd);
		close(fd);
		if (WAIT(ep, "in the child, its copy closed") != 1) _exit(1);
	}
	WAIT(ep, "in the parent");
	close(fd);
	WAIT(ep, "closed in both");
	close(ep);
}

static void nested(void) {
	int ep[4], fd = event();
	for (int i = 0; i < 4; i++) ep[i] = MUST(epoll_create1(0));
	CALL(add(ep[0], fd, EPOLLIN, 1), "add to the innermost");
	for (int i = 1; i < 4; i++) CALL(add(ep[i], ep[i - 1], EPOLLIN, i * 10), "add epoll %d to epoll %d", i - 1, i);
	CALL(add(ep[0], ep[2], EPOLLIN, 1), "a loop");
	WAIT(ep[2], "outer, nothing");
	put(fd);
	WAIT(ep[2], "outer, readable");
	WAIT(ep[0], "inner");
	get(fd);
	WAIT(ep[2], "outer, read");
	mod(ep[1], ep[0], EPOLLIN | EPOLLET, 99);
	put(fd);
	WAIT(ep[1], "outer, edge");
	WAIT(ep[1], "outer, edge, again");
	put(fd);
	WAIT(ep[1], "outer, edge, another write");
	close(ep[0]);
	WAIT(ep[1], "inner closed");
	close(fd);
	for (int i = 1; i < 4; i++) close(ep[i]);
	int inner = MUST(epoll_create1(0)), depth = 0;
	for (int outer; add(outer = MUST(epoll_create1(0)), inner, EPOLLIN, 1) == 0 && depth < 20; depth++) inner = outer;
	IS(errno == ELOOP && depth < 20, "the depth has an end");
}

// When there are more events than room, each gets its turn.
static void turns(void) {
	int ep = MUST(epoll_create1(0)), fd[5];
	for (int i = 0; i < 5; i++) {
		fd[i] = event();
		add(ep, fd[i], EPOLLIN, i);
	}
	int order[] = {3, 0, 4, 1, 2};
	for (int i = 0; i < 5; i++) put(fd[order[i]]);
	WAIT(ep, "in the order of becoming ready");
	for (int i = 0; i < 5; i++) show_wait(ep, 2, 0, "two at a time");
	get(fd[0]);
	show_wait(ep, 3, 0, "one was read");
	show_wait(ep, 3, 0, "one was read");
	close(ep);
	ep = MUST(epoll_create1(0));
	put(fd[0]);
	for (int i = 4; i >= 0; i--) add(ep, fd[i], EPOLLIN, i);
	WAIT(ep, "in the order of adding");
	for (int i = 0; i < 5; i++) close(fd[i]);
	close(ep);
}

static void *put_later(void *arg) {
	nap(30);
	put((int)(intptr_t)arg);
	return NULL;
}

static void timeouts(void) {
	int ep = MUST(epoll_create1(0)), fd = event();
	add(ep, fd, EPOLLIN, 1);
	for (int ms = 0; ms <= 40; ms += 20) {
		int64_t start = now_ms();
		show_wait(ep, 4, ms, "timeout");
		IS(now_ms() - start >= ms - 1, "waited %d ms", ms);
	}
	pthread_t t;
	pthread_create(&t, NULL, put_later, (void *)(intptr_t)fd);
	show_wait(ep, 4, -1, "no timeout");
	pthread_join(t, NULL);
	get(fd);
	int late = event();
	pthread_create(&t, NULL, put_later, (void *)(intptr_t)late);
	add(ep, late, EPOLLIN, 2);
	show_wait(ep, 4, 2000, "long timeout");
	pthread_join(t, NULL);
	close(fd), close(late), close(ep);
}

struct adder { int ep, fd; };
static void *add_later(void *arg) {
	struct adder *a = arg;
	nap(30);
	add(a->ep, a->fd, EPOLLIN, 5);
	return NULL;
}

static void added_while_waiting(void) {
	struct adder a = {MUST(epoll_create1(0)), event()};
	pthread_t t;
	put(a.fd);
	pthread_create(&t, NULL, add_later, &a);
	show_wait(a.ep, 1, 2000, "ready one added while waiting");
	pthread_join(t, NULL);
	close(a.fd), close(a.ep);
}

static volatile int alarms;
static void on_alarm(int signo) { alarms++; }

static void masks(void) {
	int ep = MUST(epoll_create1(0));
	struct epoll_event e;
	sigset_t block, none;
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	signal(SIGALRM, on_alarm);
	sigprocmask(SIG_BLOCK, &block, NULL);
	raise(SIGALRM);
	CALL(epoll_wait(ep, &e, 1, 10), "epoll_wait, the pending signal is blocked");
	CALL(epoll_pwait(ep, &e, 1, 2000, &none), "epoll_pwait that lets it in");
	say("handled: %d", alarms);
	sigset_t now;
	sigprocmask(SIG_BLOCK, NULL, &now);
	IS(sigismember(&now, SIGALRM), "blocked again afterwards");
	raise(SIGALRM);
	CALL(epoll_pwait(ep, &e, 1, 10, NULL), "epoll_pwait without a mask");
	CALL(epoll_pwait(ep, &e, 1, 0, &none), "no timeout at all, pending signal");
	say("handled: %d", alarms);
	CALL(syscall(SYS_epoll_pwait, ep, &e, 1, 0, &none, 4), "a bad size of the mask");
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	CALL(epoll_pwait(ep, &e, 1, 10, &block), "epoll_pwait that blocks");
	int fd = event();
	put(fd);
	add(ep, fd, EPOLLIN, 1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	alarms = 0;
	raise(SIGALRM);
	CALL(epoll_pwait(ep, &e, 1, 100, &none), "an event and a signal at once");
	say("handled: %d", alarms);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	say("handled: %d", alarms);
	close(fd), close(ep);
}

static void pwait2(void) {
	int ep = MUST(epoll_create1(0)), fd = event();
	struct epoll_event e;
	struct timespec ts = {0, 20000000}, bad = {0, 1000000000};
	int64_t start = now_ms();
	if (syscall(SYS_epoll_pwait2, ep, &e, 1, &ts, NULL, 0) < 0 && errno == ENOSYS) {
		say("skip: no epoll_pwait2");
		return;
	}
	IS(now_ms() - start >= 19, "waited 20 ms");
	CALL(syscall(SYS_epoll_pwait2, ep, &e, 1, &bad, NULL, 0), "too many nanoseconds");
	add(ep, fd, EPOLLIN, 1);
	put(fd);
	CALL(syscall(SYS_epoll_pwait2, ep, &e, 1, NULL, NULL, 0), "no timeout, an event");
	ts.tv_nsec = 0;
	get(fd);
	CALL(syscall(SYS_epoll_pwait2, ep, &e, 1, &ts, NULL, 0), "timeout 0");
	close(fd), close(ep);
}

CASES(C(errors), C(level), C(hangup), C(identity), C(nested), C(turns), C(timeouts), C(added_while_waiting), C(masks), C(pwait2))
