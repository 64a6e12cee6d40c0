// Pipes: blocking and not, atomic writes, both ends' poll masks, sizes, dup'ed ends, SIGPIPE.
#include "compat.h"

static char block[1 << 17];

static void ends(int flags, int p[2]) { MUST(pipe2(p, flags)); }
static void shut(int p[2]) { close(p[0]), close(p[1]); }

// fill writes pieces until EAGAIN and returns the bytes written.
static long fill(int fd, size_t piece) {
	long total = 0;
	for (ssize_t n; (n = write(fd, block, piece)) > 0;) total += n;
	return total;
}

static void empty(void) {
	int p[2];
	char c;
	ends(O_NONBLOCK, p);
	CALL(read(p[0], &c, 1), "read empty");
	CALL(read(p[0], &c, 0), "read 0 bytes of empty");
	CALL(write(p[1], &c, 0), "write 0 bytes");
	CALL(read(p[0], &c, 1), "read after empty write");
	POLL(p[0], "read end of empty");
	POLL(p[1], "write end of empty");
	CALL(read(p[1], &c, 1), "read the write end");
	CALL(write(p[0], &c, 1), "write the read end");
	CALL(lseek(p[0], 0, SEEK_CUR), "lseek");
	CALL(pread(p[0], &c, 1, 0), "pread");
	CALL(pwrite(p[1], &c, 1, 0), "pwrite");
	CALL(fsync(p[1]), "fsync");
	CALL(ftruncate(p[1], 0), "ftruncate");
	CALL(read(p[0], NULL, 1), "read of empty to a bad address");
	CALL(write(p[1], NULL, 1), "write from a bad address");
	CALL(write(p[1], "x", 1), "write");
	CALL(read(p[0], NULL, 1), "read to a bad address");
	shut(p);
	CALL(pipe2(p, 0x40), "pipe2 with a bad flag");
	CALL(syscall(SYS_pipe2, NULL, 0), "pipe2 with a bad address");
}

static void data(void) {
	int p[2], n = -1;
	char b[16] = {0};
	ends(O_NONBLOCK, p);
	CALL(write(p[1], "hello ", 6), "write");
	CALL(write(p[1], "world", 5), "write");
	CALL(ioctl(p[0], FIONREAD, &n), "FIONREAD");
	say("bytes in the pipe: %d", n);
	CALL(ioctl(p[1], FIONREAD, &n), "FIONREAD of the write end");
	say("bytes in the pipe: %d", n);
	POLL(p[0], "read end");
	CALL(read(p[0], b, 8), "read over the border of two writes");
	say("%.8s", b);
	CALL(read(p[0], b, 16), "read more than there is");
	say("%.3s", b);
	CALL(read(p[0], b, 1), "read again");
	int flag = 1;
	CALL(ioctl(p[0], TIOCGWINSZ, &flag), "ioctl of a terminal");
	flag = 0;
	CALL(ioctl(p[0], FIONBIO, &flag), "FIONBIO off");
	IS(fcntl(p[0], F_GETFL) & O_NONBLOCK, "non-blocking");
	IS(fcntl(p[1], F_GETFL) & O_NONBLOCK, "other end non-blocking");
	say("access mode of the ends: %d %d", fcntl(p[0], F_GETFL) & O_ACCMODE, fcntl(p[1], F_GETFL) & O_ACCMODE);
	shut(p);
}

static void full(void) {
	int p[2];
	ends(O_NONBLOCK, p);
	MUST(fcntl(p[1], F_SETPIPE_SZ, 65536));
	CALL(write(p[1], block, 100000), "write more than fits");
	CALL(write(p[1], block, 1), "write to full");
	POLL(p[1], "write end of full");
	POLL(p[0], "read end of full");
	CALL(read(p[0], block, 1), "read one byte");
	POLL(p[1], "write end, first page not free");
	CALL(write(p[1], block, 1), "write where no page is free");
	CALL(read(p[0], block, 4095), "read the rest of the page");
	POLL(p[1], "write end, one page free");
	CALL(write(p[1], block, 4097), "write more than PIPE_BUF, one page free");
	CALL(write(p[1], block, 4096), "write PIPE_BUF to full");
	CALL(read(p[0], block, 8192), "read two pages");
	CALL(write(p[1], block, 4096), "write PIPE_BUF, two pages free");
	CALL(write(p[1], block, 8192), "write two pages, one page free");
	CALL(read(p[0], block, sizeof block), "read all");
	say("one byte at a time: %ld", fill(p[1], 1));
	CALL(read(p[0], block, sizeof block), "read all");
	say("4096 bytes at a time: %ld", fill(p[1], 4096));
	CALL(read(p[0], block, sizeof block), "read all");
	shut(p);
}

