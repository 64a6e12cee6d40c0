// Takes shared memory and gives it back, again and again: only what is mapped counts.
// want: reason=finished
// want: reproducible=true
// want: line stdout all of it
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	unsigned long size = 1UL << 20;
	for (int n = 0; n < 2000; n++) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		for (unsigned long i = 0; i < size; i += 4096) p[i] = 1;
		munmap(p, size);
		int f = memfd_create("m", 0);
		ftruncate(f, size);
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
		close(f);
		for (unsigned long i = 0; i < size; i += 4096) p[i] = 1;
		munmap(p, size);
	}
	write(1, "all of it\n", 10);
}
