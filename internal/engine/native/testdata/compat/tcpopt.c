// Socket options of TCP and UDP: what can be set, what is read back, timeouts; messages with several parts.
#include "compat.h"
#include "net.h"

static void get_set(const char *name, int fd, int level, int option, int value) {
	int got = -77;
	socklen_t n = sizeof got;
	CALL(getsockopt(fd, level, option, &got, &n), "get %s", name);
	if (errno == 0) say("  %d bytes: %d", (int)n, got);
	CALL(setsockopt(fd, level, option, &value, sizeof value), "set %s to %d", name, value);
	got = -77, n = sizeof got;
	getsockopt(fd, level, option, &got, &n);
	say("  then %d", got);
}

// The default of these is the machine's.
static void set_get(const char *name, int fd, int level, int option, int value) {
	int got = -77;
	socklen_t n = sizeof got;
	CALL(setsockopt(fd, level, option, &value, sizeof value), "set %s to %d", name, value);
	getsockopt(fd, level, option, &got, &n);
	say("  then %d", got);
}

static void values(void) {
	int t = MUST(socket(AF_INET, SOCK_STREAM, 0)), u = MUST(socket(AF_INET, SOCK_DGRAM, 0));
#define SG(fd, level, option, value) set_get(#option, fd, level, option, value)
#define GS(fd, level, option, value) get_set(#option, fd, level, option, value)
	GS(t, SOL_SOCKET, SO_REUSEADDR, 1);
	GS(t, SOL_SOCKET, SO_REUSEADDR, 5);
	GS(t, SOL_SOCKET, SO_REUSEPORT, 1);
	GS(t, SOL_SOCKET, SO_KEEPALIVE, 1);
	GS(t, SOL_SOCKET, SO_OOBINLINE, 1);
	GS(t, SOL_SOCKET, SO_TIMESTAMP, 1);
	GS(t, SOL_SOCKET, SO_TYPE, 1);
	GS(t, SOL_SOCKET, SO_DOMAIN, 1);
	GS(t, SOL_SOCKET, SO_PROTOCOL, 1);
	GS(t, SOL_SOCKET, SO_ACCEPTCONN, 1);
	GS(t, SOL_SOCKET, SO_ERROR, 1);
	GS(t, SOL_SOCKET, SO_RCVLOWAT, 100);
	GS(t, SOL_SOCKET, SO_SNDLOWAT, 100);
	GS(t, SOL_SOCKET, SO_PRIORITY, 3);
	GS(t, SOL_SOCKET, SO_BROADCAST, 1);
	GS(u, SOL_SOCKET, SO_BROADCAST, 1);
	GS(u, SOL_SOCKET, SO_TYPE, 1);
	GS(t, IPPROTO_TCP, TCP_NODELAY, 1);
	GS(t, IPPROTO_TCP, TCP_CORK, 1);
	SG(t, IPPROTO_TCP, TCP_KEEPIDLE, 30);
	SG(t, IPPROTO_TCP, TCP_KEEPINTVL, 5);
	SG(t, IPPROTO_TCP, TCP_KEEPCNT, 3);
	GS(t, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000);
	SG(t, IPPROTO_TCP, TCP_SYNCNT, 3);
	GS(t, IPPROTO_TCP, TCP_QUICKACK, 0);
	GS(t, IPPROTO_TCP, TCP_DEFER_ACCEPT, 0);
	SG(t, IPPROTO_TCP, TCP_LINGER2, 10);
	SG(t, IPPROTO_IP, IP_TTL, 33);
	GS(t, IPPROTO_IP, IP_TOS, 0x10);
	GS(u, IPPROTO_IP, IP_PKTINFO, 1);
	GS(u, IPPROTO_IP, IP_RECVTTL, 1);
	GS(u, IPPROTO_IP, IP_MULTICAST_TTL, 2);
	GS(u, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
	GS(u, IPPROTO_IP, IP_RECVERR, 1);
	CALL(setsockopt(t, IPPROTO_TCP, TCP_KEEPIDLE, &(int){0}, 4), "TCP_KEEPIDLE 0");
	CALL(setsockopt(t, IPPROTO_TCP, TCP_KEEPIDLE, &(int){40000}, 4), "TCP_KEEPIDLE 40000");
	CALL(setsockopt(t, IPPROTO_TCP, TCP_KEEPCNT, &(int){200}, 4), "TCP_KEEPCNT 200");
	CALL(setsockopt(t, IPPROTO_TCP, TCP_MAXSEG, &(int){1}, 4), "TCP_MAXSEG 1");
	CALL(setsockopt(t, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){-1}, 4), "TCP_USER_TIMEOUT -1");
	CALL(setsockopt(u, IPPROTO_TCP, TCP_NODELAY, &(int){1}, 4), "TCP_NODELAY on UDP");
	CALL(setsockopt(t, IPPROTO_TCP, 999, &(int){1}, 4), "an option that does not exist");
	CALL(setsockopt(t, SOL_SOCKET, 999, &(int){1}, 4), "an option that does not exist");
	CALL(setsockopt(t, 999, 1, &(int){1}, 4), "a level that does not exist");
	CALL(setsockopt(t, SOL_SOCKET, SO_REUSEADDR, &(int){1}, 3), "too short a value");
	CALL(setsockopt(t, SOL_SOCKET, SO_REUSEADDR, NULL, 4), "a bad address");
	CALL(setsockopt(CLOSED_FD, SOL_SOCKET, SO_REUSEADDR, &(int){1}, 4), "a closed descriptor");
	int file = MUST(open(".", O_RDONLY)), v;
	socklen_t n = 4;
	CALL(setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &(int){1}, 4), "not a socket");
	CALL(getsockopt(file, SOL_SOCKET, SO_REUSEADDR, &v, &n), "not a socket");
	CALL(getsockopt(t, SOL_SOCKET, 999, &v, &n), "get one that does not exist");
	CALL(getsockopt(t, 999, 1, &v, &n), "get at a level that does not exist");
	CALL(getsockopt(t, SOL_SOCKET, SO_TYPE, &v, NULL), "get, a bad address");
	n = 2, v = 0;
	CALL(getsockopt(t, SOL_SOCKET, SO_TYPE, &v, &n), "get into 2 bytes");
	say("%u bytes: %d", n, v);
	n = -1;
	CALL(getsockopt(t, SOL_SOCKET, SO_TYPE, &v, &n), "get into -1 bytes");
	close(t), close(u), close(file);
}

