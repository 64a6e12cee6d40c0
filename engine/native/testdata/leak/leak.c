/* leak WHAT: prints one thing that is left to chance on a real machine. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "aslr")) {
		printf("%p\n", (void *)&argc);
	} else if (!strcmp(what, "tsc")) {
		printf("%llu\n", (unsigned long long)__rdtsc());
	} else if (!strcmp(what, "vdso") || !strcmp(what, "clock")) {
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		printf("%ld.%09ld\n", t.tv_sec, t.tv_nsec);
	} else if (!strcmp(what, "auxv-random")) {
		unsigned char *r = (unsigned char *)getauxval(AT_RANDOM);
		printf("%02x%02x%02x%02x\n", r[0], r[1], r[2], r[3]);
	} else if (!strcmp(what, "random")) {
		unsigned long v = 0;
		getrandom(&v, sizeof v, 0);
		printf("%lx\n", v);
	} else if (!strcmp(what, "order")) {
		DIR *d = opendir("/etc");
		for (struct dirent *e; (e = readdir(d));)
			printf("%s\n", e->d_name);
	} else if (!strcmp(what, "meminfo")) {
		char b[4096];
		int f = open("/proc/uptime", O_RDONLY);
		int n = read(f, b, sizeof b);
		printf("%.*s", n, b);
	} else if (!strcmp(what, "pids")) {
		printf("%d\n", getpid());
	} else if (!strcmp(what, "ports")) {
		struct sockaddr_in a = {.sin_family = AF_INET};
		socklen_t n = sizeof a;
		int s = socket(AF_INET, SOCK_STREAM, 0);
		bind(s, (struct sockaddr *)&a, n);
		listen(s, 1);
		getsockname(s, (struct sockaddr *)&a, &n);
		printf("%d\n", ntohs(a.sin_port));
	} else {
		return 2;
	}
	return 0;
}
