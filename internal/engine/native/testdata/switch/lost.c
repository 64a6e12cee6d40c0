#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int counter;
static void *work(void *x) {
	for (int i = 0; i < 100; i++) {
		int v = counter;
		counter = v + 1;
	}
	return 0;
}
int main(void) {
	pthread_t a, b;
	pthread_create(&a, 0, work, 0);
	pthread_create(&b, 0, work, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	if (counter != 200) abort();
	printf("ok\n"); fflush(stdout); pause();
	return 0;
}
