// A handler that raises its own signal, until the stack is used up.
// want: reason=finished
// want: crash kind=crash .*signal=SIGSEGV
#include <signal.h>
#include <stdlib.h>

static void again(int signo) { raise(signo); }

int main(void) {
	struct sigaction a = {.sa_handler = again, .sa_flags = SA_NODEFER};
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
	return 0;
}
