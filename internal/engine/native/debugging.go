//go:build linux && amd64

package native

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Debug implements engine.Debugged.
func (w *World) Debug() (engine.Debugging, error) {
	if w.closed {
		return nil, errors.New("the world is closed")
	}
	if w.stackCode == nil {
		w.stackCode = map[kernel.NodeID]dump.Files{}
	}
	return debugging{stopped{w}}, nil
}

// debugging is a stopped world that a debugger drives.
type debugging struct{ stopped }

// process names a process as programs of its node do.
type process struct {
	node kernel.NodeID
	pid  int
}

// debugger decides for the host where threads are held. It lives for one Run.
type debugger struct {
	k     *kernel.Kernel
	stops *engine.Stops
	traps map[process]*machine.Traps
	watch map[process][]int // for each watchpoint of a process, its index among the stops
	turn  uint64            // that of a step
	steps kernel.ThreadID
	halt  *machine.Arrival
	// wrote is a thread in whose memory the engine has written a watched place, and watched are these places.
	wrote   kernel.ThreadID
	watched uint32
}

// Run implements engine.Debugging.
func (x debugging) Run(s *engine.Stops) (halt engine.Halt, err error) {
	w := x.w
	d := &debugger{k: w.kernel, stops: s, traps: map[process]*machine.Traps{}, watch: map[process][]int{}}
	of := func(node string, pid int) (process, *machine.Traps) {
		p := process{w.nodeID(node), pid}
		if d.traps[p] == nil {
			d.traps[p] = &machine.Traps{}
		}
		return p, d.traps[p]
	}
	for _, b := range s.Breakpoints {
		if _, t := of(b.Node, b.PID); !slices.Contains(t.Breakpoints, b.Address) {
			t.Breakpoints = append(t.Breakpoints, b.Address)
		}
	}
	for i, b := range s.Watchpoints {
		p, t := of(b.Node, b.PID)
		switch b.Bytes {
		case 1, 2, 4, 8:
		default:
			return halt, fmt.Errorf("a watchpoint of %d bytes: the processor can watch 1, 2, 4 or 8 bytes", b.Bytes)
		}
		if b.Address%uint64(b.Bytes) != 0 {
			return halt, fmt.Errorf("a watchpoint of %d bytes at %#x: the processor can only watch addresses "+
				"that are aligned to the size", b.Bytes, b.Address)
		}
		if len(t.Watchpoints) == machine.MaxWatchpoints {
			return halt, fmt.Errorf("more than %d watchpoints in one process", machine.MaxWatchpoints)
		}
		t.Watchpoints = append(t.Watchpoints, machine.Watchpoint{Addr: b.Address, Bytes: b.Bytes, Reads: b.Reads})
		d.watch[p] = append(d.watch[p], i)
	}
	if s.Step {
		if d.turn, d.steps = w.kernel.Turns, w.kernel.Held; d.steps == 0 {
			return halt, errors.New("no thread is stopped within its turn")
		}
	}
	m := w.real.Machine
	w.debugger, m.Debugger, m.TrapsRefused = d, d, nil
	defer func() { w.debugger, m.Debugger = nil, nil }()
	if halt.Reason, err = w.Advance(s.Until); err == nil {
		err = m.TrapsRefused
	}
	if err != nil || halt.Reason != record.Halted {
		return halt, err
	}
	t, held := x.Held()
	watched := d.watched
	switch {
	case held:
		a := d.halt
		halt.PC, halt.Begins, halt.Step, halt.Break = a.PC, a.Start, a.Stepped, a.Break
		watched = a.Watched
	case w.kernel.Threads[d.wrote] != nil:
		t = x.name(w.kernel.Threads[d.wrote])
	}
	halt.Thread, halt.Over = t, !held && s.Step
	for i, of := range d.watch[process{w.nodeID(t.Node), t.PID}] {
		if watched>>i&1 != 0 {
			halt.Watched = append(halt.Watched, of)
		}
	}
	return halt, nil
}

// Traps implements machine.Debugger.
func (d *debugger) Traps(id kernel.ThreadID) *machine.Traps {
	t := d.k.Threads[id]
	return d.traps[process{t.Node, d.k.Proc(t).PID}]
}

