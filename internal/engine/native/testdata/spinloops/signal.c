// Loops that make no system call and wait for a signal: of the real clock, of CPU time, again and again, and of another process.
#include "../leaks/leak.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t rung;

static void ring(int sig) {
	(void)sig;
	rung++;
}

static void await(int rings) {
	for (int i = 0; i < rings; i++) {
		while (!rung) {}
		rung = 0;
	}
}

int main(void) {
	struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
	signal(SIGALRM, ring), signal(SIGPROF, ring), signal(SIGUSR1, ring);
	alarm(2);
	await(1);
	show("alarm\n");
	setitimer(ITIMER_REAL, &often, NULL);
	await(100);
	setitimer(ITIMER_REAL, &never, NULL);
	show("100 alarms\n");
	rung = 0;
	setitimer(ITIMER_PROF, &often, NULL);
	await(100);
	setitimer(ITIMER_PROF, &never, NULL);
	show("100 of CPU time\n");
	rung = 0;
	pid_t parent = getpid();
	if (fork() == 0) {
		usleep(1000);
		kill(parent, SIGUSR1);
		_exit(0);
	}
	await(1);
	show("a child\n");
	wait(NULL);
	return 0;
}
