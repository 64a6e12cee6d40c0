// Leak: the files that give random bytes.
#include "leak.h"

int main(void) {
	static const char *const path[] = {"/dev/urandom", "/dev/random", "/proc/sys/kernel/random/uuid", "/proc/sys/kernel/random/boot_id"};
	for (int i = 0; i < 4; i++) {
		unsigned char b[17] = {0};
		int fd = open(path[i], O_RDONLY);
		show("%s %ld ", path[i], (long)read(fd, b, 16));
		for (int k = 0; k < 16; k++) show("%02x", b[k]);
		show("\n");
		close(fd);
	}
	return 0;
}
