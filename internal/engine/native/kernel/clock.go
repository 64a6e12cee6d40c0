//go:build linux && amd64

package kernel

import (
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"golang.org/x/sys/unix"
)

// ClockFault is a fault of a node's clock.
type ClockFault struct {
	ID   int
	Kind world.FaultKind
	// Amount is how far CLOCK_REALTIME is ahead, in ns; of a drift, how much faster the clock runs, in parts per billion.
	Amount  int64
	SinceNs int64 // world time
	Over    bool  // a drift that has ended: CLOCK_MONOTONIC keeps what it has won or lost
	Seen    bool
}

// SetClock begins a fault of a node's clock.
func (s *State) SetClock(id NodeID, kind world.FaultKind, fault int, amount int64) {
	n := s.Nodes[id]
	n.ClockFaults = append(n.ClockFaults, ClockFault{ID: fault, Kind: kind, Amount: amount, SinceNs: s.Now})
	s.reclock(n, fault)
}

// RightClock ends a fault of a node's clock: CLOCK_REALTIME is set right, as NTP does by a step, and clocks run at their
// usual rate.
func (s *State) RightClock(id NodeID, fault int) {
	n := s.Nodes[id]
	for i := range n.ClockFaults {
		if f := &n.ClockFaults[i]; f.ID == fault {
			f.Over = true
		}
	}
	s.reclock(n, fault)
	n.ClockFaults = slices.DeleteFunc(n.ClockFaults, func(f ClockFault) bool { return f.Over && (f.Seen || !drifts(f.Kind)) })
}

func drifts(k world.FaultKind) bool { return k == fault.ClockDrift }

// reclock makes a node's clocks what its faults want, of which one has begun or ended. CLOCK_MONOTONIC never jumps.
func (s *State) reclock(n *Node, cause int) {
	old := *n
	n.OffsetNs, n.DriftPPB = n.TrueOffsetNs, n.TrueDriftPPB
	right := n.Drifted(s.Now)
	drift := int64(0) // what is wrong because a clock runs at another rate now
	for i := range n.ClockFaults {
		switch f := &n.ClockFaults[i]; {
		case f.Over:
		case drifts(f.Kind):
			n.DriftPPB += f.Amount
			drift += scaled(s.Now-f.SinceNs, f.Amount)
		default:
			n.OffsetNs += f.Amount
		}
	}
	now := n.Drifted(s.Now)
	n.OffsetNs += right + drift - now
	n.BootNs = old.BootNs + old.Drifted(s.Now) - now
	s.moveTimers(n, &old, cause)
}

// scaled is a number of parts per billion of a time.
func scaled(ns, ppb int64) int64 { return ns/1e9*ppb + ns%1e9*ppb/1e9 }

// moveTimers sets what waits for a time of a node's clocks to when that is now.
func (s *State) moveTimers(n, old *Node, cause int) {
	step := n.OffsetNs + n.Drifted(s.Now) - old.OffsetNs - old.Drifted(s.Now)
	if step == 0 && n.DriftPPB == old.DriftPPB {
		return
	}
	move := func(at int64, wall bool) int64 {
		if at >= farNs {
			return at
		}
		was, is := old.BootNs, n.BootNs
		if wall {
			was, is = old.OffsetNs, n.OffsetNs
		}
		moved := n.Undrift(was + old.Drifted(at) - is)
		if moved == 0 {
			return 1 // 0 is no time
		}
		return moved
	}
	for _, pid := range n.Procs {
		p := s.Procs[pid]
		for _, id := range p.Threads {
			t := s.Threads[id]
			if t.State != Blocked || !t.Call.HasUntil {
				continue
			}
			if at := move(t.Call.Until, t.Call.Wall); at != t.Call.Until {
				if t.Call.Wall && step != 0 {
					t.Call.Moved = cause
				}
				t.Call.Until = at
				s.After(at, TimerThread, id, 0)
			}
		}
		if at := move(p.Real.At, false); p.Real.At != 0 && at != p.Real.At {
			p.Real.At = at
			p.Real.Gen++
			s.After(at, TimerReal, pid, p.Real.Gen)
		}
		for i := range p.Timers {
			x := &p.Timers[i]
			if at := move(x.At, x.Wall); x.At != 0 && !x.Still && at != x.At && x.CPU == 0 {
				x.At = at
				x.Gen++
				s.After(at, TimerPosix, pid, int64(x.ID)<<32|x.Gen)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.TimerFDs)) {
		x := s.TimerFDs[id]
		if x.Node != n.ID {
			continue
		}
		if at := move(x.At, x.Wall); x.At != 0 && !x.Still && at != x.At {
			x.At = at
			x.Gen++
			s.After(at, TimerFile, x.ID, x.Gen)
		}
		if x.CancelOnSet && step != 0 {
			x.Canceled, x.Fault = true, cause
			s.Wake(Key{Kind: KeyTimer, ID: x.ID}, unix.EPOLLIN)
		}
	}
}

// farNs is so far away that clocks need not be reckoned with.
const farNs = 1 << 61

// SawClock reports that a program has read a clock of its node; wall says that it is CLOCK_REALTIME.
func (k *Kernel) SawClock(n *Node, wall bool) {
	for i := range n.ClockFaults {
		f := &n.ClockFaults[i]
		if !f.Seen && (drifts(f.Kind) && scaled(k.Now-f.SinceNs, f.Amount) != 0 || !drifts(f.Kind) && wall) {
			f.Seen = true
			k.Seen(net.FaultRef{Kind: f.Kind, ID: f.ID})
		}
	}
}

// SawMoved reports that a program's wait for a time of CLOCK_REALTIME is over, if a fault has moved that clock meanwhile.
func (k *Kernel) SawMoved(t *Thread) {
	if t.Call.Moved != 0 {
		k.Seen(net.FaultRef{Kind: fault.ClockSkew, ID: t.Call.Moved})
	}
}