// A write that does not fit into the last page starts a new one, so the pages are used up earlier.
static void pages(void) {
	int p[2];
	ends(O_NONBLOCK, p);
	MUST(fcntl(p[1], F_SETPIPE_SZ, 16384));
	say("3000 bytes at a time: %ld", fill(p[1], 3000));
	CALL(read(p[0], block, sizeof block), "read all");
	say("2048 bytes at a time: %ld", fill(p[1], 2048));
	CALL(read(p[0], block, sizeof block), "read all");
	say("5000 bytes at a time: %ld", fill(p[1], 5000));
	CALL(read(p[0], block, sizeof block), "read all");
	shut(p);
}

static void size(void) {
	int p[2];
	ends(O_NONBLOCK, p);
	CALL(fcntl(p[0], F_SETPIPE_SZ, 1), "set size 1");
	CALL(fcntl(p[0], F_GETPIPE_SZ), "get size");
	CALL(write(p[1], block, 5000), "write");
	CALL(fcntl(p[1], F_SETPIPE_SZ, 5000), "set size 5000");
	CALL(write(p[1], block, 5000), "write");
	CALL(fcntl(p[1], F_SETPIPE_SZ, 4096), "shrink below what is used");
	CALL(fcntl(p[1], F_SETPIPE_SZ, 65536), "set size 65536");
	CALL(read(p[0], block, sizeof block), "read all");
	CALL(fcntl(p[1], F_SETPIPE_SZ, 0), "set size 0");
	int file = MUST(open("f", O_RDWR | O_CREAT, 0600));
	CALL(fcntl(file, F_GETPIPE_SZ), "get size of a file");
	close(file);
	shut(p);
}

static volatile int pipes;
static void on_pipe(int signo) { pipes += signo == SIGPIPE; }

static void broken(void) {
	int p[2];
	char c;
	ends(O_NONBLOCK, p);
	CALL(write(p[1], "abc", 3), "write");
	close(p[1]);
	POLL(p[0], "read end, data, no writer");
	CALL(read(p[0], block, 2), "read");
	CALL(read(p[0], block, 2), "read the rest");
	CALL(read(p[0], &c, 1), "read at end");
	CALL(read(p[0], &c, 1), "read at end again");
	POLL(p[0], "read end at end");
	close(p[0]);
	ends(O_NONBLOCK, p);
	close(p[0]);
	POLL(p[1], "write end, no reader");
	signal(SIGPIPE, on_pipe);
	CALL(write(p[1], "x", 1), "write, no reader");
	IS(pipes == 1, "SIGPIPE came");
	CALL(write(p[1], "x", 0), "write 0 bytes, no reader");
	IS(pipes == 1, "no second SIGPIPE");
	signal(SIGPIPE, SIG_IGN);
	CALL(write(p[1], "x", 1), "write, SIGPIPE ignored");
	signal(SIGPIPE, SIG_DFL);
	IN_CHILD("child that writes to a broken pipe") CALL(write(p[1], "x", 1), "not reached");
	close(p[1]);
	ends(O_NONBLOCK, p);
	fill(p[1], 4096);
	close(p[0]);
	POLL(p[1], "write end of full, no reader");
	close(p[1]);
}

static void dups(void) {
	int p[2];
	char c;
	ends(O_NONBLOCK, p);
	int w2 = MUST(dup(p[1])), r2 = MUST(dup(p[0]));
	close(p[1]);
	CALL(read(p[0], &c, 1), "read, a dup of the write end is open");
	CALL(write(w2, "xy", 2), "write to the dup");
	CALL(read(r2, &c, 1), "read from the dup");
	CALL(fcntl(r2, F_SETFL, 0), "make the dup block");
	IS(fcntl(p[0], F_GETFL) & O_NONBLOCK, "the first is non-blocking");
	close(p[0]);
	POLL(w2, "write end, a dup of the read end is open");
	close(r2);
	POLL(w2, "write end, no reader");
	close(w2);
}

static void *write_later(void *arg) {
	nap(30);
	return (void *)write((int)(intptr_t)arg, "later", 5);
}
static void *close_later(void *arg) {
	nap(30);
	return (void *)(long)close((int)(intptr_t)arg);
}
static void *drain_later(void *arg) {
	long total = 0;
	nap(30);
	for (ssize_t n; total < 150000 && (n = read((int)(intptr_t)arg, block, 10000)) > 0;) total += n;
	return (void *)total;
}

