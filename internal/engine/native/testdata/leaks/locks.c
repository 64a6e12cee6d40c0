// Leak: who gets a lock next. Four threads take turns on one mutex and note the order.
#include "leak.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char order[401];
static int n;
static void *taker(void *arg) {
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		order[n++] = 'a' + (int)(intptr_t)arg;
		if (i % 7 == 0) usleep(1);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void) {
	pthread_t t[4];
	for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, taker, (void *)i);
	for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
	show("%s\n", order);
	return 0;
}
