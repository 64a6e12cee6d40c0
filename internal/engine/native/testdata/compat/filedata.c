// Contents: reading, writing, seeking, holes, sizes, maps, memfds, extended attributes, moving bytes between files.
#include "compat.h"
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

static char buf[65536];

static int fresh(void) {
	static int n;
	char name[32];
	snprintf(name, sizeof name, "f%d-%d", getpid(), n++);
	return MUST(open(name, O_RDWR | O_CREAT | O_EXCL, 0644));
}

static void size(int fd, const char *label) {
	struct stat st;
	fstat(fd, &st);
	say("%s: size %ld", label, (long)st.st_size);
}

static void offsets(void) {
	int fd = fresh();
	CALL(write(fd, "hello", 5), "write");
	CALL(lseek(fd, 0, SEEK_CUR), "where");
	CALL(pwrite(fd, "J", 1, 0), "pwrite");
	CALL(lseek(fd, 0, SEEK_CUR), "where");
	CALL(lseek(fd, -2, SEEK_END), "seek");
	CALL(read(fd, buf, 10), "read");
	CALL(read(fd, buf, 10), "read at the end");
	CALL(lseek(fd, -1, SEEK_SET), "before the start");
	CALL(lseek(fd, 0, 99), "a bad whence");
	CALL(lseek(fd, 100, SEEK_SET), "behind the end");
	CALL(read(fd, buf, 10), "read there");
	CALL(write(fd, "x", 1), "write there");
	size(fd, "then");
	CALL(pread(fd, buf, 10, -1), "a negative offset");
	CALL(pread(fd, buf, 20, 90), "read a hole");
	IS(buf[0] == 0 && buf[10] == 'x', "zeros and a byte");
	CALL(write(fd, NULL, 1), "from a bad address");
	CALL(read(fd, NULL, 1), "to a bad address at the end");
	lseek(fd, 0, SEEK_SET);
	CALL(read(fd, NULL, 1), "to a bad address");
	CALL(lseek(fd, 0, SEEK_CUR), "where");
	struct iovec v[3] = {{"ab", 2}, {"", 0}, {"cde", 3}};
	CALL(pwritev(fd, v, 3, 10), "pwritev");
	CALL(pread(fd, buf, 5, 10), "pread");
	IS(!memcmp(buf, "abcde", 5), "all of them");
	CALL(writev(fd, v, -1), "writev of -1");
	CALL(ftruncate(fd, 3), "ftruncate");
	size(fd, "then");
	CALL(ftruncate(fd, -1), "ftruncate to -1");
	CALL(ftruncate(fd, 5000), "ftruncate to more");
	IS(pread(fd, buf, 10, 0) == 10 && buf[2] == 'l' && buf[3] == 0, "cut and zeros");
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int app = MUST(open(path, O_WRONLY | O_APPEND));
	CALL(write(app, "end", 3), "append");
	CALL(lseek(app, 0, SEEK_CUR), "where");
	CALL(pwrite(app, "X", 1, 0), "pwrite with O_APPEND");
	size(fd, "then");
	int ro = MUST(open(path, O_RDONLY));
	CALL(write(ro, "x", 1), "write without the right");
	CALL(ftruncate(ro, 0), "ftruncate without the right");
	CALL(read(app, buf, 1), "read without the right");
	CALL(fallocate(ro, 0, 0, 10), "fallocate without the right");
	int flags = fcntl(app, F_GETFL);
	fcntl(app, F_SETFL, flags & ~O_APPEND);
	CALL(pwrite(app, "X", 1, 0), "pwrite without O_APPEND");
	size(fd, "then");
	CALL(truncate("none", 0), "truncate nothing");
	CALL(truncate(".", 0), "truncate a directory");
	CALL(fsync(fd), "fsync");
	CALL(fdatasync(fd), "fdatasync");
	int n = -1;
	lseek(fd, 4000, SEEK_SET);
	CALL(ioctl(fd, FIONREAD, &n), "FIONREAD");
	struct stat st;
	fstat(fd, &st);
	IS(n == st.st_size - 4000, "what is left");
}

static void holes(void) {
	int fd = fresh();
	MUST(ftruncate(fd, 1 << 20));
	struct stat st;
	fstat(fd, &st);
	CALL(st.st_blocks, "blocks of a hole");
	pwrite(fd, "x", 1, 8192);
	fstat(fd, &st);
	CALL(st.st_blocks, "blocks of a page");
	CALL(lseek(fd, 0, SEEK_DATA), "data from 0");
	CALL(lseek(fd, 0, SEEK_HOLE), "hole from 0");
	CALL(lseek(fd, 8192, SEEK_HOLE), "hole from 8192");
	CALL(lseek(fd, 12288, SEEK_DATA), "data from 12288");
	CALL(lseek(fd, 1 << 20, SEEK_HOLE), "hole at the end");
	CALL(lseek(fd, -1, SEEK_DATA), "data from -1");
	OK(fallocate(fd, 0, 0, 4096), "fallocate");
	OK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 2 << 20, 4096), "fallocate behind the end");
	size(fd, "then");
	OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 4096), "punch");
	IS(pread(fd, buf, 1, 8192) == 1 && buf[0] == 0, "zeros there");
	CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096), "punch without keeping the size");
	CALL(fallocate(fd, 0, -1, 10), "a bad offset");
	CALL(fallocate(fd, 0, 0, 0), "no size");
	int p[2];
	MUST(pipe(p));
	CALL(fallocate(p[1], 0, 0, 10), "a pipe");
	CALL(lseek(p[0], 0, SEEK_SET), "seek a pipe");
}

