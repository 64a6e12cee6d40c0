// Ways: code in files that change while a program executes it, by calls and by maps of this or another process. What was executed is
// gone when the program ends. The second argument is the code, of which each byte is one less.
#include "../leaks/leak.h"
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/uio.h>

#define SIZE (256 << 10)
#define RX PROT_READ | PROT_EXEC
#define RW PROT_READ | PROT_WRITE
static const char *given;
static unsigned char plain[300], code[300];
static int where = 5 * 4096 + 4000;

static void call(unsigned char *p) {
	unsigned long v = ((unsigned long (*)(void *))(p + where))(0);
	show("called %d\n", (int)(v != 0));
}
static void put(unsigned char *p, const unsigned char *b) { memcpy(p + where, b, sizeof code); }

static int file(const char *name) {
	int fd = name ? open(name, O_RDWR | O_CREAT, 0700) : memfd_create("code", 0);
	ftruncate(fd, SIZE);
	for (int at = 0; at < SIZE; at += sizeof plain) pwrite(fd, plain, at + sizeof plain > SIZE ? SIZE - at : sizeof plain, at);
	return fd;
}
static unsigned char *map(int fd, int prot, int flags) { return mmap(0, SIZE, prot, flags, fd, 0); }

static void by_call(int fd, int flags) {
	unsigned char *p = map(fd, RX, flags);
	call(p);
	pwrite(fd, code, sizeof code, where);
	call(p);
	pwrite(fd, plain, sizeof plain, where);
	call(p);
	munmap(p, SIZE);
}
static void memfd_call(void) { by_call(file(0), MAP_SHARED); }
static void file_call(void) { by_call(file("f"), MAP_PRIVATE); }
static void by_map(int fd, int flags, int first) {
	unsigned char *q, *p;
	if (first) q = map(fd, RW, MAP_SHARED), p = map(fd, RX, flags);
	else p = map(fd, RX, flags), call(p), q = map(fd, RW, MAP_SHARED);
	for (int i = 0; i < 3; i++) {
		put(q, code), call(p);
		put(q, plain), call(p);
		where += 70000;
	}
	munmap(p, SIZE);
	put(q, plain), call(map(fd, RX, flags) - 70000);
	munmap(q, SIZE);
}
static void memfd_map(void) { by_map(file(0), MAP_SHARED, 1); }
static void memfd_map_later(void) { by_map(file(0), MAP_SHARED, 0); }
static void file_map(void) { by_map(file("f"), MAP_PRIVATE, 1); }
static void shm_map(void) {
	char name[64];
	snprintf(name, sizeof name, "/dev/shm/written-%d", (int)getpid()); // the machine's own, outside a world
	int fd = file(name);
	by_map(fd, MAP_SHARED, 0);
	unlink(name);
}
static void protected(void) {
	int fd = file(0);
	unsigned char *q = map(fd, PROT_READ, MAP_SHARED), *p = map(fd, RX, MAP_SHARED);
	mprotect(q, SIZE, RW);
	put(q, code), call(p);
	put(q, plain), call(p);
	munmap(p, SIZE);
}
static void protected_later(void) {
	int fd = file(0);
	unsigned char *q = map(fd, RW, MAP_SHARED), *p = map(fd, PROT_READ, MAP_SHARED);
	mprotect(p, SIZE, RX);
	put(q, code), call(p);
	put(q, plain), call(p);
	munmap(p, SIZE);
}
static void other_process(void) {
	int fd = file(0), a[2], b[2];
	char c;
	pipe(a), pipe(b);
	unsigned char *p = map(fd, RX, MAP_SHARED);
	if (!fork()) {
		unsigned char *q = map(fd, RW, MAP_SHARED);
		for (int i = 0; i < 3; i++) read(a[0], &c, 1), put(q, i ? plain : code), write(b[1], &c, 1);
		_exit(0);
	}
	for (int i = 0; i < 3; i++) write(a[1], &c, 1), read(b[0], &c, 1), call(p);
	munmap(p, SIZE);
	wait(0);
}
static void inherited(void) {
	int fd = file(0), a[2], b[2];
	char c;
	pipe(a), pipe(b);
	unsigned char *p = map(fd, RX, MAP_SHARED), *q = map(fd, RW, MAP_SHARED);
	put(q, plain), call(p);
	if (!fork()) {
		for (int i = 0; i < 3; i++) read(a[0], &c, 1), put(q, i ? plain : code), call(p), write(b[1], &c, 1);
		_exit(0);
	}
	for (int i = 0; i < 3; i++) write(a[1], &c, 1), read(b[0], &c, 1), call(p);
	munmap(p, SIZE);
	wait(0);
}
static void truncated(void) {
	int fd = file("f");
	unsigned char *p = map(fd, RX, MAP_PRIVATE);
	call(p);
	ftruncate(fd, 0), ftruncate(fd, SIZE);
	pwrite(fd, code, sizeof code, where);
	call(p);
	ftruncate(fd, 0), file("f");
	call(p);
	munmap(p, SIZE);
}
static void copied(void) {
	int fd = file(0), from = file("from"), pipes[2];
	off_t in = 100, out = where;
	unsigned char *p = map(fd, RX, MAP_SHARED);
	pwrite(from, code, sizeof code, 100);
	lseek(fd, where, SEEK_SET);
	if (sendfile(fd, from, &in, sizeof code) != sizeof code) show("sendfile: %d\n", errno);
	call(p);
	pwrite(fd, plain, sizeof plain, where);
	in = 100;
	if (copy_file_range(from, &in, fd, &out, sizeof code, 0) != sizeof code) pwrite(fd, code, sizeof code, where);
	call(p);
	pwrite(fd, plain, sizeof plain, where);
	pipe(pipes);
	write(pipes[1], code, sizeof code);
	out = where;
	if (splice(pipes[0], 0, fd, &out, sizeof code, 0) != sizeof code) show("splice: %d\n", errno);
	call(p);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, where & ~4095, 8192);
	munmap(p, SIZE);
}
static void segment(void) {
	int id = shmget(IPC_PRIVATE, SIZE, 0700);
	unsigned char *q = shmat(id, 0, 0), *p = shmat(id, 0, 0);
	memset(q, 0x90, SIZE);
	mprotect(p, SIZE, RX);
	put(q, code), call(p);
	put(q, plain), call(p);
	shmdt(p);
}
static void anonymous(void) {
	unsigned char *q = mmap(0, SIZE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *p = mremap(q, 0, SIZE, MREMAP_MAYMOVE);
	memset(q, 0x90, SIZE);
	mprotect(p, SIZE, RX);
	put(q, code), call(p);
	put(q, plain), call(p);
	munmap(p, SIZE);
}
static void by_read(void) {
	int fd = file(0), pipes[2];
	pipe(pipes);
	unsigned char *p = map(fd, RX, MAP_SHARED), *q = map(fd, RW, MAP_SHARED);
	call(p);
	write(pipes[1], code, sizeof code);
	show("read %zd\n", read(pipes[0], q + where, sizeof code));
	call(p);
	write(pipes[1], plain, sizeof plain);
	struct iovec v[] = {{q + where, 100}, {q + where + 100, 200}};
	show("read %zd\n", readv(pipes[0], v, 2));
	call(p);
	munmap(p, SIZE);
}
/* itself executes code that overwrites itself as it runs. */
static void itself(void) {
	static const unsigned char stores[] = {0xc7, 0x07, 0x90, 0x90, 0x90, 0x90, 0xc7, 0x47, 4, 0x90, 0x90, 0x90, 0x90, 0xc3}; // movl $0x90909090, (%rdi); movl ..., 4(%rdi); ret
	int fd = file(0), n = strlen(given) - 1; // without its ret
	unsigned char *p = map(fd, RX, MAP_SHARED), *q = map(fd, RW, MAP_SHARED);
	memset(q, 0x90, SIZE);
	memcpy(q + where + 64, code + sizeof code - n - 1, n);
	memcpy(q + where + 64 + n, stores, sizeof stores);
	unsigned long v = ((unsigned long (*)(void *))(p + where))(q + where + 64);
	show("called %d, %x\n", v != 0, q[where + 64]);
	munmap(p, SIZE);
}
static void moved(void) {
	int fd = file(0);
	unsigned char *p = map(fd, RX, MAP_SHARED), *q = map(fd, RW, MAP_SHARED), *room = mmap(0, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	put(q, plain), call(p);
	q = mremap(q, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	put(q, code), call(p);
	p = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room + SIZE);
	put(q, plain), call(p);
	put(q, code), call(p);
	put(q, plain), call(p);
	munmap(p, SIZE);
}
static void doubled(void) {
	int fd = file(0);
	unsigned char *p = map(fd, RX, MAP_SHARED), *q = map(fd, RW, MAP_SHARED);
	put(q, plain), call(p);
	unsigned char *r = mremap(p, 0, SIZE, MREMAP_MAYMOVE), *s = mremap(q, 0, SIZE, MREMAP_MAYMOVE);
	put(q, code), call(r);
	put(s, plain), call(r), call(p);
	munmap(p, SIZE), munmap(r, SIZE);
}
static void shown(void) {
	char line[512];
	int fd = file(0);
	unsigned char *p = map(fd, RX, MAP_SHARED), *q = map(fd, RW, MAP_SHARED);
	put(q, code), call(p);
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f)) if (strstr(line, "memfd:code")) show("%.4s %.60s", strchr(line, ' ') + 1, strstr(line, "/memfd"));
	put(q, plain), call(p);
	munmap(p, SIZE);
}

int main(int argc, char **argv) {
	static void (*const ways[])(void) = {memfd_call, file_call, memfd_map, memfd_map_later, file_map, shm_map, protected, protected_later, other_process, inherited,
		truncated, copied, segment, anonymous, by_read, itself, moved, doubled, shown};
	int way = atoi(argv[1]), n = strlen(argv[2]);
	if (way >= sizeof ways / sizeof *ways) return 2;
	given = argv[2];
	memset(plain, 0x90, sizeof plain), memset(code, 0x90, sizeof code);
	plain[sizeof plain - 1] = code[sizeof code - 1] = 0xc3;
	for (int i = 0; i < n; i++) code[sizeof code - n + i] = argv[2][i] + 1;
	ways[way]();
	memset(code, 0, sizeof code);
	show("end\n");
	return 0;
}
