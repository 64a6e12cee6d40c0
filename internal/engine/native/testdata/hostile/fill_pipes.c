// Opens pipes and sockets and fills each: what lies in them counts as memory of the world, or descriptors run out.
// want: (line|detail=).*(EMFILE|ENFILE|ENOMEM|bytes|memory)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
	static char block[1 << 16];
	for (;;) {
		int p[2];
		if (pipe2(p, O_NONBLOCK)) {
			fprintf(stderr, "pipe: %s\n", strerrorname_np(errno));
			return 4;
		}
		while (write(p[1], block, sizeof block) > 0) {}
	}
}
