// A program with breakpoints of its own, under all kinds of masks and actions.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int traps;

static void count(int sig) { traps++; }

__attribute__((noinline)) static int quiet(int n) {
	if (n > 2)
		return n * 3;
	return n + 1;
}

int main(void) {
	setvbuf(stdout, NULL, _IONBF, 0);
	struct sigaction a = {.sa_handler = count}, old;
	sigaction(SIGTRAP, &a, NULL);
	for (int i = 0; i < 3; i++) {
		__asm__ volatile("int3");
		printf("traps %d\n", traps);
	}
	sigset_t all, before, now;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	printf("quiet %d\n", quiet(getpid() > 0)); // code that never ran, while all is blocked
	sigprocmask(SIG_BLOCK, NULL, &now);
	printf("blocked %d\n", sigismember(&now, SIGTRAP));
	sigaction(SIGTRAP, NULL, &old);
	printf("handler %d\n", old.sa_handler == count);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGTRAP, &a, &old);
	printf("handler %d\n", old.sa_handler == count);
	__asm__ volatile("int3");
	printf("traps %d, quiet %d\n", traps, quiet(7));
	for (int blocked = 0; blocked < 2; blocked++) {
		pid_t child = fork();
		if (child == 0) {
			signal(SIGTRAP, blocked ? count : SIG_DFL);
			if (blocked)
				sigprocmask(SIG_SETMASK, &all, NULL);
			__asm__ volatile("int3");
			printf("not reached\n");
			_exit(0);
		}
		int status;
		waitpid(child, &status, 0);
		printf("signal %d\n", WTERMSIG(status));
	}
	raise(SIGTRAP);
	printf("traps %d\n", traps);
	return 0;
}
