// Signals: delivery, masks, queues, siginfo, alternate stacks, faults.
#include "compat.h"
#include <setjmp.h>
#include <ucontext.h>

static volatile int order[16], seen;
static void note(int signo) {
	if (seen < 16) order[seen++] = signo;
}
static void show_order(const char *label) {
	char text[256] = "";
	for (int i = 0; i < seen; i++) sprintf(text + strlen(text), " %s", signal_name(order[i]));
	say("%s:%s", label, *text ? text : " nothing");
	seen = 0;
}
static void handle(int signo, void (*f)(int), int flags) {
	struct sigaction a = {.sa_handler = f, .sa_flags = flags};
	MUST(sigaction(signo, &a, NULL));
}
static sigset_t set_of(int n, ...) {
	sigset_t s;
	va_list l;
	va_start(l, n);
	sigemptyset(&s);
	while (n--) sigaddset(&s, va_arg(l, int));
	va_end(l);
	return s;
}
static int pending(int signo) {
	sigset_t s;
	sigpending(&s);
	return sigismember(&s, signo);
}

static void basics(void) {
	struct sigaction a, old;
	handle(SIGUSR1, note, 0);
	CALL(kill(getpid(), SIGUSR1), "kill itself");
	show_order("handled at once");
	CALL(raise(SIGUSR1), "raise");
	show_order("handled");
	CALL(kill(getpid(), 0), "signal 0 to itself");
	CALL(kill(getpid(), 65), "signal 65");
	CALL(kill(getpid(), -1), "signal -1");
	CALL(kill(0x3ffffff, SIGUSR1), "a process that does not exist");
	CALL(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1), "tgkill");
	CALL(syscall(SYS_tgkill, getpid(), 0x3ffffff, SIGUSR1), "tgkill a thread that does not exist");
	CALL(syscall(SYS_tgkill, 1 + getpid(), syscall(SYS_gettid), SIGUSR1), "tgkill in another process");
	CALL(syscall(SYS_tgkill, -1, 1, SIGUSR1), "tgkill -1");
	CALL(syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1), "tkill");
	show_order("handled");
	CALL(sigaction(SIGUSR1, NULL, &old), "sigaction to ask");
	IS(old.sa_handler == note && !(old.sa_flags & SA_RESTART), "the handler");
	a.sa_handler = SIG_IGN, a.sa_flags = 0;
	sigemptyset(&a.sa_mask);
	CALL(sigaction(SIGKILL, &a, NULL), "ignore SIGKILL");
	CALL(sigaction(SIGSTOP, &a, NULL), "ignore SIGSTOP");
	CALL(sigaction(SIGKILL, NULL, &old), "ask for SIGKILL");
	CALL(sigaction(65, &a, NULL), "signal 65");
	CALL(sigaction(0, &a, NULL), "signal 0");
	CALL(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4), "a bad size");
	CALL(sigaction(SIGUSR1, &a, &old), "ignore");
	raise(SIGUSR1);
	show_order("ignored");
	IS(!pending(SIGUSR1), "not pending");
}

static void masks(void) {
	sigset_t both = set_of(2, SIGUSR1, SIGUSR2), old, all;
	handle(SIGUSR1, note, 0), handle(SIGUSR2, note, 0);
	CALL(sigprocmask(SIG_BLOCK, &both, &old), "block");
	raise(SIGUSR2), raise(SIGUSR1), raise(SIGUSR1);
	show_order("while blocked");
	IS(pending(SIGUSR1) && pending(SIGUSR2) && !pending(SIGTERM), "pending");
	CALL(sigprocmask(SIG_SETMASK, &old, NULL), "let in");
	show_order("lowest number runs last, as its frame is below");
	sigfillset(&all);
	CALL(sigprocmask(SIG_SETMASK, &all, NULL), "block all");
	sigprocmask(SIG_BLOCK, NULL, &old);
	IS(!sigismember(&old, SIGKILL) && !sigismember(&old, SIGSTOP), "SIGKILL and SIGSTOP stay open");
	IS(sigismember(&old, SIGTERM), "SIGTERM does not");
	CALL(sigprocmask(77, &all, NULL), "a bad way");
	CALL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 4), "a bad size");
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigprocmask(SIG_BLOCK, &both, NULL);
	raise(SIGUSR1);
	handle(SIGUSR1, SIG_IGN, 0);
	IS(!pending(SIGUSR1), "ignoring drops what is pending");
	handle(SIGUSR1, note, 0);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	show_order("nothing came");
}

