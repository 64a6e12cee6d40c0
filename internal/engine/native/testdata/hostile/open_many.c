// Opens a million files and keeps them. The limit of descriptors answers EMFILE, as everywhere.
// want: reason=finished
// want: line .*EMFILE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void) {
	struct rlimit l;
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max < 20000 ? l.rlim_max : 20000;
	setrlimit(RLIMIT_NOFILE, &l);
	for (int i = 0; i < 1000000; i++)
		if (open("/etc/passwd", O_RDONLY) < 0) {
			fprintf(stderr, "open: %s\n", strerrorname_np(errno));
			return 4;
		}
	return 0;
}
