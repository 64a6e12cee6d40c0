// Leak: process and thread ids, wherever they show.
#include "leak.h"
#include <sys/prctl.h>
#include <sys/socket.h>

static void *thread(void *arg) {
	show("tid %ld\n", syscall(SYS_gettid));
	return NULL;
}
static void on_child(int signo, siginfo_t *i, void *context) { show("SIGCHLD of %d\n", i->si_pid); }

int main(void) {
	pthread_t t;
	struct sigaction a = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGCHLD, &a, NULL);
	show("pid %d ppid %d group %d session %d\n", getpid(), getppid(), getpgrp(), getsid(0));
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	pid_t child = fork();
	if (child == 0) {
		show("in the child %d %d\n", getpid(), getppid());
		_exit(0);
	}
	show("fork %d\n", child);
	show("wait %d\n", wait(NULL));
	int s[2];
	struct ucred c;
	socklen_t n = sizeof c;
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	getsockopt(s[0], SOL_SOCKET, SO_PEERCRED, &c, &n);
	char b[4096];
	show("peer %d\n", c.pid);
	b[readlink("/proc/self", b, sizeof b - 1)] = 0;
	show("/proc/self %s\n", b);
	slurp("/proc/self/stat", b, sizeof b);
	show("%.20s\n", b);
	return 0;
}
