// Takes much memory by one call, in the way that the argument names.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SIZE (1UL << 30)

static int way(int argc, char **argv, const char *name) { return strcmp(argv[1], name) == 0; }
#define IF(name) if (way(argc, argv, name))

static void *map(int flags) {
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_NORESERVE | MAP_ANONYMOUS | flags, -1, 0);
	if (p == MAP_FAILED) perror("mmap"), exit(1);
	return p;
}

int main(int argc, char **argv) {
	write(1, "begin\n", 6);
	IF("populate") map(MAP_PRIVATE | MAP_POPULATE);
	IF("populate executable") mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	IF("populate shared") map(MAP_SHARED | MAP_POPULATE);
	IF("locked") map(MAP_PRIVATE | MAP_LOCKED);
	IF("madvise") madvise(map(MAP_PRIVATE), SIZE, MADV_POPULATE_WRITE);
	IF("madvise beyond") {
		char *low = (char *)(1UL << 40);
		mmap(low, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		madvise(low, 1UL << 40, MADV_POPULATE_WRITE);
	}
	IF("madvise shared") madvise(map(MAP_SHARED), SIZE, MADV_POPULATE_READ);
	IF("populate file") {
		int fd = memfd_create("f", 0);
		ftruncate(fd, SIZE);
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	}
	IF("populate copies") {
		int fd = open(argv[0], O_RDONLY), n = 0; // what lies behind the file's end cannot be populated
		for (; n < 1 << 16; n++) mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	}
	IF("again") for (char *p = map(MAP_PRIVATE), *e = p + SIZE; p < e; p += 1 << 20) madvise(p, 1 << 20, MADV_POPULATE_WRITE);
	IF("remap") { // of a locked map
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
		char *q = mremap(p, 4096, SIZE, MREMAP_MAYMOVE);
		if (q != MAP_FAILED) memset(q, 1, SIZE);
	}
	IF("mlockall") {
		mlockall(MCL_CURRENT | MCL_FUTURE);
		memset(map(MAP_PRIVATE), 1, SIZE);
	}
	IF("huge") {
		char *p = map(MAP_PRIVATE);
		madvise(p, SIZE, MADV_HUGEPAGE);
		for (unsigned long i = 0; i < SIZE; i += 2 << 20) p[i] = 1;
		memset(p, 1, SIZE);
	}
	IF("fallocate") {
		int fd = memfd_create("f", 0);
		for (long end = 1 << 20; fallocate(fd, 0, 0, end) == 0; end *= 2) {
			void *p = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			memset(p, 1, end), munmap(p, end);
		}
	}
	IF("read") {
		char *p = map(MAP_PRIVATE);
		for (int fd = open("/dev/zero", O_RDONLY), done = 0, n; (n = read(fd, p + done, SIZE - done)) > 0; done += n);
	}
	IF("readv") {
		struct iovec v[1024];
		char *p = map(MAP_PRIVATE);
		for (int i = 0; i < 1024; i++) v[i].iov_base = p + ((unsigned long)i << 20), v[i].iov_len = 1 << 20;
		for (int fd = open("/dev/zero", O_RDONLY), i = 0; i < 1024; i += 16) readv(fd, v + i, 16);
	}
	IF("getrandom") {
		char *p = map(MAP_PRIVATE);
		for (unsigned long i = 0; i < SIZE; i += 1 << 20) getrandom(p + i, SIZE - i, 0);
	}
	IF("segment") {
		int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
		shmctl(id, SHM_LOCK, NULL);
		madvise(shmat(id, NULL, 0), SIZE, MADV_POPULATE_WRITE);
	}
	IF("copies") { // of what a fork shares
		char *p = mmap(NULL, 40 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 1, 40 << 20);
		for (int i = 0; i < 25; i++) if (fork() == 0) { madvise(p, 40 << 20, MADV_POPULATE_WRITE); pause(); }
		pause();
	}
	write(1, "all of it\n", 10);
	pause();
}
