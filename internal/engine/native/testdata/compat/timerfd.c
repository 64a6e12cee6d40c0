// timerfd: relative and absolute, intervals, cancel, poll, gettime.
#include "compat.h"
#include <sys/timerfd.h>

static struct itimerspec spec(int value_ms, int interval_ms) {
	struct itimerspec s = {{interval_ms / 1000, interval_ms % 1000 * 1000000L}, {value_ms / 1000, value_ms % 1000 * 1000000L}};
	return s;
}
static long set(int fd, int flags, int value_ms, int interval_ms) {
	struct itimerspec s = spec(value_ms, interval_ms);
	return timerfd_settime(fd, flags, &s, NULL);
}
static uint64_t value;
static long get(int fd) {
	value = 0;
	return read(fd, &value, 8);
}

static void once(void) {
	int fd = OK(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd_create");
	CALL(get(fd), "read, not armed");
	POLL(fd, "not armed");
	int64_t start = now_ms();
	CALL(set(fd, 0, 30, 0), "arm 30 ms");
	CALL(get(fd), "read, armed");
	IS(ready(fd, POLLIN, 2000) == POLLIN, "poll says readable");
	IS(now_ms() - start >= 29, "at least 30 ms later");
	CALL(get(fd), "read");
	say("expirations: %lu", value);
	CALL(get(fd), "read again");
	struct itimerspec s = {{9, 9}, {9, 9}};
	CALL(timerfd_gettime(fd, &s), "gettime");
	IS(!s.it_value.tv_sec && !s.it_value.tv_nsec && !s.it_interval.tv_sec && !s.it_interval.tv_nsec, "disarmed");
	close(fd);
}

static void blocking(void) {
	int fd = MUST(timerfd_create(CLOCK_REALTIME, 0));
	int64_t start = now_ms();
	set(fd, 0, 25, 0);
	CALL(get(fd), "read that waits");
	say("expirations: %lu", value);
	IS(now_ms() - start >= 24, "at least 25 ms later");
	close(fd);
}

static void interval(void) {
	int fd = MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	set(fd, 0, 10, 20);
	struct itimerspec s;
	timerfd_gettime(fd, &s);
	say("interval: %ld ms", s.it_interval.tv_nsec / 1000000);
	nap(55);
	CALL(get(fd), "read after 55 ms");
	IS(value >= 3, "at least 3 expirations");
	CALL(get(fd), "read the next");
	IS(value >= 1, "at least 1 expiration");
	timerfd_gettime(fd, &s);
	IS(s.it_value.tv_sec == 0 && s.it_value.tv_nsec > 0 && s.it_value.tv_nsec <= 20000000, "the next is at most 20 ms away");
	close(fd);
}

static void absolute(void) {
	int fd = MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	struct itimerspec s = {0};
	clock_gettime(CLOCK_MONOTONIC, &s.it_value);
	s.it_value.tv_sec -= 1;
	s.it_interval.tv_sec = 10;
	CALL(timerfd_settime(fd, TFD_TIMER_ABSTIME, &s, NULL), "arm in the past, every 10 s");
	POLL(fd, "at once");
	CALL(get(fd), "read");
	say("expirations: %lu", value);
	s.it_value.tv_sec -= 25;
	CALL(timerfd_settime(fd, TFD_TIMER_ABSTIME, &s, NULL), "arm further in the past");
	CALL(get(fd), "read");
	say("expirations: %lu", value);
	clock_gettime(CLOCK_MONOTONIC, &s.it_value);
	s.it_value.tv_nsec += 30000000;
	if (s.it_value.tv_nsec >= 1000000000) s.it_value.tv_sec++, s.it_value.tv_nsec -= 1000000000;
	s.it_interval.tv_sec = 0;
	CALL(timerfd_settime(fd, TFD_TIMER_ABSTIME, &s, NULL), "arm 30 ms ahead");
	IS(ready(fd, POLLIN, 2000), "it comes");
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	IS(now.tv_sec > s.it_value.tv_sec || (now.tv_sec == s.it_value.tv_sec && now.tv_nsec >= s.it_value.tv_nsec), "not early");
	close(fd);
}

static void cancel(void) {
	int fd = MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	set(fd, 0, 10000, 5000);
	struct itimerspec off = {0}, old;
	CALL(timerfd_settime(fd, 0, &off, &old), "disarm");
	IS(old.it_value.tv_sec >= 9 && old.it_interval.tv_sec == 5, "the old setting comes back");
	nap(5);
	CALL(get(fd), "read");
	set(fd, 0, 1, 0);
	nap(10);
	POLL(fd, "expired, unread");
	set(fd, 0, 10000, 0);
	POLL(fd, "armed anew");
	CALL(get(fd), "read");
	set(fd, 0, 1, 0);
	nap(10);
	CALL(timerfd_settime(fd, 0, &off, &old), "disarm what has expired");
	CALL(get(fd), "read");
	struct itimerspec none = {{0, 5000000}, {0, 0}};
	CALL(timerfd_settime(fd, 0, &none, NULL), "an interval and no value");
	nap(15);
	CALL(get(fd), "read");
	close(fd);
}

static void bad(void) {
	struct itimerspec s = spec(10, 0);
	char b[16];
	CALL(timerfd_create(99, 0), "a clock that does not exist");
	CALL(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0), "CPU time");
	CALL(timerfd_create(CLOCK_MONOTONIC, 0x40), "a bad flag");
	OK(timerfd_create(CLOCK_BOOTTIME, 0), "boot time");
	int fd = MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	IS(fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	CALL(timerfd_settime(fd, 0x40, &s, NULL), "settime with a bad flag");
	s.it_value.tv_nsec = 1000000000;
	CALL(timerfd_settime(fd, 0, &s, NULL), "too many nanoseconds");
	s.it_value.tv_nsec = -1;
	CALL(timerfd_settime(fd, 0, &s, NULL), "negative nanoseconds");
	s.it_value.tv_nsec = 0, s.it_value.tv_sec = -1;
	CALL(timerfd_settime(fd, 0, &s, NULL), "negative seconds");
	CALL(timerfd_settime(fd, 0, NULL, NULL), "settime from a bad address");
	CALL(timerfd_gettime(fd, NULL), "gettime to a bad address");
	CALL(timerfd_gettime(CLOSED_FD, &s), "gettime of a closed descriptor");
	CALL(timerfd_gettime(0, &s), "gettime of something else");
	s = spec(1, 0);
	timerfd_settime(fd, 0, &s, NULL);
	nap(5);
	CALL(read(fd, b, 7), "read 7 bytes");
	CALL(write(fd, b, 8), "write");
	CALL(read(fd, b, 16), "read 16 bytes");
	close(fd);
}

static void dups(void) {
	int fd = MUST(timerfd_create(CLOCK_MONOTONIC, 0)), d = MUST(dup(fd));
	set(fd, 0, 15, 0);
	close(fd);
	CALL(get(d), "read from the dup");
	set(d, 0, 20, 0);
	IN_CHILD("child that reads the timer") if (get(d) != 8) _exit(1);
	fcntl(d, F_SETFL, O_NONBLOCK);
	CALL(get(d), "read after the child");
	close(d);
}

CASES(C(once), C(blocking), C(interval), C(absolute), C(cancel), C(bad), C(dups))
