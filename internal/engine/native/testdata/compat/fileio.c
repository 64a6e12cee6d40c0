// Reading and writing files: offsets, holes, truncation, vectors, limits, space.
#include "compat.h"
#include <linux/falloc.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

static char b[1 << 16];
static int fresh(const char *text) {
	unlink("f");
	int fd = MUST(open("f", O_RDWR | O_CREAT | O_EXCL, 0600));
	if (*text) MUST(write(fd, text, strlen(text)));
	return fd;
}
static void content(int fd) {
	char t[100];
	long n = MUST(pread(fd, t, sizeof t - 1, 0));
	for (long i = 0; i < n; i++)
		if (!t[i]) t[i] = '.';
	say("content: %.*s", (int)n, t);
}
static long size_of(int fd) {
	struct stat st;
	MUST(fstat(fd, &st));
	return st.st_size;
}

static void offsets(void) {
	int fd = fresh("0123456789");
	CALL(lseek(fd, 0, SEEK_CUR), "after a write");
	CALL(read(fd, b, 5), "read at the end");
	CALL(lseek(fd, 3, SEEK_SET), "SEEK_SET");
	CALL(lseek(fd, 3, SEEK_CUR), "SEEK_CUR");
	CALL(lseek(fd, -2, SEEK_END), "SEEK_END");
	CALL(read(fd, b, 5), "read a part");
	CALL(lseek(fd, -1, SEEK_SET), "negative");
	CALL(lseek(fd, -100, SEEK_CUR), "before the start");
	CALL(lseek(fd, 100, SEEK_END), "beyond the end");
	CALL(read(fd, b, 5), "read there");
	CALL(write(fd, "x", 1), "write there");
	say("size %ld", size_of(fd));
	CALL(lseek(fd, 0, 99), "a bad way");
	CALL(lseek(fd, 0, SEEK_SET), "rewind");
	CALL(pread(fd, b, 4, 8), "pread");
	CALL(lseek(fd, 0, SEEK_CUR), "the offset stays");
	CALL(pread(fd, b, 4, -1), "pread at -1");
	CALL(pwrite(fd, "yy", 2, 4), "pwrite");
	CALL(pwrite(fd, "y", 1, -1), "pwrite at -1");
	CALL(read(fd, b, 0), "read 0 bytes");
	CALL(write(fd, b, 0), "write 0 bytes");
	CALL(read(fd, NULL, 1), "read to a bad address");
	CALL(write(fd, NULL, 1), "write from a bad address");
	CALL(read(fd, NULL, 0), "read 0 bytes to a bad address");
	CALL(read(CLOSED_FD, b, 1), "a closed descriptor");
	CALL(read(-1, b, 1), "descriptor -1");
	int d = MUST(dup(fd));
	lseek(d, 7, SEEK_SET);
	CALL(lseek(fd, 0, SEEK_CUR), "a dup shares the offset");
	int o = MUST(open("f", O_RDONLY));
	CALL(lseek(o, 0, SEEK_CUR), "another open does not");
	CALL(write(o, "x", 1), "write to what is open to read");
	content(fd);
	close(fd), close(d), close(o);
}

static void holes(void) {
	int fd = fresh("");
	MUST(pwrite(fd, "a", 1, 0)), MUST(pwrite(fd, "b", 1, 8 << 20));
	say("size %ld", size_of(fd));
	CALL(pread(fd, b, 10, 4 << 20), "read in the hole");
	IS(b[0] == 0 && b[9] == 0, "zeros");
	struct stat st;
	fstat(fd, &st);
	IS(st.st_blocks * 512 < 8 << 20, "it takes less room than its size");
	long data = lseek(fd, 0, SEEK_DATA), hole = lseek(fd, 0, SEEK_HOLE);
	IS(data == 0, "data at 0");
	IS(hole > 0 && hole <= 8 << 20, "then a hole");
	data = lseek(fd, hole, SEEK_DATA);
	IS(data > hole && data <= 8 << 20, "then data");
	CALL(lseek(fd, 8 << 20, SEEK_HOLE), "the end is a hole");
	CALL(lseek(fd, 9 << 20, SEEK_DATA), "SEEK_DATA beyond the end");
	CALL(lseek(fd, 9 << 20, SEEK_HOLE), "SEEK_HOLE beyond the end");
	close(fd);
}

