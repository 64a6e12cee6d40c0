package debug

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/debug/variable"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/view"
)

// maxTracked bounds the changes that track prints.
const maxTracked = 1000

// maxTrackedCalls bounds the calls that track prints of a stack.
const maxTrackedCalls = 8

// Change is a change of a place in memory.
type Change struct {
	Event         uint64
	TimeNs        int64
	Thread        engine.Thread
	ByCall        bool // a system call made it
	Stack         []record.Frame
	Before, After string
}

// Track runs a copy of the world from the beginning of the timeline to the end of the run, or until note returns false, and gives note each change of a
// place of some bytes. value prints them; they are nil where the process does not have the place.
func (t *Timeline) Track(place engine.Watchpoint, value func(World, []byte) string, note func(Change) bool) error {
	w, err := t.snapshots[0].world.Fork()
	if err != nil {
		return err
	}
	defer w.Close()
	s := engine.Stops{Watchpoints: aligned(place)}
	read := func() []byte {
		b, err := w.Memory(place.Node, place.PID, place.Address, place.Bytes)
		if err != nil || len(b) < place.Bytes {
			return nil
		}
		return b
	}
	before := read()
	was := value(w, before)
	for {
		h, err := t.run(w, s)
		if err != nil || h.Reason != record.Halted {
			return err
		}
		after := read()
		if bytes.Equal(before, after) {
			continue
		}
		_, held := w.Held()
		c := Change{Thread: h.Thread, ByCall: !held || h.Begins, Before: was, After: value(w, after)}
		c.Event, c.TimeNs = w.Moment()
		if stack, err := w.Stack(h.Thread.Node, h.Thread.TID, !c.ByCall); err == nil { // the process may have ended
			c.Stack = stack.Frames
		}
		if !note(c) {
			return nil
		}
		before, was = after, c.After
	}
}

// aligned are the watchpoints of the processor that watch a place: aligned to their sizes.
func aligned(place engine.Watchpoint) (list []engine.Watchpoint) {
	for at, end := place.Address, place.Address+uint64(place.Bytes); at < end; {
		size := uint64(8)
		for at%size != 0 || at+size > end {
			size /= 2
		}
		part := place
		part.Address, part.Bytes = at, int(size)
		list = append(list, part)
		at += size
	}
	return list
}

// programOf reads the names of a process' program. What was stripped from it is looked for on this machine, where distributions put it.
func programOf(w World, of view.NodeProcess) (*variable.Program, error) {
	threads, err := w.Threads()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(threads, func(t engine.Thread) bool { return t.Node == of.Node && t.PID == of.PID })
	if i < 0 {
		return nil, fmt.Errorf("node %s has no process %d here; ps lists the processes", of.Node, of.PID)
	}
	path := threads[i].Program
	file, err := contents(w, of.Node, path)
	if err != nil {
		return nil, err
	}
	stripped, _ := regular.Read(code.DebugFile(file), maxFileBytes)
	auxv, err := w.Auxv(of.Node, of.PID)
	if err != nil {
		return nil, err
	}
	const entry = 9 // AT_ENTRY
	p, err := variable.Read(file, stripped, auxiliary(auxv, entry))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// trackForms is how track is used.
const trackForms = "track takes a process and a place in its memory: track n1/12 counter, track n1/12 table[3].size, track n1/12 " +
	"0x4010 4, or a pointer as gdb and delve print it: track n1/12 (long *) 0x4010"

// processNamed reads NODE/PID, or NODE for its first process.
func (s *Session) processNamed(text string) (view.NodeProcess, error) {
	if !slices.Contains(s.Nodes, text) {
		return view.ParseNodeProcess(text)
	}
	threads, err := s.Timeline.World().Threads()
	if err != nil {
		return view.NodeProcess{}, err
	}
	i := slices.IndexFunc(threads, func(t engine.Thread) bool { return t.Node == text })
	if i < 0 {
		return view.NodeProcess{}, fmt.Errorf("node %s has no process here", text)
	}
	return view.NodeProcess{Node: text, PID: threads[i].PID}, nil
}

// track prints every change of a place in the whole run.
func (s *Session) track(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New(trackForms)
	}
	of, err := s.processNamed(args[0])
	if err != nil {
		return "", err
	}
	w := s.Timeline.World()
	p, err := programOf(w, of)
	if err != nil {
		return "", err
	}
	expression, size := args[1:], 0
	if n := len(expression) - 1; n > 0 {
		if size, err = strconv.Atoi(expression[n]); err == nil {
			expression = expression[:n]
		}
	}
	memory := func(w World) variable.Memory {
		return func(address uint64, bytes int) []byte {
			b, _ := w.Memory(of.Node, of.PID, address, bytes)
			return b
		}
	}
	name := strings.Join(expression, " ")
	place, err := p.Find(name, int64(size), memory(w))
	if err != nil {
		return "", err
	}
	if place.Bytes < 1 || place.Bytes > 8*engine.MaxWatchpoints ||
		len(aligned(engine.Watchpoint{Address: place.Address, Bytes: int(place.Bytes)})) > engine.MaxWatchpoints {
		return "", fmt.Errorf("%s has %d bytes at %#x: the processor can watch only %d aligned words of 8 bytes; "+
			"choose a part of it",
			name, place.Bytes, place.Address, engine.MaxWatchpoints)
	}
	value := func(w World, b []byte) string {
		if b == nil {
			return "-"
		}
		return p.Text(place, b, memory(w))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s/%d, %d bytes at %#x\n", name, of.Node, of.PID, place.Bytes, place.Address)
	n := 0
	watched := engine.Watchpoint{Node: of.Node, PID: of.PID, Address: place.Address, Bytes: int(place.Bytes)}
	err = s.Timeline.Track(watched, value, func(c Change) bool {
		by := ""
		if c.ByCall {
			by = ", by a system call"
		}
		fmt.Fprintf(&b, "  %12.6f s  event %d  %s/%d thread %d  %s -> %s%s\n", float64(c.TimeNs)/1e9, c.Event, of.Node, of.PID,
			c.Thread.TID, c.Before, c.After, by)
		var calls []string
		for i := range c.Stack[:min(len(c.Stack), maxTrackedCalls)] {
			calls = append(calls, call(&c.Stack[i]))
		}
		if len(calls) > 0 {
			fmt.Fprintf(&b, "      %s\n", strings.Join(calls, " <- "))
		}
		n++
		return n < maxTracked
	})
	switch {
	case err != nil:
	case n == 0:
		fmt.Fprintf(&b, "  it never changes: it is %s\n", value(w, memory(w)(place.Address, int(place.Bytes))))
	case n == maxTracked:
		fmt.Fprintf(&b, "  ... only the first %d changes are shown\n", maxTracked)
	}
	return b.String(), err
}

// call names a call for people.
func call(f *record.Frame) string {
	text := f.Function
	if text == "" {
		if text = f.PC; f.Module != "" {
			text += " of " + f.Module
		}
	}
	if f.Line > 0 {
		text += fmt.Sprintf(" (%s:%d)", path.Base(f.File), f.Line)
	}
	return text
}

// whyBlocked prints what threads wait for.
func (s *Session) whyBlocked(args []string) (string, error) {
	if len(args) > 0 && !slices.Contains(s.Nodes, args[0]) {
		return "", fmt.Errorf("there is no node %q; there are %s", args[0], strings.Join(s.Nodes, ", "))
	}
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
