// setitimer, alarm and timer_create.
#include "compat.h"

static volatile int count, last_code, last_value, last_overrun;
static void on_alarm(int signo) { count++; }
static void with_info(int signo, siginfo_t *i, void *c) {
	count++;
	last_code = i->si_code, last_value = i->si_value.sival_int, last_overrun = i->si_overrun;
}
static void until(int n) {
	for (int i = 0; i < 400 && count < n; i++) nap(5);
}
static struct itimerval it(int value_ms, int interval_ms) {
	struct itimerval t = {{interval_ms / 1000, interval_ms % 1000 * 1000}, {value_ms / 1000, value_ms % 1000 * 1000}};
	return t;
}
static int zero(struct itimerval *t) { return !t->it_value.tv_sec && !t->it_value.tv_usec && !t->it_interval.tv_sec && !t->it_interval.tv_usec; }

static void real(void) {
	struct itimerval t = it(20, 0), old;
	signal(SIGALRM, on_alarm);
	CALL(getitimer(ITIMER_REAL, &old), "getitimer");
	IS(zero(&old), "not set");
	int64_t start = now_ms();
	CALL(setitimer(ITIMER_REAL, &t, NULL), "setitimer 20 ms");
	until(1);
	IS(now_ms() - start >= 20, "it comes");
	getitimer(ITIMER_REAL, &old);
	IS(zero(&old), "it is over");
	count = 0;
	t = it(10, 10);
	setitimer(ITIMER_REAL, &t, NULL);
	until(3);
	IS(count >= 3, "every 10 ms");
	t = it(0, 0);
	CALL(setitimer(ITIMER_REAL, &t, &old), "stop");
	say("interval was %ld us", (long)old.it_interval.tv_usec);
	count = 0;
	nap(30);
	say("after the stop: %d", count);
	t = it(5000, 7000);
	setitimer(ITIMER_REAL, &t, NULL);
	getitimer(ITIMER_REAL, &old);
	IS((old.it_value.tv_sec == 4 || old.it_value.tv_sec == 5) && old.it_interval.tv_sec == 7, "what is left");
	t = it(0, 0);
	setitimer(ITIMER_REAL, &t, NULL);
	CALL(setitimer(99, &t, NULL), "no such timer");
	CALL(getitimer(99, &t), "no such timer");
	t.it_value.tv_usec = 1000000;
	CALL(setitimer(ITIMER_REAL, &t, NULL), "too many microseconds");
	t.it_value.tv_usec = 0, t.it_value.tv_sec = -1;
	CALL(setitimer(ITIMER_REAL, &t, NULL), "negative");
	CALL(getitimer(ITIMER_REAL, (void *)8), "a bad address");
}

static void alarms(void) {
	signal(SIGALRM, on_alarm);
	CALL(alarm(100), "alarm 100");
	IS(alarm(50) >= 99, "what was left");
	struct itimerval t;
	getitimer(ITIMER_REAL, &t);
	IS(t.it_value.tv_sec >= 49, "it is the same timer as setitimer's");
	IS(alarm(0) >= 49, "alarm 0");
	CALL(alarm(0), "none is left");
	t = it(300, 0);
	setitimer(ITIMER_REAL, &t, NULL);
	CALL(alarm(0), "300 ms left are said to be a second");
	t = it(20, 0);
	setitimer(ITIMER_REAL, &t, NULL);
	CALL(pause(), "pause");
	IN_CHILD("alarm without a handler") {
		signal(SIGALRM, SIG_DFL);
		ualarm(10000, 0);
		for (;;) pause();
	}
}

static timer_t make(int notify, int signo, clockid_t clock) {
	timer_t t;
	struct sigevent e = {.sigev_notify = notify, .sigev_signo = signo, .sigev_value.sival_int = 42};
	OK(timer_create(clock, &e, &t), "timer_create");
	return t;
}
static void arm(timer_t t, int value_ms, int interval_ms, int flags) {
	struct itimerspec s = {{0, interval_ms * 1000000L}, {0, value_ms * 1000000L}};
	CALL(timer_settime(t, flags, &s, NULL), "settime %d %d", value_ms, interval_ms);
}

static void posix(void) {
	struct sigaction a = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
	struct itimerspec s, old;
	sigaction(SIGUSR1, &a, NULL);
	timer_t t = make(SIGEV_SIGNAL, SIGUSR1, CLOCK_MONOTONIC);
	CALL(timer_gettime(t, &s), "gettime");
	IS(!s.it_value.tv_sec && !s.it_value.tv_nsec, "not set");
	count = 0;
	arm(t, 20, 0, 0);
	until(1);
	IS(count == 1 && last_code == SI_TIMER && last_value == 42, "it comes, with its value");
	CALL(timer_getoverrun(t), "overrun");
	arm(t, 5, 5, 0);
	until(4);
	IS(count >= 4, "every 5 ms");
	memset(&s, 0, sizeof s);
	CALL(timer_settime(t, 0, &s, &old), "stop");
	say("interval was %ld ns", old.it_interval.tv_nsec);
	clock_gettime(CLOCK_MONOTONIC, &s.it_value);
	s.it_value.tv_nsec += 10000000;
	if (s.it_value.tv_nsec >= 1000000000) s.it_value.tv_sec++, s.it_value.tv_nsec -= 1000000000;
	count = 0;
	CALL(timer_settime(t, TIMER_ABSTIME, &s, NULL), "absolute");
	until(1);
	say("came: %d", count);
	s.it_value.tv_sec -= 10;
	CALL(timer_settime(t, TIMER_ABSTIME, &s, NULL), "in the past");
	until(2);
	say("came: %d", count);
	s.it_value.tv_nsec = 1000000000;
	CALL(timer_settime(t, 0, &s, NULL), "too many nanoseconds");
	CALL(timer_delete(t), "delete");
	CALL(syscall(SYS_timer_gettime, 0x7fffff, &s), "gettime of no timer");
	CALL(syscall(SYS_timer_delete, 0x7fffff), "delete no timer");
	CALL(syscall(SYS_timer_settime, 0x7fffff, 0, &old, NULL), "settime of no timer");
}

