// TCP: every way a connection ends, and what both sides see of it.
#include "compat.h"
#include "net.h"

static char b[1 << 16];

// reads shows what a receiver gets until there is nothing more to learn.
static void reads(int fd, const char *who) {
	for (int i = 0; i < 3; i++) {
		if (CALL(recv(fd, b, sizeof b, MSG_DONTWAIT), "%s: recv", who) <= 0 && i > 0) break;
	}
}
static void writes(int fd, const char *who) {
	CALL(send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT), "%s: send", who);
}
static void end(int s[2]) { close(s[0]), close(s[1]); }

static void orderly(void) {
	int s[2];
	pair(s);
	MUST(send(s[0], "last words", 10, 0));
	close(s[0]);
	SETTLED(s[1], POLLIN | POLLRDHUP, "peer closed");
	in_state(s[1], "CLOSE_WAIT", "state");
	reads(s[1], "receiver");
	POLL(s[1], "at the end");
	SO_ERR(s[1], "at the end");
	writes(s[1], "first");
	SETTLED(s[1], POLLERR, "after a write to a closed peer");
	SO_ERR(s[1], "after a write to a closed peer");
	writes(s[1], "second");
	reads(s[1], "receiver");
	POLL(s[1], "finally");
	close(s[1]);
}

static void unread_data(void) {
	int s[2];
	pair(s);
	MUST(send(s[0], "never read", 10, 0));
	ready(s[1], POLLIN, 2000);
	MUST(send(s[1], "in flight", 9, 0));
	ready(s[0], POLLIN, 2000);
	close(s[1]);
	SETTLED(s[0], POLLERR, "peer closed with unread data");
	in_state(s[0], "CLOSE", "state");
	CALL(recv(s[0], b, 4, 0), "recv what came before the reset");
	CALL(recv(s[0], b, 4, 0), "recv again");
	CALL(recv(s[0], b, 4, 0), "and again");
	SO_ERR(s[0], "afterwards");
	writes(s[0], "sender");
	struct sockaddr_in a;
	socklen_t n = sizeof a;
	CALL(getpeername(s[0], (struct sockaddr *)&a, &n), "getpeername");
	CALL(shutdown(s[0], SHUT_WR), "shutdown");
	close(s[0]);
}

static void unread_nothing_sent(void) {
	int s[2];
	pair(s);
	MUST(send(s[0], "never read", 10, 0));
	ready(s[1], POLLIN, 2000);
	close(s[1]);
	SETTLED(s[0], POLLERR, "peer closed with unread data");
	CALL(recv(s[0], b, 4, 0), "recv");
	CALL(recv(s[0], b, 4, 0), "recv again");
	writes(s[0], "sender");
	close(s[0]);
	pair(s);
	MUST(send(s[0], "never read", 10, 0));
	ready(s[1], POLLIN, 2000);
	close(s[1]);
	SETTLED(s[0], POLLERR, "the same");
	CALL(send(s[0], "x", 1, MSG_NOSIGNAL), "send");
	CALL(send(s[0], "x", 1, MSG_NOSIGNAL), "send again");
	CALL(recv(s[0], b, 4, 0), "recv");
	close(s[0]);
}

static void linger(void) {
	int s[2];
	struct linger zero = {1, 0}, some = {1, 1}, got;
	socklen_t n = sizeof got;
	pair(s);
	MUST(getsockopt(s[0], SOL_SOCKET, SO_LINGER, &got, &n));
	say("default: %d %d", got.l_onoff, got.l_linger);
	MUST(setsockopt(s[0], SOL_SOCKET, SO_LINGER, &zero, sizeof zero));
	MUST(send(s[0], "data", 4, 0));
	ready(s[1], POLLIN, 2000);
	close(s[0]);
	SETTLED(s[1], POLLERR, "peer closed with linger 0");
	SO_ERR(s[1], "SO_ERROR takes the error");
	POLL(s[1], "afterwards");
	CALL(recv(s[1], b, 2, 0), "recv");
	CALL(recv(s[1], b, 2, 0), "recv");
	CALL(recv(s[1], b, 2, 0), "recv");
	writes(s[1], "sender");
	close(s[1]);
	pair(s);
	MUST(setsockopt(s[0], SOL_SOCKET, SO_LINGER, &some, sizeof some));
	MUST(getsockopt(s[0], SOL_SOCKET, SO_LINGER, &got, &n));
	say("set: %d %d", got.l_onoff, got.l_linger);
	MUST(send(s[0], "data", 4, 0));
	CALL(close(s[0]), "close with linger 1 s, all delivered");
	SETTLED(s[1], POLLRDHUP, "peer closed");
	reads(s[1], "receiver");
	close(s[1]);
}

