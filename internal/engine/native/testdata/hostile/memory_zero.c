// One process fills a map of /dev/zero that it shares with nobody yet: it is bounded before the machine's memory is gone.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	int fd = open("/dev/zero", O_RDWR);
	char *p = mmap(NULL, 6UL << 30, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (unsigned long i = 0; i < 6UL << 30; i += 4096) p[i] = 1;
	write(1, "all of it\n", 10);
	pause();
}
