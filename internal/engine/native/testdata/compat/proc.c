// /proc and /dev as programs use them, identity, limits and settings of a process.
#include "compat.h"
#include <dirent.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

static char text[1 << 17];
static long slurp(const char *path) {
	int fd = open(path, O_RDONLY);
	if (fd < 0) return -1;
	long n = 0, r;
	while ((r = read(fd, text + n, sizeof text - 1 - n)) > 0) n += r;
	text[n] = 0;
	close(fd);
	return n;
}
static int line_is(const char *name, long value) {
	char want[64];
	char *p = strstr(text, name);
	if (!p) return 0;
	sprintf(want, "%ld", value);
	return atol(p + strlen(name)) == value;
}

static void self(void) {
	char b[4096];
	long n = readlink("/proc/self", b, sizeof b);
	IS(n > 0 && (b[n] = 0, atoi(b) == getpid()), "/proc/self");
	n = readlink("/proc/self/exe", b, sizeof b);
	IS(n > 0 && b[0] == '/' && (b[n] = 0, strstr(b, "proc")), "/proc/self/exe");
	char cwd[4096];
	n = readlink("/proc/self/cwd", b, sizeof b);
	IS(n > 0 && (b[n] = 0, getcwd(cwd, sizeof cwd) && !strcmp(b, cwd)), "/proc/self/cwd");
	n = readlink("/proc/self/root", b, sizeof b);
	say("/proc/self/root: %.*s", (int)n, b);
	IS(slurp("/proc/self/cmdline") > 0 && !strcmp(strrchr(text, '/') ? strrchr(text, '/') + 1 : text, "proc"), "/proc/self/cmdline");
	IS(slurp("/proc/self/comm") == 5, "/proc/self/comm");
	say("comm: %.4s", text);
	CALL(prctl(PR_SET_NAME, "a name that is far too long"), "PR_SET_NAME");
	CALL(prctl(PR_GET_NAME, b), "PR_GET_NAME");
	say("name: %s", b);
	slurp("/proc/self/comm");
	say("comm: %s", strtok(text, "\n"));
	setenv("COMPAT", "value", 1);
	IS(slurp("/proc/self/environ") > 0 && !strstr(text, "COMPAT"), "/proc/self/environ is as at the start");
	IS(slurp("/proc/self/stat") > 0, "/proc/self/stat");
	int pid, ppid, pgrp, session, threads;
	char state, name[32];
	IS(sscanf(text, "%d (%31[^)]) %c %d %d %d", &pid, name, &state, &ppid, &pgrp, &session) == 6, "its fields");
	IS(pid == getpid() && ppid == getppid() && pgrp == getpgrp() && session == getsid(0), "its ids");
	say("name %s, state %c", name, state);
	char *p = strrchr(text, ')');
	for (int i = 0; i < 18 && p; i++) p = strchr(p + 1, ' ');
	threads = p ? atoi(p) : -1;
	say("threads %d", threads);
	IS(slurp("/proc/self/statm") > 0 && atol(text) > 0, "/proc/self/statm");
	IS(slurp("/proc/self/status") > 0, "/proc/self/status");
	IS(line_is("\nPid:\t", getpid()) && line_is("\nPPid:\t", getppid()) && line_is("\nTgid:\t", getpid()), "its ids");
	IS(line_is("\nThreads:\t", 1) && line_is("\nUid:\t", getuid()) && line_is("\nGid:\t", getgid()), "threads and owner");
	IS(strstr(text, "\nVmRSS:\t") && strstr(text, "\nSigCgt:\t") && strstr(text, "State:\tR"), "more of it");
	IS(slurp("/proc/self/limits") > 0 && strstr(text, "Max open files"), "/proc/self/limits");
	IS(slurp("/proc/self/io") >= 0 || errno == EACCES || errno == ENOENT, "/proc/self/io");
	IS(slurp("/proc/self/cgroup") >= 0, "/proc/self/cgroup");
	IS(slurp("/proc/self/mountinfo") > 0 && strstr(text, " / "), "/proc/self/mountinfo");
	IS(slurp("/proc/self/mounts") > 0, "/proc/self/mounts");
	IS(slurp("/proc/self/oom_score_adj") > 0, "/proc/self/oom_score_adj");
	IS(slurp("/proc/self/auxv") > 0, "/proc/self/auxv");
	CALL(open("/proc/self/missing", O_RDONLY), "what is not there");
	CALL(open("/proc/3999999/stat", O_RDONLY), "a process that is not there");
	CALL(mkdir("/proc/x", 0700), "mkdir in /proc");
}

