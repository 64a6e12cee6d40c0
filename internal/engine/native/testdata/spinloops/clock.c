// Loops that read a clock and make no system call: until a time comes, until another thread has run, and until a signal comes.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int flag, rung;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void until(double end)
{
	double t;
	long rounds = 0; // no two rounds are equal
	while ((t = now()) < end)
		rounds++;
	puts(t < end + 0.02 && rounds > 0 ? "3 s" : "too late");
}

static void *set(void *unused)
{
	usleep(300000);
	puts("set");
	flag = 1;
	return unused;
}

static void ring(int sig) { rung = sig; }

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	until(now() + 3);
	struct timeval tv;
	gettimeofday(&tv, NULL);
	time_t end = tv.tv_sec + 3;
	while (time(NULL) < end)
		;
	gettimeofday(&tv, NULL);
	puts(tv.tv_sec == end && tv.tv_usec < 20000 ? "3 s" : "too late");
	pthread_t thread;
	pthread_create(&thread, NULL, set, NULL);
	double give_up = now() + 60;
	while (!flag && now() < give_up)
		;
	puts(flag ? "seen" : "never seen");
	pthread_join(thread, NULL);
	signal(SIGALRM, ring);
	struct itimerval in = {.it_value = {.tv_usec = 200000}};
	setitimer(ITIMER_REAL, &in, NULL);
	give_up = now() + 60;
	while (!rung && now() < give_up)
		;
	puts(rung ? "timer" : "no timer");
	return 0;
}
