// Names: opening, making, linking, renaming and removing files, and the links of /proc/self/fd.
#include "compat.h"
#include <dirent.h>
#include <sys/statfs.h>

static char buf[256];

static void put(const char *path, const char *text) {
	int fd = MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

static void show(const char *path) {
	int fd = open(path, O_RDONLY);
	if (fd < 0) {
		say("%s: %s", path, errno_name(errno));
		return;
	}
	ssize_t n = read(fd, buf, sizeof buf - 1);
	buf[n < 0 ? 0 : n] = 0;
	say("%s: \"%s\"", path, buf);
	close(fd);
}

static void look(const char *path) {
	struct stat st;
	if (lstat(path, &st) < 0) say("%s: %s", path, errno_name(errno));
	else if (S_ISDIR(st.st_mode)) say("%s: mode %o", path, st.st_mode);
	else say("%s: mode %o links %d size %ld", path, st.st_mode, (int)st.st_nlink, (long)st.st_size);
}

static void list(const char *path) {
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	if (n < 0) say("%s: %s", path, errno_name(errno));
	for (int i = 0; i < n; i++) say("%s has %s, type %d", path, names[i]->d_name, names[i]->d_type);
}

static void opening(void) {
	umask(022);
	CALL(open("none", O_RDONLY), "open what is not there");
	OK(open("a", O_RDWR | O_CREAT | O_EXCL, 0666), "create");
	CALL(open("a", O_RDWR | O_CREAT | O_EXCL, 0666), "create again");
	look("a");
	OK(mkdir("d", 0777), "mkdir");
	CALL(mkdir("d", 0777), "mkdir again");
	look("d");
	CALL(open("d", O_WRONLY), "open a directory for writing");
	CALL(open("d", O_RDONLY | O_CREAT, 0666), "open a directory with O_CREAT");
	CALL(open("a", O_RDONLY | O_DIRECTORY), "open a file as a directory");
	CALL(open("a/", O_RDONLY), "open a file with a slash");
	CALL(open("a/b", O_RDONLY), "open below a file");
	CALL(open("b/", O_RDWR | O_CREAT, 0666), "create with a slash");
	CALL(open("", O_RDONLY), "open an empty path");
	CALL(open("d", O_RDONLY | O_CREAT | O_DIRECTORY, 0666), "O_CREAT and O_DIRECTORY");
	symlink("a", "l");
	symlink("new", "dangling");
	symlink("loop", "loop");
	CALL(open("l", O_RDONLY | O_NOFOLLOW), "open a link with O_NOFOLLOW");
	CALL(open("loop", O_RDONLY), "open a loop");
	CALL(open("dangling", O_RDONLY), "open a dangling link");
	CALL(open("dangling", O_RDWR | O_CREAT | O_EXCL, 0600), "create through a dangling link, exclusively");
	OK(open("dangling", O_RDWR | O_CREAT, 0600), "create through a dangling link");
	look("new");
	CALL(open("l/", O_RDONLY), "open a link to a file with a slash");
	char name[300];
	memset(name, 'x', 256);
	name[256] = 0;
	CALL(open(name, O_RDWR | O_CREAT, 0600), "a name of 256 bytes");
	name[255] = 0;
	OK(open(name, O_RDWR | O_CREAT, 0600), "a name of 255 bytes");
	CALL(open(NULL, O_RDONLY), "a bad address");
	int fd = MUST(open("a", O_PATH));
	CALL(read(fd, buf, 1), "read from O_PATH");
	CALL(fcntl(fd, F_GETFL) & O_PATH ? 1 : 0, "O_PATH shows");
	CALL(openat(fd, "x", O_RDONLY), "openat below a file");
	CALL(openat(CLOSED_FD, "x", O_RDONLY), "openat below nothing");
	CALL(fchmod(fd, 0600), "fchmod of O_PATH");
	fd = MUST(open("l", O_PATH | O_NOFOLLOW));
	CALL(readlinkat(fd, "", buf, sizeof buf), "readlinkat of a descriptor");
	fd = MUST(open("a", O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_EXCL * 0 | O_NOCTTY));
	IS((fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_CREAT | O_TRUNC | O_NOCTTY)) == (O_WRONLY | O_APPEND), "flags of an open file");
}

