// Descriptors: dup in all forms, fcntl, close_range, the lowest free number.
#include "compat.h"
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int null(void) { return MUST(open("/dev/null", O_RDWR)); }

static void numbers(void) {
	int a = null(), b = null(), c = null();
	IS(b > a && c > b, "numbers rise");
	close(b);
	IS(null() == b, "the lowest free one is used");
	close(a), close(c);
	int p[2];
	MUST(pipe(p));
	IS(p[0] == a && p[1] == c, "a pipe takes the two lowest");
	CALL(close(p[0]), "close");
	CALL(close(p[0]), "close again");
	CALL(close(-1), "close -1");
	close(p[1]), close(b);
}

static void dups(void) {
	int fd = null(), d;
	MUST(fcntl(fd, F_SETFD, FD_CLOEXEC));
	d = MUST(dup(fd));
	CALL(fcntl(d, F_GETFD), "dup has no close-on-exec");
	CALL(dup2(fd, fd) == fd ? 0 : -1, "dup2 on itself");
	CALL(fcntl(fd, F_GETFD), "it keeps its flag");
	CALL(dup3(fd, fd, 0), "dup3 on itself");
	CALL(dup3(fd, 50, O_CLOEXEC), "dup3 to 50");
	CALL(fcntl(50, F_GETFD), "close-on-exec");
	CALL(dup3(fd, 50, 0x40), "a bad flag");
	CALL(dup2(fd, -1), "dup2 to -1");
	CALL(dup2(CLOSED_FD, 51), "dup2 of a closed one");
	CALL(dup2(CLOSED_FD, CLOSED_FD), "dup2 of a closed one on itself");
	CALL(dup(CLOSED_FD), "dup of a closed one");
	CALL(fcntl(fd, F_DUPFD, 60), "F_DUPFD from 60");
	CALL(fcntl(fd, F_DUPFD, 60), "again");
	CALL(fcntl(fd, F_DUPFD_CLOEXEC, 60), "F_DUPFD_CLOEXEC");
	CALL(fcntl(62, F_GETFD), "its flag");
	CALL(fcntl(fd, F_DUPFD, -1), "from -1");
	int p[2];
	char c;
	MUST(pipe2(p, O_NONBLOCK));
	MUST(dup2(fd, p[1]));
	CALL(read(p[0], &c, 1), "dup2 over the only write end closes it");
	for (int i = 50; i <= 62; i++) close(i);
	close(fd), close(d), close(p[0]), close(p[1]);
}

