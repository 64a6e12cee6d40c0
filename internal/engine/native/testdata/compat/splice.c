// Moving data between descriptors: splice, tee, vmsplice, sendfile, copy_file_range.
#include "compat.h"
#include "net.h"
#include <sys/sendfile.h>

static char b[1 << 17];
static int file(const char *name, const char *text) {
	int fd = MUST(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));
	MUST(write(fd, text, strlen(text)));
	MUST(lseek(fd, 0, SEEK_SET));
	return fd;
}
static void content(const char *label, int fd, size_t n) {
	long r = pread(fd, b, n, 0);
	if (r < 0) r = read(fd, b, n);
	say("%s: %.*s", label, (int)(r < 0 ? 0 : r), b);
}

static void splices(void) {
	int p[2], q[2], in = file("in", "0123456789"), out = file("out", "");
	loff_t at = 4;
	MUST(pipe2(p, O_NONBLOCK)), MUST(pipe2(q, O_NONBLOCK));
	CALL(splice(in, NULL, p[1], NULL, 3, 0), "file to pipe");
	CALL(lseek(in, 0, SEEK_CUR), "the offset moves");
	CALL(splice(in, &at, p[1], NULL, 2, 0), "file at 4 to pipe");
	say("offset given %ld, own %ld", (long)at, (long)lseek(in, 0, SEEK_CUR));
	CALL(splice(p[0], NULL, q[1], NULL, 100, 0), "pipe to pipe");
	CALL(splice(p[0], NULL, q[1], NULL, 100, SPLICE_F_NONBLOCK), "empty pipe to pipe");
	CALL(splice(q[0], NULL, out, NULL, 100, 0), "pipe to file");
	content("file", out, 100);
	CALL(splice(in, NULL, out, NULL, 3, 0), "file to file");
	CALL(splice(in, NULL, p[1], &at, 3, 0), "an offset for a pipe");
	CALL(splice(p[1], NULL, q[1], NULL, 3, 0), "from a write end");
	CALL(splice(in, NULL, p[0], NULL, 3, 0), "to a read end");
	CALL(splice(CLOSED_FD, NULL, p[1], NULL, 3, 0), "a closed descriptor");
	CALL(splice(in, NULL, p[1], NULL, 0, 0), "0 bytes");
	CALL(splice(in, NULL, p[1], NULL, 3, 0x80), "a bad flag");
	lseek(in, 0, SEEK_END);
	CALL(splice(in, NULL, p[1], NULL, 3, 0), "at the end of a file");
	close(p[1]);
	CALL(splice(p[0], NULL, q[1], NULL, 100, 0), "a pipe without writer");
	close(p[0]), close(q[0]), close(q[1]), close(in), close(out);
	int s[2];
	pair(s);
	MUST(pipe(p));
	MUST(write(p[1], "to a socket", 11));
	CALL(splice(p[0], NULL, s[0], NULL, 11, 0), "pipe to socket");
	ready(s[1], POLLIN, 2000);
	CALL(splice(s[1], NULL, p[1], NULL, 100, 0), "socket to pipe");
	CALL(read(p[0], b, 100), "read");
	shutdown(s[0], SHUT_WR);
	ready(s[1], POLLIN, 2000);
	CALL(splice(s[1], NULL, p[1], NULL, 100, 0), "socket at its end");
	close(s[0]), close(s[1]), close(p[0]), close(p[1]);
}

static void tees(void) {
	int p[2], q[2];
	MUST(pipe2(p, O_NONBLOCK)), MUST(pipe2(q, O_NONBLOCK));
	MUST(write(p[1], "copied", 6));
	CALL(tee(p[0], q[1], 4, 0), "tee 4");
	CALL(tee(p[0], q[1], 100, 0), "tee all");
	CALL(read(p[0], b, 100), "the source is as it was");
	CALL(read(q[0], b, 100), "read");
	say("%.10s", b);
	CALL(tee(p[0], q[1], 100, 0), "tee of empty");
	CALL(tee(p[0], p[1], 100, 0), "a pipe to itself");
	struct iovec v[2] = {{"from ", 5}, {"memory", 6}};
	CALL(vmsplice(q[1], v, 2, 0), "vmsplice");
	CALL(read(q[0], b, 100), "read");
	say("%.11s", b);
	int f = file("f", "");
	CALL(vmsplice(f, v, 1, 0), "vmsplice to a file");
	close(p[0]), close(p[1]), close(q[0]), close(q[1]), close(f);
}

