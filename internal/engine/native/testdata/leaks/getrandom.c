// Leak: getrandom, and what libc builds on it.
#include "leak.h"
#include <sys/random.h>

int main(void) {
	uint64_t r[4];
	for (unsigned flag = 0; flag < 3; flag++) {
		if (getrandom(r, sizeof r, flag) < 0) r[0] = errno;
		show("%lx %lx %lx %lx\n", r[0], r[1], r[2], r[3]);
	}
	char name[] = "leak-XXXXXX";
	close(mkstemp(name));
	show("%s\n", name);
	unlink(name);
	return 0;
}
