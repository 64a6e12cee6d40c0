// fork, vfork, clone, posix_spawn: what a child has, shares and does not have.
#include "compat.h"
#include <linux/sched.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

extern char **environ;

static void identity(void) {
	pid_t self = getpid(), parent = getppid();
	IS(self > 0 && parent >= 0, "pids");
	IS(self == syscall(SYS_gettid), "the first thread's tid is the pid");
	pid_t child = fork();
	if (child == 0) {
		IS(getpid() != self, "the child has another pid");
		IS(getppid() == self, "its parent is this process");
		IS(getpid() == syscall(SYS_gettid), "its tid is its pid");
		IS(getpgrp() == getpgid(self) && getsid(0) == getsid(self), "its group and session are its parent's");
		_exit(0);
	}
	reap(child, "child");
	IS(child > 0 && child != self, "fork returned the child's pid");
	CALL(kill(child, 0), "it is gone");
	IS(fork() ? (wait(NULL), 1) : (_exit(0), 0), "another one");
}

static int global = 1;
static void memory(void) {
	int local = 1, *heap = malloc(sizeof(int)), *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*heap = *shared = *private = 1;
	IN_CHILD("child that writes") global = local = *heap = *shared = *private = 2;
	say("global %d, local %d, heap %d, private %d, shared %d", global, local, *heap, *private, *shared);
}

