//go:build linux && amd64

package dump

import (
	"encoding/binary"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/go-delve/delve/pkg/dwarf/op"
	"golang.org/x/sys/unix"
)

// Limits of what is reported of stacks.
const (
	MaxThreads  = 64      // whose stacks are reported
	firstFrames = 48      // of a stack, from the innermost call on
	lastFrames  = 16      // of a longer one, from its end
	maxFrames   = 500_000 // that are looked at: an endless recursion has more
	// maxRuleBytes bounds what is executed of the rules by which frames are found, which are the program's own words.
	maxRuleBytes = 64 << 20
)

// Frame is a call under way.
type Frame struct {
	PC       uint64
	Function string // empty if nothing names the place
	Offset   uint64 // of PC in it
	File     string
	Line     int
	Module   string // the file that has the code, as the process sees it
	Inlined  bool   // in the frame that follows
}

// Stack are the calls of a thread, the innermost first.
type Stack struct {
	Frames []Frame
	// Skipped frames lie before Frames[SkippedAt], and Endless says that there are more than were looked at.
	Skipped, SkippedAt int
	Endless            bool
}

// Registers of x86-64 by their DWARF numbers (System V ABI, figure 3.36).
const (
	dwRBP     = 6
	dwRSP     = 7
	dwRA      = 16
	registers = 17
)

type frameRegs [registers]uint64

func fromUser(r *unix.PtraceRegs) frameRegs {
	return frameRegs{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rip}
}

// Stacks finds the calls of the first threads, with names and lines as far as the files of the process have them.
func (p *Process) Stacks() []Stack {
	w := &walker{Process: p, files: p.Files, names: map[uint64][]Frame{}, rules: map[uint64]*frame.FrameContext{}}
	if w.files == nil {
		w.files = Files{}
	}
	var list []Stack
	for i := range p.Threads[:min(len(p.Threads), MaxThreads)] {
		list = append(list, w.stack(&p.Threads[i]))
	}
	return list
}

// walker follows stacks. Files are read once.
type walker struct {
	*Process
	files Files
	names map[uint64][]Frame
	rules map[uint64]*frame.FrameContext // by the place of a call: recursions come by it again and again
	ruled int                            // bytes of rules that were executed
}

// affords reports whether so many bytes of rules may be executed still.
func (w *walker) affords(bytes int) bool {
	w.ruled += bytes
	return w.ruled <= maxRuleBytes
}

func (w *walker) stack(t *Thread) (s Stack) {
	defer func() { recover() }() // readers of debug information trust it: what was found before counts
	regs := fromUser(&t.Regs)
	exact := !t.Executed // the frame was interrupted at its PC: it has made no call there
	var last []uint64    // the ends of the PCs that follow, with exactness in lastExact
	var lastExact []bool
	depth := 0
	for ; depth < maxFrames; depth++ {
		pc := regs[dwRA]
		exact = exact || w.returnsFromSignal(pc)
		if depth < firstFrames {
			s.Frames = append(s.Frames, w.frames(pc, exact)...)
		} else {
			last, lastExact = append(last, pc), append(lastExact, exact)
		}
		next, interrupted, ok := w.up(&regs, exact)
		if !ok || w.outermost(pc, exact) {
			depth++
			break
		}
		regs, exact = next, interrupted
	}
	s.Endless = depth == maxFrames
	if skipped := len(last) - lastFrames; skipped > 0 {
		s.Skipped, s.SkippedAt = skipped, len(s.Frames)
		last, lastExact = last[skipped:], lastExact[skipped:]
	}
	for i, pc := range last {
		s.Frames = append(s.Frames, w.frames(pc, lastExact[i])...)
	}
	return s
}

// outermost reports whether a function has no caller: Go's table of frames does not say so.
func (w *walker) outermost(pc uint64, exact bool) bool {
	m, at := w.module(pc)
	if m == nil {
		return false
	}
	switch name, _ := m.function(at - back(exact)); name {
	case "runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_start":
		return true
	}
	return false
}

// back is by how much the place of a call lies before the address that it returns to.
func back(exact bool) uint64 {
	if exact {
		return 0
	}
	return 1
}

// frames names a place: the functions that were inlined there, and the one that they are in. Threads wait at few places: each is looked up
// once.
func (w *walker) frames(pc uint64, exact bool) []Frame {
	place := pc - back(exact)
	if w.names[place] == nil {
		w.names[place] = w.look(pc, exact)
	}
	return w.names[place]
}

func (w *walker) look(pc uint64, exact bool) []Frame {
	m, at := w.module(pc)
	if m == nil {
		f := Frame{PC: pc}
		if in := w.mapAt(pc); in != nil {
			f.Module = in.Name
		}
		return []Frame{f}
	}
	list := m.frames(at - back(exact))
	for i := range list {
		list[i].PC, list[i].Module = pc, m.name
		if i == len(list)-1 {
			if name, start := m.function(at - back(exact)); name != "" {
				list[i].Function, list[i].Offset = name, at-start
			}
		}
	}
	return list
}

// up finds the registers of the caller. interrupted says that the caller has made no call, but was interrupted by a signal.
func (w *walker) up(regs *frameRegs, exact bool) (next frameRegs, interrupted, ok bool) {
	pc := regs[dwRA]
	if pc == 0 && !exact {
		return next, false, false
	}
	if w.returnsFromSignal(pc) {
		return w.interrupted(regs)
	}
	if m, at := w.module(pc); m != nil {
		if fde := m.unwind(at - back(exact)); fde != nil {
			next, ok = w.byTable(regs, fde, at-back(exact), pc-back(exact))
			return next, false, ok && next[dwRSP] > regs[dwRSP]
		}
	}
	return w.byPointer(regs, exact)
}

