// epoll: edge triggering, one-shot entries, several waiters, exclusive entries.
#include "compat.h"
#include "epoll.h"
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static void drain(int fd) {
	char b[4096];
	while (read(fd, b, sizeof b) > 0) {}
}

static void edge(void) {
	int ep = MUST(epoll_create1(0)), p[2];
	char c;
	MUST(pipe2(p, O_NONBLOCK));
	add(ep, p[0], EPOLLIN | EPOLLET, 1);
	WAIT(ep, "empty");
	MUST(write(p[1], "ab", 2));
	WAIT(ep, "written");
	WAIT(ep, "not again");
	MUST(read(p[0], &c, 1));
	WAIT(ep, "read a part");
	MUST(write(p[1], "c", 1));
	WAIT(ep, "written while there was data");
	WAIT(ep, "not again");
	drain(p[0]);
	WAIT(ep, "drained");
	MUST(write(p[1], "d", 1));
	drain(p[0]);
	WAIT(ep, "written and drained before the wait");
	MUST(write(p[1], "e", 1));
	MUST(write(p[1], "f", 1));
	WAIT(ep, "written twice");
	WAIT(ep, "not again");
	CALL(mod(ep, p[0], EPOLLIN | EPOLLET, 2), "mod with data there");
	WAIT(ep, "mod arms it again");
	close(p[1]);
	WAIT(ep, "writer closed");
	WAIT(ep, "not again");
	close(p[0]), close(ep);
}

static void added_ready(void) {
	int ep = MUST(epoll_create1(0)), fd = MUST(eventfd(1, EFD_NONBLOCK));
	add(ep, fd, EPOLLIN | EPOLLOUT | EPOLLET, 1);
	WAIT(ep, "ready when added");
	WAIT(ep, "not again");
	eventfd_write(fd, 1);
	WAIT(ep, "written");
	eventfd_t v;
	eventfd_read(fd, &v);
	WAIT(ep, "read: writable is news again");
	WAIT(ep, "not again");
	del(ep, fd);
	add(ep, fd, EPOLLIN | EPOLLOUT | EPOLLET, 2);
	WAIT(ep, "deleted and added");
	close(fd), close(ep);
}

static void edge_out(void) {
	int ep = MUST(epoll_create1(0)), s[2];
	static char b[1 << 16];
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
	add(ep, s[0], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, 1);
	WAIT(ep, "at first");
	WAIT(ep, "not again");
	while (write(s[0], b, sizeof b) > 0) {}
	CALL(write(s[0], b, 1), "full");
	WAIT(ep, "full");
	drain(s[1]);
	WAIT(ep, "drained by the peer");
	WAIT(ep, "not again");
	MUST(write(s[1], "x", 1));
	WAIT(ep, "peer wrote");
	shutdown(s[1], SHUT_WR);
	WAIT(ep, "peer shut its writing");
	WAIT(ep, "not again");
	close(s[1]);
	WAIT(ep, "peer closed");
	WAIT(ep, "not again");
	close(s[0]), close(ep);
}

static void oneshot(void) {
	int ep = MUST(epoll_create1(0)), p[2];
	MUST(pipe2(p, O_NONBLOCK));
	add(ep, p[0], EPOLLIN | EPOLLONESHOT, 1);
	MUST(write(p[1], "x", 1));
	WAIT(ep, "first");
	WAIT(ep, "disarmed");
	MUST(write(p[1], "y", 1));
	WAIT(ep, "disarmed, written again");
	CALL(add(ep, p[0], EPOLLIN, 1), "add: the entry is still there");
	CALL(mod(ep, p[0], EPOLLIN | EPOLLONESHOT, 2), "mod");
	WAIT(ep, "armed again");
	close(p[1]);
	WAIT(ep, "disarmed: not even a hang-up");
	mod(ep, p[0], EPOLLIN | EPOLLONESHOT | EPOLLET, 3);
	WAIT(ep, "armed again, with edge");
	WAIT(ep, "disarmed");
	close(p[0]), close(ep);
}

static void timers(void) {
	int ep = MUST(epoll_create1(0)), t = MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	struct itimerspec s = {{0, 10000000}, {0, 10000000}};
	uint64_t n;
	add(ep, t, EPOLLIN | EPOLLET, 1);
	timerfd_settime(t, 0, &s, NULL);
	show_wait(ep, 1, 2000, "first expiration");
	show_wait(ep, 1, 2000, "next one, unread");
	MUST(read(t, &n, 8));
	show_wait(ep, 1, 2000, "next one, read");
	s.it_interval.tv_nsec = 0, s.it_value.tv_nsec = 0;
	timerfd_settime(t, 0, &s, NULL);
	drain(t);
	show_wait(ep, 1, 20, "stopped");
	close(t), close(ep);
}

