/* The kinds of arguments of system calls, a function each. A function draws a value that means something (a descriptor that is open, a
 * structure that is whole), one at a limit, or rarely anything. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
enum { THREADS = 3, PAGE = 4096, BLOCK_PAGES = 40, ARENA_PAGES = 64, MAX_FD = 64 };

/* What a thread has of its own. Others reach its block, and write there while it waits. */
struct thread {
	uint64_t state; /* of its random numbers */
	int number, calls;
	pid_t tid;
	char *block; /* BLOCK_PAGES that are ours, then one that cannot be written, then one that is not there */
	size_t used; /* bytes of the block, by the call that is being made */
};
static struct thread threads[THREADS];
static __thread struct thread *me;
static int in_engine;            /* whether addresses of the engine's pages are drawn: runs that write there need not repeat */
static char *arena;              /* where maps come and go */
static pid_t child_pids[8];      /* of processes that this one has made */
static uint64_t attached[8];     /* addresses of System V's shared memory */

static uint64_t next(void) { /* xorshift64* */
	uint64_t *s = &me->state;
	*s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
	return *s * 0x2545f4914f6cdd1dULL;
}
static uint64_t below(uint64_t n) { return (next() >> 16) % n; }
static int one_in(int n) { return below(n) == 0; }
#define PICK(...) ({ static const long long list_[] = {__VA_ARGS__}; list_[below(COUNT(list_))]; })

/* Numbers. */

