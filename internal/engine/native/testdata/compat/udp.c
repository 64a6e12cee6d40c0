// UDP over IPv4: boundaries, truncation, connected sockets, refusals, many messages in one call.
#include "compat.h"
#include "net.h"

static char b[1 << 17];

static int bound(int *port) {
	int fd = MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in a = v4(INADDR_LOOPBACK, 0);
	MUST(bind(fd, SA(a)));
	*port = port_of(fd);
	return fd;
}
static long send_to(int fd, int port, const void *data, size_t n) {
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	return sendto(fd, data, n, 0, SA(a));
}

static void boundaries(void) {
	int port, own, s = bound(&port), c = bound(&own), n;
	POLL(s, "nothing there");
	CALL(send_to(c, port, "one", 3), "send");
	CALL(send_to(c, port, "", 0), "send nothing");
	CALL(send_to(c, port, "three", 5), "send");
	SETTLED(s, POLLIN, "three there");
	ioctl(s, FIONREAD, &n);
	say("bytes of the first: %d", n);
	struct sockaddr_in from;
	socklen_t len = sizeof from;
	CALL(recvfrom(s, b, sizeof b, 0, (struct sockaddr *)&from, &len), "recvfrom");
	IS(len == sizeof from && ntohs(from.sin_port) == own && from.sin_addr.s_addr == htonl(INADDR_LOOPBACK), "from the sender");
	POLL(s, "an empty one is there");
	CALL(recv(s, b, sizeof b, 0), "recv");
	CALL(recv(s, b, sizeof b, 0), "recv");
	CALL(recv(s, b, sizeof b, MSG_DONTWAIT), "recv, nothing there");
	close(s), close(c);
}

static void truncation(void) {
	int port, own, s = bound(&port), c = bound(&own);
	send_to(c, port, "0123456789", 10);
	ready(s, POLLIN, 2000);
	CALL(recv(s, b, 4, MSG_PEEK), "peek 4 of 10");
	CALL(recv(s, b, 4, MSG_PEEK | MSG_TRUNC), "peek with MSG_TRUNC");
	struct iovec v = {b, 4};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	CALL(recvmsg(s, &m, MSG_PEEK), "peek with recvmsg");
	IS(m.msg_flags & MSG_TRUNC, "it says truncated");
	CALL(recv(s, b, 4, 0), "recv 4 of 10");
	CALL(recv(s, b, 4, MSG_DONTWAIT), "the rest is gone");
	send_to(c, port, "0123456789", 10);
	ready(s, POLLIN, 2000);
	CALL(recv(s, b, 4, MSG_TRUNC), "recv with MSG_TRUNC");
	send_to(c, port, "0123456789", 10);
	ready(s, POLLIN, 2000);
	v.iov_len = 20;
	m.msg_flags = 0;
	CALL(recvmsg(s, &m, 0), "recvmsg with room");
	say("flags %#x", m.msg_flags);
	CALL(send_to(c, port, b, 65507), "the largest datagram");
	ready(s, POLLIN, 2000);
	CALL(recv(s, b, sizeof b, 0), "recv");
	CALL(send_to(c, port, b, 65508), "one byte more");
	CALL(send_to(c, port, b, 100000), "far too much");
	close(s), close(c);
}

