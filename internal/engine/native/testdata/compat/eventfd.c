// eventfd: counter and semaphore, overflow, blocking, sizes.
#include "compat.h"
#include <sys/eventfd.h>

static uint64_t value;
static long get(int fd) {
	value = 12345;
	return read(fd, &value, 8);
}
static long put(int fd, uint64_t v) { return write(fd, &v, 8); }

static void counter(void) {
	int fd = OK(eventfd(0, EFD_NONBLOCK), "eventfd");
	CALL(get(fd), "read 0");
	POLL(fd, "at 0");
	CALL(put(fd, 3), "write 3");
	CALL(put(fd, 4), "write 4");
	POLL(fd, "at 7");
	CALL(get(fd), "read");
	say("value %lu", value);
	CALL(get(fd), "read again");
	CALL(put(fd, 0), "write 0");
	POLL(fd, "after writing 0");
	close(fd);
	fd = MUST(eventfd(5, EFD_NONBLOCK));
	CALL(get(fd), "read the initial value");
	say("value %lu", value);
	close(fd);
}

static void semaphore(void) {
	int fd = MUST(eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE));
	for (int i = 0; i < 3; i++) {
		CALL(get(fd), "read %d", i);
		if (i < 2) say("value %lu", value);
	}
	CALL(put(fd, 2), "write 2");
	POLL(fd, "at 2");
	CALL(get(fd), "read");
	POLL(fd, "at 1");
	close(fd);
}

static void overflow(void) {
	int fd = MUST(eventfd(0, EFD_NONBLOCK));
	CALL(put(fd, UINT64_MAX), "write 2^64-1");
	CALL(put(fd, UINT64_MAX - 1), "write 2^64-2");
	POLL(fd, "at the largest value");
	CALL(put(fd, 1), "write 1 more");
	CALL(put(fd, 0), "write 0");
	CALL(get(fd), "read");
	IS(value == UINT64_MAX - 1, "all of it");
	CALL(put(fd, UINT64_MAX - 2), "write 2^64-3");
	POLL(fd, "one below the largest value");
	CALL(put(fd, 2), "write 2 more");
	CALL(put(fd, 1), "write 1 more");
	close(fd);
}

static void sizes(void) {
	int fd = MUST(eventfd(1, EFD_NONBLOCK));
	char b[16] = {1};
	CALL(read(fd, b, 7), "read 7 bytes");
	CALL(read(fd, b, 16), "read 16 bytes");
	CALL(write(fd, b, 4), "write 4 bytes");
	CALL(write(fd, NULL, 8), "write from a bad address");
	CALL(put(fd, 1), "write");
	CALL(read(fd, NULL, 8), "read to a bad address");
	CALL(pread(fd, b, 8, 0), "pread");
	struct iovec v[2] = {{b, 4}, {b + 8, 8}};
	CALL(put(fd, 1), "write");
	CALL(readv(fd, v, 2), "readv of 4 and 8 bytes");
	close(fd);
	CALL(eventfd(0, 0x40), "eventfd with a bad flag");
	OK(syscall(SYS_eventfd, 7), "the old eventfd call");
}

static void *put_later(void *arg) {
	nap(30);
	return (void *)put((int)(intptr_t)arg, 6);
}
static void *get_later(void *arg) {
	uint64_t v;
	nap(30);
	return (void *)read((int)(intptr_t)arg, &v, 8);
}

static void blocking(void) {
	pthread_t t;
	int fd = MUST(eventfd(0, EFD_CLOEXEC));
	IS(fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	pthread_create(&t, NULL, put_later, (void *)(intptr_t)fd);
	CALL(get(fd), "read that waits");
	say("value %lu", value);
	pthread_join(t, NULL);
	CALL(put(fd, UINT64_MAX - 1), "fill");
	pthread_create(&t, NULL, get_later, (void *)(intptr_t)fd);
	CALL(put(fd, 11), "write that waits");
	pthread_join(t, NULL);
	CALL(get(fd), "read");
	say("value %lu", value);
	close(fd);
}

static void shared(void) {
	int fd = MUST(eventfd(0, 0));
	IN_CHILD("child") {
		nap(10);
		put(fd, 21);
	} else {
		CALL(get(fd), "read what a child writes");
		say("value %lu", value);
	}
	close(fd);
}

CASES(C(counter), C(semaphore), C(overflow), C(sizes), C(blocking), C(shared))
