// open: the matrix of flags on things of every kind, access rights, paths, descriptors.
#include "compat.h"
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void put(const char *path, const char *text) {
	unlink(path);
	int fd = MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}
static long size_of(const char *path) {
	struct stat st;
	return stat(path, &st) < 0 ? -1 : (long)st.st_size;
}

static const struct { int flags; const char *name; } flags[] = {
	{O_RDONLY, "RDONLY"}, {O_WRONLY, "WRONLY"}, {O_RDWR, "RDWR"}, {O_WRONLY | O_APPEND, "WRONLY APPEND"}, {O_WRONLY | O_TRUNC, "WRONLY TRUNC"},
	{O_RDONLY | O_TRUNC, "RDONLY TRUNC"}, {O_RDWR | O_CREAT, "RDWR CREAT"}, {O_RDWR | O_CREAT | O_EXCL, "RDWR CREAT EXCL"},
	{O_RDONLY | O_CREAT, "RDONLY CREAT"}, {O_RDONLY | O_DIRECTORY, "RDONLY DIRECTORY"}, {O_RDWR | O_DIRECTORY, "RDWR DIRECTORY"},
	{O_RDONLY | O_NOFOLLOW, "RDONLY NOFOLLOW"}, {O_PATH, "PATH"}, {O_PATH | O_NOFOLLOW, "PATH NOFOLLOW"}, {O_PATH | O_DIRECTORY, "PATH DIRECTORY"},
	{O_RDONLY | O_NONBLOCK, "RDONLY NONBLOCK"}, {3, "3"},
};

static void matrix(void) {
	static const char *const what[] = {"file", "dir", "missing", "to-file", "to-dir", "to-missing", "loop", "file/", "dir/", "missing/", "file/x", "dir/.", "to-file/", ""};
	for (unsigned i = 0; i < COUNT(what); i++)
		for (unsigned k = 0; k < COUNT(flags); k++) {
			put("file", "text");
			mkdir("dir", 0755);
			unlink("to-file"), unlink("to-dir"), unlink("to-missing"), unlink("loop"), unlink("missing"), unlink("nothing");
			MUST(symlink("file", "to-file")), MUST(symlink("dir", "to-dir")), MUST(symlink("nothing", "to-missing")), MUST(symlink("loop", "loop"));
			int fd = open(what[i], flags[k].flags, 0600), e = errno;
			if (fd < 0) say("\"%s\" %s: -1 %s", what[i], flags[k].name, errno_name(e));
			else {
				struct stat st;
				char b[8];
				long r = read(fd, b, 8);
				const char *re = r < 0 ? errno_name(errno) : "data";
				long w = write(fd, "w", 1);
				const char *we = w < 0 ? errno_name(errno) : "written";
				fstat(fd, &st);
				say("\"%s\" %s: %s%s%s, read %s, write %s, size %ld", what[i], flags[k].name, S_ISREG(st.st_mode) ? "file" : "", S_ISDIR(st.st_mode) ? "dir" : "",
					S_ISLNK(st.st_mode) ? "link" : "", r == 0 ? "end" : re, we, S_ISREG(st.st_mode) ? (long)st.st_size : 0);
				close(fd);
			}
		}
}