static void maps(void) {
	static int data = 1;
	int local;
	void *heap = malloc(10);
	slurp("/proc/self/maps");
	int in_stack = 0, in_heap = 0, in_data = 0, in_code = 0, sorted = 1;
	unsigned long last = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long from, to;
		char rights[8], name[200] = "";
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %199s", &from, &to, rights, name) < 3) continue;
		sorted &= from >= last && to > from, last = to;
#define HAS(p) ((unsigned long)(p) >= from && (unsigned long)(p) < to)
		if (HAS(&local)) in_stack = !strcmp(name, "[stack]") && !strncmp(rights, "rw-p", 4);
		if (HAS(heap)) in_heap = !strcmp(name, "[heap]");
		if (HAS(&data)) in_data = rights[1] == 'w';
		if (HAS(maps)) in_code = rights[2] == 'x' && strstr(name, "proc");
	}
	IS(sorted, "sorted");
	IS(in_stack, "[stack]");
	IS(in_heap, "[heap]");
	IS(in_data, "data");
	IS(in_code, "code");
	IS(slurp("/proc/self/smaps") > 0 && strstr(text, "Rss:"), "/proc/self/smaps");
	free(heap);
}

static void memory(void) {
	static int data = 1;
	int fd = open("/proc/self/mem", O_RDWR);
	if (fd < 0) {
		say("skip: no /proc/self/mem");
		return;
	}
	int seen = 0, put = 77;
	CALL(pread(fd, &seen, sizeof seen, (long)&data), "read the own memory");
	say("%d", seen);
	CALL(pwrite(fd, &put, sizeof put, (long)&data), "write it");
	say("%d", *(volatile int *)&data);
	close(fd);
}

static void *idle(void *arg) {
	prctl(PR_SET_NAME, "worker");
	*(volatile pid_t *)arg = syscall(SYS_gettid);
	for (;;) pause();
}
static int entries(const char *path) {
	DIR *d = opendir(path);
	int n = 0;
	for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
	if (d) closedir(d);
	return n;
}
static void tasks(void) {
	pid_t tid = 0;
	pthread_t t;
	char path[64], b[100];
	say("threads: %d", entries("/proc/self/task"));
	pthread_create(&t, NULL, idle, &tid);
	while (!*(volatile pid_t *)&tid) nap(1);
	asleep(tid);
	say("threads: %d", entries("/proc/self/task"));
	snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)tid);
	slurp(path);
	say("comm: %s", strtok(text, "\n"));
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)getpid(), (int)tid);
	slurp(path);
	IS(atoi(text) == tid && strstr(text, "(worker) S"), "stat of a thread that sleeps");
	slurp("/proc/thread-self/stat");
	IS(atoi(text) == getpid(), "/proc/thread-self");
	pthread_cancel(t), pthread_join(t, NULL);
	int before = entries("/proc/self/fd"), fd = MUST(open("/dev/null", O_RDWR));
	IS(entries("/proc/self/fd") == before + 1, "one more descriptor");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	long n = readlink(path, b, sizeof b);
	say("it is %.*s", (int)n, b);
	int p[2];
	MUST(pipe(p));
	snprintf(path, sizeof path, "/proc/self/fd/%d", p[0]);
	n = readlink(path, b, sizeof b);
	IS(n > 6 && !strncmp(b, "pipe:[", 6), "a pipe");
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	IS(slurp(path) > 0 && !strncmp(text, "pos:\t0\n", 7) && strstr(text, "flags:\t"), "fdinfo");
	MUST(write(p[1], "through", 7));
	snprintf(path, sizeof path, "/proc/self/fd/%d", p[0]);
	int again = OK(open(path, O_RDONLY), "open a pipe through /proc");
	CALL(read(again, b, 7), "read");
	pid_t child = fork();
	if (child == 0)
		for (;;) pause();
	snprintf(path, sizeof path, "/proc/%d/status", (int)child);
	asleep(child);
	IS(slurp(path) > 0 && line_is("\nPPid:\t", getpid()) && strstr(text, "State:\tS"), "a child that sleeps");
	kill(child, SIGSTOP);
	waitpid(child, NULL, WUNTRACED);
	IS(slurp(path) > 0 && strstr(text, "State:\tT"), "a child that is stopped");
	kill(child, SIGKILL);
	siginfo_t i;
	waitid(P_PID, child, &i, WEXITED | WNOWAIT);
	IS(slurp(path) > 0 && strstr(text, "State:\tZ"), "a zombie");
	waitpid(child, NULL, 0);
	IS(slurp(path) < 0, "gone");
}