static uint64_t limit(void) { /* at which something ends */
	switch (below(9)) {
	case 0: return 0;
	case 1: return -1;
	case 2: return 1ULL << below(64);
	case 3: return (1ULL << below(64)) - 1;
	case 4: return -(1LL << below(63));
	case 5:
		return PICK(INT_MAX, INT_MIN, UINT_MAX, LLONG_MAX, LLONG_MIN, 1LL << 32, 65535, 65536, 1024, 1025, 63, 64, 65, 255, 256,
			4095, 4097);
	case 6: return (LLONG_MAX & ~4095ULL) - below(3) * 4096;
	case 7: return next();
	default: return below(4096) * 4096;
	}
}
static uint64_t zero(void) { return one_in(12) ? limit() : 0; }
static uint64_t digit(void) { return one_in(8) ? limit() : below(7); }
static uint64_t number(void) { return one_in(6) ? limit() : below(90); }
static uint64_t flags(void) {
	switch (below(16)) {
	case 0: return limit();
	case 1: return next() & next() & next() & 0xffffff;
	case 2:
	case 3: return below(256);
	case 4:
	case 5:
	case 6:
	case 7: return 1ULL << below(32);
	default: return 0;
	}
}
static uint64_t size(void) {
	if (!one_in(3)) return below(300);
	return PICK(0, 1, 2, 3, 4, 7, 8, 12, 15, 16, 24, 31, 32, 55, 56, 63, 64, 65, 88, 112, 127, 128, 129, 255, 256, 4095, 4096, 4097,
		65535, 65536, 65537, 1 << 20, 16 << 20, INT_MAX, 1LL << 31, 1LL << 32, 1LL << 47, 1LL << 62, LLONG_MAX, LLONG_MIN, -1);
}
static uint64_t robust_size(void) { return one_in(3) ? size() : 24; }
static uint64_t position(void) { /* in a file */
	if (one_in(2)) return below(20000);
	return PICK(0, 1, 4095, 4096, 65536, 1 << 30, 1LL << 31, 1LL << 32, 1LL << 43, (1LL << 43) - 1, 1LL << 44, 1LL << 62, LLONG_MAX,
		LLONG_MAX - 1, LLONG_MAX - 4095, LLONG_MAX - 4096, -1, -4096, LLONG_MIN);
}
static uint64_t descriptor(void) {
	return one_in(16) ? PICK(-1, -100, INT_MAX, INT_MIN, 1023, 1024, 1 << 20, MAX_FD) : below(MAX_FD);
}
static uint64_t directory(void) { return one_in(2) ? AT_FDCWD : descriptor(); }
static uint64_t signal_number(void) {
	if (one_in(6)) return PICK(-1, 0, 64, 65, 66, 127, 128, 255, INT_MAX, INT_MIN);
	return PICK(1, 2, 10, 12, 13, 14, 16, 17, 18, 20, 23, 28, 34, 35, 63, 64);
}
static uint64_t process(void) {
	if (one_in(3)) return PICK(0, 1, 2, -2, INT_MAX, INT_MIN, 99999, 300);
	return one_in(2) ? getpid() : child_pids[below(COUNT(child_pids))];
}
static uint64_t thread(void) { return one_in(4) ? process() : threads[below(THREADS)].tid; }
static uint64_t clock_number(void) {
	if (one_in(4)) return limit();
	return one_in(5) ? (int)(~(unsigned)getpid() << 3 | below(8)) : (int)below(13) - 1; /* the first are clocks of a process */
}
static uint64_t user(void) { return one_in(3) ? limit() : PICK(0, 0, 1, 1000, -1); }
static uint64_t resource(void) { return one_in(8) ? limit() : below(18); }
static uint64_t mode(void) {
	if (one_in(4)) return limit();
	return PICK(0, 0600, 0700, 0777, 01777, 07777, S_IFIFO | 0600, S_IFREG | 0600, S_IFCHR | 0600, S_IFSOCK | 0600, S_IFDIR, S_IFBLK);
}
static uint64_t open_flags(void) {
	static const int bits[] = {O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NONBLOCK, O_DIRECTORY, O_NOFOLLOW, O_PATH, O_TMPFILE, O_CLOEXEC,
		O_SYNC, O_DSYNC, O_DIRECT, O_NOATIME, O_ASYNC};
	uint64_t f = one_in(20) ? 3 : below(3);
	for (int i = below(4); i > 0; i--) f |= bits[below(COUNT(bits))];
	return f | (one_in(3) ? O_CREAT : 0) | (one_in(3) ? O_NONBLOCK : 0);
}
static uint64_t fcntl_command(void) { return one_in(8) ? limit() : one_in(3) ? 1024 + below(18) : below(40); }
static uint64_t ioctl_number(void) {
	if (one_in(3)) {
		return PICK(0x5401, 0x5402, 0x5411, 0x541b, 0x5421, 0x5450, 0x5451, 0x5452, 0x8904, 0x8905, 0x80045430, 0x40045431, 0x5413,
			0x5414, 0x540f, 0x5410);
	}
	return one_in(4) ? limit() : 0x8910 + below(0x60);
}
static uint64_t one_bit(void) { return one_in(4) ? limit() : 1ULL << below(8); }
static uint64_t wait_flags(void) {
	return one_in(3) ? flags() : WNOHANG | PICK(0, __WALL, __WCLONE, WUNTRACED, WEXITED, WEXITED | WNOWAIT, WEXITED | __WALL);
}
static uint64_t timeout_ms(void) { return one_in(6) ? limit() : PICK(0, 1, 10, 1000, -1, INT_MAX); }
static uint64_t epoll_operation(void) { return one_in(12) ? limit() : 1 + below(3); }
static uint64_t futex_operation(void) {
	return one_in(8) ? limit() : below(14) | (one_in(2) ? FUTEX_PRIVATE_FLAG : 0) | (one_in(6) ? FUTEX_CLOCK_REALTIME : 0);
}
static uint64_t socket_level(void) { return one_in(6) ? limit() : PICK(0, 1, 6, 17, 41, 270, 263); }
static uint64_t socket_option(void) { return one_in(8) ? limit() : below(84); }
static uint64_t ipc_key(void) { return one_in(4) ? limit() : below(6); } /* and an identifier */
static uint64_t ipc_flags(void) { return one_in(4) ? limit() : PICK(0, IPC_CREAT | 0600, IPC_CREAT | IPC_EXCL | 0600, 0600); }
static uint64_t ipc_command(void) { return one_in(4) ? limit() : below(21); }
static uint64_t arch_code(void) { /* without ARCH_SET_FS, after which a thread has no memory of its own */
	return one_in(6) ? limit() & ~0x1002ULL : PICK(0x1001, 0x1003, 0x1004, 0x1011, 0x1012, 0x1021, 0x1022, 0x1023, 0x4001, 0x5001);
}
static uint64_t end_signal(void) { /* of a child to its parent, which seldom is to die of it */
	uint64_t s = one_in(3) ? limit() : below(256);
	return ((s & 255) == SIGKILL || (s & 255) == SIGSTOP) && !one_in(20) ? SIGCHLD : s;
}
static uint64_t clone_flags(void) {
	return ((one_in(4) ? limit() : one_in(2) ? 0 : 1ULL << (8 + below(28))) & ~255ULL) | (end_signal() & 255);
}

