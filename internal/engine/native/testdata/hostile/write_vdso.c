// Looks for the pages that the kernel shares with it and writes into them. The process dies of it or nothing happens: the
// clock of its node must go on as before, for itself and for others.
// want: reason=finished
// want: line .*the clock is as before|crash kind=crash
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

static sigjmp_buf back;
static void fault(int signo) { siglongjmp(back, 1); }
static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec;
}

int main(void) {
	long before = now();
	char line[300];
	unsigned long from, to;
	FILE *f = fopen("/proc/self/maps", "r");
	signal(SIGSEGV, fault), signal(SIGBUS, fault);
	while (f && fgets(line, sizeof line, f)) {
		if (!strstr(line, "[v") || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
		mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC);
		if (sigsetjmp(back, 1) == 0)
			for (unsigned long p = from; p < to; p += 8) *(volatile long *)p ^= 0; // the same bytes: they may be code
	}
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	if (vdso && sigsetjmp(back, 1) == 0)
		for (long page = -4; page < 0; page++) memset((char *)vdso + page * 4096, 0x77, 64); // the time lies before the code
	long after = now();
	fprintf(stderr, after >= before && after < before + 10 ? "the clock is as before\n" : "the clock is broken\n");
	return 0;
}
