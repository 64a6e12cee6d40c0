// Starts threads without end. The limit of threads answers EAGAIN, as a limit of processes does.
// want: reason=finished
// want: line .*EAGAIN
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *idle(void *arg) {
	for (;;) pause();
	return NULL;
}

int main(void) {
	pthread_t t;
	int e;
	while ((e = pthread_create(&t, NULL, idle, NULL)) == 0) {}
	fprintf(stderr, "pthread_create: %s\n", strerrorname_np(e));
	return 4;
}
