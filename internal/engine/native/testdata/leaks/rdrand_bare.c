// Leak: random numbers from the CPU, taken without asking cpuid for them. In a program's file they can be found, and come from the tape.
#include "leak.h"

int main(void) {
	unsigned long a = 0, b = 0;
	unsigned c = 0;
	unsigned short d = 0;
	unsigned char ok[4];
	__asm__ volatile("rdrand %0; setc %1" : "=r"(a), "=qm"(ok[0]));
	__asm__ volatile("rdseed %0; setc %1" : "=r"(b), "=qm"(ok[1]));
	__asm__ volatile("rdrand %%r13d; setc %1; mov %%r13d, %0" : "=r"(c), "=qm"(ok[2]) : : "r13");
	__asm__ volatile("rdrand %0; setc %1" : "=r"(d), "=qm"(ok[3]));
	show("rdrand %d %lx, rdseed %d %lx, 32 bits %d %x, 16 bits %d %x\n", ok[0], a, ok[1], b, ok[2], c, ok[3], d);
	return 0;
}
