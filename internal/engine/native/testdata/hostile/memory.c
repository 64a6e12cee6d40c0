// Takes memory without end, and touches little of it.
// want: reason=finished
// want: reproducible=true
// want: crashes=0
// want: line stdout out of memory
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	for (;;)
		if (!malloc(1 << 20)) {
			printf("out of memory\n");
			return 0;
		}
}
