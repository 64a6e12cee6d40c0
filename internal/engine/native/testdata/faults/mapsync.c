// Stores into maps of two descriptions of a file, of which one is closed, and says what each msync was told.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *told(char *map, size_t size) { return msync(map, size, MS_SYNC) ? strerror(errno) : "ok"; }

int main(void) {
	int a = open("/data", O_RDWR | O_CREAT, 0600), b = open("/data", O_RDWR);
	ftruncate(a, 3 * 4096);
	char *first = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0), *second = mmap(0, 4096, PROT_READ, MAP_SHARED, b, 0);
	close(a);
	fsync(b); // the file's size
	for (int i = 0; i < 100; i++) {
		first[4096] = first[i % 2] = i + 1;
		// The page between is clean, and so there is nothing that could fail.
		const char *clean = told(first + 8192, 4096), *one = told(first, 2 * 4096), *again = told(first, 4096), *other = told(second, 4096);
		printf("clean %s; %s, %s; %s, %s, %s\n", clean, one, again, other, told(second, 4096), fsync(b) ? strerror(errno) : "ok");
		fflush(stdout);
		usleep(20000);
	}
}
