// One thread never makes a system call, and the main thread waits for it.
// want: reason=finished
// want: reproducible=false
#include <pthread.h>

static void *spin(void *arg) {
	for (volatile unsigned long i = 0;; i++) {}
	return arg;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, NULL, spin, 0);
	pthread_join(t, 0);
	return 0;
}