static void machine(void) {
	static const char *const path[] = {"/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/version", "/proc/filesystems",
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max", "/proc/sys/net/core/somaxconn", "/proc/sys/vm/overcommit_memory",
		"/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/random/uuid", "/proc/net/tcp", "/proc/net/unix", "/sys/devices/system/cpu/online",
		"/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/etc/passwd"};
	for (unsigned i = 0; i < COUNT(path); i++) IS(slurp(path[i]) > 0 || i >= 14, "%s can be read", path[i]);
	slurp("/proc/meminfo");
	IS(strstr(text, "MemTotal:") && strstr(text, "MemAvailable:"), "meminfo");
	struct utsname u;
	CALL(uname(&u), "uname");
	say("%s %s", u.sysname, u.machine);
	char host[100];
	CALL(gethostname(host, sizeof host), "gethostname");
	IS(!strcmp(host, u.nodename), "the same name");
	slurp("/proc/sys/kernel/hostname");
	IS(!strcmp(strtok(text, "\n"), host), "and in /proc");
	slurp("/proc/sys/kernel/osrelease");
	IS(!strcmp(strtok(text, "\n"), u.release), "the release too");
	struct sysinfo s;
	CALL(sysinfo(&s), "sysinfo");
	IS(s.totalram > 0 && s.freeram <= s.totalram && s.uptime >= 0 && s.procs > 0, "its numbers");
	IS(sysconf(_SC_NPROCESSORS_ONLN) >= 1 && sysconf(_SC_PAGESIZE) == 4096 && sysconf(_SC_CLK_TCK) == 100, "sysconf");
}

static void devices(void) {
	char b[64];
	int null = MUST(open("/dev/null", O_RDWR)), zero = MUST(open("/dev/zero", O_RDWR)), full = MUST(open("/dev/full", O_RDWR)), random = MUST(open("/dev/urandom", O_RDWR));
	CALL(read(null, b, 10), "read /dev/null");
	CALL(write(null, b, 10), "write /dev/null");
	CALL(lseek(null, 100, SEEK_SET), "lseek /dev/null");
	CALL(write(null, NULL, 10), "from a bad address");
	memset(b, 1, sizeof b);
	CALL(read(zero, b, 10), "read /dev/zero");
	IS(b[0] == 0 && b[9] == 0 && b[10] == 1, "zeros");
	CALL(write(zero, b, 10), "write /dev/zero");
	CALL(read(full, b, 10), "read /dev/full");
	CALL(write(full, b, 10), "write /dev/full");
	CALL(read(random, b, sizeof b), "read /dev/urandom");
	int same = 1;
	for (unsigned i = 1; i < sizeof b; i++) same &= b[i] == b[0];
	IS(!same, "not all bytes are equal");
	CALL(write(random, b, 10), "write /dev/urandom");
	POLL(null, "/dev/null");
	POLL(random, "/dev/urandom");
	CALL(ftruncate(null, 0), "ftruncate /dev/null");
	CALL(fsync(null), "fsync /dev/null");
	OK(open("/dev/null", O_RDWR | O_CREAT | O_TRUNC, 0600), "open /dev/null with CREAT and TRUNC");
	OK(open("/dev/random", O_RDONLY), "/dev/random");
	IS(access("/dev/shm", W_OK) == 0, "/dev/shm can be written");
	IS(access("/dev/fd/0", F_OK) == 0 || errno == ENOENT, "/dev/fd");
	uint64_t r[2] = {0, 0};
	CALL(getrandom(r, sizeof r, 0), "getrandom");
	IS(r[0] != r[1], "random");
	CALL(getrandom(r, sizeof r, GRND_NONBLOCK | GRND_RANDOM), "getrandom with flags");
	CALL(getrandom(r, sizeof r, 0x80), "a bad flag");
	CALL(getrandom((void *)8, 8, 0), "a bad address");
	CALL(getrandom(r, 0, 0), "0 bytes");
	CALL(getrandom(text, 1000, 0), "1000 bytes");
}

