// Interrupted calls: which are restarted after a handler with SA_RESTART, and which return EINTR.
#include "compat.h"
#include "net.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <linux/futex.h>
#include <semaphore.h>

static volatile int handled;
static void on_signal(int signo) { handled++; }

// What a call waits for is done by the helper thread after a few signals, so that a restarted call ends.
static int p[2], q[2], s[2], l, port, ev, sem, msg;
static pid_t child;
static uint32_t word;
static sem_t posix_sem;

static void complete(void) {
	MUST(write(p[1], "x", 1));
	MUST(write(s[1], "x", 1));
	MUST(eventfd_write(ev, 1));
	char b[65536];
	for (int i = 0; i < 16; i++) read(q[0], b, 4096);
	int c = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port);
	connect(c, SA(a));
	kill(child, SIGKILL);
	word = 1;
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	sem_post(&posix_sem);
	struct sembuf up = {0, 1, 0};
	semop(sem, &up, 1);
	struct { long type; char c; } m = {1, 'x'};
	msgsnd(msg, &m, 1, IPC_NOWAIT);
	close(c);
}

struct helper { pthread_t main; int signals; volatile int over; };
static void *help(void *arg) {
	struct helper *h = arg;
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	nap(20);
	for (int i = 0; i < h->signals && !h->over; i++) {
		pthread_kill(h->main, SIGUSR1);
		nap(8);
	}
	if (!h->over) complete();
	return NULL;
}

static long do_read(void) { char c; return read(p[0], &c, 1); }
static long do_readv(void) { char c; struct iovec v = {&c, 1}; return readv(p[0], &v, 1); }
static long do_write(void) { return write(q[1], "x", 1); }
static long do_recv(void) { char c; return recv(s[0], &c, 1, 0); }
static long do_recvmsg(void) { char c; struct iovec v = {&c, 1}; struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1}; return recvmsg(s[0], &m, 0); }
static long do_recv_timeout(void) {
	char c;
	struct timeval tv = {5, 0};
	setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	return recv(s[0], &c, 1, 0);
}
static long do_accept(void) { long fd = accept(l, NULL, NULL); return fd < 0 ? fd : 0; }
static long do_eventfd(void) { eventfd_t v; return eventfd_read(ev, &v); }
static long do_poll(void) { struct pollfd f = {p[0], POLLIN, 0}; return poll(&f, 1, -1); }
static long do_ppoll(void) { struct pollfd f = {p[0], POLLIN, 0}; struct timespec t = {5, 0}; return ppoll(&f, 1, &t, NULL); }
static long do_select(void) { fd_set r; FD_ZERO(&r); FD_SET(p[0], &r); return select(p[0] + 1, &r, NULL, NULL, NULL); }
static long do_pselect(void) { fd_set r; FD_ZERO(&r); FD_SET(p[0], &r); return pselect(p[0] + 1, &r, NULL, NULL, NULL, NULL); }
static long do_epoll(void) {
	int ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e);
	long n = epoll_wait(ep, &e, 1, -1);
	int saved = errno;
	close(ep);
	errno = saved;
	return n;
}
static long do_nanosleep(void) { struct timespec t = {5, 0}; return nanosleep(&t, NULL); }
static long do_clock_nanosleep(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += 5;
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return errno ? -1 : 0;
}
static long do_wait4(void) { return waitpid(child, NULL, 0) > 0 ? 0 : -1; }
static long do_waitid(void) { siginfo_t i; return waitid(P_PID, child, &i, WEXITED); }
static long do_futex(void) { return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0); }
static long do_futex_timeout(void) { struct timespec t = {5, 0}; return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0); }
static long do_sem_wait(void) { return sem_wait(&posix_sem); }
static long do_pause(void) { return pause(); }
static long do_sigtimedwait(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	struct timespec t = {5, 0};
	return sigtimedwait(&set, NULL, &t);
}
static long do_fifo(void) { // the helper never opens it: a signal must end the wait
	struct stat st;
	if (stat("fifo", &st) < 0) MUST(mkfifo("fifo", 0600));
	return open("fifo", O_RDONLY);
}
static long do_connect_write(void) { // a large write to a socket: a part is written before it waits
	static char big[4 << 20];
	long n = send(s[0], big, sizeof big, 0);
	return n > 0 && n < (long)sizeof big ? 1 : n;
}
static long do_flock(void) {
	int a = MUST(open("locked", O_RDWR | O_CREAT, 0600)), b = MUST(open("locked", O_RDWR));
	flock(a, LOCK_EX);
	long r = flock(b, LOCK_EX);
	int saved = errno;
	close(a), close(b);
	errno = saved;
	return r;
}
static long do_semop(void) { struct sembuf down = {0, -1, 0}; return semop(sem, &down, 1); }
static long do_msgrcv(void) { struct { long type; char c; } m; return msgrcv(msg, &m, 1, 0, 0); }

