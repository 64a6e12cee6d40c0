/* Makes system calls by a grammar (table.h): for each call the kinds of its arguments (arguments.h). Most calls so get past the checks of
 * their arguments and change state, and each argument is at its limits in many states. A child has threads that share memory and
 * descriptors, and change what others wait with.
 *
 * Arguments: the seed, the number of children, the number of calls of each; or "list", for the names of the calls. The program prints what
 * became of the children, and of each call: "call NAME MADE SUCCEEDED", with " refused" at the end where the table says so. */
#include "arguments.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include "table.h"

enum { EXECUTED = 77, FINISHED = 42 }; /* exit codes */
#define MAX_POPULATED (1UL << 30)      /* bytes of a map */

static pid_t parent;
static char home[64];         /* the working directory of a child */
static volatile pid_t *tids;  /* of a child's threads, shared with the parent */
static struct { uint64_t made, succeeded; } *seen; /* by number of the call, shared by all processes */
static int total_weight;

static void made(int nr) { __atomic_add_fetch(&seen[nr].made, 1, __ATOMIC_RELAXED); }
static void succeeded(int nr) { __atomic_add_fetch(&seen[nr].succeeded, 1, __ATOMIC_RELAXED); }
static long make(int nr, const long v[ARGUMENTS]) {
	made(nr);
	long r = syscall(nr, v[0], v[1], v[2], v[3], v[4], v[5]);
	if (r != -1) succeeded(nr);
	return r;
}

static const struct call *drawn(void) {
	int w = below(total_weight), i = 0;
	while ((w -= calls[i].weight) >= 0) i++;
	return &calls[i];
}

static void draw_arguments(const struct call *c, long v[ARGUMENTS]) {
	for (int i = 0; i < ARGUMENTS; i++) {
		v[i] = c->kinds[i] ? c->kinds[i]() : 0;
		if (c->kinds[i] && one_in(40)) v[i] = limit();
		if (c->kinds[i] && one_in(40)) v[i] |= (long)next() << 32; /* what a call takes as an int has no upper half */
	}
}

/* fit makes arguments mean something to each other. */
static void fit(int nr, long v[ARGUMENTS]) {
	switch (nr) {
	case SYS_fcntl:
		switch ((int)v[1]) {
		case F_GETLK:
		case F_SETLK:
		case F_SETLKW:
		case F_OFD_GETLK:
		case F_OFD_SETLK:
		case F_OFD_SETLKW: v[2] = a_lock(); break;
		case F_SETOWN: v[2] = process(); break;
		case F_SETSIG: v[2] = signal_number(); break;
		case F_SETOWN_EX:
		case F_GETOWN_EX: v[2] = with((int[]){below(4), process()}, 2 * sizeof(int)); break;
		case F_SETPIPE_SZ: v[2] = size(); break;
		}
		break;
	case SYS_pselect6: /* a set of signals and its size */
		if (one_in(2)) v[5] = with((uint64_t[]){signal_set(), 8}, 16);
		break;
	case SYS_setsockopt:
		if (one_in(3)) v[4] = PICK(4, 8, 16, 12, 20);
		break;
	case SYS_socket:
	case SYS_socketpair:
		if (one_in(2)) {
			v[0] = PICK(AF_UNIX, AF_INET, AF_INET6, AF_NETLINK);
			v[1] = PICK(SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM | SOCK_NONBLOCK, SOCK_DGRAM | SOCK_CLOEXEC);
		}
		break;
	case SYS_pkey_mprotect:
		if (one_in(2)) v[3] = -1;
		break;
	case SYS_mremap: v[3] &= ~(long)MREMAP_FIXED; break; /* over anything */
	}
}

static int outside_arena(const long v[ARGUMENTS]) {
	return (uint64_t)v[0] - (uint64_t)arena >= ARENA_PAGES * PAGE || (uint64_t)v[1] > 64 * PAGE;
}

static int keeps_root(const long v[ARGUMENTS]) {
	for (int i = 0; i < 3; i++) {
		if ((int)v[i] != 0 && (int)v[i] != -1) return 0;
	}
	return 1;
}

/* spares says whether a call leaves the child as it must be to make others: with its memory, its privileges, its standard descriptors and
 * its parent. A call that does not is made now and then, unless it would also end the parent. */
