// Waits for two connections, and says which accept got a descriptor while the process is at its limit. Then it starts a program.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, int r) {
	printf("%s: %s\n", what, r < 0 ? strerror(errno) : "ok");
	fflush(stdout);
}

int main(int argc, char **argv) {
	if (argc > 1) {
		say("a program that was started since", open("/dev/null", O_RDONLY));
		return 0;
	}
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), first = socket(AF_INET, SOCK_STREAM, 0), second = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (void *)&at, sizeof at);
	listen(listener, 2);
	if (fork() == 0) {
		usleep(500000); // the fault has begun
		connect(first, (void *)&at, sizeof at);
		connect(second, (void *)&at, sizeof at);
		say("a child", open("/dev/null", O_RDONLY));
		return 0;
	}
	say("an accept that has waited", accept(listener, 0, 0)); // it begins before the fault
	wait(0);
	say("the next accept", accept(listener, 0, 0));
	if (fork() == 0) {
		execl("/proc/self/exe", argv[0], "again", (char *)0);
		return 1;
	}
	wait(0);
	int tries = 1, got;
	while ((got = accept(listener, 0, 0)) < 0) tries++;
	say("the same accept afterwards", got);
	printf("%s tries\n", tries > 1200 ? "too many" : tries > 100 ? "hundreds of" : "too few");
	fflush(stdout);
	usleep(100000);
}
