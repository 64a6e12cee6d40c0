// A program that writes to its own code, before and after a fork, and that maps code anew where other code was.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline, aligned(64))) static int answer(int n) {
	__asm__ volatile("");
	return n > 3 ? 41 : 17;
}

__attribute__((noinline)) static int other(int n) {
	if (n > 100)
		return n - 1;
	if (n > 10)
		return n - 2;
	return n;
}

__attribute__((noinline, aligned(64))) static int hooked(int n) {
	__asm__ volatile(".globl hook\nhook: .byte 0x0f, 0x1f, 0x44, 0, 0"); // a long nop
	if (n > 5)
		return n * 2;
	if (n > 3)
		return n * 5;
	return n + 3;
}
extern char hook[];

int main(void) {
	setvbuf(stdout, NULL, _IONBF, 0);
	uintptr_t page = (uintptr_t)answer & ~4095ul;
	printf("mprotect %d\n", mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
	if (fork() == 0) {
		printf("child %d %d\n", answer(9), other(50));
		_exit(0);
	}
	wait(NULL);
	char *volatile at = hook; // which compilers do not see through
	memcpy(at, "\x90\x90\x90\x90\x90", 5); // as tracers do: other instructions at the same place
	printf("hooked %d %d %d\n", hooked(6), hooked(4), hooked(1));
	at = (char *)answer;
	memcpy(at, "\xb8\x2a\x00\x00\x00\xc3", 6); // mov $42, %eax; ret
	printf("answer %d %d\n", answer(9), answer(1));
	printf("other %d\n", other(200));
	if (fork() == 0) {
		printf("child %d %d\n", answer(9), other(5));
		_exit(0);
	}
	wait(NULL);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\x8d\x47\x01\xc3", 4); // lea 1(%rdi), %eax; ret
	printf("made %d\n", ((int (*)(int))code)(6));
	return 0;
}