// full makes a pair of which the first end has more to send than the second has room for, and lingers.
static void full(int s[2], int seconds) {
	int small = 4096;
	struct linger l = {1, seconds};
	pair(s);
	MUST(setsockopt(s[1], SOL_SOCKET, SO_RCVBUF, &small, sizeof small));
	MUST(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small));
	MUST(setsockopt(s[0], SOL_SOCKET, SO_LINGER, &l, sizeof l));
	for (int64_t until = now_ms() + 100; now_ms() < until; nap(5))
		while (send(s[0], b, sizeof b, MSG_DONTWAIT) > 0) {}
}

static void *read_all_later(void *arg) {
	nap(200);
	while (recv((int)(intptr_t)arg, b, sizeof b, 0) > 0) {}
	return NULL;
}

static void *close_later(void *arg) {
	nap(200);
	close((int)(intptr_t)arg); // with data that nobody read: a reset
	return NULL;
}

static void on_alarm(int signo) {}

// close waits for what SO_LINGER is about.
static void lingering(void) {
	int s[2];
	pthread_t t;
	full(s, 1);
	int64_t start = now_ms();
	CALL(close(s[0]), "nobody reads");
	IS(now_ms() - start >= 900 && now_ms() - start < 3000, "it took its time");
	CALL(fcntl(s[0], F_GETFD), "the descriptor");
	close(s[1]);

	full(s, 1), nonblock(s[0]);
	start = now_ms();
	CALL(close(s[0]), "nobody reads from one that does not block");
	IS(now_ms() - start >= 900 && now_ms() - start < 3000, "it took its time");
	close(s[1]);

	full(s, 20);
	pthread_create(&t, NULL, read_all_later, (void *)(intptr_t)s[1]);
	start = now_ms();
	CALL(close(s[0]), "somebody reads later");
	IS(now_ms() - start >= 100 && now_ms() - start < 10000, "it waited for that");
	pthread_join(t, NULL);
	close(s[1]);

	full(s, 20);
	pthread_create(&t, NULL, close_later, (void *)(intptr_t)s[1]);
	start = now_ms();
	CALL(close(s[0]), "the peer resets later");
	IS(now_ms() - start >= 100 && now_ms() - start < 10000, "it waited for that");
	pthread_join(t, NULL);

	full(s, 20);
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval soon = {.it_value.tv_usec = 200000};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	start = now_ms();
	CALL(close(s[0]), "a signal comes");
	IS(now_ms() - start >= 100 && now_ms() - start < 10000, "it came back with that");
	CALL(fcntl(s[0], F_GETFD), "the descriptor");
	close(s[1]);

	full(s, 20);
	start = now_ms();
	int other = MUST(dup(s[0]));
	CALL(close(s[0]), "another descriptor is left");
	IS(now_ms() - start < 1000, "at once");
	IN_CHILD("the end of a process") {}
	IN_CHILD("the last descriptor of one of two processes") { close(other); }
	struct linger none = {1, 0};
	MUST(setsockopt(other, SOL_SOCKET, SO_LINGER, &none, sizeof none));
	CALL(close(other), "linger 0");
	IS(now_ms() - start < 2000, "at once");
	close(s[1]);
}

