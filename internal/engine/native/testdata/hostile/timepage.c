// Scribbles over the page of virtual time: the run must not claim that it can be repeated.
// want: reason=finished
// want: reproducible=false
// want: crashes=0
// want: line stdout scribbled
#include <stdio.h>
#include <string.h>
#include <time.h>
int main(void)
{
	struct timespec t;
	memset((void *)0x7ffffa010000UL, 0x41, 4096);
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("scribbled\n");
	return 0;
}
