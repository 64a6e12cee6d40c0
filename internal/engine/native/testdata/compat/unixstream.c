// Unix stream sockets: pairs, names, listening, buffers, ends.
#include "compat.h"
#include "net.h"

static char b[1 << 18];

static struct sockaddr_un name(const char *path) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strncpy(a.sun_path, path, sizeof a.sun_path);
	return a;
}
static socklen_t length(const char *path) { return offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1; }
static int bind_to(int fd, const char *path) {
	struct sockaddr_un a = name(path);
	return bind(fd, (struct sockaddr *)&a, length(path));
}
static int connect_to(int fd, const char *path) {
	struct sockaddr_un a = name(path);
	return connect(fd, (struct sockaddr *)&a, length(path));
}
static int sock(int type) { return MUST(socket(AF_UNIX, type, 0)); }

static void show_name(const char *who, int fd, int peer) {
	struct sockaddr_un a;
	memset(&a, 'Z', sizeof a);
	socklen_t n = sizeof a;
	int r = peer ? getpeername(fd, (struct sockaddr *)&a, &n) : getsockname(fd, (struct sockaddr *)&a, &n);
	if (r < 0) say("%s: -1 %s", who, errno_name(errno));
	else say("%s: family %d, %u bytes, \"%.*s\"", who, a.sun_family, n, n > 2 ? (int)(n - 3) : 0, a.sun_path);
}

static void pairs(void) {
	int s[2];
	CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	POLL(s[0], "fresh");
	show_name("name", s[0], 0);
	show_name("peer", s[0], 1);
	CALL(write(s[0], "hello", 5), "write");
	CALL(write(s[0], "world", 5), "write");
	int n;
	ioctl(s[1], FIONREAD, &n);
	say("bytes: %d", n);
	POLL(s[1], "readable");
	CALL(recv(s[1], b, 7, MSG_PEEK), "peek over the border");
	CALL(recv(s[1], b, 7, 0), "recv over the border");
	CALL(recv(s[1], b, 7, MSG_WAITALL | MSG_DONTWAIT), "recv the rest");
	CALL(recv(s[1], b, 7, MSG_DONTWAIT), "recv, nothing there");
	CALL(send(s[0], b, 0, 0), "send nothing");
	CALL(recv(s[1], b, 7, MSG_DONTWAIT), "recv, nothing there");
	CALL(recv(s[1], b, 0, MSG_DONTWAIT), "recv 0 bytes");
	struct sockaddr_un a = name("x");
	CALL(sendto(s[0], "x", 1, 0, SA(a)), "sendto");
	CALL(connect(s[0], SA(a)), "connect");
	CALL(listen(s[0], 1), "listen");
	CALL(accept(s[0], NULL, NULL), "accept");
	CALL(lseek(s[0], 0, SEEK_CUR), "lseek");
	close(s[0]), close(s[1]);
	CALL(socketpair(AF_UNIX, SOCK_RAW, 0, s), "socketpair, raw is a datagram pair");
	close(s[0]), close(s[1]);
	CALL(socketpair(AF_UNIX, 77, 0, s), "a type that does not exist");
	CALL(socketpair(AF_UNIX, SOCK_STREAM, 5, s), "a protocol");
	CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, NULL), "a bad address");
	CALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, s), "with flags");
	IS(fcntl(s[1], F_GETFD) == FD_CLOEXEC && fcntl(s[1], F_GETFL) == (O_RDWR | O_NONBLOCK), "the flags are there");
	close(s[0]), close(s[1]);
}

