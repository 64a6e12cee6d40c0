// The environment of x87 as its instructions store it, apart from its pointers, and what they leave behind.
#include "compat.h"
#include <fenv.h>
#include <stdint.h>

static struct { uint16_t control, a, status, b, tags, c; uint32_t pointers[4]; unsigned char stack[80]; } s;
static uint16_t narrow[7];
static unsigned char area[512] __attribute__((aligned(16)));

static uint64_t sum(const void *data, int n) {
	uint64_t h = 14695981039346656037u;
	for (const unsigned char *p = data; n--; p++) h = (h ^ *p) * 1099511628211u;
	return h;
}

static void words(const char *what) {
	uint16_t control, status;
	__asm__ volatile("fnstcw %0\n fnstsw %1" : "=m"(control), "=m"(status));
	say("%s: then %x %x", what, control, status);
}

static void fill(int how, uint16_t control) {
	static const double zero, tiny = 4e-320, infinite = __builtin_inf();
	static const long double denormal = 3e-4940L;
	__asm__ volatile("fninit\n fldcw %0" : : "m"(control));
	if (how > 0) __asm__ volatile("fld1\n fldpi");
	if (how > 1) __asm__ volatile("fldz\n fldl %0\n fldt %1\n fldl %2" : : "m"(infinite), "m"(denormal), "m"(tiny));
	if (how > 2) __asm__ volatile("fincstp\n ffree %%st(2)" : : );
	if (how > 3) __asm__ volatile("fldz\n fld1\n fdivl %0" : : "m"(zero));
}

int main(void) {
	static const uint16_t controls[] = {0x37f, 0x27f, 0xf7f, 0x37b, 0x340};
	say("== stored");
	for (int how = 0; how < 5; how++)
		for (int c = 0; c < 5; c++) {
			if (how > 1 && controls[c] == 0x340) continue;
			say("%d, %x", how, controls[c]);
			fill(how, controls[c]);
			__asm__ volatile("fnstenv %0" : "=m"(s));
			say("fnstenv %x %x %x %x %x %x, %x", s.control, s.a, s.status, s.b, s.tags, s.c, s.pointers[3] >> 16);
			words("fnstenv");
			fill(how, controls[c]);
			__asm__ volatile(".byte 0x66\n fnstenv %0" : "=m"(narrow));
			say("narrow %x %x %x", narrow[0], narrow[1], narrow[2]);
			words("narrow");
			fill(how, controls[c]);
			__asm__ volatile("fnsave %0" : "=m"(s));
			say("fnsave %x %x %x, %lx", s.control, s.status, s.tags, sum(s.stack, sizeof s.stack));
			words("fnsave");
			__asm__ volatile("frstor %0" : : "m"(s));
			words("frstor");
			__asm__ volatile("fnclex");
			fill(how, controls[c]);
			memset(area, 0x55, sizeof area);
			__asm__ volatile("fxsave64 %0" : "=m"(area));
			say("fxsave %lx %lx %x", sum(area, 6), sum(area + 32, 128), area[416] | area[511]);
			words("fxsave");
			__asm__ volatile("fnclex\n fninit");
		}
	say("== library");
	fenv_t e, f;
	say("%d %d", feholdexcept(&e), fetestexcept(FE_ALL_EXCEPT));
	feraiseexcept(FE_OVERFLOW | FE_DIVBYZERO);
	say("%x", fetestexcept(FE_ALL_EXCEPT));
	say("%d", feclearexcept(FE_DIVBYZERO));
	say("%x %d", fetestexcept(FE_ALL_EXCEPT), feupdateenv(&e));
	say("%x %d", fetestexcept(FE_ALL_EXCEPT), fegetenv(&f));
	fesetround(FE_UPWARD);
	volatile long double third = 1;
	third /= 3;
	say("%La %x %d", third, fegetround(), fesetenv(&f));
	return 0;
}
