// What stat, statx, chmod, chown and utimensat say and change.
#include "compat.h"
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void put(const char *path, const char *text) {
	int fd = MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}
static int after(struct timespec a, struct timespec b) { return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec); }
static int same(struct timespec a, struct timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }
static struct stat st(const char *path) {
	struct stat s;
	MUST(lstat(path, &s));
	return s;
}

static void fields(void) {
	put("f", "0123456789");
	MUST(mkdir("d", 0755)), MUST(symlink("f", "l")), MUST(mkfifo("p", 0640));
	static const char *const path[] = {"f", "d", "l", "p", "/dev/null", "/dev/zero", "/proc/self/stat", "/"};
	struct stat here = st(".");
	for (unsigned i = 0; i < COUNT(path); i++) {
		struct stat s = st(path[i]);
		say("%s: type %o, permissions %04o", path[i], s.st_mode & S_IFMT, i == 2 || i > 5 ? 0 : s.st_mode & 07777);
		IS(s.st_ino > 0, "an inode number");
		if (i < 4) {
			IS(s.st_uid == geteuid() && s.st_gid == getegid(), "owner");
			IS(s.st_dev == here.st_dev, "the device of its folder");
			if (i != 1) say("links %d, size %ld", (int)s.st_nlink, (long)s.st_size);
			IS(same(s.st_mtim, s.st_ctim), "created and changed at once");
		}
		if (S_ISCHR(s.st_mode)) say("device %d,%d", major(s.st_rdev), minor(s.st_rdev));
	}
	struct stat a = st("f"), b;
	int fd = MUST(open("f", O_RDONLY));
	fstat(fd, &b);
	IS(a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size && same(a.st_mtim, b.st_mtim), "fstat says the same");
	IS(a.st_blksize >= 512 && a.st_blocks >= 0, "blocks");
	IS(st("f").st_ino != st("d").st_ino && st("d").st_ino != st("l").st_ino, "different inodes");
	CALL(fstatat(AT_FDCWD, "l", &b, AT_SYMLINK_NOFOLLOW), "fstatat of the link");
	IS(S_ISLNK(b.st_mode), "a link");
	CALL(fstatat(fd, "", &b, AT_EMPTY_PATH), "fstatat of a descriptor");
	IS(b.st_ino == a.st_ino, "the file");
	CALL(fstatat(fd, "", &b, 0), "an empty path");
	CALL(fstatat(fd, "x", &b, 0), "below a file");
	CALL(fstatat(AT_FDCWD, "f", &b, 0x8000), "a bad flag");
	CALL(stat("missing", &b), "missing");
	CALL(stat("f/x", &b), "below a file");
	CALL(syscall(SYS_stat, "f", 8), "a bad address");
	CALL(fstat(CLOSED_FD, &b), "a closed descriptor");
	int p[2];
	MUST(pipe(p));
	fstat(p[0], &a), fstat(p[1], &b);
	IS(S_ISFIFO(a.st_mode) && a.st_ino == b.st_ino, "both ends of a pipe are one inode");
	say("pipe: permissions %04o, links %d, size %ld", a.st_mode & 07777, (int)a.st_nlink, (long)a.st_size);
	close(p[0]), close(p[1]), close(fd);
}

static void statxs(void) {
	struct statx x;
	put("x", "12345");
	CALL(statx(AT_FDCWD, "x", 0, STATX_BASIC_STATS, &x), "statx");
	IS((x.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS, "all basic fields");
	say("size %llu, mode %o, links %u", (unsigned long long)x.stx_size, x.stx_mode, x.stx_nlink);
	struct stat s = st("x");
	IS(x.stx_ino == s.st_ino && makedev(x.stx_dev_major, x.stx_dev_minor) == s.st_dev && x.stx_mtime.tv_nsec == s.st_mtim.tv_nsec, "as stat says");
	int fd = MUST(open("x", O_RDONLY));
	CALL(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &x), "of a descriptor");
	CALL(statx(AT_FDCWD, "missing", 0, STATX_SIZE, &x), "missing");
	CALL(statx(AT_FDCWD, "x", 0x40000000, STATX_SIZE, &x), "a bad flag");
	CALL(statx(AT_FDCWD, "x", 0, 0x80000000u, &x), "a bad mask");
	CALL(statx(AT_FDCWD, "x", AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC, STATX_SIZE, &x), "two ways to sync");
	close(fd);
}