static void half_close(void) {
	int s[2];
	pair(s);
	CALL(shutdown(s[0], SHUT_WR), "shut the writing");
	SETTLED(s[1], POLLRDHUP, "peer");
	in_state(s[0], "FIN_WAIT2", "state");
	in_state(s[1], "CLOSE_WAIT", "state of the peer");
	POLL(s[0], "self");
	writes(s[0], "self");
	CALL(recv(s[1], b, 1, 0), "peer: recv");
	MUST(send(s[1], "still", 5, 0));
	SETTLED(s[0], POLLIN, "self, data");
	CALL(recv(s[0], b, 10, 0), "self: recv");
	CALL(shutdown(s[0], SHUT_WR), "shut the writing again");
	CALL(shutdown(s[1], SHUT_WR), "peer shuts its writing");
	SETTLED(s[0], POLLHUP, "self, both shut");
	SETTLED(s[1], POLLHUP, "peer, both shut");
	CALL(recv(s[0], b, 1, 0), "self: recv");
	writes(s[1], "peer");
	in_state(s[1], "CLOSE", "state of the peer");
	CALL(shutdown(s[1], SHUT_WR), "peer shuts again");
	end(s);
}

static void shut_reading(void) {
	int s[2];
	pair(s);
	CALL(shutdown(s[0], SHUT_RD), "shut the reading");
	POLL(s[0], "self");
	POLL(s[1], "peer");
	CALL(recv(s[0], b, 1, 0), "recv");
	MUST(send(s[1], "data", 4, 0));
	nap(20);
	POLL(s[0], "data came all the same");
	CALL(recv(s[0], b, 10, MSG_DONTWAIT), "recv");
	CALL(recv(s[0], b, 10, MSG_DONTWAIT), "recv again");
	writes(s[0], "self");
	ready(s[1], POLLIN, 2000);
	CALL(recv(s[1], b, 10, 0), "peer: recv");
	CALL(shutdown(s[0], SHUT_RDWR), "shut both");
	POLL(s[0], "self");
	SETTLED(s[1], POLLRDHUP, "peer");
	CALL(shutdown(s[0], 3), "a bad way");
	end(s);
}

static void shut_both(void) {
	int s[2];
	pair(s);
	MUST(send(s[1], "unread", 6, 0));
	ready(s[0], POLLIN, 2000);
	CALL(shutdown(s[0], SHUT_RDWR), "shut both, unread data");
	POLL(s[0], "self");
	SETTLED(s[1], POLLRDHUP, "peer");
	CALL(recv(s[0], b, 10, 0), "recv");
	CALL(recv(s[0], b, 10, 0), "recv again");
	writes(s[0], "self");
	CALL(recv(s[1], b, 10, 0), "peer: recv");
	end(s);
}

static volatile int pipes;
static void on_pipe(int signo) { pipes++; }

static void sigpipe(void) {
	int s[2];
	pair(s);
	signal(SIGPIPE, on_pipe);
	shutdown(s[0], SHUT_WR);
	CALL(send(s[0], "x", 1, 0), "send after shutdown");
	say("SIGPIPE: %d", pipes);
	CALL(send(s[0], "x", 1, MSG_NOSIGNAL), "with MSG_NOSIGNAL");
	say("SIGPIPE: %d", pipes);
	CALL(write(s[0], "x", 1), "write");
	say("SIGPIPE: %d", pipes);
	CALL(send(s[0], "x", 0, 0), "0 bytes");
	say("SIGPIPE: %d", pipes);
	end(s);
	pair(s);
	struct linger zero = {1, 0};
	setsockopt(s[1], SOL_SOCKET, SO_LINGER, &zero, sizeof zero);
	close(s[1]);
	SETTLED(s[0], POLLERR, "reset");
	CALL(send(s[0], "x", 1, 0), "send after a reset");
	say("SIGPIPE: %d", pipes);
	CALL(send(s[0], "x", 1, 0), "send again");
	say("SIGPIPE: %d", pipes);
	close(s[0]);
}

