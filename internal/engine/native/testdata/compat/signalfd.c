// signalfd: what it delivers, masks, siginfo, threads.
#include "compat.h"
#include <sys/signalfd.h>

static sigset_t set_of(int a, int b) {
	sigset_t s;
	sigemptyset(&s);
	if (a) sigaddset(&s, a);
	if (b) sigaddset(&s, b);
	return s;
}

static void show(int fd) {
	struct signalfd_siginfo i;
	long n = CALL(read(fd, &i, sizeof i), "read");
	if (n != sizeof i) return;
	say("%s code %d, from self: %d, own uid: %d, value %d", signal_name(i.ssi_signo), (int)i.ssi_code,
		i.ssi_pid == (uint32_t)getpid(), i.ssi_uid == getuid(), i.ssi_int);
}

static void basics(void) {
	sigset_t s = set_of(SIGUSR1, SIGUSR2);
	sigprocmask(SIG_BLOCK, &s, NULL);
	int fd = OK(signalfd(-1, &s, SFD_NONBLOCK), "signalfd");
	POLL(fd, "nothing pending");
	show(fd);
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR1);
	POLL(fd, "two pending");
	show(fd);
	show(fd);
	show(fd);
	struct signalfd_siginfo two[2];
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR1);
	CALL(read(fd, two, sizeof two) / sizeof *two, "signals in one read");
	say("%s", signal_name(two[0].ssi_signo));
	say("%s", signal_name(two[1].ssi_signo));
	CALL(read(fd, two, sizeof *two - 1), "read too few bytes");
	CALL(write(fd, two, sizeof *two), "write");
	close(fd);
}

static void queued(void) {
	sigset_t s = set_of(SIGRTMIN, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &s, NULL);
	int fd = MUST(signalfd(-1, &s, SFD_NONBLOCK));
	sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 1});
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 2});
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 3});
	for (int i = 0; i < 4; i++) show(fd);
	close(fd);
}

static void change(void) {
	sigset_t s = set_of(SIGUSR1, 0), other = set_of(SIGUSR2, 0);
	int fd = MUST(signalfd(-1, &s, SFD_NONBLOCK));
	kill(getpid(), SIGUSR2);
	POLL(fd, "another signal is pending");
	IS(signalfd(fd, &other, 0) == fd, "the same descriptor with a new mask");
	POLL(fd, "now it counts");
	show(fd);
	CALL(signalfd(fd, &s, 0x40), "a bad flag");
	CALL(signalfd(0, &s, 0), "not a signalfd");
	CALL(signalfd(CLOSED_FD, &s, 0), "a closed descriptor");
	CALL(syscall(SYS_signalfd4, -1, &s, 4, 0), "a bad size");
	sigset_t kills = set_of(SIGKILL, SIGSTOP);
	OK(signalfd(-1, &kills, 0), "SIGKILL and SIGSTOP");
	close(fd);
}

static void *kill_later(void *arg) {
	nap(30);
	return (void *)(long)kill(getpid(), SIGUSR1);
}

static void blocking(void) {
	sigset_t s = set_of(SIGUSR1, SIGCHLD);
	sigprocmask(SIG_BLOCK, &s, NULL);
	int fd = MUST(signalfd(-1, &s, SFD_CLOEXEC));
	pthread_t t;
	IS(fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	pthread_create(&t, NULL, kill_later, NULL);
	show(fd);
	pthread_join(t, NULL);
	pid_t child = fork();
	if (child == 0) _exit(7);
	struct signalfd_siginfo i;
	CALL(read(fd, &i, sizeof i), "read");
	say("%s code %d status %d", signal_name(i.ssi_signo), (int)i.ssi_code, i.ssi_status);
	IS(i.ssi_pid == (uint32_t)child, "from the child");
	reap(child, "child");
	close(fd);
}

static void *read_in_thread(void *arg) {
	struct signalfd_siginfo i;
	return (void *)(long)(read((int)(intptr_t)arg, &i, sizeof i) < 0 ? -errno : (int)i.ssi_signo);
}

// A signal for one thread is seen only by that thread.
static void threads(void) {
	sigset_t s = set_of(SIGUSR1, SIGUSR2);
	sigprocmask(SIG_BLOCK, &s, NULL);
	int fd = MUST(signalfd(-1, &s, SFD_NONBLOCK));
	pthread_t t;
	void *got;
	pthread_kill(pthread_self(), SIGUSR1);
	POLL(fd, "pending for this thread");
	pthread_create(&t, NULL, read_in_thread, (void *)(intptr_t)fd);
	pthread_join(t, &got);
	say("another thread reads: %s", (long)got < 0 ? errno_name(-(long)got) : "a signal");
	show(fd);
	kill(getpid(), SIGUSR2);
	pthread_create(&t, NULL, read_in_thread, (void *)(intptr_t)fd);
	pthread_join(t, &got);
	IS((long)got == SIGUSR2, "another thread reads the process's signal");
	close(fd);
}

static void ignored(void) {
	sigset_t s = set_of(SIGUSR1, 0);
	sigprocmask(SIG_BLOCK, &s, NULL);
	signal(SIGUSR1, SIG_IGN);
	int fd = MUST(signalfd(-1, &s, SFD_NONBLOCK));
	kill(getpid(), SIGUSR1);
	POLL(fd, "blocked and ignored");
	show(fd);
	signal(SIGUSR1, SIG_DFL);
	kill(getpid(), SIGUSR1);
	sigset_t pending;
	sigpending(&pending);
	IS(sigismember(&pending, SIGUSR1), "pending");
	show(fd);
	sigpending(&pending);
	IS(!sigismember(&pending, SIGUSR1), "no longer pending");
	close(fd);
}

CASES(C(basics), C(queued), C(change), C(blocking), C(threads), C(ignored))
