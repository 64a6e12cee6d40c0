/* Ways to the host's time. Each prints the seconds since 1970 that it has found, as time: N; the test knows better. */
#include "escape.h"
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/times.h>
#include <setjmp.h>
#include <elf.h>

static int says(long seconds) { printf("time: %ld\n", seconds); return 0; }
static sigjmp_buf back;
static void broke(int signo) { siglongjmp(back, 1); }

static int calls(void) {
	struct timespec t; struct timeval v;
	for (int c = 0; c < 16; c++) if (syscall(SYS_clock_gettime, c, &t) == 0 && t.tv_sec > 1000000) says(t.tv_sec);
	if (syscall(SYS_gettimeofday, &v, NULL) == 0) says(v.tv_sec);
	return says(syscall(SYS_time, NULL));
}
static int library(void) { struct timeval v; gettimeofday(&v, NULL); says(v.tv_sec); return says(time(NULL)); }
/* The kernel's own vDSO: any other image with its symbols that is mapped. */
static int other_vdso(void) {
	char line[300], prot[8], list[100][300];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && n < 100 && fgets(list[n], 300, f)) n++;
	signal(SIGSEGV, broke), signal(SIGBUS, broke);
	for (int i = 0; i < n; i++) {
		unsigned long from, to;
		if (sscanf(list[i], "%lx-%lx %7s", &from, &to, prot) != 3 || prot[0] != 'r' || sigsetjmp(back, 1)) continue;
		if (memcmp((void *)from, "\x7f" "ELF", 4) || from == getauxval(AT_SYSINFO_EHDR)) continue;
		printf("image: %s", list[i]);
	}
	return 0;
}
static int vdso_called(unsigned long base) { /* calls clock_gettime of an image */
	Elf64_Ehdr *e = (void *)base;
	Elf64_Phdr *p = (void *)(base + e->e_phoff);
	Elf64_Dyn *d = NULL;
	unsigned long bias = base;
	for (int i = 0; i < e->e_phnum; i++) { if (p[i].p_type == PT_LOAD) bias = base - p[i].p_vaddr + p[i].p_offset; if (p[i].p_type == PT_DYNAMIC) d = (void *)(base + p[i].p_offset); }
	Elf64_Sym *sym = NULL; char *str = NULL; unsigned count = 0;
	for (; d && d->d_tag; d++) {
		if (d->d_tag == DT_SYMTAB) sym = (void *)(d->d_un.d_ptr + bias);
		if (d->d_tag == DT_STRTAB) str = (void *)(d->d_un.d_ptr + bias);
		if (d->d_tag == DT_HASH) count = ((unsigned *)(d->d_un.d_ptr + bias))[1];
	}
	for (unsigned i = 0; sym && i < (count ? count : 16); i++)
		if (strstr(str + sym[i].st_name, "clock_gettime")) {
			struct timespec t = {0};
			((int (*)(int, struct timespec *))(sym[i].st_value + bias))(0, &t);
			says(t.tv_sec);
		}
	return 0;
}
static int all_images(void) { /* page by page, where the kernel puts it */
	signal(SIGSEGV, broke), signal(SIGBUS, broke), signal(SIGILL, broke);
	for (volatile unsigned long at = 0x7ffff7fff000; at > 0x7ffff7800000; at -= 4096) {
		if (sigsetjmp(back, 1)) continue;
		if (memcmp((void *)at, "\x7f" "ELF", 4) == 0) { printf("image at %lx\n", at); vdso_called(at); }
	}
	return 0;
}
static int mapped_again(void) {
	signal(SIGSEGV, broke), signal(SIGBUS, broke);
	for (int op = 0x2001; op <= 0x2003; op++) { long r = syscall(SYS_arch_prctl, op, 0x200000000000); printf("arch_prctl %x: %ld\n", op, r); if (r > 0 && !sigsetjmp(back, 1)) vdso_called(0x200000000000); }
	return 0;
}
static int vsyscall(void) {
	signal(SIGSEGV, broke);
	struct timeval v = {0};
	if (!sigsetjmp(back, 1)) { ((int (*)(struct timeval *, void *))0xffffffffff600000)(&v, NULL); says(v.tv_sec); }
	if (!sigsetjmp(back, 1)) says(((long (*)(long *))0xffffffffff600400)(NULL));
	return 0;
}
static int files(void) {
	static const char *const names[] = {"/proc/uptime", "/proc/stat", "/proc/driver/rtc", "/proc/timer_list", "/proc/sched_debug", "/proc/self/stat", "/proc/self/sched", "/proc/self/schedstat", "/proc/loadavg", "/sys/class/rtc/rtc0/since_epoch", "/proc/pressure/cpu", "/proc/interrupts"};
	for (int i = 0; i < 12; i++) { show_file(names[i]); char b[64] = ""; int fd = open(names[i], O_RDONLY); if (fd >= 0 && read(fd, b, 63) > 0 && atol(b) > 1000000000) says(atol(b)); }
	return open("/dev/rtc", O_RDONLY) >= 0 || open("/dev/rtc0", O_RDONLY) >= 0 || open("/dev/ptp0", O_RDONLY) >= 0;
}
static int stamps(void) { /* times of files that are made now, and of the host's own */
	struct stat s;
	int fd = open("new", O_RDWR | O_CREAT, 0600);
	write(fd, "x", 1);
	fstat(fd, &s), says(s.st_mtime), says(s.st_ctime), says(s.st_atime);
	if (stat("/escape", &s) == 0) says(s.st_mtime), says(s.st_ctime), says(s.st_atime);
	if (stat("/proc/self", &s) == 0) says(s.st_mtime);
	if (stat("/", &s) == 0) says(s.st_mtime), says(s.st_ctime), says(s.st_atime);
	uint32_t x[64] = {0};
	if (syscall(SYS_statx, AT_FDCWD, "/escape", 0, 0xfff, x) == 0) says(*(int64_t *)(x + 20));
	return 0;
}
static int counters(void) { /* the CPU time of work that is the same in each run */
	struct rusage u; struct timespec t; struct tms m;
	for (volatile int i = 0; i < 3000000; i++);
	getrusage(RUSAGE_SELF, &u), clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), times(&m);
	printf("used %ld.%06ld %ld.%09ld %ld, faults %ld, switches %ld\n", u.ru_utime.tv_sec, u.ru_utime.tv_usec, t.tv_sec, t.tv_nsec, m.tms_utime, u.ru_minflt, u.ru_nivcsw);
	return 0;
}
static int timestamps(void) { /* ticks of the processor between two calls of the same kind */
	unsigned lo, hi, aux;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	uint64_t a = (uint64_t)hi << 32 | lo;
	for (volatile int i = 0; i < 1000000; i++);
	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(aux));
	printf("ticks %llu, processor %u\n", (unsigned long long)(((uint64_t)hi << 32 | lo) - a), aux);
	return 0;
}
static int counters_allowed(void) { signal(SIGSEGV, broke), signal(SIGILL, broke); if (sigsetjmp(back, 1)) return 0; unsigned lo, hi; __asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(0)); return 1; }
static int trap_lifted(void) { /* whatever PR_SET_TSC answers, the ticks between two reads are not the processor's */
	unsigned lo, hi;
	syscall(SYS_prctl, 26, 1);
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	uint64_t a = (uint64_t)hi << 32 | lo;
	for (volatile int i = 0; i < 1000000; i++);
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return ((uint64_t)hi << 32 | lo) - a > 10000;
}
static int adjusted(void) { struct timex x = {0}; if (adjtimex(&x) >= 0) says(x.time.tv_sec); memset(&x, 0, sizeof x); if (syscall(SYS_clock_adjtime, 0, &x) >= 0) says(x.time.tv_sec); return 0; }
static int system_info(void) { struct sysinfo s; sysinfo(&s); printf("up %ld, load %lu\n", s.uptime, s.loads[0]); return 0; }
static int ids(void) { printf("pid %d, parent %d, thread %ld\n", getpid(), getppid(), syscall(SYS_gettid)); return 0; }

PROBES({"calls", calls}, {"library", library}, {"other images", other_vdso}, {"the kernel's vDSO", all_images}, {"the vDSO mapped again", mapped_again}, {"vsyscall", vsyscall},
	{"files", files}, {"times of files", stamps}, {"CPU time", counters}, {"ticks", timestamps}, {"performance counters", counters_allowed}, {"trap lifted", trap_lifted},
	{"adjusted clocks", adjusted}, {"sysinfo", system_info}, {"ids", ids})
