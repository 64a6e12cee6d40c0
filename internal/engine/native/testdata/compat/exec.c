// execve: arguments, environment, scripts, errors, what stays and what goes.
#include "compat.h"
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

extern char **environ;

static void write_file(const char *path, const char *text, int mode) {
	unlink(path);
	int fd = MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
	MUST(write(fd, text, strlen(text)));
	MUST(fchmod(fd, mode));
	close(fd);
}
// run executes a program in a child.
static void run(const char *label, const char *path, char *const argv[], char *const env[]) {
	IN_CHILD(label) {
		execve(path, argv, env);
		say("%s: -1 %s", label, errno_name(errno));
		_exit(1);
	}
}
#define ARGV(...) ((char *[]){__VA_ARGS__, NULL})

// The program executes itself with this as its first argument.
static void child(int argc, char **argv) {
	const char *what = argv[2];
	if (!strcmp(what, "show")) {
		for (int i = 3; i < argc; i++) say("argument %d: \"%s\"", i - 3, argv[i]);
		for (char **e = environ; *e; e++) say("environment: %s", *e);
	} else if (!strcmp(what, "state")) {
		struct sigaction a;
		sigset_t s;
		sigaction(SIGUSR1, NULL, &a);
		IS(a.sa_handler == SIG_DFL, "a handled signal is default again");
		sigaction(SIGUSR2, NULL, &a);
		IS(a.sa_handler == SIG_IGN, "an ignored one stays ignored");
		sigprocmask(SIG_BLOCK, NULL, &s);
		IS(sigismember(&s, SIGTERM) && !sigismember(&s, SIGHUP), "the mask stays");
		sigpending(&s);
		IS(sigismember(&s, SIGTERM), "a pending signal stays");
		IS(getpid() == atoi(argv[3]), "the pid stays");
		IS(syscall(SYS_gettid) == getpid(), "the thread is the first one");
		CALL(fcntl(atoi(argv[4]), F_GETFD), "an open descriptor");
		CALL(lseek(atoi(argv[4]), 0, SEEK_CUR), "its offset");
		CALL(fcntl(atoi(argv[5]), F_GETFD), "one with close-on-exec");
		say("umask %03o", umask(0));
		struct itimerval t;
		getitimer(ITIMER_REAL, &t);
		IS(t.it_value.tv_sec > 0, "a timer stays");
		char name[32];
		prctl(PR_GET_NAME, name);
		say("name: %s", name);
		stack_t st;
		sigaltstack(NULL, &st);
		IS(st.ss_flags == SS_DISABLE, "no alternate stack");
	}
}

static void arguments(void) {
	char *big = malloc(100001), *args[60];
	memset(big, 'x', 100000), big[100000] = 0;
	run("arguments", "/proc/self/exe", ARGV("zero", "child", "show", "a b", "", "c\nd"), ARGV("A=1", "B=two words", "EMPTY=", "noequals"));
	run("no environment", "/proc/self/exe", ARGV("zero", "child", "show"), (char *[]){NULL});
	run("a null environment", "/proc/self/exe", ARGV("zero", "child", "show"), NULL);
	run("an argument of 100000 bytes", "/bin/sh", ARGV("sh", "-c", "echo ${#1}", "x", big), environ);
	char *huge = malloc(200001);
	memset(huge, 'y', 200000), huge[200000] = 0;
	run("an argument of 200000 bytes", "/bin/true", ARGV("true", huge), environ);
	for (int i = 0; i < 59; i++) args[i] = big;
	args[59] = NULL;
	run("6 MB of arguments", "/bin/true", args, (char *[]){NULL});
	run("a bad address of argv", "/bin/true", (char **)8, environ);
	run("a bad address of a path", (char *)8, ARGV("x"), environ);
	run("a bad address in argv", "/bin/true", ARGV("true", (char *)8), environ);
}

