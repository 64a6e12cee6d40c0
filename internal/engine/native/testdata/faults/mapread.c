// Maps a file that it finds and reads a page of each part of it, which the disk may refuse, or makes that file.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PART = 64 << 10, PARTS = 32 };
static sigjmp_buf back;
static siginfo_t info;
static void fault(int sig, siginfo_t *i, void *context) {
	info = *i;
	siglongjmp(back, 1);
}

int main(void) {
	struct sigaction a = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &a, 0);
	sigaction(SIGSEGV, &a, 0);
	int fd = open("/data", O_RDWR | O_CREAT, 0600);
	if (lseek(fd, 0, SEEK_END) == 0) {
		char *bytes = malloc(PART);
		memset(bytes, 'x', PART);
		for (int i = 0; i < PARTS; i++) write(fd, bytes, PART);
		fsync(fd);
	}
	char *map = mmap(0, PARTS * PART, PROT_READ, MAP_SHARED, fd, 0), b[PART];
	int out = open("/dev/null", O_WRONLY), p[2];
	pipe(p);
	for (int i = 0; i < 2 * PARTS; i++) {
		volatile char *at = map + (i % PARTS) * PART + 4096;
		const char *how = "read";
		if (i % 7 == 3 && write(p[1], (char *)at, 1) != 1) how = "not written"; // a call that looks there has the bytes
		if (i % 5 == 4) pread(fd, b, PART, (i % PARTS) * PART); // then it is in the page cache, if the disk gives it
		if (sigsetjmp(back, 1)) how = info.si_signo == SIGBUS && info.si_code == BUS_ADRERR && info.si_addr == at ? "bus error" : "another signal";
		else if (*at != 'x') how = "other bytes";
		printf("%s\n", how);
		fflush(stdout);
		usleep(20000);
	}
	pause();
}
