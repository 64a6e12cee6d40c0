// Many shared maps of files: thousands of them, moved, shared with children, beside private ones, and over ends that move.
#include "compat.h"
#include <setjmp.h>

enum { PAGE = 4096, MANY = 3000 };
static sigjmp_buf back;
static volatile int trap;
static volatile long where;
static void fault(int signo, siginfo_t *i, UNUSED void *c) {
	trap = signo, where = (long)i->si_addr;
	siglongjmp(back, 1);
}
__attribute__((constructor)) static void traps(void) {
	struct sigaction a = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &a, NULL), sigaction(SIGBUS, &a, NULL);
}
static const char *store(char *p, char c) {
	trap = 0;
	if (sigsetjmp(back, 1) == 0) *(volatile char *)p = c;
	return !trap ? "fine" : where == (long)p ? signal_name(trap) : "elsewhere";
}
static int file(const char *name, size_t size) {
	int fd = MUST(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));
	MUST(ftruncate(fd, size));
	return fd;
}
static char *map(size_t n, int prot, int flags, int fd, long at) {
	char *p = mmap(NULL, n, prot, flags, fd, at);
	return p == MAP_FAILED ? NULL : p;
}

static char *maps[MANY];

static void many(void) {
	int fd = file("many", MANY * PAGE), other = file("other", PAGE);
	for (int i = 0; i < MANY; i++) { // backwards, so that Linux makes no map of two
		maps[i] = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, i % 2 ? other : fd, i % 2 ? 0 : (long)(MANY - 1 - i) * PAGE);
		if (maps[i]) maps[i][1] = i % 100;
	}
	CALL(msync(maps[10], PAGE, MS_SYNC), "msync of one");
	CALL(fsync(fd), "fsync");
	long sum = 0;
	for (int i = 0; i < MANY; i++) {
		char c = 0;
		pread(i % 2 ? other : fd, &c, 1, (i % 2 ? 0 : (long)(MANY - 1 - i) * PAGE) + 1);
		sum += c;
	}
	say("sum %ld", sum);
	for (int i = 0; i < MANY; i += 3) munmap(maps[i], PAGE), maps[i] = NULL;
	int moved = 0;
	for (int i = 1; i < MANY; i += 30) {
		char *p = maps[i] ? mremap(maps[i], PAGE, 2 * PAGE, MREMAP_MAYMOVE) : MAP_FAILED;
		if (p != MAP_FAILED) maps[i] = p, p[2] = i, moved++;
	}
	say("moved %d", moved);
	CALL(msync(maps[1], PAGE, MS_SYNC), "msync of one that has moved");
}

static void gaps(void) {
	int fd = file("gaps", 4 * PAGE);
	char *p = map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(p, 'a', 4 * PAGE);
	munmap(p + PAGE, PAGE);
	CALL(msync(p, 4 * PAGE, MS_SYNC), "msync over a gap");
	CALL(msync(p, 4 * PAGE, MS_ASYNC), "and of another kind");
	CALL(msync(p, PAGE, MS_SYNC), "msync before it");
	CALL(msync(p + PAGE, PAGE, MS_SYNC), "msync of it");
}

static void protections(void) {
	int fd = file("protections", 2 * PAGE), ro = MUST(open("protections", O_RDONLY));
	char *p = map(2 * PAGE, PROT_READ, MAP_SHARED, fd, 0), *q = map(PAGE, PROT_READ, MAP_SHARED, ro, 0);
	say("store: %s", store(p, 'x'));
	CALL(mprotect(p, PAGE, PROT_READ | PROT_WRITE), "mprotect");
	say("store: %s, behind: %s", store(p, 'x'), store(p + PAGE, 'x'));
	CALL(mprotect(q, PAGE, PROT_READ | PROT_WRITE), "mprotect of what is open to read");
	CALL(msync(p, PAGE, MS_SYNC), "msync");
	CALL(msync(q, PAGE, MS_SYNC), "msync of that");
	char *none = map(PAGE, PROT_NONE, MAP_SHARED, fd, 0);
	say("none: %s", store(none, 'x'));
	CALL(mprotect(none, PAGE, PROT_READ | PROT_WRITE), "mprotect");
	say("none no more: %s, %c", store(none + 1, 'y'), p[1]);
}

static void ends(void) {
	int fd = file("ends", 3 * PAGE + 100);
	char *p = map(6 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *q = map(6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	say("last page %s, behind %s, private %s", store(p + 3 * PAGE + 200, 'x'), store(p + 4 * PAGE, 'x'), store(q + 4 * PAGE, 'x'));
	say("second page %s, private %s", store(p + PAGE, 's'), store(q + PAGE, 'p'));
	MUST(ftruncate(fd, PAGE));
	say("after truncation: %s, private %s, first %s", store(p + PAGE, 'x'), store(q + PAGE, 'x'), store(p, 'f'));
	MUST(ftruncate(fd, 5 * PAGE));
	say("grown: %s, private %s", store(p + 4 * PAGE, 'g'), store(q + 4 * PAGE, 'h'));
	say("%c %d %c", p[0], p[PAGE], p[4 * PAGE]);
	CALL(msync(p, 6 * PAGE, MS_SYNC), "msync beyond the end");
	CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE), "a hole");
	say("%d, store %s", p[0], store(p, 'z'));
	CALL(fsync(fd), "fsync");
	unlink("ends"), close(fd);
	say("without a name: %s, %c", store(p + 1, 'u'), p[1]);
	CALL(msync(p, PAGE, MS_SYNC), "msync without a name");
}

static void families(void) {
	int fd = file("families", 2 * PAGE);
	char *p = map(2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *q = map(2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	IN_CHILD("child stores") {
		p[0] = 'c', q[0] = 'd';
		IN_CHILD("grandchild stores") p[PAGE] = 'g', MUST(msync(p + PAGE, PAGE, MS_SYNC));
	}
	say("%c %c %d", p[0], p[PAGE], q[0] == 'd');
	int zero = MUST(open("/dev/zero", O_RDWR));
	char *z = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0), *anonymous = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	close(zero);
	IN_CHILD("child stores into no file") z[0] = 'z', anonymous[0] = 'a';
	say("%c %c", z[0], anonymous[0]);
	CALL(msync(z, PAGE, MS_SYNC), "msync of /dev/zero");
	CALL(msync(anonymous, PAGE, MS_SYNC), "msync of memory");
	zero = MUST(open("/dev/zero", O_RDWR));
	z = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
	say("another map of /dev/zero: %d", z[0]);
}

static void renamed(void) {
	int fd = file("from", PAGE), old = file("to", PAGE);
	char *p = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *q = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, old, 0);
	p[0] = 'n', q[0] = 'o';
	CALL(rename("from", "to"), "rename");
	close(fd), close(old);
	char c = 0;
	fd = MUST(open("to", O_RDWR | O_TRUNC));
	say("new %s, old %s", store(p, 'x'), store(q, 'y'));
	MUST(ftruncate(fd, PAGE));
	say("new %s", store(p, 'm'));
	pread(fd, &c, 1, 0);
	say("%c %c", c, q[0]);
	CALL(msync(q, PAGE, MS_SYNC), "msync of the one that was replaced");
}

CASES(C(many), C(gaps), C(protections), C(ends), C(families), C(renamed))