static void errors(void) {
	write_file("plain", "text", 0644);
	write_file("nothing", "", 0755);
	write_file("junk", "this is not a program", 0755);
	write_file("half", "\177ELF\2\1\1", 0755);
	MUST(mkdir("dir", 0755));
	MUST(symlink("loop", "loop"));
	run("missing", "./missing", ARGV("x"), environ);
	run("not executable", "./plain", ARGV("x"), environ);
	run("an empty file", "./nothing", ARGV("x"), environ);
	run("junk", "./junk", ARGV("x"), environ);
	run("half a header", "./half", ARGV("x"), environ);
	run("a folder", "./dir", ARGV("x"), environ);
	run("below a file", "./plain/x", ARGV("x"), environ);
	run("a loop", "./loop", ARGV("x"), environ);
	run("an empty path", "", ARGV("x"), environ);
	char name[300];
	memset(name, 'n', 299), name[299] = 0;
	run("a long name", name, ARGV("x"), environ);
}

// Linux 6.11 and 6.12 let a program be executed while it is being written, those before and after do not.
static void busy(void) {
	struct utsname u;
	uname(&u);
	if (!strncmp(u.release, "6.11.", 5) || !strncmp(u.release, "6.12.", 5)) {
		say("skip: this kernel allows it");
		return;
	}
	write_file("busy", "#!/bin/sh\nexit 0\n", 0755);
	int fd = MUST(open("busy", O_WRONLY));
	CALL(execve("./busy", ARGV("busy"), environ), "exec of what is open for writing");
	close(fd);
	run("once it is closed", "./busy", ARGV("busy"), environ);
}

static void copy_program(const char *from, const char *to) {
	static char b[1 << 20];
	int in = MUST(open(from, O_RDONLY)), out = MUST(open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755));
	for (long n; (n = MUST(read(in, b, sizeof b))) > 0;) MUST(write(out, b, n));
	close(in), close(out);
}

// A program that runs can be replaced and removed, but not written.
static void running(void) {
	int p[2];
	char path[64], target[512] = "", b[8];
	MUST(pipe(p));
	copy_program("/bin/sleep", "program");
	symlink("program", "way");
	pid_t child = MUST(fork());
	if (child == 0) {
		MUST(fcntl(p[1], F_SETFD, FD_CLOEXEC)), close(p[0]);
		execve("./way", ARGV("sleep", "100"), environ);
		_exit(1);
	}
	close(p[1]);
	MUST(read(p[0], b, 1)); // the end of the pipe: it runs
	CALL(open("program", O_WRONLY), "open it for writing");
	CALL(open("way", O_RDWR), "through a link");
	CALL(open("program", O_RDONLY | O_TRUNC), "empty it");
	CALL(open("program", O_WRONLY | O_CREAT | O_APPEND, 0600), "append to it");
	CALL(truncate("program", 10), "truncate");
	CALL(open("program", O_WRONLY | O_CREAT | O_EXCL, 0600), "make it anew");
	OK(open("program", O_RDONLY), "read it");
	OK(open("program", O_PATH), "O_PATH");
	CALL(chmod("program", 0700), "chmod");
	sprintf(path, "/proc/%d/exe", child);
	CALL(open(path, O_WRONLY), "through /proc");
	CALL(rename("program", "renamed"), "rename");
	MUST(readlink(path, target, sizeof target - 1));
	say("it is now %s", strrchr(target, '/'));
	CALL(open("renamed", O_WRONLY), "open it by its new name");
	CALL(unlink("renamed"), "unlink");
	memset(target, 0, sizeof target);
	MUST(readlink(path, target, sizeof target - 1));
	say("it is now %s", strrchr(target, '/'));
	struct stat s;
	CALL(stat(path, &s), "stat it");
	say("links %d", (int)s.st_nlink);
	OK(open(path, O_RDONLY), "read it");
	copy_program("/bin/sleep", "program");
	OK(open("program", O_WRONLY), "a new file of that name");
	MUST(kill(child, SIGKILL)), MUST(waitpid(child, NULL, 0));
	copy_program("/bin/true", "program");
	CALL(chmod("program", 0755), "chmod");
	OK(open("program", O_WRONLY | O_TRUNC), "what no longer runs");
}

