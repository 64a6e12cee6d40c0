// The futex call itself: wait, wake, bitsets, requeue, wake-op, priority inheritance, sharing between processes.
#include "compat.h"
#include <linux/futex.h>

typedef _Atomic uint32_t word;

static long futex(word *w, int op, uint32_t value, const struct timespec *timeout, word *other, uint32_t third) {
	return syscall(SYS_futex, w, op, value, timeout, other, third);
}
static struct timespec ms(int n) { return (struct timespec){n / 1000, n % 1000 * 1000000L}; }
static struct timespec in(clockid_t clock, int n) {
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_nsec += n * 1000000L;
	t.tv_sec += t.tv_nsec / 1000000000, t.tv_nsec %= 1000000000;
	return t;
}

static word a, other;

static void values(void) {
	struct timespec t = ms(20), bad = {0, 1000000000}, past = {-1, 0};
	a = 1;
	CALL(futex(&a, FUTEX_WAIT, 2, NULL, NULL, 0), "wait for another value");
	CALL(futex(&a, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0), "the same, private");
	CALL(futex(&a, FUTEX_WAKE, 1, NULL, NULL, 0), "wake nobody");
	CALL(futex(&a, FUTEX_WAKE, 0, NULL, NULL, 0), "wake 0");
	CALL(futex((word *)((char *)&a + 1), FUTEX_WAIT, 1, NULL, NULL, 0), "wait, not aligned");
	CALL(futex((word *)((char *)&a + 1), FUTEX_WAKE, 1, NULL, NULL, 0), "wake, not aligned");
	CALL(futex((word *)8, FUTEX_WAIT, 0, NULL, NULL, 0), "wait at a bad address");
	CALL(futex((word *)8, FUTEX_WAKE, 1, NULL, NULL, 0), "wake at a bad address");
	CALL(futex((word *)8, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), "wake at a bad address, private");
	CALL(futex(&a, 99, 0, NULL, NULL, 0), "an operation that does not exist");
	CALL(futex(&a, FUTEX_WAIT, 1, &bad, NULL, 0), "too many nanoseconds");
	CALL(futex(&a, FUTEX_WAIT, 1, &past, NULL, 0), "negative time");
	CALL(futex((word *)8, FUTEX_WAIT, 1, &t, NULL, 0), "wait at a bad address, with a timeout");
	CALL(futex(&a, FUTEX_WAIT, 1, (void *)8, NULL, 0), "a timeout at a bad address");
	CALL(futex(&a, FUTEX_WAIT, 2, (void *)8, NULL, 0), "a timeout at a bad address and another value");
	CALL(futex((word *)8, FUTEX_WAIT, 1, (void *)8, NULL, 0), "both at a bad address");
	CALL(futex((word *)8, FUTEX_WAIT, 1, &bad, NULL, 0), "too many nanoseconds, and a bad address");
	CALL(futex(&a, FUTEX_WAIT_BITSET, 1, NULL, NULL, 0), "an empty bitset");
	CALL(futex(&a, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0), "an empty bitset");
	int64_t start = now_ms();
	CALL(futex(&a, FUTEX_WAIT, 1, &t, NULL, 0), "wait that times out");
	IS(now_ms() - start >= 19, "after 20 ms");
	t = in(CLOCK_MONOTONIC, 20), start = now_ms();
	CALL(futex(&a, FUTEX_WAIT_BITSET, 1, &t, NULL, FUTEX_BITSET_MATCH_ANY), "absolute, monotonic");
	IS(now_ms() - start >= 18, "after 20 ms");
	CALL(futex(&a, FUTEX_WAIT_BITSET, 1, &t, NULL, FUTEX_BITSET_MATCH_ANY), "absolute, in the past");
	t = in(CLOCK_REALTIME, 20);
	CALL(futex(&a, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 1, &t, NULL, FUTEX_BITSET_MATCH_ANY), "absolute, real time");
	t = ms(0);
	CALL(futex(&a, FUTEX_WAIT, 1, &t, NULL, 0), "timeout 0");
	CALL(futex(&a, FUTEX_WAIT, 2, &t, NULL, 0), "timeout 0 and another value");
}

