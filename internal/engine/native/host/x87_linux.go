//go:build linux && amd64

package host

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// x87 keeps the opcode and the address of its last instruction, the address of its operand, and the selectors of both. Processors lose the selectors
// when the machine's kernel switches threads, and those of AMD also lose the rest, unless an exception is pending (XSAVE and
// FXSAVE, AMD APM volume 4). What is lost is 0. So here all of it is 0, and if an exception is pending, the selectors are.

// pending is the bit of the status word that says that an exception is pending which is not masked. The busy bit repeats it.
const (
	pending = 1 << 7
	busy    = 1 << 15
)

// maskAll masks all exceptions of x87 in the control word.
const maskAll = 0x3f

// steadyPointers makes the pointers of x87 in an area of FXSAVE or XSAVE what they are after each switch, and reports whether it changed any.
func steadyPointers(area []byte) bool {
	if area[fxStatus]&pending != 0 || zero(area[fxOpcode:fxMXCSR]) {
		return false
	}
	clear(area[fxOpcode:fxMXCSR])
	return true
}

// saveX87 does what FNSTENV, FNSAVE or FXSAVE does with an area of a thread's memory. false is a general protection fault.
func (m *Machine) saveX87(t *thread, in *code.Instruction, at uint64) bool {
	var area [512]byte
	if ptrace(unix.PTRACE_GETFPREGS, t.tid, 0, uintptr(unsafe.Pointer(&area))) != 0 {
		return false
	}
	steadyPointers(area[:])
	if in.Kind == code.FXSAVE {
		if at%16 != 0 {
			return false
		}
		if !in.Wide { // the form with selectors
			clear(area[12:16])
			clear(area[20:24])
		}
		return m.writeAt(t, at, area[:fxEnd]) == fxEnd
	}
	out := environment(area[:], in.Narrow)
	if in.Kind == code.FNSAVE {
		for at := fxStack; at < fxXMM; at += 16 {
			out = append(out, area[at:at+10]...)
		}
	}
	if m.writeAt(t, at, out) != len(out) {
		return false
	}
	le := binary.LittleEndian
	control, status := le.Uint16(area[:]), le.Uint16(area[fxStatus:])
	switch {
	case in.Kind == code.FNSAVE:
		clear(area[:fxMXCSR])
		le.PutUint16(area[:], initialFCW)
	case control&maskAll != maskAll:
		le.PutUint16(area[:], control|maskAll)
		le.PutUint16(area[fxStatus:], status&^(pending|busy))
		steadyPointers(area[:])
	default:
		return true
	}
	return ptrace(unix.PTRACE_SETFPREGS, t.tid, 0, uintptr(unsafe.Pointer(&area))) == 0
}

// environment returns the environment that FNSTENV stores, in the 32-bit form or the 16-bit one (Intel SDM volume 1,
// 8.1.10), from an area of FXSAVE.
func environment(area []byte, narrow bool) (out []byte) {
	le := binary.LittleEndian
	opcode := le.Uint16(area[fxOpcode:])
	instruction, operand := le.Uint32(area[8:]), le.Uint32(area[16:])
	if narrow {
		for _, v := range []uint16{le.Uint16(area), le.Uint16(area[fxStatus:]), tags(area), uint16(instruction), 0, uint16(operand), 0} {
			out = le.AppendUint16(out, v)
		}
		return out
	}
	const unused = 0xffff << 16
	for _, v := range []uint32{
		unused | uint32(le.Uint16(area)), unused | uint32(le.Uint16(area[fxStatus:])), unused | uint32(tags(area)), instruction,
		uint32(opcode) << 16, operand, unused,
	} {
		out = le.AppendUint32(out, v)
	}
	return out
}

// tags is the tag word of x87, of which an area of FXSAVE has one bit for each register: whether it is empty.
func tags(area []byte) (word uint16) {
	const valid, nought, special, empty = 0, 1, 2, 3
	le := binary.LittleEndian
	top := int(le.Uint16(area[fxStatus:])>>11) & 7
	for i := range 8 {
		r := area[fxStack+16*((i-top)&7):]
		exponent, significand := le.Uint16(r[8:])&0x7fff, le.Uint64(r)
		tag := uint16(special)
		switch {
		case area[fxTags]>>i&1 == 0:
			tag = empty
		case exponent == 0 && significand == 0:
			tag = nought
		case exponent != 0 && exponent != 0x7fff && significand>>63 == 1:
			tag = valid
		}
		word |= tag << (2 * i)
	}
	return word
}
