//go:build bloodhound_live

#include "textflag.h"

// frozenClock has the interface of clock_gettime in the vDSO (vdso(7)): it is what the runtime of a copy calls.
TEXT ·frozenClock(SB),NOSPLIT|NOFRAME,$0
	CMPL	DI, $1
	JEQ	monotonic
	MOVQ	·wallNow(SB), AX
	MOVQ	AX, 0(SI)
	MOVQ	·wallNow+8(SB), AX
	MOVQ	AX, 8(SI)
	XORL	AX, AX
	RET
monotonic:
	MOVQ	·monotonicNow(SB), AX
	MOVQ	AX, 0(SI)
	MOVQ	·monotonicNow+8(SB), AX
	MOVQ	AX, 8(SI)
	XORL	AX, AX
	RET

// func clockAddress() uintptr
TEXT ·clockAddress(SB),NOSPLIT,$0-8
	LEAQ	·frozenClock(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
