#include "textflag.h"

// func out(port uint16, p *byte, n int)
TEXT ·out(SB), NOSPLIT, $0-24
	MOVW port+0(FP), DX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX
	CLD
	REP; OUTSB
	RET
