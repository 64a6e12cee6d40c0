// Leak: the vDSO. Clocks that are read without a system call.
#include "leak.h"

int main(void) {
	for (int i = 0; i < 5; i++) {
		struct timespec r, m;
		struct timeval tv;
		clock_gettime(CLOCK_REALTIME, &r), clock_gettime(CLOCK_MONOTONIC, &m), gettimeofday(&tv, NULL);
		show("%ld.%09ld %ld.%09ld %ld.%06ld %ld\n", (long)r.tv_sec, r.tv_nsec, (long)m.tv_sec, m.tv_nsec, (long)tv.tv_sec, (long)tv.tv_usec, (long)time(NULL));
	}
	return 0;
}
