// Opens and makes files, and says which calls failed. Files that it has not written, and those in memory, always open.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed;

// Opens a file that is to open, or, with an error, is to fail so.
static void opens(const char *what, const char *path, int flags, int want) {
	int fd = open(path, flags, 0600), got = fd < 0 ? errno : 0;
	if (fd >= 0) close(fd);
	if (got == want) return;
	failed = 1;
	printf("%s: %s%s\n", what, strerror(got), flags & O_EXCL ? access(path, F_OK) ? ", not made" : ", made" : "");
}

int main(void) {
	mkdir("/data", 0700);
	close(open("/data/old", O_WRONLY | O_CREAT, 0600));
	close(open("/tmp/memory", O_WRONLY | O_CREAT, 0600));
	for (int i = 0; i < 100; i++) {
		failed = 0;
		opens("old", "/data/old", O_RDWR, 0);
		opens("new", "/data/new", O_WRONLY | O_CREAT | O_EXCL, 0);
		opens("folder", "/data", O_RDONLY | O_DIRECTORY, 0);
		opens("other", "/etc/passwd", O_RDONLY, 0);
		opens("missing", "/data/missing", O_RDONLY, ENOENT);
		opens("memory", "/tmp/memory", O_RDWR, 0);
		if (!failed) puts("ok");
		fflush(stdout);
		unlink("/data/new");
		usleep(20000);
	}
}
