// Clocks and sleeping.
#include "compat.h"
#include <sys/times.h>

static int64_t ns(clockid_t c) {
	struct timespec t = {0};
	clock_gettime(c, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void clocks(void) {
	static const struct { clockid_t id; const char *name; } c[] = {
		{CLOCK_REALTIME, "REALTIME"}, {CLOCK_MONOTONIC, "MONOTONIC"}, {CLOCK_PROCESS_CPUTIME_ID, "PROCESS_CPUTIME"}, {CLOCK_THREAD_CPUTIME_ID, "THREAD_CPUTIME"},
		{CLOCK_MONOTONIC_RAW, "MONOTONIC_RAW"}, {CLOCK_REALTIME_COARSE, "REALTIME_COARSE"}, {CLOCK_MONOTONIC_COARSE, "MONOTONIC_COARSE"},
		{CLOCK_BOOTTIME, "BOOTTIME"}, {CLOCK_TAI, "TAI"}, {99, "99"}, {-1, "-1"},
	};
	for (unsigned i = 0; i < COUNT(c); i++) {
		struct timespec t, raw;
		CALL(clock_gettime(c[i].id, &t), "%s", c[i].name);
		if (errno) continue;
		CALL(syscall(SYS_clock_gettime, c[i].id, &raw), "the call itself");
		IS(raw.tv_sec > t.tv_sec || (raw.tv_sec == t.tv_sec && raw.tv_nsec >= t.tv_nsec), "later than by the vDSO");
		IS(t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1000000000, "a valid time");
		CALL(clock_getres(c[i].id, &t), "resolution");
		IS(t.tv_sec == 0 && t.tv_nsec >= 1 && t.tv_nsec <= 10000000, "at most 10 ms");
	}
	CALL(clock_getres(99, NULL), "resolution of 99");
	CALL(clock_getres(CLOCK_MONOTONIC, NULL), "resolution to nowhere");
	CALL(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, 8), "a bad address");
	CALL(syscall(SYS_gettimeofday, 8, NULL), "gettimeofday, a bad address");
	CALL(syscall(SYS_gettimeofday, NULL, NULL), "gettimeofday of nothing");
}

static void relations(void) {
	for (int i = 0; i < 3; i++) {
		static const clockid_t c[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};
		int ok = 1;
		int64_t last = ns(c[i]);
		for (int k = 0; k < 1000; k++) {
			int64_t now = ns(c[i]);
			ok &= now >= last;
			last = now;
		}
		IS(ok, "clock %d never goes back", i);
	}
	struct timeval tv;
	time_t t = time(NULL), u;
	gettimeofday(&tv, NULL);
	int64_t now = ns(CLOCK_REALTIME) / 1000;
	IS(now >= tv.tv_sec * 1000000LL + tv.tv_usec && now - (tv.tv_sec * 1000000LL + tv.tv_usec) < 1000000, "gettimeofday and CLOCK_REALTIME agree");
	IS(tv.tv_sec - t <= 1 && tv.tv_sec >= t, "time and gettimeofday agree");
	IS(syscall(SYS_time, &u) == u && u - t <= 1, "the call itself");
	IS(t > 1577836800, "it is after 2020");
	int64_t a = ns(CLOCK_MONOTONIC), r = ns(CLOCK_REALTIME), b = ns(CLOCK_BOOTTIME), tai = ns(CLOCK_TAI);
	nap(20);
	a = ns(CLOCK_MONOTONIC) - a, r = ns(CLOCK_REALTIME) - r, b = ns(CLOCK_BOOTTIME) - b, tai = ns(CLOCK_TAI) - tai;
	IS(a >= 20000000 && r >= 20000000 && b >= 20000000 && tai >= 20000000, "all of them see a sleep of 20 ms");
	int64_t coarse = ns(CLOCK_MONOTONIC_COARSE), fine = ns(CLOCK_MONOTONIC);
	IS(coarse <= fine && fine - coarse < 1000000000, "the coarse clock lags a little");
	int64_t cpu = ns(CLOCK_PROCESS_CPUTIME_ID);
	nap(30);
	IS(ns(CLOCK_PROCESS_CPUTIME_ID) - cpu < 25000000, "a sleep costs no CPU time");
	struct tms tms;
	IS(times(&tms) != -1 && tms.tms_utime >= 0, "times");
}

static volatile int handled;
static void on_signal(int signo) { handled++; }
static void interval(int ms) {
	struct itimerval t = {{0, ms * 1000}, {0, ms * 1000}};
	setitimer(ITIMER_REAL, &t, NULL);
}

static void sleeping(void) {
	struct timespec t = {0, 20000000}, rest = {7, 7}, bad = {0, 1000000000}, past = {-1, 0}, zero = {0, 0};
	int64_t start = now_ms();
	CALL(nanosleep(&t, &rest), "nanosleep");
	IS(now_ms() - start >= 20, "20 ms");
	IS(rest.tv_sec == 7 && rest.tv_nsec == 7, "the rest is not touched");
	CALL(nanosleep(&zero, NULL), "0");
	CALL(nanosleep(&bad, NULL), "too many nanoseconds");
	CALL(nanosleep(&past, NULL), "negative");
	CALL(nanosleep((void *)8, NULL), "a bad address");
	CODE(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), "clock_nanosleep");
	CODE(clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL), "clock_nanosleep, real time");
	CODE(clock_nanosleep(CLOCK_BOOTTIME, 0, &t, NULL), "clock_nanosleep, boot time");
	CODE(clock_nanosleep(99, 0, &t, NULL), "no such clock");
	CODE(syscall(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &t, NULL) ? errno : 0, "a thread's CPU time");
	CODE(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), "too many nanoseconds");
	for (int i = 0; i < 2; i++) {
		clockid_t c = i ? CLOCK_REALTIME : CLOCK_MONOTONIC;
		clock_gettime(c, &t);
		t.tv_nsec += 20000000;
		if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
		CODE(clock_nanosleep(c, TIMER_ABSTIME, &t, NULL), "absolute");
		IS(ns(c) >= t.tv_sec * 1000000000LL + t.tv_nsec, "not early");
		CODE(clock_nanosleep(c, TIMER_ABSTIME, &t, NULL), "in the past");
	}
	start = now_ms();
	CALL(usleep(10000), "usleep");
	CALL(sleep(0), "sleep 0");
	IS(now_ms() - start >= 10, "10 ms");
}