static void maps(void) {
	int fd = fresh();
	MUST(write(fd, "0123456789", 10));
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	IS(shared != MAP_FAILED && private != MAP_FAILED, "mapped");
	private[1] = 'p';
	shared[0] = 's';
	CALL(pread(fd, buf, 10, 0), "pread");
	say("%.10s", buf);
	pwrite(fd, "w", 1, 2);
	IS(shared[2] == 'w', "a write shows");
	IS(private[1] == 'p', "a private change stays");
	IN_CHILD("child") { shared[3] = 'c'; }
	IS(shared[3] == 'c', "a child's change shows");
	int ro = MUST(open("/etc/hostname", O_RDONLY));
	IS(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ro, 0) == MAP_FAILED && errno == EACCES, "no shared writing without the right");
	IS(mmap(NULL, 4096, PROT_READ, MAP_SHARED, ro, 0) != MAP_FAILED, "shared reading");
	IS(mmap(NULL, 4096, PROT_READ, MAP_SHARED, CLOSED_FD, 0) == MAP_FAILED && errno == EBADF, "no descriptor");
	IS(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 1) == MAP_FAILED && errno == EINVAL, "a bad offset");
	int dir = MUST(open(".", O_RDONLY));
	IS(mmap(NULL, 4096, PROT_READ, MAP_SHARED, dir, 0) == MAP_FAILED && errno == ENODEV, "a directory");
	MUST(ftruncate(fd, 8192));
	char *more = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	more[5000] = 'm';
	close(fd);
	IS(shared[0] == 's' && more[5000] == 'm', "a map stays after close");
}

static void memory(void) {
	int fd = OK(memfd_create("name", MFD_ALLOW_SEALING | MFD_CLOEXEC), "memfd_create");
	char path[64], target[256];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, target, sizeof target - 1);
	say("link %.*s", (int)n, target);
	write(fd, "hello", 5);
	size(fd, "then");
	struct stat st;
	fstat(fd, &st);
	say("mode %o links %d", st.st_mode, (int)st.st_nlink);
	CALL(fcntl(fd, F_GET_SEALS), "seals");
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), "seal its size");
	CALL(ftruncate(fd, 3), "shrink");
	CALL(ftruncate(fd, 10), "grow");
	CALL(pwrite(fd, "xxxxxxxxxx", 10, 0), "write beyond the end");
	CALL(pwrite(fd, "x", 1, 0), "write inside");
	int again = OK(open(path, O_RDWR), "open it again");
	CALL(fcntl(again, F_ADD_SEALS, F_SEAL_WRITE), "seal writing");
	CALL(pwrite(fd, "x", 1, 0), "write");
	IS(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EPERM, "no map for writing");
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), "seal the seals");
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), "seal again");
	CALL(fcntl(fd, F_GET_SEALS), "seals");
	fd = MUST(memfd_create("plain", 0));
	CALL(fcntl(fd, F_GET_SEALS), "seals of a plain one");
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), "seal a plain one");
	CALL(memfd_create("x", 0x8000), "a bad flag");
	int p[2];
	MUST(pipe(p));
	CALL(fcntl(p[0], F_GET_SEALS), "seals of a pipe");
}

static void attributes(void) {
	int fd = fresh();
	if (fsetxattr(fd, "user.a", "one", 3, 0) < 0 && errno == EOPNOTSUPP) {
		say("skip: no extended attributes here");
		return;
	}
	CALL(fgetxattr(fd, "user.a", buf, sizeof buf), "get");
	CALL(fgetxattr(fd, "user.a", NULL, 0), "get its size");
	CALL(fgetxattr(fd, "user.a", buf, 2), "get with too little room");
	CALL(fgetxattr(fd, "user.b", buf, sizeof buf), "get nothing");
	CALL(fsetxattr(fd, "user.a", "two", 3, XATTR_CREATE), "create again");
	CALL(fsetxattr(fd, "user.b", "two", 3, XATTR_REPLACE), "replace nothing");
	CALL(fsetxattr(fd, "user.b", "", 0, 0), "an empty one");
	CALL(fsetxattr(fd, "bad.c", "x", 1, 0), "no such class");
	CALL(flistxattr(fd, NULL, 0) >= 14, "list");
	CALL(flistxattr(fd, buf, 2), "list with too little room");
	CALL(fremovexattr(fd, "user.a"), "remove");
	CALL(fremovexattr(fd, "user.a"), "remove again");
	CALL(getxattr("none", "user.a", buf, 1), "no file");
	CALL(fgetxattr(CLOSED_FD, "user.a", buf, 1), "no descriptor");
}

