// Many processes that take memory without a system call, each of them little: together they are bounded.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
	for (int i = 0; i < 40; i++)
		if (fork() == 0) {
			char *p = malloc(16 << 20);
			memset(p, 1, 16 << 20);
			pause();
		}
	pause();
}