/* Memory that comes and goes. */

static uint64_t bad_address(void) {
	if (in_engine && one_in(5)) return PICK(0x7ffffa000000, 0x7ffffa010000, 0x7ffffa100000);
	return PICK(0, 1, 8, 0xfff, -4096LL, -1, 0x400000, 0xffffffffff600000, 0x7ffffffff000, 0x7ffffffffff8, LLONG_MIN,
		0x800000000000);
}
static uint64_t place(void) {
	if (one_in(16)) return one_in(2) ? bad_address() : limit();
	return one_in(5) ? 0 : (uint64_t)arena + below(ARENA_PAGES) * PAGE + (one_in(16) ? below(PAGE) : 0);
}
static uint64_t attachment(void) { return one_in(4) ? place() : attached[below(COUNT(attached))]; }
static uint64_t extent(void) {
	if (one_in(12)) return PICK(0, 1, 4095, 4097, LLONG_MAX, LLONG_MIN, -1, -4096, -4095, 1LL << 46, 1LL << 47);
	return (1 + below(8)) * PAGE;
}
static uint64_t protection(void) { return one_in(12) ? limit() : below(4); }
static uint64_t map_flags(void) {
	uint64_t f = one_in(12) ? below(4) : MAP_SHARED + below(2);
	return f | (one_in(2) ? MAP_ANONYMOUS : 0) | (one_in(3) ? 1ULL << below(22) : 0) | (one_in(30) ? limit() : 0);
}

/* Pointers into blocks. */

/* room gives a piece of the block; now and then it ends where writing or reading does, or lies in another thread's block. */
static char *room(size_t n) {
	char *end = me->block + BLOCK_PAGES * PAGE;
	if (one_in(24)) return end - below(n + 8);
	if (one_in(40)) return end + PAGE - below(n + 8);
	if (one_in(8)) return threads[below(THREADS)].block + below(64) * 64;
	if (me->used + n > (BLOCK_PAGES - 1) * PAGE) me->used = 0;
	char *p = me->block + me->used;
	me->used += (n + 63) & ~63UL;
	return p;
}
static void put(char *at, const void *data, size_t n) { /* as much as can be written */
	char *end = me->block + BLOCK_PAGES * PAGE;
	if (at >= me->block && at < end) {
		memcpy(at, data, at + n > end ? (size_t)(end - at) : n);
	} else if (at < me->block || at >= end + 2 * PAGE) {
		memcpy(at, data, n);
	}
}
static uint64_t with(const void *data, size_t n) {
	char *p = room(n);
	put(p, data, n);
	return (uint64_t)p;
}
static uint64_t text(void) { /* for files of /proc, or anything */
	static const char *const words[] = {"0", "1", "-1", "1000", "-1000", "1001", "2147483647", "2147483648", "-2147483648",
		"18446744073709551615", "99999999999999999999", "1 2", "32768 60999", "60999 32768", "0 0 0", "4096 1 -1", "250 32000 32 128",
		"max", "", "x\n", "1e9", "0x10"};
	const char *w = words[below(COUNT(words))];
	return with(w, strlen(w) + 1);
}
static uint64_t buffer(void) {
	if (one_in(20)) return bad_address();
	return one_in(6) ? text() : (uint64_t)room(one_in(8) ? 70000 : 600);
}
static uint64_t vectors(void) {
	struct iovec v[8];
	for (unsigned i = 0; i < COUNT(v); i++) v[i] = (struct iovec){(void *)buffer(), one_in(5) ? size() : below(200)};
	return with(v, sizeof v);
}
static uint64_t count(void) { return one_in(8) ? PICK(-1, 9, 16, 1024, 1025, INT_MAX, 1LL << 32, LLONG_MIN) : below(9); }
static uint64_t number_at(void) {
	uint64_t v = one_in(2) ? below(70) : limit();
	return one_in(20) ? bad_address() : with(&v, sizeof v);
}
static uint64_t size_at(void) {
	uint32_t v = one_in(3) ? size() : PICK(4, 16, 28, 110, 128);
	return one_in(20) ? bad_address() : with(&v, sizeof v);
}
static uint64_t futex_word(void) { return (uint64_t)threads[0].block + below(4) * 4 + (one_in(30) ? 1 : 0); }

