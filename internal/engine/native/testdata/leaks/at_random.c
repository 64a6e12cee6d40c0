// Leak: AT_RANDOM, the sixteen bytes that the kernel puts on the stack of each new program: the stack protector's
// secret, and the seed of hash tables in many runtimes.
#include "leak.h"
#include <sys/auxv.h>

int main(int argc, char **argv) {
	unsigned char *r = (unsigned char *)getauxval(AT_RANDOM);
	for (int i = 0; i < 16; i++) show("%02x", r[i]);
	show("\n");
	if (argc == 1) execl("/proc/self/exe", argv[0], "again", NULL); // a new program has new bytes
	return 0;
}
