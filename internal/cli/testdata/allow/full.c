// full is a server without a C library that appends a page to a file every 100 ms, and stops with exit code 1 when there is no room.
static long call(long n, long a, long b, long c) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

void _start(void) {
	static char page[4096];
	static const char full[] = "log: no space left on device, stopping\n";
	struct { long s, ns; } pause = {0, 100000000};
	struct { unsigned short family, port; unsigned addr; long rest; } any = {2, 80 << 8, 0, 0};
	long s = call(41, 2, 1, 0);                       // socket
	call(49, s, (long)&any, sizeof any);              // bind
	call(50, s, 8, 0);                                // listen
	long f = call(2, (long)"/log", 01 | 0100 | 02000, 0600); // open
	for (;;) {
		if (call(1, f, (long)page, sizeof page) < 0) {
			call(1, 2, (long)full, sizeof full - 1);
			call(60, 1, 0, 0);
		}
		call(35, (long)&pause, 0, 0); // nanosleep
	}
}
