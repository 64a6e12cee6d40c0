#include "textflag.h"

// func cpuidComponent(component uint32) (size, offset uint32)
TEXT ·cpuidComponent(SB), NOSPLIT, $0-16
	MOVL $13, AX
	MOVL component+0(FP), CX
	CPUID
	MOVL AX, size+8(FP)
	MOVL BX, offset+12(FP)
	RET
