/* Makes system calls at random: numbers that exist and some that do not, with descriptors of every kind, good and bad addresses, small and
 * huge numbers. Each child makes some hundred and ends; the seed is the first argument. It prints one line a child. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t state;
static uint64_t next(void) { state ^= state << 13, state ^= state >> 7, state ^= state << 17; return state * 0x2545f4914f6cdd1dULL; }
static uint64_t below(uint64_t n) { return (next() >> 16) % n; }

static char *memory; /* 16 pages that are ours, then one that cannot be written, then one that is not there */

static void descriptors(void) {
	int p[2];
	open("file", O_RDWR | O_CREAT, 0600), open(".", O_RDONLY | O_DIRECTORY), open("/proc/self/maps", O_RDONLY), open("/dev/zero", O_RDWR), open("/dev/null", O_RDWR);
	pipe(p), pipe2(p, O_NONBLOCK), eventfd(3, EFD_NONBLOCK), eventfd(0, 0), epoll_create1(0), timerfd_create(CLOCK_MONOTONIC, 0), inotify_init1(IN_NONBLOCK);
	sigset_t s;
	sigemptyset(&s), sigaddset(&s, SIGUSR2), signalfd(-1, &s, SFD_NONBLOCK);
	for (int family = 1; family < 20; family++) for (int type = 1; type < 4; type++) socket(family, type, 0);
	socketpair(AF_UNIX, SOCK_STREAM, 0, p), socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p), socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	bind(l, (void *)&a, n), listen(l, 2), getsockname(l, (void *)&a, &n), connect(c, (void *)&a, n), accept(l, NULL, NULL);
	int m = syscall(SYS_memfd_create, "m", 0);
	ftruncate(m, 8192);
}

static long number(void) {
	switch (below(12)) {
	case 0: return 0;
	case 1: return -1;
	case 2: return 1L << below(63);
	case 3: return (1L << below(63)) - 1;
	case 4: return -(1L << below(63));
	case 5: return below(4096) * 4096;
	case 6: return (long[]){0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, -100, 0x7ffff7fff000, 0x100000000, 65536, 65535, 1024, 1025, 511}[below(12)];
	case 7: return below(80);
	case 8: return next();
	default: return below(16);
	}
}
static long address(void) {
	switch (below(10)) {
	case 0: return number();
	case 1: return (long[]){0, 1, 0x7ffffa000000, 0x7ffffa010000, 0x7ffffa011000, 0x7ffffa100000, -4096, 0x400000, 0xffffffffff600000, 0x7ffffffff000}[below(10)];
	case 2: return (long)memory + 16 * 4096 - below(64);
	case 3: return (long)memory + 17 * 4096 - below(64);
	default: return (long)memory + below(16 * 4096 / 8 - 64) * 8;
	}
}
static void fill(void) { /* what addresses lead to looks like arguments, too */
	for (int i = 0; i < 16 * 4096 / 8; i++) {
		uint64_t v = below(3) == 0 ? address() : below(2) ? number() : below(70);
		memcpy(memory + 8 * i, &v, 8);
	}
	for (int i = 0; i < 40; i++) {
		static const char *const names[] = {"file", ".", "..", "/", "/proc/self/fd/3", "/proc/self/mem", "new", "/dev/shm/x", "dir/a", "", "/sys/devices", "/proc/1/environ", "file/x", "/etc/passwd", "\377\376"};
		strcpy(memory + below(16 * 512) * 8, names[below(15)]);
	}
}
static void interrupted(int signo) {}

static void child(uint64_t seed, int calls) {
	state = seed * 0x9e3779b97f4a7c15ULL + 1;
	struct sigaction a = {.sa_handler = interrupted};
	sigaction(SIGALRM, &a, NULL);
	descriptors();
	long results = 0;
	for (int i = 0; i < calls; i++) {
		if (i % 32 == 0) fill();
		alarm(1);
		long nr = below(40) == 0 ? number() : below(30) == 0 ? below(550) : below(335);
		if (nr == SYS_exit || nr == SYS_exit_group || nr == SYS_rt_sigreturn || nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone || nr == SYS_clone3 || nr == SYS_munmap || nr == SYS_mremap || nr == SYS_mprotect || nr == SYS_brk ||
			nr == SYS_rt_sigprocmask || nr == SYS_arch_prctl || nr == SYS_rt_sigaction || nr == SYS_mmap || nr == SYS_shmat || nr == SYS_madvise || nr == SYS_alarm) {
			if (below(4)) continue; /* these mostly end the child */
			if (nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone || nr == SYS_clone3) { if (fork() == 0) _exit(0); continue; }
		}
		long v[6];
		for (int j = 0; j < 6; j++) v[j] = below(3) == 0 ? address() : below(3) ? below(90) : number();
		if (below(2)) v[1] = address();
		if (nr == SYS_kill || nr == SYS_tkill || nr == SYS_tgkill || nr == SYS_rt_sigqueueinfo || nr == SYS_rt_tgsigqueueinfo) v[0] = getpid(); /* not the parent */
		if (nr == SYS_pidfd_send_signal) continue;
		results = results * 31 + syscall(nr, v[0], v[1], v[2], v[3], v[4], v[5]);
	}
	_exit(results & 0x3f);
}

int main(int argc, char **argv) {
	uint64_t seed = strtoull(argv[1], NULL, 10);
	int children = atoi(argv[2]), calls = atoi(argv[3]);
	memory = mmap(NULL, 18 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(memory + 16 * 4096, 4096, PROT_READ), munmap(memory + 17 * 4096, 4096);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();
		if (pid == 0) { setpgid(0, 0); child(seed * 1000 + i, calls); }
		int status = -1, over = 0;
		for (int t = 0; t < 400 && !over; t++) { usleep(50000); over = waitpid(pid, &status, WNOHANG) == pid; }
		if (!over) kill(pid, SIGKILL), waitpid(pid, &status, 0);
		printf("child %d: %x\n", i, status);
		fflush(stdout);
	}
	puts("done");
	return 0;
}
