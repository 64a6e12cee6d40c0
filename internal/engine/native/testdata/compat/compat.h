// compat.h: how the programs of this folder print their transcripts.
//
// A program is a list of cases. It prints "== NAME" and then one line for each thing it looked at. The same program
// runs on real Linux and inside the engine, and the two transcripts must be equal. So a line never holds what may
// differ between two runs on Linux: addresses, ids, ports, times, default sizes. It says a relation instead.
//
// A line that starts with "skip" makes the comparison pass over the case (a kernel without that call). Inside the
// engine it stands for what the engine does not support: the test then says so.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define UNUSED __attribute__((unused))

// vline prints one line in one write, so that lines of several processes never mix.
static void vline(const char *end, const char *format, va_list args) {
	char line[1024];
	int saved = errno;
	int n = vsnprintf(line, sizeof line - 64, format, args);
	if (n > (int)sizeof line - 65) n = sizeof line - 65;
	n += snprintf(line + n, sizeof line - n, "%s\n", end);
	for (char *p = line; n > 0;) {
		ssize_t done = write(STDOUT_FILENO, p, n);
		if (done <= 0) break;
		p += done, n -= done;
	}
	errno = saved;
}

// say prints a line of text.
UNUSED __attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
	va_list args;
	va_start(args, format);
	vline("", format, args);
	va_end(args);
}

static const char *errno_name(int e) {
	const char *name = strerrorname_np(e);
	return e == 0 ? "0" : name ? name : "an unknown errno";
}

UNUSED static const char *signal_name(int signo) {
	const char *name = sigabbrev_np(signo);
	static char buffer[32];
	if (name) snprintf(buffer, sizeof buffer, "SIG%s", name);
	else if (signo >= SIGRTMIN) snprintf(buffer, sizeof buffer, "SIGRTMIN+%d", signo - SIGRTMIN);
	else snprintf(buffer, sizeof buffer, "signal %d", signo);
	return buffer;
}

UNUSED __attribute__((format(printf, 4, 5))) static long result(long r, int e, int hide, const char *format, ...) {
	char end[64];
	va_list args;
	va_start(args, format);
	if (r == -1) snprintf(end, sizeof end, ": -1 %s", errno_name(e));
	else if (hide) snprintf(end, sizeof end, ": ok");
	else snprintf(end, sizeof end, ": %ld", r);
	vline(end, format, args);
	va_end(args);
	return r;
}

// CALL prints a call's result, or its errno. OK hides the value of a success (a descriptor, an id).
#define CALL(expr, ...) ({ errno = 0; long r_ = (long)(expr); result(r_, errno, 0, __VA_ARGS__); })
#define OK(expr, ...) ({ errno = 0; long r_ = (long)(expr); result(r_, errno, 1, __VA_ARGS__); })
// CODE is CALL for functions that return an error number (pthread_*, posix_spawn).
#define CODE(expr, ...) ({ int c_ = (expr); c_ ? result(-1, c_, 0, __VA_ARGS__) : result(0, 0, 0, __VA_ARGS__); c_; })

// IS prints whether a relation holds.
#define IS(condition, ...) is_(!!(condition), __VA_ARGS__)
UNUSED __attribute__((format(printf, 2, 3))) static int is_(int yes, const char *format, ...) {
	va_list args;
	va_start(args, format);
	vline(yes ? ": yes" : ": no", format, args);
	va_end(args);
	return yes;
}

// must stops the program when something that is not under test fails.
#define MUST(expr) ({ errno = 0; long m_ = (long)(expr); if (m_ == -1) { say("line %d: %s: %s", __LINE__, #expr, errno_name(errno)); _exit(99); } m_; })

// events names the bits of poll and epoll, which are the same numbers.
UNUSED static const char *events(unsigned mask) {
	static const struct { unsigned bit; const char *name; } names[] = {
		{POLLIN, "IN"}, {POLLPRI, "PRI"}, {POLLOUT, "OUT"}, {POLLERR, "ERR"}, {POLLHUP, "HUP"}, {POLLNVAL, "NVAL"},
		{POLLRDNORM, "RDNORM"}, {POLLRDBAND, "RDBAND"}, {POLLWRNORM, "WRNORM"}, {POLLWRBAND, "WRBAND"}, {0x2000, "RDHUP"},
	};
	static char text[4][128];
	static int next;
	char *p = text[next++ % 4];
	*p = 0;
	for (unsigned i = 0; i < COUNT(names); i++)
		if (mask & names[i].bit) {
			if (*p) strcat(p, "+");
			strcat(p, names[i].name);
			mask &= ~names[i].bit;
		}
	if (mask) sprintf(p + strlen(p), "+%#x", mask);
	return *p ? p : "none";
}

