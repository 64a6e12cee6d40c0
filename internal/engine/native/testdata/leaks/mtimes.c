// Leak: the times of files, of those the program makes and of those that are there.
#include "leak.h"

int main(void) {
	struct stat s;
	for (int i = 0; i < 3; i++) {
		int fd = open("mtime", O_CREAT | O_RDWR, 0644);
		if (write(fd, "x", 1) != 1) return 1;
		fstat(fd, &s);
		show("%ld.%09ld %ld.%09ld %ld.%09ld\n", (long)s.st_atim.tv_sec, s.st_atim.tv_nsec, (long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (long)s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
		close(fd);
	}
	static const char *const path[] = {"/", "/etc", "/etc/passwd", "/tmp", "/proc", "/dev/null"};
	for (int i = 0; i < 6; i++)
		if (stat(path[i], &s) == 0) show("%s %ld.%09ld %ld.%09ld\n", path[i], (long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (long)s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
	return 0;
}
