// Protection keys on a processor that has none, which is what nodes are: no key can be had, and pkey_mprotect without one is mprotect.
#include "compat.h"
#include <setjmp.h>

#ifndef SYS_pkey_alloc
#define SYS_pkey_mprotect 329
#define SYS_pkey_alloc 330
#define SYS_pkey_free 331
#endif

static sigjmp_buf out;

static void fault(int sig) { siglongjmp(out, sig); }

static const char *touch(volatile char *p, int write) {
	if (sigsetjmp(out, 1)) return "a fault";
	if (write) *p = 1;
	else (void)*p;
	return "fine";
}

static int keyless(void) {
	long key = syscall(SYS_pkey_alloc, 0L, 0L);
	if (key < 0) return 1;
	syscall(SYS_pkey_free, key);
	say("skip: this processor has protection keys");
	return 0;
}

static void keys(void) {
	if (!keyless()) return;
	IS(syscall(SYS_pkey_alloc, 0L, 3L) == -1, "no key");
	CALL(syscall(SYS_pkey_alloc, 1L, 0L), "flags");
	CALL(syscall(SYS_pkey_alloc, 0L, 4L), "rights that there are not");
	CALL(syscall(SYS_pkey_free, 1L), "pkey_free 1");
	CALL(syscall(SYS_pkey_free, -1L), "pkey_free -1");
	CALL(syscall(SYS_pkey_free, 99L), "pkey_free 99");
}

static void protect(void) {
	if (!keyless()) return;
	struct sigaction a = {.sa_handler = fault};
	MUST(sigaction(SIGSEGV, &a, NULL));
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CALL(syscall(SYS_pkey_mprotect, p, 4096L, (long)PROT_READ, -1L), "read");
	say("read %s, write %s, write to the next page %s", touch(p, 0), touch(p, 1), touch(p + 4096, 1));
	CALL(syscall(SYS_pkey_mprotect, p, 8192L, (long)PROT_NONE, -1L), "nothing");
	say("read %s, write %s", touch(p, 0), touch(p + 4096, 1));
	CALL(syscall(SYS_pkey_mprotect, p, 8192L, (long)(PROT_READ | PROT_WRITE), -1L), "read and write");
	say("read %s, write %s", touch(p, 0), touch(p + 4096, 1));
	CALL(syscall(SYS_pkey_mprotect, p, 4096L, (long)PROT_READ, 1L), "a key that nobody has");
	CALL(syscall(SYS_pkey_mprotect, p, 4096L, (long)PROT_READ, 99L), "a key that there is not");
	CALL(syscall(SYS_pkey_mprotect, p + 1, 4096L, (long)PROT_READ, -1L), "half a page");
	CALL(syscall(SYS_pkey_mprotect, p, 4096L, 64L, -1L), "a protection that there is not");
	CALL(munmap(p, 8192), "munmap");
	CALL(syscall(SYS_pkey_mprotect, p, 4096L, (long)PROT_READ, -1L), "no memory");
}

CASES(C(keys), C(protect))
