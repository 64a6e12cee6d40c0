/* Takes memory without end, and touches little of it. */
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
