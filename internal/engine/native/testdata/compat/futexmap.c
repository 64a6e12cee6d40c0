// Shared futexes are named by what is mapped, not by where: after mremap, munmap and maps over maps.
#include "compat.h"
#include <linux/futex.h>

enum { PAGE = 4096 };
static int fd;

static long futex(void *addr, int op, int val) { return syscall(SYS_futex, addr, op, val, NULL, NULL, 0); }
static void *map(void *at, int flags, int from) { return mmap(at, PAGE, PROT_READ | PROT_WRITE, flags, from, 0); }

// waiting starts a child that waits for the word at p, and returns when it does.
static pid_t waiting(int *p) {
	pid_t child = fork();
	if (child == 0) {
		alarm(10);
		_exit(futex(p, FUTEX_WAIT, 0) == 0 ? 5 : 6);
	}
	asleep(child);
	return child;
}

static void twice(void) {
	fd = MUST(memfd_create("words", 0));
	MUST(ftruncate(fd, PAGE));
	int *a = map(NULL, MAP_SHARED, fd), *b = map(NULL, MAP_SHARED, fd);
	pid_t child = waiting(a);
	CALL(futex(b + 1, FUTEX_WAKE, 1), "another word");
	CALL(futex(b, FUTEX_WAKE, 1), "by another map");
	reap(child, "the waiter");
	munmap(a, PAGE), munmap(b, PAGE), close(fd);
}

static void moved(void) {
	int *a = map(NULL, MAP_SHARED | MAP_ANONYMOUS, -1), *hole = map(NULL, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	pid_t child = waiting(a);
	int *b = mremap(a, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, hole);
	IS(b == hole, "moved");
	CALL(futex(b, FUTEX_WAKE, 1), "where it is now");
	reap(child, "the waiter");
	munmap(b, PAGE);
}

static void covered(void) {
	fd = MUST(memfd_create("words", 0));
	MUST(ftruncate(fd, PAGE));
	int *a = map(NULL, MAP_SHARED, fd), *b = map(NULL, MAP_SHARED, fd);
	pid_t child = waiting(a);
	IS(map(a, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1) == a, "private memory in its place");
	CALL(futex(a, FUTEX_WAKE, 1), "a private word");
	CALL(futex(b, FUTEX_WAKE, 1), "the shared one");
	reap(child, "the waiter");
	child = waiting(b);
	munmap(b, PAGE);
	IS(map(b, MAP_PRIVATE, fd) == b || 1, "a private map of the file");
	CALL(futex(b, FUTEX_WAKE, 1), "a private word again");
	kill(child, SIGKILL);
	reap(child, "the waiter");
	munmap(a, PAGE), munmap(b, PAGE), close(fd);
}

static void offsets(void) {
	fd = MUST(memfd_create("words", 0));
	MUST(ftruncate(fd, 2 * PAGE));
	int *a = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int *b = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE);
	pid_t child = waiting(a + PAGE / 4);
	CALL(futex(a, FUTEX_WAKE, 1), "the first page");
	CALL(futex(b, FUTEX_WAKE, 1), "the second page, mapped alone");
	reap(child, "the waiter");
	munmap(a, 2 * PAGE), munmap(b, PAGE), close(fd);
}

CASES(C(twice), C(moved), C(covered), C(offsets))