// Memory as a file: positions are addresses.
static void mem(void) {
	static char cell[4] = "old", constant[8192] __attribute__((aligned(4096))) = "constant";
	char b[8192] = "", path[64];
	int fd = OK(open("/proc/self/mem", O_RDWR), "open");
	CALL(pread(fd, b, 4, (intptr_t)cell), "read");
	say("%s", b);
	CALL(pwrite(fd, "new", 4, (intptr_t)cell), "write");
	say("%s", cell);
	IS(lseek(fd, (intptr_t)cell, SEEK_SET) == (intptr_t)cell, "seek");
	CALL(read(fd, b, 2), "read on");
	IS(lseek(fd, 0, SEEK_CUR) == (intptr_t)cell + 2, "the position");
	CALL(write(fd, "X", 2), "write on");
	say("%s", cell);
	CALL(lseek(fd, 0, SEEK_END), "seek from its end");
	CALL(lseek(fd, 0, SEEK_DATA), "seek for data");
	CALL(pread(fd, b, 4, 0), "read address 0");
	CALL(pread(fd, b, 4, 8), "read address 8");
	CALL(pwrite(fd, b, 4, 8), "write address 8");
	CALL(pread(fd, b, 0, 8), "read nothing");
	CALL(pread(fd, (void *)8, 4, (intptr_t)cell), "into a bad address");
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(munmap(map + 4096, 4096));
	CALL(pread(fd, b, 8192, (intptr_t)map), "read up to a hole");
	CALL(pwrite(fd, b, 8192, (intptr_t)map), "write up to a hole");
	MUST(mprotect(constant, 4096, PROT_READ));
	CALL(pread(fd, b, 9, (intptr_t)constant), "read what is read-only");
	say("%s", b);
	struct iovec v[2] = {{b, 2}, {b + 10, 2}};
	CALL(preadv(fd, v, 2, (intptr_t)constant), "preadv");
	say("%.2s%.2s", b, b + 10);
	int ro = MUST(open("/proc/self/mem", O_RDONLY)), wo = MUST(open("/proc/self/mem", O_WRONLY));
	CALL(pwrite(ro, "x", 1, (intptr_t)cell), "write without the right");
	CALL(pread(wo, b, 1, (intptr_t)cell), "read without the right");
	POLL(fd, "poll");
	struct stat s;
	MUST(fstat(fd, &s));
	say("mode %o, size %ld", s.st_mode, (long)s.st_size);
	int p[2];
	MUST(pipe(p));
	pid_t child = fork();
	if (child == 0) {
		strcpy(cell, "kid");
		write(p[1], "x", 1);
		for (;;) pause();
	}
	MUST(read(p[0], b, 1));
	snprintf(path, sizeof path, "/proc/%d/mem", child);
	int other = OK(open(path, O_RDWR), "a child's memory");
	CALL(pread(other, b, 4, (intptr_t)cell), "read");
	say("%s", b);
	CALL(pwrite(other, "ours", 4, (intptr_t)cell), "write");
	say("%s here", cell);
	CALL(pread(other, b, 4, (intptr_t)cell), "read again");
	say("%.4s there", b);
	kill(child, SIGKILL), waitpid(child, NULL, 0);
	CALL(pread(other, b, 4, (intptr_t)cell), "read when it is gone");
	CALL(pwrite(other, b, 4, (intptr_t)cell), "write when it is gone");
}

static void mem_of_a_stranger(void) {
	char path[64];
	if (geteuid() != 0) {
		say("skip: only root has a stranger");
		return;
	}
	IN_CHILD("somebody else's memory") {
		snprintf(path, sizeof path, "/proc/%d/mem", getppid());
		unprivileged();
		CALL(open(path, O_RDONLY), "open");
	}
}

CASES(C(self), C(maps), C(memory), C(tasks), C(machine), C(devices), C(mem), C(mem_of_a_stranger))
