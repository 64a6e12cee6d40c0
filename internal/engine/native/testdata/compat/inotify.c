// inotify: what each change of a name or a file reports, watches, queues.
#include "compat.h"
#include <sys/inotify.h>

static int fd;
static void put(const char *path, const char *text) {
	int f = MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	MUST(write(f, text, strlen(text)));
	close(f);
}
static const char *mask(uint32_t m) {
	static const struct { uint32_t bit; const char *name; } n[] = {{IN_ACCESS, "ACCESS"}, {IN_MODIFY, "MODIFY"}, {IN_ATTRIB, "ATTRIB"},
		{IN_CLOSE_WRITE, "CLOSE_WRITE"}, {IN_CLOSE_NOWRITE, "CLOSE_NOWRITE"}, {IN_OPEN, "OPEN"}, {IN_MOVED_FROM, "MOVED_FROM"}, {IN_MOVED_TO, "MOVED_TO"},
		{IN_CREATE, "CREATE"}, {IN_DELETE, "DELETE"}, {IN_DELETE_SELF, "DELETE_SELF"}, {IN_MOVE_SELF, "MOVE_SELF"}, {IN_UNMOUNT, "UNMOUNT"},
		{IN_Q_OVERFLOW, "Q_OVERFLOW"}, {IN_IGNORED, "IGNORED"}, {IN_ISDIR, "ISDIR"}};
	static char text[200];
	*text = 0;
	for (unsigned i = 0; i < COUNT(n); i++)
		if (m & n[i].bit) sprintf(text + strlen(text), "%s%s", *text ? "+" : "", n[i].name);
	return text;
}
// show prints all events that are there.
static void show(const char *label) {
	static char b[8192] __attribute__((aligned(8)));
	long n = read(fd, b, sizeof b);
	uint32_t cookie = 0;
	if (n < 0) say("%s: -1 %s", label, errno_name(errno));
	for (long at = 0; at < n;) {
		struct inotify_event *e = (void *)(b + at);
		say("%s: watch %d %s%s%s%s", label, e->wd, mask(e->mask), e->len ? " " : "", e->len ? e->name : "",
			e->cookie ? (cookie && cookie == e->cookie ? ", the same cookie" : ", a cookie") : "");
		if (e->cookie) cookie = e->cookie;
		at += sizeof *e + e->len;
	}
}

static void names(void) {
	fd = OK(inotify_init1(IN_NONBLOCK | IN_CLOEXEC), "init");
	MUST(mkdir("d", 0755)), MUST(mkdir("e", 0755));
	CALL(inotify_add_watch(fd, "d", IN_ALL_EVENTS & ~(IN_ACCESS | IN_OPEN | IN_CLOSE_NOWRITE)), "watch d");
	CALL(inotify_add_watch(fd, "e", IN_MOVE | IN_DELETE), "watch e");
	show("nothing");
	put("d/f", "text"), show("create and write");
	MUST(chmod("d/f", 0600)), show("chmod");
	MUST(rename("d/f", "d/g")), show("rename");
	MUST(rename("d/g", "e/g")), show("rename to another folder");
	MUST(rename("e/g", "h")), show("rename to a folder that is not watched");
	MUST(link("h", "d/l")), show("link");
	MUST(symlink("h", "d/s")), show("symlink");
	MUST(mkdir("d/sub", 0755)), show("mkdir");
	put("d/sub/x", "x"), show("below a subfolder");
	MUST(unlink("d/sub/x")), MUST(rmdir("d/sub")), show("rmdir");
	MUST(truncate("d/l", 1)), show("truncate");
	MUST(unlink("d/l")), show("unlink");
	put("d/a", "a"), put("d/b", "b"), show("two files");
	MUST(rename("d/a", "d/b")), show("rename over a file");
	MUST(unlink("d/b")), MUST(unlink("d/s")), show("unlink");
	MUST(rename("d", "d2")), show("the folder is renamed");
	MUST(rmdir("d2")), show("the folder is removed");
	MUST(rmdir("e")), show("the other folder is removed");
	close(fd);
}