static void moving(void) {
	int a = fresh(), b = fresh();
	for (int i = 0; i < 60000; i++) buf[i] = i % 251;
	MUST(write(a, buf, 60000));
	off_t from = 1000;
	CALL(sendfile(b, a, &from, 5000), "sendfile");
	CALL(from, "its offset");
	size(b, "then");
	CALL(pread(b, buf, 3, 0), "pread");
	IS((unsigned char)buf[0] == 1000 % 251, "the right bytes");
	from = 59000;
	CALL(sendfile(b, a, &from, 5000), "sendfile at the end");
	CALL(sendfile(b, a, &from, 5000), "sendfile behind the end");
	off64_t in = 0, out = 20000;
	CALL(copy_file_range(a, &in, b, &out, 10000, 0), "copy_file_range");
	size(b, "then");
	CALL(copy_file_range(a, &in, b, &out, 10, 1), "copy_file_range with a flag");
	int p[2];
	MUST(pipe(p));
	in = 100;
	CALL(splice(a, &in, p[1], NULL, 5000, 0), "splice into a pipe");
	CALL(in, "its offset");
	CALL(splice(p[0], NULL, b, NULL, 100, 0), "splice out of a pipe");
	int n;
	ioctl(p[0], FIONREAD, &n);
	CALL(n, "left in the pipe");
	CALL(splice(a, NULL, b, NULL, 10, 0), "splice without a pipe");
}

static void limits(void) {
	IN_CHILD("child") {
		int fd = fresh();
		struct rlimit l = {10000, 10000};
		MUST(setrlimit(RLIMIT_FSIZE, &l));
		signal(SIGXFSZ, SIG_IGN);
		CALL(write(fd, buf, 9000), "below the limit");
		CALL(write(fd, buf, 9000), "across the limit");
		CALL(write(fd, buf, 9000), "at the limit");
		CALL(ftruncate(fd, 20000), "ftruncate beyond it");
		CALL(fallocate(fd, 0, 0, 20000), "fallocate beyond it");
		signal(SIGXFSZ, SIG_DFL);
		write(fd, buf, 9000);
		say("not reached");
	}
	int full = MUST(open("/dev/full", O_RDWR));
	CALL(write(full, "x", 1), "write to /dev/full");
	CALL(read(full, buf, 10), "read from /dev/full");
	int zero = MUST(open("/dev/zero", O_RDWR));
	CALL(write(zero, "x", 1), "write to /dev/zero");
	CALL(read(zero, buf, 10), "read from /dev/zero");
	CALL(lseek(zero, 100, SEEK_SET), "seek in /dev/zero");
	CALL(ftruncate(zero, 0), "ftruncate /dev/zero");
	struct stat st;
	fstat(zero, &st);
	say("mode %o device %lx", st.st_mode, (long)st.st_rdev);
	CALL(fchmod(CLOSED_FD, 0), "fchmod of nothing");
	CALL(open("/dev/tty", O_RDWR), "no terminal");
}

static void statx_(void) {
	int fd = fresh();
	write(fd, "hello", 5);
	struct statx x;
	CALL(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x), "statx");
	say("mode %o size %ld links %d", x.stx_mode, (long)x.stx_size, (int)x.stx_nlink);
	CALL((x.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS, "all of it");
	struct stat st;
	fstat(fd, &st);
	IS(st.st_ino == x.stx_ino && st.st_blocks == x.stx_blocks && st.st_mtim.tv_nsec == x.stx_mtime.tv_nsec, "as stat says");
	CALL(statx(AT_FDCWD, "none", 0, STATX_ALL, &x), "nothing");
	CALL(statx(AT_FDCWD, "", 0, STATX_ALL, &x), "an empty path");
	CALL(statx(AT_FDCWD, ".", 0x10000, STATX_ALL, &x), "a bad flag");
	CALL(statx(AT_FDCWD, ".", 0, 0x80000000, &x), "a bad mask");
	CALL(statx(AT_FDCWD, "/proc", 0, STATX_ALL, &x), "a mount");
	CALL(!!(x.stx_attributes & STATX_ATTR_MOUNT_ROOT), "is its root");
	CALL(fstatat(AT_FDCWD, "none", &st, 0), "fstatat nothing");
	CALL(fstatat(CLOSED_FD, "", &st, AT_EMPTY_PATH), "fstatat of no descriptor");
	CALL(fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH), "fstatat of the working directory");
}

CASES(C(offsets), C(holes), C(maps), C(memory), C(attributes), C(moving), C(limits), {"statx", statx_})