static void not_inherited(void) {
	struct itimerval t = {{0, 0}, {10, 0}}, got;
	setitimer(ITIMER_REAL, &t, NULL);
	alarm(20);
	sigset_t s, pending;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigprocmask(SIG_BLOCK, &s, NULL);
	raise(SIGUSR1);
	IN_CHILD("child") {
		getitimer(ITIMER_REAL, &got);
		IS(got.it_value.tv_sec == 0 && got.it_value.tv_usec == 0, "no timer");
		sigpending(&pending);
		IS(!sigismember(&pending, SIGUSR1), "no pending signal");
		sigprocmask(SIG_BLOCK, NULL, &s);
		IS(sigismember(&s, SIGUSR1), "the mask");
	}
	alarm(0);
	signal(SIGUSR1, SIG_IGN);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static void inherited(void) {
	umask(027);
	MUST(mkdir("sub", 0755));
	MUST(chdir("sub"));
	struct rlimit l = {100, 200};
	MUST(setrlimit(RLIMIT_NOFILE, &l));
	signal(SIGUSR2, SIG_IGN);
	prctl(PR_SET_NAME, "parent-name");
	IN_CHILD("child") {
		char dir[4096], name[32];
		say("umask %03o", umask(0));
		IS(getcwd(dir, sizeof dir) && !strcmp(strrchr(dir, '/'), "/sub"), "the folder");
		getrlimit(RLIMIT_NOFILE, &l);
		say("limit %ld %ld", (long)l.rlim_cur, (long)l.rlim_max);
		raise(SIGUSR2);
		prctl(PR_GET_NAME, name);
		say("name %s", name);
		MUST(chdir("/"));
		umask(077);
	}
	char dir[4096];
	IS(getcwd(dir, sizeof dir) && !strcmp(strrchr(dir, '/'), "/sub"), "a child's chdir stays its own");
	say("umask %03o", umask(022));
	MUST(chdir(".."));
}

static void descriptors(void) {
	int fd = MUST(open("file", O_RDWR | O_CREAT | O_TRUNC, 0600));
	MUST(write(fd, "0123456789", 10));
	MUST(lseek(fd, 2, SEEK_SET));
	IN_CHILD("child that reads and closes") {
		char b[4];
		MUST(read(fd, b, 3));
		say("%.3s", b);
		MUST(fcntl(fd, F_SETFL, O_APPEND));
		MUST(fcntl(fd, F_SETFD, FD_CLOEXEC));
		close(fd);
	}
	CALL(lseek(fd, 0, SEEK_CUR), "the offset is shared");
	IS(fcntl(fd, F_GETFL) & O_APPEND, "the status flags are shared");
	CALL(fcntl(fd, F_GETFD), "the descriptor flags are not");
	close(fd);
}

static int spawned(char *const argv[], posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr, const char *label) {
	pid_t child = 0;
	int e = CODE(posix_spawn(&child, argv[0], actions, attr, argv, environ), "%s", label);
	return e ? -1 : reap(child, label);
}

static void spawn(void) {
	char *hello[] = {"/bin/sh", "-c", "sleep 0.05; echo spawned; exit 3", NULL}, *none[] = {"/no/such/program", NULL}, *cat[] = {"/bin/cat", NULL};
	char *mask[] = {"/bin/sh", "-c", "kill -USR1 $$; exit 5", NULL};
	spawned(hello, NULL, NULL, "a shell");
	spawned(none, NULL, NULL, "no program");
	posix_spawn_file_actions_t a;
	posix_spawn_file_actions_init(&a);
	int fd = MUST(open("input", O_RDWR | O_CREAT | O_TRUNC, 0600));
	MUST(write(fd, "from a file\n", 12));
	close(fd);
	posix_spawn_file_actions_addopen(&a, 0, "input", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&a, 1, "output", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	spawned(cat, &a, NULL, "cat with files");
	char b[32] = "";
	fd = MUST(open("output", O_RDONLY));
	MUST(read(fd, b, sizeof b - 1));
	say("it wrote: %s", strtok(b, "\n"));
	posix_spawnattr_t attr;
	posix_spawnattr_init(&attr);
	sigset_t all;
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	spawned(mask, NULL, &attr, "with all signals blocked");
}

static void vforks(void) {
	volatile int v = 1;
	pid_t child = vfork();
	if (child == 0) {
		v = 2;
		_exit(7);
	}
	say("memory is shared: %d", v);
	reap(child, "child");
	int64_t start = now_ms();
	child = vfork();
	if (child == 0) {
		struct timespec t = {0, 30000000};
		syscall(SYS_nanosleep, &t, NULL);
		_exit(0);
	}
	IS(now_ms() - start >= 29, "the parent waits");
	reap(child, "child");
	child = vfork();
	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	reap(child, "vfork and exec");
	child = vfork();
	if (child == 0) {
		execl("/no/such/program", "x", NULL);
		_exit(errno == ENOENT ? 9 : 8);
	}
	reap(child, "vfork and a failed exec");
	child = vfork();
	if (child == 0) raise(SIGKILL);
	reap(child, "vfork and a kill");
}

static long raw_clone(unsigned long flags, pid_t *ptid, pid_t *ctid) { return syscall(SYS_clone, flags, NULL, ptid, ctid, 0); }

static void taken(int signo) {}

// handler_of is 0 for the default, 1 for a signal that is ignored, 2 for a handler.
static int handler_of(int signo) {
	struct sigaction a;
	sigaction(signo, NULL, &a);
	return a.sa_handler == SIG_DFL ? 0 : a.sa_handler == SIG_IGN ? 1 : 2;
}

static void clones(void) {
	pid_t ptid = 0, ctid = 0;
	int status;
	pid_t child = raw_clone(CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, &ptid, &ctid);
	if (child == 0) syscall(SYS_exit_group, ctid == syscall(SYS_getpid) ? 0 : 1);
	IS(ptid == child, "PARENT_SETTID");
	reap(child, "CHILD_SETTID");
	child = raw_clone(0, NULL, NULL);
	if (child == 0) syscall(SYS_exit_group, 3);
	CALL(waitpid(child, &status, 0), "wait for a child without a signal");
	IS(waitpid(child, &status, __WALL) == child, "with __WALL");
	show_status("child", status);
	child = raw_clone(SIGUSR1, NULL, NULL);
	signal(SIGUSR1, SIG_IGN);
	if (child == 0) syscall(SYS_exit_group, 4);
	IS(waitpid(child, &status, __WCLONE) == child, "a child with another signal, with __WCLONE");
	show_status("child", status);
	int fd = MUST(eventfd(0, 0));
	child = raw_clone(CLONE_FILES | SIGCHLD, NULL, NULL);
	if (child == 0) {
		close(fd);
		syscall(SYS_exit_group, 0);
	}
	reap(child, "CLONE_FILES");
	CALL(fcntl(fd, F_GETFD), "the child closed the descriptor for both");
	MUST(mkdir("there", 0700));
	child = raw_clone(CLONE_FS | SIGCHLD, NULL, NULL);
	if (child == 0) {
		chdir("there");
		umask(0123);
		syscall(SYS_exit_group, 0);
	}
	reap(child, "CLONE_FS");
	char dir[4096];
	IS(getcwd(dir, sizeof dir) && !strcmp(strrchr(dir, '/'), "/there"), "the child changed the folder of both");
	say("umask %03o", umask(022));
	CALL(raw_clone(CLONE_THREAD, NULL, NULL), "a thread without its memory");
	CALL(raw_clone(CLONE_SIGHAND, NULL, NULL), "handlers without memory");
	struct clone_args args = {.exit_signal = SIGCHLD};
	child = syscall(SYS_clone3, &args, sizeof args);
	if (child == 0) syscall(SYS_exit_group, 6);
	reap(child, "clone3");
	int pidfd = -1;
	args.flags = CLONE_PIDFD, args.pidfd = (uintptr_t)&pidfd;
	child = syscall(SYS_clone3, &args, sizeof args);
	if (child == 0) syscall(SYS_exit_group, 6);
	IS(pidfd >= 0 && fcntl(pidfd, F_GETFD) == FD_CLOEXEC, "clone3 with a pidfd");
	reap(child, "clone3");
	close(pidfd);
	signal(SIGUSR1, SIG_IGN), signal(SIGUSR2, taken);
	args = (struct clone_args){.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
	child = syscall(SYS_clone3, &args, sizeof args);
	if (child == 0) syscall(SYS_exit_group, handler_of(SIGUSR1) * 10 + handler_of(SIGUSR2));
	reap(child, "clone3 without handlers");
	say("the parent's are %d and %d", handler_of(SIGUSR1), handler_of(SIGUSR2));
	CALL(syscall(SYS_clone3, &args, 8), "clone3 with a short struct");
	args.exit_signal = 200;
	CALL(syscall(SYS_clone3, &args, sizeof args), "clone3 with a bad signal");
}

static void before(void) { say("before"); }
static void in_parent(void) { say("after, in the parent"); }
static void in_child(void) { global = 77; }
static void handlers(void) {
	pthread_atfork(before, in_parent, in_child);
	pid_t child = fork();
	if (child == 0) _exit(global);
	reap(child, "child with atfork");
}

static void *idle(void *arg) {
	for (;;) pause();
}
static void threads(void) {
	pthread_t t;
	pthread_create(&t, NULL, idle, NULL);
	pid_t child = fork();
	if (child == 0) {
		char path[64];
		snprintf(path, sizeof path, "/proc/self/task/%d", (int)getpid());
		_exit(access(path, F_OK) == 0 ? 0 : 1);
	}
	reap(child, "a child of a process with two threads");
	pthread_cancel(t);
	pthread_join(t, NULL);
}

CASES(C(identity), C(memory), C(not_inherited), C(inherited), C(descriptors), C(spawn), C(vforks), C(clones), C(handlers), C(threads))