struct waiter {
	int ep, timeout_ms, got;
	pthread_t thread;
};
static void *wait_in_thread(void *arg) {
	struct waiter *w = arg;
	struct epoll_event e[4];
	w->got = epoll_wait(w->ep, e, 4, w->timeout_ms);
	return NULL;
}
static int waiters(struct waiter *w, int n, int fd) {
	int woken = 0;
	for (int i = 0; i < n; i++) pthread_create(&w[i].thread, NULL, wait_in_thread, &w[i]);
	nap(60);
	eventfd_write(fd, 1);
	for (int i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		woken += w[i].got == 1;
	}
	return woken;
}

// One event wakes one of several waiters on one edge-triggered epoll, and all of those on level-triggered ones.
static void waiting_together(void) {
	int ep = MUST(epoll_create1(0)), fd = MUST(eventfd(0, EFD_NONBLOCK));
	eventfd_t v;
	add(ep, fd, EPOLLIN | EPOLLET, 1);
	struct waiter w[3] = {{ep, 300, 0, 0}, {ep, 300, 0, 0}, {ep, 300, 0, 0}};
	say("edge, one epoll, woken: %d", waiters(w, 3, fd));
	eventfd_read(fd, &v);
	mod(ep, fd, EPOLLIN | EPOLLONESHOT, 1);
	say("oneshot, one epoll, woken: %d", waiters(w, 3, fd));
	eventfd_read(fd, &v);
	mod(ep, fd, EPOLLIN, 1);
	say("level, one epoll, woken: %d", waiters(w, 3, fd));
	eventfd_read(fd, &v);
	del(ep, fd);
	for (int i = 0; i < 3; i++) {
		w[i].ep = MUST(epoll_create1(0));
		add(w[i].ep, fd, EPOLLIN, 1);
	}
	say("three epolls, woken: %d", waiters(w, 3, fd));
	eventfd_read(fd, &v);
	for (int i = 0; i < 3; i++) del(w[i].ep, fd), add(w[i].ep, fd, EPOLLIN | EPOLLEXCLUSIVE, 1);
	IS(waiters(w, 3, fd) >= 1, "three exclusive epolls, at least one woken");
	for (int i = 0; i < 3; i++) close(w[i].ep);
	close(fd), close(ep);
}

static void exclusive(void) {
	int ep = MUST(epoll_create1(0)), inner = MUST(epoll_create1(0)), fd = MUST(eventfd(1, EFD_NONBLOCK));
	CALL(add(ep, fd, EPOLLIN | EPOLLEXCLUSIVE, 1), "add");
	WAIT(ep, "ready when added");
	CALL(mod(ep, fd, EPOLLIN, 1), "mod an exclusive entry");
	CALL(mod(ep, fd, EPOLLIN | EPOLLEXCLUSIVE, 1), "mod to exclusive");
	del(ep, fd);
	CALL(add(ep, fd, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT, 1), "add with oneshot");
	CALL(add(ep, fd, EPOLLIN | EPOLLEXCLUSIVE | EPOLLRDHUP, 1), "add with RDHUP");
	CALL(add(ep, inner, EPOLLIN | EPOLLEXCLUSIVE, 1), "add an epoll");
	CALL(add(ep, fd, EPOLLIN | EPOLLEXCLUSIVE | EPOLLET | EPOLLWAKEUP, 1), "add with edge and wakeup");
	close(fd), close(inner), close(ep);
}

static void shared_entry(void) {
	int a = MUST(epoll_create1(0)), b = MUST(epoll_create1(0)), fd = MUST(eventfd(0, EFD_NONBLOCK)), d = MUST(dup(a));
	add(a, fd, EPOLLIN | EPOLLET, 1);
	add(b, fd, EPOLLIN | EPOLLET, 2);
	eventfd_write(fd, 1);
	WAIT(a, "first epoll");
	WAIT(d, "its dup");
	WAIT(b, "second epoll");
	IN_CHILD("child") {
		eventfd_write(fd, 1);
		WAIT(a, "the child takes the event of the shared epoll");
	}
	WAIT(a, "nothing is left for the parent");
	WAIT(b, "the second epoll has its own");
	close(a);
	eventfd_write(fd, 1);
	WAIT(d, "the dup works on");
	close(d), close(b), close(fd);
}

CASES(C(edge), C(added_ready), C(edge_out), C(oneshot), C(timers), C(waiting_together), C(exclusive), C(shared_entry))
