/* The instrumentation library of Antithesis, as a world has it: /usr/lib/libvoidstar.so. It needs no other library, so
 * that it serves programs of any C library.
 *
 * What SDKs say goes to the file to which they write where there is no such library. Edges are bits in this process' memory,
 * which the engine reads before that goes: one costs no system call and no event. A module of edges is announced to the engine
 * once, as it registers: see struct module, which kernel.Announced mirrors. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

#define PUBLIC __attribute__((visibility("default")))
#define MOST (1UL << 24) /* edges of a process; kernel.MostEdges */
#define NAME 4096

static u8 ran[MOST / 8];
static u64 next;

struct module {
	u64 ran;    /* address of the bits */
	u64 first;  /* number of the bit of the module's edge 0, or MOST if there was no room */
	u64 count;
	u64 guards; /* address of the first guard, or 0 */
	u64 caller; /* an address in the module's code */
	char name[NAME];
};
struct part { const void *at; u64 size; };

static long call(long nr, long a, long b, long c)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

static void tell(const char *path, struct part *parts, long n)
{
	long fd = call(2, (long)path, 02000000 | 02000 | 1, 0); /* open(O_CLOEXEC | O_APPEND | O_WRONLY) */
	if (fd < 0)
		return;
	call(20, fd, (long)parts, n); /* writev */
	call(3, fd, 0, 0);            /* close */
}

/* Numbers are given without a lock: the threads of a world run one at a time, and the loader runs constructors in turn. */
static u64 announce(u64 count, u64 numbers, const void *guards, const char *name, void *caller)
{
	struct module m;
	u64 n = 0;
	m.ran = (u64)ran;
	m.first = numbers <= MOST - next ? next : MOST;
	m.count = count;
	m.guards = (u64)guards;
	m.caller = (u64)caller;
	for (; n < NAME && name[n]; n++)
		m.name[n] = name[n];
	if (m.first != MOST)
		next += numbers;
	struct part p = { &m, 40 + n };
	tell("/dev/bloodhound/edges", &p, 1);
	return m.first;
}

PUBLIC void fuzz_json_data(const char *data, u64 size)
{
	struct part p[2] = { { data, size }, { "\n", 1 } };
	tell("/dev/bloodhound/sdk.jsonl", p, 2);
}

PUBLIC void fuzz_flush(void)
{
}

PUBLIC u64 fuzz_get_random(void)
{
	u64 v = 0;
	call(318, (long)&v, 8, 0);
	return v;
}

/* Modules number their edges from 0 or from 1. */
PUBLIC u64 init_coverage_module(u64 count, const char *symbols)
{
	if (count >= MOST)
		count = MOST;
	return announce(count, count + 1, 0, symbols ? symbols : "", __builtin_return_address(0));
}

static inline void mark(u64 edge)
{
	if (edge < MOST)
		ran[edge / 8] |= 1 << edge % 8;
}

/* The answer says whether the edge should be told again. */
PUBLIC _Bool notify_coverage(u64 edge)
{
	mark(edge);
	return 0;
}

PUBLIC void __sanitizer_cov_trace_pc_guard_init(u32 *start, u32 *stop)
{
	if (start == stop || *start)
		return;
	u64 n = stop - start, first = announce(n, n, start, "", __builtin_return_address(0));
	for (u64 i = 0; i < n; i++)
		start[i] = first == MOST ? 0 : first + i + 1;
}

PUBLIC void __sanitizer_cov_trace_pc_guard(u32 *guard)
{
	u32 edge = *guard;
	if (!edge)
		return;
	*guard = 0;
	mark(edge - 1);
}
