//go:build linux && amd64

package native

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// maxDumps is of how many programs of a run a core file is written.
const maxDumps = 4

// dumps has what was left of programs, by process, until their ends are noticed.
type dumps struct {
	Of      map[kernel.ProcID]leftover
	Written int
}

// leftover is a dump, and the signal that it was made for.
type leftover struct {
	Signal int
	Dump   *record.Dump
}

// takeDump removes and returns the dump of a process that a signal has ended, or nil.
func (d *dumps) takeDump(p kernel.ProcID, signal int) *record.Dump {
	l := d.Of[p]
	delete(d.Of, p)
	if l.Signal != signal {
		return nil
	}
	return l.Dump
}

// fatal keeps what is left of a program under test that a signal is about to end. It changes nothing that the world could see.
func (w *World) fatal(t *kernel.Thread, sig int, info [128]byte) {
	k := w.kernel
	p := k.Procs[t.Proc]
	if k.Nodes[t.Node].Driver || p.Tag == 0 || w.director.Jobs[p.Tag-1].Kind.Asks() || w.dumps.Written == maxDumps {
		return
	}
	w.dumps.Written++
	left := linux.Remains(k, t, sig, info)
	if len(left.Threads) == 0 {
		return
	}
	left.Debug = debugFile
	d := &record.Dump{Why: why(left), Registers: registers(&left.Threads[0].Regs), Instruction: instruction(left),
		ThreadsLeft: max(len(left.Threads)-dump.MaxThreads, 0)}
	if hasAddress(left) {
		d.Address = fmt.Sprintf("%#x", binary.LittleEndian.Uint64(info[16:]))
	}
	for i, s := range left.Stacks() {
		d.Threads = append(d.Threads, threadStack(&left.Threads[i], s))
	}
	for i := len(w.outcome.Programs) - 1; i >= 0 && d.Program == ""; i-- {
		if w.outcome.Programs[i].Path == p.Path {
			d.Program = w.outcome.Programs[i].File
		}
	}
	name := fmt.Sprintf("%d-%s-%s-%d.core", w.dumps.Written, k.Nodes[t.Node].Name, filepath.Base(p.Path), p.PID)
	d.Core, d.CoreNote = writeCore(filepath.Join(w.options.Dumps, fileName(name)), left)
	if w.dumps.Of == nil {
		w.dumps.Of = map[kernel.ProcID]leftover{}
	}
	w.dumps.Of[p.ID] = leftover{sig, d}
}

// fileName keeps of a name what every file system takes.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, name)
}

// maxDebugFile bounds a file with debug information.
const maxDebugFile = 1 << 30

// debugFile reads a file with debug information of this machine, nil if there is none.
func debugFile(path string) (file []byte) {
	outside(func() { file, _ = regular.Read(path, maxDebugFile) })
	return file
}

// outside does something on another OS thread than the world's, which the walls do not concern (host.Enclose).
func outside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func writeCore(path string, p *dump.Process) (core, note string) {
	var f *os.File
	var err error
	outside(func() { f, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) })
	if err != nil {
		return "", err.Error()
	}
	note, err = p.WriteCore(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		outside(func() { os.Remove(path) })
		return "", err.Error()
	}
	return path, note
}

func threadStack(t *dump.Thread, s dump.Stack) record.ThreadStack {
	out := record.ThreadStack{TID: t.TID, Name: t.Name, Skipped: s.Skipped, SkippedAt: s.SkippedAt, Endless: s.Endless}
	for _, f := range s.Frames {
		out.Frames = append(out.Frames, record.Frame{PC: fmt.Sprintf("%#x", f.PC), Function: f.Function, Offset: f.Offset,
			File: f.File, Line: f.Line, Module: f.Module, Inlined: f.Inlined})
	}
	return out
}

func registers(r *unix.PtraceRegs) (list []record.Register) {
	for _, x := range []struct {
		name  string
		value uint64
	}{{"rip", r.Rip}, {"rsp", r.Rsp}, {"rbp", r.Rbp}, {"rax", r.Rax}, {"rbx", r.Rbx}, {"rcx", r.Rcx}, {"rdx", r.Rdx}, {"rsi", r.Rsi}, {"rdi", r.Rdi},
		{"r8", r.R8}, {"r9", r.R9}, {"r10", r.R10}, {"r11", r.R11}, {"r12", r.R12}, {"r13", r.R13}, {"r14", r.R14},
		{"r15", r.R15}, {"eflags", r.Eflags}, {"fs_base", r.Fs_base}, {"gs_base", r.Gs_base}} {
		list = append(list, record.Register{Name: x.name, Value: fmt.Sprintf("%#x", x.value)})
	}
	return list
}

// instruction is the one that the ended thread had come to.
func instruction(p *dump.Process) string {
	pc := p.Threads[0].Regs.Rip
	code := make([]byte, 15)
	code = code[:p.ReadAt(pc, code)]
	in, err := x86asm.Decode(code, 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%#x: %s", pc, x86asm.GNUSyntax(in, pc, nil))
}

// Values of si_code (asm-generic/siginfo.h).
const (
	siUser   = 0
	siKernel = 0x80
	siTkill  = -6
)

func codeOf(p *dump.Process) int32 { return int32(binary.LittleEndian.Uint32(p.Info[8:])) }

// hasAddress reports whether the siginfo of a signal has an address (sigaction(2)).
func hasAddress(p *dump.Process) bool {
	switch unix.Signal(p.Signal) {
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE, unix.SIGTRAP:
		return codeOf(p) > 0 && codeOf(p) < siKernel
	}
	return false
}

// why says what a signal was raised for.
func why(p *dump.Process) string {
	code := codeOf(p)
	sender := int(int32(binary.LittleEndian.Uint32(p.Info[16:])))
	switch {
	case code == siTkill || code == siUser:
		if sender == p.PID {
			return "raised by the program itself"
		}
		return fmt.Sprintf("sent by process %d", sender)
	case code < 0:
		return fmt.Sprintf("queued by process %d", sender)
	}
	if text := reasons[unix.Signal(p.Signal)][code]; text != "" {
		return text
	}
	if code == siKernel {
		return "raised by the kernel"
	}
	return fmt.Sprintf("si_code %d", code)
}

// reasons are the codes of signals that the processor raises.
var reasons = map[unix.Signal]map[int32]string{
	unix.SIGSEGV: {1: "address not mapped", 2: "no right to access the address that way", 5: "protection key",
		siKernel: "general protection: an address that cannot be one, or an instruction that needs privilege"},
	unix.SIGBUS: {1: "address not aligned", 2: "beyond the end of a mapped file", 3: "hardware error"},
	unix.SIGFPE: {1: "integer division by zero, or its result is too large", 2: "integer overflow",
		3: "floating-point division by zero", 4: "floating-point overflow", 5: "floating-point underflow",
		6: "floating-point result is inexact", 7: "invalid floating-point operation"},
	unix.SIGILL:  {1: "illegal opcode", 2: "illegal operand", 3: "illegal addressing mode", 4: "illegal trap", 5: "privileged opcode"},
	unix.SIGTRAP: {1: "breakpoint instruction", 2: "trace trap", siKernel: "breakpoint instruction"},
	unix.SIGSYS:  {1: "a system call that a filter forbids"},
}
