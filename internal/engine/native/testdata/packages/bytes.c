/* Maps the loadable segments of ELF files as loaders do, and compares what lies in memory with what the files have (pread).
 *
 * Argument: a folder with a file "list", of which each line names a file, and the file "N" for line N, which has the offsets at which bytes
 * may differ, in order, in 8 bytes each. It prints a line for each file: how many bytes were compared, and how many differ as they may; and one for
 * each of the first bytes that may not. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, BLOCK = 1 << 20, MOST_SHOWN = 5 };

static uint64_t *may; /* offsets */
static size_t may_count;
static uint64_t compared, changed, wrong;

static int permitted(uint64_t offset) {
	size_t low = 0, high = may_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (may[middle] < offset) low = middle + 1;
		else high = middle;
	}
	return low < may_count && may[low] == offset;
}

static void compare(int fd, const Elf64_Phdr *p) {
	static unsigned char want[BLOCK];
	uint64_t from = p->p_offset & ~(uint64_t)(PAGE - 1), size = p->p_offset + p->p_filesz - from;
	int prot = (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_X ? PROT_EXEC : 0);
	unsigned char *m = mmap(0, size, prot, MAP_PRIVATE, fd, from);
	if (m == MAP_FAILED) {
		printf("mmap: %s\n", strerror(errno));
		return;
	}
	for (uint64_t at = 0; at < size; at += BLOCK) {
		ssize_t n = pread(fd, want, size - at < BLOCK ? size - at : BLOCK, from + at);
		if (n <= 0) break;
		compared += n;
		if (!memcmp(want, m + at, n)) continue;
		for (ssize_t i = 0; i < n; i++) {
			if (want[i] == m[at + i]) continue;
			if (m[at + i] == 0xcc && permitted(from + at + i)) changed++;
			else if (wrong++ < MOST_SHOWN) printf("wrong: %#lx has %02x, not %02x\n", from + at + i, m[at + i], want[i]);
		}
	}
	munmap(m, size);
}

static void read_permitted(const char *folder, int number) {
	char name[4096];
	struct stat st;
	snprintf(name, sizeof name, "%s/%d", folder, number);
	int fd = open(name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st)) exit(1);
	may_count = st.st_size / 8;
	may = realloc(may, st.st_size + 8);
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = pread(fd, (char *)may + at, st.st_size - at, at);
		if (n <= 0) exit(1);
		at += n;
	}
	close(fd);
}

int main(int argc, char **argv) {
	char path[4096];
	snprintf(path, sizeof path, "%s/list", argv[1]);
	FILE *list = fopen(path, "r");
	if (!list) return 1;
	for (int number = 0; fgets(path, sizeof path, list); number++) {
		path[strcspn(path, "\n")] = 0;
		read_permitted(argv[1], number);
		compared = changed = wrong = 0;
		Elf64_Ehdr e;
		Elf64_Phdr p;
		int fd = open(path, O_RDONLY);
		if (fd < 0) {
			printf("open %s: %s\n", path, strerror(errno));
			return 1;
		}
		if (pread(fd, &e, sizeof e, 0) == sizeof e)
			for (int i = 0; i < e.e_phnum; i++)
				if (pread(fd, &p, sizeof p, e.e_phoff + i * sizeof p) == sizeof p && p.p_type == PT_LOAD && !(p.p_flags & PF_W) && p.p_filesz)
					compare(fd, &p);
		close(fd);
		printf("%d: %lu compared, %lu changed, %lu wrong\n", number, compared, changed, wrong);
		fflush(stdout);
	}
	return 0;
}