// Steps implements machine.Debugger.
func (d *debugger) Steps(id kernel.ThreadID) bool {
	return id == d.steps && d.k.Turns == d.turn && d.halt == nil
}

// Wrote implements machine.Debugger.
func (d *debugger) Wrote(id kernel.ThreadID, addr uint64, bytes int) {
	t := d.k.Threads[id]
	if t == nil || d.k.Procs[t.Proc] == nil {
		return
	}
	traps := d.traps[process{t.Node, d.k.Proc(t).PID}]
	if traps == nil {
		return
	}
	for i, w := range traps.Watchpoints {
		if addr < w.Addr+uint64(w.Bytes) && w.Addr < addr+uint64(bytes) {
			d.wrote = id
			d.watched |= 1 << i
		}
	}
}

// Arrived implements machine.Debugger.
func (d *debugger) Arrived(id kernel.ThreadID, a machine.Arrival) bool {
	if a.Start && d.wrote == id { // the call that it waited in has ended just before
		a.Watched = d.watched
	}
	if !a.Stepped && !a.Break && a.Watched == 0 && !d.begins(id) {
		return false
	}
	d.halt = &a
	return true
}

// begins reports whether the world is to stop at the beginning of the turn of a thread.
func (d *debugger) begins(id kernel.ThreadID) bool {
	t, b := d.k.Threads[id], d.stops.Begins
	return d.stops.Turn == d.k.Turns || b != nil && b.TID == t.TID && b.Node == d.k.Nodes[t.Node].Name
}

// Asks implements machine.Debugger.
func (d *debugger) Asks(id kernel.ThreadID) bool { return d.wrote == id || d.begins(id) }

// stopped reports whether the world is to stop between two turns.
func (d *debugger) stopped() bool { return d != nil && (d.steps != 0 || d.wrote != 0) }

func (x debugging) Turn() uint64 { return x.w.kernel.Turns }

func (x debugging) Held() (engine.Thread, bool) {
	k := x.w.kernel
	t := k.Threads[k.Held]
	if t == nil {
		return engine.Thread{}, false
	}
	return x.name(t), true
}

func (x debugging) name(t *kernel.Thread) engine.Thread {
	k := x.w.kernel
	p := k.Proc(t)
	return engine.Thread{Node: k.Node(t).Name, Program: p.Path, PID: p.PID, TID: t.TID, Name: t.Name}
}

func (x debugging) WaitsFor(node string, tid int) (why string, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		t, err := x.thread(node, func(t *kernel.Thread) bool { return t.TID == tid }, "thread", tid)
		if err == nil {
			why = linux.WaitsFor(k, t)
		}
		return err
	})
	return why, err
}

func (x debugging) CPU(node string, tid int) (cpu *engine.CPU, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		t, regs, err := x.registersOf(k, node, tid)
		if err != nil {
			return err
		}
		cpu = &engine.CPU{General: *(*[27]uint64)(unsafe.Pointer(&regs)), Extended: k.M.XState(t.ID)}
		return nil
	})
	return cpu, err
}

func (x debugging) Stack(node string, tid int, executed bool) (s record.ThreadStack, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		t, err := x.thread(node, func(t *kernel.Thread) bool { return t.TID == tid }, "thread", tid)
		if err != nil {
			return err
		}
		p := linux.Standing(k, t)
		if len(p.Threads) == 0 || p.Threads[0].TID != tid {
			return fmt.Errorf("cannot read the registers of thread %d of node %s", tid, node)
		}
		if x.w.stackCode[t.Node] == nil {
			x.w.stackCode[t.Node] = dump.Files{}
		}
		p.Files, p.Debug, p.Threads = x.w.stackCode[t.Node], debugFile, p.Threads[:1]
		p.Threads[0].Executed = executed
		s = threadStack(&p.Threads[0], p.Stacks()[0])
		return nil
	})
	return s, err
}

func (x debugging) Auxv(node string, pid int) (b []byte, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		t, err := x.process(node, pid)
		if err == nil {
			b = slices.Clone(k.Proc(t).Auxv)
		}
		return err
	})
	return b, err
}

