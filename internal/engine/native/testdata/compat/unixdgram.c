// Unix datagram and seqpacket sockets.
#include "compat.h"
#include "net.h"

static char b[1 << 18];

static int sock(int type) { return MUST(socket(AF_UNIX, type, 0)); }
static struct sockaddr_un name(const char *path) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strcpy(a.sun_path, path);
	return a;
}
static int bound(int type, const char *path) {
	int fd = sock(type);
	struct sockaddr_un a = name(path);
	MUST(bind(fd, SA(a)));
	return fd;
}
static int connect_to(int fd, const char *path) {
	struct sockaddr_un a = name(path);
	return connect(fd, SA(a));
}
static long send_to(int fd, const char *path, const char *text) {
	struct sockaddr_un a = name(path);
	return sendto(fd, text, strlen(text), MSG_DONTWAIT, SA(a));
}

static void datagrams(void) {
	int s = bound(SOCK_DGRAM, "server"), c = sock(SOCK_DGRAM);
	POLL(s, "nothing there");
	CALL(send_to(c, "server", "one"), "send");
	CALL(send_to(c, "server", ""), "send nothing");
	CALL(send_to(c, "server", "three"), "send");
	POLL(s, "three there");
	struct sockaddr_un from;
	socklen_t n = sizeof from;
	CALL(recvfrom(s, b, sizeof b, 0, (struct sockaddr *)&from, &n), "recvfrom");
	say("a sender without a name: %u bytes", n);
	CALL(recv(s, b, sizeof b, 0), "recv");
	CALL(recv(s, b, 2, MSG_TRUNC), "recv 2 of 5");
	CALL(recv(s, b, 2, MSG_DONTWAIT), "recv, nothing there");
	close(c);
	c = bound(SOCK_DGRAM, "client");
	CALL(send_to(c, "server", "named"), "send");
	n = sizeof from;
	CALL(recvfrom(s, b, sizeof b, 0, (struct sockaddr *)&from, &n), "recvfrom");
	say("from \"%s\", %u bytes", from.sun_path, n);
	CALL(sendto(s, "back", 4, 0, (struct sockaddr *)&from, n), "answer");
	CALL(recv(c, b, sizeof b, 0), "recv");
	CALL(send_to(c, "nowhere", "x"), "send to nothing");
	CALL(send(c, "x", 1, 0), "send without address");
	CALL(connect_to(c, "server"), "connect");
	CALL(send(c, "x", 1, 0), "send");
	CALL(send_to(c, "server", "x"), "sendto while connected");
	int l = bound(SOCK_STREAM, "stream");
	CALL(send_to(s, "stream", "x"), "send to a stream");
	CALL(listen(s, 1), "listen");
	CALL(accept(s, NULL, NULL), "accept");
	close(s);
	POLL(c, "the peer closed");
	CALL(send(c, "x", 1, 0), "send to the closed");
	CALL(send(c, "x", 1, 0), "send again");
	CALL(send_to(c, "server", "x"), "send to a stale path");
	close(c), close(l);
}

// Once a datagram socket is connected, only its peer may send to it.
static void connected(void) {
	int a = bound(SOCK_DGRAM, "a"), c = bound(SOCK_DGRAM, "c"), x = bound(SOCK_DGRAM, "x");
	CALL(connect_to(a, "c"), "connect");
	CALL(send_to(x, "a", "stranger"), "a stranger sends");
	CALL(send_to(c, "a", "friend"), "the peer sends");
	CALL(connect_to(x, "a"), "a stranger connects");
	CALL(recv(a, b, sizeof b, MSG_DONTWAIT), "recv");
	CALL(recv(a, b, sizeof b, MSG_DONTWAIT), "nothing else");
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	CALL(connect(a, &none, sizeof none), "disconnect");
	CALL(send_to(x, "a", "stranger"), "a stranger sends");
	close(a), close(c), close(x);
}