static void *recv_in_thread(void *arg) {
	errno = 0;
	long n = recv((int)(intptr_t)arg, b, sizeof b, 0);
	return (void *)(n < 0 ? -(long)errno : n);
}
static const char *outcome(pthread_t t) {
	void *r;
	static char text[32];
	pthread_join(t, &r);
	snprintf(text, sizeof text, "%ld", (long)r);
	return (long)r < 0 ? errno_name(-(long)r) : text;
}

static void blocked_reader(void) {
	int s[2];
	pthread_t t;
	pair(s);
	pthread_create(&t, NULL, recv_in_thread, (void *)(intptr_t)s[0]);
	nap(30);
	shutdown(s[0], SHUT_RD);
	say("reader when its own side shuts the reading: %s", outcome(t));
	end(s);
	pair(s);
	pthread_create(&t, NULL, recv_in_thread, (void *)(intptr_t)s[0]);
	nap(30);
	shutdown(s[1], SHUT_WR);
	say("reader when the peer shuts its writing: %s", outcome(t));
	end(s);
	pair(s);
	struct linger zero = {1, 0};
	setsockopt(s[1], SOL_SOCKET, SO_LINGER, &zero, sizeof zero);
	pthread_create(&t, NULL, recv_in_thread, (void *)(intptr_t)s[0]);
	nap(30);
	close(s[1]);
	say("reader when the peer resets: %s", outcome(t));
	close(s[0]);
	pair(s);
	pthread_create(&t, NULL, recv_in_thread, (void *)(intptr_t)s[0]);
	nap(30);
	int d = MUST(dup(s[0]));
	close(s[0]);
	send(s[1], "after close", 11, 0);
	say("reader whose descriptor was closed meanwhile: %s", outcome(t));
	close(d), close(s[1]);
}

static void *accept_in_thread(void *arg) {
	long fd = accept((int)(intptr_t)arg, NULL, NULL);
	return (void *)(fd < 0 ? -(long)errno : 0);
}

static void listeners(void) {
	int port, l = listener(5, &port);
	pthread_t t;
	pthread_create(&t, NULL, accept_in_thread, (void *)(intptr_t)l);
	nap(30);
	CALL(shutdown(l, SHUT_RDWR), "shut a listener");
	say("the accept that waited: %s", outcome(t));
	CALL(accept(l, NULL, NULL), "accept");
	POLL(l, "shut listener");
	CALL(listen(l, 5), "listen again");
	POLL(l, "it listens again");
	port = port_of(l); // perhaps another one: the first was the kernel's choice
	int c = dial(port);
	ready(l, POLLIN, 2000);
	CALL(shutdown(l, SHUT_WR), "shut a listener's writing");
	POLL(l, "still a listener");
	CALL(close(l), "close a listener with a connection nobody accepted");
	SETTLED(c, POLLERR, "that connection");
	CALL(recv(c, b, 1, 0), "recv");
	close(c);
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	c = MUST(socket(AF_INET, SOCK_STREAM, 0));
	CALL(connect(c, SA(a)), "connect to the closed listener");
	close(c);
}

static void copies(void) {
	int s[2];
	pair(s);
	int d = MUST(dup(s[0]));
	close(s[0]);
	nap(10);
	POLL(s[1], "one of two descriptors closed");
	IN_CHILD("child that exits with a copy") if (write(d, "x", 1) != 1) _exit(1);
	SETTLED(s[1], POLLIN, "peer");
	close(d);
	SETTLED(s[1], POLLRDHUP, "peer, both closed");
	close(s[1]);
	pair(s);
	IN_CHILD("child that is killed") {
		close(s[1]);
		raise(SIGKILL);
	} else close(s[0]);
	SETTLED(s[1], POLLRDHUP, "peer of the killed");
	close(s[1]);
}

CASES(C(orderly), C(unread_data), C(unread_nothing_sent), C(linger), C(lingering), C(half_close), C(shut_reading), C(shut_both), C(sigpipe),
	C(blocked_reader), C(listeners), C(copies))
