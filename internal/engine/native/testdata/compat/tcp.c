// TCP over IPv4: binding, listening, connecting, sending and receiving; closing is in tcpclose.c.
#include "compat.h"
#include "net.h"

static char big[1 << 20];

static void sockets(void) {
	OK(socket(AF_INET, SOCK_STREAM, 0), "stream");
	OK(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP), "stream, tcp");
	CALL(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), "stream, udp");
	CALL(socket(AF_INET, SOCK_SEQPACKET, 0), "seqpacket");
	CALL(socket(AF_INET, 77, 0), "a type that does not exist");
	CALL(socket(999, SOCK_STREAM, 0), "a family that does not exist");
	CALL(socket(AF_INET, SOCK_STREAM, 9999), "a protocol that does not exist");
	CALL(socket(AF_INET, SOCK_STREAM | 0x100, 0), "a bad flag");
	int fd = OK(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "with flags");
	IS(fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK), "status flags");
	IS(fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	POLL(fd, "fresh");
	struct stat st;
	fstat(fd, &st);
	IS(S_ISSOCK(st.st_mode) && st.st_size == 0, "fstat says socket");
	char c;
	CALL(read(fd, &c, 1), "read, not connected");
	CALL(lseek(fd, 0, SEEK_SET), "lseek");
	CALL(pread(fd, &c, 1, 0), "pread");
	CALL(fsync(fd), "fsync");
	CALL(ftruncate(fd, 0), "ftruncate");
	signal(SIGPIPE, SIG_IGN);
	CALL(write(fd, &c, 1), "write, not connected");
	CALL(shutdown(fd, SHUT_RDWR), "shutdown, not connected");
	POLL(fd, "after that");
	CALL(accept(fd, NULL, NULL), "accept, not listening");
	struct sockaddr_in a;
	socklen_t n = sizeof a;
	CALL(getpeername(fd, (struct sockaddr *)&a, &n), "getpeername, not connected");
	CALL(getsockname(fd, (struct sockaddr *)&a, &n), "getsockname, not bound");
	say("family %d, port %d, address %#x, length %u", a.sin_family, ntohs(a.sin_port), ntohl(a.sin_addr.s_addr), n);
	CALL(accept(CLOSED_FD, NULL, NULL), "accept on a closed descriptor");
	int file = MUST(open(".", O_RDONLY));
	CALL(accept(file, NULL, NULL), "accept on a folder");
	CALL(listen(file, 1), "listen on a folder");
	CALL(send(file, "x", 1, 0), "send to a folder");
	CALL(socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){0}), "socketpair");
	close(fd);
}