static void overruns(void) {
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	sigprocmask(SIG_BLOCK, &s, NULL);
	timer_t t = make(SIGEV_SIGNAL, SIGUSR2, CLOCK_MONOTONIC);
	arm(t, 5, 5, 0);
	nap(60);
	siginfo_t i;
	struct timespec zero = {0, 0};
	IS(sigtimedwait(&s, &i, &zero) == SIGUSR2, "one signal is pending");
	IS(i.si_code == SI_TIMER && i.si_overrun >= 9, "it stands for at least 10 expirations");
	IS(timer_getoverrun(t) == i.si_overrun, "getoverrun says the same");
	nap(10);
	IS(sigtimedwait(&s, &i, NULL) == SIGUSR2, "the next one");
	timer_delete(t);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static volatile pid_t hit;
static void on_thread(int signo) { hit = syscall(SYS_gettid), count++; }
static void *timed(void *arg) {
	timer_t t;
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	e._sigev_un._tid = syscall(SYS_gettid);
	OK(timer_create(CLOCK_MONOTONIC, &e, &t), "timer for a thread");
	struct itimerspec s = {{0, 0}, {0, 10000000}};
	timer_settime(t, 0, &s, NULL);
	until(1);
	IS(hit == e._sigev_un._tid && hit != getpid(), "the thread got it");
	timer_delete(t);
	return NULL;
}
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void by_thread(union sigval v) {
	pthread_mutex_lock(&lock);
	last_value = v.sival_int, count++;
	pthread_mutex_unlock(&lock);
}

static void threads(void) {
	signal(SIGUSR1, on_thread);
	pthread_t th;
	count = 0;
	pthread_create(&th, NULL, timed, NULL);
	pthread_join(th, NULL);
	timer_t t;
	struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = by_thread, .sigev_value.sival_int = 7};
	count = 0;
	OK(timer_create(CLOCK_REALTIME, &e, &t), "timer that starts a thread");
	struct itimerspec s = {{0, 0}, {0, 10000000}};
	timer_settime(t, 0, &s, NULL);
	until(1);
	say("value %d, came %d", last_value, count);
	timer_delete(t);
	e.sigev_notify = SIGEV_NONE;
	OK(timer_create(CLOCK_MONOTONIC, &e, &t), "timer that tells nobody");
	s.it_value.tv_nsec = 5000000;
	timer_settime(t, 0, &s, NULL);
	timer_gettime(t, &s);
	IS(s.it_value.tv_nsec > 0, "it runs");
	nap(10);
	timer_gettime(t, &s);
	IS(s.it_value.tv_nsec == 0, "it is over");
	timer_delete(t);
	OK(timer_create(CLOCK_MONOTONIC, NULL, &t), "timer with SIGALRM");
	signal(SIGALRM, on_alarm);
	count = 0;
	s.it_value.tv_nsec = 5000000;
	timer_settime(t, 0, &s, NULL);
	until(1);
	say("came: %d", count);
	timer_delete(t);
	e.sigev_notify = 99;
	CALL(timer_create(CLOCK_MONOTONIC, &e, &t), "a bad way of notice");
	e.sigev_notify = SIGEV_SIGNAL, e.sigev_signo = 99;
	CALL(timer_create(CLOCK_MONOTONIC, &e, &t), "a bad signal");
	e.sigev_signo = SIGUSR1;
	CALL(timer_create(99, &e, &t), "a bad clock");
	e.sigev_notify = SIGEV_THREAD_ID, e._sigev_un._tid = 0x3ffffff;
	CALL(timer_create(CLOCK_MONOTONIC, &e, &t), "a thread that does not exist");
}

static void children(void) {
	signal(SIGUSR1, on_alarm);
	timer_t t = make(SIGEV_SIGNAL, SIGUSR1, CLOCK_MONOTONIC);
	arm(t, 500, 0, 0);
	IN_CHILD("timers are not inherited") {
		struct itimerspec s;
		_exit(timer_gettime(t, &s) < 0 && errno == EINVAL ? 3 : 4);
	}
	timer_delete(t);
}

CASES(C(real), C(alarms), C(posix), C(overruns), C(threads), C(children))