// Which of the three times change at which call.
static void times(void) {
	put("t", "data");
	MUST(mkdir("td", 0755));
	int fd = MUST(open("t", O_RDWR));
	struct stat before, now, d0, d1;
	static char map[10];
#define CHANGES(label, action) do { \
		before = st("t"), d0 = st("td"); \
		nap(15); \
		action; \
		now = st("t"), d1 = st("td"); \
		say("%s: file m%d c%d, folder m%d c%d", label, after(now.st_mtim, before.st_mtim), after(now.st_ctim, before.st_ctim), \
			after(d1.st_mtim, d0.st_mtim), after(d1.st_ctim, d0.st_ctim)); \
	} while (0)
	CHANGES("write", write(fd, "x", 1));
	CHANGES("write of nothing", write(fd, "", 0));
	CHANGES("read", pread(fd, map, 1, 0));
	CHANGES("truncate to another size", ftruncate(fd, 2));
	CHANGES("chmod", chmod("t", 0600));
	CHANGES("link into the folder", link("t", "td/hard"));
	CHANGES("unlink from the folder", unlink("td/hard"));
	CHANGES("create in the folder", close(open("td/new", O_CREAT | O_RDWR, 0600)));
	CHANGES("open of what exists", close(open("td/new", O_CREAT | O_RDWR, 0600)));
	CHANGES("rename in the folder", rename("td/new", "td/newer"));
	CHANGES("open with TRUNC", close(open("t", O_RDWR | O_TRUNC)));
	CHANGES("mkdir in the folder", mkdir("td/sub", 0700));
	CHANGES("rmdir in the folder", rmdir("td/sub"));
	CHANGES("rename of the folder", (rename("td", "te"), rename("te", "td")));
	CHANGES("open and close", close(open("t", O_RDWR)));
	close(fd);
}

