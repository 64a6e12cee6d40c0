// Leak: the text of /proc/self/maps, which some programs hash to find out where they are.
#include "leak.h"

int main(void) {
	static char b[1 << 18];
	static const char *const path[] = {"/proc/self/maps", "/proc/self/smaps", "/proc/self/auxv", "/proc/self/environ", "/proc/self/cmdline"};
	for (int i = 0; i < 5; i++) {
		long n = slurp(path[i], b, sizeof b);
		show("%s %ld %lx\n", path[i], n, hash(b, n > 0 ? n : 0));
		if (i == 0 && n > 0 && write(STDOUT_FILENO, b, n) != n) return 1;
	}
	return 0;
}
