// Pages that are asked for before they are used: by maps and by madvise, with every error, over more than the engine fills at once.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#define MIB (1UL << 20)

static const char *name(int e) {
	if (e == 0)
		return "fine";
	if (e == EINVAL)
		return "EINVAL";
	if (e == ENOMEM)
		return "ENOMEM";
	if (e == EFAULT)
		return "EFAULT";
	return strerror(e);
}

static void advise(const char *what, char *p, unsigned long size) {
	for (int advice = MADV_POPULATE_READ; advice <= MADV_POPULATE_WRITE; advice++) {
		errno = 0;
		int r = madvise(p, size, advice);
		printf("%s %d: %d %s\n", what, advice, r, name(errno));
	}
}

// filled counts the pages that have anything in them.
static int filled(const char *p, unsigned long size) {
	int n = 0;
	for (unsigned long at = 0; at < size; at += 4096) {
		int any = 0;
		for (int i = 0; i < 4096; i += 64)
			if (p[at + i] != 0)
				any = 1;
		n += any;
	}
	return n;
}

static void map(const char *what, int prot, int flags, int fd, unsigned long size) {
	errno = 0;
	char *p = mmap(NULL, size, prot, flags, fd, 0);
	printf("%s: %s %s", what, p == MAP_FAILED ? "no" : "yes", name(errno));
	if (p != MAP_FAILED && prot & PROT_READ) printf(" %d", p[0]);
	if (p != MAP_FAILED && prot & PROT_WRITE) {
		p[size - 64] = 1;
		printf(" %d", filled(p, size));
	}
	printf("\n");
}

int main(void) {
	char *p = mmap(NULL, 40 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p[0] = 7;
	advise("nothing", p, 0);
	advise("a page", p, 1);
	advise("all", p, 40 * MIB);
	advise("misaligned", p + 1, 4096);
	advise("wrapping", p, -4096UL);
	advise("rounded to nothing", p, -1UL);
	advise("address 0", NULL, 4096);
	printf("%d\n", p[0]);
	munmap(p + 20 * MIB, 4096);
	advise("a hole", p, 40 * MIB);
	mprotect(p + 24 * MIB, 4096, PROT_NONE);
	advise("no access", p + 21 * MIB, 10 * MIB);
	mprotect(p + 32 * MIB, MIB, PROT_READ);
	advise("read only", p + 32 * MIB, MIB);

	int fd = open("file", O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 8192);
	char *f = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	advise("file", f, 8192);
	advise("behind the file's end", f, 16384);
	int mem = memfd_create("m", 0);
	ftruncate(mem, 20 * MIB);

	map("private", PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 20 * MIB);
	map("no access", PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 20 * MIB);
	map("read only", PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 20 * MIB);
	map("not now", PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_NONBLOCK, -1, 20 * MIB);
	map("shared", PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 20 * MIB);
	map("locked", PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 8192);
	map("locked and shared", PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_LOCKED, -1, 8192);
	map("file", PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, mem, 20 * MIB);
	map("copies of a file", PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, mem, 20 * MIB);
	map("file, and more", PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 1 * MIB);
	map("no size", PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	map("neither", PROT_READ, MAP_ANONYMOUS | MAP_POPULATE, -1, 4096);
	return 0;
}
