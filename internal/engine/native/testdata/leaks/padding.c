// Leak: bytes that a call leaves as they were, or fills with what lay around: padding and spare fields of structures.
#include "leak.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

// Each structure is cleared before, and written as a whole afterwards.
#define DUMP(type, call) do { \
		type x; \
		memset(&x, 0xa5, sizeof x); \
		long r = (call); \
		show("%s %ld %lx\n", #type, r, hash(&x, sizeof x)); \
	} while (0)

int main(void) {
	int fd = open("padding", O_CREAT | O_RDWR, 0644);
	int e = eventfd(1, 0), ep = epoll_create1(0), s[2];
	struct epoll_event in = {.events = EPOLLIN, .data.u64 = 7};
	epoll_ctl(ep, EPOLL_CTL_ADD, e, &in);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
	DUMP(struct stat, fstat(fd, &x));
	DUMP(struct statx, statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x));
	DUMP(struct statfs, fstatfs(fd, &x));
	DUMP(struct utsname, uname(&x));
	DUMP(struct rlimit, getrlimit(RLIMIT_NOFILE, &x));
	DUMP(struct epoll_event, epoll_wait(ep, &x, 1, 0));
	DUMP(struct itimerval, getitimer(ITIMER_REAL, &x));
	sigset_t all;
	sigfillset(&all), sigprocmask(SIG_BLOCK, &all, NULL);
	kill(getpid(), SIGUSR1);
	int sf = signalfd(-1, &all, 0);
	DUMP(struct signalfd_siginfo, read(sf, &x, sizeof x));
	kill(getpid(), SIGUSR1);
	DUMP(siginfo_t, sigtimedwait(&all, &x, &(struct timespec){0, 0}));
	DUMP(struct sockaddr_storage, getsockname(s[0], (struct sockaddr *)&x, &(socklen_t){sizeof x}));
	pid_t child = fork();
	if (child == 0) _exit(3);
	DUMP(siginfo_t, waitid(P_PID, child, &x, WEXITED));
	return 0;
}