#define ANY (POLLIN | POLLOUT | POLLPRI | 0x2000)

// ready waits up to ms for one of the events, and returns those that came.
UNUSED static int ready(int fd, int wanted, int ms) {
	struct pollfd p = {.fd = fd, .events = wanted};
	int n;
	do n = poll(&p, 1, ms);
	while (n < 0 && errno == EINTR);
	return n > 0 ? p.revents : 0;
}

// POLL prints the events of a descriptor now; SETTLED waits until all of `wanted` are there (or for 2 s).
#define POLL(fd, ...) poll_(ready(fd, ANY, 0), __VA_ARGS__)
#define SETTLED(fd, wanted, ...) poll_(settled(fd, wanted), __VA_ARGS__)
UNUSED __attribute__((format(printf, 2, 3))) static void poll_(int revents, const char *format, ...) {
	char end[140];
	va_list args;
	va_start(args, format);
	snprintf(end, sizeof end, ": %s", events(revents));
	vline(end, format, args);
	va_end(args);
}
UNUSED static int settled(int fd, int wanted) {
	for (int i = 0;; i++) {
		int got = ready(fd, ANY, 0);
		if ((got & wanted) == wanted || i == 400) return got;
		usleep(5000);
	}
}

UNUSED static int64_t now_ms(void) {
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

UNUSED static void nap(int ms) {
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&ts, &ts) < 0 && errno == EINTR) {}
}

// asleep waits (up to 2 s) until a thread of this process, or a child, sleeps in a call.
UNUSED static void asleep(pid_t tid) {
	char path[64], text[512];
	for (int i = 0, seen = 0; i < 400 && seen < 2; i++) {
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
			fd = open(path, O_RDONLY | O_CLOEXEC);
		}
		long n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
		if (fd >= 0) close(fd);
		text[n < 0 ? 0 : n] = 0;
		char *p = strrchr(text, ')');
		seen = p && p[1] == ' ' && p[2] == 'S' ? seen + 1 : 0;
		nap(5);
	}
}

UNUSED static void show_status(const char *label, int status) {
	if (WIFEXITED(status)) say("%s: exited %d", label, WEXITSTATUS(status));
	else if (WIFSIGNALED(status)) say("%s: killed by %s", label, signal_name(WTERMSIG(status)));
	else if (WIFSTOPPED(status)) say("%s: stopped by %s", label, signal_name(WSTOPSIG(status)));
	else if (WIFCONTINUED(status)) say("%s: continued", label);
	else say("%s: status %#x", label, status);
}

// reap waits for a child and shows how it ended.
UNUSED static int reap(pid_t pid, const char *label) {
	int status = 0;
	pid_t got;
	do got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0) say("%s: wait: %s", label, errno_name(errno));
	else show_status(label, status);
	return status;
}

// IN_CHILD runs a block in a child process and shows how that ended.
#define IN_CHILD(label) \
	for (pid_t child_ = fork(), once_ = 1; once_; once_ = 0, child_ ? (void)reap(child_, label) : _exit(0)) \
		if (child_ == 0)

// unprivileged makes the rest of this process an ordinary user's, if it was root's.
UNUSED static void unprivileged(void) {
	if (geteuid() != 0) return;
	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0) {
		say("skip: no other user here");
		_exit(0);
	}
}

// A descriptor that poll and the like find closed: high enough that nobody has opened it.
enum { CLOSED_FD = 900 };

struct a_case {
	const char *name;
	void (*run)(void);
};

// play runs the cases named by the arguments, or all; "-list" prints their names.
UNUSED static int play(const struct a_case *cases, size_t n, int argc, char **argv) {
	for (size_t i = 0; i < n; i++) {
		int wanted = argc == 1;
		for (int k = 1; k < argc; k++) wanted |= !strcmp(argv[k], cases[i].name);
		if (argc == 2 && !strcmp(argv[1], "-list")) say("%s", cases[i].name);
		else if (wanted) {
			say("== %s", cases[i].name);
			cases[i].run();
		}
	}
	return 0;
}
#define C(f) {#f, f}
#define CASES(...) \
	int main(int argc, char **argv) { \
		static const struct a_case cases[] = {__VA_ARGS__}; \
		return play(cases, COUNT(cases), argc, argv); \
	}