static void binding(void) {
	struct sockaddr_in a = v4(INADDR_LOOPBACK, 0), other;
	int l = MUST(socket(AF_INET, SOCK_STREAM, 0)), fd = MUST(socket(AF_INET, SOCK_STREAM, 0)), on = 1;
	CALL(bind(l, SA(a)), "bind to port 0");
	int port = port_of(l);
	IS(port > 0, "it has a port");
	CALL(bind(l, SA(a)), "bind again");
	other = v4(INADDR_LOOPBACK, port);
	CALL(bind(fd, SA(other)), "bind another to the same port");
	other.sin_addr.s_addr = htonl(INADDR_ANY);
	CALL(bind(fd, SA(other)), "bind to any address, the same port");
	other.sin_addr.s_addr = htonl(0x7f000002);
	CALL(bind(fd, SA(other)), "bind to 127.0.0.2, the same port");
	close(fd);
	fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	other = v4(0x08080808, 0);
	CALL(bind(fd, SA(other)), "bind to a foreign address");
	CALL(bind(fd, (struct sockaddr *)&a, 4), "bind with a short address");
	other = a, other.sin_family = AF_UNIX;
	CALL(bind(fd, SA(other)), "bind with another family");
	other = v4(INADDR_ANY, 0), other.sin_family = AF_UNSPEC;
	CALL(bind(fd, SA(other)), "bind to any address without a family");
	close(fd);
	CALL(listen(l, 0), "listen");
	CALL(listen(l, 10), "listen again");
	POLL(l, "listener");
	fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	other = v4(INADDR_LOOPBACK, port);
	CALL(bind(fd, SA(other)), "bind with REUSEADDR beside a listener");
	close(fd);
	int c = dial(port), s = MUST(accept(l, NULL, NULL));
	close(l);
	fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	CALL(bind(fd, SA(other)), "bind beside a connection");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	CALL(bind(fd, SA(other)), "bind with REUSEADDR beside a connection without it");
	close(fd), close(c), close(s);
	for (int i = 0; i < 2; i++) {
		l = MUST(socket(AF_INET, SOCK_STREAM, 0)), fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
		setsockopt(l, SOL_SOCKET, i ? SO_REUSEPORT : SO_REUSEADDR, &on, sizeof on);
		setsockopt(fd, SOL_SOCKET, i ? SO_REUSEPORT : SO_REUSEADDR, &on, sizeof on);
		a.sin_port = 0;
		MUST(bind(l, SA(a)));
		a.sin_port = htons(port_of(l));
		CALL(bind(fd, SA(a)), "bind two with %s", i ? "REUSEPORT" : "REUSEADDR");
		CALL(listen(l, 1), "listen on the first");
		CALL(listen(fd, 1), "listen on the second");
		close(l), close(fd);
	}
	fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	CALL(listen(fd, 1), "listen without bind");
	IS(port_of(fd) > 0, "it got a port");
	close(fd);
}

// A server that ends and comes back finds its port: its old connections linger, and REUSEADDR says that is fine.
static void restart(void) {
	int on = 1, port, l = MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = v4(INADDR_LOOPBACK, 0);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	MUST(bind(l, SA(a)));
	MUST(listen(l, 1));
	a.sin_port = htons(port = port_of(l));
	int c = dial(port), s = MUST(accept(l, NULL, NULL));
	close(s);
	in_state(c, "CLOSE_WAIT", "client after the server closed");
	close(c), close(l);
	nap(10);
	l = MUST(socket(AF_INET, SOCK_STREAM, 0));
	CALL(bind(l, SA(a)), "bind while old connections linger");
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	CALL(bind(l, SA(a)), "the same with REUSEADDR");
	CALL(listen(l, 1), "listen");
	close(l);
}

static void connecting(void) {
	int port, l = listener(5, &port), fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port), name, peer;
	socklen_t n = sizeof name;
	CALL(connect(fd, (struct sockaddr *)&a, 4), "connect with a short address");
	CALL(connect(fd, SA(a)), "connect");
	CALL(connect(fd, SA(a)), "connect again");
	CALL(listen(fd, 1), "listen on a connection");
	CALL(getpeername(fd, (struct sockaddr *)&peer, &n), "getpeername");
	IS(peer.sin_port == a.sin_port && peer.sin_addr.s_addr == a.sin_addr.s_addr, "the listener's address");
	MUST(getsockname(fd, (struct sockaddr *)&name, &n));
	SETTLED(l, POLLIN, "listener with a connection");
	memset(&peer, 0, sizeof peer);
	n = sizeof peer;
	int s = OK(accept4(l, (struct sockaddr *)&peer, &n, SOCK_NONBLOCK | SOCK_CLOEXEC), "accept4");
	IS(n == sizeof peer && peer.sin_port == name.sin_port && peer.sin_addr.s_addr == name.sin_addr.s_addr, "the client's address");
	IS((fcntl(s, F_GETFL) & O_NONBLOCK) && fcntl(s, F_GETFD) == FD_CLOEXEC, "flags of the accepted");
	CALL(accept4(l, NULL, NULL, 0x100), "accept4 with a bad flag");
	POLL(s, "accepted");
	POLL(fd, "connected");
	close(s), close(fd);
	fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	n = 2;
	int d = dial(port);
	s = MUST(accept(l, (struct sockaddr *)&peer, &n));
	say("accept with room for 2 bytes says %u", n);
	n = -1;
	close(d), close(s);
	nonblock(l);
	CALL(accept(l, NULL, NULL), "accept, nobody there");
	close(l);
	a.sin_port = htons(port);
	CALL(connect(fd, SA(a)), "connect, nobody listens");
	SO_ERR(fd, "after that");
	POLL(fd, "after that");
	l = MUST(socket(AF_INET, SOCK_STREAM, 0));
	int on = 1;
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	MUST(bind(l, SA(a)));
	MUST(listen(l, 1));
	CALL(connect(fd, SA(a)), "connect the same socket again");
	a.sin_family = AF_UNSPEC;
	CALL(connect(fd, SA(a)), "disconnect");
	CALL(getpeername(fd, (struct sockaddr *)&peer, &n), "getpeername");
	a = v4(INADDR_ANY, port);
	CALL(connect(fd, SA(a)), "connect to 0.0.0.0");
	n = sizeof peer;
	MUST(getpeername(fd, (struct sockaddr *)&peer, &n));
	IS(peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK), "that is 127.0.0.1");
	close(fd), close(l);
}

