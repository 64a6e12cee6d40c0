// Leak: what cpuid tells of the CPU, among it the number of the CPU that the thread runs on.
#include "leak.h"
#include <cpuid.h>

int main(void) {
	unsigned a, b, c, d;
	for (unsigned leaf = 0; leaf <= 0xb; leaf++)
		if (__get_cpuid_count(leaf, 0, &a, &b, &c, &d)) show("%x: %08x %08x %08x %08x\n", leaf, a, b, c, d);
	return 0;
}
