// Fills a sparse file by a map, beyond what calls may write.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	unsigned long size = 6UL << 30;
	int f = open("sparse", O_CREAT | O_RDWR, 0644);
	ftruncate(f, size);
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	for (unsigned long i = 0; i < size; i += 4096) p[i] = 1;
	write(1, "all of it\n", 10);
	pause();
}
