// Leak: the moment at which a timer's signal arrives, counted in the system calls that a loop has made by then.
#include "leak.h"

static volatile long calls, arrived[10];
static volatile int n;
static void on_alarm(int signo) {
	if (n < 10) arrived[n++] = calls;
}

int main(void) {
	struct itimerval t = {{0, 2000}, {0, 2000}};
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &t, NULL);
	while (n < 10) {
		syscall(SYS_getppid);
		calls++;
	}
	for (int i = 0; i < 10; i++) show("arrived at call %ld\n", arrived[i]);
	return 0;
}
