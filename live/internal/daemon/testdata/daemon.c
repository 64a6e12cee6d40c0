// A daemon with one connection, which the test drives: it adds numbers, logs to a file, counts ticks and alarms, and has memory that is shared.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long sum, ticks, faults, early;
static volatile long alarms;
static long *shared;
static char *file;
static int log_fd;
static const char *dir;
static char *big;
static size_t big_bytes;

static void on_alarm(int s) { alarms++; }

static void *thread(void *p) { return p; }

static void *sleeper(void *p) { for (;;) pause(); }

static long now_ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void path(char *to, const char *name) { sprintf(to, "%s/%s", dir, name); }

// answer does what a line asks for, and writes what came of it.
static void answer(int fd, char *line) {
	char out[256] = "", name[512];
	long n;
	if (sscanf(line, "add %ld", &n) == 1) {
		sum += n;
		for (size_t i = 0; i < big_bytes && n == 42; i += 4096) big[i]++;
		sprintf(out, "sum %ld\n", sum);
		dprintf(log_fd, "added %ld\n", n);
	} else if (!strcmp(line, "report")) {
		int child = waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD;
		sprintf(out, "%ld %ld %ld %ld %d %ld %d\n", sum, ticks, (long)alarms, faults, child, *shared + (long)file[0], getpid());
	} else if (!strcmp(line, "clock")) {
		struct timespec a, b;
		struct timeval v;
		clock_gettime(CLOCK_REALTIME, &a);
		for (volatile long i = 0; i < 3000000; i++) ;
		clock_gettime(CLOCK_REALTIME, &b);
		gettimeofday(&v, NULL);
		sprintf(out, "%lld %d\n", (long long)a.tv_sec * 1000000000 + a.tv_nsec, a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec && v.tv_sec == a.tv_sec && time(NULL) == a.tv_sec);
	} else if (!strcmp(line, "work")) { // with values in vector registers
		double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
		for (int i = 0; i < 300000; i++)
			for (int j = 0; j < 8; j++) x[j] = x[j] * 0.9999 + j;
		for (int j = 1; j < 8; j++) x[0] += x[j];
		sprintf(out, "work %.6f\n", x[0]);
	} else if (!strcmp(line, "nap")) {
		write(fd, "nap\n", 4);
		nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
	} else if (!strcmp(line, "shared")) {
		*shared = 7;
		file[0] = 'x';
		mprotect(shared, 4096, PROT_READ);
		mprotect(shared, 4096, PROT_READ | PROT_WRITE);
		*shared = 8;
		sprintf(out, "%ld %c\n", *shared, file[0]);
	} else if (!strcmp(line, "hostile")) {
		int bad = 0;
		pthread_t t;
		path(name, "escaped");
		bad += open(name, O_CREAT | O_WRONLY, 0600) >= 0;
		bad += syscall(SYS_open, name, O_CREAT | O_WRONLY, 0600) >= 0;
		bad += syscall(SYS_mkdir, name, 0700) >= 0;
		pid_t p = fork();
		if (p == 0) { open(name, O_CREAT, 0600); _exit(0); }
		bad += p >= 0;
		p = vfork();
		if (p == 0) _exit(0);
		bad += p >= 0;
		bad += syscall(SYS_clone3, NULL, 0) >= 0;
		bad += pthread_create(&t, NULL, thread, NULL) == 0;
		bad += execl("/bin/touch", "touch", name, NULL) >= 0;
		bad += ptrace(PTRACE_TRACEME, 0, 0, 0) >= 0;
		bad += ptrace(PTRACE_ATTACH, getppid(), 0, 0) >= 0;
		bad += kill(getppid(), 0) >= 0; // signal 0 would do nothing
		bad += kill(-1, 0) >= 0;
		bad += kill(0, 0) >= 0;
		bad += syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0) >= 0;
		bad += mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, log_fd, 0) != MAP_FAILED;
		bad += mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
		bad += mmap(NULL, 1ul << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
		bad += madvise(shared, 4096, MADV_MERGEABLE) >= 0;
		bad += syscall(SYS_io_uring_setup, 1, NULL) >= 0;
		bad += syscall(SYS_shmget, 1234, 4096, 0600 | 01000) >= 0;
		bad += syscall(SYS_memfd_create, "x", 0) >= 0;
		bad += syscall(SYS_seccomp, 1, 0, NULL) >= 0;
		bad += prctl(PR_SET_DUMPABLE, 0) >= 0;
		bad += setuid(0) >= 0;
		bad += syscall(SYS_getpid | 0x40000000) >= 0; // of x32
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int s = socket(AF_INET, SOCK_STREAM, 0);
		bad += connect(s, (struct sockaddr *)&a, sizeof a) >= 0;
		bad += bind(s, (struct sockaddr *)&a, sizeof a) >= 0;
		write(log_fd, "boo\n", 4);
		sprintf(out, "bad %d\n", bad);
	} else if (!strcmp(line, "thread")) {
		pthread_t t;
		sprintf(out, "thread %d\n", pthread_create(&t, NULL, sleeper, NULL));
	} else if (!strcmp(line, "filter")) {
		struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
		struct sock_fprog p = {1, &allow};
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		sprintf(out, "filter %ld\n", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p));
	} else if (!strcmp(line, "int80")) {
		long r;
		__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
		sprintf(out, "int80 %ld\n", r);
	} else if (!strcmp(line, "segv")) {
		*(volatile int *)8 = 1;
	} else if (!strcmp(line, "abort")) {
		abort();
	} else if (!strcmp(line, "exit")) {
		exit(3);
	} else if (!strcmp(line, "loop")) {
		for (volatile int i = 1; i;) ;
	} else if (!strcmp(line, "calls")) {
		for (;;) getppid();
	} else if (!strcmp(line, "flood")) {
		static char b[65536];
		for (;;) write(fd, b, sizeof b);
	} else if (!strcmp(line, "memory")) {
		long mib = 0;
		while (malloc(1 << 20) && mib < 1 << 14) mib++;
		sprintf(out, "memory %d\n", mib < 1 << 14);
	} else if (!strcmp(line, "block")) {
		char b;
		fcntl(fd, F_SETFL, 0);
		while (read(fd, &b, 1) == 1) ;
	}
	if (*out) write(fd, out, strlen(out));
}