struct waiter {
	pthread_t thread;
	int op, result;
	volatile pid_t tid;
	uint32_t bits;
	const struct timespec *timeout;
	word *w;
};
static void *wait_in_thread(void *arg) {
	struct waiter *x = arg;
	x->tid = syscall(SYS_gettid);
	long r = futex(x->w, x->op, *x->w, x->timeout, NULL, x->bits);
	x->result = r < 0 ? -errno : r;
	return NULL;
}
// start makes n threads wait, one after the other.
static void start(struct waiter *x, int n, int op, word *w) {
	for (int i = 0; i < n; i++) {
		x[i].op = op, x[i].w = w, x[i].timeout = NULL, x[i].tid = 0;
		pthread_create(&x[i].thread, NULL, wait_in_thread, &x[i]);
		while (x[i].tid == 0) nap(1);
		asleep(x[i].tid);
	}
}
static void join(struct waiter *x, int n, const char *label) {
	int ok = 0;
	for (int i = 0; i < n; i++) pthread_join(x[i].thread, NULL), ok += x[i].result == 0;
	say("%s: %d of %d woken", label, ok, n);
}

static void wake(void) {
	struct waiter x[4];
	start(x, 4, FUTEX_WAIT_PRIVATE, &a);
	CALL(futex(&a, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), "wake 1 of 4");
	CALL(futex(&a, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0), "wake 2");
	CALL(futex(&a, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0), "wake 100");
	join(x, 4, "waiters");
	start(x, 1, FUTEX_WAIT_PRIVATE, &a);
	CALL(futex(&a, FUTEX_WAKE, 1, NULL, NULL, 0), "a shared wake of a private waiter");
	CALL(futex(&a, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), "a private wake");
	join(x, 1, "waiter");
}

static void bitsets(void) {
	struct waiter x[3] = {{.bits = 1}, {.bits = 2}, {.bits = 6}};
	start(x, 3, FUTEX_WAIT_BITSET_PRIVATE, &a);
	CALL(futex(&a, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 8), "wake bit 8");
	CALL(futex(&a, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 4), "wake bit 4");
	CALL(futex(&a, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 6), "wake bits 2 and 4");
	CALL(futex(&a, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0), "wake any");
	join(x, 3, "waiters");
}

static void requeue(void) {
	struct waiter x[4];
	a = 5;
	start(x, 4, FUTEX_WAIT_PRIVATE, &a);
	CALL(futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)10L, &other, 6), "requeue when the value differs");
	CALL(futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)2L, &other, 5), "wake 1, requeue 2");
	CALL(futex(&other, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0), "wake the requeued");
	CALL(futex(&a, FUTEX_REQUEUE_PRIVATE, 0, (void *)9L, &other, 0), "requeue without comparing");
	CALL(futex(&a, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0), "wake at the first");
	CALL(futex(&other, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0), "wake at the second");
	join(x, 4, "waiters");
	CALL(futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)-1L, &other, 5), "requeue a negative number");
}

static void wake_op(void) {
	struct waiter x[2], y[2];
	a = 0, other = 4;
	start(x, 2, FUTEX_WAIT_PRIVATE, &a);
	start(y, 2, FUTEX_WAIT_PRIVATE, &other);
	CALL(futex(&a, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1L, &other, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 9)), "add 3, compare with 9");
	say("the second word: %u", other);
	CALL(futex(&a, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1L, &other, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 7)), "set 1, compare with 7");
	say("the second word: %u", other);
	CALL(futex(&a, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1L, &other, FUTEX_OP(FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT, 4, FUTEX_OP_CMP_LT, 2)), "or 1<<4, less than 2");
	say("the second word: %u", other);
	CALL(futex(&a, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1L, &other, FUTEX_OP(FUTEX_OP_XOR, 3, FUTEX_OP_CMP_GE, 18)), "xor 3, at least 18");
	say("the second word: %u", other);
	CALL(futex(&a, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1L, &other, FUTEX_OP(FUTEX_OP_ANDN, 2, FUTEX_OP_CMP_NE, 0)), "and not 2, not 0");
	say("the second word: %u", other);
	CALL(futex(&a, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1L, &other, 7u << 28), "an operation that does not exist");
	join(x, 2, "at the first");
	join(y, 2, "at the second");
}

