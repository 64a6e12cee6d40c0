// Loops without a system call that wait for another thread and count nothing. They are cut at a fixed point of
// their circle, so the run repeats, and says so.
#include "../leaks/leak.h"
#include <stdatomic.h>

static atomic_int turn, sum;

static void *player(void *arg) {
	int me = (int)(long)arg;
	for (int round = 0; round < 3; round++) {
		while (atomic_load(&turn) % 3 != me) __builtin_ia32_pause();
		show("turn %d of %d\n", atomic_load(&turn), me);
		atomic_fetch_add(&turn, 1);
	}
	return NULL;
}

static void *locker(void *arg) {
	static atomic_flag lock = ATOMIC_FLAG_INIT;
	while (atomic_flag_test_and_set(&lock)) {}
	if (atomic_fetch_add(&sum, 1) == 0) sched_yield(); // lets others run into the lock
	atomic_flag_clear(&lock);
	return NULL;
}

int main(void) {
	pthread_t t[6];
	for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, player, (void *)i);
	for (int i = 3; i < 6; i++) pthread_create(&t[i], NULL, locker, NULL);
	for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
	show("locked %d times\n", atomic_load(&sum));
	return 0;
}
