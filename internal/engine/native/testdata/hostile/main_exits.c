// The main thread ends while others live on; the process goes on until the last one ends it.
// want: reason=finished
// want: line .*the other thread is still here
// want: crash kind=exit .*exit=6
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *live(void *arg) {
	usleep(20000);
	fprintf(stderr, "the other thread is still here\n");
	exit(6);
}

int main(void) {
	pthread_t t;
	pthread_create(&t, NULL, live, NULL);
	pthread_exit(NULL);
}
