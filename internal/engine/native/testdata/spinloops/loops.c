// Computes for longer than the engine looks at a thread that makes no system call, with memory in its hands.
#include "../leaks/leak.h"

static unsigned cells[4096];

int main(void) {
	unsigned sum = 0;
	for (unsigned i = 0; i < 300u << 20; i++) {
		cells[i % 4096] += i;
		sum ^= cells[(i * 7) % 4096];
	}
	show("sum %d\n", sum != 0);
	return 0;
}
