#include "textflag.h"

// The layout of ucontext_t's saved registers (sys/ucontext.h).
#define UC_R12 72
#define UC_RAX 144
#define UC_RIP 168

#define IOCTL      16
#define NOTIF_RECV 0xc0502100
#define EINTR      4

// func letAndReceive(nr, a1, a2, a3, a4, listener, notice uintptr) (first, second uintptr)
//
// The two SYSCALL instructions are found by their code, so there are no others here. The first one's result is in R12.
TEXT ·letAndReceive(SB), NOSPLIT, $0-72
	MOVQ nr+0(FP), AX
	MOVQ a1+8(FP), DI
	MOVQ a2+16(FP), SI
	MOVQ a3+24(FP), DX
	MOVQ a4+32(FP), R10
	XORL R8, R8
	XORL R9, R9
	SYSCALL
	MOVQ AX, R12
	TESTQ AX, AX
	JNE  over
	MOVQ listener+40(FP), DI
	MOVL $NOTIF_RECV, SI
	MOVQ notice+48(FP), DX
	MOVL $IOCTL, AX
	SYSCALL
over:
	MOVQ R12, first+56(FP)
	MOVQ AX, second+64(FP)
	RET

// func childHandler(signal, info, context) in the kernel's calling convention: DI, SI, DX.
TEXT ·childHandler(SB), NOSPLIT|NOFRAME, $0
	MOVQ UC_RIP(DX), AX
	CMPQ AX, ·windowFrom(SB)
	JB   done
	JNE  inside
	MOVQ UC_RAX(DX), CX       // the first call's result has not got to its place yet
	MOVQ CX, UC_R12(DX)
inside:
	CMPQ AX, ·windowTo(SB)
	JA   done
	MOVQ ·windowTo(SB), AX
	ADDQ $2, AX               // behind SYSCALL
	MOVQ AX, UC_RIP(DX)
	MOVQ $-EINTR, UC_RAX(DX)
done:
	RET

// func notifyAddresses() (code, handler uintptr)
TEXT ·notifyAddresses(SB), NOSPLIT, $0-16
	LEAQ ·letAndReceive(SB), AX
	MOVQ AX, code+0(FP)
	LEAQ ·childHandler(SB), AX
	MOVQ AX, handler+8(FP)
	RET
