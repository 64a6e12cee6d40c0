// Leak: address space layout. Where the stack, the heap, the code, the libraries and a new map lie.
#include "leak.h"

int main(void) {
	static int data;
	int local;
	void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	show("stack %p\nheap %p\ncode %p\ndata %p\nlibc %p\nmap %p\nbrk %p\n", (void *)&local, malloc(10), (void *)main, (void *)&data, (void *)printf, map, sbrk(0));
	return 0;
}
