// Leak: calls that give a program its own code anew from the file, or at another place, without the breakpoints that were put into it.
#include "leak.h"
#include <sys/uio.h>

#define TEXT ((unsigned char *)((uintptr_t)rdrand & ~4095UL))

__attribute__((noinline, used, aligned(4096))) static unsigned long rdrand(void) {
	unsigned long v;
	__asm__ volatile("rdrand %0\n" : "=r"(v) : : "cc");
	return v;
}

__attribute__((noinline, used, aligned(4096))) static void behind(void) { show("behind\n"); }

static void advice(const char *name, int kind) {
	int r = madvise(TEXT, 4096, kind);
	show("%s: %d, %lx\n", name, r, rdrand());
}

// at calls what lies somewhere else as rdrand does here.
static unsigned long at(unsigned char *page) {
	return ((unsigned long (*)(void))(page + ((unsigned char *)rdrand - TEXT)))();
}

static void *thread(void *arg) {
	madvise(TEXT, 4096, MADV_DONTNEED);
	return arg;
}

int main(int argc, char **argv) {
	show("plain: %lx\n", rdrand());
	advice("dontneed", MADV_DONTNEED);
	advice("free", 8);
	advice("remove", MADV_REMOVE);
	advice("cold", 20);
	advice("pageout", 21);
	advice("populate", 22);
	advice("willneed", MADV_WILLNEED);
	advice("dontneed, locked", 24);
	advice("collapse", 25);
	advice("guard", 102);
	advice("dontfork", MADV_DONTFORK);
	advice("dofork", MADV_DOFORK);
	advice("wipe on fork", MADV_WIPEONFORK);
	struct iovec v = {TEXT, 4096};
	show("process_madvise: %ld, %lx\n", syscall(SYS_process_madvise, -1, &v, 1, MADV_DONTNEED, 0), rdrand());
	msync(TEXT, 4096, MS_INVALIDATE | MS_SYNC);
	show("msync: %lx\n", rdrand());
	mprotect(TEXT, 4096, PROT_READ | PROT_WRITE);
	madvise(TEXT, 4096, MADV_DONTNEED);
	mprotect(TEXT, 4096, PROT_READ | PROT_EXEC);
	show("by protection: %lx\n", rdrand());
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	show("thread: %lx\n", rdrand());
	for (int how = 0; how < 2; how++) {
		int status, pid = how ? vfork() : fork();
		if (!pid) {
			madvise(TEXT, 4096, MADV_DONTNEED);
			show("child: %lx\n", rdrand());
			_exit(0);
		}
		waitpid(pid, &status, 0);
		show("parent: %x, %lx\n", status, rdrand());
	}
	unsigned char *p = mremap(TEXT, 4096, 4096, MREMAP_MAYMOVE | 4, 0); // MREMAP_DONTUNMAP
	if (p != MAP_FAILED) show("twice: %lx, ", rdrand()), show("%lx\n", at(p));
	unsigned char *room = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = mremap(TEXT, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED | 4, room + 8192);
	if (p != MAP_FAILED) show("twice, in place: %lx, ", rdrand()), show("%lx\n", at(p));
	show("end\n");
	return 0;
}
