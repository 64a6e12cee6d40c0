// The main thread ends, and another takes memory without end: what it takes is counted all the same.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *fill(void *arg) {
	usleep(1000);
	unsigned long most = 6UL << 30;
	char *p = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (unsigned long i = 0; i < most; i += 4096) p[i] = 1;
	write(1, "all of it\n", 10);
	pause();
}
int main(void) {
	pthread_t t;
	pthread_create(&t, NULL, fill, NULL);
	syscall(SYS_exit, 0);
}
