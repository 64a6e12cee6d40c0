/* Each probe tries one way out of the world, in a process of its own, and prints what it got hold of. It returns 1 if it got out.
 * What nobody inside can judge, the test judges: whether a secret of the host was printed, its folder was changed, its listeners
 * were reached, its process was signalled. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct probe { const char *name; int (*run)(void); };

/* The host's: a file that the node was not given, a folder that may not change, a process, ports of listeners. */
#define SECRET getenv("SECRET")
#define WITNESS getenv("WITNESS")
#define VICTIM atoi(getenv("VICTIM"))
#define TCP_PORT atoi(getenv("TCP_PORT"))
#define UDP_PORT atoi(getenv("UDP_PORT"))
#define UNIX_PATH getenv("UNIX_PATH")

static void show(const char *what, const void *bytes, size_t n) {
	printf("%s: ", what);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = ((const unsigned char *)bytes)[i];
		putchar(c >= 32 && c < 127 ? c : '.');
	}
	putchar('\n');
}

static void show_file(const char *path) {
	char b[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, b, sizeof b);
	if (n > 0) show(path, b, n);
	if (fd >= 0) close(fd);
}

static const char *witness(const char *name) {
	static char path[600];
	snprintf(path, sizeof path, "%s/%s", WITNESS, name);
	return path;
}

static int run_probes(const struct probe *probes, int count) {
	int out = 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGUSR1, SIG_IGN); /* a probe sends it to everybody */
	for (int i = 0; i < count; i++) {
		pid_t child = fork();
		if (child == 0) {
			alarm(20);
			_exit(probes[i].run() ? 77 : 0);
		}
		int status = 0;
		if (child < 0 || waitpid(child, &status, 0) != child) { printf("probe %s: not run\n", probes[i].name); out = 1; continue; }
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77) { printf("probe %s: GOT OUT\n", probes[i].name); out = 1; }
		else if (WIFSIGNALED(status)) printf("probe %s: died by signal %d\n", probes[i].name, WTERMSIG(status));
		else printf("probe %s: contained\n", probes[i].name);
	}
	return out;
}

#define PROBES(...) \
	int main(int argc, char **argv) { \
		if (argc > 1) return 0; \
		static const struct probe probes[] = {__VA_ARGS__}; \
		return run_probes(probes, sizeof probes / sizeof probes[0]); \
	}
