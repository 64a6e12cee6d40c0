// Leak: a loop without a system call that waits for another thread. Nobody can cut it at the same point twice: when it
// is cut, the run must say that it is not reproducible.
#include "leak.h"

static volatile int go;
static volatile unsigned long turns;
static void *releaser(void *arg) {
	go = 1;
	return NULL;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, NULL, releaser, NULL);
	while (!go) turns++;
	show("turns %lu\n", turns);
	pthread_join(t, NULL);
	return 0;
}