static void full(void) {
	int s = bound(SOCK_DGRAM, "full"), c = sock(SOCK_DGRAM);
	MUST(connect_to(c, "full"));
	int sent = 0, got = 0;
	while (send(c, "x", 1, MSG_DONTWAIT) == 1 && sent < 100000) sent++;
	CALL(send(c, "x", 1, MSG_DONTWAIT), "send to full");
	IS(sent > 1, "some went in");
	POLL(c, "sender");
	MUST(recv(s, b, 1, 0));
	POLL(c, "sender, one was taken");
	CALL(send(c, "x", 1, MSG_DONTWAIT), "send again");
	while (recv(s, b, 1, MSG_DONTWAIT) == 1) got++;
	IS(got == sent, "all come out");
	close(s), close(c);
	int p[2];
	socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
	CALL(send(p[0], b, 100000, 0), "a large datagram");
	CALL(recv(p[1], b, sizeof b, 0), "recv");
	int n = 1 << 12;
	setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
	CALL(send(p[0], b, 100000, 0), "a datagram larger than the buffer");
	close(p[0]), close(p[1]);
}

static void dgram_pair(void) {
	int p[2];
	signal(SIGPIPE, SIG_IGN);
	CALL(socketpair(AF_UNIX, SOCK_DGRAM, 0, p), "socketpair");
	POLL(p[0], "fresh");
	CALL(write(p[0], "", 0), "write nothing");
	CALL(write(p[0], "abc", 3), "write");
	CALL(read(p[1], b, 10), "read");
	CALL(read(p[1], b, 1), "read a part");
	CALL(recv(p[1], b, 10, MSG_DONTWAIT), "the rest is gone");
	CALL(shutdown(p[0], SHUT_WR), "shut the writing");
	CALL(write(p[0], "x", 1), "write");
	POLL(p[0], "self");
	POLL(p[1], "peer");
	CALL(recv(p[1], b, 10, MSG_DONTWAIT), "peer: recv");
	close(p[0]);
	POLL(p[1], "peer closed");
	CALL(recv(p[1], b, 10, MSG_DONTWAIT), "recv");
	CALL(write(p[1], "x", 1), "write");
	close(p[1]);
}

static void seqpacket(void) {
	int l = bound(SOCK_SEQPACKET, "seq"), c = sock(SOCK_SEQPACKET);
	signal(SIGPIPE, SIG_IGN);
	CALL(connect_to(c, "seq"), "connect before listen");
	MUST(listen(l, 1));
	CALL(connect_to(c, "seq"), "connect");
	int s = OK(accept(l, NULL, NULL), "accept");
	CALL(send(c, "one", 3, 0), "send");
	CALL(send(c, "second", 6, 0), "send");
	CALL(recv(s, b, 100, 0), "recv one");
	struct iovec v = {b, 3};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	CALL(recvmsg(s, &m, 0), "recv 3 of 6");
	say("truncated %d, end of record %d", !!(m.msg_flags & MSG_TRUNC), !!(m.msg_flags & MSG_EOR));
	CALL(recv(s, b, 100, MSG_DONTWAIT), "the rest is gone");
	CALL(send(c, "", 0, 0), "send nothing");
	CALL(recv(s, b, 100, MSG_DONTWAIT), "recv");
	CALL(send(c, "last", 4, 0), "send");
	close(c);
	POLL(s, "peer closed, data");
	CALL(recv(s, b, 100, 0), "recv");
	CALL(recv(s, b, 100, 0), "recv at the end");
	CALL(send(s, "x", 1, 0), "send");
	POLL(s, "at the end");
	close(s), close(l);
	int p[2];
	CALL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p), "socketpair");
	CALL(write(p[0], "abc", 3), "write");
	CALL(shutdown(p[0], SHUT_WR), "shut the writing");
	CALL(read(p[1], b, 2), "read a part");
	CALL(read(p[1], b, 2), "read at the end");
	close(p[0]), close(p[1]);
}

CASES(C(datagrams), C(connected), C(full), C(dgram_pair), C(seqpacket))