static int spares(int nr, long v[ARGUMENTS]) {
	int target = v[0];
	switch (nr) {
	case SYS_kill:
	case SYS_rt_sigqueueinfo:
		if (target == parent || target == -1 || target == 1) return 0;
		/* fallthrough */
	case SYS_tkill:
	case SYS_pidfd_send_signal: return (int)v[1] != SIGKILL && (int)v[1] != SIGSTOP;
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo: return (int)v[2] != SIGKILL && (int)v[2] != SIGSTOP;
	case SYS_rt_sigaction: return (int)v[0] != SIGUSR1; /* which wakes a thread that waits */
	case SYS_mmap:
		if (outside_arena(v) && !one_in(60)) v[3] &= ~(long)MAP_FIXED;
		if ((uint64_t)v[1] > MAX_POPULATED) v[3] &= ~(long)(MAP_POPULATE | MAP_LOCKED); /* the world would end by its limit of memory */
		return 1;
	case SYS_shmat:
		if (outside_arena(v) && !one_in(60)) v[2] &= ~(long)SHM_REMAP;
		return 1;
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise: return !outside_arena(v) || one_in(60);
	case SYS_execve:
		if (!one_in(20)) v[0] = bad_address();
		v[1] = bad_address();
		return 1;
	case SYS_execveat: v[2] = bad_address(); return 1;
	case SYS_prctl: return (int)v[0] != 22; /* PR_SET_SECCOMP */
	case SYS_setrlimit:
	case SYS_prlimit64: {
		int what = nr == SYS_setrlimit ? v[0] : v[1];
		return (what != RLIMIT_AS && what != RLIMIT_DATA && what != RLIMIT_STACK && what != RLIMIT_CPU) || one_in(20);
	}
	case SYS_setuid:
	case SYS_setreuid:
	case SYS_setresuid: return keeps_root(v) || one_in(20);
	case SYS_capset: return one_in(10);
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2: return target < 0 || target > 2;
	case SYS_dup2:
	case SYS_dup3: return (unsigned)v[1] > 2;
	case SYS_close:
	case SYS_close_range: return (unsigned)v[0] > 2;
	}
	return 1;
}

static void make_any(void) {
	const struct call *c = drawn();
	long v[ARGUMENTS];
	draw_arguments(c, v);
	fit(c->nr, v);
	if (!spares(c->nr, v)) return;
	long r = make(c->nr, v);
	if (c->nr == SYS_shmat && r != -1) attached[below(COUNT(attached))] = r;
}

/* clone_and_exit has the new thread or process exit at once. It may have no stack, or one in memory that is not there. */
static long clone_and_exit(long nr, const long v[ARGUMENTS]) {
	register long r10 __asm__("r10") = v[3];
	register long r8 __asm__("r8") = v[4];
	long r = nr;
	__asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n mov $60, %%eax\n xor %%edi, %%edi\n syscall\n 1:"
		: "+a"(r) : "D"(v[0]), "S"(v[1]), "d"(v[2]), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return r;
}

/* What a new process of its own memory does. */
static void live(void) {
	me->state += (uint64_t)getpid() * 0x9e3779b97f4a7c15ULL;
	switch (below(8)) {
	case 0: nanosleep(&(struct timespec){0, 3000000}, NULL); break;
	case 1: raise(one_in(2) ? SIGKILL : SIGSTOP); break;
	case 2: make(SYS_setsid, (long[ARGUMENTS]){0}); break;
	case 3: make(SYS_chroot, (long[ARGUMENTS]){path()}); /* fallthrough */
	case 4: /* with a timer that interrupts what waits */
		setitimer(ITIMER_REAL, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
		for (int i = below(30); i > 0; i--) make_any();
		break;
	}
	int nr = one_in(2) ? SYS_exit : SYS_exit_group;
	made(nr);
	syscall(nr, one_in(4) ? limit() : below(256));
}

/* execute has a process that shares this one's memory execute this program, which exits at once. */
static void execute(void) {
	int nr = one_in(2) ? SYS_execve : SYS_execveat, status = 0;
	char *const argv[] = {"grammar", NULL};
	made(SYS_vfork), made(nr);
	pid_t pid = vfork();
	if (pid == 0) {
		if (nr == SYS_execve) syscall(SYS_execve, "/proc/self/exe", argv, NULL);
		else syscall(SYS_execveat, AT_FDCWD, "/proc/self/exe", argv, NULL, 0);
		_exit(1);
	}
	if (pid < 0) return;
	succeeded(SYS_vfork);
	for (int i = 0; i < 100; i++) { /* a signal may interrupt it, and another thread be first */
		if (waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) && WEXITSTATUS(status) == EXECUTED) {
			succeeded(nr);
			return;
		}
	}
}

