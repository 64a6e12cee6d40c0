// slow is a server without a C library that is ready half a second after its start. It exits with code 1 when its first start did not
// come so far. It keeps the files /begun and /ready.
static long call(long n, long a, long b, long c) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

static long there(const char *name) { return call(21, (long)name, 0, 0) == 0; } // access

static void make(const char *name) { call(85, (long)name, 0600, 0); } // creat

void _start(void) {
	static const char begun[] = "/begun", ready[] = "/ready";
	static const char text[] = "the first start was cut short\n";
	struct { long s, ns; } half = {0, 500000000};
	struct { unsigned short family, port; unsigned addr; long rest; } any = {2, 80 << 8, 0, 0};
	if (there(begun) && !there(ready)) {
		call(1, 2, (long)text, sizeof text - 1);
		call(60, 1, 0, 0);
	}
	make(begun);
	call(35, (long)&half, 0, 0);              // nanosleep
	long s = call(41, 2, 1, 0);               // socket
	call(49, s, (long)&any, sizeof any);      // bind
	call(50, s, 8, 0);                        // listen
	make(ready);
	for (;;)
		call(34, 0, 0, 0); // pause
}
