#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
	int history[4];
	int balance;
} account;

static int booked;

static void book(int amount)
{
	account.history[booked++ % 5] = amount; // one too many
	usleep(100000);
}

static void check(void)
{
	if (account.balance != 1000)
		abort();
}

int main(void)
{
	account.balance = 1000;
	sleep(2);
	for (int i = 1;; i++) {
		book(i);
		if (i % 4 == 0)
			sleep(1);
		if (i == 8)
			check();
	}
}
