// Reads a page in each 2 MB of an empty map: there is nothing but page tables behind it.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	unsigned long size = 1UL << 42;
	volatile char *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	madvise((void *)p, size, MADV_NOHUGEPAGE);
	int sum = 0;
	for (unsigned long i = 0; i < size; i += 2UL << 20) sum += p[i];
	printf("all of it %d\n", sum);
	pause();
}