static void links(void) {
	if (geteuid() != 0) { say("skip: only for root"); return; }
	put("a", "one");
	OK(link("a", "b"), "link");
	CALL(link("a", "b"), "link again");
	look("a");
	put("b", "two");
	show("a");
	mkdir("d", 0755);
	CALL(link("d", "e"), "link a directory");
	CALL(link("none", "e"), "link nothing");
	CALL(link("a", "e/"), "link to a name with a slash");
	symlink("a", "l");
	OK(linkat(AT_FDCWD, "l", AT_FDCWD, "l2", 0), "link a link");
	look("l2");
	OK(linkat(AT_FDCWD, "l", AT_FDCWD, "l3", AT_SYMLINK_FOLLOW), "link what a link leads to");
	look("l3");
	CALL(readlink("a", buf, sizeof buf), "readlink a file");
	CALL(readlink("l", buf, 0), "readlink into nothing");
	CALL(readlink("l", buf, sizeof buf), "readlink");
	CALL(symlink("", "x"), "an empty link");
	CALL(symlink("a", "l"), "a link that is there");
	OK(unlink("a"), "unlink");
	look("b");
	CALL(unlink("a"), "unlink again");
	CALL(unlink("d"), "unlink a directory");
	CALL(unlink("b/"), "unlink with a slash");
	CALL(rmdir("b"), "rmdir a file");
	CALL(rmdir("."), "rmdir .");
	CALL(rmdir("d/.."), "rmdir ..");
	put("d/x", "");
	CALL(rmdir("d"), "rmdir what is not empty");
	unlink("d/x");
	CALL(rmdir("d"), "rmdir");
	CALL(rmdir("/proc"), "rmdir a mount");
	CALL(unlink("/proc/version"), "unlink in /proc");
	CALL(mkdir("/proc/x", 0755), "mkdir in /proc");
}

static int renameat2_(const char *a, const char *b, unsigned flags) { return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, flags); }

static void renaming(void) {
	put("a", "A");
	put("b", "B");
	mkdir("d", 0755);
	mkdir("e", 0755);
	put("d/x", "X");
	CALL(rename("none", "c"), "rename nothing");
	OK(rename("a", "a"), "rename to itself");
	OK(rename("a", "b"), "rename over a file");
	show("b");
	look("a");
	CALL(rename("b", "d"), "a file over a directory");
	CALL(rename("d", "b"), "a directory over a file");
	CALL(rename("e", "d"), "a directory over a full one");
	OK(rename("d", "e"), "a directory over an empty one");
	show("e/x");
	CALL(rename("e", "e/f"), "a directory into itself");
	CALL(rename("e/.", "f"), "rename .");
	CALL(rename("b", "c/"), "a file to a name with a slash");
	OK(rename("e", "f/"), "a directory to a name with a slash");
	put("c", "C");
	CALL(renameat2_("b", "c", 1), "noreplace");
	OK(renameat2_("b", "n", 1), "noreplace of what is free");
	OK(renameat2_("c", "n", 2), "exchange");
	show("c");
	show("n");
	OK(renameat2_("c", "f", 2), "exchange a file and a directory");
	show("c/x");
	show("f");
	CALL(renameat2_("c", "none", 2), "exchange with nothing");
	CALL(renameat2_("c", "f", 3), "exchange and noreplace");
	CALL(rename("f", "/proc/f"), "rename into /proc");
	link("f", "g");
	OK(rename("f", "g"), "rename to another name of the same file");
	look("f");
	list(".");
}