static volatile int depth, deepest, masked, left;
static void nest(int signo) {
	if (++depth > deepest) deepest = depth;
	if (seen < 16) order[seen++] = signo;
	if (signo == SIGUSR1 && left-- > 0) raise(SIGUSR1);
	if (signo == SIGUSR1 && left == -1) raise(SIGUSR2);
	sigset_t now;
	sigprocmask(SIG_BLOCK, NULL, &now);
	masked = sigismember(&now, SIGUSR1) * 1 + sigismember(&now, SIGUSR2) * 2 + sigismember(&now, SIGTERM) * 4;
	depth--;
}

static void nested(void) {
	static const struct { int flags; const char *name; } t[] = {{0, "plain"}, {SA_NODEFER, "NODEFER"}};
	for (unsigned i = 0; i < 2; i++) {
		handle(SIGUSR1, nest, t[i].flags), handle(SIGUSR2, nest, 0);
		deepest = 0, left = 2;
		raise(SIGUSR1);
		say("%s: depth %d", t[i].name, deepest);
		show_order(t[i].name);
	}
	struct sigaction a = {.sa_handler = nest, .sa_mask = set_of(2, SIGUSR2, SIGTERM)};
	sigaction(SIGUSR1, &a, NULL);
	deepest = 0, left = 0;
	raise(SIGUSR1);
	say("with SIGUSR2 masked: depth %d", deepest);
	show_order("with SIGUSR2 masked");
	handle(SIGUSR2, nest, SA_NODEFER);
	raise(SIGUSR2);
	say("masked in a NODEFER handler: %d", masked);
	handle(SIGUSR2, note, SA_RESETHAND);
	raise(SIGUSR2);
	show_order("RESETHAND");
	struct sigaction old;
	sigaction(SIGUSR2, NULL, &old);
	IS(old.sa_handler == SIG_DFL, "the handler is reset");
}

static siginfo_t info;
static volatile int infos;
static void with_info(int signo, siginfo_t *i, void *context) {
	info = *i;
	infos++;
	if (seen < 16) order[seen++] = signo;
}
static void handle_info(int signo) {
	struct sigaction a = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
	MUST(sigaction(signo, &a, NULL));
}

static void siginfos(void) {
	handle_info(SIGUSR1);
	kill(getpid(), SIGUSR1);
	IS(info.si_code == SI_USER && info.si_pid == getpid() && info.si_uid == getuid() && info.si_signo == SIGUSR1, "kill");
	pthread_kill(pthread_self(), SIGUSR1);
	IS(info.si_code == SI_TKILL && info.si_pid == getpid(), "tgkill");
	CALL(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 99}), "sigqueue");
	IS(info.si_code == SI_QUEUE && info.si_pid == getpid() && info.si_value.sival_int == 99, "its value");
	handle_info(SIGCHLD);
	pid_t child = fork();
	if (child == 0) _exit(5);
	reap(child, "child");
	IS(info.si_signo == SIGCHLD && info.si_code == CLD_EXITED && info.si_pid == child && info.si_status == 5, "SIGCHLD of an exit");
	child = fork();
	if (child == 0) raise(SIGKILL);
	reap(child, "child");
	IS(info.si_code == CLD_KILLED && info.si_status == SIGKILL, "SIGCHLD of a kill");
	siginfo_t own = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
	CALL(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &own), "rt_sigqueueinfo");
	own.si_code = SI_USER;
	child = fork();
	if (child == 0) nap(1000), _exit(0);
	CALL(syscall(SYS_rt_sigqueueinfo, child, SIGUSR1, &own), "forge SI_USER to another");
	CALL(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &own), "forge SI_USER to itself");
	kill(child, SIGKILL);
	reap(child, "child");
}

