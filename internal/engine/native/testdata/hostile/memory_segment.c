// Fills a System V segment.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>
int main(void) {
	unsigned long size = 6UL << 30;
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	char *p = shmat(id, NULL, 0);
	for (unsigned long i = 0; i < size; i += 4096) p[i] = 1;
	write(1, "all of it\n", 10);
	pause();
}
