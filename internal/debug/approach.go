package debug

import (
	"slices"
	"strconv"

	"golang.org/x/arch/x86/x86asm"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// A step backward from a stop leads to the instruction before it, and only single steps find that. A turn may have a million
// instructions, and a step takes some 50 us. So the steps do not begin with the turn, but at the last of some places that are
// passed before the stop: where the functions begin that are under way there, and where they were returned to. Which places these
// are does not matter for what is found, only for how soon.

// Limits of an approach.
const (
	maxEntries   = 12 // functions under way, whose beginnings are places
	maxReturners = 4  // of those, functions whose calls are looked for
	maxReturns   = 24 // calls of one
	maxCodeBytes = 1 << 16
	// maxPassed is how many places are passed before the most frequent ones are left out.
	maxPassed  = 400
	mostPasses = 4
)

// approach gives a position on the way from base along one leg, from which fewer steps lead to the leg's end, or base itself.
// there is a world that stands at the end.
func (t *Timeline) approach(base Position, leg Leg, there World) (Position, error) {
	th, held := there.Held()
	if !held {
		return base, nil
	}
	want, err := there.CPU(th.Node, th.TID)
	if err != nil {
		return base, err
	}
	places := placesBefore(there, th)
	for range mostPasses {
		if places = slices.DeleteFunc(places, func(b engine.Breakpoint) bool { return slices.Contains(leg.Stops.Breakpoints, b) }); len(places) == 0 {
			break
		}
		s := &Stops{Breakpoints: slices.Concat(leg.Stops.Breakpoints, places), Watchpoints: leg.Stops.Watchpoints}
		last, passed, err := t.pass(base, leg, s, want)
		switch {
		case err != nil:
			return base, err
		case last > 0:
			return base.with(Leg{Stops: s, Hits: last}), nil
		case passed == nil:
			return base, nil
		}
		places = slices.DeleteFunc(places, func(b engine.Breakpoint) bool { return passed[b.Address] > maxPassed/16 })
	}
	return base, nil
}

// pass runs a copy of the world from a position along a leg. last is how many of more stops it has passed before the leg's end.
// It is 0 if there are none, or if the run does not lead to where it led without them; and if there are too many, and then passed
// has how often each was passed.
func (t *Timeline) pass(base Position, leg Leg, s *Stops, want *engine.CPU) (last uint64, passed map[uint64]int, err error) {
	w, err := t.reach(base)
	if err != nil {
		return 0, nil, err
	}
	defer w.Close()
	all, towards, own := union(leg.Stops, s)
	passed = map[uint64]int{}
	n, others := uint64(0), 0
	for hits := uint64(0); ; {
		h, err := w.Run(&all)
		if err != nil || h.Reason != record.Halted || h.Begins || w.Turn() != base.Turn {
			return 0, nil, err
		}
		if leg.Stops.hits(&h, towards) {
			if hits++; hits == leg.Hits {
				break
			}
		} else if others++; others > maxPassed {
			return 0, passed, nil
		}
		if s.hits(&h, own) {
			n++
			passed[h.PC]++
		}
	}
	th, _ := w.Held()
	if now, err := w.CPU(th.Node, th.TID); err != nil || now.General != want.General {
		return 0, nil, err
	}
	return n, nil, nil
}

// placesBefore are instructions that a thread may have executed shortly before the one at which it stands.
func placesBefore(w World, th engine.Thread) (list []engine.Breakpoint) {
	stack, err := w.Stack(th.Node, th.TID, false)
	if err != nil {
		return nil // the program may have no functions
	}
	add := func(address uint64) {
		if b := (engine.Breakpoint{Node: th.Node, PID: th.PID, Address: address}); !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	entries := 0
	for i := range stack.Frames {
		f := &stack.Frames[i]
		pc, err := strconv.ParseUint(f.PC, 0, 64)
		if err != nil || f.Function == "" || f.Inlined || entries == maxEntries || stack.Skipped > 0 && i >= stack.SkippedAt {
			continue
		}
		entries++
		add(pc - f.Offset)
		if entries > maxReturners || f.Offset > maxCodeBytes {
			continue
		}
		if code, err := w.Memory(th.Node, th.PID, pc-f.Offset, int(f.Offset)); err == nil {
			for _, at := range returns(code) {
				add(pc - f.Offset + at)
			}
		}
	}
	return list
}

// returns are the places behind calls in code that begins with an instruction and ends before another one: the last ones. There
// are none if it does not consist of instructions.
func returns(code []byte) (list []uint64) {
	at := 0
	for at < len(code) {
		in, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return nil
		}
		if at += in.Len; in.Op == x86asm.CALL {
			list = append(list, uint64(at))
		}
	}
	if at > len(code) {
		return nil
	}
	return list[max(0, len(list)-maxReturns):]
}
