// Prints of frames of signals the sum of the extended state, and what belongs to no register, where the stack held something else before.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static unsigned char reserved[48];
static uint64_t sum;

static void handler(int sig, siginfo_t *info, void *context) {
	unsigned char *state = (unsigned char *)((ucontext_t *)context)->uc_mcontext.fpregs;
	uint32_t size; // struct _fpx_sw_bytes (asm/sigcontext.h)
	memcpy(reserved, state + 416, sizeof reserved);
	memcpy(&size, state + 464 + 4, sizeof size);
	sum = 0;
	for (uint32_t i = 0; i < size && i < 16384; i++)
		sum = sum * 31 + state[i];
}

static __attribute__((noinline)) void dirty(void) {
	unsigned char below[8192];
	memset(below, 0x55, sizeof below);
	__asm__ volatile("" ::"r"(below) : "memory");
}

// Waits for a signal somewhere in a page.
static __attribute__((noinline)) void wait_below(int bytes) {
	unsigned char above[bytes];
	__asm__ volatile("" ::"r"(above) : "memory");
	dirty();
	pause();
}

int main(void) {
	if (fork() == 0) { // makes events while the other one waits
		for (int i = 0; i < 200; i++)
			usleep(1700);
		return 0;
	}
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGALRM, &sa, 0);
	struct itimerval each = {{0, 10000}, {0, 10000}};
	setitimer(ITIMER_REAL, &each, 0);
	for (int i = 0; i < 30; i++) {
		wait_below(1 + i * 137);
		printf("%lx: ", sum);
		for (int k = 0; k < sizeof reserved; k++)
			printf("%x", reserved[k]);
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