static void in_progress(void) {
	int port, l = listener(5, &port), fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	CALL(connect(fd, SA(a)), "non-blocking connect");
	SETTLED(fd, POLLOUT, "connected");
	SO_ERR(fd, "connected");
	CALL(connect(fd, SA(a)), "connect again");
	CALL(connect(fd, SA(a)), "and again");
	close(fd);
	close(MUST(accept(l, NULL, NULL)));
	close(l);
	fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	CALL(connect(fd, SA(a)), "non-blocking connect, nobody listens");
	SETTLED(fd, POLLERR, "refused");
	SO_ERR(fd, "refused");
	SO_ERR(fd, "once more");
	POLL(fd, "afterwards");
	char c;
	CALL(read(fd, &c, 1), "read");
	CALL(connect(fd, SA(a)), "connect again");
	SETTLED(fd, POLLERR, "refused again");
	CALL(read(fd, &c, 1), "read");
	CALL(read(fd, &c, 1), "read again");
	CALL(send(fd, &c, 1, MSG_NOSIGNAL), "send");
	close(fd);
}

static void *read_all(void *arg) {
	static char b[10000];
	long total = 0;
	nap(20);
	for (ssize_t n; (n = read((int)(intptr_t)arg, b, sizeof b)) > 0;) total += n;
	return (void *)total;
}

static void transfer(void) {
	int s[2], n;
	char b[64] = {0};
	pair(s);
	CALL(send(s[0], "hello", 5, 0), "send");
	ready(s[1], POLLIN, 2000);
	CALL(ioctl(s[1], FIONREAD, &n), "FIONREAD");
	say("bytes: %d", n);
	CALL(recv(s[1], b, 2, MSG_PEEK), "peek 2");
	CALL(recv(s[1], b, sizeof b, MSG_PEEK), "peek all");
	CALL(recv(s[1], b, 3, MSG_TRUNC), "discard 3 by MSG_TRUNC");
	CALL(recv(s[1], b, 0, 0), "recv 0 bytes");
	CALL(recv(s[1], b, sizeof b, 0), "recv the rest");
	say("%.2s", b);
	CALL(recv(s[1], b, 1, MSG_DONTWAIT), "recv, nothing there");
	CALL(recv(s[1], b, 1, MSG_PEEK | MSG_DONTWAIT), "peek, nothing there");
	CALL(send(s[0], b, 0, 0), "send 0 bytes");
	CALL(recv(s[1], b, 1, MSG_DONTWAIT), "recv after that");
	CALL(send(s[0], NULL, 5, 0), "send from a bad address");
	CALL(sendto(s[0], "to", 2, 0, (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET}, sizeof(struct sockaddr_in)), "sendto on a connection");
	struct sockaddr_in from;
	socklen_t len = sizeof from;
	ready(s[1], POLLIN, 2000);
	CALL(recvfrom(s[1], b, sizeof b, 0, (struct sockaddr *)&from, &len), "recvfrom");
	say("length of the address: %u", len);
	CALL(recv(s[1], b, 1, MSG_OOB), "recv out of band, none");
	pthread_t t;
	pthread_create(&t, NULL, read_all, (void *)(intptr_t)s[1]);
	CALL(send(s[0], big, sizeof big, 0), "send 1 MiB, blocking");
	shutdown(s[0], SHUT_WR);
	void *total;
	pthread_join(t, &total);
	say("received: %ld", (long)total);
	close(s[0]), close(s[1]);
}

