/* Makes system calls by a grammar: for each call the kinds of its arguments, which are drawn from values that mean something (descriptors
 * that are open, structures that are whole), from their limits, and rarely from anything. So calls succeed and change state, and the limits
 * of each argument are met in many states. Each child has threads that share memory and descriptors, and change what others wait with.
 *
 * Arguments: the seed, how many children, how many calls each. It prints a line a child, and what came of each kind of call. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define COUNT(a) (sizeof(a) / sizeof(*(a)))
enum { THREADS = 3, PAGE = 4096, BLOCK_PAGES = 40, ARENA_PAGES = 64, MAX_FD = 64, MAX_NR = 520 };

/* What a thread has of its own. Others reach its block, and write there while it waits. */
struct thread {
	uint64_t state;
	int number, calls;
	pid_t tid;
	char *block; /* BLOCK_PAGES that are ours, then one that cannot be written, then one that is not there */
	size_t used; /* of the block, by the call that is being made */
};
static struct thread threads[THREADS];
static __thread struct thread *me;
static char *arena;                       /* where maps come and go */
static pid_t parent, child_pids[8];
static volatile pid_t *tids;              /* of the child's threads, shared with the parent */
static uint64_t next_number;
static struct { uint64_t made, succeeded; } *seen; /* by number of the call, shared by all children */

static uint64_t next(void) {
	uint64_t *s = me ? &me->state : &next_number;
	*s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
	return *s * 0x2545f4914f6cdd1dULL;
}
static uint64_t below(uint64_t n) { return (next() >> 16) % n; }
static int one_in(int n) { return below(n) == 0; }
#define PICK(...) ({ static const long long list_[] = {__VA_ARGS__}; list_[below(COUNT(list_))]; })

static uint64_t limit(void) { /* numbers at which something ends */
	switch (below(9)) {
	case 0: return 0;
	case 1: return -1;
	case 2: return 1ULL << below(64);
	case 3: return (1ULL << below(64)) - 1;
	case 4: return -(1LL << below(63));
	case 5: return PICK(INT_MAX, INT_MIN, UINT_MAX, LLONG_MAX, LLONG_MIN, 1LL << 32, 65535, 65536, 1024, 1025, 63, 64, 65, 255, 256, 4095, 4097);
	case 6: return (LLONG_MAX & ~4095ULL) - below(3) * 4096;
	case 7: return next();
	default: return below(4096) * 4096;
	}
}

/* room gives a piece of the block; now and then it ends at the end of what can be written or read, or lies in another thread's block. */
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
static uint64_t bad_address(void) {
	return PICK(0, 1, 8, 0xfff, 0x7ffffa000000, 0x7ffffa010000, 0x7ffffa100000, -4096LL, -1, 0x400000, 0xffffffffff600000, 0x7ffffffff000, 0x7ffffffffff8, LLONG_MIN, 0x800000000000);
}
static void put(char *at, const void *data, size_t n) { /* as much as can be written */
	char *end = me->block + BLOCK_PAGES * PAGE;
	if (at >= me->block && at < end) memcpy(at, data, at + n > end ? (size_t)(end - at) : n);
	else if (at < me->block || at >= end + 2 * PAGE) memcpy(at, data, n);
}
static uint64_t with(const void *data, size_t n) { char *p = room(n); put(p, data, n); return (uint64_t)p; }

static int fd(void) { return one_in(16) ? (int)PICK(-1, -100, INT_MAX, INT_MIN, 1023, 1024, 1 << 20, MAX_FD) : (int)below(MAX_FD); }
static uint64_t size(void) {
	return one_in(3) ? PICK(0, 1, 2, 3, 4, 7, 8, 12, 15, 16, 24, 31, 32, 55, 56, 63, 64, 65, 88, 112, 127, 128, 129, 255, 256, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20, 16 << 20, INT_MAX, 1LL << 31, 1LL << 32,
		1LL << 47, 1LL << 62, LLONG_MAX, LLONG_MIN, -1) : below(300);
}
static int64_t position(void) {
	return one_in(2) ? PICK(0, 1, 4095, 4096, 65536, 1 << 30, 1LL << 31, 1LL << 32, 1LL << 43, (1LL << 43) - 1, 1LL << 44, 1LL << 62, LLONG_MAX, LLONG_MAX - 1, LLONG_MAX - 4095, LLONG_MAX - 4096, -1, -4096, LLONG_MIN) : below(20000);
}
static const char *const names[] = {"file", "file2", ".", "..", "/", "dir", "dir/a", "dir/b", "dir/sub", "dir/sub/x", "link", "dangling", "loop", "fifo", "sock", "new", "new2", "", "file/x", "/work", "/work/dir",
	"/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/shm/x", "/dev/stdin", "/dev/fd/5", "/dev/pts", "/dev/tty", "/tmp/x", "/etc/passwd", "/proc", "/proc/self", "/proc/self/fd", "/proc/self/fd/3", "/proc/self/fd/9",
	"/proc/self/fd/99999999999", "/proc/self/maps", "/proc/self/mem", "/proc/self/stat", "/proc/self/status", "/proc/self/task", "/proc/self/exe", "/proc/self/cwd", "/proc/self/root", "/proc/self/environ", "/proc/self/cmdline",
	"/proc/self/oom_score_adj", "/proc/self/comm", "/proc/self/limits", "/proc/self/fdinfo/3", "/proc/self/fdinfo/20", "/proc/self/smaps", "/proc/self/pagemap", "/proc/self/auxv", "/proc/self/loginuid", "/proc/self/mountinfo",
	"/proc/self/net/tcp", "/proc/1/stat", "/proc/0", "/proc/99999999999999999999", "/proc/-1/stat", "/proc/net/unix", "/proc/net/udp", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/uptime", "/proc/mounts",
	"/proc/sys/kernel/pid_max", "/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/ip_local_port_range", "/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max", "/proc/sys/kernel/sem",
	"/proc/sys/kernel/shmmax", "/proc/sys/kernel/msgmnb", "/proc/sys/kernel/hostname", "/proc/sysvipc/shm", "/sys", "/sys/fs/cgroup", "/sys/fs/cgroup/memory.max", "/sys/devices/system/cpu/online", "/sys/class/net", "\377\376"};
