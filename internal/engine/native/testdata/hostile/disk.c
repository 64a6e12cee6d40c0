// Fills the disk.
// want: reason=finished
// want: reproducible=true
// want: crashes=0
// want: line stdout write: No space left on device
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char block[1 << 20];
int main(void)
{
	int f = open("full", O_CREAT | O_WRONLY, 0644);
	for (;;)
		if (write(f, block, sizeof block) < 0) {
			printf("write: %s\n", strerror(errno));
			return 0;
		}
}
