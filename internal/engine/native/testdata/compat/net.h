// net.h: shared by the socket programs.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

UNUSED static struct sockaddr_in v4(uint32_t ip, int port) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
	return a;
}
#define SA(a) ((struct sockaddr *)&(a)), sizeof(a)

// port_of is the local port of a socket.
UNUSED static int port_of(int fd) {
	struct sockaddr_in6 a = {0};
	socklen_t n = sizeof a;
	MUST(getsockname(fd, (struct sockaddr *)&a, &n));
	return ntohs(a.sin6_port); // in the same place for IPv4
}

// listener makes a TCP socket that listens on 127.0.0.1 and a port of the kernel's choice.
UNUSED static int listener(int backlog, int *port) {
	int fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = v4(INADDR_LOOPBACK, 0);
	MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)));
	MUST(bind(fd, SA(a)));
	MUST(listen(fd, backlog));
	*port = port_of(fd);
	return fd;
}

UNUSED static int dial(int port) {
	int fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	MUST(connect(fd, SA(a)));
	return fd;
}

// pair makes two connected TCP sockets: s[0] dialled, s[1] was accepted.
UNUSED static void pair(int s[2]) {
	int port, l = listener(1, &port);
	s[0] = dial(port);
	s[1] = MUST(accept(l, NULL, NULL));
	close(l);
}

UNUSED static void nonblock(int fd) { MUST(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK)); }

UNUSED static int so_error(int fd) {
	int e = -1;
	socklen_t n = sizeof e;
	MUST(getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n));
	return e;
}
#define SO_ERR(fd, label) say("%s: SO_ERROR %s", label, errno_name(so_error(fd)))

// tcp_state is the name of a connection's state.
UNUSED static const char *tcp_state(int fd) {
	static const char *names[] = {"?", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE",
		"CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING"};
	struct tcp_info i;
	socklen_t n = sizeof i;
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &n) < 0 ? errno_name(errno) : names[i.tcpi_state % COUNT(names)];
}

// in_state waits (up to 2 s) until a connection is in a state, and prints the state it is in.
UNUSED static void in_state(int fd, const char *wanted, const char *label) {
	for (int i = 0; i < 400 && strcmp(tcp_state(fd), wanted); i++) usleep(5000);
	say("%s: %s", label, tcp_state(fd));
}