static void ends(void) {
	int s[2];
	signal(SIGPIPE, SIG_IGN);
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	MUST(write(s[0], "last", 4));
	close(s[0]);
	POLL(s[1], "peer closed, data");
	CALL(write(s[1], "x", 1), "write");
	CALL(read(s[1], b, 10), "read");
	CALL(read(s[1], b, 10), "read at the end");
	POLL(s[1], "at the end");
	SO_ERR(s[1], "at the end");
	show_name("peer", s[1], 1);
	close(s[1]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	MUST(write(s[1], "unread", 6));
	MUST(write(s[0], "other", 5));
	close(s[0]);
	POLL(s[1], "peer closed with unread data");
	CALL(read(s[1], b, 10), "read");
	CALL(read(s[1], b, 10), "read");
	CALL(read(s[1], b, 10), "read");
	CALL(write(s[1], "x", 1), "write");
	close(s[1]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	CALL(shutdown(s[0], SHUT_WR), "shut the writing");
	POLL(s[0], "self");
	POLL(s[1], "peer");
	CALL(write(s[0], "x", 1), "write");
	CALL(read(s[1], b, 1), "peer reads");
	CALL(write(s[1], "y", 1), "peer writes");
	CALL(read(s[0], b, 1), "read");
	CALL(shutdown(s[0], SHUT_RD), "shut the reading");
	POLL(s[0], "self");
	POLL(s[1], "peer");
	CALL(read(s[0], b, 1), "read");
	CALL(write(s[1], "y", 1), "peer writes");
	CALL(shutdown(s[0], SHUT_RDWR), "shut both");
	CALL(shutdown(s[0], 7), "a bad way");
	close(s[0]), close(s[1]);
	int fd = sock(SOCK_STREAM);
	CALL(shutdown(fd, SHUT_RDWR), "shutdown, not connected");
	POLL(fd, "not connected");
	CALL(read(fd, b, 1), "read, not connected");
	CALL(write(fd, b, 1), "write, not connected");
	close(fd);
}

static void paths(void) {
	int l = sock(SOCK_STREAM), c = sock(SOCK_STREAM), x = sock(SOCK_STREAM);
	POLL(l, "fresh");
	CALL(listen(l, 1), "listen without a name");
	CALL(bind_to(l, "listener"), "bind");
	CALL(bind_to(l, "second"), "bind again");
	CALL(bind_to(x, "listener"), "bind another to the same path");
	CALL(bind_to(x, "no/such/folder"), "bind in a folder that is not there");
	struct stat st;
	CALL(stat("listener", &st), "stat");
	IS(S_ISSOCK(st.st_mode), "it is a socket");
	CALL(open("listener", O_RDWR), "open");
	CALL(connect_to(c, "listener"), "connect before listen");
	CALL(listen(l, 2), "listen");
	POLL(l, "listener");
	CALL(connect_to(c, "listener"), "connect");
	CALL(connect_to(c, "listener"), "connect again");
	POLL(l, "listener with a connection");
	show_name("own name", c, 0);
	show_name("peer", c, 1);
	struct sockaddr_un a;
	socklen_t n = sizeof a;
	int s = OK(accept(l, (struct sockaddr *)&a, &n), "accept");
	say("address of the client: %u bytes", n);
	show_name("name of the accepted", s, 0);
	CALL(unlink("listener"), "unlink");
	MUST(write(c, "after", 5));
	CALL(read(s, b, 10), "read after unlink");
	CALL(connect_to(x, "listener"), "connect after unlink");
	close(s), close(c), close(l);
	l = sock(SOCK_STREAM);
	MUST(bind_to(l, "stale"));
	MUST(listen(l, 1));
	close(l);
	CALL(connect_to(x, "stale"), "connect to a stale path");
	l = sock(SOCK_STREAM);
	CALL(bind_to(l, "stale"), "bind to a stale path");
	close(MUST(open("file", O_CREAT | O_WRONLY, 0600)));
	CALL(connect_to(x, "file"), "connect to a file");
	CALL(connect_to(x, "nothing"), "connect to nothing");
	int d = sock(SOCK_DGRAM);
	MUST(bind_to(d, "datagrams"));
	CALL(connect_to(x, "datagrams"), "connect a stream to datagrams");
	struct sockaddr_un bad = name("x");
	CALL(bind(x, (struct sockaddr *)&bad, 1), "bind with 1 byte");
	CALL(bind(x, (struct sockaddr *)&bad, 500), "bind with too many bytes");
	bad.sun_family = AF_INET;
	CALL(bind(x, SA(bad)), "bind with another family");
	CALL(connect(x, SA(bad)), "connect with another family");
	memset(&bad, 'p', sizeof bad);
	bad.sun_family = AF_UNIX;
	CALL(bind(x, SA(bad)), "bind to a path of 108 bytes without an end");
	show_name("name", x, 0);
	close(l), close(d), close(x);
}

static void abstract(void) {
	int l = sock(SOCK_STREAM), c = sock(SOCK_STREAM), x = sock(SOCK_STREAM);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t n = offsetof(struct sockaddr_un, sun_path) + 1 + sprintf(a.sun_path + 1, "compat-%d", getpid());
	CALL(bind(l, (struct sockaddr *)&a, n), "bind to an abstract name");
	CALL(bind(x, (struct sockaddr *)&a, n), "bind another");
	CALL(bind(x, (struct sockaddr *)&a, n + 1), "a longer name is another name");
	MUST(listen(l, 1));
	CALL(connect(c, (struct sockaddr *)&a, n), "connect");
	struct sockaddr_un p;
	socklen_t len = sizeof p;
	getpeername(c, (struct sockaddr *)&p, &len);
	IS(len == n && !memcmp(&p, &a, n), "the peer has that name");
	close(l);
	int again = sock(SOCK_STREAM);
	CALL(bind(again, (struct sockaddr *)&a, n), "the name is free once closed");
	close(again), close(x);
	x = sock(SOCK_STREAM);
	CALL(connect(x, (struct sockaddr *)&a, n), "connect to a name that is gone");
	CALL(bind(x, (struct sockaddr *)&a, 2), "autobind");
	len = sizeof p;
	getsockname(x, (struct sockaddr *)&p, &len);
	say("an automatic name has %u bytes, the first is %d", len, p.sun_path[0]);
	close(c), close(x);
}

static void full(void) {
	int s[2];
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s);
	long sent = 0, got = 0, partial = 0, n;
	while ((n = write(s[0], b, sizeof b)) > 0) sent += n, partial |= n < (long)sizeof b;
	CALL(write(s[0], b, 1), "write to full");
	IS(sent > 0, "something went in");
	POLL(s[0], "full");
	POLL(s[1], "peer of full");
	while ((n = read(s[1], b, 1000)) > 0) got += n;
	IS(got == sent, "all of it comes out");
	POLL(s[0], "drained");
	while (write(s[0], b, 1000) > 0) {}
	close(s[1]);
	POLL(s[0], "full, peer closed");
	signal(SIGPIPE, SIG_IGN);
	CALL(write(s[0], b, 1), "write");
	SO_ERR(s[0], "full, peer closed");
	CALL(read(s[0], b, 1), "read, the peer had unread data");
	CALL(read(s[0], b, 1), "read again");
	close(s[0]);
}

static void backlog(void) {
	int l = sock(SOCK_STREAM), c[4];
	MUST(bind_to(l, "backlog"));
	MUST(listen(l, 1));
	for (int i = 0; i < 4; i++) {
		c[i] = sock(SOCK_STREAM | SOCK_NONBLOCK);
		CALL(connect_to(c[i], "backlog"), "connect %d", i);
	}
	MUST(write(c[0], "early", 5));
	int s = OK(accept(l, NULL, NULL), "accept");
	CALL(read(s, b, 10), "what was written before accept");
	CALL(connect_to(c[3], "backlog"), "connect with room again");
	close(s);
	close(l);
	CALL(read(c[1], b, 1), "a connection nobody accepted");
	POLL(c[1], "a connection nobody accepted");
	for (int i = 0; i < 4; i++) close(c[i]);
}

static void *read_later(void *arg) {
	long total = 0;
	nap(30);
	for (long n; (n = read((int)(intptr_t)arg, b, 5000)) > 0;) total += n;
	return (void *)total;
}
static void *write_later(void *arg) {
	nap(30);
	return (void *)write((int)(intptr_t)arg, "late", 4);
}

static void blocking(void) {
	int s[2];
	static char big[1 << 20];
	pthread_t t;
	void *got;
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	pthread_create(&t, NULL, read_later, (void *)(intptr_t)s[1]);
	CALL(write(s[0], big, sizeof big), "write that waits");
	close(s[0]);
	pthread_join(t, &got);
	say("read: %ld", (long)got);
	close(s[1]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	pthread_create(&t, NULL, write_later, (void *)(intptr_t)s[1]);
	CALL(recv(s[0], b, 4, MSG_WAITALL), "recv that waits");
	pthread_join(t, NULL);
	struct timeval tv = {0, 100000};
	setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	CALL(recv(s[0], b, 4, 0), "recv that times out");
	close(s[0]), close(s[1]);
}

CASES(C(pairs), C(ends), C(paths), C(abstract), C(full), C(backlog), C(blocking))
