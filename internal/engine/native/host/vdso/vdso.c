/* The vDSO of a world: clock reads that never leave the process.
 *
 * Time comes from a page that the engine shares with all processes of a node. Only one thread of a world runs at
 * a time, so plain loads and stores are enough. Each read moves virtual time by read_cost_ns, so that loops which
 * poll a clock end. The layout of struct timepage is mirrored by TimePage in machine/vdso.go. */
typedef long i64;
typedef unsigned long u64;

struct timepage {
	i64 now_ns;       /* world time */
	u64 reads;        /* clock reads since the engine last looked */
	i64 real_ns;      /* CLOCK_REALTIME of this node at world time 0 */
	i64 mono_ns;      /* CLOCK_MONOTONIC of this node at world time 0 */
	i64 drift_ppb;    /* this node's clock runs so many parts in 10^9 fast */
	i64 read_cost_ns;
	u64 wall_reads;   /* how many of reads were of CLOCK_REALTIME */
};
struct timespec { i64 sec, nsec; };
struct timeval { i64 sec, usec; };

#define PAGE ((volatile struct timepage *)0x7ffffa010000UL)
#define NSEC 1000000000L

/* A thread that reads clocks and makes no system call makes one after so many reads: there others may run, and the
 * CPU time that it may use begins anew. The engine knows the number as host.MostReads. */
#define MOST_READS 65536

static inline long call2(long nr, long a, long b)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
}

static __attribute__((noinline, cold)) void come_up(void)
{
	struct timespec ts;
	call2(228, 1, (long)&ts); /* clock_gettime(CLOCK_MONOTONIC) */
}

static inline i64 elapsed(void)
{
	if (__builtin_expect(PAGE->reads >= MOST_READS, 0))
		come_up();
	i64 now = PAGE->now_ns + PAGE->read_cost_ns;
	PAGE->now_ns = now;
	PAGE->reads++;
	i64 drift = PAGE->drift_ppb;
	if (drift)
		now += now / NSEC * drift + now % NSEC * drift / NSEC;
	return now;
}

static inline i64 date(void)
{
	PAGE->wall_reads++;
	return PAGE->real_ns + elapsed();
}

int __vdso_clock_gettime(int clock, struct timespec *ts)
{
	i64 t;
	switch (clock) {
	case 0: case 5: case 11: /* REALTIME, REALTIME_COARSE, TAI */
		t = date();
		break;
	case 1: case 4: case 6: case 7: /* MONOTONIC, _RAW, _COARSE, BOOTTIME */
		t = PAGE->mono_ns + elapsed();
		break;
	default:
		return (int)call2(228, clock, (long)ts);
	}
	ts->sec = t / NSEC;
	ts->nsec = t % NSEC;
	return 0;
}

int __vdso_clock_getres(int clock, struct timespec *ts)
{
	return (int)call2(229, clock, (long)ts);
}

int __vdso_gettimeofday(struct timeval *tv, void *tz)
{
	if (tv) {
		i64 t = date();
		tv->sec = t / NSEC;
		tv->usec = t % NSEC / 1000;
	}
	if (tz)
		*(u64 *)tz = 0;
	return 0;
}

i64 __vdso_time(i64 *p)
{
	i64 t = date() / NSEC;
	if (p)
		*p = t;
	return t;
}

int __vdso_getcpu(unsigned *cpu, unsigned *node, void *unused)
{
	(void)unused;
	if (cpu)
		*cpu = 0;
	if (node)
		*node = 0;
	return 0;
}

int clock_gettime(int, struct timespec *) __attribute__((weak, alias("__vdso_clock_gettime")));
int clock_getres(int, struct timespec *) __attribute__((weak, alias("__vdso_clock_getres")));
int gettimeofday(struct timeval *, void *) __attribute__((weak, alias("__vdso_gettimeofday")));
i64 time(i64 *) __attribute__((weak, alias("__vdso_time")));
int getcpu(unsigned *, unsigned *, void *) __attribute__((weak, alias("__vdso_getcpu")));

/* Where the engine makes a process call the real kernel; its address is the symbol's. */
__asm__(".globl bloodhound_gadget\n.type bloodhound_gadget,@function\n"
	"bloodhound_gadget: syscall\n int3\n.size bloodhound_gadget,3\n");