static void real_time(void) {
	sigset_t s = set_of(4, SIGRTMIN, SIGRTMIN + 1, SIGUSR1, SIGRTMIN + 5);
	sigprocmask(SIG_BLOCK, &s, NULL);
	handle_info(SIGRTMIN), handle_info(SIGRTMIN + 1), handle_info(SIGUSR1);
	for (int i = 0; i < 3; i++) sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}), sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 10 + i});
	raise(SIGUSR1), raise(SIGUSR1);
	siginfo_t i;
	struct timespec none = {0, 0};
	CALL(sigtimedwait(&s, &i, &none) - SIGUSR1, "sigtimedwait takes a standard signal first");
	for (int k = 0; k < 6; k++) {
		int got = sigtimedwait(&s, &i, &none);
		say("%s %d", signal_name(got), i.si_value.sival_int);
	}
	CALL(sigtimedwait(&s, &i, &none), "none is left");
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 1});
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 2});
	infos = seen = 0;
	sigprocmask(SIG_UNBLOCK, &s, NULL);
	say("handled: %d, last value %d", infos, info.si_value.sival_int);
	seen = 0;
}

static void *kill_later(void *arg) {
	nap(30);
	kill(getpid(), SIGUSR1);
	return NULL;
}

static void waiting(void) {
	sigset_t s = set_of(1, SIGUSR1), other = set_of(1, SIGUSR2), empty;
	siginfo_t i;
	struct timespec t20 = {0, 20000000}, bad = {0, -1};
	pthread_t t;
	sigprocmask(SIG_BLOCK, &s, NULL);
	handle(SIGUSR1, note, 0), handle(SIGUSR2, note, 0);
	int64_t start = now_ms();
	CALL(sigtimedwait(&s, &i, &t20), "sigtimedwait for 20 ms");
	IS(now_ms() - start >= 19, "waited");
	CALL(sigtimedwait(&s, &i, &bad), "a bad time");
	pthread_create(&t, NULL, kill_later, NULL);
	IS(sigwaitinfo(&s, &i) == SIGUSR1, "sigwaitinfo that waits");
	pthread_join(t, NULL);
	show_order("no handler ran");
	sigprocmask(SIG_BLOCK, &other, NULL);
	sigemptyset(&empty);
	raise(SIGUSR1);
	CALL(sigsuspend(&empty), "sigsuspend with one pending");
	show_order("handled");
	IS(sigprocmask(SIG_BLOCK, NULL, &empty) == 0 && sigismember(&empty, SIGUSR1), "blocked again");
	sigemptyset(&empty);
	pthread_create(&t, NULL, kill_later, NULL);
	CALL(sigsuspend(&empty), "sigsuspend that waits");
	pthread_join(t, NULL);
	show_order("handled");
	int signo;
	raise(SIGUSR2);
	CODE(sigwait(&other, &signo), "sigwait");
	IS(signo == SIGUSR2, "it came");
	sigprocmask(SIG_SETMASK, &empty, NULL);
	sigset_t unblocked = set_of(1, SIGUSR2);
	CALL(sigtimedwait(&unblocked, &i, &t20), "sigtimedwait for an open signal");
}

static stack_t alt;
static volatile int on_alt;
static void where(int signo) {
	char here;
	stack_t now;
	sigaltstack(NULL, &now);
	on_alt = &here >= (char *)alt.ss_sp && &here < (char *)alt.ss_sp + alt.ss_size;
	if (on_alt && now.ss_flags != SS_ONSTACK) on_alt = 2;
}

static void stacks(void) {
	stack_t old, small = {.ss_sp = &old, .ss_size = 100};
	CALL(sigaltstack(NULL, &old), "ask");
	say("flags %d", old.ss_flags);
	alt.ss_sp = malloc(1 << 16), alt.ss_size = 1 << 16;
	CALL(sigaltstack(&small, NULL), "too small");
	CALL(sigaltstack(&alt, NULL), "set");
	handle(SIGUSR1, where, SA_ONSTACK);
	raise(SIGUSR1);
	say("with ONSTACK: %d", on_alt);
	handle(SIGUSR1, where, 0);
	raise(SIGUSR1);
	say("without: %d", on_alt);
	alt.ss_flags = SS_DISABLE;
	CALL(sigaltstack(&alt, &old), "disable");
	IS(old.ss_sp == alt.ss_sp && old.ss_flags == 0, "what it was");
	alt.ss_flags = 99;
	CALL(sigaltstack(&alt, NULL), "bad flags");
}