static uint64_t path(void) {
	if (one_in(30)) return bad_address();
	if (one_in(30)) {
		char *p = room(5000);
		char text[5000];
		memset(text, 'a', sizeof text), text[PICK(254, 255, 256, 4094, 4095, 4096, 4999)] = 0;
		put(p, text, sizeof text);
		return (uint64_t)p;
	}
	const char *name = names[one_in(2) ? below(24) : below(COUNT(names))];
	return with(name, strlen(name) + 1);
}
static uint64_t text(void) { /* what is written to files of /proc */
	static const char *const words[] = {"0", "1", "-1", "1000", "-1000", "1001", "2147483647", "2147483648", "-2147483648", "18446744073709551615", "99999999999999999999", "1 2", "32768 60999", "60999 32768", "0 0 0", "4096 1 -1", "250 32000 32 128", "max", "", "x\n", "1e9", "0x10"};
	const char *w = words[below(COUNT(words))];
	return with(w, strlen(w) + 1);
}
static uint64_t buffer(void) { return one_in(20) ? bad_address() : one_in(6) ? text() : (uint64_t)room(one_in(8) ? 70000 : 600); }
static uint64_t vectors(void) {
	struct iovec v[8];
	for (unsigned i = 0; i < COUNT(v); i++) v[i] = (struct iovec){(void *)buffer(), one_in(5) ? size() : below(200)};
	return with(v, sizeof v);
}
static uint64_t vector_count(void) { return one_in(8) ? PICK(-1, 9, 16, 1024, 1025, INT_MAX, 1LL << 32, LLONG_MIN) : below(9); }
static uint64_t address_of_socket(void) {
	struct sockaddr_storage s = {0};
	struct sockaddr_in *in = (void *)&s;
	struct sockaddr_in6 *in6 = (void *)&s;
	struct sockaddr_un *un = (void *)&s;
	static const in_port_t ports[] = {0, 1, 7000, 7001, 7002, 7003, 65535, 53};
	switch (below(5)) {
	case 0:
	case 1:
		in->sin_family = AF_INET, in->sin_port = htons(ports[below(8)]);
		in->sin_addr.s_addr = htonl(PICK(INADDR_LOOPBACK, INADDR_LOOPBACK, INADDR_LOOPBACK, INADDR_ANY, INADDR_BROADCAST, 0x0a4d000a, 0x0a4d0063, 0xe0000001, 0x7f00000b));
		break;
	case 2:
		in6->sin6_family = AF_INET6, in6->sin6_port = htons(ports[below(8)]), in6->sin6_scope_id = below(4);
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
static uint64_t address_size(void) { return one_in(2) ? PICK(16, 28, 110) : PICK(0, 1, 2, 3, 4, 8, 10, 12, 15, 24, 27, 109, 111, 127, 128, 129, INT_MAX, -1); }
static uint64_t size_at(void) { uint32_t v = one_in(3) ? size() : PICK(4, 16, 28, 110, 128); return one_in(20) ? bad_address() : with(&v, 4); }
static uint64_t number_at(void) { uint64_t v = one_in(2) ? below(70) : limit(); return one_in(20) ? bad_address() : with(&v, 8); }
static int signal_number(void) { return one_in(6) ? (int)PICK(-1, 0, 64, 65, 66, 127, 128, 255, INT_MAX, INT_MIN) : (int)PICK(1, 2, 10, 12, 13, 14, 16, 17, 18, 20, 23, 28, 34, 35, 63, 64); }
static int process(void) { return one_in(3) ? (int)PICK(0, 1, 2, -2, INT_MAX, INT_MIN, 99999, 300) : one_in(2) ? (int)getpid() : child_pids[below(8)]; }
static int thread_number(void) { return one_in(4) ? process() : threads[below(THREADS)].tid; }
static int clock_number(void) { return one_in(4) ? (int)limit() : one_in(5) ? (int)(~(unsigned)getpid() << 3 | below(8)) : (int)below(13) - 1; }
static struct timespec moment(void) {
	struct timespec t = {one_in(4) ? PICK(-1, 1LL << 31, 1LL << 33, (1LL << 33) - 1, (1LL << 33) + 1, 9223372036LL, 9223372037LL, LLONG_MAX, LLONG_MIN, 1735689600) : below(2), one_in(4) ? PICK(-1, 999999, 1000000, 999999999, 1000000000, LLONG_MAX, LLONG_MIN, (1 << 30) - 1, (1 << 30) - 2) : below(50000000)};
	return t;
}
static uint64_t times(int n) {
	struct timespec t[4];
	for (int i = 0; i < n; i++) t[i] = moment();
	return one_in(8) ? (one_in(2) ? 0 : bad_address()) : with(t, n * sizeof *t);
}
static uint64_t signals(void) { uint64_t m = one_in(2) ? next() : PICK(0, -1, 1, 1LL << 63, 0x2000); m &= ~(1ULL << (SIGUSR1 - 1)); return one_in(12) ? bad_address() : with(&m, 8); }
static uint64_t flags(void) { return one_in(2) ? 0 : one_in(2) ? 1ULL << below(32) : one_in(2) ? below(256) : one_in(2) ? next() & next() & next() & 0xffffff : limit(); }
static uint64_t open_flags(void) {
	static const int bits[] = {O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NONBLOCK, O_DIRECTORY, O_NOFOLLOW, O_PATH, O_TMPFILE, O_CLOEXEC, O_SYNC, O_DSYNC, O_DIRECT, O_NOATIME, O_ASYNC};
	uint64_t f = one_in(20) ? 3 : below(3);
	for (int i = below(4); i > 0; i--) f |= bits[below(COUNT(bits))];
	return f | (one_in(3) ? O_CREAT : 0) | (one_in(3) ? O_NONBLOCK : 0);
}
static uint64_t polled(void) {
	struct pollfd p[8];
	for (unsigned i = 0; i < COUNT(p); i++) p[i] = (struct pollfd){fd(), one_in(4) ? next() : POLLIN | POLLOUT, 0};
	return with(p, sizeof p);
}
static uint64_t descriptor_set(void) { uint64_t s[2] = {one_in(2) ? 1ULL << below(64) : next() & next(), 0}; return one_in(6) ? 0 : with(s, 16); }
static uint64_t epoll_event(void) {
	struct epoll_event e = {one_in(3) ? next() : PICK(EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT, EPOLLIN | EPOLLEXCLUSIVE, EPOLLRDHUP), {.u64 = below(9)}};
	return with(&e, sizeof e);
}
static struct msghdr message(void) {
	char control[128] = {0};
	struct cmsghdr *c = (void *)control;
	uint64_t kind = below(6);
	*c = (struct cmsghdr){one_in(6) ? size() : 16 + 4 * below(5), one_in(4) ? PICK(0, 6, 41, 17) : SOL_SOCKET, one_in(6) ? (int)below(40) : (int)below(3)};
	int *fds = (int *)(control + 16);
	for (int i = 0; i < 6; i++) fds[i] = fd();
	struct msghdr m = {.msg_iov = (void *)vectors(), .msg_iovlen = vector_count(), .msg_flags = flags()};
	if (kind & 1) m.msg_name = (void *)address_of_socket(), m.msg_namelen = address_size();
	if (kind & 2) m.msg_control = (void *)with(control, sizeof control), m.msg_controllen = one_in(3) ? size() : 16 + 8 * below(6);
	return m;
}
static uint64_t a_message(void) { struct msghdr m = message(); return with(&m, sizeof m); }
static uint64_t some_messages(void) {
	struct mmsghdr m[4];
	for (int i = 0; i < 4; i++) m[i] = (struct mmsghdr){message(), 0};
	return with(m, sizeof m);
}
static uint64_t event_of_signal(void) {
	struct sigevent e = {.sigev_value.sival_ptr = (void *)next(), .sigev_signo = signal_number(), .sigev_notify = one_in(4) ? (int)limit() : (int)PICK(0, 1, 2, 4)};
	e._sigev_un._tid = thread_number();
	return one_in(4) ? 0 : with(&e, sizeof e);
}
static void handled(int signo) {}
void restorer(void);
__asm__(".globl restorer\nrestorer: mov $15, %eax\nsyscall\n"); /* rt_sigreturn(2) */
static uint64_t an_action(void) {
	struct { void *handler; uint64_t flags; void *restorer; uint64_t mask; } a = {one_in(3) ? (void *)1 : (void *)handled, (one_in(3) ? next() & ~(uint64_t)SA_RESETHAND : 0) | 0x04000000, restorer, one_in(2) ? next() : 0};
	return with(&a, sizeof a);
}
static uint64_t information(void) {
	siginfo_t s = {0};
	s.si_signo = signal_number(), s.si_code = (int)PICK(-1, -2, -2, -3, -6, 0, 1, 0x80, INT_MIN), s.si_pid = below(9), s.si_value.sival_ptr = (void *)next();
	return with(&s, sizeof s);
}
static uint64_t place(void) { return one_in(16) ? (one_in(2) ? bad_address() : limit()) : one_in(5) ? 0 : (uint64_t)arena + below(ARENA_PAGES) * PAGE + (one_in(16) ? below(PAGE) : 0); }
static uint64_t extent(void) { return one_in(12) ? PICK(0, 1, 4095, 4097, LLONG_MAX, LLONG_MIN, -1, -4096, -4095, 1LL << 46, 1LL << 47) : (1 + below(8)) * PAGE; }
static uint64_t map_flags(void) { return (one_in(12) ? below(4) : 1 + below(2)) | (one_in(2) ? MAP_ANONYMOUS : 0) | (one_in(3) ? 1ULL << below(22) : 0) | (one_in(30) ? limit() : 0); }
static uint64_t operations(void) {
	struct { uint16_t num; int16_t op, flg; } s[8];
	for (int i = 0; i < 8; i++) {
		s[i].num = one_in(8) ? next() : below(4), s[i].op = one_in(6) ? (int16_t)PICK(32767, -32768, -32767) : (int16_t)(below(5) - 2), s[i].flg = one_in(2) ? IPC_NOWAIT | below(2) * 010000 : one_in(6) ? next() : 0;
	}
	return with(s, sizeof s);
}
static uint64_t typed_message(void) { struct { long type; char text[200]; } m = {one_in(6) ? (long)limit() : (long)below(4), "text"}; return with(&m, sizeof m); }
static uint64_t a_lock(void) {
	struct flock l = {.l_type = one_in(8) ? next() : below(3), .l_whence = one_in(8) ? next() : below(3), .l_start = position(), .l_len = one_in(2) ? position() : 0, .l_pid = one_in(4) ? 1 : 0};
	return with(&l, sizeof l);
}
static uint64_t a_limit(void) { uint64_t l[2] = {one_in(2) ? below(2000) : limit(), one_in(2) ? -1 : limit()}; return one_in(2) ? 0 : with(l, 16); }
#define NOT_SHARED ((uint64_t)(CLONE_VM | CLONE_THREAD | CLONE_VFORK | CLONE_SIGHAND))
static uint64_t new_process(void) {
	struct clone_args c = {.flags = (one_in(3) ? 1ULL << below(36) : 0) & ~NOT_SHARED, .exit_signal = one_in(3) ? limit() : below(70), .pidfd = buffer(), .child_tid = buffer(), .parent_tid = buffer()};
	return with(&c, sizeof c);
}
static uint64_t how_to_open(void) { uint64_t h[4] = {open_flags(), one_in(2) ? 0 : 0600, one_in(2) ? 0 : below(64), one_in(8)}; return with(h, sizeof h); }
static uint64_t attributes(void) {
	struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t a, b, c; } s = {one_in(3) ? size() : 48, below(8), one_in(3) ? next() : 0, (int)limit(), below(3), 0, 0, 0};
	return with(&s, sizeof s);
}
static uint64_t capabilities(void) { uint32_t h[8] = {PICK(0x20080522, 0x20071026, 0x19980330, 0, -1), process(), next(), next(), next(), next(), next(), next()}; return with(h, sizeof h); }
static uint64_t attribute(void) { const char *n = (const char *[]){"user.a", "user.b", "user.", "trusted.x", "security.capability", "system.posix_acl_access", "a", "", "user.cccccccc"}[below(9)]; return with(n, strlen(n) + 1); }
static uint64_t arguments(void) { uint64_t v[4] = {(uint64_t) "x", one_in(4) ? bad_address() : (uint64_t) "y", 0, 0}; return one_in(6) ? bad_address() : with(v, sizeof v); }

/* argument draws one by its letter in the table below. */
static uint64_t argument(char kind) {
	switch (kind) {
	case 'f': return fd();
	case 'd': return one_in(2) ? AT_FDCWD : fd();
	case 'p': return path();
	case 'b': return buffer();
	case 'n': return size();
	case 'i': return vectors();
	case 'v': return vector_count();
	case 's': return address_of_socket();
	case 'l': return address_size();
	case 'L': return size_at();
	case 'D': return number_at();
	case 'S': return signal_number();
	case 'P': return process();
	case 'h': return thread_number();
	case 'c': return clock_number();
	case 't': return times(1);
	case 'T': return times(2);
	case 'o': return open_flags();
	case 'm': return one_in(4) ? limit() : PICK(0, 0600, 0700, 0777, 01777, 07777, S_IFIFO | 0600, S_IFREG | 0600, S_IFCHR | 0600, S_IFSOCK | 0600, S_IFDIR, S_IFBLK);
	case 'F': return flags();
	case 'O': return position();
	case 'w': return one_in(8) ? limit() : below(7);
	case 'g': return signals();
	case 'z': return one_in(12) ? size() : 8;
	case 'e': return epoll_event();
	case 'E': return one_in(12) ? limit() : 1 + below(3);
	case 'k': return one_in(8) ? limit() : below(18);
	case 'M': return a_message();
	case 'H': return some_messages();
	case 'a': return place();
	case 'A': return extent();
	case 'R': return one_in(12) ? limit() : below(4) & 3;
	case 'G': return map_flags();
	case 'u': return one_in(3) ? limit() : PICK(0, 0, 1, 1000, -1);
	case 'y': return one_in(4) ? limit() : below(6);
	case 'Y': return one_in(4) ? limit() : PICK(0, IPC_CREAT | 0600, IPC_CREAT | IPC_EXCL | 0600, 0600);
	case 'C': return one_in(4) ? limit() : below(21);
	case 'I': return one_in(3) ? PICK(0x5401, 0x5402, 0x5411, 0x541b, 0x5421, 0x5450, 0x5451, 0x5452, 0x8904, 0x8905, 0x80045430, 0x40045431, 0x5413, 0x5414, 0x540f, 0x5410) : one_in(4) ? limit() : 0x8910 + below(0x60);
	case 'N': return one_in(8) ? limit() : one_in(3) ? 1024 + below(18) : below(40);
	case 'V': return one_in(6) ? limit() : PICK(0, 1, 6, 17, 41, 270, 263);
	case 'X': return one_in(8) ? limit() : below(84);
	case 'q': return (uint64_t)threads[0].block + below(4) * 4 + (one_in(30) ? 1 : 0);
	case 'Q': return one_in(8) ? limit() : (below(14) | (one_in(2) ? 128 : 0) | (one_in(6) ? 256 : 0));
	case 'r': return arguments();
	case 'W': return one_in(3) ? flags() : WNOHANG | PICK(0, __WALL, __WCLONE, WUNTRACED, WEXITED, WEXITED | WNOWAIT, WEXITED | __WALL);
	case 'J': return polled();
	case 'j': return descriptor_set();
	case 'K': return one_in(6) ? limit() : PICK(0, 1, 10, 1000, -1, INT_MAX);
	case 'B': return one_in(3) ? event_of_signal() : 0;
	case 'Z': return an_action();
	case 'U': return information();
	case 'x': return one_in(6) ? limit() : below(90);
	case '0': return one_in(12) ? limit() : 0;
	case '1': return operations();
	case '2': return typed_message();
	case '3': return a_lock();
	case '4': return a_limit();
	case '5': return new_process();
	case '6': return how_to_open();
	case '7': return attributes();
	case '8': return capabilities();
	case '9': return attribute();
	case '+': return one_in(4) ? limit() : 1ULL << below(8);
	case '*': return one_in(4) ? limit() : (one_in(2) ? 0 : 1ULL << (8 + below(28))) | below(256);
	default: return limit();
	}
}

#define S(name, kinds, weight) {SYS_##name, #name, kinds, weight}
static const struct { int nr; const char *name, *kinds; int weight; } calls[] = {
	S(read, "fbn", 8), S(pread64, "fbnO", 4), S(readv, "fiv", 4), S(preadv, "fivO0", 3), S(preadv2, "fivO0F", 3), S(write, "fbn", 8), S(pwrite64, "fbnO", 4), S(writev, "fiv", 4), S(pwritev, "fivO0", 3), S(pwritev2, "fivO0F", 3),
	S(close, "f", 3), S(close_range, "nnF", 1), S(dup, "f", 2), S(dup2, "ff", 3), S(dup3, "ffo", 2), S(fcntl, "fNx", 8), S(ioctl, "fID", 8), S(pipe, "b", 2), S(pipe2, "bo", 2), S(tee, "ffnF", 3), S(vmsplice, "fivF", 3),
	S(splice, "fDfDnF", 4), S(sendfile, "ffDn", 4), S(copy_file_range, "fDfDn0", 3), S(eventfd, "x", 1), S(eventfd2, "xo", 1), S(poll, "JvK", 4), S(ppoll, "Jvtgz", 4), S(select, "xjjjt", 4), S(pselect6, "xjjjtb", 4),
	S(epoll_create, "x", 1), S(epoll_create1, "F", 1), S(epoll_ctl, "fEfe", 10), S(epoll_wait, "fbvK", 4), S(epoll_pwait, "fbvKgz", 3), S(epoll_pwait2, "fbvtgz", 3), S(futex, "qQxtqx", 12), S(set_robust_list, "bn", 1), S(get_robust_list, "hbL", 1),
	S(clock_gettime, "cb", 2), S(clock_settime, "ct", 1), S(clock_getres, "cb", 1), S(gettimeofday, "bb", 1), S(time, "b", 1), S(times, "b", 1), S(nanosleep, "tb", 2), S(clock_nanosleep, "cFtb", 3), S(getitimer, "wb", 2), S(setitimer, "wTb", 2),
	S(timer_create, "cBb", 3), S(timer_settime, "xFTb", 5), S(timer_gettime, "xb", 2), S(timer_getoverrun, "x", 1), S(timer_delete, "x", 1), S(timerfd_create, "cF", 2), S(timerfd_settime, "fFTb", 5), S(timerfd_gettime, "fb", 2),
	S(adjtimex, "b", 1), S(clock_adjtime, "cb", 1), S(sched_yield, "", 1), S(rt_sigaction, "SZbz", 2), S(rt_sigpending, "bz", 1), S(rt_sigsuspend, "gz", 1), S(rt_sigtimedwait, "gbtz", 3), S(rt_sigqueueinfo, "PSU", 2),
	S(rt_tgsigqueueinfo, "PhSU", 2), S(kill, "PS", 2), S(tkill, "hS", 2), S(tgkill, "PhS", 2), S(signalfd, "fgz", 1), S(signalfd4, "fgzF", 2), S(pause, "", 1), S(wait4, "PbWb", 4), S(waitid, "wPbWb", 4), S(pidfd_open, "PF", 2),
	S(pidfd_send_signal, "fSU0", 2), S(set_tid_address, "b", 1), S(execve, "prr", 1), S(execveat, "dprrF", 1),
	S(getpid, "", 1), S(getppid, "", 1), S(getuid, "", 1), S(getresuid, "bbb", 1), S(getresgid, "bbb", 1), S(setuid, "u", 1), S(setgid, "u", 1), S(setreuid, "uu", 1), S(setregid, "uu", 1), S(setresuid, "uuu", 1), S(setresgid, "uuu", 1),
	S(setfsuid, "u", 1), S(setfsgid, "u", 1), S(getgroups, "nb", 2), S(setgroups, "nb", 2), S(setpgid, "PP", 2), S(getpgid, "P", 1), S(getpgrp, "", 1), S(getsid, "P", 1), S(setsid, "", 1), S(uname, "b", 1), S(sethostname, "bn", 1), S(setdomainname, "bn", 1),
	S(sysinfo, "b", 1), S(getcpu, "bb", 1), S(getrandom, "bnF", 2), S(getrusage, "wb", 2), S(getrlimit, "kb", 2), S(setrlimit, "k4", 2), S(prlimit64, "Pk4b", 4), S(umask, "m", 1), S(prctl, "xxbbb", 4), S(capget, "8b", 1), S(capset, "8b", 1),
	S(sched_getaffinity, "hnb", 1), S(sched_setaffinity, "hnb", 1), S(sched_getscheduler, "h", 1), S(sched_setscheduler, "hxb", 1), S(sched_getparam, "hb", 1), S(sched_get_priority_max, "x", 1), S(sched_rr_get_interval, "hb", 1),
	S(sched_getattr, "hbn0", 1), S(sched_setattr, "h70", 2), S(getpriority, "wP", 2), S(setpriority, "wPx", 2), S(ioprio_get, "wP", 1), S(personality, "F", 1), S(membarrier, "FFx", 1),
	S(mmap, "aARGfO", 8), S(brk, "0", 1), S(mremap, "aAAFa", 4), S(mprotect, "aAR", 4), S(munmap, "aA", 4), S(arch_prctl, "xb", 1), S(pkey_alloc, "0F", 1), S(pkey_free, "x", 1), S(pkey_mprotect, "aARx", 2), S(madvise, "aAx", 4), S(msync, "aAF", 2),
	S(mincore, "aAb", 2), S(mlock, "aA", 1), S(munlock, "aA", 1),
	S(semget, "yxY", 3), S(semop, "y1v", 5), S(semtimedop, "y1vt", 5), S(semctl, "yxCb", 6), S(msgget, "yY", 3), S(msgsnd, "y2nF", 5), S(msgrcv, "ybnxF", 5), S(msgctl, "yCb", 4), S(shmget, "yAY", 3), S(shmat, "yaF", 3), S(shmdt, "a", 3), S(shmctl, "yCb", 4),
	S(socket, "xx0", 3), S(socketpair, "xx0b", 2), S(bind, "fsl", 5), S(listen, "fx", 4), S(accept, "fbL", 4), S(accept4, "fbLF", 4), S(connect, "fsl", 8), S(getsockname, "fbL", 2), S(getpeername, "fbL", 2), S(setsockopt, "fVXDn", 10),
	S(getsockopt, "fVXbL", 8), S(sendto, "fbnFsl", 8), S(recvfrom, "fbnFbL", 8), S(sendmsg, "fMF", 8), S(recvmsg, "fMF", 8), S(sendmmsg, "fHvF", 5), S(recvmmsg, "fHvFt", 5), S(shutdown, "fw", 2),
	S(open, "pom", 6), S(creat, "pm", 2), S(openat, "dpom", 8), S(openat2, "dp6n", 4), S(lseek, "fOw", 6), S(getdents64, "fbn", 4), S(getdents, "fbn", 3), S(stat, "pb", 2), S(lstat, "pb", 1), S(fstat, "fb", 3), S(newfstatat, "dpbF", 3),
	S(statx, "dpFFb", 3), S(access, "pm", 1), S(faccessat, "dpm", 1), S(faccessat2, "dpmF", 1), S(getcwd, "bn", 2), S(chdir, "p", 1), S(fchdir, "f", 1), S(chroot, "p", 0), S(mkdir, "pm", 3), S(mkdirat, "dpm", 2), S(mknod, "pmx", 2), S(mknodat, "dpmx", 2),
	S(rmdir, "p", 2), S(unlink, "p", 3), S(unlinkat, "dpF", 2), S(rename, "pp", 3), S(renameat, "dpdp", 2), S(renameat2, "dpdpF", 3), S(link, "pp", 2), S(linkat, "dpdpF", 2), S(symlink, "pp", 2), S(symlinkat, "pdp", 2), S(readlink, "pbn", 2),
	S(readlinkat, "dpbn", 2), S(chmod, "pm", 2), S(fchmod, "fm", 2), S(fchmodat, "dpm", 1), S(fchmodat2, "dpmF", 1), S(chown, "puu", 1), S(lchown, "puu", 1), S(fchown, "fuu", 2), S(fchownat, "dpuuF", 1), S(utimensat, "dpTF", 2), S(utimes, "pT", 1),
	S(futimesat, "dpT", 1), S(utime, "pT", 1), S(truncate, "pO", 4), S(ftruncate, "fO", 6), S(fallocate, "f+OO", 6), S(fsync, "f", 2), S(fdatasync, "f", 1), S(sync, "", 1), S(syncfs, "f", 1), S(sync_file_range, "fOOF", 1), S(fadvise64, "fOOx", 1),
	S(readahead, "fOn", 1), S(statfs, "pb", 1), S(fstatfs, "fb", 1), S(memfd_create, "pF", 2), S(flock, "fx", 3), S(inotify_init, "", 1), S(inotify_init1, "F", 1), S(inotify_add_watch, "fpF", 4), S(inotify_rm_watch, "fx", 2),
	S(setxattr, "p9bnF", 3), S(lsetxattr, "p9bnF", 1), S(fsetxattr, "f9bnF", 3), S(getxattr, "p9bn", 2), S(fgetxattr, "f9bn", 2), S(listxattr, "pbn", 2), S(flistxattr, "fbn", 2), S(removexattr, "p9", 1), S(fremovexattr, "f9", 1),
};

/* A new process ends by itself; what it shares with this one is left alone. */
static void forks(void) {
	uint64_t f = argument('*'), at = one_in(2) ? new_process() : 0, n = one_in(4) ? size() : 88;
	f &= ~NOT_SHARED, seen[at ? SYS_clone3 : SYS_clone].made++;
	long pid = at ? syscall(SYS_clone3, at, n) : syscall(SYS_clone, f, NULL, buffer(), buffer(), 0);
	if (pid == 0) {
		if (one_in(4)) nanosleep(&(struct timespec){0, 3000000}, NULL);
		if (one_in(4)) raise(one_in(2) ? SIGKILL : SIGSTOP);
		_exit(below(256));
	}
	if (pid > 0) {
		child_pids[below(8)] = pid, seen[at ? SYS_clone3 : SYS_clone].succeeded++;
		if (one_in(2)) syscall(SYS_wait4, pid, NULL, WNOHANG | __WALL, NULL);
		if (one_in(4)) kill(pid, SIGKILL);
	}
}

static void descriptors(void) {
	int p[2];
	umask(0), mkdir("dir", 0777), mkdir("dir/sub", 0777), symlink("file", "link"), symlink("nothere", "dangling"), symlink("loop", "loop"), mkfifo("fifo", 0666);
	int f = open("file", O_RDWR | O_CREAT, 0666);
	write(f, "some bytes", 10), open("file2", O_RDWR | O_CREAT | O_APPEND, 0666), open("dir", O_RDONLY | O_DIRECTORY), open(".", O_RDONLY | O_DIRECTORY), open("/proc/self/maps", O_RDONLY), open("/proc/self/mem", O_RDWR);
	open("/dev/zero", O_RDWR), open("/dev/null", O_RDWR), open("/dev/urandom", O_RDONLY), open("fifo", O_RDWR | O_NONBLOCK), open("file", O_PATH), open("/proc/self/fd", O_RDONLY);
	pipe(p), pipe2(p, O_NONBLOCK), pipe2(p, O_DIRECT), eventfd(3, EFD_NONBLOCK), eventfd(0, EFD_SEMAPHORE), epoll_create1(0), epoll_create1(0), timerfd_create(CLOCK_MONOTONIC, 0), timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK), inotify_init1(IN_NONBLOCK);
	sigset_t s;
	sigemptyset(&s), sigaddset(&s, SIGUSR2), signalfd(-1, &s, SFD_NONBLOCK);
	static const int families[] = {AF_UNIX, AF_INET, AF_INET6};
	for (int i = 0; i < 3; i++) socket(families[i], SOCK_STREAM, 0), socket(families[i], SOCK_STREAM | SOCK_NONBLOCK, 0), socket(families[i], SOCK_DGRAM, 0);
	socket(AF_UNIX, SOCK_SEQPACKET, 0), socket(AF_NETLINK, SOCK_RAW, 0);
	socketpair(AF_UNIX, SOCK_STREAM, 0, p), socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p), socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	bind(l, (void *)&a, n), listen(l, 2), getsockname(l, (void *)&a, &n), connect(c, (void *)&a, n), accept(l, NULL, NULL);
	int m = syscall(SYS_memfd_create, "m", 2);
	ftruncate(m, 8192);
	int sem = semget(1, 3, IPC_CREAT | 0600);
	(void)sem, msgget(1, IPC_CREAT | 0600), shmget(1, 8192, IPC_CREAT | 0600);
}