/* Paths. The first lie in the working directory, where descriptors() makes some of them. */
enum { OWN_NAMES = 24 };
static const char *const names[] = {"file", "file2", ".", "..", "/", "dir", "dir/a", "dir/b", "dir/sub", "dir/sub/x", "link",
	"dangling", "loop", "fifo", "sock", "new", "new2", "", "file/x", "/work", "/work/dir", "file", "new3", "dir/file",
	"/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/shm/x", "/dev/stdin", "/dev/fd/5", "/dev/pts", "/dev/tty", "/tmp/x",
	"/etc/passwd", "/proc", "/proc/self", "/proc/self/fd", "/proc/self/fd/3", "/proc/self/fd/9", "/proc/self/fd/99999999999",
	"/proc/self/maps", "/proc/self/mem", "/proc/self/stat", "/proc/self/status", "/proc/self/task", "/proc/self/exe",
	"/proc/self/cwd", "/proc/self/root", "/proc/self/environ", "/proc/self/cmdline", "/proc/self/oom_score_adj", "/proc/self/comm",
	"/proc/self/limits", "/proc/self/fdinfo/3", "/proc/self/fdinfo/20", "/proc/self/smaps", "/proc/self/pagemap", "/proc/self/auxv",
	"/proc/self/loginuid", "/proc/self/mountinfo", "/proc/self/net/tcp", "/proc/1/stat", "/proc/0", "/proc/99999999999999999999",
	"/proc/-1/stat", "/proc/net/unix", "/proc/net/udp", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/uptime",
	"/proc/mounts", "/proc/sys/kernel/pid_max", "/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/ip_local_port_range",
	"/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max", "/proc/sys/kernel/sem",
	"/proc/sys/kernel/shmmax", "/proc/sys/kernel/msgmnb", "/proc/sys/kernel/hostname", "/proc/sysvipc/shm", "/sys",
	"/sys/fs/cgroup", "/sys/fs/cgroup/memory.max", "/sys/devices/system/cpu/online", "/sys/class/net", "\377\376"};
static uint64_t path(void) {
	if (one_in(30)) return bad_address();
	if (one_in(30)) {
		char long_name[5000];
		memset(long_name, 'a', sizeof long_name), long_name[PICK(254, 255, 256, 4094, 4095, 4096, 4999)] = 0;
		return with(long_name, sizeof long_name);
	}
	const char *name = names[one_in(2) ? below(OWN_NAMES) : below(COUNT(names))];
	return with(name, strlen(name) + 1);
}
static uint64_t how_to_open(void) {
	uint64_t h[4] = {open_flags(), one_in(2) ? 0 : 0600, one_in(2) ? 0 : below(64), one_in(8)};
	return with(h, sizeof h);
}
static uint64_t attribute(void) { /* the name of an extended one */
	const char *const list[] = {"user.a", "user.a", "user.b", "user.", "trusted.x", "security.capability", "system.posix_acl_access",
		"a", "", "user.cccccccc"};
	const char *n = list[below(COUNT(list))];
	return with(n, strlen(n) + 1);
}
static uint64_t watch(void) { return one_in(6) ? limit() : below(4); }
static uint64_t a_lock(void) {
	struct flock l = {.l_type = one_in(8) ? next() : below(3), .l_whence = one_in(8) ? next() : below(3), .l_start = position(),
		.l_len = one_in(2) ? position() : 0, .l_pid = one_in(4) ? 1 : 0};
	return with(&l, sizeof l);
}

/* Time. */

static struct timespec moment(void) {
	struct timespec t = {one_in(4), below(5000000)};
	if (one_in(6)) {
		t.tv_sec = PICK(-1, 1LL << 31, 1LL << 33, (1LL << 33) - 1, (1LL << 33) + 1, 9223372036LL, 9223372037LL, LLONG_MAX, LLONG_MIN,
			1735689600);
	}
	if (one_in(6)) {
		t.tv_nsec = PICK(-1, 999999, 1000000, 999999999, 1000000000, LLONG_MAX, LLONG_MIN, UTIME_NOW, UTIME_OMIT);
	}
	return t;
}
static uint64_t moments(int n) {
	struct timespec t[2] = {moment(), moment()};
	if (one_in(8)) return one_in(2) ? 0 : bad_address();
	return with(t, n * sizeof *t);
}
static uint64_t time_at(void) { return moments(1); }
static uint64_t two_times(void) { return moments(2); }