static void *send_in_parts(void *arg) {
	for (int i = 0; i < 4; i++) {
		nap(10);
		MUST(send((int)(intptr_t)arg, "part", 4, 0));
	}
	return NULL;
}

static void waitall(void) {
	int s[2];
	char b[64];
	pthread_t t;
	pair(s);
	pthread_create(&t, NULL, send_in_parts, (void *)(intptr_t)s[0]);
	CALL(recv(s[1], b, 16, MSG_WAITALL), "wait for all 16");
	pthread_join(t, NULL);
	MUST(send(s[0], "short", 5, 0));
	shutdown(s[0], SHUT_WR);
	CALL(recv(s[1], b, 16, MSG_WAITALL | MSG_PEEK), "peek for all, the end comes first");
	CALL(recv(s[1], b, 16, MSG_WAITALL), "wait for all, the end comes first");
	CALL(recv(s[1], b, 16, MSG_WAITALL), "at the end");
	close(s[0]), close(s[1]);
}

static void full(void) {
	int s[2], small = 4096;
	static char b[1 << 16];
	pair(s);
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	nonblock(s[0]), nonblock(s[1]);
	long sent = 0, partial = 0, got = 0;
	for (int quiet = 0; quiet < 3;) {
		ssize_t n = send(s[0], big, sizeof big, 0);
		if (n < 0) {
			quiet++;
			nap(5);
		} else sent += n, quiet = 0, partial |= n < (ssize_t)sizeof big;
	}
	CALL(send(s[0], big, 1, 0), "send to full");
	IS(partial, "a partial send came before");
	POLL(s[0], "sender, full");
	POLL(s[1], "receiver, full");
	struct iovec v = {big, 100};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	CALL(sendmsg(s[0], &m, 0), "sendmsg to full");
	while (got < sent) {
		ssize_t n = read(s[1], b, sizeof b);
		if (n > 0) got += n;
		else if (!ready(s[1], POLLIN, 2000)) break;
	}
	IS(got == sent, "all that was sent arrives");
	SETTLED(s[0], POLLOUT, "sender, drained");
	CALL(send(s[0], big, 1, 0), "send again");
	close(s[0]), close(s[1]);
}

static void backlog(void) {
	int port, l = listener(0, &port), c[4], connected = 0;
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	for (int i = 0; i < 4; i++) {
		c[i] = MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
		connect(c[i], SA(a));
		if (i == 0) IS(ready(c[i], POLLOUT, 2000) == POLLOUT, "the first connects before accept");
	}
	nap(30);
	for (int i = 0; i < 4; i++) connected += ready(c[i], POLLOUT, 0) == POLLOUT;
	IS(connected < 4, "a backlog of 0 does not take four");
	OK(accept(l, NULL, NULL), "accept");
	for (int i = 0; i < 4; i++) close(c[i]);
	close(l);
	l = listener(5, &port);
	int d = dial(port);
	MUST(send(d, "early", 5, 0));
	close(d);
	char b[8];
	int s = OK(accept(l, NULL, NULL), "accept a client that has sent and closed");
	CALL(recv(s, b, sizeof b, 0), "its data");
	CALL(recv(s, b, sizeof b, 0), "its end");
	close(s), close(l);
}

CASES(C(sockets), C(binding), C(restart), C(connecting), C(in_progress), C(transfer), C(waitall), C(full), C(backlog))
