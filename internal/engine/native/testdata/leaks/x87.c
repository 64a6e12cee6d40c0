// Leak: where x87 executed its last instruction, which a switch of the machine's kernel may set to 0.
#include "leak.h"
#include <fenv.h>
#include <ucontext.h>

static unsigned char area[4096] __attribute__((aligned(64)));
static double one = 1.5, zero;

enum { FNSTENV, FNSTENV16, FNSAVE, FXSAVE, FXSAVE64, XSAVE, SIGNAL, GETCONTEXT, RAISE, FEHOLD, WAYS };
static const char *const names[] = {"fnstenv", "fnstenv of 16 bits", "fnsave", "fxsave", "fxsave64", "xsave", "signal", "getcontext", "feraiseexcept", "feholdexcept"};

static void handler(int sig, siginfo_t *info, void *context) {
	ucontext_t *u = context;
	memcpy(area, u->uc_mcontext.fpregs, 160);
}

static void store(int way) {
	ucontext_t u;
	fenv_t env;
	switch (way) {
	case FNSTENV: __asm__ volatile("fnstenv %0" : "=m"(area)); break;
	case FNSTENV16: __asm__ volatile(".byte 0x66\n fnstenv %0" : "=m"(area)); break;
	case FNSAVE: __asm__ volatile("fnsave %0" : "=m"(area)); break;
	case FXSAVE: __asm__ volatile("fxsave %0" : "=m"(area)); break;
	case FXSAVE64: __asm__ volatile("fxsave64 %0" : "=m"(area)); break;
	case XSAVE: __asm__ volatile("xsave64 %0" : "=m"(area) : "a"(1), "d"(0)); break;
	case SIGNAL: raise(SIGUSR1); break;
	case GETCONTEXT: getcontext(&u), memcpy(area, &u.__fpregs_mem, 28); break;
	case RAISE: feraiseexcept(FE_OVERFLOW), fegetenv(&env), memcpy(area, &env, 28); break;
	case FEHOLD: feholdexcept(&env), memcpy(area, &env, 28); break;
	}
}

static const char *image(int way) {
	static char text[256];
	int n = 0;
	for (int i = 0; i < 32; i++) n += sprintf(text + n, "%02x", area[i]);
	return text;
}

int main(void) {
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGUSR1, &sa, 0);
	for (int exception = 0; exception < 2; exception++) {
		for (int way = 0; way < WAYS; way++) {
			if (exception && way >= SIGNAL) continue; // an exception that waits would come between
			for (int later = 0; later < 2; later++) {
				unsigned short control = exception ? 0x37b : 0x37f;
				memset(area, 0x55, sizeof area);
				memset(area + 512, 0, 64);
				__asm__ volatile("fninit\n fldcw %0\n fldl %1\n fdivl %2" : : "m"(control), "m"(one), "m"(zero));
				if (later) syscall(SYS_getppid), syscall(SYS_clock_nanosleep, 1, 0, &(struct timespec){0, 1000}, 0);
				store(way);
				__asm__ volatile("fnclex\n fninit");
				show("%s, %s, %s: %s\n", names[way], exception ? "exception" : "none", later ? "later" : "now", image(way));
			}
		}
	}
	return 0;
}
