// Waits by four kinds of timers and says whether each came in time, as CLOCK_MONOTONIC has it.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 100, LATE_MS = 10 };

static int64_t now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct timespec spec(int64_t ns) { return (struct timespec){ns / 1000000000, ns % 1000000000}; }

static void came(const char *what, int64_t start) {
	int64_t ms = (now(CLOCK_MONOTONIC) - start) / 1000000;
	printf("%s %s\n", what, ms < WAIT_MS - 1 ? "early" : ms > WAIT_MS + LATE_MS ? "late" : "in time");
	fflush(stdout);
}

int main(void) {
	int absolute = timerfd_create(CLOCK_REALTIME, 0), relative = timerfd_create(CLOCK_REALTIME, 0), watch = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;
	if (timer_create(CLOCK_REALTIME, &event, &timer)) return 1;
	struct itimerspec far = {{0}, spec(now(CLOCK_REALTIME) + 3600 * 1000000000LL)};
	timerfd_settime(watch, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
	for (int i = 0; i < 20; i++) {
		uint64_t n;
		int64_t start = now(CLOCK_MONOTONIC);
		struct timespec until = spec(now(CLOCK_REALTIME) + WAIT_MS * 1000000LL);
		while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR) {}
		came("nanosleep", start);

		start = now(CLOCK_MONOTONIC);
		struct itimerspec at = {{0}, spec(now(CLOCK_REALTIME) + WAIT_MS * 1000000LL)};
		timerfd_settime(absolute, TFD_TIMER_ABSTIME, &at, NULL);
		if (read(absolute, &n, 8) != 8) return 2;
		came("timerfd", start);

		start = now(CLOCK_MONOTONIC);
		at = (struct itimerspec){{0}, spec(now(CLOCK_REALTIME) + WAIT_MS * 1000000LL)};
		timer_settime(timer, TIMER_ABSTIME, &at, NULL);
		if (sigwaitinfo(&set, NULL) != SIGUSR1) return 3;
		came("timer", start);

		start = now(CLOCK_MONOTONIC);
		at = (struct itimerspec){{0}, spec(WAIT_MS * 1000000LL)};
		timerfd_settime(relative, 0, &at, NULL);
		if (read(relative, &n, 8) != 8) return 4;
		came("relative", start);

		if (read(watch, &n, 8) < 0 && errno == ECANCELED) puts("canceled");
	}
	return 0;
}