static void create(void) {
	int fd = OK(open("a", O_RDWR | O_CREAT | O_EXCL, 0666), "create");
	struct stat st;
	fstat(fd, &st);
	say("mode %04o", st.st_mode & 07777);
	CALL(open("a", O_RDWR | O_CREAT | O_EXCL, 0666), "again");
	close(fd);
	umask(077);
	fd = OK(creat("b", 0777), "creat under umask 077");
	fstat(fd, &st);
	say("mode %04o, access mode %d", st.st_mode & 07777, fcntl(fd, F_GETFL) & O_ACCMODE);
	close(fd);
	umask(0);
	fd = OK(open("c", O_RDWR | O_CREAT, 04755), "with setuid");
	fstat(fd, &st);
	say("mode %04o", st.st_mode & 07777);
	close(fd);
	umask(022);
	fd = OK(open("nowrite", O_RDWR | O_CREAT, 0400), "create a file that may only be read, to write");
	CALL(write(fd, "x", 1), "write");
	close(fd);
	symlink("target", "dangling");
	CALL(open("dangling", O_RDWR | O_CREAT | O_EXCL, 0600), "EXCL over a dangling symlink");
	fd = OK(open("dangling", O_RDWR | O_CREAT, 0600), "create through a dangling symlink");
	close(fd);
	say("target: %ld", size_of("target"));
	char name[300];
	memset(name, 'n', 300), name[255] = 0;
	fd = OK(open(name, O_RDWR | O_CREAT, 0600), "a name of 255 bytes");
	close(fd);
	name[255] = 'n', name[256] = 0;
	CALL(open(name, O_RDWR | O_CREAT, 0600), "a name of 256 bytes");
	static char path[5000];
	for (int i = 0; i < 4096; i += 2) path[i] = '.', path[i + 1] = '/';
	CALL(open(path, O_RDONLY), "a path of 4096 bytes");
	path[4094] = 0;
	fd = OK(open(path, O_RDONLY), "a path of 4094 bytes");
	close(fd);
	CALL(open((char *)8, O_RDONLY), "a bad address");
}

static void append(void) {
	put("log", "12345");
	int fd = MUST(open("log", O_RDWR | O_APPEND)), other = MUST(open("log", O_WRONLY | O_APPEND));
	CALL(lseek(fd, 0, SEEK_CUR), "offset");
	CALL(write(fd, "a", 1), "write");
	CALL(lseek(fd, 0, SEEK_CUR), "offset");
	CALL(lseek(fd, 0, SEEK_SET), "rewind");
	MUST(write(other, "bb", 2));
	CALL(write(fd, "c", 1), "write");
	CALL(pwrite(fd, "d", 1, 0), "pwrite appends too");
	char b[32] = "";
	CALL(pread(fd, b, 31, 0), "pread");
	say("%s", b);
	fcntl(fd, F_SETFL, 0);
	CALL(pwrite(fd, "X", 1, 0), "pwrite without APPEND");
	CALL(pread(fd, b, 31, 0), "pread");
	say("%s", b);
	fcntl(fd, F_SETFL, O_APPEND | O_WRONLY | O_CREAT);
	say("flags: %s", (fcntl(fd, F_GETFL) & ~0100000) == (O_RDWR | O_APPEND) ? "RDWR APPEND" : "others");
	close(fd), close(other);
}

static void at(void) {
	MUST(mkdir("d", 0755));
	put("d/f", "in d");
	put("f", "here");
	int dir = MUST(open("d", O_RDONLY | O_DIRECTORY)), path = MUST(open("d", O_PATH)), file = MUST(open("f", O_RDONLY));
	static const struct { const char *path; } t[] = {{"f"}, {"../f"}, {"./f"}, {"missing"}, {""}, {"/dev/null"}, {"../d/../f"}};
	for (unsigned i = 0; i < COUNT(t); i++) {
		int fd = openat(dir, t[i].path, O_RDONLY);
		char b[8] = "";
		if (fd < 0) say("\"%s\": -1 %s", t[i].path, errno_name(errno));
		else read(fd, b, 7), say("\"%s\": %s", t[i].path, b), close(fd);
	}
	OK(openat(path, "f", O_RDONLY), "below an O_PATH folder");
	CALL(openat(file, "f", O_RDONLY), "below a file");
	CALL(openat(CLOSED_FD, "f", O_RDONLY), "below a closed descriptor");
	OK(openat(CLOSED_FD, "/dev/null", O_RDONLY), "an absolute path below a closed descriptor");
	OK(openat(AT_FDCWD, "f", O_RDONLY), "below the current folder");
	unlink("d/f"), rmdir("d");
	CALL(openat(dir, "f", O_RDONLY), "below a removed folder");
	CALL(openat(dir, "new", O_RDWR | O_CREAT, 0600), "create below a removed folder");
	OK(openat(dir, ".", O_RDONLY), "the removed folder itself");
	OK(openat(dir, "..", O_RDONLY), "its parent");
}