static void buffers(void) {
	int t = MUST(socket(AF_INET, SOCK_STREAM, 0)), v;
	socklen_t n = sizeof v;
	for (int i = 0; i < 2; i++) {
		int option = i ? SO_SNDBUF : SO_RCVBUF;
		const char *name = i ? "SO_SNDBUF" : "SO_RCVBUF";
		getsockopt(t, SOL_SOCKET, option, &v, &n);
		IS(v > 10000, "%s has a default", name);
		CALL(setsockopt(t, SOL_SOCKET, option, &(int){20000}, 4), "%s 20000", name);
		getsockopt(t, SOL_SOCKET, option, &v, &n);
		say("  then %d", v);
		CALL(setsockopt(t, SOL_SOCKET, option, &(int){1}, 4), "%s 1", name);
		getsockopt(t, SOL_SOCKET, option, &v, &n);
		IS(v > 1000 && v < 10000, "%s has a least value", name);
		CALL(setsockopt(t, SOL_SOCKET, option, &(int){1 << 30}, 4), "%s 2^30", name);
		getsockopt(t, SOL_SOCKET, option, &v, &n);
		IS(v < 1 << 30, "%s has a largest value", name);
	}
	close(t);
}

static void inherited(void) {
	int port, l = listener(5, &port), v;
	socklen_t n = sizeof v;
	setsockopt(l, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, 4);
	setsockopt(l, IPPROTO_TCP, TCP_NODELAY, &(int){1}, 4);
	setsockopt(l, IPPROTO_TCP, TCP_KEEPIDLE, &(int){77}, 4);
	struct timeval tv = {3, 0};
	setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	nonblock(l);
	int c = dial(port);
	ready(l, POLLIN, 2000);
	int s = MUST(accept(l, NULL, NULL));
	IS(fcntl(s, F_GETFL) & O_NONBLOCK, "the accepted is non-blocking as its listener");
	getsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &v, &n);
	say("keepalive: %d", v);
	getsockopt(s, IPPROTO_TCP, TCP_NODELAY, &v, &n);
	say("no delay: %d", v);
	getsockopt(s, IPPROTO_TCP, TCP_KEEPIDLE, &v, &n);
	say("idle: %d", v);
	getsockopt(l, SOL_SOCKET, SO_ACCEPTCONN, &v, &n);
	say("listener accepts: %d", v);
	getsockopt(s, SOL_SOCKET, SO_ACCEPTCONN, &v, &n);
	say("the accepted accepts: %d", v);
	n = sizeof tv;
	memset(&tv, 0, sizeof tv);
	getsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, &n);
	say("receive timeout: %ld s", (long)tv.tv_sec);
	say("state of the listener: %s", tcp_state(l));
	say("state of the accepted: %s", tcp_state(s));
	close(c), close(s), close(l);
}

