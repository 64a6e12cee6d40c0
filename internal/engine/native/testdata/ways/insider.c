// Ways: what someone tries who has read the engine's code: values that are not on the tape, and a look at what the engine has changed.
#include "../leaks/leak.h"
#include <setjmp.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
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
ODD(after_steps, "mov $6000, %ecx\n1: dec %ecx\njnz 1b\njmp *%rdi")
ODD(after_fork, "push %rdi\nmov $57, %eax\nsyscall\npop %rdi\njmp *%rdi")
ODD(after_trap, "int3\njmp *%rdi")
ODD(protected, "jmp *%rdi")
ODD(remapped, "jmp *%rdi")
ODD(rewritten, "jmp *%rdi")
ODD(signalled, "mov $39, %eax\nsyscall\nud2\njmp *%rdi")

static void in_plain(void) { show("%lx\n", plain(HIDDEN(plain))); }
static void in_after_call(void) { show("%lx\n", after_call(HIDDEN(after_call))); }
static void in_after_passed_call(void) { show("%lx\n", after_passed_call(HIDDEN(after_passed_call))); }
static void in_after_popf(void) { show("%lx\n", after_popf(HIDDEN(after_popf))); }
static void in_after_steps(void) { show("%lx\n", after_steps(HIDDEN(after_steps))); }
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
	show("%lx\n", after_trap(HIDDEN(after_trap)));
}
static void in_signalled(void) {
	struct sigaction a = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
	sigaction(SIGILL, &a, 0);
	show("%lx\n", signalled(HIDDEN(signalled)));
}
static void in_protected(void) {
	show("%d\n", mprotect(protected_page, PAGE, RX));
	show("%lx\n", protected(HIDDEN(protected)));
}
static void in_remapped(void) { /* the same page of the file in the same place, made executable later */
	extern char __executable_start;
	int fd = open("/proc/self/exe", O_RDONLY);
	mmap(remapped_page, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, remapped_page - &__executable_start);
	mprotect(remapped_page, PAGE, RX);
	show("%lx\n", remapped(HIDDEN(remapped)));
}
static void in_rewritten(void) {
	mprotect(rewritten_page, PAGE, RW), rewritten_page[0] = 0x90, mprotect(rewritten_page, PAGE, RX);
	show("%lx\n", rewritten(HIDDEN(rewritten)));
}
int main(int argc, char **argv) {
	static void (*const ways[])(void) = {prefixes, prefixes_of_rdpid, prefixes_of_others, prefixes_of_x87, made_segment, made_dead_rex, made_longest, made_rdpid,
		in_plain, in_after_call, in_after_passed_call, in_after_popf, in_after_steps, in_after_fork, in_after_trap, in_signalled, in_protected, in_remapped, in_rewritten,
	};
	int way = atoi(argv[1]);
	if (way >= sizeof ways / sizeof *ways) return 2;
	ways[way]();
	return 0;
}
