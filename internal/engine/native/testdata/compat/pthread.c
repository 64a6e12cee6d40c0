// What libc builds on futexes: mutexes of all kinds, conditions, barriers, rwlocks, robust mutexes, cancellation.
#include "compat.h"
#include <semaphore.h>

static struct timespec in_ms(clockid_t clock, int n) {
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_nsec += n * 1000000L;
	t.tv_sec += t.tv_nsec / 1000000000, t.tv_nsec %= 1000000000;
	return t;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static void *count(void *arg) {
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
		if (i % 100 == 0) sched_yield();
	}
	return arg;
}

static void mutex(void) {
	pthread_t t[4];
	void *got;
	for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, count, (void *)i);
	for (long i = 0; i < 4; i++) {
		CODE(pthread_join(t[i], &got), "join %ld", i);
		IS((long)got == i, "its result");
	}
	say("counted: %ld", counter);
	CODE(pthread_mutex_lock(&lock), "lock");
	CODE(pthread_mutex_trylock(&lock), "try a locked one");
	struct timespec t20 = in_ms(CLOCK_REALTIME, 20);
	int64_t start = now_ms();
	CODE(pthread_mutex_timedlock(&lock, &t20), "timed lock");
	IS(now_ms() - start >= 18, "waited 20 ms");
	CODE(pthread_mutex_unlock(&lock), "unlock");
}

static void kinds(void) {
	static const struct { int kind; const char *name; } k[] = {{PTHREAD_MUTEX_RECURSIVE, "recursive"}, {PTHREAD_MUTEX_ERRORCHECK, "errorcheck"}};
	for (int pi = 0; pi < 2; pi++)
		for (unsigned i = 0; i < COUNT(k); i++) {
			pthread_mutex_t m;
			pthread_mutexattr_t a;
			pthread_mutexattr_init(&a);
			pthread_mutexattr_settype(&a, k[i].kind);
			if (pi) pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
			CODE(pthread_mutex_init(&m, &a), "%s%s", k[i].name, pi ? " with inheritance" : "");
			CODE(pthread_mutex_unlock(&m), "unlock unlocked");
			CODE(pthread_mutex_lock(&m), "lock");
			CODE(pthread_mutex_lock(&m), "lock again");
			CODE(pthread_mutex_unlock(&m), "unlock");
			CODE(pthread_mutex_unlock(&m), "unlock again");
			CODE(pthread_mutex_destroy(&m), "destroy");
		}
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int queue, stop, taken;
static void *take(void *arg) {
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!queue && !stop) pthread_cond_wait(&cond, &lock);
		if (!queue) break;
		queue--, taken++;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void condition(void) {
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, take, NULL);
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		queue++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	say("taken: %d", taken);
	for (int mono = 0; mono < 2; mono++) {
		pthread_cond_t c;
		pthread_condattr_t a;
		pthread_condattr_init(&a);
		clockid_t clock = mono ? CLOCK_MONOTONIC : CLOCK_REALTIME;
		pthread_condattr_setclock(&a, clock);
		pthread_cond_init(&c, &a);
		struct timespec until = in_ms(clock, 20);
		pthread_mutex_lock(&lock);
		CODE(pthread_cond_timedwait(&c, &lock, &until), "timed wait, clock %d", mono);
		CODE(pthread_cond_timedwait(&c, &lock, &until), "in the past");
		pthread_mutex_unlock(&lock);
	}
}

static pthread_barrier_t barrier;
static void *meet(void *arg) {
	long serial = 0;
	for (int i = 0; i < 5; i++) serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
	return (void *)serial;
}

static void barriers(void) {
	pthread_t t[3];
	long serial = 0;
	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, meet, NULL);
	for (int i = 0; i < 3; i++) {
		void *got;
		pthread_join(t[i], &got);
		serial += (long)got;
	}
	say("last ones: %ld", serial);
	sem_t s;
	sem_init(&s, 0, 1);
	CALL(sem_wait(&s), "semaphore: wait");
	CALL(sem_trywait(&s), "try");
	struct timespec until = in_ms(CLOCK_REALTIME, 20);
	CALL(sem_timedwait(&s, &until), "timed wait");
	CALL(sem_post(&s), "post");
	int v;
	sem_getvalue(&s, &v);
	say("value: %d", v);
}

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static void *read_locked(void *arg) { return (void *)(long)pthread_rwlock_tryrdlock(&rw); }
static void *write_locked(void *arg) { return (void *)(long)pthread_rwlock_trywrlock(&rw); }
static void *write_waiting(void *arg) {
	pthread_rwlock_wrlock(&rw);
	*(int *)arg = 1;
	pthread_rwlock_unlock(&rw);
	return NULL;
}
static void in_thread(void *(*f)(void *), const char *label) {
	pthread_t t;
	void *got;
	pthread_create(&t, NULL, f, NULL);
	pthread_join(t, &got);
	say("%s: %s", label, errno_name((long)got));
}