static void connected(void) {
	int port, own, other, s = bound(&port), c = bound(&own), x = bound(&other);
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port), peer;
	socklen_t n = sizeof peer;
	CALL(send(c, "x", 1, 0), "send without address");
	CALL(getpeername(c, (struct sockaddr *)&peer, &n), "getpeername");
	CALL(connect(c, SA(a)), "connect");
	CALL(getpeername(c, (struct sockaddr *)&peer, &n), "getpeername");
	IS(ntohs(peer.sin_port) == port, "the peer");
	IS(port_of(c) == own, "the own port stays");
	CALL(send(c, "x", 1, 0), "send");
	CALL(write(c, "y", 1), "write");
	CALL(send_to(c, other, "z", 1), "sendto another");
	SETTLED(x, POLLIN, "that arrives");
	send_to(x, own, "stranger", 8);
	send_to(s, own, "friend", 6);
	ready(c, POLLIN, 2000);
	CALL(recv(c, b, sizeof b, 0), "recv from the peer only");
	CALL(recv(c, b, sizeof b, MSG_DONTWAIT), "nothing else");
	a.sin_port = htons(other);
	CALL(connect(c, SA(a)), "connect to another");
	CALL(connect(c, SA(a)), "connect again");
	a.sin_family = AF_UNSPEC;
	CALL(connect(c, SA(a)), "disconnect");
	CALL(send(c, "x", 1, 0), "send without address");
	IS(port_of(c) == own, "a bound port stays");
	int auto_port = MUST(socket(AF_INET, SOCK_DGRAM, 0));
	a = v4(INADDR_LOOPBACK, port);
	IS(port_of(auto_port) == 0, "no port before");
	CALL(connect(auto_port, SA(a)), "connect");
	IS(port_of(auto_port) > 0, "a port after");
	a.sin_family = AF_UNSPEC;
	MUST(connect(auto_port, SA(a)));
	IS(port_of(auto_port) == 0, "no port after a disconnect");
	CALL(listen(c, 1), "listen");
	CALL(accept(c, NULL, NULL), "accept");
	CALL(shutdown(c, SHUT_RDWR), "shutdown, not connected");
	close(s), close(c), close(x), close(auto_port);
}

static void refused(void) {
	int port, own, s = bound(&port), c = bound(&own);
	close(s);
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	CALL(send_to(c, port, "x", 1), "unconnected send to nobody");
	nap(20);
	POLL(c, "no news for the unconnected");
	SO_ERR(c, "unconnected");
	MUST(connect(c, SA(a)));
	CALL(send(c, "x", 1, 0), "connected send to nobody");
	SETTLED(c, POLLERR, "refused");
	CALL(recv(c, b, 1, 0), "recv");
	CALL(recv(c, b, 1, MSG_DONTWAIT), "recv again");
	send(c, "x", 1, 0);
	settled(c, POLLERR);
	CALL(send(c, "x", 1, 0), "send takes the error");
	settled(c, POLLERR);
	SO_ERR(c, "takes it");
	CALL(send(c, "x", 1, 0), "send after that");
	settled(c, POLLERR);
	POLL(c, "the error is back");
	close(c);
	CALL(send_to(c, port, "x", 1), "send on a closed descriptor");
	c = MUST(socket(AF_INET, SOCK_DGRAM, 0));
	CALL(send_to(c, 0, "x", 1), "send to port 0");
	a.sin_addr.s_addr = htonl(INADDR_BROADCAST);
	CALL(connect(c, SA(a)), "connect to broadcast");
	close(c);
}

static void shutdowns(void) {
	int port, own, s = bound(&port), c = bound(&own);
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	MUST(connect(c, SA(a)));
	CALL(shutdown(c, SHUT_WR), "shut the writing");
	POLL(c, "after that");
	signal(SIGPIPE, SIG_IGN);
	CALL(send(c, "x", 1, 0), "send");
	send_to(s, own, "in", 2);
	ready(c, POLLIN, 2000);
	CALL(recv(c, b, 8, 0), "recv");
	CALL(shutdown(c, SHUT_RD), "shut the reading");
	POLL(c, "both shut");
	CALL(recv(c, b, 8, MSG_DONTWAIT), "recv");
	close(s), close(c);
}

