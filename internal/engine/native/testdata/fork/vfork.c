// A child of vfork has its parent's memory and signal handlers of its own, for a while.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int by_parent, by_child;

static void parent(int sig) { by_parent++; }
static void child(int sig) { by_child++; }

static void pass(void) { nanosleep(&(struct timespec){0, 2000000}, 0); }

int main(void) {
	for (int round = 0; round < 3; round++) {
		signal(SIGUSR1, parent);
		signal(SIGUSR2, SIG_IGN);
		pid_t id = vfork();
		if (id == 0) {
			signal(SIGUSR1, child);
			for (int i = 0; i < 5; i++) {
				pass();
				kill(getpid(), SIGUSR1);
				kill(getpid(), SIGUSR2);
			}
			_exit(7);
		}
		int status;
		if (waitpid(id, &status, 0) != id || WEXITSTATUS(status) != 7) return 1;
		raise(SIGUSR1);
		pass();
	}
	puts(by_parent == 3 && by_child == 15 ? "handlers: is as it was" : "handlers HAVE CHANGED");
	return 0;
}
