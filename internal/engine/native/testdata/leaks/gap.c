// Leak: code in the addresses between the engine's pages, if a program can have memory there, by whatever call.
#include "leak.h"
#include <sys/shm.h>

#define GAP ((unsigned char *)0x7ffffa002000)  // behind the page of the engine's vDSO
#define GAP2 ((unsigned char *)0x7ffffa050000) // before its private page
#define ALL (PROT_READ | PROT_WRITE | PROT_EXEC)
#define MADE (MAP_PRIVATE | MAP_ANONYMOUS)

static int inside(const void *p) { return p >= (void *)0x7ffffa000000 && p < (void *)0x7ffffa200000; }

// random executes rdrand at p, where nothing of it stays.
static void chance(const char *way, unsigned char *p) {
	if (p == MAP_FAILED) {
		show("%s: errno %d\n", way, errno);
		return;
	}
	if (!inside(p)) {
		show("%s: elsewhere\n", way);
		return;
	}
	static const unsigned char code[] = {0x48 ^ 0x55, 0x0f ^ 0x55, 0xc7 ^ 0x55, 0xf0 ^ 0x55, 0xc3 ^ 0x55}; // rdrand %rax; ret
	for (int i = 0; i < 300; i++) p[i] = 0x90;
	for (int i = 0; i < sizeof code; i++) p[300 + i] = code[i] ^ 0x55;
	show("%s: %lx\n", way, ((unsigned long (*)(void))(p + 300))());
}

static void shm(const char *way, int flags) {
	int id = shmget(IPC_PRIVATE, 4096, 0700);
	unsigned char *p = shmat(id, GAP, flags);
	if (inside(p)) mprotect(p, 4096, ALL);
	chance(way, p);
}

int main(void) {
	chance("hint", mmap(GAP, 4096, ALL, MADE, -1, 0));
	chance("second hint", mmap(GAP2, 65536, ALL, MADE, -1, 0));
	show("data: %d\n", inside(mmap(GAP + 8192, 4096, PROT_READ | PROT_WRITE, MADE, -1, 0)));
	chance("shared", mmap(GAP, 4096, ALL, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	chance("file", mmap(GAP, 4096, ALL, MAP_PRIVATE, open("file", O_RDWR | O_CREAT, 0600), 0));
	chance("exclusive", mmap(GAP, 4096, ALL, MADE | MAP_FIXED_NOREPLACE, -1, 0));
	chance("fixed", mmap(GAP, 4096, ALL, MADE | MAP_FIXED, -1, 0));
	chance("grows down", mmap(GAP + 16384, 4096, ALL, MADE | MAP_GROWSDOWN, -1, 0));
	chance("32 bits", mmap(GAP, 4096, ALL, MADE | MAP_32BIT, -1, 0));
	unsigned char *p = mmap(0, 4096, ALL, MADE, -1, 0);
	chance("moved", mremap(p, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, GAP));
	chance("moved by hint", mremap(p, 4096, 4096, MREMAP_MAYMOVE | 4, GAP)); // MREMAP_DONTUNMAP
	shm("segment", 0);
	shm("segment in place", SHM_REMAP);
	// Growth from the page below, and beyond what is mapped behind a hole.
	p = mmap((void *)0x7ffff9fff000, 4096, ALL, MADE, -1, 0);
	chance("growth", mremap(p, 4096, 3 * 4096, 0));
	p = mmap((void *)0x7ffffa200000, 4096, ALL, MADE | MAP_GROWSDOWN, -1, 0);
	show("below: %d\n", p == (void *)0x7ffffa200000);
	// Where all other addresses are taken.
	long taken = 0;
	for (unsigned long size = 1UL << 46; size >= 4096; size /= 2)
		while (mmap(0, size, PROT_NONE, MADE | MAP_NORESERVE, -1, 0) != MAP_FAILED) taken++;
	chance("last hint", mmap(GAP, 4096, ALL, MADE, -1, 0));
	p = 0;
	for (unsigned long at = 0x7ffffa001000; at < 0x7ffffa102000 && !p; at += 4096)
		if (mprotect((void *)at, 4096, ALL) == 0) p = (void *)at;
	if (p) chance("taken", p);
	show("all taken: %d\n", taken > 0);
	return 0;
}
