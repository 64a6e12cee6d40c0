package debug

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/view"
)

// maxTracked bounds the changes that track prints.
const maxTracked = 1000

// Track runs a copy of the world from the beginning of the timeline to the end of the run, or until note returns false, and gives note each change of a
// place: where it was made, by which thread, the instruction behind the one that made it (0 for a system call), and the bytes before and after.
func (t *Timeline) Track(place engine.Watchpoint, note func(w World, th engine.Thread, pc uint64, before, after []byte) bool) error {
	w, err := t.snapshots[0].world.Fork()
	if err != nil {
		return err
	}
	defer w.Close()
	s := &Stops{Watchpoints: []engine.Watchpoint{place}}
	all, _, _ := union(nil, s)
	read := func() []byte {
		b, err := w.Memory(place.Node, place.PID, place.Address, place.Bytes)
		if err != nil || len(b) < place.Bytes {
			return nil
		}
		return b
	}
	before := read()
	for {
		h, err := t.run(w, all)
		if err != nil || h.Reason != engine.Halted {
			return err
		}
		if after := read(); !bytes.Equal(before, after) {
			if !note(w, h.Thread, h.PC, before, after) {
				return nil
			}
			before = after
		}
	}
}

// program has the names of a process' own file.
type program struct {
	bias    uint64
	symbols []elf.Symbol // by address
}

// programOf reads the file of a process' program.
func programOf(w World, node string, pid int) (*program, error) {
	threads, err := w.Threads()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(threads, func(t engine.Thread) bool { return t.Node == node && t.PID == pid })
	if i < 0 {
		return nil, fmt.Errorf("node %s has no process %d here; ps lists those that there are", node, pid)
	}
	path := threads[i].Program
	b, err := contents(w, node, path)
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &program{}
	if p.symbols, err = f.Symbols(); err != nil {
		return p, nil // addresses are left
	}
	slices.SortStableFunc(p.symbols, func(a, b elf.Symbol) int { return int(int64(a.Value - b.Value)) })
	auxv, err := w.Auxv(node, pid)
	if err != nil {
		return nil, err
	}
	const entry = 9 // AT_ENTRY (getauxval(3))
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == entry {
			p.bias = binary.LittleEndian.Uint64(auxv[8:]) - f.Entry
		}
	}
	return p, nil
}

// find gives the address and the size of a name.
func (p *program) find(name string) (address, bytes uint64, ok bool) {
	for i := range p.symbols {
		if s := &p.symbols[i]; s.Name == name && s.Value != 0 {
			return s.Value + p.bias, s.Size, true
		}
	}
	return 0, 0, false
}

// function names the place of an instruction.
func (p *program) function(pc uint64) string {
	for i := len(p.symbols) - 1; i >= 0; i-- {
		s := &p.symbols[i]
		if at := s.Value + p.bias; elf.ST_TYPE(s.Info) == elf.STT_FUNC && at <= pc && pc < at+s.Size {
			return fmt.Sprintf("%s+%#x", s.Name, pc-at)
		}
	}
	return fmt.Sprintf("%#x", pc)
}

// track prints every change of a place in the whole run.
func (s *Session) track(args []string) (string, error) {
	if len(args) < 2 || len(args) > 3 {
		return "", fmt.Errorf("track takes a process, a name or an address of it, and how many bytes: track n1/12 counter 8")
	}
	of, err := view.ParseNodeProcess(args[0])
	if err != nil {
		return "", err
	}
	p, err := programOf(s.Timeline.World(), of.Node, of.PID)
	if err != nil {
		return "", err
	}
	place := engine.Watchpoint{Node: of.Node, PID: of.PID, Bytes: 4}
	address, size, known := p.find(args[1])
	if known {
		if place.Address = address; size == 1 || size == 2 || size == 4 || size == 8 {
			place.Bytes = int(size)
		}
	} else if place.Address, err = strconv.ParseUint(args[1], 0, 64); err != nil {
		return "", fmt.Errorf("the program has no symbol %q, and it is no address such as 0x4010", args[1])
	}
	if len(args) == 3 {
		if place.Bytes, err = strconv.Atoi(args[2]); err != nil || place.Bytes != 1 && place.Bytes != 2 && place.Bytes != 4 && place.Bytes != 8 {
			return "", fmt.Errorf("%q: 1, 2, 4 or 8 bytes are tracked", args[2])
		}
	}
	var b strings.Builder
	n := 0
	number := func(v []byte) string {
		if v == nil {
			return "-"
		}
		var whole [8]byte
		copy(whole[:], v)
		unused := 8 * (8 - len(v))
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(whole[:]))<<unused>>unused, 10)
	}
	err = s.Timeline.Track(place, func(w World, th engine.Thread, pc uint64, before, after []byte) bool {
		event, ns := w.At()
		by := "a system call"
		if pc != 0 && after != nil {
			by = p.function(pc)
		}
		fmt.Fprintf(&b, "  %12.6f s  event %d  %s -> %s  by thread %d in %s\n", float64(ns)/1e9, event, number(before), number(after), th.TID, by)
		n++
		return n < maxTracked
	})
	switch {
	case err != nil:
	case n == 0:
		b.WriteString("it never changes\n")
	case n == maxTracked:
		fmt.Fprintf(&b, "  ... only the first %d changes are shown\n", maxTracked)
	}
	return b.String(), err
}

// whyBlocked prints what threads wait for.
func (s *Session) whyBlocked(args []string) (string, error) {
	w := s.Timeline.World()
	threads, err := w.Threads()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, t := range threads {
		if len(args) > 0 && t.Node != args[0] {
			continue
		}
		why, err := w.WaitsFor(t.Node, t.TID)
		if err != nil {
			return "", err
		}
		if why == "" {
			why = "can run"
		}
		fmt.Fprintf(&b, "  %s/%d thread %d (%s): %s\n", t.Node, t.PID, t.TID, t.Program, why)
	}
	return b.String(), nil
}
