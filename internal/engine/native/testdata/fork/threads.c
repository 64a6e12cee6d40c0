// Eight threads that wait, each in another way, and each with a state of its own that a copy must have. At the end, each says
// whether that is still what it was.
#define _GNU_SOURCE
#include <errno.h>
#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { second = 1000000000 };

static int word, wake, pipes[2];
static __thread int own; // behind the base of FS
static pthread_mutex_t robust;
static volatile sig_atomic_t came, on_other_stack;
static int *shared; // with a child process

static void pass(long ns) {
	struct timespec t = {ns / second, ns % second};
	nanosleep(&t, 0);
}

static void say(const char *who, int fine) {
	char line[80];
	int n = snprintf(line, sizeof line, "%s %s, own %d\n", who, fine ? "is as it was" : "HAS CHANGED", own);
	if (write(1, line, n) < 0) _exit(1);
}

static void *in_futex(void *_) {
	own = 1;
	long r = syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0);
	say("futex", r == 0 && word == 7);
	return 0;
}

static void *in_epoll(void *_) {
	own = 2;
	int e = epoll_create1(0);
	struct epoll_event v = {.events = EPOLLIN, .data.u64 = 0x123456789abc}, got;
	epoll_ctl(e, EPOLL_CTL_ADD, wake, &v);
	int n = epoll_wait(e, &got, 1, -1);
	say("epoll", n == 1 && got.data.u64 == 0x123456789abc);
	return 0;
}

// Registers of the extended state across a call that waits, without a compiler that would save them.
static void *in_sleep(void *_) {
	own = 3;
	uint64_t put[16][4], got[16][4];
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 4; k++) put[i][k] = 0x0101010101010101ull * (16 * k + i + 1);
	struct timespec t = {1, 500000000};
	long r = SYS_nanosleep;
	int avx = __builtin_cpu_supports("avx");
	if (!avx) {
		pass(second + second / 2);
		say("sleep", 1);
		return 0;
	}
#define LOAD(i) "vmovdqu " #i "*32(%[put]), %%ymm" #i "\n"
#define STORE(i) "vmovdqu %%ymm" #i ", " #i "*32(%[got])\n"
	__asm__ volatile(LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7) LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(15)
		"syscall\n"
		STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6) STORE(7) STORE(8) STORE(9) STORE(10) STORE(11) STORE(12) STORE(13) STORE(14) STORE(15)
		"vzeroupper\n"
		: "+a"(r) : "D"(&t), "S"(0), [put] "r"(put), [got] "r"(got)
		: "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	say("sleep", r == 0 && !memcmp(put, got, sizeof put));
	return 0;
}

static void *in_read(void *_) {
	own = 4;
	char b[4] = "";
	long n = read(pipes[0], b, 4);
	say("pipe", n == 3 && !strcmp(b, "abc"));
	return 0;
}

static void other_stack(int sig) {
	int here;
	stack_t s;
	sigaltstack(0, &s);
	on_other_stack = s.ss_flags == SS_ONSTACK && (char *)&here >= (char *)s.ss_sp && (char *)&here < (char *)s.ss_sp + s.ss_size;
	pass(second + second / 2);
	sigaltstack(0, &s);
	on_other_stack &= s.ss_flags == SS_ONSTACK;
}

// It waits in a handler, on its alternate stack.
static void *in_handler(void *_) {
	own = 5;
	stack_t s = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16}, now;
	sigaltstack(&s, 0);
	struct sigaction a = {.sa_handler = other_stack, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &a, 0);
	pthread_kill(pthread_self(), SIGUSR1);
	sigaltstack(0, &now);
	say("alternate stack", on_other_stack && now.ss_sp == s.ss_sp && now.ss_size == s.ss_size && now.ss_flags == 0);
	return 0;
}

static void arrive(int sig) { came = sig; }

// A blocked signal is pending for it.
static void *in_mask(void *_) {
	own = 6;
	sigset_t set, old, pending;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	signal(SIGUSR2, arrive);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	pthread_kill(pthread_self(), SIGUSR2);
	pass(second + second / 2);
	sigpending(&pending);
	int fine = sigismember(&pending, SIGUSR2) && !came;
	pthread_sigmask(SIG_UNBLOCK, &set, &old);
	say("pending signal", fine && came == SIGUSR2 && sigismember(&old, SIGUSR2));
	return 0;
}

// It ends with a robust mutex that it holds.
static void *with_mutex(void *_) {
	own = 7;
	pthread_mutex_lock(&robust);
	pass(second + second / 2);
	say("robust mutex", 1);
	return 0;
}

// It works and makes calls, and is at another point at each event.
static void *at_work(void *_) {
	own = 8;
	pid_t parent = getppid();
	int fine = 1;
	double sum = 0;
	for (int i = 1; i <= 1000; i++) {
		fine &= getppid() == parent;
		sum += 1.0 / i;
		if (i % 10 == 0) pass(1000000);
	}
	say("work", fine && sum > 7.48547 && sum < 7.48548);
	return 0;
}

int main(void) {
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	wake = eventfd(0, 0);
	if (pipe(pipes)) return 1;
	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 100; i++) {
			pass(10000000);
			__atomic_fetch_add(shared, 1, __ATOMIC_SEQ_CST);
		}
		_exit(0);
	}
	// A private map of a file: a page of its own, and one that shows what the file has.
	FILE *f = tmpfile();
	char b[8192] = "first";
	strcpy(b + 4096, "second");
	fwrite(b, 1, sizeof b, f);
	fflush(f);
	char *map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(f), 0);
	strcpy(map, "mine");

	void *(*threads[])(void *) = {in_futex, in_epoll, in_sleep, in_read, in_handler, in_mask, with_mutex, at_work};
	pthread_t ids[8];
	for (int i = 0; i < 8; i++) pthread_create(&ids[i], 0, threads[i], 0);
	pass(second);
	word = 7;
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
	if (write(wake, &(uint64_t){1}, 8) != 8 || write(pipes[1], "abc", 3) != 3) return 1;
	pwrite(fileno(f), "later", 6, 4096);
	for (int i = 0; i < 8; i++) pthread_join(ids[i], 0);
	say("its owner's death", pthread_mutex_lock(&robust) == EOWNERDEAD);
	say("private map", !strcmp(map, "mine") && !strcmp(map + 4096, "later"));
	int status;
	say("child", wait4(child, &status, 0, 0) == child && status == 0 && *shared == 100);
	return 0;
}
