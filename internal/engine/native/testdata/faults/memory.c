// Asks for memory in all ways again and again and says which fail.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 20, LARGE = 64 << 20 }; // malloc keeps what is smaller

static void say(const char *what, int ok) {
	char line[100];
	int n = ok ? snprintf(line, sizeof line, "ok\n") : snprintf(line, sizeof line, "%s: %s\n", what, strerror(errno));
	write(1, line, n);
}

int main(void) {
	char *old = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (old == MAP_FAILED) return 1;
	for (int i = 0; i < 100; i++) {
		char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		say("mmap", p != MAP_FAILED);
		if (p != MAP_FAILED) munmap(p, SIZE);
		p = malloc(LARGE);
		say("malloc", p != NULL);
		if (p) *(volatile char *)p = 1;
		free(p);
		p = sbrk(SIZE);
		say("sbrk", p != (char *)-1);
		if (p != (char *)-1) sbrk(-SIZE);
		p = mremap(old, 4096, SIZE, MREMAP_MAYMOVE);
		say("mremap", p != MAP_FAILED);
		if (p != MAP_FAILED) old = mremap(p, SIZE, 4096, MREMAP_MAYMOVE);
		p = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // an address range is no memory
		say("mmap", p != MAP_FAILED);
		say("mprotect", mprotect(p, SIZE, PROT_READ | PROT_WRITE) == 0);
		munmap(p, SIZE);
		usleep(20000);
	}
	return 0;
}