static void run(const char *what, long (*f)(void), int flags, int must_end_by_signal) {
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = flags};
	sigaction(SIGUSR1, &a, NULL);
	struct helper h = {.main = pthread_self(), .signals = flags & SA_RESTART && !must_end_by_signal ? 3 : 400};
	pthread_t t;
	handled = 0, word = 0;
	sem_init(&posix_sem, 0, 0);
	MUST(pipe(p));
	MUST(pipe(q));
	MUST(fcntl(q[1], F_SETFL, O_NONBLOCK));
	static char page[4096];
	while (write(q[1], page, sizeof page) > 0) {}
	MUST(fcntl(q[1], F_SETFL, 0));
	MUST(fcntl(q[0], F_SETFL, O_NONBLOCK));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	l = listener(1, &port);
	ev = MUST(eventfd(0, 0));
	child = fork();
	if (child == 0) nap(60000), _exit(0);
	pthread_create(&t, NULL, help, &h);
	errno = 0;
	long r = f();
	int e = errno;
	h.over = 1;
	pthread_join(t, NULL);
	result(r, e, 0, "%s%s", what, flags & SA_RESTART ? ", SA_RESTART" : "");
	IS(handled > 0, "  handled");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(p[0]), close(p[1]), close(q[0]), close(q[1]), close(s[0]), close(s[1]), close(l), close(ev);
}

// Calls that end with EINTR without SA_RESTART.
static void never(void) {
	run("read", do_read, 0, 0), run("readv", do_readv, 0, 0), run("write", do_write, 0, 0);
	run("recv", do_recv, 0, 0), run("recvmsg", do_recvmsg, 0, 0), run("accept", do_accept, 0, 0);
	run("eventfd", do_eventfd, 0, 0), run("wait4", do_wait4, 0, 0), run("waitid", do_waitid, 0, 0);
	run("futex", do_futex, 0, 0), run("sem_wait", do_sem_wait, 0, 0), run("flock", do_flock, 0, 0);
}

// The same calls with SA_RESTART, which go on.
static void restarted(void) {
	run("read", do_read, SA_RESTART, 0), run("readv", do_readv, SA_RESTART, 0), run("write", do_write, SA_RESTART, 0);
	run("recv", do_recv, SA_RESTART, 0), run("recvmsg", do_recvmsg, SA_RESTART, 0), run("accept", do_accept, SA_RESTART, 0);
	run("eventfd", do_eventfd, SA_RESTART, 0), run("wait4", do_wait4, SA_RESTART, 0), run("waitid", do_waitid, SA_RESTART, 0);
	run("futex", do_futex, SA_RESTART, 0), run("sem_wait", do_sem_wait, SA_RESTART, 0);
}

// Calls that end with EINTR whatever the flag says.
static void always(void) {
	run("poll", do_poll, SA_RESTART, 1), run("ppoll", do_ppoll, SA_RESTART, 1), run("select", do_select, SA_RESTART, 1);
	run("pselect", do_pselect, SA_RESTART, 1), run("epoll_wait", do_epoll, SA_RESTART, 1), run("nanosleep", do_nanosleep, SA_RESTART, 1);
	run("clock_nanosleep", do_clock_nanosleep, SA_RESTART, 1), run("pause", do_pause, SA_RESTART, 1);
	run("sigtimedwait", do_sigtimedwait, SA_RESTART, 1), run("recv with a timeout", do_recv_timeout, SA_RESTART, 1);
}

static void open_fifo(void) { run("open of a fifo", do_fifo, 0, 1); }
static void partial(void) { run("send that has sent a part", do_connect_write, 0, 1); }
static void futex_timeout(void) { run("futex with a timeout", do_futex_timeout, 0, 0), run("futex with a timeout", do_futex_timeout, SA_RESTART, 0); }

static void sysv(void) {
	sem = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT), msg = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
	if (sem < 0 || msg < 0) {
		say("skip: no System V semaphores or queues here");
		return;
	}
	run("semop", do_semop, SA_RESTART, 1), run("msgrcv", do_msgrcv, SA_RESTART, 1);
	semctl(sem, 0, IPC_RMID), msgctl(msg, IPC_RMID, NULL);
}

// A signal that is ignored, or whose default is to be ignored, interrupts nothing.
static void ignored(void) {
	struct helper h = {.main = pthread_self(), .signals = 3};
	pthread_t t;
	MUST(pipe(p));
	signal(SIGUSR1, SIG_IGN);
	MUST(pipe(q)), MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	fcntl(q[0], F_SETFL, O_NONBLOCK);
	l = listener(1, &port), ev = eventfd(0, 0);
	child = fork();
	if (child == 0) nap(60000), _exit(0);
	pthread_create(&t, NULL, help, &h);
	struct pollfd f = {p[0], POLLIN, 0};
	CALL(poll(&f, 1, 5000), "poll beside an ignored signal");
	h.over = 1;
	pthread_join(t, NULL);
	waitpid(child, NULL, 0);
}

CASES(C(never), C(restarted), C(always), C(open_fifo), C(partial), C(futex_timeout), C(sysv), C(ignored))