int main(int argc, char **argv) {
	const char *how = argv[1];
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // other processes of the test trace it, where Yama keeps them from that
	dir = argv[2];
	int timeout_ms = atoi(argv[3]);
	big_bytes = (size_t)atol(argv[4]) << 20;
	if (big_bytes) memset(big = malloc(big_bytes), 1, big_bytes);
	char name[512];
	path(name, "log");
	log_fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0600);
	path(name, "shared");
	int s = open(name, O_CREAT | O_RDWR, 0600);
	ftruncate(s, 4096);
	file = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, s, 0); // its second page is behind the file's end
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(how, "alarm")) {
		struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
		sigaction(SIGALRM, &a, NULL);
		struct itimerval t = {{0, 5000}, {0, 5000}};
		setitimer(ITIMER_REAL, &t, NULL);
	}
	int l = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	bind(l, (struct sockaddr *)&a, n);
	listen(l, 1);
	getsockname(l, (struct sockaddr *)&a, &n);
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	int fd = accept(l, NULL, NULL), e = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
	epoll_ctl(e, EPOLL_CTL_ADD, fd, &ev);
	if (strcmp(how, "read")) fcntl(fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		long began = now_ms();
		int r = 1;
		errno = 0;
		struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000l};
		struct timeval v = {timeout_ms / 1000, timeout_ms % 1000 * 1000l};
		struct pollfd p = {.fd = fd, .events = POLLIN};
		fd_set set;
		FD_ZERO(&set);
		FD_SET(fd, &set);
		if (!strcmp(how, "poll") || !strcmp(how, "alarm")) r = poll(&p, 1, timeout_ms);
		if (!strcmp(how, "ppoll")) r = ppoll(&p, 1, timeout_ms < 0 ? NULL : &t, NULL);
		if (!strcmp(how, "select")) r = select(fd + 1, &set, NULL, NULL, timeout_ms < 0 ? NULL : &v);
		if (!strcmp(how, "epoll")) r = epoll_wait(e, &ev, 1, timeout_ms);
		if (r < 0 && strcmp(how, "alarm")) faults++;
		if (r == 0) {
			ticks++;
			if (now_ms() - began < timeout_ms - 1) faults++;
		}
		if (r <= 0) continue;
		char line[4096];
		ssize_t got = read(fd, line, sizeof line - 1);
		if (got < 0) faults++;
		if (got <= 0) { if (got == 0) exit(0); continue; }
		line[got] = 0;
		for (char *save, *one = strtok_r(line, "\n", &save); one; one = strtok_r(NULL, "\n", &save)) answer(fd, one);
	}
}