/* Descriptors that a call waits for. */

static uint64_t polled(void) {
	struct pollfd p[8];
	for (unsigned i = 0; i < COUNT(p); i++) p[i] = (struct pollfd){descriptor(), one_in(4) ? next() : POLLIN | POLLOUT, 0};
	return with(p, sizeof p);
}
static uint64_t descriptor_set(void) {
	uint64_t s[2] = {one_in(2) ? 1ULL << below(64) : next() & next(), 0};
	return one_in(6) ? 0 : with(s, sizeof s);
}
static uint64_t epoll_event(void) {
	struct epoll_event e = {.data.u64 = below(9)};
	e.events = PICK(EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT, EPOLLIN | EPOLLEXCLUSIVE, EPOLLRDHUP);
	if (one_in(3)) e.events = next();
	return with(&e, sizeof e);
}

/* Sockets. */

static uint64_t socket_address(void) {
	struct sockaddr_storage s = {0};
	struct sockaddr_in *in = (void *)&s;
	struct sockaddr_in6 *in6 = (void *)&s;
	struct sockaddr_un *un = (void *)&s;
	static const in_port_t ports[] = {0, 1, 7000, 7001, 7002, 7003, 65535, 53};
	switch (below(5)) {
	case 0:
	case 1:
		in->sin_family = AF_INET, in->sin_port = htons(ports[below(COUNT(ports))]);
		in->sin_addr.s_addr = htonl(PICK(INADDR_LOOPBACK, INADDR_LOOPBACK, INADDR_LOOPBACK, INADDR_ANY, INADDR_BROADCAST, 0x0a4d000a,
			0x0a4d0063, 0xe0000001, 0x7f00000b));
		break;
	case 2:
		in6->sin6_family = AF_INET6, in6->sin6_port = htons(ports[below(COUNT(ports))]), in6->sin6_scope_id = below(4);
		in6->sin6_addr = one_in(3) ? in6addr_any : in6addr_loopback;
		if (one_in(4)) in6->sin6_addr.s6_addr[0] = 0xfe, in6->sin6_addr.s6_addr[1] = 0x80;
		break;
	case 3:
		un->sun_family = AF_UNIX;
		strcpy(un->sun_path, (const char *[]){"sock", "", "file", "dir/s", "nothere/s"}[below(5)]);
		if (one_in(3)) memcpy(un->sun_path, "\0abstract", 9);
		if (one_in(16)) memset(un->sun_path, 'x', sizeof un->sun_path);
		break;
	default: s.ss_family = one_in(2) ? PICK(AF_UNSPEC, AF_NETLINK, AF_PACKET) : below(48);
	}
	return one_in(20) ? bad_address() : with(&s, sizeof s);
}
static uint64_t address_size(void) {
	return one_in(2) ? PICK(16, 28, 110) : PICK(0, 1, 2, 3, 4, 8, 10, 12, 15, 24, 27, 109, 111, 127, 128, 129, INT_MAX, -1);
}
static struct msghdr message(void) {
	char control[128] = {0};
	*(struct cmsghdr *)control = (struct cmsghdr){one_in(6) ? size() : 16 + 4 * below(5),
		one_in(4) ? PICK(0, 6, 41, 17) : SOL_SOCKET, one_in(6) ? (int)below(40) : (int)below(3)};
	int *passed = (int *)(control + sizeof(struct cmsghdr));
	for (int i = 0; i < 6; i++) passed[i] = descriptor();
	struct msghdr m = {.msg_iov = (void *)vectors(), .msg_iovlen = count(), .msg_flags = flags()};
	if (one_in(2)) m.msg_name = (void *)socket_address(), m.msg_namelen = address_size();
	if (one_in(2)) m.msg_control = (void *)with(control, sizeof control), m.msg_controllen = one_in(3) ? size() : 16 + 8 * below(6);
	return m;
}
static uint64_t a_message(void) {
	struct msghdr m = message();
	return with(&m, sizeof m);
}
static uint64_t messages(void) {
	struct mmsghdr m[4];
	for (unsigned i = 0; i < COUNT(m); i++) m[i] = (struct mmsghdr){message(), 0};
	return with(m, sizeof m);
}

