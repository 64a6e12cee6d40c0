// Leak: transactions of the processor, which any interrupt aborts.
#include "leak.h"

int main(void) {
	int done = 0;
	unsigned status = 0;
	for (int i = 0; i < 1000; i++) {
		int s = -1;
		__asm__ volatile("xbegin 1f\n mov $-1, %%eax\n xend\n 1:" : "=a"(s) : "0"(-1) : "memory");
		if (s == -1)
			done++;
		else
			status |= s;
	}
	show("%d transactions, status %x\n", done, status);
	return 0;
}
