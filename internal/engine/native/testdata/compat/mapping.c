// Memory: maps of files, shared and private, protection, mremap, System V and POSIX shared memory, memfd.
#include "compat.h"
#include <setjmp.h>
#include <sys/ipc.h>
#include <sys/shm.h>

enum { PAGE = 4096 };
static sigjmp_buf back;
static volatile int trap;
static void fault(int signo, siginfo_t *i, void *c) {
	trap = signo;
	siglongjmp(back, 1);
}
#define TRY(expr) ({ trap = 0; if (sigsetjmp(back, 1) == 0) expr; trap ? signal_name(trap) : "fine"; })
__attribute__((noinline)) static void touch(char *p) { *(volatile char *)p; }
static void traps(void) {
	struct sigaction a = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &a, NULL), sigaction(SIGBUS, &a, NULL);
}
static char *map(size_t n, int prot, int flags, int fd, long at) {
	char *p = mmap(NULL, n, prot, flags, fd, at);
	return p == MAP_FAILED ? NULL : p;
}
#define MAP(...) ({ errno = 0; char *m_ = map(__VA_ARGS__); m_; })
static int file(const char *name, size_t size) {
	int fd = MUST(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));
	MUST(ftruncate(fd, size));
	return fd;
}

static void files(void) {
	int fd = file("f", 2 * PAGE);
	char b[16] = "";
	MUST(pwrite(fd, "hello", 5, 0));
	char *s = MAP(2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *p = MAP(2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	say("shared %.5s, private %.5s", s, p);
	MUST(pwrite(fd, "HELLO", 5, 0));
	say("after a write: shared %.5s", s);
	memcpy(s, "mapped", 6);
	CALL(pread(fd, b, 6, 0), "pread");
	say("%s", b);
	memcpy(p, "private", 7);
	pread(fd, b, 7, 0);
	say("after a private write: file %.6s, shared %.6s, private %.7s", b, s, p);
	MUST(pwrite(fd, "again", 5, 0));
	say("then a write: private %.7s", p);
	char *other = MAP(PAGE, PROT_READ, MAP_SHARED, fd, 0);
	memcpy(s, "twice", 5);
	say("another map: %.5s", other);
	CALL(msync(s, PAGE, MS_SYNC), "msync");
	CALL(msync(s, PAGE, MS_SYNC | MS_ASYNC), "msync both ways");
	CALL(msync(s + 1, PAGE, MS_SYNC), "msync not aligned");
	close(fd);
	memcpy(s, "closed", 6);
	fd = MUST(open("f", O_RDONLY));
	pread(fd, b, 6, 0);
	say("written after the close: %.6s", b);
	IN_CHILD("child that writes to both") memcpy(s, "child", 5), memcpy(p, "child", 5);
	say("shared %.6s, private %.7s", s, p);
	CALL(munmap(s, 2 * PAGE), "munmap");
	CALL(munmap(s, 2 * PAGE), "munmap again");
	munmap(p, 2 * PAGE), munmap(other, PAGE);
	close(fd);
}

static void growing(void) {
	traps();
	int fd = file("g", 100);
	char *s = MAP(3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	say("in the file: %s", TRY(s[50] = 'x'));
	say("behind the end, in its page: %s", TRY(s[200] = 'y'));
	say("in the page after it: %s", TRY(s[PAGE] = 'z'));
	MUST(ftruncate(fd, 2 * PAGE));
	say("after growing: %s", TRY(s[PAGE] = 'z'));
	char c;
	pread(fd, &c, 1, PAGE);
	say("in the file: %c", c);
	MUST(ftruncate(fd, 60));
	say("after shrinking: %s", TRY(touch(s + PAGE)));
	say("before the new end: %c, behind it: %d", s[50], s[100]);
	munmap(s, 3 * PAGE), close(fd);
}

static void errors(void) {
	int fd = file("e", PAGE), ro = MUST(open("e", O_RDONLY)), wo = MUST(open("e", O_WRONLY)), dir = MUST(open(".", O_RDONLY)), p[2];
	MUST(pipe(p));
#define FAILS(label, ...) say("%s: %s", label, MAP(__VA_ARGS__) ? "ok" : errno_name(errno))
	FAILS("0 bytes", 0, PROT_READ, MAP_PRIVATE, fd, 0);
	FAILS("an offset in a page", PAGE, PROT_READ, MAP_PRIVATE, fd, 5);
	FAILS("beyond the end", PAGE, PROT_READ, MAP_PRIVATE, fd, 16 * PAGE);
	FAILS("neither shared nor private", PAGE, PROT_READ, 0, fd, 0);
	FAILS("read-only file, shared to write", PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ro, 0);
	FAILS("read-only file, private to write", PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, ro, 0);
	FAILS("write-only file", PAGE, PROT_READ, MAP_SHARED, wo, 0);
	FAILS("a folder", PAGE, PROT_READ, MAP_PRIVATE, dir, 0);
	FAILS("a pipe", PAGE, PROT_READ, MAP_PRIVATE, p[0], 0);
	FAILS("a closed descriptor", PAGE, PROT_READ, MAP_PRIVATE, CLOSED_FD, 0);
	FAILS("anonymous with a descriptor", PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, CLOSED_FD, 0);
	FAILS("a huge length", 1UL << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FAILS("executable", PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	int null = MUST(open("/dev/null", O_RDWR)), zero = MUST(open("/dev/zero", O_RDWR));
	FAILS("/dev/null", PAGE, PROT_READ, MAP_PRIVATE, null, 0);
	FAILS("/dev/zero", PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
	char *s = MAP(PAGE, PROT_READ, MAP_SHARED, ro, 0), *f = MAP(4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CALL(mprotect(s, PAGE, PROT_READ | PROT_WRITE), "mprotect to write a read-only file");
	char *at = mmap(f + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	IS(at == f + PAGE, "MAP_FIXED is where it was asked for");
	at = mmap(f + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	say("MAP_FIXED_NOREPLACE over it: %s", at == MAP_FAILED ? errno_name(errno) : "ok");
	CALL(munmap(f + 1, PAGE), "munmap not aligned");
	CALL(munmap(f, 0), "munmap of 0 bytes");
	close(fd), close(ro), close(wo), close(dir), close(p[0]), close(p[1]), close(null), close(zero);
}

static void protection(void) {
	traps();
	char *m = MAP(3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	IS(m[0] == 0 && m[3 * PAGE - 1] == 0, "zeros");
	m[PAGE] = 'x';
	CALL(mprotect(m + PAGE, PAGE, PROT_READ), "read-only");
	say("read: %s", TRY(touch(m + PAGE)));
	say("write: %s", TRY(m[PAGE] = 1));
	CALL(mprotect(m + PAGE, PAGE, PROT_NONE), "none");
	say("read: %s", TRY(touch(m + PAGE)));
	CALL(write(1, m + PAGE, 1), "write(2) from there");
	CALL(mprotect(m + PAGE, PAGE, PROT_READ | PROT_WRITE), "all again");
	say("still there: %c", m[PAGE]);
	CALL(mprotect(m + 1, PAGE, PROT_READ), "not aligned");
	CALL(mprotect(m, PAGE, 0x80), "a bad right");
	CALL(munmap(m + PAGE, PAGE), "unmap the middle");
	CALL(mprotect(m, 3 * PAGE, PROT_READ), "over the gap");
	say("the gap: %s", TRY(touch(m + PAGE)));
	CALL(madvise(m + 2 * PAGE, PAGE, 999), "a bad advice");
	char *d = MAP(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	d[0] = 'd';
	CALL(madvise(d, PAGE, MADV_DONTNEED), "MADV_DONTNEED");
	say("afterwards: %d", d[0]);
	unsigned char vec[3];
	d[0] = 1;
	CALL(mincore(d, PAGE, vec), "mincore");
	IS(vec[0] & 1, "resident");
	CALL(mlock(d, PAGE), "mlock");
	CALL(munlock(d, PAGE), "munlock");
	void *brk0 = sbrk(0);
	IS(sbrk(100000) == brk0 && (char *)sbrk(0) == (char *)brk0 + 100000, "sbrk moves the end");
	sbrk(-100000);
}

static void moving(void) {
	traps();
	char *m = MAP(2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(m, "content");
	char *n = mremap(m, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	IS(n != MAP_FAILED && !strcmp(n, "content") && n[63 * PAGE] == 0, "larger");
	m = mremap(n, 64 * PAGE, PAGE, 0);
	IS(m == n && !strcmp(m, "content"), "smaller stays");
	say("what was cut: %s", TRY(touch(m + PAGE)));
	char *to = MAP(PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	n = mremap(m, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	IS(n == to && !strcmp(n, "content"), "to a fixed place");
	say("the old place: %s", TRY(touch(m + 0)));
	say("not aligned: %s", mremap(n + 1, PAGE, PAGE, 0) == MAP_FAILED ? errno_name(errno) : "ok");
	say("what is not mapped: %s", mremap(m, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? errno_name(errno) : "ok");
	say("to 0 bytes: %s", mremap(n, PAGE, 0, 0) == MAP_FAILED ? errno_name(errno) : "ok");
	int fd = file("m", 4 * PAGE);
	char *s = MAP(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	s = mremap(s, PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	s[3 * PAGE] = 'r';
	char c;
	pread(fd, &c, 1, 3 * PAGE);
	say("a file's map grown: %c", c);
	close(fd);
}

static void between_processes(void) {
	volatile int *s = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	IN_CHILD("child that adds") for (int i = 0; i < 100; i++) s[0]++;
	say("shared anonymous: %d", s[0]);
	pid_t child = fork();
	if (child == 0) {
		while (!s[1]) sched_yield(), nap(1);
		s[2] = s[1] + 1;
		_exit(0);
	}
	s[1] = 41;
	reap(child, "child");
	say("answer: %d", s[2]);
}

static void sysv(void) {
	int id = shmget(IPC_PRIVATE, 5000, 0600 | IPC_CREAT);
	if (id < 0) {
		say("skip: no System V shared memory here");
		return;
	}
	char *a = shmat(id, NULL, 0), *b = shmat(id, NULL, SHM_RDONLY);
	IS(a != (void *)-1 && b != (void *)-1 && a != b, "attached twice");
	strcpy(a, "sysv");
	say("%s, the rest is %d", b, a[4999]);
	traps();
	say("write to the read-only one: %s", TRY(b[0] = 1));
	struct shmid_ds d;
	CALL(shmctl(id, IPC_STAT, &d), "stat");
	say("size %zu, attached %d, mode %o", d.shm_segsz, (int)d.shm_nattch, d.shm_perm.mode & 0777);
	IS(d.shm_cpid == getpid() && d.shm_lpid == getpid(), "made and used by this process");
	IN_CHILD("child that writes") strcpy(a, "child");
	say("%s", a);
	key_t key = 0x5eed0000 + getpid() % 0xffff;
	int named = shmget(key, 100, 0600 | IPC_CREAT | IPC_EXCL);
	IS(named >= 0, "with a key");
	CALL(shmget(key, 100, 0600 | IPC_CREAT | IPC_EXCL), "again, exclusive");
	IS(shmget(key, 50, 0600) == named, "found");
	CALL(shmget(key, 5000, 0600), "found, too small");
	CALL(shmget(key + 1, 100, 0600), "no such key");
	CALL(shmctl(named, IPC_RMID, NULL), "remove");
	CALL(shmget(key, 100, 0600), "it is gone");
	CALL(shmctl(id, IPC_RMID, NULL), "remove what is attached");
	shmctl(id, IPC_STAT, &d);
	IS(d.shm_perm.mode & SHM_DEST, "it waits for the last to leave");
	CALL(shmdt(a), "detach");
	CALL(shmdt(a), "detach again");
	say("the other is still there: %s", b);
	CALL(shmdt(b), "detach");
	CALL(shmat(id, NULL, 0) == (void *)-1 ? -1 : 0, "attach what is gone");
	CALL(shmget(IPC_PRIVATE, 0, 0600 | IPC_CREAT), "0 bytes");
}

static void posix(void) {
	char name[64];
	snprintf(name, sizeof name, "/compat-%d", (int)getpid());
	CALL(shm_open(name, O_RDWR, 0600), "open what is not there");
	int fd = OK(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), "shm_open");
	IS(fcntl(fd, F_GETFD) == FD_CLOEXEC, "close-on-exec");
	CALL(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), "again");
	CALL(ftruncate(fd, PAGE), "ftruncate");
	char *m = MAP(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	IN_CHILD("child that opens it by name") {
		int c = MUST(shm_open(name, O_RDWR, 0));
		strcpy(MAP(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c, 0), "by name");
	}
	say("%s", m);
	CALL(shm_unlink(name), "shm_unlink");
	CALL(shm_unlink(name), "again");
	strcpy(m, "still there");
	char b[16] = "";
	pread(fd, b, 11, 0);
	say("%s", b);
	close(fd);
	fd = OK(syscall(SYS_memfd_create, "name", 3), "memfd_create with sealing");
	MUST(ftruncate(fd, 100));
	CALL(write(fd, "memory", 6), "write");
	CALL(fcntl(fd, F_GET_SEALS), "seals");
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), "seal the size");
	CALL(ftruncate(fd, 50), "shrink");
	CALL(ftruncate(fd, 200), "grow");
	CALL(pwrite(fd, "x", 1, 99), "write inside");
	CALL(pwrite(fd, "xy", 2, 100), "write beyond");
	m = MAP(100, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), "seal the content while it is mapped");
	munmap(m, 100);
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL), "seal the content");
	CALL(write(fd, "x", 1), "write");
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), "seal once more");
	CALL(fcntl(fd, F_GET_SEALS), "seals");
	close(fd);
	fd = MUST(syscall(SYS_memfd_create, "plain", 0));
	CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), "seal one that was made without sealing");
	CALL(syscall(SYS_memfd_create, "x", 0x8000), "a bad flag");
	close(fd);
}

CASES(C(files), C(growing), C(errors), C(protection), C(moving), C(between_processes), C(sysv), C(posix))