static int interrupted;
static void on_signal(int signo) { interrupted = 1; }
static void *signal_later(void *arg) {
	for (int i = 0; i < 200 && !interrupted; i++) nap(10), pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}
static void signals(void) {
	pthread_t self = pthread_self(), t;
	struct sigaction act = {.sa_handler = on_signal};
	struct timespec long_time = ms(5000);
	sigaction(SIGUSR1, &act, NULL);
	a = 1;
	pthread_create(&t, NULL, signal_later, &self);
	CALL(futex(&a, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), "wait, interrupted");
	pthread_join(t, NULL);
	interrupted = 0;
	pthread_create(&t, NULL, signal_later, &self);
	CALL(futex(&a, FUTEX_WAIT_PRIVATE, 1, &long_time, NULL, 0), "wait with timeout, interrupted");
	pthread_join(t, NULL);
}

static word *shared_words(void) {
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void processes(void) {
	word *w = shared_words();
	pid_t child = fork();
	if (child == 0) {
		while (w[0] == 0)
			if (futex(w, FUTEX_WAIT, 0, NULL, NULL, 0) < 0 && errno != EAGAIN && errno != EINTR) _exit(1);
		_exit(w[0] != 42);
	}
	asleep(child);
	w[0] = 42;
	CALL(futex(w, FUTEX_WAKE, 9, NULL, NULL, 0), "wake a process");
	reap(child, "child that waits on shared memory");
	// The same page of a file at two addresses is one futex.
	int fd = MUST(open("words", O_RDWR | O_CREAT, 0600));
	MUST(ftruncate(fd, 4096));
	word *x = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *y = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	IS(x != y, "two addresses");
	struct waiter one;
	start(&one, 1, FUTEX_WAIT, x);
	CALL(futex(y, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), "a private wake at the other address");
	CALL(futex(y, FUTEX_WAKE, 1, NULL, NULL, 0), "a shared wake at the other address");
	join(&one, 1, "waiter");
	// A private page is another one in the child.
	a = 0;
	start(&one, 1, FUTEX_WAIT, &a);
	IN_CHILD("child that wakes on its own copy") if (futex(&a, FUTEX_WAKE, 1, NULL, NULL, 0) != 0) _exit(1);
	CALL(futex(&a, FUTEX_WAKE, 1, NULL, NULL, 0), "wake in the parent");
	join(&one, 1, "waiter");
	munmap(w, 4096), munmap(x, 4096), munmap(y, 4096), close(fd);
}

static volatile pid_t locker;
static void *lock_in_thread(void *arg) {
	word *w = arg;
	uint32_t tid = locker = syscall(SYS_gettid);
	long r = futex(w, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	int mine = (*w & FUTEX_TID_MASK) == tid;
	futex(w, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	return (void *)(long)(r == 0 && mine);
}

static void inheritance(void) {
	static word lock;
	uint32_t tid = syscall(SYS_gettid);
	struct timespec t;
	pthread_t x;
	void *got;
	CALL(futex(&lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0), "unlock what is not locked");
	CALL(futex(&lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0), "lock");
	IS((lock & FUTEX_TID_MASK) == tid, "the word holds the owner");
	CALL(futex(&lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0), "lock again");
	CALL(futex(&lock, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0), "try again");
	pthread_create(&x, NULL, lock_in_thread, &lock);
	while (!locker) nap(1);
	asleep(locker);
	IS(lock & FUTEX_WAITERS, "somebody waits");
	CALL(futex(&lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0), "unlock");
	pthread_join(x, &got);
	IS(got, "the waiter had it");
	say("the word: %u", lock);
	lock = 0x3ffffff0;
	CALL(futex(&lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0), "lock what nobody alive owns");
	t = in(CLOCK_REALTIME, 20);
	lock = 0;
	CALL(futex(&lock, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0), "try");
	CALL(futex(&lock, FUTEX_UNLOCK_PI_PRIVATE, 0, &t, NULL, 0), "unlock");
}

CASES(C(values), C(wake), C(bitsets), C(requeue), C(wake_op), C(signals), C(processes), C(inheritance))
