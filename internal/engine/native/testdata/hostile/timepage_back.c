// Says that it has read clocks less than no times, by which time would go back: the run must not claim that it can be repeated.
// want: reason=finished
// want: reproducible=false
// want: crashes=0
// want: line stdout 1000
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void) {
	volatile long *page = (long *)0x7ffffa010000UL; /* struct timepage of vdso.c */
	for (int i = 0; i < 100; i++) {
		page[0] -= 50000000000 * page[5];
		page[1] -= 50000000000;
		getppid();
	}
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("%ld\n", t.tv_sec);
	return 0;
}
