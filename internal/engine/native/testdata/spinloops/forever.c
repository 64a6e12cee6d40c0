// Waits for what never comes, without a system call, while another thread works.
#include "../leaks/leak.h"

static void *worker(void *arg) {
	for (int i = 0; i < 3; i++) {
		usleep(1000);
		show("work %d\n", i);
	}
	return NULL;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, NULL, worker, NULL);
	for (;;) {}
}
