// Crashes before it has done anything.
// want: reason=finished
// want: reproducible=true
// want: crash kind=crash .*signal=SIGSEGV
#include <stddef.h>

int main(void) {
	*(volatile int *)NULL = 1;
	return 0;
}
