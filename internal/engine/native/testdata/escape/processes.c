/* Ways to processes of the host, to its network, and out of the end of the world. */
#include "escape.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static int kills(void) { return kill(VICTIM, SIGKILL) == 0; }
static int kills_group(void) { return kill(-VICTIM, SIGKILL) == 0; }
static int kills_all(void) { kill(-1, SIGUSR1); return 0; }
static int kills_range(void) { /* whoever has a number that is not of this node */
	for (int pid = 200; pid < 33000; pid += 7) if (kill(pid, 0) == 0 && pid != getpid() && pid != getppid()) { printf("pid %d\n", pid); return 1; }
	return 0;
}
static int kills_thread(void) { return syscall(SYS_tkill, VICTIM, SIGKILL) == 0 || syscall(SYS_tgkill, VICTIM, VICTIM, SIGKILL) == 0; }
static int queues_signal(void) { siginfo_t i = {.si_code = SI_QUEUE}; return syscall(SYS_rt_sigqueueinfo, VICTIM, SIGKILL, &i) == 0 || sigqueue(VICTIM, SIGKILL, (union sigval){0}) == 0; }
static int by_pidfd(void) { int fd = syscall(SYS_pidfd_open, VICTIM, 0); return fd >= 0 && (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0 || syscall(SYS_pidfd_getfd, fd, 0, 0) >= 0); }
static int by_owner(void) { int fd = open("f", O_RDWR | O_CREAT, 0600); fcntl(fd, F_SETOWN, VICTIM); fcntl(fd, F_SETSIG, SIGKILL); fcntl(fd, F_SETFL, O_ASYNC); write(fd, "x", 1); return 0; }
static int by_timer(void) { struct sigevent e = {.sigev_notify = 4, .sigev_signo = SIGKILL}; e._sigev_un._tid = VICTIM; timer_t t; return timer_create(CLOCK_MONOTONIC, &e, &t) == 0; }
static int traces(void) { return ptrace(PTRACE_ATTACH, VICTIM, 0, 0) == 0 || ptrace(0x4206, VICTIM, 0, 0) == 0; }
static int is_traced(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0) == 0; }
static int memory_of(void) { char b[16]; struct iovec l = {b, 16}, r = {(void *)0x400000, 16}; return syscall(SYS_process_vm_readv, VICTIM, &l, 1, &r, 1, 0) > 0 || syscall(SYS_process_vm_writev, VICTIM, &l, 1, &r, 1, 0) > 0; }
static int compares(void) { return syscall(SYS_kcmp, getpid(), VICTIM, 0, 0, 0) >= 0; }
static int priorities(void) { struct rlimit l; cpu_set_t s; return setpriority(PRIO_PROCESS, VICTIM, 19) == 0 || syscall(SYS_prlimit64, VICTIM, RLIMIT_NOFILE, NULL, &l) == 0 || sched_getaffinity(VICTIM, sizeof s, &s) == 0; }
static int ioprio(void) { return getpgid(VICTIM) >= 0 || getsid(VICTIM) >= 0; }
static int advises(void) { struct iovec v = {(void *)0x400000, 4096}; return syscall(440, syscall(SYS_pidfd_open, VICTIM, 0), &v, 1, 4, 0) >= 0 || syscall(448, VICTIM, 0) == 0; }
static int namespaces(void) { return unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNET) == 0 || setns(open("/proc/1/ns/net", O_RDONLY), 0) == 0; }
static int clones(void) { return syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0) >= 0; }
static int clones_untraced(void) {
	pid_t c = syscall(SYS_clone, CLONE_UNTRACED | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (c == 0) { kill(VICTIM, SIGKILL); open(witness("by-untraced"), O_RDWR | O_CREAT, 0600); _exit(0); }
	return 0;
}
static int survives(void) { /* a daemon that ignores everything: the world's end must be its own, too */
	if (fork() == 0) { setsid(); for (int s = 1; s < 65; s++) signal(s, SIG_IGN); prctl(PR_SET_PDEATHSIG, 0); prctl(PR_SET_DUMPABLE, 0); if (fork()) _exit(0); for (;;) pause(); }
	return 0;
}
static int machine(void) { return syscall(SYS_reboot, 0xfee1dead, 672274793, 0x1234567, NULL) == 0 || syscall(SYS_init_module, "", 0, "") == 0 || syscall(SYS_kexec_load, 0, 0, NULL, 0) == 0 || syscall(SYS_syslog, 3, (char[64]){0}, 0) >= 0; }
static int kernel_features(void) { char a[128] = {0}; return syscall(SYS_bpf, 0, a, sizeof a) >= 0 || syscall(SYS_perf_event_open, a, 0, -1, -1, 0) >= 0 || syscall(SYS_add_key, "user", "x", "y", 1, -3) >= 0 || syscall(SYS_keyctl, 0, -3, 1) >= 0; }
static int clock_of_host(void) { struct timespec t = {1, 0}; struct timeval v = {1, 0}; char x[256] = {0, 1 /* ADJ_SETOFFSET */}; return syscall(SYS_clock_settime, CLOCK_REALTIME, &t) == 0 && 0 || settimeofday(&v, NULL) == 0 || syscall(SYS_adjtimex, x) >= 0; }
static int names(void) { char n[64] = "escaped"; syscall(SYS_sethostname, n, 7); return syscall(SYS_setdomainname, n, 7) == 0 && 0; }
static int personality_of(void) { return syscall(SYS_personality, 0x0040000 | 8) < 0 && 0; }
static int segments(void) { char d[16] = {0}; return syscall(SYS_modify_ldt, 1, d, 16) == 0 || syscall(SYS_iopl, 3) == 0 || syscall(SYS_ioperm, 0x80, 1, 1) == 0; }

static int tcp(const char *host) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(TCP_PORT)};
	inet_pton(AF_INET, host, &a.sin_addr);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int r = connect(s, (void *)&a, sizeof a);
	usleep(100000);
	int e = 0; socklen_t n = sizeof e;
	getsockopt(s, SOL_SOCKET, SO_ERROR, &e, &n);
	struct sockaddr_in peer; n = sizeof peer;
	return getpeername(s, (void *)&peer, &n) == 0;
}
static int tcp_loopback(void) { return tcp("127.0.0.1") | tcp("0.0.0.0") | tcp("127.1.2.3"); }
static int tcp_elsewhere(void) { return tcp("10.0.0.1") | tcp("169.254.169.254") | tcp("172.17.0.1") | tcp("192.168.0.1") | tcp("8.8.8.8"); }
static int udp(void) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(UDP_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	sendto(socket(AF_INET, SOCK_DGRAM, 0), "out", 3, 0, (void *)&a, sizeof a);
	a.sin_addr.s_addr = htonl(0x08080808), a.sin_port = htons(53);
	sendto(socket(AF_INET, SOCK_DGRAM, 0), "out", 3, 0, (void *)&a, sizeof a);
	return 0;
}
static int unix_path(void) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strcpy(a.sun_path, UNIX_PATH);
	int r = connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a);
	strcpy(a.sun_path + 1, UNIX_PATH), a.sun_path[0] = 0;
	return r == 0 || connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof(sa_family_t) + 1 + strlen(UNIX_PATH)) == 0;
}
static int raw(void) { return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0 || socket(AF_PACKET, SOCK_RAW, htons(3)) >= 0 || socket(AF_INET, SOCK_RAW, IPPROTO_RAW) >= 0; }
static int families(void) { /* vsock reaches the hypervisor, alg the host's kernel */
	static const int all[] = {40 /* vsock */, 38 /* alg */, 15 /* key */, 29 /* can */, 31 /* bluetooth */, 30 /* tipc */, 21 /* rds */, 44 /* xdp */, 35 /* phonet */, 17 /* packet */};
	for (int i = 0; i < 10; i++) for (int type = 1; type < 6; type++) if (socket(all[i], type, 0) >= 0) { printf("family %d type %d\n", all[i], type); return 1; }
	return 0;
}
static int interfaces(void) { struct ifreq r = {.ifr_name = "eth0"}; int s = socket(AF_INET, SOCK_DGRAM, 0); if (ioctl(s, SIOCGIFHWADDR, &r) == 0) show("address", r.ifr_hwaddr.sa_data, 6); r.ifr_flags = 0; return ioctl(s, SIOCSIFFLAGS, &r) == 0 && 0; }
static int binds(void) { /* a port of ours is no port of the host: its own listener is not in the way */
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(TCP_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return bind(socket(AF_INET, SOCK_STREAM, 0), (void *)&a, sizeof a) != 0;
}
static int devices(void) { struct ifreq r = {.ifr_name = "tun0"}; int fd = open("/dev/net/tun", O_RDWR); return fd >= 0 && ioctl(fd, 0x400454ca, &r) == 0; }
static int terminal(void) { int fd = open("/dev/tty", O_RDWR); char c = 'x'; return fd >= 0 || ioctl(0, 0x5412, &c) == 0 || ioctl(1, 0x5412, &c) == 0; } /* TIOCSTI */

PROBES({"kill", kills}, {"kill a group", kills_group}, {"kill all", kills_all}, {"look for others", kills_range}, {"kill a thread", kills_thread}, {"queue a signal", queues_signal}, {"by a pidfd", by_pidfd},
	{"by an owner of I/O", by_owner}, {"by a timer", by_timer}, {"ptrace", traces}, {"traced by its parent", is_traced}, {"memory of others", memory_of}, {"kcmp", compares},
	{"priorities and limits", priorities}, {"groups and sessions", ioprio}, {"process_madvise", advises}, {"namespaces", namespaces}, {"clone into namespaces", clones},
	{"clone untraced", clones_untraced}, {"daemon", survives}, {"the machine", machine}, {"bpf, perf, keys", kernel_features}, {"the host's clock", clock_of_host},
	{"names of the machine", names}, {"personality", personality_of}, {"segments and ports", segments}, {"TCP to the host", tcp_loopback}, {"TCP elsewhere", tcp_elsewhere},
	{"UDP", udp}, {"unix sockets", unix_path}, {"raw sockets", raw}, {"other families", families}, {"interfaces", interfaces}, {"ports are the node's", binds}, {"tun", devices}, {"terminal", terminal})
