//go:build linux && amd64

package host

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// The processor keeps of each component of the extended state (x87, SSE, AVX, ...) whether it is in its initial configuration. A component
// that holds nothing but its initial value may count as the one or as the other, and a switch of the real kernel changes it. XSAVE and its
// kin, XGETBV with 1 and the frames of signals show it. Here a component is in use if its value is not the initial one, and nothing
// else counts (Intel SDM volume 1, chapter 13).

// The layout of an XSAVE area.
const (
	fxControl  = 0 // of x87: control word, status, tags, opcode, and the last instruction and operand
	fxStatus   = 2
	fxTags     = 4   // a bit for each register that is not empty
	fxOpcode   = 6   // of the last instruction, before its address and that of its operand
	fxMXCSR    = 24  // with its mask
	fxStack    = 32  // of x87
	fxXMM      = 160 // sixteen registers
	fxEnd      = 416
	fxMagic    = 464 // what Linux puts there in frames of signals: FP_XSTATE_MAGIC1, two sizes and the components between them
	xsaveUsed  = 512 // XSTATE_BV
	xsaveForm  = 520 // XCOMP_BV
	xsaveEnd   = 576
	compacted  = 1 << 63
	x87, sse   = 0, 1
	avx        = 2
	pkru       = 9
	pkruBytes  = 4 // of eight: some processors of AMD leave the others as they are in memory
	legacy     = 1<<x87 | 1<<sse
	initialFCW = 0x37f
	initialCSR = 0x1f80

	fpXStateMagic = 0x46505853
)

func xcr0() uint64

// component says where a component lies in an area in standard form, and whether it is aligned in a compacted one.
type component struct {
	size, offset uint64
	aligned      bool
}

// components returns the components of this processor's extended state, by number.
func (m *Machine) components() *[64]component {
	if m.layout == nil {
		m.layout = &[64]component{}
		for n := avx; n < 63; n++ {
			if xcr0()>>n&1 == 0 {
				continue
			}
			v := m.ask(0xd, uint32(n))
			m.layout[n] = component{size: uint64(v[0]), offset: uint64(v[1]), aligned: v[2]&2 != 0}
		}
	}
	return m.layout
}

// extended is the extended state of a thread, in standard form.
type extended struct {
	area       []byte
	enabled    uint64
	components *[64]component
}

// maxExtended bounds an XSAVE area.
const maxExtended = 1 << 14

func (m *Machine) extended(t *thread) *extended {
	s := &extended{area: make([]byte, maxExtended), enabled: xcr0(), components: m.components()}
	area := unix.Iovec{Base: &s.area[0], Len: uint64(len(s.area))}
	ptrace(unix.PTRACE_GETREGSET, t.tid, ntX86XState, uintptr(unsafe.Pointer(&area)))
	steadyPointers(s.area)
	return s
}

func zero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// used are the components that do not have their initial value.
func (s *extended) used() (mask uint64) {
	if binary.LittleEndian.Uint16(s.area) != initialFCW || !zero(s.area[2:fxMXCSR]) || !zero(s.area[fxStack:fxXMM]) {
		mask |= 1 << x87
	}
	if !zero(s.area[fxXMM:fxEnd]) {
		mask |= 1 << sse
	}
	for rest := s.enabled &^ legacy; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		if !zero(s.component(n)) {
			mask |= 1 << n
		}
	}
	return mask
}

// component returns the bytes of a component beyond SSE.
func (s *extended) component(n int) []byte {
	c := &s.components[n]
	from, to := min(c.offset, maxExtended), min(c.offset+c.size, maxExtended)
	return s.area[from:to]
}

// holes are the parts of an area of some size that belong to no component. Nothing writes to them in the frame of a signal, but
// Linux clears the whole area first if it cannot write to the stack at once: where a page is one that another process has, too,
// such as the original of a copy.
func (s *extended) holes(size uint64) (list [][2]uint64) {
	list = append(list, [2]uint64{fxEnd, fxMagic})
	var places []component
	for rest := s.enabled &^ legacy; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		c := s.components[n]
		if n == pkru {
			c.size = min(c.size, pkruBytes)
		}
		places = append(places, c)
	}
	slices.SortFunc(places, func(a, b component) int { return cmp.Compare(a.offset, b.offset) })
	at := uint64(xsaveEnd)
	for _, c := range append(places, component{offset: size}) {
		if at < min(c.offset, size) {
			list = append(list, [2]uint64{at, min(c.offset, size)})
		}
		at = max(at, c.offset+c.size)
	}
	return list
}

