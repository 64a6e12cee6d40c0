package inproc

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// strand is a Process as code that is built with the stand-ins for sync and sync/atomic uses it: its operations are points, at which the tape may let
// others run.
type strand Process

// Kinds of switches.
const (
	switches = 15 // a draw of so many values: 0 is none, and each further one pauses for twice as long
	switchNs = 100
	pointNs  = 50 // virtual time of a point
	// A thread that comes to so many points without a wait may spin: it lets others run for so long, whatever the tape says.
	spinPoints = 1000
	spinNs     = 100_000
	rates      = 3 // the rate of switches of a run is multiplied by 1, 4 or 16
)

// errUnlinked is the error of a run that asks for switches, of a program that has none.
var errUnlinked = errors.New("the world, or the failure to replay, has switches at operations of sync and " +
	"sync/atomic, but this program was not built with switches: run it with `bloodhound test --actor-mode " +
	"--switches`, or give go test the -overlay that this command prints")

// Point implements points.Thread.
func (s *strand) Point() {
	p := (*Process)(s)
	r := p.run
	if !p.lives() {
		return
	}
	r.now += pointNs
	v := uint64(0)
	if r.spec.Sched.SwitchPPM > 0 {
		v = p.points.Rare(switches, r.switchRate())
	}
	if p.spins++; v == 0 {
		if p.spins >= spinPoints {
			p.pause(switched, r.now+spinNs)
		}
		return
	}
	at := caller()
	r.event(callSwitch, p.Node, p, int64(v), 0, 0, at.String())
	if len(r.out.Switches) < record.MaxSwitches {
		r.out.Switches = append(r.out.Switches, record.Switch{Stream: switchStream(p.thread), TimeNs: r.now, Thread: p.thread, Place: at, ForNs: switchNs << v})
	}
	p.pause(switched, r.now+switchNs<<v)
}

func switchStream(thread string) string { return "switch/" + thread }

// switchRate is the rate of switches of this run, in parts per million: frequent ones find what takes several, rare ones what many would hide.
func (r *run) switchRate() uint64 {
	if r.switchPPM == 0 {
		r.switchPPM = min(r.spec.Sched.SwitchPPM<<(2*r.src.Choose("switch", rates)), 1e6)
	}
	return r.switchPPM
}

// lives reports whether the process may wait: one that is unwound, since its node has crashed or its run has ended, may not.
func (p *Process) lives() bool { return !p.dead && !p.dying && !p.run.closed && p.run.current == p }

// pause waits in the midst of what the process does.
func (p *Process) pause(w waiting, untilNs int64) {
	p.spins = 0
	p.suspend(w, untilNs)
}

// Park implements points.Thread.
func (s *strand) Park(key unsafe.Pointer) {
	p := (*Process)(s)
	r := p.run
	if !p.lives() {
		panic(killed{})
	}
	if r.parked == nil {
		r.parked = map[unsafe.Pointer][]parking{}
	}
	r.parked[key] = append(r.parked[key], parking{p, p.gen + 1})
	p.wait, p.parkedNs = parked, r.now
	if p.asleep() {
		panic("all goroutines are asleep - deadlock!")
	}
	p.pause(parked, -1)
}

// parking is a wait of a process for a key.
type parking struct {
	p   *Process
	gen uint64
}

// asleep reports whether all processes of the node wait for each other.
func (n *Node) asleep() bool {
	for _, p := range n.threads {
		if p.wait != parked {
			return false
		}
	}
	return len(n.threads) > 0
}

// Rouse implements points.Thread.
func (s *strand) Rouse(key unsafe.Pointer) {
	r := s.Node.run
	list := r.parked[key]
	delete(r.parked, key)
	for _, w := range list {
		if w.p.wait == parked && w.p.gen == w.gen && !w.p.dead {
			r.rouse(w.p)
		}
	}
}

// Holds implements points.Thread.
func (s *strand) Holds(change int) { s.locks += change }

// Run implements points.Thread.
func (s *strand) Run() any { return s.Node.run }

// Go implements points.Thread.
func (s *strand) Go(main func()) {
	p := (*Process)(s)
	if !p.lives() {
		panic(killed{})
	}
	p.child(func(*Process) { main() })
	s.Point()
}

// amidst reports whether a process has been switched in the midst of what it does, or holds a lock while others run: what invariants read may be half done.
func (r *run) amidst() bool {
	if !points.Linked {
		return false
	}
	for _, n := range r.nodes {
		for _, p := range n.threads {
			if p.wait == switched || p.locks > 0 && (p.wait == parked || p.wait == preempted) {
				return true
			}
		}
	}
	return false
}

// stuckNs is how long a process must have waited at the end of a run to be stuck.
const stuckNs = 1e9

// stuck reports processes that hold a lock and wait for another one as the run ends.
func (r *run) stuck() {
	for _, n := range r.nodes {
		for _, p := range n.threads {
			if p.wait == parked && p.locks > 0 && r.now-p.parkedNs >= stuckNs {
				text := fmt.Sprintf("deadlock: process %s holds a lock and has waited for another one for %s", p.thread, time.Duration(r.now-p.parkedNs))
				r.out.Crashes = append(r.out.Crashes,
					record.Crash{Position: record.PositionAt(r.events), TimeNs: r.now, Node: n.name, Program: kindOf(n.part), PID: 1,
						Kind: "panic", Signal: text, Lines: []string{text}})
			}
		}
	}
}