// sigreturn lists the code to which C libraries and Go's runtime return from a signal handler: mov $15,%rax; syscall.
var sigreturn = [][]byte{{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}}

func (w *walker) returnsFromSignal(pc uint64) bool {
	var code [9]byte
	n := w.ReadAt(pc, code[:])
	for _, c := range sigreturn {
		if n >= len(c) && string(code[:len(c)]) == string(c) {
			return true
		}
	}
	return false
}

// interrupted reads the registers that a signal has interrupted from its frame, struct ucontext at the stack pointer
// (asm/sigcontext.h).
func (w *walker) interrupted(regs *frameRegs) (next frameRegs, interrupted, ok bool) {
	const context = 8 + 8 + 24 // uc_flags, uc_link, uc_stack
	var b [17 * 8]byte
	if w.ReadAt(regs[dwRSP]+context, b[:]) != len(b) {
		return next, false, false
	}
	for i, number := range []int{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, dwRBP, 3, 1, 0, 2, dwRSP, dwRA} {
		next[number] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return next, true, true
}

// byTable applies what .eh_frame or .debug_frame says of a place (DWARF 5, 6.4.3): at is its address in the file, place in the process.
func (w *walker) byTable(regs *frameRegs, fde *frame.FrameDescriptionEntry, at, place uint64) (next frameRegs, ok bool) {
	defer func() { // delve trusts its input
		if recover() != nil {
			ok = false
		}
	}()
	c := w.rules[place]
	if c == nil {
		if !w.affords(len(fde.Instructions) + len(fde.CIE.InitialInstructions)) {
			return next, false
		}
		var err error
		if c, err = fde.EstablishFrame(at); err != nil {
			return next, false
		}
		w.rules[place] = c
	}
	cfa := uint64(0)
	switch c.CFA.Rule {
	case frame.RuleCFA:
		if c.CFA.Reg >= registers {
			return next, false
		}
		cfa = regs[c.CFA.Reg] + uint64(c.CFA.Offset)
	case frame.RuleExpression:
		if cfa, ok = w.expression(regs, c.CFA.Expression, 0); !ok {
			return next, false
		}
	default:
		return next, false
	}
	next = *regs
	next[dwRSP] = cfa
	read := func(number uint64, addr uint64) {
		v, readable := w.word(addr)
		next[number], ok = v, ok && readable
	}
	ok = true
	for number, rule := range c.Regs {
		if number >= registers {
			continue
		}
		switch rule.Rule {
		case frame.RuleUndefined:
			if number == c.RetAddrReg { // the outermost frame
				return next, false
			}
		case frame.RuleOffset:
			read(number, cfa+uint64(rule.Offset))
		case frame.RuleValOffset:
			next[number] = cfa + uint64(rule.Offset)
		case frame.RuleRegister:
			if rule.Reg < registers {
				next[number] = regs[rule.Reg]
			}
		case frame.RuleExpression:
			addr, known := w.expression(regs, rule.Expression, cfa)
			if ok = ok && known; known {
				read(number, addr)
			}
		case frame.RuleValExpression:
			v, known := w.expression(regs, rule.Expression, cfa)
			next[number], ok = v, ok && known
		}
	}
	return next, ok && next[dwRA] != 0
}

// expression evaluates a DWARF expression; the frame's address lies on its stack, where there is one.
func (w *walker) expression(regs *frameRegs, code []byte, cfa uint64) (uint64, bool) {
	if !w.affords(len(code)) {
		return 0, false
	}
	list := make([]*op.DwarfRegister, registers)
	for i := range list {
		list[i] = op.DwarfRegisterFromUint64(regs[i])
	}
	if cfa != 0 { // DW_OP_const8u
		code = append(binary.LittleEndian.AppendUint64([]byte{byte(op.DW_OP_const8u)}, cfa), code...)
	}
	v, _, err := op.ExecuteStackProgram(*op.NewDwarfRegisters(0, list, binary.LittleEndian, dwRA, dwRSP, dwRBP, 0), code, 8,
		func(b []byte, addr uint64) (int, error) {
			if n := w.ReadAt(addr, b); n != len(b) {
				return n, op.ErrMemoryReadUnavailable
			}
			return len(b), nil
		})
	return uint64(v), err == nil
}

// byPointer follows the frame pointer, or takes the top of the stack for the caller's address where a call has led to no code.
func (w *walker) byPointer(regs *frameRegs, exact bool) (next frameRegs, interrupted, ok bool) {
	sp := regs[dwRSP]
	top, readable := w.word(sp)
	if exact && readable && w.code(top) && !w.code(regs[dwRA]) {
		next = *regs
		next[dwRA], next[dwRSP] = top, sp+8
		return next, false, true
	}
	if bp := regs[dwRBP]; bp >= sp {
		caller, known := w.word(bp + 8)
		outer, saved := w.word(bp)
		if known && saved && w.code(caller) {
			next = *regs
			next[dwRA], next[dwRBP], next[dwRSP] = caller, outer, bp+16
			return next, false, true
		}
	}
	return next, false, false
}

// code reports whether an address is one of code.
func (w *walker) code(addr uint64) bool {
	m := w.mapAt(addr)
	return m != nil && m.Exec
}
