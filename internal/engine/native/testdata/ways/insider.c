// Ways: what someone tries who has read the engine's code: values that are not on the tape, and a look at what the engine has changed.
#include "../leaks/leak.h"
#include <setjmp.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <ucontext.h>

typedef unsigned long (*function)(void *target);
#define RX (PROT_READ | PROT_EXEC)
#define RW (PROT_READ | PROT_WRITE)
#define PAGE 4096

static sigjmp_buf back;
static void broke(int signo) { siglongjmp(back, signo); }
static void guard(void) {
	for (int i = 0, all[] = {SIGILL, SIGSEGV, SIGBUS, SIGTRAP, SIGSYS, SIGFPE}; i < 6; i++) signal(all[i], broke);
}
/* try calls a function that may end by a signal. */
static void try(const char *what, function f, void *target) {
	int signo = sigsetjmp(back, 1);
	if (signo) show("%s: signal %d\n", what, signo);
	else show("%s: %lx\n", what, f(target));
}

/* Instructions with more prefixes than they need, in functions that the file lists. */
#define LISTED(name, code) \
	__asm__(".text\n.type " #name ", @function\n" #name ": xor %eax, %eax\n" code "\nret\n.size " #name ", . - " #name "\n"); \
	extern unsigned long name(void *);
LISTED(rdrand_dead_rex, ".byte 0x48, 0x66, 0x0f, 0xc7, 0xf0")
LISTED(rdrand_two_rex, ".byte 0x40, 0x48, 0x0f, 0xc7, 0xf0")
LISTED(rdrand_segments, ".byte 0x2e, 0x36, 0x3e, 0x26, 0x2e, 0x36, 0x3e, 0x26, 0x48, 0x0f, 0xc7, 0xf0")
LISTED(rdrand_longest, ".byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x48, 0x0f, 0xc7, 0xf0")
LISTED(rdseed_dead_rex, ".byte 0x4f, 0x2e, 0x48, 0x0f, 0xc7, 0xf8")
LISTED(rdpid_segment, ".byte 0xf3, 0x2e, 0x0f, 0xc7, 0xf8")
LISTED(rdpid_far, ".byte 0xf3, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x0f, 0xc7, 0xf8")
LISTED(rdpid_dead_rex, ".byte 0xf3, 0x48, 0x2e, 0x0f, 0xc7, 0xf8")
LISTED(rdpid_both, ".byte 0xf2, 0xf3, 0x26, 0x0f, 0xc7, 0xf8")
LISTED(xgetbv_rex, "push $1\npop %rcx\n.byte 0x2e, 0x48, 0x40, 0x0f, 0x01, 0xd0")
LISTED(lsl_rex, "mov $0x7b, %ecx\n.byte 0x48, 0x2e, 0x66, 0x0f, 0x03, 0xc1")
LISTED(cpuid_rex, "push %rbx\nmov $1, %eax\n.byte 0x48, 0xf3, 0x2e, 0x0f, 0xa2\nmov %ebx, %eax\nshr $24, %eax\npop %rbx")

static void prefixes(void) {
	guard();
	try("rdrand with a dead REX", rdrand_dead_rex, 0), try("rdrand with two REX", rdrand_two_rex, 0);
	try("rdrand with segments", rdrand_segments, 0), try("the longest rdrand", rdrand_longest, 0);
	try("rdseed with a dead REX", rdseed_dead_rex, 0);
}
static void prefixes_of_rdpid(void) {
	guard();
	try("with a segment", rdpid_segment, 0), try("far away", rdpid_far, 0), try("with a dead REX", rdpid_dead_rex, 0), try("with both", rdpid_both, 0);
}
static void prefixes_of_others(void) {
	guard();
	try("xgetbv", xgetbv_rex, 0), try("lsl", lsl_rex, 0), try("cpuid", cpuid_rex, 0);
}
__attribute__((noinline)) static unsigned long x87_rex(void *unused) { /* dead prefixes of FNSTENV */
	unsigned env[7] = {0};
	__asm__ volatile("fld1\nfstp %%st\n" : : : "st");
	for (volatile int i = 0; i < 3000000; i++) ;
	__asm__ volatile(".byte 0x48, 0x2e, 0xd9, 0x30" : : "a"(env) : "memory");
	return env[3] != 0 | env[5] != 0;
}
static void prefixes_of_x87(void) { show("%lx\n", x87_rex(0)); }

/* made maps code that was made as the program runs. */
static function made(const void *code, size_t n) {
	unsigned char *p = mmap(0, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 0x90, PAGE);
	memcpy(p + 128, code, n);
	p[128 + n] = 0xc3;
	mprotect(p, PAGE, RX);
	return (function)p;
}
#define MADE(name, code) static void name(void) { show("%lx\n", made(code, sizeof code - 1)(0)); }
MADE(made_segment, "\x2e\x48\x0f\xc7\xf0")
MADE(made_dead_rex, "\x48\x66\x0f\xc7\xf0")
MADE(made_longest, "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x48\x0f\xc7\xf0")
MADE(made_rdpid, "\xf3\x2e\x2e\x2e\x2e\x2e\x48\x0f\xc7\xf8")

/* Pages of the program's file that list no functions: nothing proves there what is an instruction. */
#define ODD(name, code) \
	__asm__(".section .odd, \"ax\", @progbits\n.balign 4096\n" #name "_page: .skip 256, 0x90\n" #name ": " code "\n" \
		".byte 0xc3, 0xe8\n" #name "_hidden: rdrand %rax\nret\n.skip 64, 0x90\nret\n.balign 4096\n.text\n"); \
	extern unsigned long name(void *); extern char name##_page[], name##_hidden[];
#define HIDDEN(name) name##_hidden
ODD(plain, "jmp *%rdi")
ODD(after_call, "mov $110, %eax\nsyscall\njmp *%rdi")
ODD(after_passed_call, "mov $131, %eax\nmov %rdi, %rbx\nxor %edi, %edi\nxor %esi, %esi\nsyscall\njmp *%rbx")
ODD(after_popf, "pushf\npopf\njmp *%rdi")
ODD(after_fork, "push %rdi\nmov $57, %eax\nsyscall\npop %rdi\njmp *%rdi")
ODD(after_trap, "int3\njmp *%rdi")
ODD(protected, "jmp *%rdi")
ODD(rewritten, "jmp *%rdi")
ODD(signalled, "mov $39, %eax\nsyscall\nud2\njmp *%rdi")

static void in_plain(void) { show("%lx\n", plain(HIDDEN(plain))); }
static void in_after_call(void) { show("%lx\n", after_call(HIDDEN(after_call))); }
static void in_after_passed_call(void) { show("%lx\n", after_passed_call(HIDDEN(after_passed_call))); }
static void in_after_popf(void) { show("%lx\n", after_popf(HIDDEN(after_popf))); }
static void in_after_fork(void) {
	pid_t me = getpid();
	unsigned long v = after_fork(HIDDEN(after_fork));
	if (getpid() == me) wait(0);
	show("%s: %lx\n", getpid() == me ? "parent" : "child", v);
}
static void skip(int signo, siginfo_t *info, void *context) {
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	if (signo == SIGILL) r[REG_RIP] += 2;
	show("%d %d, error %lx, trap %lx, fault %lx\n", signo, info->si_code, (long)r[REG_ERR], (long)r[REG_TRAPNO], (long)r[REG_CR2]);
}
static void in_after_trap(void) {
	struct sigaction a = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
	sigaction(SIGTRAP, &a, 0);
	show("%d\n", after_trap(HIDDEN(after_trap)) != 0);
}
static void in_signalled(void) {
	struct sigaction a = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
	sigaction(SIGILL, &a, 0);
	show("%d\n", signalled(HIDDEN(signalled)) != 0);
}
static void in_protected(void) {
	show("%d\n", mprotect(protected_page, PAGE, RX));
	show("%lx\n", protected(HIDDEN(protected)));
}
static void in_rewritten(void) {
	mprotect(rewritten_page, PAGE, RW), rewritten_page[0] = 0x90, mprotect(rewritten_page, PAGE, RX);
	show("%lx\n", rewritten(HIDDEN(rewritten)));
}
/* Code that is executed in other ways than the engine steps through it. */
ODD(vforked, "mov %rdi, %rbx\nmov $58, %eax\nsyscall\ntest %eax, %eax\njnz 2f\njmp *%rbx\n2: jmp *%rbx")
ODD(flags, "pushf\npop %rax\nand $0x100, %eax\npush %rax\nmov $39, %eax\nsyscall\npop %rax\nor %r11, %rax\nand $0x100, %eax\nret")
ODD(traced, "pushf\norq $0x100, (%rsp)\npopf\nnop\nnop\nnop\nnop\npushf\nandq $~0x100, (%rsp)\npopf\nxor %eax, %eax\nret")
ODD(shown, "jmp *%rdi")
ODD(advised, "jmp *%rdi")
ODD(raised, "mov $39, %eax\nsyscall\nmov %eax, %edi\nmov $10, %esi\nmov $62, %eax\nsyscall\n3: jmp 3b")
ODD(divided, "xor %edx, %edx\nxor %ecx, %ecx\ndiv %ecx\nret")

static function in_page;
static void *others(void *hidden) { show("thread %lx\n", in_page(hidden)); return 0; }
static void by_threads(void) { /* several threads switch inside one page that is watched */
	pthread_t t[4];
	in_page = after_call;
	for (int i = 0; i < 4; i++) pthread_create(t + i, 0, others, after_call_hidden);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
static void by_vfork(void) {
	pid_t me = getpid();
	unsigned long v = vforked(HIDDEN(vforked));
	if (getpid() != me) { show("child %lx\n", v); _exit(0); }
	show("parent %lx\n", v);
}
static void in_flags(void) { show("%lx %lx\n", flags(0), flags(0)); }
static volatile int traps;
static void count(int signo) { traps++; }
static void in_traced(void) { signal(SIGTRAP, count), traced(0), show("%d traps\n", traps); }
static void leave(int signo, siginfo_t *i, void *context) {
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (long)raised_hidden;
	show("signal %d\n", signo);
}
static void in_raised(void) {
	struct sigaction a = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO};
	sigaction(SIGUSR1, &a, 0);
	show("%lx\n", raised(0));
}
static void over_division(int signo, siginfo_t *info, void *context) {
	skip(signo, info, context);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (long)divided_hidden;
}
static void in_divided(void) {
	struct sigaction a = {.sa_sigaction = over_division, .sa_flags = SA_SIGINFO};
	sigaction(SIGFPE, &a, 0);
	show("%d\n", divided(0) != 0);
}
static void in_shown(void) { /* maps look as the program has made them */
	char line[600];
	for (int turn = 0; turn < 3; turn++) {
		FILE *f = fopen("/proc/self/maps", "r");
		while (fgets(line, sizeof line, f)) {
			unsigned long from, to;
			char prot[5];
			sscanf(line, "%lx-%lx %4s", &from, &to, prot);
			if (from < (unsigned long)shown_page + PAGE && to > (unsigned long)shown_page) show("%s %lx\n", prot, turn == 1 ? to - from : 0);
		}
		fclose(f);
		if (turn == 0) mprotect(shown_page, PAGE, PROT_READ);
		if (turn == 1) mprotect(shown_page, PAGE, RX);
	}
	guard();
	show("%d %d\n", mprotect(shown_page, PAGE, PROT_READ), msync(shown_page, PAGE, MS_ASYNC));
	try("without permission", shown, shown_hidden);
}
LISTED(rdrand_plain, ".balign 4096\nrdrand %rax")
static void advices(void) { /* what drops the engine's own pages */
	char *page = (char *)((unsigned long)rdrand_plain + 4095 & -4096);
	for (int i = 0; i < 120; i++) {
		if (i == MADV_HWPOISON || i == 101 || i == MADV_DONTFORK) continue;
		if (!madvise(page, PAGE, i)) show("%d ", i);
		madvise(advised_page, PAGE, i);
		if (i == 102) madvise(page, PAGE, 103), madvise(advised_page, PAGE, 103);
	}
	struct iovec v = {page, PAGE};
	int fd = syscall(SYS_pidfd_open, getpid(), 0);
	show("%ld %d\n", syscall(440, fd, &v, 1, MADV_DONTNEED, 0), errno);
	show("%lx %lx\n", rdrand_plain(0), advised(advised_hidden));
}
static void own_memory(void) { /* the original byte written over the engine's */
	unsigned char b[1] = {0x48}, *at = (unsigned char *)((unsigned long)rdrand_plain + 4095 & -4096);
	struct iovec from = {b, 1}, to = {at, 1};
	int fd = open("/proc/self/mem", O_RDWR), status;
	show("mem %zd %d\n", pwrite(fd, b, 1, (off_t)at), errno);
	show("vm %ld %d\n", syscall(SYS_process_vm_writev, getpid(), &from, 1, &to, 1, 0), errno);
	pid_t child = fork();
	if (!child) { ptrace(PTRACE_TRACEME, 0, 0, 0); pause(); _exit(0); }
	show("ptrace %ld %d\n", ptrace(PTRACE_ATTACH, child, 0, 0), errno);
	show("poke %ld\n", ptrace(PTRACE_POKETEXT, child, at, 0x48));
	kill(child, SIGKILL), waitpid(child, &status, 0);
	show("%lx\n", rdrand_plain(0));
}
static void restored(void) { /* by a child that shares the memory, which leaves it so */
	unsigned char *at = (unsigned char *)((unsigned long)rdrand_plain + 4095 & -4096);
	if (!vfork()) {
		mprotect(at, PAGE, RX | PROT_WRITE);
		at[0] = 0x48;
		mprotect(at, PAGE, RX);
		_exit(0);
	}
	show("%lx\n", rdrand_plain(0));
}
static void executed_memory(void) { /* a program in memory, from a descriptor */
	char b[65536];
	int n, in = open("/proc/self/exe", O_RDONLY), out = memfd_create("again", 0);
	while ((n = read(in, b, sizeof b)) > 0) write(out, b, n);
	char *argv[] = {"again", "prefixes of rdrand", 0};
	fexecve(out, argv, environ);
}
static void kernels_page(void) { /* [vsyscall] */
	unsigned cpu = 9, node = 9;
	struct timeval tv;
	long t = ((long (*)(long *))0xffffffffff600400)(0);
	((int (*)(struct timeval *, void *))0xffffffffff600000)(&tv, 0);
	((int (*)(unsigned *, unsigned *, void *))0xffffffffff600800)(&cpu, &node, 0);
	show("%ld %ld.%06ld %u %u\n", t, tv.tv_sec, tv.tv_usec, cpu, node);
}
#define RUN(name, code) static unsigned long name(void *unused) { unsigned long a = 0, d = 0, c = 0; __asm__ volatile(code : "+a"(a), "+d"(d), "+c"(c) : : "memory", "cc"); return a ^ d << 32 ^ c << 48; }
RUN(rdpmc, "rdpmc") RUN(rdpru, ".byte 0x0f, 0x01, 0xfd") RUN(rdpru_1, "mov $1, %%ecx\n.byte 0x0f, 0x01, 0xfd") RUN(rdtsc_66, ".byte 0x66, 0x0f, 0x31") RUN(rdtsc_rep, ".byte 0xf3, 0x48, 0x0f, 0x31")
RUN(rdtscp_2e, ".byte 0x2e, 0x0f, 0x01, 0xf9") RUN(vmcall, ".byte 0x0f, 0x01, 0xc1") RUN(vmmcall, ".byte 0x0f, 0x01, 0xd9") RUN(rdpkru, ".byte 0x0f, 0x01, 0xee") RUN(xtest, ".byte 0x0f, 0x01, 0xd6")
RUN(mwaitx, "push %%rbx\nmov $0, %%ebx\nmonitorx\nmov $2, %%ecx\nmov $1000, %%ebx\nxor %%eax, %%eax\nmwaitx\npop %%rbx\nxor %%eax, %%eax\nxor %%ecx, %%ecx") RUN(rdmsr, "rdmsr") RUN(in, "in $0x71, %%al")
RUN(vmware, "mov $0x564d5868, %%eax\nmov $10, %%ecx\nmov $0x5658, %%edx\nin %%dx, %%eax") RUN(hlt, "hlt") RUN(xgetbv_2, "mov $2, %%ecx\nxgetbv") RUN(clzero, "lea -256(%%rsp), %%rax\nclzero\nxor %%eax, %%eax")
RUN(uintr, ".byte 0xf3, 0x0f, 0x01, 0xed") RUN(rdssp, "xor %%eax, %%eax\n.byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8") RUN(enclu, ".byte 0x0f, 0x01, 0xd7") RUN(lar, "mov $0x7b, %%ecx\nlar %%ecx, %%eax")
static void other_instructions(void) {
	static const struct { const char *name; function f; } all[] = {{"rdpmc", rdpmc}, {"rdpru", rdpru}, {"rdpru 1", rdpru_1}, {"vmcall", vmcall}, {"vmmcall", vmmcall}, {"rdpkru", rdpkru},
		{"xtest", xtest}, {"mwaitx", mwaitx}, {"rdmsr", rdmsr}, {"in", in}, {"vmware", vmware}, {"hlt", hlt}, {"xgetbv 2", xgetbv_2}, {"clzero", clzero}, {"uintr", uintr}, {"rdssp", rdssp}, {"enclu", enclu}, {"lar", lar}};
	guard();
	for (int i = 0; i < sizeof all / sizeof *all; i++) try(all[i].name, all[i].f, 0);
}
static void clocks(void) {
	guard();
	show("%d %d\n", prctl(PR_SET_TSC, PR_TSC_ENABLE), errno);
	show("%ld %d\n", syscall(SYS_arch_prctl, 0x1012, 1), errno);
	try("66 rdtsc", rdtsc_66, 0), try("rep rdtsc", rdtsc_rep, 0), try("cs rdtscp", rdtscp_2e, 0);
	show("%ld %d\n", syscall(334, malloc(64), 32, 0, 0x53053053), errno); /* rseq */
}
static void old_calls(void) { /* the entries of other ABIs */
	guard();
	int signo = sigsetjmp(back, 1);
	long r = 0;
	if (signo) show("int 0x80: signal %d\n", signo);
	else { __asm__ volatile("int $0x80" : "=a"(r) : "a"(13L), "b"(0L) : "memory", "r8", "r9", "r10", "r11"); show("int 0x80: %ld\n", r); }
	if ((signo = sigsetjmp(back, 1))) show("sysenter: signal %d\n", signo);
	else { __asm__ volatile("mov %%rsp, %%rbp\nsysenter" : "=a"(r) : "a"(13L), "b"(0L) : "memory"); show("sysenter: %ld\n", r); }
	show("x32 %ld %d\n", syscall(0x40000000 | 201, 0), errno);
}
static void personalities(void) { /* memory that is executable although no call says so */
	show("%d\n", personality(READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE | 0x4000000));
	unsigned char *p = mmap(0, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, "\x48\x0f\xc7\xf0\xc3", 5);
	guard();
	try("data", (function)p, 0);
	memset(p, 0, PAGE);
}
/* Code of 32 bits, which cannot be stepped through as that of 64 is. */
__asm__(".section .odd, \"ax\", @progbits\n.balign 4096\nshort_page: mov %rsp, %r15\nlea 4000(%rdi), %rsp\npush $0x23\nlea short_code - short_page(%rsi), %rax\npush %rax\nlretq\n"
	".byte 0xe8\nshort_code: .byte 0x0f, 0xc7, 0xf0, 0x6a, 0x33, 0xe8, 0, 0, 0, 0, 0x83, 0x04, 0x24, 0x05, 0xcb\nmov %r15, %rsp\nret\n.balign 4096\n.text\n");
static void short_way(void) {
	extern char short_page[], __executable_start;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *low = mmap(0, PAGE, RX, MAP_PRIVATE | MAP_32BIT, fd, short_page - &__executable_start), *stack = mmap(0, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	unsigned long v;
	__asm__ volatile("push %%rbp\npush %%rbx\ncall *%3\npop %%rbx\npop %%rbp" : "=a"(v) : "D"(stack), "S"(low), "r"(low) : "memory", "cc", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
	show("%lx\n", v & 0xffffffff);
}
static unsigned long sum(const void *from, size_t n) { return hash(from, n); }
static void checksum(void) { /* of pages that are watched */
	for (int i = 0; i < 2; i++) show("%lx %lx\n", sum(plain_page, PAGE), sum(after_call_page, PAGE)), plain(plain_hidden - 2);
}
static void checksum_by_call(void) { /* of all of the code, as the kernel reads it */
	extern char __executable_start, etext;
	static unsigned char b[PAGE];
	unsigned long h = 0;
	int pipes[2], fd = open("/proc/self/mem", O_RDONLY);
	pipe(pipes);
	for (char *p = (char *)((unsigned long)prefixes & -4096); p < &etext; p += PAGE) {
		int n = &etext - p < PAGE ? &etext - p : PAGE;
		write(pipes[1], p, n), read(pipes[0], b, n), h = h * 31 + hash(b, n);
		pread(fd, b, n, (off_t)p), h = h * 31 + hash(b, n);
		struct iovec from = {p, n}, to = {b, n};
		if (syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) == n) h = h * 31 + hash(b, n);
		else h = h * 31 + hash(b, n);
	}
	show("%lx\n", h);
}

/* What does harm: work without end for the engine, its memory, processes that stay. */
static void put(unsigned char *p, unsigned long v, int n) { for (; n--; v >>= 8) *p++ = v; }
/* program writes a file whose code looks like an instruction of chance again and again, with a symbol of a function without an end at each. */
static int program(const char *name, long count, long apart) {
	long text = count * apart, symbols = (count + 1) * 24, size = PAGE + text + symbols + PAGE;
	unsigned char *f = calloc(1, size), *h = f + PAGE + text + symbols;
	memcpy(f, "\177ELF\2\1\1", 7);
	put(f + 16, 3, 2), put(f + 18, 62, 2), put(f + 20, 1, 4), put(f + 24, PAGE, 8), put(f + 32, 64, 8), put(f + 40, h - f, 8), put(f + 52, 64, 2), put(f + 54, 56, 2), put(f + 56, 1, 2), put(f + 58, 64, 2), put(f + 60, 4, 2), put(f + 62, 3, 2);
	put(f + 64, 1, 4), put(f + 68, 5, 4), put(f + 72, PAGE, 8), put(f + 80, PAGE, 8), put(f + 96, text, 8), put(f + 104, text, 8), put(f + 112, PAGE, 8);
	for (long i = 0; i < count; i++) {
		memcpy(f + PAGE + apart * i, "\x0f\xc7\xf0\x90\x90\x90\x90\x90", 8);
		unsigned char *s = f + PAGE + text + 24 * (i + 1);
		put(s + 4, apart == PAGE ? 0x10 : 0x12, 1), put(s + 6, 1, 2), put(s + 8, PAGE + apart * i, 8);
	}
	unsigned char *s = h + 64; /* .text, .symtab, .strtab */
	put(s, 1, 4), put(s + 4, 1, 4), put(s + 8, 6, 8), put(s + 16, PAGE, 8), put(s + 24, PAGE, 8), put(s + 32, text, 8), put(s + 48, 16, 8);
	s += 64, put(s, 7, 4), put(s + 4, 2, 4), put(s + 24, PAGE + text, 8), put(s + 32, symbols, 8), put(s + 40, 3, 4), put(s + 44, 1, 4), put(s + 48, 8, 8), put(s + 56, 24, 8);
	s += 64, put(s, 15, 4), put(s + 4, 3, 4), put(s + 24, h + 512 - f, 8), put(s + 32, 64, 8), put(s + 48, 1, 8);
	memcpy(h + 512, "\0.text\0.symtab\0.strtab", 24);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0700);
	for (long n = 0, r; n < size; n += r) if ((r = write(fd, f + n, size - n)) <= 0) _exit(3);
	return fd;
}
static void loose_entries(void) {
	int fd = program("loose", 50000, 8);
	show("%d\n", mmap(0, 50000 * 8, RX, MAP_PRIVATE, fd, PAGE) == MAP_FAILED);
}
static void many_pages(void) { /* more pages to watch than the engine watches */
	int fd = program("odd", 1100, PAGE);
	show("%d\n", mmap(0, 1100 * PAGE, RX, MAP_PRIVATE, fd, PAGE) == MAP_FAILED);
}
static void large_buffers(void) { /* all of which the engine would copy */
	size_t size = 1UL << 31;
	char *zeros = mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int null = open("/dev/null", O_RDWR), mem = open("/proc/self/mem", O_RDWR), pipes[2], sockets[2];
	pipe2(pipes, O_NONBLOCK), socketpair(1, 2, 0, sockets);
	struct iovec v[64];
	for (int i = 0; i < 64; i++) v[i] = (struct iovec){zeros, size / 64};
	show("%zd\n", write(null, zeros, size - PAGE));
	show("%zd\n", writev(null, v, 63));
	show("%zd\n", pread(mem, zeros, size - PAGE, (off_t)zeros));
	show("%zd\n", pwrite(mem, zeros, size - PAGE, (off_t)zeros));
	show("%zd\n", write(pipes[1], zeros, size - PAGE));
	show("%zd\n", sendto(sockets[0], zeros, size - PAGE, MSG_DONTWAIT, 0, 0));
	show("%d\n", setsockopt(sockets[0], 1, 7, zeros, size - PAGE));
	show("%ld\n", syscall(SYS_getrandom, zeros, size - PAGE, 0));
}
static void untraced(void) { /* children that are not to be traced, or not ours */
	static const unsigned long flags[] = {0x00800000, 0x00002000, 0x00008000, 0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x02000000, 0x80000000, 0x00000080, 0x00800000 | 0x8000};
	for (int i = 0; i < sizeof flags / sizeof *flags; i++) {
		long r = syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0);
		if (!r) { setsid(); for (;;) pause(); }
		show("%lx: %d\n", flags[i], r > 0);
	}
	if (!fork()) { setsid(); if (!fork()) { prctl(PR_SET_PDEATHSIG, 0); for (;;) pause(); } _exit(0); }
}
static void queues(void) { /* what the engine keeps for a process */
	union sigval v = {0};
	sigset_t all;
	sigfillset(&all), sigprocmask(SIG_BLOCK, &all, 0);
	long n = 0, m = 0, k = 0;
	int fd = open("locks", O_RDWR | O_CREAT, 0600);
	for (; n < 2000 && !sigqueue(getpid(), SIGRTMIN + n % 20, v); n++) ;
	for (; m < 1000; m++) {
		struct flock l = {F_WRLCK, SEEK_SET, 2 * m, 1};
		if (fcntl(fd, F_SETLK, &l)) break;
	}
	for (timer_t t; k < 1000 && !timer_create(CLOCK_MONOTONIC, 0, &t); k++) ;
	show("%ld %ld %ld\n", n, m, k);
}
static void many_maps(void) { /* each of which costs a look at all others */
	int fd = open("/proc/self/exe", O_RDONLY);
	long n = 0;
	for (; n < 300 && mmap(0, PAGE, n % 2 ? RX : PROT_READ, MAP_PRIVATE, fd, PAGE) != MAP_FAILED; n++) ;
	show("%ld\n", n);
}

int main(int argc, char **argv) {
	static const struct { const char *name; void (*run)(void); } ways[] = {
		{"prefixes of rdrand", prefixes},
		{"prefixes of rdpid", prefixes_of_rdpid},
		{"prefixes of others", prefixes_of_others},
		{"prefixes of fnstenv", prefixes_of_x87},
		{"made behind a segment", made_segment},
		{"made behind a dead REX", made_dead_rex},
		{"made as long as can be", made_longest},
		{"made rdpid", made_rdpid},
		{"watched", in_plain},
		{"after a call", in_after_call},
		{"after a passed call", in_after_passed_call},
		{"after popf", in_after_popf},
		{"after a fork", in_after_fork},
		{"after int3", in_after_trap},
		{"after a signal", in_signalled},
		{"protected", in_protected},
		{"written", in_rewritten},
		{"threads", by_threads},
		{"vfork", by_vfork},
		{"flags", in_flags},
		{"trap flag", in_traced},
		{"signal in a page", in_raised},
		{"division", in_divided},
		{"maps", in_shown},
		{"advice", advices},
		{"own memory", own_memory},
		{"restored by a child", restored},
		{"program in memory", executed_memory},
		{"vsyscall", kernels_page},
		{"other instructions", other_instructions},
		{"clocks", clocks},
		{"old calls", old_calls},
		{"personality", personalities},
		{"32-bit code", short_way},
		{"checksum", checksum},
		{"checksum by calls", checksum_by_call},
		{"entries everywhere", loose_entries},
		{"many pages", many_pages},
		{"large buffers", large_buffers},
		{"untraced children", untraced},
		{"queues", queues},
		{"many maps", many_maps},
	};
	for (int i = 0; i < sizeof ways / sizeof *ways; i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name)) { ways[i].run(); return 0; }
	return 2;
}
