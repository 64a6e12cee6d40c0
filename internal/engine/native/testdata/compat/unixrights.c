// What travels beside the data of unix sockets: descriptors and credentials.
#include "compat.h"
#include "net.h"

static int s[2];
static void open_pair(int type) { MUST(socketpair(AF_UNIX, type, 0, s)); }
static void close_pair(void) { close(s[0]), close(s[1]); }

// send_fds sends text and n descriptors.
static long send_fds(int to, const char *text, const int *fds, int n) {
	char space[CMSG_SPACE(300 * sizeof(int))] = {0};
	struct iovec v = {(char *)text, strlen(text)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_RIGHTS, h->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	return sendmsg(to, &m, 0);
}

// recv_fds receives, shows what came, and keeps the descriptors in fds.
static int recv_fds(const char *what, int from, int room, int flags, int *fds) {
	char space[CMSG_SPACE(300 * sizeof(int))] = {0}, b[64] = {0};
	struct iovec v = {b, sizeof b - 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = room < 0 ? (size_t)-room : CMSG_SPACE(room * sizeof(int))};
	long r = recvmsg(from, &m, flags | MSG_DONTWAIT);
	int n = 0;
	if (r < 0) {
		say("%s: -1 %s", what, errno_name(errno));
		return 0;
	}
	for (struct cmsghdr *h = m.msg_controllen ? CMSG_FIRSTHDR(&m) : NULL; h; h = CMSG_NXTHDR(&m, h))
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
			n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			if (fds) memcpy(fds, CMSG_DATA(h), n * sizeof(int));
		}
	say("%s: %ld \"%s\", %d descriptors, truncated %d, control truncated %d", what, r, b, n, !!(m.msg_flags & MSG_TRUNC), !!(m.msg_flags & MSG_CTRUNC));
	return n;
}

static void rights(void) {
	int p[2], got[4], null = MUST(open("/dev/null", O_RDWR));
	char c;
	open_pair(SOCK_STREAM);
	MUST(pipe(p));
	int both[2] = {p[0], null};
	CALL(send_fds(s[0], "two", both, 2), "send two");
	close(p[0]);
	CALL(write(p[1], "q", 1), "write into the pipe whose other end travels");
	recv_fds("recv", s[1], 4, 0, got);
	CALL(read(got[0], &c, 1), "read from what came");
	CALL(fcntl(got[0], F_GETFD), "close-on-exec");
	close(got[0]), close(got[1]);
	signal(SIGPIPE, SIG_IGN);
	CALL(write(p[1], "q", 1), "write, the reader is closed");
	close(p[1]);
	send_fds(s[0], "flag", &null, 1);
	recv_fds("recv with CMSG_CLOEXEC", s[1], 4, MSG_CMSG_CLOEXEC, got);
	CALL(fcntl(got[0], F_GETFD), "close-on-exec");
	close(got[0]);
	int bad = CLOSED_FD;
	CALL(send_fds(s[0], "x", &bad, 1), "send a closed descriptor");
	CALL(send_fds(s[0], "", &null, 1), "send one without data");
	recv_fds("recv", s[1], 4, 0, got);
	int many[254];
	for (int i = 0; i < 254; i++) many[i] = null;
	CALL(send_fds(s[0], "x", many, 254), "send 254");
	CALL(send_fds(s[0], "x", many, 253), "send 253");
	int all[300], n = recv_fds("recv", s[1], 300, 0, all);
	for (int i = 0; i < n; i++) close(all[i]);
	close_pair();
	close(null);
}

// Descriptors that nobody takes are closed.
static void unclaimed(void) {
	int p[2], fds[3], got[4];
	open_pair(SOCK_STREAM);
	MUST(pipe2(p, O_NONBLOCK));
	for (int i = 0; i < 3; i++) fds[i] = p[1];
	send_fds(s[0], "three", fds, 3);
	close(p[1]);
	recv_fds("room for one", s[1], -(int)CMSG_LEN(sizeof(int)), 0, got);
	POLL(p[0], "one writer is left");
	close(got[0]);
	POLL(p[0], "no writer is left");
	close(p[0]);
	MUST(pipe2(p, O_NONBLOCK));
	send_fds(s[0], "lost", &p[1], 1);
	close(p[1]);
	char b[16];
	POLL(p[0], "travelling");
	CALL(read(s[1], b, sizeof b), "read without room for control data");
	POLL(p[0], "the descriptor is gone");
	close(p[0]);
	MUST(pipe2(p, O_NONBLOCK));
	send_fds(s[0], "lost", &p[1], 1);
	close(p[1]);
	close_pair();
	POLL(p[0], "the pair was closed while one travelled");
	close(p[0]);
}

