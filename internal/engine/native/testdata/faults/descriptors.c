// Asks for descriptors in many ways, and says which got none.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int failed, all, error;

static void got(int fd) {
	all++;
	if (fd < 0) failed++, error = errno;
	else close(fd);
}

static void gotTwo(int r, int *fds) {
	got(r < 0 ? r : fds[0]);
	if (r == 0) close(fds[1]);
}

// Sends a descriptor to itself, and reports whether it arrives.
static int passed(int from, int to, int fd) {
	char byte = 'x', space[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	sendmsg(from, &m, 0);
	m.msg_controllen = sizeof space;
	recvmsg(to, &m, 0);
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS) return 0;
	memcpy(&fd, CMSG_DATA(c), sizeof fd);
	close(fd);
	return 1;
}

int main(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), pair[2], spare = open("/dev/null", O_RDONLY), fds[2];
	bind(listener, (void *)&at, sizeof at);
	listen(listener, 200);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	sigset_t none;
	sigemptyset(&none);
	int callers[100];
	for (int i = 0; i < 100; i++) {
		callers[i] = socket(AF_INET, SOCK_STREAM, 0);
		connect(callers[i], (void *)&at, sizeof at);
	}
	for (int i = 0; i < 100; i++) {
		failed = all = error = 0;
		got(open("/new", O_WRONLY | O_CREAT | O_EXCL, 0600));
		int made = access("/new", F_OK) == 0;
		got(open("/dev/null", O_RDONLY));
		got(openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
		got(creat("/data", 0600));
		got(socket(AF_INET, SOCK_STREAM, 0));
		gotTwo(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), fds);
		gotTwo(pipe2(fds, O_CLOEXEC), fds);
		got(epoll_create1(0));
		got(eventfd(0, 0));
		got(timerfd_create(CLOCK_MONOTONIC, 0));
		got(signalfd(-1, &none, 0));
		got(memfd_create("m", 0));
		got(dup(spare));
		got(fcntl(spare, F_DUPFD, 100));
		int connection = accept4(listener, 0, 0, SOCK_CLOEXEC);
		got(connection);
		printf("%s %s; %s; passed %d; dup2 %s\n", failed == 0 ? "all" : failed == all ? "none" : "some", error ? strerror(error) : "ok",
			made ? "made" : "not made", passed(pair[0], pair[1], spare), dup2(spare, callers[0]) == callers[0] ? "ok" : "fails");
		fflush(stdout);
		unlink("/new");
		usleep(20000);
	}
}
