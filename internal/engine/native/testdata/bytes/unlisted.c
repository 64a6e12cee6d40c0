// Random numbers of the processor in code that no table of the file lists, entered directly, by a jump whose target only a register has, and
// in pages where other code runs first.
#include <stdio.h>

__asm__(
	".text\n .balign 4096\n"
	"straight: .byte 0x0f, 0xc7, 0xf0\n jnc straight\n ret\n" // rdrand %eax
	".balign 64\n"
	"around: lea 1f(%rip), %rax\n jmp *%rax\n .byte 0x06, 0x06, 0x06, 0x06\n"
	"1: .byte 0x48, 0x0f, 0xc7, 0xf0\n jnc 1b\n ret\n" // rdrand %rax
	".balign 64\n"
	"add: lea 1(%rdi), %rax\n ret\n"
	".balign 4096\n");

extern unsigned straight(void);
extern unsigned long around(void);
extern long add(long);

int main(void) {
	long n = 0;
	for (int i = 0; i < 50; i++)
		n = add(n);
	printf("added %ld\n", n);
	printf("drawn %u %lu\n", straight(), around());
	printf("drawn %u %lu\n", straight(), around());
	for (int i = 0; i < 100000; i++)
		n = add(n);
	printf("added %ld\n", n);
	return 0;
}
