// Leak: random numbers from the CPU. They cannot be trapped on many machines: the run must say so, or the program
// must not find the instruction in cpuid. A program asks cpuid first, as all libraries do.
#include "leak.h"
#include <cpuid.h>

int main(void) {
	unsigned a, b, c, d;
	unsigned long v = 0;
	unsigned char ok = 0;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_RDRND)) {
		show("no rdrand\n");
		return 0;
	}
	__asm__ volatile("rdrand %0; setc %1" : "=r"(v), "=qm"(ok));
	show("rdrand %d %lx\n", ok, v);
	return 0;
}
