// Two processes that send each other signals without end.
// want: reason=(finished|limit|max_time)
// want: reproducible=true
#include <signal.h>
#include <unistd.h>

static void nothing(int signo) {}

int main(void) {
	signal(SIGUSR1, nothing);
	pid_t child = fork(), other = child ? child : getppid();
	for (;;) kill(other, SIGUSR1);
}