static long by(int dir, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve) {
	struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
	return syscall(SYS_openat2, dir, path, &how, sizeof how);
}

// What lies at the end of a path that openat2 has opened.
static const char *found(long fd) {
	static char b[20];
	struct stat s;
	if (fd < 0) return errno_name(errno);
	MUST(fstat(fd, &s));
	memset(b, 0, sizeof b);
	if (S_ISDIR(s.st_mode)) strcpy(b, "a folder");
	else if (read(fd, b, sizeof b - 1) <= 0) strcpy(b, "a file");
	close(fd);
	return b;
}

static void beneath(void) {
	if (by(AT_FDCWD, ".", O_RDONLY, 0, 0) < 0 && errno == ENOSYS) {
		say("skip: no openat2");
		return;
	}
	put("f", "outside");
	MUST(mkdir("top", 0755)), MUST(mkdir("top/d", 0755)), MUST(mkdir("top/etc", 0755));
	put("top/f", "inside"), put("top/etc/passwd", "of the top");
	symlink("f", "top/soft"), symlink("../f", "top/up"), symlink("/etc/passwd", "top/absolute"), symlink("/proc/self/cwd", "top/magic");
	symlink("../soft", "top/d/chain"), symlink("loop", "top/loop");
	int top = MUST(open("top", O_RDONLY)), here = MUST(open("top/f", O_RDONLY)), p[2];
	MUST(pipe(p));
	char fd[40], fifo[40];
	sprintf(fd, "/proc/self/fd/%d", here), sprintf(fifo, "/proc/self/fd/%d", p[0]);
	static const struct { uint64_t flags; const char *name; } ways[] = {{0, "any"}, {RESOLVE_NO_XDEV, "no xdev"},
		{RESOLVE_NO_MAGICLINKS, "no magic"}, {RESOLVE_NO_SYMLINKS, "no symlinks"}, {RESOLVE_BENEATH, "beneath"}, {RESOLVE_IN_ROOT, "in root"},
		{RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS, "in root, no symlinks"}, {0x20, "cached"}};
	const char *const paths[] = {"f", "./d/../f", "d/../../f", "../f", "..", ".", "soft", "soft/", "d/chain", "up", "absolute", "loop", "magic", "magic/f", "/", "/f", "/..",
		"/../f", "/etc/passwd", "/proc/self/cmdline", "/proc/self/exe", "/dev/null", "/proc/..", fd, fifo, "missing", ""};
	for (unsigned w = 0; w < COUNT(ways); w++)
		for (unsigned i = 0; i < COUNT(paths); i++) {
			if (w == 7 && i > 3) break; // what a real kernel has at hand may differ
			if (w == 1 && i == 10) continue; // and so may what is mounted where
			const char *shown = paths[i] == fd ? "fd" : paths[i] == fifo ? "a pipe" : paths[i];
			const char *what = found(by(top, paths[i], O_RDONLY | O_NONBLOCK, 0, ways[w].flags));
			if (i == 18 && (w == 0 || w == 1 || w == 2 || w == 3)) what = *what == 'E' ? what : "the machine's"; // /etc/passwd
			if (i == 20) what = *what == 'E' ? what : "the program";
			say("%s: \"%s\": %s", ways[w].name, shown, what);
		}
	for (unsigned w = 0; w < COUNT(ways) - 1; w++) {
		say("%s: O_PATH|O_NOFOLLOW of a link: %s", ways[w].name, found(by(top, "absolute", O_PATH | O_NOFOLLOW | O_DIRECTORY, 0, ways[w].flags)));
		say("%s: O_CREAT through a link: %s", ways[w].name, found(by(top, "soft", O_RDWR | O_CREAT, 0600, ways[w].flags)));
		say("%s: O_CREAT through a link up: %s", ways[w].name, found(by(top, "up", O_RDWR | O_CREAT, 0600, ways[w].flags)));
		say("%s: O_CREAT above: %s", ways[w].name, found(by(top, "../made", O_RDWR | O_CREAT, 0600, ways[w].flags)));
	}
	IS(access("made", F_OK) == 0 && access("top/made", F_OK) == 0, "both files made");
}

