// One process takes memory without end and without a system call: it is bounded before the machine's is gone.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	char *p = mmap(NULL, 6UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (unsigned long i = 0; i < 6UL << 30; i += 4096) p[i] = 1;
	write(1, "all of it\n", 10);
	pause();
}