static void truncation(void) {
	int fd = fresh("0123456789");
	CALL(ftruncate(fd, 4), "shorter");
	content(fd);
	CALL(ftruncate(fd, 8), "longer");
	content(fd);
	CALL(lseek(fd, 0, SEEK_CUR), "the offset stays");
	CALL(write(fd, "x", 1), "write beyond the end");
	content(fd);
	CALL(ftruncate(fd, -1), "negative");
	CALL(truncate("f", 2), "by path");
	content(fd);
	CALL(truncate("missing", 2), "a missing file");
	CALL(truncate(".", 2), "a folder");
	int ro = MUST(open("f", O_RDONLY)), dir = MUST(open(".", O_RDONLY));
	CALL(ftruncate(ro, 0), "open to read only");
	CALL(ftruncate(dir, 0), "an open folder");
	close(fd), close(ro), close(dir);
}

static void vectors(void) {
	int fd = fresh("");
	struct iovec v[3] = {{"ab", 2}, {"", 0}, {"cde", 3}}, r[2];
	CALL(writev(fd, v, 3), "writev");
	CALL(pwritev(fd, v, 3, 1), "pwritev at 1");
	content(fd);
	r[0] = (struct iovec){b, 2}, r[1] = (struct iovec){b + 10, 100};
	CALL(preadv(fd, r, 2, 1), "preadv at 1");
	say("%.2s %.3s", b, b + 10);
	CALL(lseek(fd, 0, SEEK_SET), "rewind");
	CALL(readv(fd, r, 2), "readv");
	CALL(readv(fd, r, 0), "readv of nothing");
	CALL(readv(fd, r, -1), "readv of -1");
	CALL(readv(fd, r, 1025), "readv of 1025");
	CALL(readv(fd, NULL, 1), "a bad address");
	r[1].iov_len = -1;
	lseek(fd, 0, SEEK_SET);
	CALL(readv(fd, r, 2), "a negative length");
	r[1] = (struct iovec){NULL, 5};
	CALL(readv(fd, r, 2), "a bad address in the second");
	CALL(preadv2(fd, r, 1, 0, 0x800), "preadv2 with a bad flag");
	CALL(preadv2(fd, r, 1, -1, 0), "preadv2 at the offset");
	CALL(pwritev2(fd, v, 1, -1, RWF_APPEND), "pwritev2 with APPEND");
	CALL(preadv(fd, r, 1, -5), "preadv at a negative offset");
	content(fd);
	close(fd);
}

static volatile int signals;
static void on_limit(int signo) { signals++; }
static void limited(void) {
	struct rlimit l = {100, 1000};
	int fd = fresh("");
	signal(SIGXFSZ, on_limit);
	MUST(setrlimit(RLIMIT_FSIZE, &l));
	CALL(write(fd, b, 150), "write over the limit");
	CALL(write(fd, b, 1), "write at the limit");
	say("SIGXFSZ: %d", signals);
	CALL(ftruncate(fd, 101), "truncate over the limit");
	say("SIGXFSZ: %d", signals);
	CALL(pwrite(fd, b, 10, 95), "pwrite across the limit");
	CALL(ftruncate(fd, 50), "shorter");
	close(fd);
	IN_CHILD("child without a handler") {
		signal(SIGXFSZ, SIG_DFL);
		int g = MUST(open("g", O_RDWR | O_CREAT, 0600));
		MUST(pwrite(g, b, 1, 99));
		write(g, b, 1);
		pwrite(g, b, 1, 100);
	}
}
static void limits(void) {
	IN_CHILD("child with a limit") limited();
}

