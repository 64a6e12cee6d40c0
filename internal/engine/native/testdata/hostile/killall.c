// Kills everything that it can see, and then looks whether it is alive itself.
// want: reason=finished
// want: reproducible=true
// want: crashes=0
// want: line stdout 0
// want: line stdout alive
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>
int main(void)
{
	if (!fork())
		pause();
	printf("%d\n", kill(-1, SIGKILL));
	kill(1, SIGKILL);
	for (int pid = 2; pid < 10000; pid++)
		if (pid != getpid())
			kill(pid, SIGKILL);
	printf("alive\n");
	return 0;
}