static void interrupted(void) {
	struct sigaction a = {.sa_handler = on_signal};
	struct timespec t = {5, 0}, rest = {0}, soon = {0, 100000000};
	sigaction(SIGALRM, &a, NULL);
	interval(30);
	CALL(nanosleep(&t, &rest), "nanosleep, interrupted");
	interval(0);
	IS(rest.tv_sec == 4 && rest.tv_nsec > 0 && rest.tv_nsec < 1000000000, "the rest");
	IS(handled >= 1, "handled");
	interval(30);
	CODE(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &rest), "clock_nanosleep, interrupted");
	interval(0);
	IS(rest.tv_sec == 4, "the rest");
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += 5, rest.tv_sec = 77;
	interval(30);
	CODE(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, &rest), "absolute, interrupted");
	interval(0);
	IS(rest.tv_sec == 77, "the rest is not touched");
	// A signal that is ignored interrupts nothing, also one that stops and continues the process.
	signal(SIGALRM, SIG_IGN);
	interval(20);
	int64_t start = now_ms();
	CALL(nanosleep(&soon, NULL), "beside ignored signals");
	interval(0);
	IS(now_ms() - start >= 100, "100 ms");
	pid_t child = fork();
	if (child == 0) {
		start = now_ms();
		int r = nanosleep(&soon, NULL);
		_exit(r == 0 && now_ms() - start >= 100 ? 3 : 4);
	}
	nap(20);
	kill(child, SIGSTOP);
	nap(20);
	kill(child, SIGCONT);
	reap(child, "a sleep that was stopped and continued");
}

static void setting(void) {
	IN_CHILD("an ordinary user") {
		unprivileged();
		struct timespec t = {1, 0};
		CALL(clock_settime(CLOCK_REALTIME, &t), "set the real time");
		CALL(clock_settime(CLOCK_MONOTONIC, &t), "set the monotonic clock");
	}
}

CASES(C(clocks), C(relations), C(sleeping), C(interrupted), C(setting))
