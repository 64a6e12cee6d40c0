// Constants that look like instructions whose results no run repeats, wherever linkers and compilers put data beside code: among the
// constants of an executable segment, between two functions, and inside what a symbol calls a function, as GHC keeps its tables.
#include <stdio.h>
#include <string.h>

__asm__(
	".macro tempting\n"
	".fill 32, 1, 0x90\n .byte 0x0f, 0xc7, 0xf0\n"       // rdrand %eax
	".fill 32, 1, 0x90\n .byte 0x48, 0x0f, 0xc7, 0xf9\n" // rdseed %rcx
	".fill 32, 1, 0x90\n .byte 0xf3, 0x0f, 0xc7, 0xf8\n" // rdpid %rax
	".fill 32, 1, 0x90\n .byte 0x0f, 0xa2\n"             // cpuid
	".fill 32, 1, 0x90\n .byte 0x0f, 0x01, 0xd0\n"       // xgetbv
	".fill 32, 1, 0x90\n .byte 0x0f, 0xae, 0x20\n"       // xsave (%rax)
	".fill 32, 1, 0x90\n .byte 0x0f, 0xc7, 0x20\n"       // xsavec (%rax)
	".fill 32, 1, 0x90\n .byte 0x0f, 0x01, 0x00\n"       // sgdt (%rax)
	".fill 32, 1, 0x90\n .byte 0x0f, 0x00, 0xc0\n"       // sldt %eax
	".fill 32, 1, 0x90\n .byte 0xb9, 0x7b, 0, 0, 0, 0x0f, 0x03, 0xc1\n" // mov $0x7b, %ecx; lsl %ecx, %eax
	".fill 32, 1, 0x90\n .byte 0xc3\n"
	".endm\n"
	".data\n model: tempting\n model_end:\n"
	".section .rodata\n constants: .rept 8\n tempting\n .endr\n"
	".text\n .balign 4096\n between: .rept 8\n tempting\n .endr\n"
	".globl info\n .type info, @function\n info: jmp 1f\n"
	"table: .rept 8\n tempting\n .endr\n"
	"1: mov $7, %eax\n ret\n .size info, . - info\n .balign 4096\n");

extern char model[], model_end[], constants[], between[], table[];
extern int info(void);

static int changed(const char *list) {
	int n = 0;
	long size = model_end - model;
	for (int i = 0; i < 8; i++)
		for (long j = 0; j < size; j++)
			n += list[i * size + j] != model[j];
	return n;
}

__attribute__((noinline)) static unsigned draw(void) {
	unsigned v;
	__asm__ volatile(".byte 0x0f, 0xc7, 0xf0" : "=a"(v) : : "cc");
	return v;
}

int main(void) {
	printf("info %d\n", info());
	printf("changed %d %d %d\n", changed(constants), changed(between), changed(table));
	printf("drawn %u %u\n", draw(), draw());
	printf("changed %d %d %d\n", changed(constants), changed(between), changed(table));
	return 0;
}