static sigjmp_buf back;
static volatile int code, trap;
static void *volatile at;
static void fault(int signo, siginfo_t *i, void *context) {
	trap = signo, code = i->si_code, at = i->si_addr;
	siglongjmp(back, 1);
}
static void faults(void) {
	struct sigaction a = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &a, NULL), sigaction(SIGFPE, &a, NULL), sigaction(SIGILL, &a, NULL), sigaction(SIGBUS, &a, NULL), sigaction(SIGTRAP, &a, NULL);
	if (sigsetjmp(back, 1) == 0) *(volatile int *)16 = 1;
	say("no page: %s, code %d, at %p", signal_name(trap), code, at);
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sigsetjmp(back, 1) == 0) *(volatile char *)(page + 5) = 1;
	say("read-only page: %s, code %d, offset %ld", signal_name(trap), code, (long)((char *)at - page));
	volatile int zero = 0, thousand = 1000;
	if (sigsetjmp(back, 1) == 0) zero = thousand / zero;
	say("division by zero: %s, code %d", signal_name(trap), code);
	if (sigsetjmp(back, 1) == 0) __asm__ volatile("ud2");
	say("no instruction: %s, code %d", signal_name(trap), code);
	int fd = MUST(open("short", O_RDWR | O_CREAT, 0600));
	char *map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	if (sigsetjmp(back, 1) == 0) zero = map[4096];
	say("beyond the end of a file: %s, code %d, offset %ld", signal_name(trap), code, (long)((char *)at - map));
	close(fd);
	if (sigsetjmp(back, 1) == 0) __asm__ volatile("int3");
	say("a trap: %s", signal_name(trap));
	if (sigsetjmp(back, 1) == 0) __asm__ volatile("movq $0x8000000000000000, %%rax; movq (%%rax), %%rax" ::: "rax");
	say("a wild address: %s, code %d", signal_name(trap), code);
}

static volatile pid_t receiver;
static void which(int signo) { receiver = syscall(SYS_gettid); }
static void *other_thread(void *arg) {
	sigset_t s = set_of(1, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &s, NULL);
	*(pid_t *)arg = syscall(SYS_gettid);
	while (!receiver) nap(5);
	return NULL;
}
static void threads(void) {
	sigset_t s = set_of(1, SIGUSR2);
	pid_t tid = 0;
	pthread_t t;
	sigprocmask(SIG_BLOCK, &s, NULL);
	handle(SIGUSR2, which, 0);
	pthread_create(&t, NULL, other_thread, &tid);
	while (!*(volatile pid_t *)&tid) nap(1);
	kill(getpid(), SIGUSR2);
	pthread_join(t, NULL);
	IS(receiver == tid, "the thread that has it open gets it");
	pthread_kill(pthread_self(), SIGUSR2);
	IS(pending(SIGUSR2), "for this thread it is pending");
	receiver = 0;
	sigprocmask(SIG_UNBLOCK, &s, NULL);
	IS(receiver == getpid(), "and comes when let in");
}

// Two wait for the same byte, and both get a signal in the moment in which it comes: the one that goes away empty-handed is
// interrupted, whatever it was woken for.
static volatile int came;
static void comes(int signo) { came++; }
static void woken(void) {
	int fds[2];
	MUST(pipe(fds));
	handle(SIGUSR1, comes, 0);
	pid_t children[2];
	for (int i = 0; i < 2; i++) {
		if ((children[i] = MUST(fork()))) continue;
		char c;
		if (read(fds[0], &c, 1) == 1)
			while (!came) nap(1);
		_exit(came);
	}
	asleep(children[0]), asleep(children[1]);
	MUST(write(fds[1], "x", 1));
	kill(children[0], SIGUSR1), kill(children[1], SIGUSR1);
	for (int i = 0; i < 2; i++) {
		int status = 0;
		while (waitpid(children[i], &status, 0) < 0 && errno == EINTR) {}
		IS(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a reader got its signal");
	}
}

CASES(C(basics), C(masks), C(nested), C(siginfos), C(real_time), C(waiting), C(stacks), C(faults), C(threads), C(woken))
