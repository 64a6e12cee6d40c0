// Leak: the ports, initial numbers and names that the kernel chooses.
#include "leak.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static int port(int fd) {
	struct sockaddr_in a;
	socklen_t n = sizeof a;
	getsockname(fd, (struct sockaddr *)&a, &n);
	return ntohs(a.sin_port);
}

int main(void) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int l = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0);
	bind(l, (struct sockaddr *)&a, sizeof a), bind(u, (struct sockaddr *)&a, sizeof a);
	listen(l, 10);
	show("tcp %d udp %d\n", port(l), port(u));
	a.sin_port = htons(port(l));
	for (int i = 0; i < 5; i++) {
		int c = socket(AF_INET, SOCK_STREAM, 0);
		connect(c, (struct sockaddr *)&a, sizeof a);
		show("client %d\n", port(c));
	}
	struct sockaddr_un n = {.sun_family = AF_UNIX};
	socklen_t len = sizeof n;
	int x = socket(AF_UNIX, SOCK_DGRAM, 0);
	bind(x, (struct sockaddr *)&n, sizeof n.sun_family);
	getsockname(x, (struct sockaddr *)&n, &len);
	show("abstract %.5s\n", n.sun_path + 1);
	return 0;
}