// What openat2 takes, and openat does not look at.
static void how(void) {
	put("f", "here");
	if (by(AT_FDCWD, "f", O_RDONLY, 0, 0) < 0 && errno == ENOSYS) {
		say("skip: no openat2");
		return;
	}
	struct { struct open_how how; char more[8]; } h = {.how = {.flags = O_RDONLY}};
	CALL(by(AT_FDCWD, "f", O_RDONLY | 1ull << 40, 0, 0), "a bad flag");
	CALL(by(AT_FDCWD, "f", O_RDONLY | 1 << 30, 0, 0), "another one");
	CALL(by(AT_FDCWD, "f", O_RDONLY, 0600, 0), "a mode for nothing");
	CALL(by(AT_FDCWD, "new", O_RDWR | O_CREAT, 0100600, 0), "a bad mode");
	CALL(by(AT_FDCWD, "f", O_PATH | O_RDWR, 0, 0), "O_PATH for writing");
	OK(by(AT_FDCWD, "f", O_PATH | O_CLOEXEC, 0, 0), "O_PATH");
	CALL(by(AT_FDCWD, "f", O_RDONLY, 0, 1 << 6), "a bad resolve");
	CALL(by(AT_FDCWD, "f", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT), "two roots");
	CALL(by(AT_FDCWD, "f", O_RDWR | O_TRUNC, 0, 0x20), "cached, to truncate");
	CALL(by(AT_FDCWD, "new", O_RDWR | O_CREAT, 0600, 0x20), "cached, to create");
	CALL(by(CLOSED_FD, "/dev/null", O_RDONLY, 0, RESOLVE_IN_ROOT), "an absolute path in a closed descriptor");
	CALL(by(MUST(open("f", O_RDONLY)), "f", O_RDONLY, 0, 0), "below a file");
	CALL(syscall(SYS_openat2, AT_FDCWD, "f", &h, 8), "a short struct");
	OK(syscall(SYS_openat2, AT_FDCWD, "f", &h, sizeof h), "a longer struct");
	h.more[3] = 1;
	CALL(syscall(SYS_openat2, AT_FDCWD, "f", &h, sizeof h), "a longer struct that says something");
	CALL(syscall(SYS_openat2, AT_FDCWD, "f", (void *)8, sizeof h.how), "a bad address");
}

static void path_only(void) {
	put("f", "text");
	int fd = MUST(open("f", O_PATH));
	char b[64], link[64];
	struct stat st;
	CALL(read(fd, b, 1), "read");
	CALL(write(fd, b, 1), "write");
	CALL(lseek(fd, 0, SEEK_SET), "lseek");
	CALL(fchmod(fd, 0600), "fchmod");
	CALL(ftruncate(fd, 0), "ftruncate");
	CALL(ioctl(fd, FIONREAD, b), "ioctl");
	CALL(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0, "mmap");
	CALL(fstat(fd, &st), "fstat");
	CALL(fcntl(fd, F_GETFD), "F_GETFD");
	IS(fcntl(fd, F_GETFL) & O_PATH, "F_GETFL says O_PATH");
	CALL(fcntl(fd, F_SETFL, 0), "F_SETFL");
	OK(dup(fd), "dup");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	int again = OK(open(link, O_RDONLY), "open it through /proc/self/fd");
	CALL(read(again, b, 4), "read");
	int dir = MUST(open(".", O_PATH));
	CALL(fchdir(dir), "fchdir");
	symlink("f", "l");
	int l = MUST(open("l", O_PATH | O_NOFOLLOW));
	long n = readlinkat(l, "", b, sizeof b);
	say("readlinkat of the link itself: %.*s", (int)n, b);
}

