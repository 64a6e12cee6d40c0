// A bank that keeps balances in memory, and its client. A worker thread serves each connection; the bug: transfer number 7 is booked twice.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct account {
	int balance;
	int transfers;
};

struct account accounts[4];
static int waiting = -1; // a connection for the worker
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void book(struct account *a, int amount) {
	int before = a->balance;
	a->balance = before + amount;
	a->transfers++;
}

int transfer(int number, int from, int to, int amount) {
	book(&accounts[from], -amount);
	book(&accounts[to], amount);
	if (number == 7)
		book(&accounts[to], amount);
	return accounts[to].balance;
}

static void *worker(void *unused) {
	(void)unused;
	for (int number = 1;; number++) {
		pthread_mutex_lock(&lock);
		while (waiting < 0)
			pthread_cond_wait(&changed, &lock);
		int c = waiting;
		waiting = -1;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
		char order[3], answer[16];
		if (read(c, order, sizeof order) == sizeof order) {
			int now = transfer(number, order[0] % 4, order[1] % 4, order[2]);
			int n = snprintf(answer, sizeof answer, "%d\n", now);
			if (write(c, answer, n) != n)
				perror("write");
		}
		close(c);
	}
	return 0;
}

static int serve(void) {
	int s = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(7000)};
	if (bind(s, (void *)&a, sizeof a) || listen(s, 16))
		return 1;
	pthread_t t;
	pthread_create(&t, 0, worker, 0);
	for (;;) {
		int c = accept(s, 0, 0);
		pthread_mutex_lock(&lock);
		while (waiting >= 0)
			pthread_cond_wait(&changed, &lock);
		waiting = c;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
}

int latest_answer;
char reply[24];

static int client(const char *host) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(7000)};
	inet_pton(AF_INET, host, &a.sin_addr);
	for (int i = 0; i < 20; i++) {
		int c = socket(AF_INET, SOCK_STREAM, 0);
		while (connect(c, (void *)&a, sizeof a)) {
			close(c);
			usleep(1000);
			c = socket(AF_INET, SOCK_STREAM, 0);
		}
		char order[3] = {i, i + 1, 10};
		memset(reply, 0, sizeof reply);
		if (write(c, order, sizeof order) != sizeof order || read(c, reply, 16) <= 0)
			return 2;
		latest_answer = atoi(reply);
		printf("%d\n", latest_answer);
		close(c);
		usleep(20000);
	}
	return 0;
}

int main(int argc, char **argv) {
	setvbuf(stdout, 0, _IOLBF, 0);
	return argc > 2 ? client(argv[2]) : serve();
}