// save does what XSAVE, XSAVEOPT or XSAVEC does with an area of a thread's memory. false is a general protection fault.
func (m *Machine) save(t *thread, in *code.Instruction, at uint64) bool {
	s := m.extended(t)
	r := t.load()
	asked := (r.Rax&0xffffffff | r.Rdx<<32) & s.enabled
	used := s.used()
	le := binary.LittleEndian
	if at%64 != 0 {
		return false
	}
	var header [16]byte
	if m.readAt(t, at+xsaveUsed, header[:]) != len(header) {
		return false
	}
	stores := asked
	if in.Kind != code.XSAVE {
		stores &= used
	}
	if in.Kind == code.XSAVEC && asked>>sse&1 != 0 && le.Uint32(s.area[fxMXCSR:]) != initialCSR {
		used |= 1 << sse
		stores |= 1 << sse
	}
	ok := true
	write := func(offset uint64, b []byte) { ok = ok && m.writeAt(t, at+offset, b) == len(b) }
	if stores>>x87&1 != 0 {
		if !in.Wide { // the form with selectors, which processors keep no more
			clear(s.area[12:16])
			clear(s.area[20:24])
		}
		write(fxControl, s.area[fxControl:fxMXCSR])
		write(fxStack, s.area[fxStack:fxXMM])
	}
	if in.Kind == code.XSAVEC && stores>>sse&1 != 0 || in.Kind != code.XSAVEC && asked&(1<<sse|1<<avx) != 0 {
		write(fxMXCSR, s.area[fxMXCSR:fxStack])
	}
	if stores>>sse&1 != 0 {
		write(fxXMM, s.area[fxXMM:fxEnd])
	}
	offset := uint64(xsaveEnd)
	for rest := asked &^ legacy; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		c := &s.components[n]
		to := c.offset
		if in.Kind == code.XSAVEC {
			if c.aligned {
				offset = (offset + 63) &^ 63
			}
			to = offset
			offset += c.size
		}
		if stores>>n&1 != 0 {
			write(to, s.component(n))
		}
	}
	if in.Kind == code.XSAVEC {
		le.PutUint64(header[0:], asked&used)
		le.PutUint64(header[8:], asked|compacted)
		write(xsaveUsed, header[:])
	} else {
		le.PutUint64(header[0:], le.Uint64(header[0:])&^asked|asked&used)
		write(xsaveUsed, header[:8])
	}
	return ok
}

// Places in struct rt_sigframe, from the stack pointer: behind pretcode (8), uc_flags (8), uc_link (8) and uc_stack (24) struct sigcontext
// follows (256), and then uc_sigmask.
const (
	frameContext = 8 + 8 + 8 + 24
	frameError   = frameContext + 152 // err and trapno
	frameFault   = frameContext + 176 // cr2
	frameState   = frameContext + 184 // the address of the extended state
	frameSigmask = frameContext + 256
)

// steadyFrame brings the frame of a signal, which the real kernel has just built, to the one form that it has in each run. asynchronous
// says that no fault of the processor is behind the signal: then what the frame says of the last fault is what the engine's own stops
// have left there.
func (m *Machine) steadyFrame(t *thread, asynchronous bool) {
	sp := t.load().Rsp
	if asynchronous {
		m.writeAt(t, sp+frameError, make([]byte, 16))
		m.writeAt(t, sp+frameFault, make([]byte, 8))
	}
	var b [8]byte
	if m.readAt(t, sp+frameState, b[:]) != len(b) {
		return
	}
	at := binary.LittleEndian.Uint64(b[:])
	s := &extended{area: make([]byte, maxExtended), components: m.components()}
	if n := m.readAt(t, at, s.area[:xsaveEnd]); n != xsaveEnd || binary.LittleEndian.Uint32(s.area[fxMagic:]) != fpXStateMagic {
		return
	}
	size := min(uint64(binary.LittleEndian.Uint32(s.area[fxMagic+16:])), maxExtended)
	if size > xsaveEnd {
		m.readAt(t, at+xsaveEnd, s.area[xsaveEnd:size])
	}
	if steadyPointers(s.area) {
		m.writeAt(t, at+fxOpcode, s.area[fxOpcode:fxMXCSR])
	}
	s.enabled = binary.LittleEndian.Uint64(s.area[fxMagic+8:])
	for _, hole := range s.holes(size) {
		if b := s.area[hole[0]:hole[1]]; !zero(b) {
			clear(b)
			m.writeAt(t, at+hole[0], b)
		}
	}
	// What the kernel counts as initial it may have left out.
	counted := binary.LittleEndian.Uint64(s.area[xsaveUsed:])
	for rest := s.enabled &^ counted &^ legacy; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		if b := s.component(n); !zero(b) && s.components[n].offset+s.components[n].size <= size {
			clear(b)
			m.writeAt(t, at+s.components[n].offset, b)
		}
	}
	binary.LittleEndian.PutUint64(b[:], s.used()&counted|legacy) // Linux counts those as used in any case
	m.writeAt(t, at+xsaveUsed, b[:])
}
