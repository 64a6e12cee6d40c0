// Fills many files in memory that have neither a name nor a descriptor, only a map, each small.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	unsigned long size = 4UL << 20;
	for (int n = 0; n < 1500; n++) {
		int f = memfd_create("m", 0);
		ftruncate(f, size);
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
		close(f);
		for (unsigned long i = 0; i < size; i += 4096) p[i] = 1;
	}
	write(1, "all of it\n", 10);
	pause();
}
