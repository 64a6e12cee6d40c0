// Leak: instructions of chance in code that the program makes as it runs: no breakpoint stands there, and the run must say so.
#include "leak.h"

int main(int argc, char **argv) {
	static const unsigned char code[] = {0x48, 0x0f, 0xc7, 0xf0, 0xc3}; // rdrand %rax; ret
	unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p + 512, code, sizeof code);
	unsigned long v = ((unsigned long (*)(void))(p + 512))();
	show("made %d\n", v != 0);
	unsigned char *q = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(q, code, sizeof code);
	mprotect(q, 4096, PROT_READ | PROT_EXEC);
	v = ((unsigned long (*)(void))q)();
	show("protected %lx\n", v);
	return argc > 5;
}
