// coin is a program without a C library: it takes a random byte a second, and exits with code 7 when that is below 16.
static long call(long n, long a, long b, long c) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

void _start(void) {
	static const char text[] = "below 16\n";
	struct { long s, ns; } second = {1, 0};
	for (;;) {
		unsigned char byte = 0;
		call(318, (long)&byte, 1, 0); // getrandom
		if (byte < 16) {
			call(1, 2, (long)text, sizeof text - 1);
			call(60, 7, 0, 0);
		}
		call(35, (long)&second, 0, 0); // nanosleep
	}
}
