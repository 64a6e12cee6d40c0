// Leak: how busy and how large the machine is.
#include "leak.h"
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

int main(void) {
	static const char *const path[] = {"/proc/meminfo", "/proc/loadavg", "/proc/stat", "/proc/uptime", "/proc/vmstat", "/proc/diskstats", "/proc/interrupts",
		"/proc/net/dev", "/proc/net/tcp", "/proc/net/sockstat", "/proc/self/statm", "/proc/self/status", "/proc/self/io", "/proc/self/sched",
		"/proc/self/schedstat", "/proc/self/stat", "/proc/self/mountinfo", "/proc/self/cgroup", "/proc/pressure/cpu", "/sys/fs/cgroup/memory.current",
		"/proc/version", "/proc/cmdline", "/proc/sys/kernel/random/entropy_avail"};
	static char b[1 << 18];
	for (unsigned i = 0; i < sizeof path / sizeof *path; i++) {
		long n = slurp(path[i], b, sizeof b);
		show("%s %ld %lx\n", path[i], n, n > 0 ? hash(b, n) : 0);
	}
	struct sysinfo s;
	struct statvfs v;
	struct rusage u;
	memset(&s, 0, sizeof s), memset(&v, 0, sizeof v);
	sysinfo(&s), statvfs(".", &v), getrusage(RUSAGE_SELF, &u);
	show("sysinfo %ld %lu %lu %lu %d\n", s.uptime, s.loads[0], s.totalram, s.freeram, s.procs);
	show("statvfs %lu %lu %lu %lx\n", (unsigned long)v.f_blocks, (unsigned long)v.f_bfree, (unsigned long)v.f_ffree, v.f_fsid);
	show("rusage %ld.%06ld %ld %ld %ld %ld\n", (long)u.ru_utime.tv_sec, (long)u.ru_utime.tv_usec, u.ru_maxrss, u.ru_minflt, u.ru_nvcsw, u.ru_nivcsw);
	return 0;
}
