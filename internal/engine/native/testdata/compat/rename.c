// Names: rename in all combinations, links, symlinks, folders and what is in them.
#include "compat.h"
#include <dirent.h>
#include <linux/fs.h>

static void put(const char *path, const char *text) {
	int fd = MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}
static int compare_names(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
// list prints the names in a folder, sorted, with their kinds.
static void list(const char *dir) {
	DIR *d = opendir(dir);
	char *names[400], text[900] = "";
	int n = 0;
	if (!d) {
		say("%s: -1 %s", dir, errno_name(errno));
		return;
	}
	for (struct dirent *e; (e = readdir(d)) && n < 400;) {
		char t[300];
		snprintf(t, sizeof t, "%s%s", e->d_name, e->d_type == DT_DIR ? "/" : e->d_type == DT_LNK ? "@" : "");
		names[n++] = strdup(t);
	}
	closedir(d);
	qsort(names, n, sizeof *names, compare_names);
	for (int i = 0; i < n; i++) sprintf(text + strlen(text), " %s", names[i]), free(names[i]);
	say("%s:%s", dir, text);
}
// clear enters a new empty folder, leave goes back.
static void clear(void) {
	static int n;
	char name[16];
	sprintf(name, "t%d", n++);
	MUST(mkdir(name, 0755));
	MUST(chdir(name));
}
static void leave(void) { MUST(chdir("..")); }

// The things a name can be.
static const char *kinds[] = {"file", "empty", "full", "missing", "soft", "hard"};
static void make(const char *kind, const char *name) {
	char path[64];
	snprintf(path, sizeof path, "%s/x", name);
	if (!strcmp(kind, "file")) put(name, name);
	else if (!strcmp(kind, "empty")) MUST(mkdir(name, 0755));
	else if (!strcmp(kind, "full")) MUST(mkdir(name, 0755)), put(path, "x");
	else if (!strcmp(kind, "soft")) MUST(symlink("nowhere", name));
	else if (!strcmp(kind, "hard")) MUST(link("original", name));
}

static void matrix(void) {
	for (unsigned flag = 0; flag < 3; flag++)
		for (unsigned i = 0; i < COUNT(kinds); i++)
			for (unsigned k = 0; k < COUNT(kinds); k++) {
				char label[100];
				clear();
				put("original", "original");
				make(kinds[i], "a"), make(kinds[k], "b");
				snprintf(label, sizeof label, "%s to %s%s", kinds[i], kinds[k], flag == 1 ? ", NOREPLACE" : flag == 2 ? ", EXCHANGE" : "");
				if (flag) CALL(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", flag == 1 ? RENAME_NOREPLACE : RENAME_EXCHANGE), "%s", label);
				else CALL(rename("a", "b"), "%s", label);
				list(".");
				leave();
			}
}

static void special(void) {
	clear();
	put("f", "f");
	MUST(mkdir("d", 0755)), MUST(mkdir("d/e", 0755)), put("d/x", "x");
	CALL(rename("f", "f"), "to itself");
	CALL(rename("d", "d/e/d"), "a folder into itself");
	CALL(rename("d", "d/new"), "a folder below itself");
	CALL(rename("d/e", "d"), "a folder over its parent");
	CALL(rename("f", "d/e/../g"), "through dots");
	CALL(rename("d/e/../g", "f"), "and back");
	CALL(rename(".", "x"), "the current folder");
	CALL(rename("d", "."), "over the current folder");
	CALL(rename("d/..", "x"), "dot dot");
	CALL(rename("f", "g/"), "a file to a name with a slash");
	CALL(rename("f/", "g"), "a file with a slash");
	CALL(rename("d/", "h/"), "a folder with slashes");
	CALL(rename("h", "d"), "and back");
	CALL(rename("", "g"), "an empty name");
	CALL(rename("f", ""), "to an empty name");
	CALL(rename("f", "missing/g"), "to a missing folder");
	CALL(rename("f", "d/x/g"), "below a file");
	CALL(syscall(SYS_renameat2, AT_FDCWD, "f", AT_FDCWD, "g", 0x80), "a bad flag");
	CALL(syscall(SYS_renameat2, AT_FDCWD, "f", AT_FDCWD, "g", RENAME_EXCHANGE | RENAME_NOREPLACE), "two flags that exclude each other");
	int dir = MUST(open("d", O_RDONLY)), fd = MUST(open("d/x", O_RDWR));
	CALL(renameat(AT_FDCWD, "f", dir, "y"), "renameat");
	CALL(rename("d/y", "d/x"), "over an open file");
	char b[8] = "";
	CALL(read(fd, b, 8), "the open one is the old one");
	say("%s", b);
	CALL(rename("d", "moved"), "a folder that is open");
	CALL(openat(dir, "x", O_RDONLY) >= 0 ? 0 : -1, "its descriptor goes on");
	list("moved");
	MUST(chdir("moved"));
	MUST(rename("../moved", "../again"));
	char cwd[4096];
	IS(getcwd(cwd, sizeof cwd) && !strcmp(strrchr(cwd, '/'), "/again"), "the current folder was renamed");
	MUST(chdir(".."));
	close(dir), close(fd);
	leave();
}

static void links(void) {
	clear();
	put("f", "f");
	MUST(mkdir("d", 0755));
	struct stat st, other;
	CALL(link("f", "g"), "link");
	stat("f", &st), stat("g", &other);
	IS(st.st_ino == other.st_ino && st.st_dev == other.st_dev, "one inode");
	say("links %d", (int)st.st_nlink);
	CALL(link("f", "g"), "again");
	CALL(link("d", "e"), "a folder");
	CALL(link("missing", "e"), "a missing file");
	CALL(link("f", "d"), "over a folder");
	CALL(link("f", "missing/e"), "into a missing folder");
	symlink("f", "s");
	CALL(link("s", "h"), "a symlink");
	lstat("h", &st);
	IS(S_ISLNK(st.st_mode), "it is a link to the symlink");
	CALL(linkat(AT_FDCWD, "s", AT_FDCWD, "i", AT_SYMLINK_FOLLOW), "a symlink, followed");
	stat("f", &st);
	say("links %d", (int)st.st_nlink);
	CALL(linkat(AT_FDCWD, "s", AT_FDCWD, "i", 0x8000), "a bad flag");
	CALL(unlink("f"), "unlink");
	stat("g", &st);
	say("links %d", (int)st.st_nlink);
	CALL(unlink("d"), "unlink a folder");
	CALL(unlink("missing"), "unlink a missing file");
	CALL(unlink("g/"), "unlink a file with a slash");
	CALL(unlinkat(AT_FDCWD, "g", AT_REMOVEDIR), "remove a file as a folder");
	CALL(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR), "unlinkat a folder");
	CALL(unlinkat(AT_FDCWD, "g", 0x40), "a bad flag");
	list(".");
	leave();
}

static void symlinks(void) {
	clear();
	put("f", "text");
	MUST(mkdir("d", 0755)), put("d/x", "x");
	static const char *const to[] = {"f", "d", "missing", "self", "d/../f", "/dev/null", "d/", ""};
	char b[300], name[16];
	struct stat st;
	for (unsigned i = 0; i < COUNT(to); i++) {
		sprintf(name, "l%d", i);
		if (!strcmp(to[i], "self")) strcpy(name, "self");
		CALL(symlink(to[i], name), "symlink to \"%s\"", to[i]);
		if (errno) continue;
		long n = readlink(name, b, sizeof b);
		say("readlink %.*s", (int)n, b);
		CALL(stat(name, &st), "stat");
		CALL(lstat(name, &st), "lstat");
		say("size %ld, mode %o", (long)st.st_size, st.st_mode);
	}
	CALL(symlink("x", "f"), "over a file");
	CALL(symlink("x", "missing/l"), "in a missing folder");
	CALL(readlink("f", b, 10), "readlink of a file");
	CALL(readlink("missing", b, 10), "readlink of nothing");
	CALL(readlink("l0", b, 0), "into 0 bytes");
	CALL(readlink("l4", b, 3), "into 3 bytes");
	CALL(access("l1/x", F_OK), "through a symlink");
	CALL(access("l0/x", F_OK), "through a symlink to a file");
	symlink("b", "a"), symlink("a", "b");
	CALL(access("a", F_OK), "a loop of two");
	char chain[16] = "f", next[16];
	for (int i = 0; i < 41; i++) {
		sprintf(next, "chain%d", i);
		MUST(symlink(chain, next));
		strcpy(chain, next);
	}
	CALL(access("chain39", F_OK), "40 symlinks");
	CALL(access("chain40", F_OK), "41 symlinks");
	CALL(chmod("l2", 0600), "chmod of a dangling symlink");
	CALL(unlink("l0"), "unlink a symlink");
	CALL(access("f", F_OK), "what it named is there");
	CALL(rmdir("l1"), "rmdir of a symlink");
	leave();
}

static void folders(void) {
	clear();
	struct stat st;
	umask(027);
	CALL(mkdir("d", 0777), "mkdir");
	stat("d", &st);
	say("mode %04o", st.st_mode & 07777);
	umask(022);
	CALL(mkdir("d", 0777), "again");
	CALL(mkdir("missing/d", 0777), "in a missing folder");
	CALL(mkdir("e/", 0777), "with a slash");
	CALL(mkdir("", 0777), "an empty name");
	CALL(mkdir(".", 0777), "dot");
	CALL(mkdir("d/..", 0777), "dot dot");
	put("f", "f");
	CALL(mkdir("f", 0777), "over a file");
	CALL(mkdir("f/d", 0777), "below a file");
	symlink("new", "s");
	CALL(mkdir("s", 0777), "over a dangling symlink");
	put("d/x", "x");
	CALL(rmdir("d"), "rmdir of a full folder");
	CALL(rmdir("f"), "rmdir of a file");
	CALL(rmdir("missing"), "rmdir of nothing");
	CALL(rmdir("."), "rmdir of dot");
	CALL(rmdir("d/.."), "rmdir of dot dot");
	CALL(rmdir("e"), "rmdir");
	unlink("d/x");
	MUST(chdir("d"));
	CALL(rmdir("../d"), "rmdir of the current folder");
	char cwd[4096];
	CALL(getcwd(cwd, sizeof cwd) ? 0 : -1, "getcwd");
	list(".");
	CALL(open("new", O_CREAT | O_RDWR, 0600), "create in the removed folder");
	CALL(mkdir("new", 0700), "mkdir in the removed folder");
	CALL(chdir(".."), "leave it");
	CALL(chdir("f"), "chdir to a file");
	CALL(chdir("missing"), "chdir to nothing");
	CALL(getcwd(cwd, 2) ? 0 : -1, "getcwd into 2 bytes");
	int fd = MUST(open("f", O_RDONLY));
	CALL(fchdir(fd), "fchdir to a file");
	list(".");
	leave();
}

static void reading(void) {
	clear();
	char name[16];
	for (int i = 0; i < 200; i++) {
		sprintf(name, "n%03d", i);
		put(name, "");
	}
	int fd = MUST(open(".", O_RDONLY)), dots = 0, total = 0;
	static char buffer[1000];
	CALL(syscall(SYS_getdents64, fd, buffer, 10), "getdents64 into 10 bytes");
	for (long n; (n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;)
		for (long at = 0; at < n; total++) {
			struct dirent64 *e = (void *)(buffer + at);
			dots += e->d_name[0] == '.';
			at += e->d_reclen;
		}
	say("entries %d, dots %d", total, dots);
	CALL(syscall(SYS_getdents64, fd, buffer, sizeof buffer), "at the end");
	CALL(lseek(fd, 0, SEEK_SET), "rewind");
	IS(syscall(SYS_getdents64, fd, buffer, sizeof buffer) > 0, "again from the start");
	close(fd);
	DIR *d = opendir(".");
	long where = 0;
	char kept[300] = "";
	for (int i = 0; i < 50; i++) {
		if (i == 20) where = telldir(d);
		struct dirent *e = readdir(d);
		if (i == 20) strcpy(kept, e->d_name);
	}
	seekdir(d, where);
	IS(!strcmp(readdir(d)->d_name, kept), "seekdir goes to the same entry");
	rewinddir(d);
	int seen = 0;
	for (struct dirent *e; (e = readdir(d));) { // files may be removed while a folder is read
		seen++;
		if (e->d_name[0] != '.') unlink(e->d_name);
	}
	say("seen %d while removing", seen);
	closedir(d);
	list(".");
	fd = MUST(open("x", O_CREAT | O_RDWR, 0600));
	CALL(syscall(SYS_getdents64, fd, buffer, sizeof buffer), "getdents64 of a file");
	close(fd);
	fd = MUST(open(".", O_RDONLY));
	CALL(read(fd, buffer, 10), "read of a folder");
	CALL(syscall(SYS_getdents64, CLOSED_FD, buffer, sizeof buffer), "a closed descriptor");
	close(fd);
	leave();
}

CASES(C(matrix), C(special), C(links), C(symlinks), C(folders), C(reading))
