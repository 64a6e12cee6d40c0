// Leak: which parts of the processor's state count as in use. A switch of the machine's kernel may set it back; xgetbv, the XSAVE
// family and the frames of signals show it, and so does what the dynamic linker leaves on the stack.
#include "leak.h"
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

static unsigned char area[16384] __attribute__((aligned(64)));

static uint64_t sum(const unsigned char *p, int n) {
	uint64_t h = 14695981039346656037u;
	while (n--)
		h = (h ^ *p++) * 1099511628211u;
	return h;
}

static uint64_t in_use(void) {
	unsigned a, d;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
	return (uint64_t)d << 32 | a;
}

// Leaves every register zero in a way that the processor may count as used or as not, and waits to be switched.
static void leave(int how) {
	switch (how) {
	case 0:
		__asm__ volatile("pxor %xmm0, %xmm0");
		break;
	case 1:
		__asm__ volatile("vpcmpeqd %ymm0, %ymm0, %ymm0\n vzeroall");
		break;
	case 2:
		__asm__ volatile("vpcmpeqd %ymm0, %ymm0, %ymm0\n vpxor %ymm0, %ymm0, %ymm0");
		break;
	case 3:
		__asm__ volatile("fldz\n fstp %st(0)\n fninit");
		break;
	}
	for (volatile int i = 0; i < 3000000; i++)
		;
}

static void handler(int sig, siginfo_t *info, void *context) {
	ucontext_t *u = context;
	unsigned char *state = (unsigned char *)u->uc_mcontext.fpregs;
	uint64_t used;
	memcpy(&used, state + 512, 8);
	show("signal %d: in use %lx, state %lx, reserved %lx, trap %llx %llx %llx\n", sig, used, sum(state + 576, 256), sum(state + 416, 48), u->uc_mcontext.gregs[REG_TRAPNO],
		u->uc_mcontext.gregs[REG_ERR], u->uc_mcontext.gregs[REG_CR2]);
	if (sig == SIGSEGV)
		u->uc_mcontext.gregs[REG_RIP] += 2; // behind mov (%rax), %eax
}

// Leaves something below the stack, where the frame of a signal comes to lie.
static __attribute__((noinline)) void dirty(void) {
	unsigned char below[8192];
	memset(below, 0x55, sizeof below);
	__asm__ volatile("" ::"r"(below) : "memory");
}

int main(void) {
	unsigned a, b, c, d;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) {
		show("no avx2\n");
		return 0;
	}
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGUSR1, &sa, 0);
	sigaction(SIGSEGV, &sa, 0);
	for (int how = 0; how < 4; how++) {
		leave(how);
		show("%d: in use %lx\n", how, in_use());
		leave(how);
		memset(area, 0x55, sizeof area);
		memset(area + 512, 0, 64);
		__asm__ volatile("xsave %0" : "=m"(area) : "a"(-1), "d"(-1));
		show("xsave %lx %lx\n", *(uint64_t *)(area + 512), sum(area + 512, 2048));
		leave(how);
		memset(area, 0x55, sizeof area);
		memset(area + 512, 0, 64);
		__asm__ volatile("xsavec %0" : "=m"(area) : "a"(-1), "d"(-1));
		show("xsavec %lx %lx\n", *(uint64_t *)(area + 512), sum(area + 512, 2048));
		leave(how);
		memset(area, 0x55, sizeof area);
		memset(area + 512, 0, 64);
		__asm__ volatile("xsaveopt %0" : "=m"(area) : "a"(-1), "d"(-1));
		show("xsaveopt %lx\n", *(uint64_t *)(area + 512));
		leave(how);
		dirty();
		raise(SIGUSR1);
		leave(how);
		__asm__ volatile("xor %%eax, %%eax\n mov (%%rax), %%eax" ::: "rax");
	}
	unsigned char residue[2048]; // what the calls above have left there
	__asm__ volatile("" : "=m"(residue));
	show("stack %lx\n", sum(residue, sizeof residue));
	return 0;
}
