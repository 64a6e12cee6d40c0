//go:build linux && amd64

package host

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// What cpuid answers differs from one CPU of a machine to the next, by the ids of its interrupt controller, and it offers programs
// instructions whose results no run repeats. Where the processor can trap cpuid (arch_prctl(2), ARCH_CPUID), every cpuid of a
// world is answered by the engine, wherever its code came from. Elsewhere those are that breakpoints find (chance_linux.go).

// archCPUID says whether the calling thread may execute cpuid.
const archCPUID = 0x1012

func setCPUID(on uintptr) error {
	if _, _, e := syscall.RawSyscall(unix.SYS_ARCH_PRCTL, archCPUID, on, 0); e != 0 {
		return fmt.Errorf("arch_prctl(ARCH_CPUID): %w", e)
	}
	return nil
}

// giveUpCPUID makes the calling OS thread one that cannot execute cpuid: as with the TSC, a switch between such a thread and another
// writes to a register of the processor. It reports whether programs can be brought to trap at it.
func giveUpCPUID() bool {
	if setCPUID(0) != nil {
		return false
	}
	if prepareTSC() != nil { // the handler that would answer a cpuid of this process
		takeCPUID()
	}
	return true
}

// takeCPUID lets the calling OS thread execute cpuid again.
func takeCPUID() { setCPUID(1) }

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// identity is the result of a cpuid instruction: EAX, EBX, ECX, EDX.
type identity [4]uint32

// maxIdentities bounds how many answers of cpuid a machine keeps.
const maxIdentities = 1024

// identify answers a cpuid of a program.
func (m *Machine) identify(leaf, sub uint32) identity {
	key := [2]uint32{leaf, sub}
	v, ok := m.identities[key]
	if ok {
		return v
	}
	v = m.ask(leaf, sub)
	v.steady(leaf, sub)
	if m.identities == nil || len(m.identities) >= maxIdentities {
		m.identities = map[[2]uint32]identity{}
	}
	m.identities[key] = v
	return v
}

// ask asks the processor.
func (m *Machine) ask(leaf, sub uint32) (v identity) {
	if m.cpuidTraps {
		takeCPUID()
		defer giveUpCPUID()
	}
	v[0], v[1], v[2], v[3] = cpuid(leaf, sub)
	return v
}

// steady takes from an answer of cpuid what differs between the CPUs of a machine, and the instructions that no run repeats (Intel SDM
// volume 2A, CPUID; AMD APM volume 3, appendix E). The TSC of a world has a frequency of 1 GHz.
func (v *identity) steady(leaf, sub uint32) {
	const a, b, c, d = 0, 1, 2, 3
	clear := func(register int, bits ...int) {
		for _, n := range bits {
			v[register] &^= 1 << n
		}
	}
	switch leaf {
	case 1:
		v[b] = v[b]&0xffff | 1<<16 // the APIC id; programs see one CPU
		clear(c, 30)               // RDRAND
		clear(d, 28)               // more than one
	case 2:
		// In old descriptors, 32 KiB of the first level for each of data and code, 2 MiB of the second and 24 MiB of the third one: what
		// programs ask the leaf for takes a single cpuid then. The machine's own answer would send C's library to leaf 4 at each start, and
		// each cpuid is a stop.
		if v[a] != 0 {
			*v = identity{0x7d302c01, 0, 0, 0xec}
		}
	case 7:
		switch sub {
		case 0:
			clear(b, 4, 11, 18)  // HLE, RTM, RDSEED
			clear(c, 5, 22)      // WAITPKG, RDPID
			clear(d, 5, 11, 13)  // UINTR, RTM_ALWAYS_ABORT, TSX_FORCE_ABORT
			clear(d, 22, 24, 25) // AMX: programs may not ask for its state (arch_prctl)
		case 1:
			clear(a, 21) // AMX-FP16
			clear(d, 8)  // AMX-COMPLEX
		}
	case 0xb, 0x1f:
		v[d] = 0 // the x2APIC id
	case 0xd:
		if sub == 1 {
			clear(a, 0, 1, 2) // XSAVEOPT, XSAVEC, XGETBV with 1
		}
	case 0x15:
		if v[b] != 0 {
			v[a], v[b], v[c] = 1, 1, 1e9
		}
	case 0x80000008:
		clear(b, 4) // RDPRU
	case 0x8000001e:
		v[a] = 0      // the APIC id
		v[b] &^= 0xff // the core's
		v[c] &^= 0xff // the node's
	case 0x80000026:
		v[d] = 0 // the x2APIC id
	}
}
