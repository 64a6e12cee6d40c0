// Many processes have many maps each: what the machine's kernel keeps of them is bounded, too.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	char *p = mmap(NULL, 60000 * 8192L, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (long i = 0; i < 30000; i++) mprotect(p + i * 16384, 4096, PROT_READ);
	for (int i = 0; i < 50; i++) if (fork() == 0) pause();
	pause();
}