static void blocking(void) {
	int p[2];
	pthread_t t;
	char b[16];
	void *got;
	static char big[150000];
	ends(0, p);
	pthread_create(&t, NULL, write_later, (void *)(intptr_t)p[1]);
	CALL(read(p[0], b, sizeof b), "read that waits for a write");
	pthread_join(t, NULL);
	pthread_create(&t, NULL, drain_later, (void *)(intptr_t)p[0]);
	CALL(write(p[1], big, sizeof big), "write that waits for a reader");
	pthread_join(t, &got);
	say("read by the other thread: %ld", (long)got);
	pthread_create(&t, NULL, close_later, (void *)(intptr_t)p[1]);
	CALL(read(p[0], b, sizeof b), "read that waits for the end");
	pthread_join(t, NULL);
	close(p[0]);
	ends(0, p);
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	fill(p[1], 4096);
	fcntl(p[1], F_SETFL, 0);
	signal(SIGPIPE, SIG_IGN);
	pthread_create(&t, NULL, close_later, (void *)(intptr_t)p[0]);
	CALL(write(p[1], b, 1), "write that waits when the reader goes");
	pthread_join(t, NULL);
	signal(SIGPIPE, SIG_DFL);
	close(p[1]);
}

// Writes of at most PIPE_BUF bytes by several processes never mix.
static void atomic(void) {
	int p[2];
	enum { WRITERS = 3, ROUNDS = 60, PIECE = 3000 };
	ends(0, p);
	for (int w = 0; w < WRITERS; w++)
		if (fork() == 0) {
			memset(block, 'a' + w, PIECE);
			for (int i = 0; i < ROUNDS; i++)
				if (write(p[1], block, PIECE) != PIECE) _exit(1);
			_exit(0);
		}
	close(p[1]);
	static char all[WRITERS * ROUNDS * PIECE + 1];
	size_t have = 0;
	for (ssize_t n; (n = read(p[0], all + have, sizeof all - have)) > 0;) have += n;
	int mixed = 0;
	for (size_t i = 0; i < have; i++) mixed += all[i] != all[i / PIECE * PIECE];
	say("bytes: %zu, mixed: %d", have, mixed);
	for (int w = 0; w < WRITERS; w++) IS(wait(NULL) > 0, "a writer ended");
	close(p[0]);
}

static void packets(void) {
	int p[2];
	char b[8192];
	if (pipe2(p, O_DIRECT | O_NONBLOCK) < 0) {
		say("skip: no packet mode");
		return;
	}
	CALL(write(p[1], "one", 3), "write");
	CALL(write(p[1], "two", 3), "write");
	CALL(read(p[0], b, sizeof b), "read one packet");
	CALL(read(p[0], b, 1), "read part of a packet");
	CALL(read(p[0], b, sizeof b), "the rest of the packet is gone");
	CALL(write(p[1], b, 5000), "write more than PIPE_BUF");
	CALL(read(p[0], b, sizeof b), "read");
	CALL(read(p[0], b, sizeof b), "read");
	shut(p);
}

static void fifo(void) {
	char c;
	CALL(mkfifo("fifo", 0600), "mkfifo");
	CALL(mkfifo("fifo", 0600), "mkfifo again");
	CALL(open("fifo", O_WRONLY | O_NONBLOCK), "open to write, no reader");
	int r = OK(open("fifo", O_RDONLY | O_NONBLOCK), "open to read, no writer");
	CALL(read(r, &c, 1), "read, never a writer");
	POLL(r, "read end, never a writer");
	int w = OK(open("fifo", O_WRONLY | O_NONBLOCK), "open to write");
	CALL(read(r, &c, 1), "read, a writer and no data");
	CALL(write(w, "x", 1), "write");
	close(w);
	POLL(r, "read end, data, the writer went");
	CALL(read(r, &c, 1), "read");
	CALL(read(r, &c, 1), "read at end");
	w = OK(open("fifo", O_WRONLY), "a new writer");
	CALL(read(r, &c, 1), "read, no data");
	close(w), close(r);
	int both = OK(open("fifo", O_RDWR), "open to read and write");
	CALL(write(both, "y", 1), "write");
	CALL(read(both, &c, 1), "read");
	close(both);
	IN_CHILD("child that opens to write and waits for a reader") {
		int fd = MUST(open("fifo", O_WRONLY));
		MUST(write(fd, "z", 1));
	} else {
		nap(20);
		int fd = MUST(open("fifo", O_RDONLY));
		CALL(read(fd, &c, 1), "parent: read");
		CALL(read(fd, &c, 1), "parent: read at end");
		close(fd);
	}
	CALL(unlink("fifo"), "unlink");
}

CASES(C(empty), C(data), C(full), C(pages), C(size), C(broken), C(dups), C(blocking), C(atomic), C(packets), C(fifo))
