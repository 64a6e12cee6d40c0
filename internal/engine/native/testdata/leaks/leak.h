// leak.h: shared by the programs of this folder. Each lets one source of chance reach its system calls: the values are
// written to standard output, so that two runs of one tape differ exactly when the source is not under control. With
// the source re-enabled on purpose (world.Spec.Leaks), verify must fail and name the first event that differs.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((unused, format(printf, 1, 2))) static void show(const char *format, ...) {
	char line[4096];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (n > (int)sizeof line - 1) n = sizeof line - 1;
	if (write(STDOUT_FILENO, line, n) != n) _exit(9);
}

// hash is FNV-1a, to show much in one line.
__attribute__((unused)) static uint64_t hash(const void *data, size_t n) {
	uint64_t h = 14695981039346656037u;
	for (const unsigned char *p = data; n--; p++) h = (h ^ *p) * 1099511628211u;
	return h;
}

__attribute__((unused)) static long slurp(const char *path, char *into, size_t room) {
	int fd = open(path, O_RDONLY);
	long n = 0, r;
	if (fd < 0) return -1;
	while ((r = read(fd, into + n, room - 1 - n)) > 0) n += r;
	into[n] = 0;
	close(fd);
	return n;
}
