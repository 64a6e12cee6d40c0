// It has a page that a fork clears.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int main(void) {
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(page, "mine");
	if (madvise(page, 4096, MADV_WIPEONFORK)) return 1;
	for (int i = 0; i < 10; i++) nanosleep(&(struct timespec){0, 1000000}, 0);
	puts(strcmp(page, "mine") ? "its memory HAS CHANGED" : "its memory is as it was");
	return 0;
}
