#include "textflag.h"

// The layout of siginfo_t and of ucontext_t's saved registers (sys/ucontext.h).
#define SI_CODE 8
#define UC_RBX  128
#define UC_RDX  136
#define UC_RAX  144
#define UC_RCX  152
#define UC_RIP  168

#define SI_KERNEL     0x80
#define CLOCK_GETTIME 228
#define ARCH_PRCTL    158
#define ARCH_CPUID    0x1012

// func segvHandler(signal, info, context) in the kernel's calling convention: DI, SI, DX.
//
// It answers a trapped rdtsc or rdtscp with CLOCK_MONOTONIC in nanoseconds, and a trapped cpuid with what the processor says; it hands
// all else to the handler that was there before. SI_KERNEL is a general protection fault: then the instruction was fetched and can be read.
TEXT ·segvHandler(SB), NOSPLIT|NOFRAME, $0
	CMPL SI_CODE(SI), $SI_KERNEL
	JNE  other
	MOVQ UC_RIP(DX), AX
	CMPW (AX), $0x310f        // rdtsc is 0f 31
	JEQ  rdtsc
	CMPW (AX), $0xa20f        // cpuid is 0f a2
	JEQ  cpuid
	CMPW (AX), $0x010f        // rdtscp is 0f 01 f9
	JNE  other
	CMPB 2(AX), $0xf9
	JNE  other
	MOVQ $0, UC_RCX(DX)
	INCQ UC_RIP(DX)

rdtsc:
	ADDQ $2, UC_RIP(DX)
	LOCK
	INCQ ·trappedReads(SB)
	LEAQ -16(SP), SI          // struct timespec in the red zone
	MOVL $1, DI               // CLOCK_MONOTONIC
	MOVL $CLOCK_GETTIME, AX
	SYSCALL
	MOVQ -16(SP), AX
	IMULQ $1000000000, AX
	ADDQ -8(SP), AX
	MOVL AX, CX
	MOVQ CX, UC_RAX(DX)
	SHRQ $32, AX
	MOVQ AX, UC_RDX(DX)
	RET

cpuid:
	ADDQ $2, UC_RIP(DX)
	MOVQ DX, R12
	MOVL $ARCH_PRCTL, AX
	MOVL $ARCH_CPUID, DI
	MOVL $1, SI
	SYSCALL
	MOVQ UC_RAX(R12), AX
	MOVQ UC_RCX(R12), CX
	CPUID
	MOVQ AX, UC_RAX(R12)
	MOVQ BX, UC_RBX(R12)
	MOVQ CX, UC_RCX(R12)
	MOVQ DX, UC_RDX(R12)
	MOVL $ARCH_PRCTL, AX
	MOVL $ARCH_CPUID, DI
	MOVL $0, SI
	SYSCALL
	RET

other:
	MOVQ ·segvBefore(SB), AX
	JMP  AX

// func segvAddress() uintptr
TEXT ·segvAddress(SB), NOSPLIT, $0-8
	LEAQ ·segvHandler(SB), AX
	MOVQ AX, ret+0(FP)
	RET
