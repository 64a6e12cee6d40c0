// What a program sees of how it was loaded.
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static char zeros[100000];
static int initialised[3000] = {1, 2, 3};
static __thread int local = 7;

extern char __executable_start;

int main(int argc, char **argv) {
	int clean = 1;
	for (size_t i = 0; i < sizeof zeros; i++)
		clean &= zeros[i] == 0;
	Elf64_Ehdr *h = (Elf64_Ehdr *)&__executable_start;
	char exe[200] = {0}, *p = malloc(3 << 20);
	readlink("/proc/self/exe", exe, sizeof exe - 1);
	memset(p, 1, 3 << 20);
	void *top = sbrk(0);
	struct stat a = {0}, b = {0};
	stat("/data/one", &a);
	stat("/data/two", &b);
	printf("%s: zeros %d, data %d, local %d, exe %s, execfn %s\n", argv[0], clean, initialised[2], local, exe, (char *)getauxval(AT_EXECFN));
	printf("entry %d, headers %d, count %d, base %d, heap %d, maths %d\n", getauxval(AT_ENTRY) == (h->e_type == ET_DYN ? (unsigned long)h : 0) + h->e_entry,
		getauxval(AT_PHDR) == (unsigned long)h + h->e_phoff, getauxval(AT_PHNUM) == h->e_phnum, getauxval(AT_BASE) != 0, top != (void *)-1,
		dlsym(dlopen("libm.so.6", RTLD_NOW), "cos") != 0);
	printf("links %d %d, same %d, owner %d, mode %o\n", (int)a.st_nlink, (int)b.st_nlink, a.st_ino == b.st_ino, (int)a.st_uid, a.st_mode & 07777);
	return 0;
}
