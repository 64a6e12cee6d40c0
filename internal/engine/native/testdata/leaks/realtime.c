// Leak: the machine's own time, from the pages that its kernel maps beside each program, and from its vsyscall page.
#include "leak.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf back;

static void handler(int sig) { siglongjmp(back, sig); }

static uint64_t sum(const volatile unsigned char *p, int n) {
	uint64_t h = 14695981039346656037u;
	while (n--)
		h = (h ^ *p++) * 1099511628211u;
	return h;
}

int main(void) {
	signal(SIGSEGV, handler);
	signal(SIGBUS, handler);
	// ARCH_MAP_VDSO_X32, _32, _64 at some addresses
	for (int op = 0x2001; op <= 0x2003; op++) {
		errno = 0;
		long r = syscall(SYS_arch_prctl, op, 0x10000000UL);
		show("map vdso %x: %ld %d\n", op, r, errno);
	}
	// Whatever lies in the area of maps, and where the stack is: each page that can be read, twice, some time apart.
	static uint64_t sums[1 << 16];
	static uint64_t pages[1 << 16];
	int n = 0;
	uint64_t from[] = {0x10000000, 0x7ffff7d00000, 0x7ffffffde000 - 0x200000}, to[] = {0x10100000, 0x7ffff8000000, 0x7ffffffff000};
	for (int i = 0; i < 3; i++)
		for (uint64_t p = from[i]; p < to[i] && n < 1 << 16; p += 4096) {
			if (sigsetjmp(back, 1))
				continue;
			volatile unsigned char first = *(volatile unsigned char *)p;
			(void)first;
			if (!memcmp((void *)p, "\177ELF", 4) && memmem((void *)p, 4096, "linux-vdso", 10))
				show("a vdso at %lx\n", p);
			sums[n] = sum((volatile unsigned char *)p, 256);
			pages[n++] = p;
		}
	show("%d pages\n", n);
	for (volatile int i = 0; i < 30000000; i++)
		;
	for (int i = 0; i < n; i++) {
		if (sigsetjmp(back, 1))
			continue;
		uint64_t p = pages[i];
		if (p >= 0x7ffff0000000 && (p < 0x7ffff7d00000 || p >= 0x7ffffffd0000)) // the stack, which this program uses
			continue;
		uint64_t now = sum((volatile unsigned char *)p, 256);
		if (now != sums[i] && !(p <= (uint64_t)sums && (uint64_t)sums < p + 4096))
			show("page %lx changes by itself\n", p);
	}
	if (!sigsetjmp(back, 1)) {
		struct timeval tv = {0};
		((long (*)(struct timeval *, void *))0xffffffffff600000)(&tv, 0);
		show("vsyscall gettimeofday %ld.%06ld\n", tv.tv_sec, tv.tv_usec);
	} else
		show("no vsyscall\n");
	if (!sigsetjmp(back, 1))
		show("vsyscall time %ld\n", ((long (*)(long *))0xffffffffff600400)(0));
	unsigned cpu = 0, node = 0;
	if (!sigsetjmp(back, 1)) {
		((long (*)(unsigned *, unsigned *, void *))0xffffffffff600800)(&cpu, &node, 0);
		show("vsyscall getcpu %u %u\n", cpu, node);
	}
	return 0;
}
