// Stops itself for ever.
// want: reason=(finished|deadlock|max_time)
#include <signal.h>

int main(void) {
	raise(SIGSTOP);
	return 0;
}
