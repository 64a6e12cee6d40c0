// Ways: maps of a program's file that grow over its code, or are moved, so that code lies where no breakpoints were put.
#include "../leaks/leak.h"

__attribute__((noinline, used, aligned(4096))) static void before(void) { show("before\n"); }

__attribute__((noinline, used, aligned(4096))) static unsigned long rdrand(void) {
	unsigned long v;
	__asm__ volatile("rdrand %0\n" : "=r"(v) : : "cc");
	return v;
}

__attribute__((noinline, used, aligned(4096), section(".last"))) static unsigned long last(void) {
	unsigned long v = 0;
	__asm__ volatile("" : "+r"(v));
	return v;
}

// mapped maps pages of the program's file from a place of its code on.
static unsigned char *mapped(void *place, size_t size, int prot) {
	extern char __executable_start;
	int fd = open("/proc/self/exe", O_RDONLY);
	unsigned char *p = mmap(0, size, prot, MAP_PRIVATE, fd, (char *)place - &__executable_start);
	close(fd);
	return p;
}

static unsigned long call(unsigned char *p) { return p == MAP_FAILED ? errno : ((unsigned long (*)(void))p)(); }

int main(int argc, char **argv) {
	int way = argc > 1 ? atoi(argv[1]) : -1;
	static unsigned char *volatile p;
	unsigned char *room = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	switch (way) {
	case 0: // a map without such an instruction that grows over one
		p = mapped((char *)rdrand - 4096, 4096, PROT_READ | PROT_EXEC);
		p = mremap(p, 4096, 8192, MREMAP_MAYMOVE);
		show("grown: %lx\n", call(p + 4096));
		munmap(p, 8192);
		break;
	case 1:
		p = mapped((char *)rdrand - 4096, 4096, PROT_READ | PROT_EXEC);
		p = mremap(p, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, room);
		show("grown in place: %lx\n", call(p + 4096));
		munmap(p, 8192);
		break;
	case 2:
		p = mapped(rdrand, 4096, PROT_READ | PROT_EXEC);
		p = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, room);
		show("moved: %lx\n", call(p));
		p = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, room + 65536);
		show("and again: %lx\n", call(p));
		madvise(p, 4096, MADV_DONTNEED);
		show("and anew: %lx\n", call(p));
		munmap(p, 4096);
		break;
	case 3: // what is made executable later
		p = mapped(rdrand, 4096, PROT_READ);
		mprotect(p, 4096, PROT_READ | PROT_EXEC);
		show("protected: %lx\n", call(p));
		munmap(p, 4096);
		break;
	case 4:
		p = mapped((char *)rdrand - 4096, 4096, PROT_READ);
		mprotect(p, 4096, PROT_READ | PROT_EXEC);
		p = mremap(p, 4096, 8192, MREMAP_MAYMOVE);
		show("protected and grown: %lx\n", call(p + 4096));
		munmap(p, 8192);
		break;
	case 5: // code moved over other code
		p = mapped(rdrand, 4096, PROT_READ | PROT_EXEC);
		p = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)last);
		show("over: %lx\n", last());
		_exit(0); // what the linker has put behind is gone
	case 6: // a process that shares the memory has the breakpoints, whichever of the two has mapped the code
		if (!vfork()) {
			p = mapped(rdrand, 4096, PROT_READ | PROT_EXEC);
			_exit(0);
		}
		show("by a child: %lx\n", call(p));
		break;
	case 7: // the breakpoints lie at the new place alone
		p = mapped(rdrand, 4096, PROT_READ | PROT_EXEC);
		unsigned char *q = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, room);
		p = mmap(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		p[0] = 0x31, p[1] = 0xc0, p[2] = 0xc3; // xor %eax, %eax; ret
		show("another: %lx, ", call(p)), show("%lx\n", call(q));
		break;
	default:
		return 2;
	}
	return 0;
}
