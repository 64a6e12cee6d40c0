// Each process forks once and ends: never many at a time, and never an end. The limit of events or of virtual time ends
// the world.
// want: reason=(finished|limit|max_time)
#include <unistd.h>

int main(void) {
	for (;;)
		if (fork() != 0) _exit(0);
}