static void scripts(void) {
	write_file("script", "#!/bin/sh\necho \"$0 $# $*\"\nexit 7\n", 0755);
	write_file("withargument", "#! /bin/sh -e\nfalse\nexit 1\n", 0755);
	write_file("nointerpreter", "#!/no/such/interpreter\n", 0755);
	write_file("empty", "#!\n", 0755);
	write_file("nested", "#!./script with argument\n", 0755);
	write_file("unreadable", "#!/bin/sh\nexit 0\n", 0111);
	write_file("nonewline", "#!/bin/true", 0755);
	run("a script", "./script", ARGV("zero", "one", "two words"), environ);
	run("with an argument", "./withargument", ARGV("zero"), environ);
	run("without its interpreter", "./nointerpreter", ARGV("zero"), environ);
	run("without a name", "./empty", ARGV("zero"), environ);
	run("a script of a script", "./nested", ARGV("zero", "more"), environ);
	run("without a newline", "./nonewline", ARGV("zero"), environ);
	IN_CHILD("execlp") {
		setenv("PATH", "/nowhere:.:/bin", 1);
		execlp("script", "zero", "found", NULL);
		_exit(1);
	}
	IN_CHILD("execvp of junk goes to the shell") {
		write_file("commands", "echo by the shell\nexit 4\n", 0755);
		setenv("PATH", ".", 1);
		execlp("commands", "commands", NULL);
		_exit(1);
	}
}

static void on_signal(int signo) {}
static void state(void) {
	IN_CHILD("child") {
		sigset_t s;
		char pid[16], kept[16], closed[16];
		signal(SIGUSR1, on_signal), signal(SIGUSR2, SIG_IGN);
		sigemptyset(&s);
		sigaddset(&s, SIGTERM);
		sigprocmask(SIG_BLOCK, &s, NULL);
		raise(SIGTERM);
		int fd = MUST(open("data", O_RDWR | O_CREAT | O_TRUNC, 0600)), gone = MUST(open("data", O_RDONLY | O_CLOEXEC));
		MUST(write(fd, "12345", 5));
		umask(0137);
		alarm(100);
		prctl(PR_SET_NAME, "old");
		stack_t st = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
		sigaltstack(&st, NULL);
		sprintf(pid, "%d", (int)getpid()), sprintf(kept, "%d", fd), sprintf(closed, "%d", gone);
		MUST(symlink("/proc/self/exe", "link"));
		execve("link", ARGV("zero", "child", "state", pid, kept, closed), environ);
		say("exec: %s", errno_name(errno));
	}
}

static void *exec_in_thread(void *arg) {
	char pid[16];
	sprintf(pid, "%d", (int)getpid());
	execve("/bin/sh", ARGV("sh", "-c", "test $$ = $1 && exit 3", "x", pid), environ);
	return NULL;
}
static void *idle(void *arg) {
	for (;;) pause();
}
static void threads(void) {
	IN_CHILD("exec by another thread") {
		pthread_t t;
		pthread_create(&t, NULL, idle, NULL);
		pthread_create(&t, NULL, exec_in_thread, NULL);
		for (;;) pause();
	}
	IN_CHILD("a failed exec with threads") {
		pthread_t t;
		pthread_create(&t, NULL, idle, NULL);
		execve("./missing", ARGV("x"), environ);
		_exit(errno == ENOENT && pthread_kill(t, 0) == 0 ? 2 : 1);
	}
}

static void at(void) {
	int dir = MUST(open("/bin", O_RDONLY | O_DIRECTORY)), fd = MUST(open("/bin/true", O_RDONLY)), path = MUST(open("/bin/true", O_PATH));
	IN_CHILD("relative to a folder") syscall(SYS_execveat, dir, "true", ARGV("true"), environ, 0), _exit(9);
	IN_CHILD("an empty path") syscall(SYS_execveat, fd, "", ARGV("true"), environ, AT_EMPTY_PATH), _exit(9);
	IN_CHILD("an O_PATH descriptor") syscall(SYS_execveat, path, "", ARGV("true"), environ, AT_EMPTY_PATH), _exit(9);
	IN_CHILD("fexecve") fexecve(fd, ARGV("true"), environ), _exit(9);
	CALL(syscall(SYS_execveat, fd, "", ARGV("true"), environ, 0), "an empty path without the flag");
	CALL(syscall(SYS_execveat, fd, "true", ARGV("true"), environ, 0), "relative to a file");
	CALL(syscall(SYS_execveat, CLOSED_FD, "true", ARGV("true"), environ, 0), "relative to a closed descriptor");
	CALL(syscall(SYS_execveat, dir, "true", ARGV("true"), environ, 0x8000), "a bad flag");
	MUST(symlink("/bin/true", "soft"));
	CALL(syscall(SYS_execveat, AT_FDCWD, "soft", ARGV("true"), environ, AT_SYMLINK_NOFOLLOW), "a symlink with NOFOLLOW");
}