static void forks(void) {
	int nr = PICK(SYS_fork, SYS_vfork, SYS_clone, SYS_clone, SYS_clone3, SYS_clone3);
	long v[ARGUMENTS] = {0}, pid;
	if (nr == SYS_vfork) {
		execute();
		return;
	}
	if (nr == SYS_clone) v[0] = clone_flags(), v[1] = buffer(), v[2] = buffer(), v[3] = buffer(), v[4] = buffer();
	if (nr == SYS_clone3) v[0] = new_process(), v[1] = one_in(4) ? size() : sizeof(struct clone_args);
	made(nr);
	if (nr == SYS_clone3 || one_in(2)) {
		pid = nr == SYS_fork ? syscall(nr) : clone_and_exit(nr, v);
	} else {
		v[0] &= ~(long)(CLONE_VM | CLONE_THREAD | CLONE_VFORK | CLONE_SIGHAND | CLONE_FS | CLONE_SETTLS);
		pid = syscall(nr, v[0], 0, v[2], v[3], v[4]);
	}
	if (pid == 0) live();
	if (pid <= 0 || pid > INT_MAX) return;
	succeeded(nr);
	child_pids[below(COUNT(child_pids))] = pid;
	if (one_in(2)) waitpid(pid, NULL, WNOHANG | __WALL);
	if (one_in(4)) kill(pid, SIGKILL);
}

/* descriptors opens a file of each kind, and makes the names and objects that arguments mean. */
static void descriptors(void) {
	static const struct { const char *name; int flags; } files[] = {{"file", O_RDWR | O_CREAT}, {"file2", O_RDWR | O_CREAT | O_APPEND},
		{"dir", O_RDONLY | O_DIRECTORY}, {".", O_RDONLY | O_DIRECTORY}, {"/proc/self/maps", O_RDONLY}, {"/proc/self/mem", O_RDWR},
		{"/dev/zero", O_RDWR}, {"/dev/null", O_RDWR}, {"/dev/urandom", O_RDONLY}, {"fifo", O_RDWR | O_NONBLOCK}, {"file", O_PATH},
		{"/proc/self/fd", O_RDONLY}};
	mkdir("dir", 0777), mkdir("dir/sub", 0777), mkfifo("fifo", 0666);
	symlink("file", "link"), symlink("nothere", "dangling"), symlink("loop", "loop");
	for (unsigned i = 0; i < COUNT(files); i++) {
		int fd = open(files[i].name, files[i].flags, 0666);
		if (i == 0) write(fd, "some bytes", 10);
	}
	int p[2];
	pipe(p), pipe2(p, O_NONBLOCK), pipe2(p, O_DIRECT);
	eventfd(3, EFD_NONBLOCK), eventfd(0, EFD_SEMAPHORE), epoll_create1(0), epoll_create1(0);
	timerfd_create(CLOCK_MONOTONIC, 0), timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
	syscall(SYS_pidfd_open, getpid(), 0);
	sigset_t s;
	sigemptyset(&s), sigaddset(&s, SIGUSR2), signalfd(-1, &s, SFD_NONBLOCK);
	inotify_add_watch(inotify_init1(IN_NONBLOCK), ".", IN_ALL_EVENTS);
	int memory = syscall(SYS_memfd_create, "memory", 2);
	ftruncate(memory, 2 * PAGE);

	static const int families[] = {AF_UNIX, AF_INET, AF_INET6};
	for (unsigned i = 0; i < COUNT(families); i++) {
		socket(families[i], SOCK_STREAM, 0), socket(families[i], SOCK_STREAM | SOCK_NONBLOCK, 0), socket(families[i], SOCK_DGRAM, 0);
	}
	socket(AF_UNIX, SOCK_SEQPACKET, 0), socket(AF_NETLINK, SOCK_RAW, 0);
	socketpair(AF_UNIX, SOCK_STREAM, 0, p), socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p), socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (void *)&a, n), listen(listener, 4), getsockname(listener, (void *)&a, &n);
	for (int i = 0; i < 4; i++) connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), (void *)&a, n);
	accept(listener, NULL, NULL); /* and leave others to those who draw it */
	semget(1, 3, IPC_CREAT | 0600), msgget(1, IPC_CREAT | 0600), shmget(1, 2 * PAGE, IPC_CREAT | 0600);
}

static void struck(int signo, siginfo_t *info, void *context) { /* by a sender, or by the processor, which will not change its mind */
	if (info->si_code > 0) signal(signo, SIG_DFL);
}

