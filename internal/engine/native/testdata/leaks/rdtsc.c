// Leak: the time stamp counter, read by an instruction.
#include "leak.h"

int main(void) {
	unsigned low, high, cpu;
	for (int i = 0; i < 5; i++) {
		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		show("rdtsc %lu\n", (unsigned long)high << 32 | low);
		__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(cpu));
		show("rdtscp %lu cpu %u\n", (unsigned long)high << 32 | low, cpu);
	}
	return 0;
}