static void flags(void) {
	int fd = MUST(open("f", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
	CALL(fcntl(fd, F_GETFD), "F_GETFD");
	CALL(fcntl(fd, F_SETFD, 0), "F_SETFD 0");
	CALL(fcntl(fd, F_GETFD), "F_GETFD");
	CALL(fcntl(fd, F_SETFD, 0xffff), "F_SETFD of all bits");
	CALL(fcntl(fd, F_GETFD), "F_GETFD");
	say("flags %#o", fcntl(fd, F_GETFL));
	CALL(fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND), "F_SETFL");
	say("flags %#o", fcntl(fd, F_GETFL));
	CALL(fcntl(fd, F_SETFL, O_WRONLY | O_TRUNC | O_CREAT), "F_SETFL of what cannot change");
	say("flags %#o", fcntl(fd, F_GETFL));
	CALL(fcntl(fd, 9999), "a command that does not exist");
	CALL(fcntl(CLOSED_FD, F_GETFD), "a closed descriptor");
	CALL(fcntl(fd, F_SETOWN, getpid()), "F_SETOWN");
	IS(fcntl(fd, F_GETOWN) == getpid(), "F_GETOWN");
	int on = 1, n = -1;
	CALL(ioctl(fd, FIONBIO, &on), "FIONBIO");
	CALL(ioctl(fd, FIOCLEX), "FIOCLEX");
	CALL(fcntl(fd, F_GETFD), "F_GETFD");
	CALL(ioctl(fd, FIONCLEX), "FIONCLEX");
	CALL(fcntl(fd, F_GETFD), "F_GETFD");
	MUST(write(fd, "12345", 5)), MUST(lseek(fd, 2, SEEK_SET));
	CALL(ioctl(fd, FIONREAD, &n), "FIONREAD of a file");
	say("%d", n);
	CALL(ioctl(fd, TCGETS, &n), "TCGETS of a file");
	CALL(ioctl(fd, 0xdeadbeef, &n), "an ioctl that does not exist");
	CALL(isatty(fd), "isatty");
	int r = MUST(open("f", O_RDONLY | O_NONBLOCK | O_SYNC | O_NOATIME));
	say("flags %#o", fcntl(r, F_GETFL));
	close(fd), close(r);
}

static int is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
static void ranges(void) {
	int fd = null();
	for (int i = 70; i < 80; i++) MUST(dup2(fd, i));
	CALL(syscall(SYS_close_range, 72, 74, 0), "close 72 to 74");
	say("%d%d%d%d%d", is_open(71), is_open(72), is_open(73), is_open(74), is_open(75));
	CALL(syscall(SYS_close_range, 75, 70, 0), "a range the wrong way");
	CALL(syscall(SYS_close_range, 76, 77, 99), "a bad flag");
	CALL(syscall(SYS_close_range, 76, ~0u, 0), "76 to the end");
	say("%d%d%d", is_open(75), is_open(76), is_open(79));
	if (syscall(SYS_close_range, 75, 75, 4) == 0) CALL(fcntl(75, F_GETFD), "CLOSE_RANGE_CLOEXEC");
	CALL(syscall(SYS_close_range, 500, 600, 0), "none of them is open");
	close(70), close(71), close(75), close(fd);
}

static void closing(void) {
	// A close in one thread's table is a close for all; a duplicate lives on.
	int fd = MUST(eventfd(3, EFD_NONBLOCK)), d = MUST(dup(fd));
	eventfd_t v = 0;
	close(fd);
	CALL(eventfd_read(d, &v), "the duplicate lives");
	say("%lu", (unsigned long)v);
	close(d);
	CALL(eventfd_read(d, &v), "the last is closed");
	for (int i = 0; i < 2000; i++) close(null());
	IS(null() >= 0, "two thousand opens and closes leave room");
}

// At its limit a process can neither make nor empty a file by open: there is no descriptor before anything is looked up.
static void limit(void) {
	close(MUST(open("full", O_WRONLY | O_CREAT | O_TRUNC, 0600)));
	MUST(truncate("full", 5));
	int listener = MUST(socket(AF_UNIX, SOCK_STREAM, 0)), fd = null();
	struct rlimit before, most;
	MUST(getrlimit(RLIMIT_NOFILE, &before));
	most = before, most.rlim_cur = fd + 1;
	for (int i = 0; i < fd; i++) dup(fd);
	MUST(setrlimit(RLIMIT_NOFILE, &most));
	CALL(open("made", O_WRONLY | O_CREAT, 0600), "make a file");
	CALL(creat("made", 0600), "creat");
	CALL(open("full", O_WRONLY | O_TRUNC), "empty a file");
	CALL(open("missing", O_RDONLY), "open a missing file");
	CALL(open("", O_RDONLY), "open an empty path");
	CALL(openat(CLOSED_FD, "x", O_RDONLY), "open below a closed descriptor");
	CALL(accept(listener, 0, 0), "accept of a socket that does not listen");
	CALL(fcntl(fd, F_DUPFD, 0), "F_DUPFD");
	CALL(dup2(fd, listener) == listener ? 0 : -1, "dup2 to an open one");
	CALL(dup2(fd, fd + 1), "dup2 beyond the limit");
	MUST(setrlimit(RLIMIT_NOFILE, &before));
	struct stat st;
	CALL(access("made", F_OK), "the file that was not made");
	CALL(stat("full", &st), "stat");
	say("%d bytes", (int)st.st_size);
	for (int i = 3; i < fd + fd; i++) close(i);
	unlink("full");
}

CASES(C(limit), C(numbers), C(dups), C(flags), C(ranges), C(closing))
