// Timers of CPU time: setitimer's ITIMER_VIRTUAL and ITIMER_PROF, and timer_create with clocks of CPU time, in programs that make
// calls, that wait without one, and that sleep.
#include "compat.h"
#include <sys/resource.h>

static volatile sig_atomic_t rung, number;
static volatile int code;

static void ring(int sig, siginfo_t *info, void *context) {
	(void)context;
	rung++, number = sig, code = info->si_code;
}

static void listen_to(int sig) {
	struct sigaction a = {.sa_sigaction = ring, .sa_flags = SA_SIGINFO};
	MUST(sigaction(sig, &a, NULL));
	rung = number = 0;
}

static int64_t used_us(void) {
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000LL + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

static const struct { int which, signal; const char *name; } kinds[] = {{ITIMER_VIRTUAL, SIGVTALRM, "ITIMER_VIRTUAL"}, {ITIMER_PROF, SIGPROF, "ITIMER_PROF"}};

static void once(void) {
	for (unsigned i = 0; i < COUNT(kinds); i++) {
		struct itimerval t = {.it_value = {.tv_usec = 20000}}, old = {{9, 9}, {9, 9}};
		listen_to(kinds[i].signal);
		int64_t before = used_us();
		CALL(setitimer(kinds[i].which, &t, &old), "%s", kinds[i].name);
		say("before: %ld %ld %ld %ld", (long)old.it_value.tv_sec, (long)old.it_value.tv_usec, (long)old.it_interval.tv_sec, (long)old.it_interval.tv_usec);
		CALL(getitimer(kinds[i].which, &old), "getitimer");
		IS(old.it_value.tv_sec == 0 && old.it_value.tv_usec > 0 && old.it_value.tv_usec < 100000, "some is left");
		while (!rung) {}
		say("%s, code %#x", signal_name(number), code);
		IS(used_us() > before, "CPU time has passed");
		CALL(getitimer(kinds[i].which, &old), "getitimer");
		IS(old.it_value.tv_sec == 0 && old.it_value.tv_usec == 0, "nothing is left");
	}
}

static void again(void) {
	for (unsigned i = 0; i < COUNT(kinds); i++) {
		struct itimerval t = {.it_value = {.tv_usec = 5000}, .it_interval = {.tv_usec = 5000}}, old;
		listen_to(kinds[i].signal);
		MUST(setitimer(kinds[i].which, &t, NULL));
		while (rung < 5) {}
		CALL(getitimer(kinds[i].which, &old), "getitimer");
		say("interval: %ld", (long)old.it_interval.tv_usec / 1000);
		t.it_value.tv_usec = 0;
		CALL(setitimer(kinds[i].which, &t, &old), "off");
		IS(old.it_value.tv_usec > 0 && old.it_value.tv_usec <= 8000, "what was left");
		rung = 0;
		for (int64_t end = used_us() + 20000; used_us() < end;) {}
		say("signals when it is off: %d", (int)rung);
	}
}

// A program that sleeps uses no CPU time.
static void sleeping(void) {
	struct itimerval t = {.it_value = {.tv_usec = 100000}}, old;
	listen_to(SIGPROF);
	MUST(setitimer(ITIMER_PROF, &t, NULL));
	struct timespec nap = {0, 300000000};
	CALL(nanosleep(&nap, NULL), "nanosleep");
	say("signals: %d", (int)rung);
	CALL(getitimer(ITIMER_PROF, &old), "getitimer");
	IS(old.it_value.tv_usec > 50000, "much is left");
	t.it_value.tv_usec = 0;
	MUST(setitimer(ITIMER_PROF, &t, NULL));
}

// Calls are work, too.
static void calls(void) {
	struct itimerval t = {.it_value = {.tv_usec = 3000}};
	listen_to(SIGPROF);
	MUST(setitimer(ITIMER_PROF, &t, NULL));
	while (!rung) getppid();
	say("%s", signal_name(number));
}

static void death(void) {
	for (unsigned i = 0; i < COUNT(kinds); i++)
		IN_CHILD(kinds[i].name) {
			struct itimerval t = {.it_value = {.tv_usec = 5000}};
			signal(kinds[i].signal, SIG_DFL);
			MUST(setitimer(kinds[i].which, &t, NULL));
			for (;;) {}
		}
}

// A fork does not have the timers of its parent.
static void forked(void) {
	struct itimerval t = {.it_value = {.tv_sec = 50}, .it_interval = {.tv_sec = 50}}, old;
	MUST(setitimer(ITIMER_PROF, &t, NULL));
	IN_CHILD("a child") {
		CALL(getitimer(ITIMER_PROF, &old), "getitimer");
		say("%ld %ld", (long)old.it_value.tv_sec, (long)old.it_interval.tv_sec);
	}
	CALL(getitimer(ITIMER_PROF, &old), "getitimer");
	IS(old.it_value.tv_sec >= 49 && old.it_interval.tv_sec == 50, "the parent still has it");
	t = (struct itimerval){0};
	MUST(setitimer(ITIMER_PROF, &t, NULL));
}

static void errors(void) {
	struct itimerval t = {.it_value = {.tv_usec = 1000000}}, old;
	CALL(setitimer(ITIMER_PROF, &t, NULL), "too many microseconds");
	t.it_value.tv_usec = -1;
	CALL(setitimer(ITIMER_VIRTUAL, &t, NULL), "below 0");
	CALL(syscall(SYS_setitimer, 3, &t, NULL), "setitimer 3");
	CALL(syscall(SYS_getitimer, 3, &old), "getitimer 3");
	CALL(syscall(SYS_setitimer, ITIMER_PROF, 8L, NULL), "a bad address");
	CALL(syscall(SYS_getitimer, ITIMER_PROF, 8L), "a bad address");
	timer_t id;
	CALL(timer_create(-(100000 << 3) | 2, NULL, &id), "the clock of no process");
}

static void posix(void) {
	clockid_t clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
	for (unsigned i = 0; i < COUNT(clocks); i++) {
		struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 7};
		struct itimerspec t = {.it_value = {.tv_nsec = 20000000}}, left;
		timer_t id;
		listen_to(SIGUSR1);
		CALL(timer_create(clocks[i], &e, &id), "timer_create");
		CALL(timer_settime(id, 0, &t, NULL), "timer_settime");
		CALL(timer_gettime(id, &left), "timer_gettime");
		IS(left.it_value.tv_nsec > 0 && left.it_value.tv_nsec < 100000000, "some is left");
		while (!rung) {}
		say("%s, code %d", signal_name(number), code);
		CALL(timer_gettime(id, &left), "timer_gettime");
		IS(left.it_value.tv_nsec == 0, "nothing is left");
		struct timespec now;
		clock_gettime(clocks[i], &now);
		t.it_value = now, t.it_value.tv_nsec += 5000000;
		if (t.it_value.tv_nsec >= 1000000000) t.it_value.tv_sec++, t.it_value.tv_nsec -= 1000000000;
		t.it_interval.tv_nsec = 5000000;
		rung = 0;
		CALL(timer_settime(id, TIMER_ABSTIME, &t, NULL), "at a time, and again");
		while (rung < 3) {}
		CALL(timer_delete(id), "timer_delete");
	}
}

static void children(void) {
	struct rusage before, after;
	getrusage(RUSAGE_CHILDREN, &before);
	IN_CHILD("a child that works") {
		listen_to(SIGPROF);
		struct itimerval t = {.it_value = {.tv_usec = 50000}};
		setitimer(ITIMER_PROF, &t, NULL);
		while (!rung) {}
	}
	getrusage(RUSAGE_CHILDREN, &after);
	long us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 + after.ru_utime.tv_usec - before.ru_utime.tv_usec +
		(after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 + after.ru_stime.tv_usec - before.ru_stime.tv_usec;
	IS(us > 0, "its time is its parent's");
}

CASES(C(once), C(again), C(sleeping), C(calls), C(death), C(forked), C(errors), C(posix), C(children))
