// Leak: memory that was never written. The kernel gives zeros; what libc and its start-up code leave on the stack and
// the heap depends on addresses, environment and auxiliary vector.
#include "leak.h"

__attribute__((noinline)) static uint64_t below(void) {
	volatile unsigned char b[8192];
	return hash((const void *)b, sizeof b);
}

int main(void) {
	show("stack %lx\n", below());
	for (int size = 16; size <= 1 << 16; size *= 4) {
		void *p = malloc(size), *q;
		free(p);
		q = malloc(size);
		show("heap of %d: %lx\n", size, hash(q, size));
	}
	return 0;
}
