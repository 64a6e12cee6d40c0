// Fills shared memory without a system call that anybody sees, and lets go of the pages: they are the object's, not the process'.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	unsigned long size = 6UL << 30, part = 16UL << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (unsigned long at = 0; at < size; at += part) {
		for (unsigned long i = 0; i < part; i += 4096) p[at + i] = 1;
		madvise(p + at, part, MADV_DONTNEED);
	}
	write(1, "all of it\n", 10);
	pause();
}
