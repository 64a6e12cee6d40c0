// IPv6 and dual-stack sockets.
#include "compat.h"
#include "net.h"

static struct sockaddr_in6 v6(struct in6_addr ip, int port) {
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = ip, .sin6_port = htons(port)};
	return a;
}
static const char *text(struct sockaddr_in6 *a) {
	static char t[INET6_ADDRSTRLEN];
	return a->sin6_family == AF_INET6 ? inet_ntop(AF_INET6, &a->sin6_addr, t, sizeof t) : "another family";
}
static int supported(void) {
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	struct sockaddr_in6 a = v6(in6addr_loopback, 0);
	int ok = fd >= 0 && bind(fd, SA(a)) == 0;
	close(fd);
	if (!ok) say("skip: no IPv6 loopback here");
	return ok;
}
static int listen6(int type, struct in6_addr ip, int only, int *port) {
	int fd = MUST(socket(AF_INET6, type, 0));
	struct sockaddr_in6 a = v6(ip, 0);
	MUST(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only));
	MUST(bind(fd, SA(a)));
	if (type == SOCK_STREAM) MUST(listen(fd, 5));
	*port = port_of(fd);
	return fd;
}

static void loopback(void) {
	if (!supported()) return;
	int port, l = listen6(SOCK_STREAM, in6addr_loopback, 1, &port), c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
	struct sockaddr_in6 a = v6(in6addr_loopback, port), peer = {0};
	socklen_t n = sizeof peer;
	CALL(connect(c, SA(a)), "connect to ::1");
	int s = OK(accept(l, (struct sockaddr *)&peer, &n), "accept");
	say("peer %s, %u bytes", text(&peer), n);
	IS(ntohs(peer.sin6_port) == port_of(c), "its port");
	MUST(write(c, "six", 3));
	char b[8];
	CALL(read(s, b, 8), "read");
	getsockname(s, (struct sockaddr *)&peer, &n);
	say("own name %s", text(&peer));
	n = 16;
	CALL(getpeername(s, (struct sockaddr *)&peer, &n), "getpeername into 16 bytes");
	say("it would need %u", n);
	CALL(connect(c, SA(a)), "connect again");
	close(s), close(c), close(l);
	c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
	CALL(connect(c, SA(a)), "connect, nobody listens");
	close(c);
}

static void only(void) {
	if (!supported()) return;
	int port, l = listen6(SOCK_STREAM, in6addr_any, 1, &port), c = MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	CALL(connect(c, SA(a)), "IPv4 to a socket for IPv6 only");
	close(c);
	c = MUST(socket(AF_INET, SOCK_STREAM, 0));
	a.sin_addr.s_addr = htonl(INADDR_ANY);
	for (int i = 0; i < 10 && bind(c, SA(a)) < 0; i++) { // somebody else may have that port for IPv4
		close(l);
		l = listen6(SOCK_STREAM, in6addr_any, 1, &port);
		a.sin_port = htons(port);
	}
	IS(port_of(c) == port, "bind IPv4 to the same port");
	CALL(listen(c, 1), "and listen");
	CALL(setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, 4), "change V6ONLY once bound");
	close(c), close(l);
}

static void dual(void) {
	if (!supported()) return;
	int port, l = listen6(SOCK_STREAM, in6addr_any, 0, &port), c = dial(port), v;
	struct sockaddr_in6 peer = {0}, b6;
	socklen_t n = sizeof peer;
	int s = OK(accept(l, (struct sockaddr *)&peer, &n), "accept from IPv4");
	say("peer %s", text(&peer));
	getsockname(s, (struct sockaddr *)&peer, &n);
	say("own name %s", text(&peer));
	n = sizeof v;
	getsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &v, &n);
	say("V6ONLY %d", v);
	getsockopt(s, SOL_SOCKET, SO_DOMAIN, &v, &n);
	IS(v == AF_INET6, "the accepted is an IPv6 socket");
	close(s), close(c);
	c = MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = v4(INADDR_ANY, port);
	CALL(bind(c, SA(a)), "bind IPv4 to the same port");
	close(c);
	struct in6_addr mapped = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
	c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
	b6 = v6(mapped, port);
	CALL(connect(c, SA(b6)), "connect to ::ffff:127.0.0.1");
	n = sizeof peer;
	getpeername(c, (struct sockaddr *)&peer, &n);
	say("peer %s", text(&peer));
	getsockname(c, (struct sockaddr *)&peer, &n);
	say("own name %s", text(&peer));
	close(c);
	c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
	b6 = v6(in6addr_any, port);
	CALL(connect(c, SA(b6)), "connect to ::");
	n = sizeof peer;
	getpeername(c, (struct sockaddr *)&peer, &n);
	say("peer %s", text(&peer));
	close(c);
	c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
	CALL(setsockopt(c, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, 4), "V6ONLY");
	b6 = v6(mapped, port);
	CALL(connect(c, SA(b6)), "then ::ffff:127.0.0.1");
	close(c);
	c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
	a = v4(INADDR_LOOPBACK, port);
	CALL(connect(c, SA(a)), "an IPv6 socket to an IPv4 address");
	CALL(bind(c, SA(a)), "bind an IPv6 socket to an IPv4 address");
	close(c);
	c = MUST(socket(AF_INET, SOCK_STREAM, 0));
	b6 = v6(in6addr_loopback, port);
	CALL(connect(c, SA(b6)), "an IPv4 socket to an IPv6 address");
	close(c), close(l);
}

static void datagrams(void) {
	if (!supported()) return;
	int port, s = listen6(SOCK_DGRAM, in6addr_any, 0, &port), c6 = MUST(socket(AF_INET6, SOCK_DGRAM, 0)), c4 = MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in6 a6 = v6(in6addr_loopback, port), from;
	struct sockaddr_in a4 = v4(INADDR_LOOPBACK, port);
	char b[32];
	socklen_t n = sizeof from;
	CALL(sendto(c6, "six", 3, 0, SA(a6)), "send to ::1");
	ready(s, POLLIN, 2000);
	CALL(recvfrom(s, b, sizeof b, 0, (struct sockaddr *)&from, &n), "recvfrom");
	say("from %s", text(&from));
	CALL(sendto(s, "back", 4, 0, (struct sockaddr *)&from, n), "answer");
	ready(c6, POLLIN, 2000);
	CALL(recv(c6, b, sizeof b, 0), "recv");
	CALL(sendto(c4, "four", 4, 0, SA(a4)), "send to 127.0.0.1");
	ready(s, POLLIN, 2000);
	n = sizeof from;
	CALL(recvfrom(s, b, sizeof b, 0, (struct sockaddr *)&from, &n), "recvfrom");
	say("from %s", text(&from));
	CALL(sendto(s, "back", 4, 0, (struct sockaddr *)&from, n), "answer");
	ready(c4, POLLIN, 2000);
	CALL(recv(c4, b, sizeof b, 0), "recv");
	CALL(sendto(c4, "x", 1, 0, SA(a6)), "an IPv4 socket to an IPv6 address");
	close(s), close(c6), close(c4);
}

CASES(C(loopback), C(only), C(dual), C(datagrams))