static void set_times(void) {
	put("u", "x");
	struct timespec t[2] = {{1000, 1}, {2000, 999999999}};
	CALL(utimensat(AT_FDCWD, "u", t, 0), "utimensat");
	struct stat s = st("u");
	say("%ld.%09ld %ld.%09ld", (long)s.st_atim.tv_sec, s.st_atim.tv_nsec, (long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
	t[0].tv_nsec = UTIME_OMIT, t[1].tv_nsec = UTIME_NOW;
	CALL(utimensat(AT_FDCWD, "u", t, 0), "one now, one left");
	s = st("u");
	IS(s.st_atim.tv_sec == 1000 && s.st_mtim.tv_sec > 1500000000, "so it is");
	t[0].tv_nsec = 1000000000;
	CALL(utimensat(AT_FDCWD, "u", t, 0), "too many nanoseconds");
	CALL(utimensat(AT_FDCWD, "u", NULL, 0), "both now");
	IS(st("u").st_atim.tv_sec > 1500000000, "so it is");
	CALL(utimensat(AT_FDCWD, "missing", NULL, 0), "missing");
	symlink("u", "v");
	t[0] = (struct timespec){5, 0}, t[1] = (struct timespec){6, 0};
	CALL(utimensat(AT_FDCWD, "v", t, AT_SYMLINK_NOFOLLOW), "a symlink itself");
	say("link %ld, file %d", (long)st("v").st_mtim.tv_sec, st("u").st_mtim.tv_sec > 1500000000);
	int fd = MUST(open("u", O_RDONLY));
	CALL(futimens(fd, t), "futimens");
	say("%ld", (long)st("u").st_mtim.tv_sec);
	t[1].tv_sec = -100;
	CALL(futimens(fd, t), "before 1970");
	say("%ld", (long)st("u").st_mtim.tv_sec);
	close(fd);
}

static void modes(void) {
	put("m", "x");
	static const int mode[] = {0, 0777, 04755, 02755, 01777, 0170644};
	for (unsigned i = 0; i < COUNT(mode); i++) {
		CALL(chmod("m", mode[i]), "chmod %o", mode[i]);
		say("mode %o", st("m").st_mode);
	}
	int fd = MUST(open("m", O_RDWR));
	CALL(fchmod(fd, 04755), "fchmod");
	CALL(fchmodat(AT_FDCWD, "m", 06755, 0), "fchmodat");
	CALL(chmod("missing", 0600), "missing");
	CALL(chown("m", -1, -1), "chown to nobody else");
	CALL(chown("m", geteuid(), getegid()), "chown to itself");
	say("mode %o", st("m").st_mode & 07000);
	CALL(lchown("missing", -1, -1), "missing");
	CALL(fchownat(fd, "", -1, -1, AT_EMPTY_PATH), "fchownat of a descriptor");
	MUST(mkdir("sg", 0755)), MUST(chmod("sg", 02755));
	put("sg/f", "x"), MUST(mkdir("sg/d", 0755));
	say("below a setgid folder: file %o, folder %o", st("sg/f").st_mode & 07000, st("sg/d").st_mode & 07000);
	close(fd);
}

static void strangers(void) {
	put("root", "x");
	MUST(chmod(".", 0777));
	if (geteuid() != 0) {
		say("skip: only root has a stranger");
		return;
	}
	IN_CHILD("an ordinary user") {
		unprivileged();
		CALL(chmod("root", 0777), "chmod");
		CALL(chown("root", 65534, -1), "chown");
		CALL(utimensat(AT_FDCWD, "root", NULL, 0), "touch");
		struct timespec t[2] = {{1, 0}, {1, 0}};
		CALL(utimensat(AT_FDCWD, "root", t, 0), "set times");
		CALL(truncate("root", 0), "truncate");
		put("own", "y");
		IS(st("own").st_uid == 65534, "a new file is its own");
		CALL(chown("own", 0, -1), "give it away");
		CALL(rename("root", "other"), "rename in a folder that all may write");
		CALL(rename("other", "root"), "and back");
		CALL(mkdir("sticky", 0755), "mkdir");
		CALL(mknod("dev", S_IFCHR | 0600, makedev(1, 3)), "make a device");
	}
	MUST(chmod(".", 01777));
	IN_CHILD("an ordinary user") {
		unprivileged();
		CALL(unlink("root"), "unlink another's in a sticky folder");
		CALL(rename("root", "other"), "rename another's in a sticky folder");
		CALL(unlink("own"), "unlink the own");
	}
	MUST(chmod(".", 0755));
	IN_CHILD("an ordinary user") {
		unprivileged();
		CALL(unlink("root"), "unlink in another's folder");
		CALL(open("new", O_CREAT | O_RDWR, 0600), "create in another's folder");
		CALL(mkdir("dir", 0700), "mkdir in another's folder");
	}
}

static void attributes(void) {
	put("a", "x");
	char b[64];
	if (setxattr("a", "user.one", "1", 1, 0) < 0) {
		say("skip: no user attributes on this file system");
		return;
	}
	CALL(setxattr("a", "user.one", "22", 2, XATTR_CREATE), "create again");
	CALL(setxattr("a", "user.two", "22", 2, XATTR_REPLACE), "replace what is not there");
	CALL(setxattr("a", "user.one", "22", 2, XATTR_REPLACE), "replace");
	CALL(getxattr("a", "user.one", b, sizeof b), "get");
	CALL(getxattr("a", "user.one", b, 1), "get into 1 byte");
	CALL(getxattr("a", "user.one", NULL, 0), "ask for the size");
	CALL(getxattr("a", "user.none", b, sizeof b), "get what is not there");
	CALL(getxattr("a", "nonsense", b, sizeof b), "no such kind");
	CALL(removexattr("a", "user.one"), "remove");
	CALL(removexattr("a", "user.one"), "remove again");
}

CASES(C(fields), C(statxs), C(times), C(set_times), C(modes), C(strangers), C(attributes))