// A read ends where descriptors are: data before and after never comes together with them.
static void borders(void) {
	int got[4], null = MUST(open("/dev/null", O_RDWR)), n;
	char b[64];
	open_pair(SOCK_STREAM);
	MUST(write(s[0], "before", 6));
	send_fds(s[0], "with", &null, 1);
	MUST(write(s[0], "after", 5));
	CALL(recv(s[1], b, sizeof b, MSG_PEEK), "peek");
	n = recv_fds("recv", s[1], 4, 0, got);
	n += recv_fds("recv", s[1], 4, 0, got + n);
	n += recv_fds("recv", s[1], 4, 0, got + n);
	for (int i = 0; i < n; i++) close(got[i]);
	send_fds(s[0], "first", &null, 1);
	send_fds(s[0], "second", &null, 1);
	n = recv_fds("peek", s[1], 4, MSG_PEEK, got);
	for (int i = 0; i < n; i++) close(got[i]);
	n = recv_fds("recv", s[1], 4, 0, got);
	for (int i = 0; i < n; i++) close(got[i]);
	n = recv_fds("recv", s[1], 4, 0, got);
	for (int i = 0; i < n; i++) close(got[i]);
	close_pair();
	open_pair(SOCK_DGRAM);
	send_fds(s[0], "datagram", &null, 1);
	n = recv_fds("recv", s[1], 4, 0, got);
	for (int i = 0; i < n; i++) close(got[i]);
	close_pair();
	close(null);
}

static void offsets(void) {
	int file = MUST(open("shared", O_RDWR | O_CREAT, 0600)), got[1];
	char b[4];
	MUST(write(file, "abcdef", 6));
	MUST(lseek(file, 2, SEEK_SET));
	open_pair(SOCK_STREAM);
	send_fds(s[0], "x", &file, 1);
	recv_fds("recv", s[1], 1, 0, got);
	MUST(read(got[0], b, 2));
	say("%.2s", b);
	CALL(lseek(file, 0, SEEK_CUR), "the offset is shared");
	IN_CHILD("child that sends a descriptor") {
		int p[2];
		MUST(pipe(p));
		MUST(write(p[1], "gift", 4));
		send_fds(s[0], "y", p, 1);
	}
	recv_fds("recv", s[1], 1, 0, got);
	CALL(read(got[0], b, 4), "read what a dead process sent");
	send_fds(s[0], "self", s, 2);
	recv_fds("a socket that travels through itself", s[1], 2, 0, (int[2]){0});
	close_pair();
}

static void credentials(void) {
	int on = 1, p[2];
	struct ucred c;
	socklen_t n = sizeof c;
	open_pair(SOCK_STREAM);
	CALL(getsockopt(s[0], SOL_SOCKET, SO_PEERCRED, &c, &n), "SO_PEERCRED of a pair");
	IS(c.pid == getpid() && c.uid == geteuid() && c.gid == getegid(), "own ids");
	setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
	MUST(pipe(p));
	pid_t child = fork();
	if (child == 0) {
		MUST(write(s[0], "cred", 4));
		_exit(0);
	}
	reap(child, "child");
	char space[256], b[16];
	struct iovec v = {b, sizeof b};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	CALL(recvmsg(s[1], &m, 0), "recvmsg");
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	if (IS(h && h->cmsg_type == SCM_CREDENTIALS && h->cmsg_len == CMSG_LEN(sizeof c), "with credentials")) {
		memcpy(&c, CMSG_DATA(h), sizeof c);
		IS(c.pid == child && c.uid == geteuid(), "the child's");
	}
	close_pair();
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "creds"};
	int l = MUST(socket(AF_UNIX, SOCK_STREAM, 0)), d = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	CALL(getsockopt(d, SOL_SOCKET, SO_PEERCRED, &c, &n), "SO_PEERCRED, not connected");
	say("pid %d, uid %d", c.pid, (int)c.uid);
	MUST(bind(l, SA(a)));
	MUST(listen(l, 1));
	child = fork();
	if (child == 0) {
		MUST(connect(d, SA(a)));
		nap(10);
		_exit(0);
	}
	int t = MUST(accept(l, NULL, NULL));
	reap(child, "child");
	CALL(getsockopt(t, SOL_SOCKET, SO_PEERCRED, &c, &n), "SO_PEERCRED of a client");
	IS(c.pid == child, "the child's");
	CALL(getsockopt(d, SOL_SOCKET, SO_PEERCRED, &c, &n), "SO_PEERCRED of the listener");
	IS(c.pid == getpid(), "own pid");
	close(t), close(l), close(d), close(p[0]), close(p[1]);
}

CASES(C(rights), C(unclaimed), C(borders), C(offsets), C(credentials))