/* Signals. */

static uint64_t signal_set(void) { /* without SIGUSR1, which wakes the thread */
	uint64_t m = one_in(2) ? next() : PICK(0, -1, 1, 1LL << 63, 0x2000);
	m &= ~(1ULL << (SIGUSR1 - 1));
	return one_in(12) ? bad_address() : with(&m, sizeof m);
}
static uint64_t set_size(void) { return one_in(12) ? size() : 8; }
static uint64_t notification(void) {
	struct sigevent e = {.sigev_value.sival_ptr = (void *)next(), .sigev_signo = signal_number()};
	e.sigev_notify = one_in(4) ? limit() : PICK(SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD, SIGEV_THREAD_ID);
	e._sigev_un._tid = thread();
	return one_in(3) ? with(&e, sizeof e) : 0;
}
struct action { /* of the kernel */
	void *handler;
	uint64_t flags;
	void *restorer;
	uint64_t mask;
};
enum { RESTORER = 0x04000000 };
static void handled(int signo) {}
void restorer(void);
__asm__(".globl restorer\nrestorer: mov $15, %eax\nsyscall\n"); /* rt_sigreturn(2) */
static uint64_t an_action(void) {
	struct action a = {handled, RESTORER, restorer, one_in(2) ? next() : 0};
	if (one_in(3)) a.handler = SIG_IGN;
	if (one_in(3)) a.flags |= next() & ~(uint64_t)SA_RESETHAND;
	return with(&a, sizeof a);
}
static uint64_t information(void) {
	siginfo_t s = {.si_signo = signal_number(), .si_code = PICK(-1, -2, -2, -3, -6, 0, 1, 0x80, INT_MIN)};
	s.si_pid = below(9), s.si_value.sival_ptr = (void *)next();
	return with(&s, sizeof s);
}
static uint64_t information_or_none(void) { return one_in(2) ? information() : 0; }

/* Semaphores, and other state of processes. */

static uint64_t operations(void) {
	struct { uint16_t number; int16_t change, flags; } s[8];
	for (unsigned i = 0; i < COUNT(s); i++) {
		s[i].number = one_in(8) ? next() : below(4);
		s[i].change = one_in(6) ? PICK(32767, -32768, -32767) : (int16_t)(below(5) - 2);
		s[i].flags = one_in(2) ? IPC_NOWAIT | (one_in(2) ? 010000 : 0) : one_in(6) ? next() : 0; /* SEM_UNDO */
	}
	return with(s, sizeof s);
}
static uint64_t typed_message(void) {
	struct { long type; char text[200]; } m = {one_in(6) ? limit() : below(4), "text"};
	return with(&m, sizeof m);
}
static uint64_t a_limit(void) {
	uint64_t l[2] = {one_in(2) ? below(2000) : limit(), one_in(2) ? -1 : limit()};
	return one_in(2) ? 0 : with(l, sizeof l);
}
static uint64_t new_process(void) {
	struct clone_args c = {.flags = clone_flags() & ~255ULL, .pidfd = buffer(), .child_tid = buffer(), .parent_tid = buffer(),
		.exit_signal = end_signal(), .stack = buffer(), .stack_size = size(), .tls = buffer()};
	return with(&c, sizeof c);
}
static uint64_t scheduling(void) {
	struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t a, b, c; } s = {
		one_in(3) ? size() : 48, below(8), one_in(3) ? next() : 0, limit(), below(3), 0, 0, 0};
	return with(&s, sizeof s);
}
static uint64_t priority_at(void) {
	int p = one_in(2) ? 0 : limit();
	return with(&p, sizeof p);
}
static uint64_t capabilities(void) {
	uint32_t h[8] = {PICK(0x20080522, 0x20071026, 0x19980330, 0, -1), process(), next(), next(), next(), next(), next(), next()};
	return with(h, sizeof h);
}
static uint64_t argument_list(void) {
	uint64_t v[4] = {(uint64_t) "x", one_in(4) ? bad_address() : (uint64_t) "y", 0, 0};
	return one_in(6) ? bad_address() : with(v, sizeof v);
}
