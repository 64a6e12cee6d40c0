// Fills pipes and sockets, whose bytes are with the engine.
// want: reason=limit detail=the limit of [0-9]+ MB of the machine.s memory that the world may take
// want: reproducible=false
// computes
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static char block[1 << 20];
int main(void) {
	for (int n = 0; n < 30; n++)
		if (fork() == 0) {
			int f[2];
			while (pipe(f) == 0 ) {
				fcntl(f[1], 1031, 1 << 20);
				fcntl(f[1], F_SETFL, O_NONBLOCK);
				while (write(f[1], block, sizeof block) > 0) ;
			}
			while (socketpair(AF_UNIX, SOCK_STREAM, 0, f) == 0) {
				fcntl(f[1], F_SETFL, O_NONBLOCK);
				while (write(f[1], block, sizeof block) > 0) ;
			}
			write(1, "full\n", 5);
			pause();
		}
	pause();
}