/* handlers handles all signals, and so also the two that libc keeps for itself. */
static void handlers(void) {
	for (int i = 1; i < 65; i++) {
		struct action a = {struck, RESTORER | SA_SIGINFO, restorer, 0};
		if (i != SIGSEGV && i != SIGBUS && i != SIGILL && i != SIGFPE && i != SIGTRAP) a.handler = handled;
		syscall(SYS_rt_sigaction, i, &a, NULL, 8);
	}
}

/* restore undoes what keeps later calls from succeeding. */
static void restore(int call) {
	sigset_t s;
	sigemptyset(&s), sigaddset(&s, SIGUSR1), pthread_sigmask(SIG_UNBLOCK, &s, NULL);
	if (me != threads) return;
	chdir(home), umask(0);
	if (call % 512 == 0) {
		struct rlimit files = {1024, 1 << 20};
		handlers();
		syscall(SYS_close_range, MAX_FD, ~0U, 0);
		syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &files, NULL);
	}
	if (call % 1024 == 0) descriptors();
}

static void *work(void *of) {
	me = of;
	me->tid = tids[me->number] = syscall(SYS_gettid);
	for (int i = 0; i < me->calls; i++) {
		if (i % 64 == 0) restore(i);
		if (one_in(60)) forks();
		else make_any();
	}
	return NULL;
}

static char *new_block(void) {
	char *p = mmap(NULL, (BLOCK_PAGES + 2) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p + BLOCK_PAGES * PAGE, PAGE, PROT_READ), munmap(p + (BLOCK_PAGES + 1) * PAGE, PAGE);
	return p;
}

static void child(uint64_t seed, int n) {
	arena = mmap(NULL, 2 * ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){.state = (seed * THREADS + i + 1) * 0x9e3779b97f4a7c15ULL | 1, .number = i, .calls = n / THREADS,
			.block = new_block()};
	}
	pthread_t t;
	handlers();
	for (int i = 1; i < THREADS; i++) pthread_create(&t, NULL, work, &threads[i]);
	work(&threads[0]);
	for (int i = 1; i < THREADS; i++) { /* the others have some time to end */
		for (int k = 0; k < 200 && syscall(SYS_tgkill, getpid(), threads[i].tid, 0) == 0; k++) usleep(1000);
	}
	_exit(FINISHED);
}

/* supervise waits for a child, and wakes one of its threads after the other from what it waits for. */
static int supervise(pid_t pid, int *status) {
	for (int t = 0; t < 3000; t++) {
		usleep(2000);
		if (tids[t % THREADS]) syscall(SYS_tgkill, pid, tids[t % THREADS], SIGUSR1);
		if (t % 16 == 0) kill(pid, SIGCONT);
		if (waitpid(pid, status, WNOHANG) == pid) return 1;
	}
	kill(pid, SIGKILL), waitpid(pid, status, 0);
	return 0;
}

int main(int argc, char **argv) {
	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (unsigned i = 0; i < COUNT(calls); i++) printf("%d %s\n", calls[i].nr, calls[i].name);
		return 0;
	}
	if (argc != 4) return EXECUTED;
	uint64_t seed = strtoull(argv[1], NULL, 10), total = 0;
	int children = atoi(argv[2]), n = atoi(argv[3]), finished = 0, exited = 0, killed = 0, hung = 0;
	char start[32];
	parent = getpid(), in_engine = seed % 4 == 0;
	umask(0), getcwd(start, sizeof start);
	seen = mmap(NULL, MAX_NR * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tids = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < COUNT(calls); i++) total_weight += calls[i].weight;
	for (int i = 0; i < children; i++) {
		int status = -1;
		snprintf(home, sizeof home, "%s/c%d", start, i), mkdir(home, 0777);
		for (int k = 0; k < THREADS; k++) tids[k] = 0;
		pid_t pid = fork();
		if (pid == 0) setpgid(0, 0), chdir(home), child(seed * 1000 + i, n);
		if (!supervise(pid, &status)) hung++;
		else if (WIFSIGNALED(status)) killed++;
		else if (WEXITSTATUS(status) == FINISHED) finished++;
		else exited++;
		kill(-pid, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) {}
	}
	printf("\nchildren: %d finished, %d exited before, %d were killed by a signal, %d hung\n", finished, exited, killed, hung);
	for (unsigned i = 0; i < COUNT(calls); i++) {
		uint64_t m = seen[calls[i].nr].made, s = seen[calls[i].nr].succeeded;
		total += m;
		printf("call %s %llu %llu%s\n", calls[i].name, (unsigned long long)m, (unsigned long long)s, calls[i].refused ? " refused" : "");
	}
	printf("calls %llu\ndone\n", (unsigned long long)total);
	return 0;
}
