// Leak: the order in which threads run. Four of them write into one pipe, and the reader shows what came.
#include "leak.h"

static int p[2];
static pthread_barrier_t start;
static void *writer(void *arg) {
	char c = 'a' + (int)(intptr_t)arg;
	pthread_barrier_wait(&start);
	for (int i = 0; i < 100; i++) {
		if (write(p[1], &c, 1) != 1) _exit(1);
		if (i % 10 == 0) sched_yield();
	}
	return NULL;
}

int main(void) {
	pthread_t t[4];
	char b[401];
	if (pipe(p)) return 1;
	pthread_barrier_init(&start, NULL, 4);
	for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, writer, (void *)i);
	for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
	close(p[1]);
	int n = 0;
	for (int r; (r = read(p[0], b + n, 400 - n)) > 0;) n += r;
	b[n] = 0;
	show("%s\n", b);
	return 0;
}
