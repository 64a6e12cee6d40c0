// A program that reads its own code. What it does with the bytes is the argument:
// sum prints them; check compares them with its file and prints whether they are equal; hot does as sum, after a long loop beside them;
// fork does as check in a child; ignore prints nothing of them. The function that compares lies on pages of its own.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static uint64_t draw(void)
{
	uint64_t v;
	__asm__ volatile("1: rdrand %0\n jnc 1b" : "=r"(v));
	return v;
}

__attribute__((noinline)) static unsigned sum(const volatile unsigned char *p)
{
	unsigned s = 0;
	for (int i = 0; i < 16; i++)
		s = 31 * s + p[i];
	return s;
}

__attribute__((noinline, aligned(4096))) static int check(const char *file)
{
	static unsigned char bytes[1 << 21];
	const unsigned char *code = (const unsigned char *)draw;
	FILE *f = fopen(file, "rb");
	size_t n = fread(bytes, 1, sizeof bytes, f);
	return memmem(bytes, n, code, 16) != 0;
}

__attribute__((aligned(4096))) int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "ignore";
	volatile uint64_t added = 0;
	if (strcmp(how, "hot") == 0)
		for (int i = 0; i < 1000000; i++)
			added += i;
	unsigned s = sum((const unsigned char *)draw);
	if (strcmp(how, "sum") == 0 || strcmp(how, "hot") == 0)
		printf("sum %u\n", s);
	if (strcmp(how, "check") == 0)
		printf("equal %d\n", check(argv[0]));
	fflush(stdout);
	if (strcmp(how, "fork") == 0) {
		if (fork() == 0)
			_exit(check(argv[0]));
		int status = 0;
		wait(&status);
		printf("equal %d\n", WEXITSTATUS(status));
	}
	printf("random %lu\n", draw());
	return 0;
}