func (x debugging) Maps(node string, pid int) (text string, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		t, err := x.process(node, pid)
		if err == nil {
			text = linux.MapsOf(k, t)
		}
		return err
	})
	return text, err
}

func (x debugging) SetMemory(node string, pid int, address uint64, b []byte) error {
	return x.ask(func(k *kernel.Kernel) error {
		t, err := x.process(node, pid)
		if err != nil {
			return err
		}
		if !writable(k.M.Maps(t.ID), address, uint64(len(b))) || x.w.real.Machine.Poke(t.ID, address, b) < len(b) {
			return fmt.Errorf("process %d of node %s cannot write to the %d bytes at %#x itself, so neither can "+
				"a debugger", pid, node, len(b), address)
		}
		k.Unrepeatable("a debugger wrote to the memory of %s", k.Proc(t).Path)
		return nil
	})
}

// writable reports whether a program may write to a whole range of addresses, of which no page is the engine's.
func writable(maps string, address, bytes uint64) bool {
	end := address + bytes
	if end < address || machine.Reserved(address, bytes) {
		return false
	}
	for line := range strings.Lines(maps) { // in the order of their addresses
		if m, ok := machine.ParseMap(line); ok && m.Writable && m.Start <= address && address < m.End {
			address = min(m.End, end)
		}
	}
	return address == end
}

func (x debugging) SetCPU(node string, tid int, cpu *engine.CPU) error {
	return x.ask(func(k *kernel.Kernel) error {
		t, seen, err := x.registersOf(k, node, tid)
		switch {
		case err != nil:
			return err
		case t.InCall:
			return fmt.Errorf("thread %d of node %s waits in %s: its registers cannot be written until the call returns", tid, node, k.CallName(t))
		}
		regs, ok := k.M.Look(t.ID)
		if !ok {
			return fmt.Errorf("cannot write the registers of thread %d of node %s", tid, node)
		}
		if err := change((*generalRegisters)(unsafe.Pointer(&regs)), (*generalRegisters)(unsafe.Pointer(&seen)),
			(*generalRegisters)(&cpu.General)); err != nil {
			return err
		}
		extended := cpu.Extended
		if bytes.Equal(extended, k.M.XState(t.ID)) {
			extended = nil
		}
		if err := x.w.real.Machine.SetCPU(t.ID, &regs, extended); err != nil {
			return fmt.Errorf("thread %d of node %s: %w", tid, node, err)
		}
		k.Unrepeatable("a debugger wrote to the registers of %s", k.Proc(t).Path)
		return nil
	})
}

// generalRegisters are in the order of struct user_regs_struct (sys/user.h).
type generalRegisters [27]uint64

// Places of general registers that are not all a program's own.
const (
	placeOrigRAX = 15
	placeRIP     = 16
	placeFlags   = 18
	placeRSP     = 19
	// arithmetic are the flags CF, PF, AF, ZF, SF, DF and OF.
	arithmetic = 0xcd5
	// userEnd is above all addresses of programs.
	userEnd = 1 << 47
)

// change gives registers the values that differ from what a debugger has seen. Segments, their bases and the number of a call stay as they are, and the
// instruction pointer stays among the addresses of programs: by these the real kernel knows a call that the engine makes.
func change(regs, seen, wanted *generalRegisters) error {
	for i := range wanted {
		if wanted[i] == seen[i] {
			continue
		}
		switch {
		case i == placeFlags && (wanted[i]^seen[i])&^arithmetic == 0:
			regs[i] = regs[i]&^arithmetic | wanted[i]&arithmetic
		case i < placeOrigRAX, i == placeRSP, i == placeRIP && wanted[i] < userEnd:
			regs[i] = wanted[i]
		case i == placeRIP:
			return fmt.Errorf("%#x is not an address that a program can have", wanted[i])
		case i == placeFlags:
			return errors.New("only the arithmetic flags and the direction flag can be written")
		default:
			return errors.New("segment registers, their bases and orig_rax cannot be written")
		}
	}
	return nil
}