static void unlinked(void) {
	put("a", "kept");
	int fd = MUST(open("a", O_RDWR));
	unlink("a");
	struct stat st;
	fstat(fd, &st);
	CALL(st.st_nlink, "links of an unlinked file");
	char path[64], target[512];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, target, sizeof target - 1);
	target[n] = 0;
	IS(n > 10 && !strcmp(target + n - 10, " (deleted)"), "its link says so");
	int again = OK(open(path, O_RDONLY), "open it through /proc");
	CALL(read(again, buf, 10), "read it");
	CALL(linkat(AT_FDCWD, path, AT_FDCWD, "b", AT_SYMLINK_FOLLOW), "link it back");
	mkdir("d", 0755);
	int dir = MUST(open("d", O_RDONLY | O_DIRECTORY));
	rmdir("d");
	CALL(openat(dir, "x", O_RDWR | O_CREAT, 0600), "create in a removed directory");
	CALL(mkdirat(dir, "x", 0700), "mkdir in a removed directory");
	CALL(syscall(SYS_getdents64, dir, target, sizeof target), "list a removed directory");
	fstat(dir, &st);
	CALL(st.st_nlink, "links of a removed directory");
	mkdir("e", 0755);
	chdir("e");
	rmdir("../e");
	CALL(syscall(SYS_getcwd, target, sizeof target), "getcwd in a removed directory");
	OK(chdir(".."), "chdir ..");
	fd = OK(open(".", O_TMPFILE | O_RDWR, 0600), "O_TMPFILE");
	write(fd, "tmp", 3);
	fstat(fd, &st);
	CALL(st.st_nlink, "its links");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	OK(linkat(AT_FDCWD, path, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW), "link it");
	show("linked");
	fd = MUST(open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	CALL(linkat(AT_FDCWD, path, AT_FDCWD, "never", AT_SYMLINK_FOLLOW), "link one with O_EXCL");
	CALL(open(".", O_TMPFILE | O_RDONLY, 0600), "O_TMPFILE without writing");
	CALL(open("linked", O_TMPFILE | O_RDWR, 0600), "O_TMPFILE in a file");
}

static void procfd(void) {
	if (geteuid() != 0) { say("skip: only for root"); return; }
	int p[2];
	MUST(pipe(p));
	char path[64], target[256];
	snprintf(path, sizeof path, "/proc/self/fd/%d", p[0]);
	ssize_t n = readlink(path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = 0;
	IS(!strncmp(target, "pipe:[", 6), "a pipe's link");
	struct stat a, b;
	MUST(fstat(p[0], &a));
	MUST(stat(path, &b));
	IS(S_ISFIFO(b.st_mode) && a.st_ino == b.st_ino, "stat follows it");
	MUST(lstat(path, &b));
	say("lstat: mode %o", b.st_mode);
	snprintf(path, sizeof path, "/proc/self/fd/%d", p[1]);
	MUST(lstat(path, &b));
	say("lstat: mode %o", b.st_mode);
	int w = OK(open(path, O_WRONLY), "open the pipe again");
	close(p[1]);
	CALL(write(w, "x", 1), "write");
	CALL(read(p[0], buf, 10), "read");
	close(w);
	CALL(read(p[0], buf, 10), "read at the end");
	CALL(open("/proc/self/fd/900", O_RDONLY), "a closed descriptor");
	CALL(readlink("/proc/self/fd/900", buf, 10), "readlink of a closed descriptor");
	CALL(open(path, O_RDONLY | O_NOFOLLOW), "the closed writer");
	put("f", "text");
	int fd = MUST(open("f", O_RDONLY));
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	w = OK(open(path, O_RDWR), "open a file again, for writing");
	CALL(write(w, "T", 1), "write to it");
	show("f");
	CALL(open(path, O_RDONLY | O_NOFOLLOW), "with O_NOFOLLOW");
	rename("f", "g");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof target);
	IS(n > 2 && target[n - 1] == 'g', "the link follows a rename");
	CALL(truncate(path, 2), "truncate through it");
	show("g");
	CALL(access("/proc/self/exe", X_OK), "access to the program");
	CALL(open("/proc/self", O_RDONLY | O_NOFOLLOW), "open /proc/self with O_NOFOLLOW");
	fd = OK(open("/proc/self/status", O_RDONLY), "open status");
	IS(read(fd, buf, 5) == 5 && !memcmp(buf, "Name:", 5), "read it");
	IS(lseek(fd, 0, SEEK_SET) == 0 && read(fd, buf, 5) == 5 && !memcmp(buf, "Name:", 5), "read it again");
	CALL(open("/proc/self/status", O_WRONLY | O_CREAT, 0600), "write to it");
	CALL(open("/proc/self/none", O_RDWR | O_CREAT, 0600), "create in /proc");
	struct statfs s;
	statfs("/proc", &s);
	say("type %lx", (long)s.f_type);
	statfs("/dev/shm", &s);
	say("type %lx", (long)s.f_type);
	fd = MUST(open("/proc/self/fd", O_RDONLY | O_DIRECTORY));
	char name[16];
	snprintf(name, sizeof name, "%d", fd);
	IS(faccessat(fd, name, F_OK, 0) == 0, "a descriptor finds itself");
	MUST(chdir("/proc/self"));
	CALL(access("status", R_OK), "a relative name below /proc");
	MUST(chdir("task"));
	CALL(access("../status", R_OK), "and with ..");
}

