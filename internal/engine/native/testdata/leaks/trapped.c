// Leak: instructions of chance wherever a program may come to one: in threads, in children, while signals are blocked, handled or
// ignored, in a loop, and where the processor would raise a fault. What signals do is the same as without a breakpoint.
#include "leak.h"
#include <setjmp.h>

__attribute__((noinline)) static unsigned long rdrand(void) {
	unsigned long v;
	__asm__ volatile("rdrand %0" : "=r"(v) : : "cc");
	return v;
}

__attribute__((noinline)) static unsigned rdpid(void) {
	unsigned long v;
	__asm__ volatile("rdpid %0" : "=r"(v));
	return v;
}

static volatile int traps;
static sigjmp_buf back;

static void handler(int sig) {
	if (sig == SIGSEGV) siglongjmp(back, 1);
	traps++;
}

static void *thread(void *arg) {
	show("thread %lx %u\n", rdrand(), rdpid());
	return arg;
}

static void state(const char *when) {
	sigset_t now;
	struct sigaction a;
	sigprocmask(SIG_BLOCK, 0, &now);
	sigaction(SIGTRAP, 0, &a);
	show("%s: %lx %u, blocked %d, handler %d, ignored %d, traps %d\n", when, rdrand(), rdpid(), sigismember(&now, SIGTRAP), a.sa_handler == handler,
		a.sa_handler == SIG_IGN, traps);
}

int main(void) {
	state("plain");
	state("again");
	sigset_t all, one, old;
	sigfillset(&all);
	sigemptyset(&one);
	sigaddset(&one, SIGTRAP);
	sigprocmask(SIG_BLOCK, &all, &old);
	state("all blocked");
	state("and again");
	sigprocmask(SIG_SETMASK, &old, 0);
	struct sigaction a = {.sa_handler = handler};
	sigaction(SIGTRAP, &a, 0);
	sigaction(SIGSEGV, &a, 0);
	state("handled");
	sigprocmask(SIG_BLOCK, &one, &old);
	state("handled and blocked");
	state("and again");
	sigprocmask(SIG_SETMASK, &old, 0);
	raise(SIGTRAP);
	__asm__ volatile("int3");
	state("raised");
	signal(SIGTRAP, SIG_IGN);
	state("ignored");
	state("and again");
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	for (int how = 0; how < 2; how++) {
		int pid = how ? vfork() : fork();
		if (pid == 0) {
			show("child %d %lx %u\n", how, rdrand(), rdpid());
			_exit(0);
		}
		int status;
		waitpid(pid, &status, 0);
		show("its end %x\n", status);
	}
	unsigned long sum = 0;
	for (int i = 0; i < 20000; i++) {
		sum += rdrand() + rdpid();
		if (i % 500 == 0) getppid(); // or a slow machine takes the loop for one that spins
	}
	show("loop %lx\n", sum);
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("xgetbv" : : "c"(77) : "eax", "edx");
		show("no fault\n");
	} else
		show("a fault\n");
	static unsigned char area[4096] __attribute__((aligned(64)));
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("xsave 8(%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
		show("no fault\n");
	} else
		show("a fault\n");
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("sgdt (%0)" : : "r"(8) : "memory");
		show("no fault\n");
	} else
		show("a fault\n");
	// The program's own code, as a call shows it.
	unsigned char code[64], *p = (unsigned char *)rdrand;
	int pipes[2];
	if (pipe(pipes) || write(pipes[1], p, sizeof code) != sizeof code || read(pipes[0], code, sizeof code) != sizeof code) return 1;
	int found = 0;
	for (unsigned i = 0; i + 2 < sizeof code; i++) found += code[i] == 0x0f && code[i + 1] == 0xc7 && code[i + 2] >= 0xf0;
	show("rdrand is there: %d\n", found > 0);
	return 0;
}