static void temporary(void) {
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0) {
		say("skip: no O_TMPFILE on this file system");
		return;
	}
	struct stat st;
	MUST(write(fd, "hidden", 6));
	fstat(fd, &st);
	say("links %d, size %d, mode %04o", (int)st.st_nlink, (int)st.st_size, st.st_mode & 07777);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	CALL(linkat(AT_FDCWD, path, AT_FDCWD, "shown", AT_SYMLINK_FOLLOW), "give it a name");
	say("size: %ld", size_of("shown"));
	fstat(fd, &st);
	say("links %d", (int)st.st_nlink);
	close(fd);
	CALL(open(".", O_TMPFILE | O_RDONLY, 0600), "TMPFILE to read only");
	CALL(open("shown", O_TMPFILE | O_RDWR, 0600), "TMPFILE in a file");
	fd = MUST(open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	CALL(linkat(AT_FDCWD, path, AT_FDCWD, "never", AT_SYMLINK_FOLLOW), "with EXCL it gets no name");
}

static void rights(void) {
	static const int modes[] = {0000, 0444, 0222, 0111, 0666};
	MUST(chmod(".", 0777));
	for (unsigned i = 0; i < COUNT(modes); i++) {
		put("f", "x");
		MUST(chmod("f", modes[i]));
		IN_CHILD("an ordinary user") {
			unprivileged();
			if (getuid() != 65534) MUST(chmod("f", (modes[i] & 7) * 0111)); // the owner: the same rights
			for (int m = 0; m < 3; m++) {
				int fd = open("f", m);
				say("mode %04o, open %d: %s", modes[i], m, fd < 0 ? errno_name(errno) : "ok");
				if (fd >= 0) close(fd);
			}
			for (int m = 0; m < 8; m++) say("access %d: %s", m, access("f", m) < 0 ? errno_name(errno) : "ok");
			CALL(access("f", 8), "access 8");
		}
		unlink("f");
	}
	MUST(mkdir("closed", 0700));
	put("closed/f", "x");
	MUST(chmod("closed", 0));
	IN_CHILD("an ordinary user") {
		unprivileged();
		CALL(open("closed/f", O_RDONLY), "below a folder without rights");
		CALL(open("closed", O_RDONLY), "the folder");
		CALL(open("closed/new", O_RDWR | O_CREAT, 0600), "create there");
		CALL(chdir("closed"), "chdir");
	}
	MUST(chmod("closed", 0755));
}

static void many(void) {
	struct rlimit l = {30, 30};
	MUST(setrlimit(RLIMIT_NOFILE, &l));
	int fd, n = 0;
	while ((fd = open("/dev/null", O_RDONLY)) >= 0) n++;
	CALL(open("/dev/null", O_RDONLY), "more than the limit");
	IS(n > 0 && n <= 30, "some before");
	int p[2];
	CALL(pipe(p), "pipe");
	CALL(dup(1), "dup");
	CALL(dup2(1, 29) == 29 ? 0 : -1, "dup2 to the last");
	CALL(dup2(1, 30), "dup2 beyond the limit");
	CALL(fcntl(1, F_DUPFD, 30), "F_DUPFD beyond the limit");
	CALL(fcntl(1, F_DUPFD, 10), "F_DUPFD, none is free");
}

CASES(C(matrix), C(create), C(append), C(at), C(beneath), C(how), C(path_only), C(temporary), C(rights), C(many))