static void many(void) {
	int port, own, s = bound(&port), c = bound(&own);
	struct sockaddr_in to = v4(INADDR_LOOPBACK, port), from[4];
	struct iovec v[4] = {{"a", 1}, {"bb", 2}, {"ccc", 3}, {"", 0}};
	struct mmsghdr m[4] = {0};
	for (int i = 0; i < 4; i++) m[i].msg_hdr = (struct msghdr){.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &v[i], .msg_iovlen = 1};
	CALL(sendmmsg(c, m, 4, 0), "sendmmsg");
	say("lengths %u %u %u %u", m[0].msg_len, m[1].msg_len, m[2].msg_len, m[3].msg_len);
	char in[4][8];
	for (int i = 0; i < 4; i++) {
		v[i] = (struct iovec){in[i], 2};
		m[i].msg_hdr = (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &v[i], .msg_iovlen = 1};
	}
	nap(20);
	CALL(recvmmsg(s, m, 4, MSG_DONTWAIT, NULL), "recvmmsg");
	say("lengths %u %u %u %u, third truncated %d", m[0].msg_len, m[1].msg_len, m[2].msg_len, m[3].msg_len, !!(m[2].msg_hdr.msg_flags & MSG_TRUNC));
	IS(ntohs(from[3].sin_port) == own, "from the sender");
	CALL(recvmmsg(s, m, 4, MSG_DONTWAIT, NULL), "recvmmsg, nothing there");
	send_to(c, port, "x", 1);
	ready(s, POLLIN, 2000);
	CALL(recvmmsg(s, m, 4, MSG_WAITFORONE, NULL), "recvmmsg, wait for one");
	send_to(c, port, "x", 1);
	struct timespec past = {0, 0}, bad = {0, -1};
	CALL(recvmmsg(s, m, 4, 0, &past), "recvmmsg with timeout 0");
	CALL(recvmmsg(s, m, 4, 0, &bad), "recvmmsg with a bad timeout");
	struct mmsghdr mixed[2] = {m[0], m[1]};
	struct sockaddr_in none = v4(INADDR_LOOPBACK, 0);
	mixed[0].msg_hdr = (struct msghdr){.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = v, .msg_iovlen = 1};
	mixed[1].msg_hdr = (struct msghdr){.msg_name = &none, .msg_namelen = sizeof none, .msg_iov = v, .msg_iovlen = 1};
	CALL(sendmmsg(c, mixed, 2, 0), "sendmmsg, the second is bad");
	close(s), close(c);
}

static void control(void) {
	int port, own, s = bound(&port), c = bound(&own), on = 1;
	char space[256];
	setsockopt(s, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
	setsockopt(s, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
	send_to(c, port, "x", 1);
	ready(s, POLLIN, 2000);
	struct iovec v = {b, 8};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	CALL(recvmsg(s, &m, 0), "recvmsg");
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		say("level %d, type %d, %zu bytes", h->cmsg_level, h->cmsg_type, (size_t)h->cmsg_len);
		struct in_pktinfo *p = (struct in_pktinfo *)CMSG_DATA(h);
		if (h->cmsg_type == IP_PKTINFO) IS(p->ipi_addr.s_addr == htonl(INADDR_LOOPBACK) && p->ipi_ifindex > 0, "for 127.0.0.1");
		if (h->cmsg_type == IP_TTL) say("ttl %d", *(int *)CMSG_DATA(h));
	}
	send_to(c, port, "x", 1);
	ready(s, POLLIN, 2000);
	m.msg_controllen = 8;
	CALL(recvmsg(s, &m, 0), "recvmsg with no room for control data");
	IS(m.msg_flags & MSG_CTRUNC, "control data truncated");
	close(s), close(c);
}

static void sharing(void) {
	int port, s = bound(&port), t = MUST(socket(AF_INET, SOCK_DGRAM, 0)), on = 1;
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	CALL(bind(t, SA(a)), "bind two to one port");
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(t, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	CALL(bind(t, SA(a)), "with REUSEADDR");
	send_to(t, port, "for the last", 12);
	SETTLED(t, POLLIN, "the one bound last");
	POLL(s, "the other");
	CALL(recv(t, b, 20, 0), "recv");
	close(t);
	send_to(s, port, "to myself", 9);
	SETTLED(s, POLLIN, "a datagram to itself");
	CALL(recv(s, b, 20, 0), "recv");
	t = listener(1, &on);
	int u = MUST(socket(AF_INET, SOCK_DGRAM, 0));
	a = v4(INADDR_LOOPBACK, on);
	CALL(bind(u, SA(a)), "the port number of a TCP listener");
	close(u), close(t), close(s);
}

CASES(C(boundaries), C(truncation), C(connected), C(refused), C(shutdowns), C(many), C(control), C(sharing))