static void memory(void) {
	int fd = MUST(syscall(SYS_memfd_create, "program", 0)), from = MUST(open("/bin/true", O_RDONLY)), again;
	char b[65536], path[64];
	for (ssize_t n; (n = read(from, b, sizeof b)) > 0;) MUST(write(fd, b, n));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	IN_CHILD("a file in memory, open for writing since it was made") fexecve(fd, ARGV("true"), environ), _exit(9);
	IN_CHILD("by its name below /proc") execve(path, ARGV("true"), environ), _exit(9);
	IS((again = open(path, O_RDWR)) >= 0, "opened for writing once more");
	IN_CHILD("while it is open so") { fexecve(fd, ARGV("true"), environ); _exit(errno == ETXTBSY ? 3 : 9); }
	close(again);
	IN_CHILD("and no more") fexecve(fd, ARGV("true"), environ), _exit(9);
}

static void permissions(void) {
	if (geteuid() != 0) {
		say("skip: only root has a stranger");
		return;
	}
	write_file("noread", "#!/bin/sh\nexit 0\n", 0711);
	write_file("mine", "#!/bin/sh\nexit 0\n", 0700);
	MUST(chmod(".", 0755));
	IN_CHILD("somebody else's private program") {
		unprivileged();
		execve("./mine", ARGV("x"), environ);
		_exit(errno == EACCES ? 4 : 5);
	}
}

// mapped_bytes is how much memory is mapped.
static long mapped_bytes(void) {
	static char text[1 << 16];
	long bytes = 0;
	unsigned long start, end;
	int fd = MUST(open("/proc/self/maps", O_RDONLY)), size = 0;
	for (int n; (n = MUST(read(fd, text + size, sizeof text - 1 - size))) > 0;) size += n;
	text[size] = 0;
	close(fd);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2) bytes += end - start;
	return bytes;
}
static int other_status(void *path) {
	execve(path, ARGV("true"), ARGV(NULL));
	return errno;
}
// shared executes programs in processes that share memory, and perhaps descriptors, with this one, of which nothing stays behind here.
static void shared(void) {
	static char stack[1 << 16] __attribute__((aligned(16)));
	static const struct { const char *what; int flags; char *path; } ways[] = {
		{"vfork", CLONE_VM | CLONE_VFORK, "/bin/true"}, {"vfork, an error", CLONE_VM | CLONE_VFORK, "/no/such"},
		{"without a wait", CLONE_VM, "/bin/true"}, {"with descriptors", CLONE_VM | CLONE_VFORK | CLONE_FILES, "/bin/true"}};
	struct rlimit few = {64, 64}, before;
	MUST(getrlimit(RLIMIT_NOFILE, &before)), few.rlim_max = before.rlim_max, MUST(setrlimit(RLIMIT_NOFILE, &few));
	for (unsigned i = 0; i < COUNT(ways); i++) {
		long bytes = mapped_bytes();
		int right = 0, status;
		for (int k = 0; k < 100; k++) {
			pid_t pid = MUST(clone(other_status, stack + sizeof stack, ways[i].flags | SIGCHLD, ways[i].path));
			MUST(waitpid(pid, &status, 0));
			right += WIFEXITED(status) && WEXITSTATUS(status) == (i == 1 ? ENOENT : 0);
		}
		say("%s: %d of 100 end well, %ld bytes more are mapped", ways[i].what, right, mapped_bytes() - bytes);
	}
	MUST(setrlimit(RLIMIT_NOFILE, &before));
}

int main(int argc, char **argv) {
	static const struct a_case cases[] = {C(arguments), C(errors), C(busy), C(running), C(scripts), C(state), C(threads), C(at), C(memory), C(permissions), C(shared)};
	if (argc > 2 && !strcmp(argv[1], "child")) child(argc, argv);
	else return play(cases, COUNT(cases), argc, argv);
	return 0;
}