static void struck(int signo, siginfo_t *info, void *context) { /* by the processor, or by someone who sent the signal */
	if (info->si_code > 0) {
		char line[200];
		ucontext_t *u = context;
		int n = snprintf(line, sizeof line, "fault at %p ip %llx code %d block %p arena %p\n", info->si_addr, u->uc_mcontext.gregs[16], info->si_code, me->block, arena);
		write(2, line, n);
		signal(signo, SIG_DFL);
	}
}
static void handlers(void) { /* also of the two signals that libc keeps for itself */
	for (int i = 1; i < 65; i++) {
		int fault = i == SIGSEGV || i == SIGBUS || i == SIGILL || i == SIGFPE || i == SIGTRAP;
		struct { void *handler; uint64_t flags; void *restorer; uint64_t mask; } a = {handled, 0x04000000, restorer, 0};
		if (fault) a.handler = struck, a.flags |= SA_SIGINFO;
		syscall(SYS_rt_sigaction, i, &a, NULL, 8);
	}
}

static int total_weight;
static int drawn(void) {
	int w = below(total_weight);
	for (unsigned i = 0; i < COUNT(calls); i++) if ((w -= calls[i].weight) < 0) return i;
	return 0;
}

static void *works(void *of) {
	me = of;
	me->tid = tids[me->number] = syscall(SYS_gettid);
	for (int i = 0; i < me->calls; i++) {
		if (i % 64 == 0) {
			sigset_t s;
			sigemptyset(&s), sigaddset(&s, SIGUSR1), pthread_sigmask(SIG_UNBLOCK, &s, NULL);
			if (me == threads && i % 512 == 0) handlers(), syscall(SYS_close_range, MAX_FD, ~0U, 0), syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, (struct rlimit[]){{1024, 1 << 20}}, NULL);
			if (me == threads && i % 1024 == 0) descriptors();
		}
		if (one_in(60)) { forks(); continue; }
		int n = drawn();
		long v[6] = {0};
		for (int j = 0; calls[n].kinds[j]; j++) {
			v[j] = argument(calls[n].kinds[j]);
			if (one_in(40)) v[j] = limit();
			if (one_in(40)) v[j] |= (long)next() << 32; /* what a call takes as an int has no upper half */
		}
		int nr = calls[n].nr;
		if (nr == SYS_fcntl) { /* by the command */
			int c = v[1];
			if (c >= 5 && c <= 7 || c >= 36 && c <= 38) v[2] = a_lock();
			if (c == 8) v[2] = process();
			if (c == 10) v[2] = signal_number();
			if (c == 15 || c == 16) v[2] = with((int[]){below(4), process()}, 8);
			if (c == 1031) v[2] = size();
		}
		if (nr == SYS_pselect6 && one_in(2)) v[5] = with((uint64_t[]){signals(), 8}, 16);
		if (nr == SYS_setsockopt && one_in(3)) v[4] = PICK(4, 8, 16, 12, 20);
		if (nr == SYS_socket || nr == SYS_socketpair) { if (one_in(2)) v[0] = PICK(1, 2, 10, 16), v[1] = PICK(1, 2, 5, SOCK_STREAM | SOCK_NONBLOCK, SOCK_DGRAM | SOCK_CLOEXEC); }
		/* What would end the whole child is rare. */
		if ((nr == SYS_kill || nr == SYS_rt_sigqueueinfo) && (int)v[0] == parent) continue;
		if ((nr == SYS_kill || nr == SYS_rt_sigqueueinfo) && ((int)v[0] == -1 || (int)v[0] == 1)) continue;
		if ((nr == SYS_kill || nr == SYS_tkill || nr == SYS_tgkill || nr == SYS_rt_sigqueueinfo || nr == SYS_rt_tgsigqueueinfo || nr == SYS_pidfd_send_signal) && ((int)v[1] == SIGKILL || (int)v[1] == SIGSTOP)) continue;
		if ((nr == SYS_munmap || nr == SYS_mremap || nr == SYS_mprotect || nr == SYS_pkey_mprotect || nr == SYS_madvise || nr == SYS_mmap || nr == SYS_shmat) && ((unsigned long)v[0] - (unsigned long)arena >= ARENA_PAGES * PAGE || (unsigned long)v[1] > 64 * PAGE) && !one_in(60)) {
			if (nr == SYS_mmap) v[3] &= ~(long)(MAP_FIXED);
			else if (nr == SYS_shmat) v[2] &= ~040000L;
			else continue;
		}
		if (nr == SYS_mremap) v[3] &= ~(long)MREMAP_FIXED;
		if (nr == SYS_execve || nr == SYS_execveat) { if (!one_in(20)) v[0] = nr == SYS_execve ? bad_address() : v[0], v[1] = bad_address(); }
		if (nr == SYS_rt_sigaction && (int)v[0] == SIGUSR1) continue; /* which wakes it */
		if (nr == SYS_prctl && ((int)v[0] == 22)) continue; /* PR_SET_SECCOMP */
		if (nr == SYS_setrlimit || nr == SYS_prlimit64) { int k = nr == SYS_setrlimit ? v[0] : v[1]; if ((k == RLIMIT_AS || k == RLIMIT_DATA || k == RLIMIT_STACK || k == RLIMIT_CPU) && !one_in(20)) continue; }
		if (nr == SYS_write || nr == SYS_pwrite64 || nr == SYS_writev || nr == SYS_pwritev || nr == SYS_pwritev2) if ((int)v[0] >= 0 && (int)v[0] < 3) continue;
		if ((nr == SYS_dup2 || nr == SYS_dup3) && (unsigned)v[1] < 3) continue;
		if (nr == SYS_close && (unsigned)v[0] < 3 || nr == SYS_close_range && (unsigned)v[0] < 3) continue;
		__atomic_add_fetch(&seen[nr].made, 1, __ATOMIC_RELAXED);
		long r = syscall(nr, v[0], v[1], v[2], v[3], v[4], v[5]);
		if (r != -1) __atomic_add_fetch(&seen[nr].succeeded, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static char *block(void) {
	char *p = mmap(NULL, (BLOCK_PAGES + 2) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p + BLOCK_PAGES * PAGE, PAGE, PROT_READ), munmap(p + (BLOCK_PAGES + 1) * PAGE, PAGE);
	return p;
}

static void child(uint64_t seed, int n) {
	arena = mmap(NULL, 2 * ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < THREADS; i++) threads[i] = (struct thread){(seed * THREADS + i + 1) * 0x9e3779b97f4a7c15ULL | 1, i, n / THREADS, 0, block(), 0};
	pthread_t t[THREADS];
	handlers();
	for (int i = 1; i < THREADS; i++) pthread_create(&t[i], NULL, works, &threads[i]);
	works(&threads[0]);
	for (int i = 1; i < THREADS; i++) for (int k = 0; k < 200 && syscall(SYS_tgkill, getpid(), threads[i].tid, 0) == 0; k++) usleep(1000);
	_exit(42);
}

int main(int argc, char **argv) {
	uint64_t seed = strtoull(argv[1], NULL, 10);
	int children = atoi(argv[2]), n = atoi(argv[3]), ended[4] = {0};
	parent = getpid();
	umask(0);
	seen = mmap(NULL, MAX_NR * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tids = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < COUNT(calls); i++) total_weight += calls[i].weight;
	for (int i = 0; i < children; i++) {
		char dir[32];
		sprintf(dir, "c%d", i), mkdir(dir, 0777);
		for (int k = 0; k < THREADS; k++) tids[k] = 0;
		pid_t pid = fork();
		if (pid == 0) { setpgid(0, 0), chdir(dir), child(seed * 1000 + i, n); }
		int status = -1, over = 0;
		for (int t = 0; t < 3000 && !over; t++) { /* one thread after the other is woken from what it waits for */
			usleep(2000);
			if (tids[t % THREADS]) syscall(SYS_tgkill, pid, tids[t % THREADS], SIGUSR1);
			if (t % 16 == 0) kill(pid, SIGCONT);
			over = waitpid(pid, &status, WNOHANG) == pid;
		}
		if (!over) kill(pid, SIGKILL), waitpid(pid, &status, 0);
		kill(-pid, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) {}
		if (WIFSIGNALED(status)) printf("child %d was killed by signal %d\n", i, WTERMSIG(status));
		ended[!over ? 3 : WIFSIGNALED(status) ? 2 : WEXITSTATUS(status) == 42 ? 0 : 1]++;
	}
	uint64_t made = 0;
	int kinds = 0, never = 0;
	for (int i = 0; i < MAX_NR; i++) made += seen[i].made;
	printf("\ncalls %llu\n", (unsigned long long)made);
	for (unsigned i = 0; i < COUNT(calls); i++) if (calls[i].weight) {
		kinds++;
		if (seen[calls[i].nr].succeeded == 0) never++, printf("never succeeded: %s, %llu times\n", calls[i].name, (unsigned long long)seen[calls[i].nr].made);
	}
	printf("kinds %d, of which %d never succeeded\nchildren: %d came to their end, %d exited before, %d were killed by a signal, %d hung\ndone\n", kinds, never, ended[0], ended[1], ended[2], ended[3]);
	return 0;
}
