// A random number of the processor beside code that runs many times before control comes to it.
#include <stdio.h>

__asm__(
	".text\n .balign 4096\n"
	"add: lea 1(%rdi), %rax\n ret\n"
	".byte 0x06, 0x06\n .balign 64\n"
	"late: .byte 0x0f, 0xc7, 0xf0\n jnc late\n ret\n" // rdrand %eax
	".balign 4096\n");

extern unsigned late(void);
extern long add(long);

int main(int argc, char **argv) {
	long n = 0;
	for (int i = 0; i < 100000; i++)
		n = add(n);
	printf("added %ld\n", n);
	if (argc > 1)
		printf("drawn %u\n", late());
	return 0;
}