static void rwlock(void) {
	CODE(pthread_rwlock_rdlock(&rw), "read lock");
	in_thread(read_locked, "another reader");
	in_thread(write_locked, "a writer beside readers");
	CODE(pthread_rwlock_unlock(&rw), "unlock");
	pthread_rwlock_unlock(&rw);
	CODE(pthread_rwlock_wrlock(&rw), "write lock");
	in_thread(read_locked, "a reader beside a writer");
	CODE(pthread_rwlock_rdlock(&rw), "read lock by the writer itself");
	pthread_t t;
	int done = 0;
	pthread_create(&t, NULL, write_waiting, &done);
	nap(20);
	IS(!done, "the second writer waits");
	pthread_rwlock_unlock(&rw);
	pthread_join(t, NULL);
	IS(done, "the second writer had it");
}

static pthread_mutex_t *shared_mutex(int robust, int pi) {
	pthread_mutex_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	if (pi) pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(m, &a);
	return m;
}
static void *lock_and_end(void *arg) { return (void *)(long)pthread_mutex_lock(arg); }

static void robust(void) {
	for (int pi = 0; pi < 2; pi++) {
		pthread_mutex_t *m = shared_mutex(1, pi);
		pthread_t t;
		pthread_create(&t, NULL, lock_and_end, m);
		pthread_join(t, NULL);
		CODE(pthread_mutex_trylock(m), "its thread ended with it");
		CODE(pthread_mutex_consistent(m), "consistent");
		CODE(pthread_mutex_unlock(m), "unlock");
		IN_CHILD("child that dies with it") {
			pthread_mutex_lock(m);
			raise(SIGKILL);
		}
		CODE(pthread_mutex_lock(m), "lock after its process was killed");
		CODE(pthread_mutex_unlock(m), "unlock without making it consistent");
		CODE(pthread_mutex_lock(m), "lock for ever after");
		m = shared_mutex(1, pi);
		int p[2];
		MUST(pipe(p));
		pid_t child = fork();
		if (child == 0) {
			pthread_mutex_lock(m);
			MUST(write(p[1], "x", 1));
			nap(40);
			_exit(0);
		}
		char c;
		MUST(read(p[0], &c, 1));
		CODE(pthread_mutex_lock(m), "wait for one whose process exits meanwhile");
		reap(child, "child");
	}
}

static void processes(void) {
	pthread_mutex_t *m = shared_mutex(0, 0);
	long *n = (long *)(m + 1);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			for (int k = 0; k < 500; k++) {
				pthread_mutex_lock(m);
				++*n;
				if (k % 50 == 0) sched_yield();
				pthread_mutex_unlock(m);
			}
			_exit(0);
		}
	while (wait(NULL) > 0) {}
	say("counted by three processes: %ld", *n);
}

static int cleaned;
static void clean(void *arg) { cleaned += (int)(long)arg; }
static void *cancelled(void *arg) {
	int p[2];
	char c;
	MUST(pipe(p));
	pthread_cleanup_push(clean, (void *)5L);
	if (arg) nap(5000);
	else MUST(read(p[0], &c, 1));
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel(void) {
	pthread_t t;
	void *got;
	for (long i = 0; i < 2; i++) {
		pthread_create(&t, NULL, cancelled, (void *)i);
		nap(20);
		CODE(pthread_cancel(t), "cancel a thread in %s", i ? "a sleep" : "a read");
		CODE(pthread_join(t, &got), "join");
		IS(got == PTHREAD_CANCELED, "it was cancelled");
		say("cleaned: %d", cleaned);
	}
}

static pthread_key_t key;
static void destroy(void *value) { say("destructor: %s", (char *)value); }
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void first(void) { say("only once"); }
static void *with_key(void *arg) {
	pthread_once(&once, first);
	pthread_setspecific(key, "value of the thread");
	pthread_exit((void *)9L);
}
static void *detached(void *arg) {
	sem_post(arg);
	return NULL;
}

static void ends(void) {
	pthread_t t;
	void *got;
	pthread_key_create(&key, destroy);
	for (int i = 0; i < 2; i++) {
		pthread_create(&t, NULL, with_key, NULL);
		CODE(pthread_join(t, &got), "join");
		say("result: %ld", (long)got);
	}
	CODE(pthread_join(pthread_self(), NULL), "join itself");
	sem_t s;
	sem_init(&s, 0, 0);
	pthread_create(&t, NULL, detached, &s);
	CODE(pthread_detach(t), "detach");
	CALL(sem_wait(&s), "the detached ran");
	for (int i = 0; i < 50; i++) {
		pthread_create(&t, NULL, detached, &s);
		pthread_join(t, NULL);
	}
	int v;
	sem_getvalue(&s, &v);
	say("fifty threads one after the other: %d", v);
}

CASES(C(mutex), C(kinds), C(condition), C(barriers), C(rwlock), C(robust), C(processes), C(cancel), C(ends))