static void files(void) {
	fd = MUST(inotify_init1(IN_NONBLOCK));
	put("f", "text");
	CALL(inotify_add_watch(fd, "f", IN_ALL_EVENTS), "watch a file");
	int g = MUST(open("f", O_RDWR));
	char c;
	show("open");
	MUST(read(g, &c, 1)), show("read");
	MUST(write(g, "x", 1)), show("write");
	MUST(write(g, "y", 1)), MUST(write(g, "z", 1)), show("equal events become one");
	MUST(close(g)), show("close");
	MUST(close(MUST(open("f", O_RDONLY)))), show("open and close to read");
	MUST(link("f", "f2")), show("a second name");
	MUST(rename("f", "f3")), show("rename");
	g = MUST(open("f3", O_RDONLY));
	show("open");
	MUST(unlink("f2")), MUST(unlink("f3")), show("unlink while open");
	MUST(close(g)), show("the last close");
	close(fd);
}

static void watches(void) {
	fd = MUST(inotify_init1(IN_NONBLOCK));
	MUST(mkdir("w", 0755));
	put("file", "x");
	int w = CALL(inotify_add_watch(fd, "w", IN_CREATE), "watch");
	CALL(inotify_add_watch(fd, "w", IN_DELETE), "the same folder again");
	put("w/x", "x"), show("the mask was replaced");
	CALL(inotify_add_watch(fd, "w", IN_CREATE | IN_MASK_ADD), "add to the mask");
	put("w/y", "x"), MUST(unlink("w/x")), show("both");
	CALL(inotify_add_watch(fd, "w", IN_CREATE | IN_MASK_CREATE), "only if it is new");
	CALL(inotify_rm_watch(fd, w), "remove");
	show("removed");
	CALL(inotify_rm_watch(fd, w), "remove again");
	CALL(inotify_add_watch(fd, "w", IN_CREATE | IN_ONESHOT), "once");
	put("w/1", "x"), put("w/2", "x"), show("once");
	CALL(inotify_add_watch(fd, "file", IN_MODIFY | IN_ONLYDIR), "a file as a folder");
	CALL(inotify_add_watch(fd, "missing", IN_MODIFY), "missing");
	CALL(inotify_add_watch(fd, "w", 0), "no events");
	CALL(inotify_add_watch(CLOSED_FD, "w", IN_CREATE), "a closed descriptor");
	CALL(inotify_add_watch(1, "w", IN_CREATE), "not an inotify");
	CALL(inotify_rm_watch(fd, 99), "no such watch");
	CALL(inotify_init1(0x40), "a bad flag");
	symlink("file", "soft");
	int a = inotify_add_watch(fd, "file", IN_MODIFY), b = inotify_add_watch(fd, "soft", IN_MODIFY);
	IS(a == b, "a symlink is what it names");
	POLL(fd, "nothing");
	put("file", "yy");
	POLL(fd, "something");
	int n;
	ioctl(fd, FIONREAD, &n);
	IS(n >= (int)sizeof(struct inotify_event), "FIONREAD");
	char tiny[4];
	CALL(read(fd, tiny, 4), "read into 4 bytes");
	show("modify");
	CALL(write(fd, "x", 1), "write");
	close(fd);
}

static void *touch_later(void *arg) {
	nap(30);
	put("late", "x");
	return NULL;
}
static void blocking(void) {
	fd = MUST(inotify_init1(0));
	pthread_t t;
	inotify_add_watch(fd, ".", IN_CREATE);
	pthread_create(&t, NULL, touch_later, NULL);
	show("read that waits");
	pthread_join(t, NULL);
	pid_t child = fork();
	if (child == 0) {
		nap(10);
		put("by-a-child", "x");
		_exit(0);
	}
	show("what another process does");
	reap(child, "child");
	close(fd);
}

CASES(C(names), C(files), C(watches), C(blocking))
