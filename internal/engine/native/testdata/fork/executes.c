// Programs are executed by processes that share the memory and the descriptors of this one.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int other(void *unused) {
	char *arguments[] = {"true", NULL};
	execve("/bin/true", arguments, arguments + 1);
	return 1;
}

int main(void) {
	static char stack[1 << 16] __attribute__((aligned(16)));
	for (int i = 0; i < 50; i++) {
		int status;
		pid_t id = clone(other, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, NULL);
		if (waitpid(id, &status, 0) != id || status != 0) return 1;
	}
	puts("executed");
	fflush(stdout);
	for (int i = 0; i < 50; i++) usleep(100000);
	return 0;
}
