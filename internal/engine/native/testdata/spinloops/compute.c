// Long loops without a system call that come to an end by themselves, though no general register changes in
// them. They must not be taken for threads that wait for others.
#include "../leaks/leak.h"

int main(void) {
	double x = 0; // only a vector register changes
	while (x < 3e8) x += 1.0;
	show("x %.0f\n", x);
	volatile unsigned long count = -(256UL << 26); // only memory changes, and no flag but the last carry
	__asm__ volatile("1: addq $256, %0\n\tjnc 1b" : "+m"(count));
	show("count %lu\n", count);
	return 0;
}
