// Stores into a map of a sparse file, into holes and into pages that have room already, and has a call read into a hole.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static siginfo_t info;
static void fault(int sig, siginfo_t *i, void *context) {
	info = *i;
	siglongjmp(back, 1);
}

static const char *store(volatile char *at) {
	if (sigsetjmp(back, 1)) {
		return info.si_signo == SIGBUS && info.si_code == BUS_ADRERR && info.si_addr == at ? "bus error" : "another signal";
	}
	*at = 'x';
	return "stored";
}

int main(void) {
	struct sigaction a = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &a, 0);
	sigaction(SIGSEGV, &a, 0);
	int fd = open("/data", O_RDWR | O_CREAT, 0600), in = open("/in", O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 400 * 4096);
	char *map = mmap(0, 400 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	write(in, "abcd", 4);
	store(map);
	posix_fallocate(fd, 399 * 4096, 4096);
	for (int i = 0; i < 100; i++) {
		const char *hole = store(map + (1 + i) * 4096 + 8), *old = store(map + 16), *given = store(map + 399 * 4096);
		const char *got = pread(in, map + (200 + i) * 4096, 4, 0) == 4 ? "read" : strerror(errno);
		printf("hole %s, old %s, allocated %s, %s\n", hole, old, given, got);
		fflush(stdout);
		usleep(20000);
	}
}