static void sendfiles(void) {
	int in = file("in", "0123456789"), out = file("out", ""), s[2], p[2];
	off_t at = 5;
	CALL(sendfile(out, in, NULL, 4), "file to file");
	CALL(lseek(in, 0, SEEK_CUR), "the offset moves");
	CALL(sendfile(out, in, &at, 100), "at 5, more than there is");
	say("offset given %ld, own %ld", (long)at, (long)lseek(in, 0, SEEK_CUR));
	content("file", out, 100);
	CALL(sendfile(out, in, &at, 100), "at the end");
	at = -1;
	CALL(sendfile(out, in, &at, 100), "a negative offset");
	pair(s);
	lseek(in, 0, SEEK_SET);
	CALL(sendfile(s[0], in, NULL, 10), "file to socket");
	ready(s[1], POLLIN, 2000);
	CALL(recv(s[1], b, 100, 0), "recv");
	MUST(pipe2(p, O_NONBLOCK));
	at = 2;
	CALL(sendfile(p[1], in, &at, 3), "file to pipe");
	CALL(read(p[0], b, 100), "read");
	CALL(sendfile(out, p[0], NULL, 3), "pipe to file");
	CALL(sendfile(out, s[1], NULL, 3), "socket to file");
	CALL(sendfile(out, in, NULL, 0), "0 bytes");
	int ro = MUST(open("out", O_RDONLY)), app = MUST(open("out", O_WRONLY | O_APPEND));
	CALL(sendfile(ro, in, NULL, 3), "to what is open to read");
	lseek(in, 0, SEEK_SET);
	CALL(sendfile(app, in, NULL, 3), "to what is open to append");
	CALL(sendfile(CLOSED_FD, in, NULL, 3), "to a closed descriptor");
	static char big[300000];
	int large = file("large", "");
	MUST(write(large, big, sizeof big)), lseek(large, 0, SEEK_SET);
	nonblock(s[0]), nonblock(s[1]);
	long sent = 0, got = 0;
	for (int i = 0; i < 2000 && got < (long)sizeof big; i++) {
		long n = sendfile(s[0], large, NULL, sizeof big);
		if (n > 0) sent += n;
		while ((n = read(s[1], b, sizeof b)) > 0) got += n;
		ready(s[1], POLLIN, 5);
	}
	say("through a non-blocking socket: %ld sent, %ld received", sent, got);
	close(in), close(out), close(s[0]), close(s[1]), close(p[0]), close(p[1]), close(ro), close(app), close(large);
}

static void copies(void) {
	int in = file("in", "0123456789"), out = file("out", "");
	loff_t from = 2, to = 5;
	CALL(copy_file_range(in, NULL, out, NULL, 4, 0), "copy");
	CALL(copy_file_range(in, &from, out, &to, 3, 0), "with offsets");
	say("offsets %ld %ld, own %ld %ld", (long)from, (long)to, (long)lseek(in, 0, SEEK_CUR), (long)lseek(out, 0, SEEK_CUR));
	pwrite(out, "_", 1, 4);
	content("file", out, 100);
	CALL(copy_file_range(in, NULL, out, NULL, 100, 0), "more than there is");
	CALL(copy_file_range(in, NULL, out, NULL, 100, 0), "at the end");
	CALL(copy_file_range(in, NULL, out, NULL, 1, 1), "a flag");
	from = 0, to = 5;
	CALL(copy_file_range(in, &from, in, &to, 5, 0), "in one file");
	content("file", in, 100);
	from = 0, to = 3;
	CALL(copy_file_range(in, &from, in, &to, 5, 0), "over itself");
	int p[2], ro = MUST(open("out", O_RDONLY)), app = MUST(open("out", O_WRONLY | O_APPEND)), dir = MUST(open(".", O_RDONLY));
	MUST(pipe(p));
	from = 0;
	CALL(copy_file_range(in, &from, p[1], NULL, 1, 0), "to a pipe");
	CALL(copy_file_range(in, &from, ro, NULL, 1, 0), "to what is open to read");
	CALL(copy_file_range(in, &from, app, NULL, 1, 0), "to what is open to append");
	CALL(copy_file_range(dir, NULL, out, NULL, 1, 0), "from a folder");
	CALL(copy_file_range(in, NULL, CLOSED_FD, NULL, 1, 0), "to a closed descriptor");
	close(in), close(out), close(p[0]), close(p[1]), close(ro), close(app), close(dir);
}

CASES(C(splices), C(tees), C(sendfiles), C(copies))