static void space(void) {
	int fd = fresh("0123456789");
	if (fallocate(fd, 0, 0, 20) < 0) {
		say("skip: no fallocate on this file system");
		return;
	}
	say("size %ld", size_of(fd));
	CALL(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100), "keep the size");
	say("size %ld", size_of(fd));
	CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 3), "punch a hole");
	content(fd);
	CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 2, 3), "punch without keeping the size");
	CALL(fallocate(fd, 0, -1, 3), "a negative offset");
	CALL(fallocate(fd, 0, 0, 0), "a length of 0");
	CODE(posix_fallocate(fd, 0, 40), "posix_fallocate");
	say("size %ld", size_of(fd));
	int ro = MUST(open("f", O_RDONLY)), dir = MUST(open(".", O_RDONLY)), p[2];
	MUST(pipe(p));
	CALL(fallocate(ro, 0, 0, 10), "open to read only");
	CALL(fallocate(dir, 0, 0, 10), "a folder");
	CALL(fallocate(p[1], 0, 0, 10), "a pipe");
	close(fd), close(ro), close(dir), close(p[0]), close(p[1]);
}

static void syncing(void) {
	int fd = fresh("data"), dir = MUST(open(".", O_RDONLY)), ro = MUST(open("f", O_RDONLY));
	CALL(fsync(fd), "fsync");
	CALL(fdatasync(fd), "fdatasync");
	CALL(fsync(ro), "fsync of what is open to read");
	CALL(fsync(dir), "fsync of a folder");
	CALL(sync_file_range(fd, 0, 4, SYNC_FILE_RANGE_WRITE), "sync_file_range");
	CALL(sync_file_range(fd, -1, 4, SYNC_FILE_RANGE_WRITE), "a negative offset");
	CALL(sync_file_range(fd, 0, 4, 0x80), "a bad flag");
	CALL(syncfs(fd), "syncfs");
	CALL(fsync(CLOSED_FD), "a closed descriptor");
	CODE(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
	CODE(posix_fadvise(fd, 0, 0, 99), "a bad advice");
	CALL(readahead(fd, 0, 10), "readahead");
	struct statvfs v;
	CALL(fstatvfs(fd, &v), "fstatvfs");
	IS(v.f_bsize > 0 && v.f_blocks >= v.f_bfree && v.f_bfree >= v.f_bavail && v.f_namemax == 255, "its numbers");
	struct statfs s;
	CALL(statfs("missing", &s), "statfs of a missing file");
	close(fd), close(dir), close(ro);
}

static void large(void) {
	static char page[1 << 16];
	int fd = fresh("");
	long sum = 0, back = 0;
	for (int i = 0; i < 64; i++) {
		memset(page, i, sizeof page);
		sum += write(fd, page, sizeof page);
	}
	say("written %ld", sum);
	lseek(fd, 0, SEEK_SET);
	int wrong = 0, n;
	while ((n = read(fd, page, 50000)) > 0) {
		for (int i = 0; i < n; i += 997) wrong += page[i] != (char)((back + i) >> 16);
		back += n;
	}
	say("read %ld, wrong %d", back, wrong);
	CALL(pwrite(fd, "far", 3, 5L << 30), "write beyond 4 GiB");
	say("size %ld", size_of(fd));
	CALL(pread(fd, page, 10, 5L << 30), "read there");
	CALL(ftruncate(fd, 0), "truncate");
	close(fd);
}

static void removed(void) {
	int fd = fresh("still here");
	struct stat st;
	CALL(unlink("f"), "unlink");
	CALL(stat("f", &st), "stat");
	fstat(fd, &st);
	say("links %d, size %ld", (int)st.st_nlink, (long)st.st_size);
	CALL(pread(fd, b, 10, 0), "read");
	CALL(write(fd, "!", 1), "write");
	char path[64], to[4096];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	long n = readlink(path, to, sizeof to - 1);
	to[n < 0 ? 0 : n] = 0;
	IS(strlen(to) > 10 && !strcmp(to + strlen(to) - 12, "/f (deleted)"), "/proc/self/fd says deleted");
	int again = MUST(open("f", O_RDWR | O_CREAT, 0600));
	say("a new file of that name: %ld", size_of(again));
	int back = OK(open(path, O_RDONLY), "open the removed one through /proc");
	say("size %ld", size_of(back));
	close(fd), close(again), close(back);
}

CASES(C(offsets), C(holes), C(truncation), C(vectors), C(limits), C(space), C(syncing), C(large), C(removed))