static void listing(void) {
	mkdir("d", 0755);
	put("d/b", "");
	put("d/a", "");
	mkdir("d/c", 0755);
	symlink("a", "d/l");
	mkfifo("d/p", 0600);
	list("d");
	int fd = MUST(open("d", O_RDONLY | O_DIRECTORY));
	CALL(syscall(SYS_getdents64, fd, buf, 10), "too little room");
	long total = 0, n;
	while ((n = syscall(SYS_getdents64, fd, buf, 64)) > 0) total += n;
	IS(total == 8 * 24 - 24, "in pieces");
	CALL(n, "at the end");
	put("d/new", "");
	lseek(fd, 0, SEEK_SET);
	total = 0;
	while ((n = syscall(SYS_getdents64, fd, buf, 64)) > 0) total += n;
	IS(total == 8 * 24, "with a new name, after going back");
	CALL(read(fd, buf, 10) < 0, "read a directory");
	CALL(syscall(SYS_getdents64, 0, buf, 64) < 0, "list no directory");
}

static void modes(void) {
	if (geteuid() != 0) { say("skip: only for root"); return; }
	umask(027);
	put("a", "text");
	look("a");
	OK(chmod("a", 04755), "chmod");
	look("a");
	OK(chown("a", 1000, 1000), "chown");
	look("a");
	OK(chmod("a", 0640), "chmod");
	chmod(".", 0777);
	IN_CHILD("another user") {
		unprivileged();
		CALL(open("a", O_RDONLY), "open without a right");
		CALL(access("a", R_OK), "access without a right");
		CALL(access("a", F_OK), "does it exist");
		CALL(chmod("a", 0777), "chmod what is not mine");
		CALL(chown("a", 65534, 65534), "chown what is not mine");
		struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}}, then[2] = {{5, 6}, {7, 8}};
		CALL(utimensat(AT_FDCWD, "a", now, 0), "touch without a right");
		CALL(utimensat(AT_FDCWD, "a", then, 0), "set times without a right");
		put("mine", "");
		CALL(chmod("mine", 02777), "chmod what is mine");
		look("mine");
		CALL(mkdir("/proc/x", 0755), "mkdir in /proc");
		CALL(unlink("a"), "unlink in a directory of all");
	}
	mkdir("sticky", 01777);
	chmod("sticky", 01777);
	put("sticky/a", "");
	IN_CHILD("another user") {
		unprivileged();
		CALL(unlink("sticky/a"), "unlink what is not mine in a sticky directory");
		CALL(rename("sticky/a", "sticky/b"), "rename it");
	}
	struct timespec then[2] = {{5, 600}, {7, 800}};
	put("t", "");
	OK(utimensat(AT_FDCWD, "t", then, 0), "set times");
	struct stat st;
	stat("t", &st);
	say("times %ld %ld %ld %ld", (long)st.st_atim.tv_sec, (long)st.st_atim.tv_nsec, (long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
	then[0].tv_nsec = UTIME_OMIT;
	then[1] = (struct timespec){-5, 100};
	OK(utimensat(AT_FDCWD, "t", then, 0), "a time before 1970");
	stat("t", &st);
	say("times %ld %ld %ld %ld", (long)st.st_atim.tv_sec, (long)st.st_atim.tv_nsec, (long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
	then[1].tv_nsec = 1000000000;
	CALL(utimensat(AT_FDCWD, "t", then, 0), "a bad time");
	CALL(chmod("none", 0600), "chmod nothing");
	symlink("t", "l");
	CALL(fchmodat(AT_FDCWD, "l", 0600, AT_SYMLINK_NOFOLLOW), "chmod a link");
}

static void fresh(void) {
	char name[] = "caseXXXXXX";
	if (mkdtemp(name)) chdir(name);
}
#define F(f) static void in_##f(void) { IN_CHILD(#f) { fresh(); f(); } }
F(opening) F(links) F(renaming) F(unlinked) F(procfd) F(listing) F(modes)
CASES({"opening", in_opening}, {"links", in_links}, {"renaming", in_renaming}, {"unlinked", in_unlinked}, {"procfd", in_procfd}, {"listing", in_listing}, {"modes", in_modes})
