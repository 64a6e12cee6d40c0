// Leak: clocks by system call, as a program without a vDSO reads them.
#include "leak.h"
#include <sys/times.h>

int main(void) {
	static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_REALTIME_COARSE,
		CLOCK_MONOTONIC_COARSE, CLOCK_TAI, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
	for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
		struct timespec t;
		syscall(SYS_clock_gettime, clocks[i], &t);
		show("%d %ld.%09ld\n", clocks[i], (long)t.tv_sec, t.tv_nsec);
	}
	struct tms tms;
	show("times %ld\n", (long)times(&tms));
	return 0;
}