static void timeouts(void) {
	int s[2], port;
	char b[8];
	static char big[1 << 20];
	struct timeval tv = {0, 100000}, got = {0};
	socklen_t n = sizeof got;
	pair(s);
	getsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &got, &n);
	say("default: %ld.%06ld", (long)got.tv_sec, (long)got.tv_usec);
	CALL(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), "set SO_RCVTIMEO");
	getsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &got, &n);
	say("then: %ld.%06ld", (long)got.tv_sec, (long)got.tv_usec);
	int64_t start = now_ms();
	CALL(recv(s[0], b, 8, 0), "recv that times out");
	IS(now_ms() - start >= 95, "after 100 ms");
	CALL(recv(s[0], b, 8, MSG_WAITALL), "recv all that times out");
	MUST(send(s[1], "abc", 3, 0));
	CALL(recv(s[0], b, 8, MSG_WAITALL), "recv all that times out with a part");
	setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
	long total = 0, last;
	while ((last = send(s[0], big, sizeof big, 0)) > 0) total += last;
	CALL(send(s[0], big, 1, 0), "send that times out");
	IS(total > 0, "a part was sent before");
	CALL(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, 1000000}, sizeof tv), "too many microseconds");
	CALL(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, 4), "a short value");
	close(s[0]), close(s[1]);
	int l = listener(1, &port);
	setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	CALL(accept(l, NULL, NULL), "accept that times out");
	close(l);
}

static void messages(void) {
	int s[2];
	char a[4] = "", b[4] = "", c[32] = "";
	pair(s);
	struct iovec out[3] = {{"one", 3}, {"", 0}, {"four", 4}}, in[2] = {{a, 2}, {b, 4}};
	struct msghdr m = {.msg_iov = out, .msg_iovlen = 3};
	CALL(sendmsg(s[0], &m, 0), "sendmsg of three parts");
	ready(s[1], POLLIN, 2000);
	struct msghdr r = {.msg_iov = in, .msg_iovlen = 2, .msg_flags = -1, .msg_controllen = 0};
	CALL(recvmsg(s[1], &r, 0), "recvmsg into two parts");
	say("%.2s %.4s, flags %#x, name %u", a, b, r.msg_flags, r.msg_namelen);
	CALL(readv(s[1], in, 2), "readv");
	CALL(writev(s[1], out, 3), "writev");
	ready(s[0], POLLIN, 2000);
	CALL(read(s[0], c, sizeof c), "read");
	say("%s", c);
	m.msg_iovlen = 0;
	CALL(sendmsg(s[0], &m, 0), "sendmsg of nothing");
	m.msg_iovlen = 2000;
	CALL(sendmsg(s[0], &m, 0), "sendmsg of too many parts");
	CALL(sendmsg(s[0], NULL, 0), "sendmsg from a bad address");
	CALL(recvmsg(s[0], NULL, 0), "recvmsg to a bad address");
	struct mmsghdr two[2] = {{.msg_hdr = {.msg_iov = out, .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = out + 2, .msg_iovlen = 1}}};
	CALL(sendmmsg(s[0], two, 2, 0), "sendmmsg of two");
	say("lengths %u %u", two[0].msg_len, two[1].msg_len);
	ready(s[1], POLLIN, 2000);
	CALL(recv(s[1], c, 7, MSG_WAITALL), "recv");
	CALL(send(s[0], "more", 4, MSG_MORE), "send with MSG_MORE");
	CALL(send(s[0], "!", 1, 0), "send without");
	CALL(recv(s[1], c, 5, MSG_WAITALL), "recv both");
	close(s[0]), close(s[1]);
}

static void urgent(void) {
	int s[2];
	char c[8];
	pair(s);
	CALL(send(s[0], "ab", 2, MSG_OOB), "send out of band");
	SETTLED(s[1], POLLPRI, "the other side");
	CALL(recv(s[1], c, 8, MSG_OOB), "recv out of band");
	say("%c", c[0]);
	CALL(recv(s[1], c, 8, MSG_OOB | MSG_DONTWAIT), "recv out of band again");
	CALL(sockatmark(s[1]), "at the mark");
	CALL(recv(s[1], c, 8, MSG_DONTWAIT), "recv in band");
	CALL(sockatmark(s[1]), "at the mark");
	CALL(recv(s[1], c, 8, MSG_DONTWAIT), "recv in band");
	POLL(s[1], "after that");
	close(s[0]), close(s[1]);
}

// What name servers and time servers set, and would not start without.
static void servers(void) {
	int u6 = socket(AF_INET6, SOCK_DGRAM, 0), u = MUST(socket(AF_INET, SOCK_DGRAM, 0));
	GS(u, SOL_SOCKET, 45, 1); // SO_SELECT_ERR_QUEUE
	GS(u, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
	if (u6 < 0) return;
	GS(u6, IPPROTO_IPV6, IPV6_MTU, 1280);
	SG(u6, IPPROTO_IPV6, IPV6_MTU, 1279);
	SG(u6, IPPROTO_IPV6, IPV6_MTU, 0);
	GS(u6, IPPROTO_IPV6, IPV6_MTU_DISCOVER, 0);
	close(u), close(u6);
}

CASES(C(servers), C(values), C(buffers), C(inherited), C(timeouts), C(messages), C(urgent))
