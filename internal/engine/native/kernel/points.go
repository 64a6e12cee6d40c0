//go:build linux && amd64

package kernel

import (
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Threads are switched at their system calls, and at points: the beginnings of some blocks of the programs under test, and the instructions behind them.
// The tape chooses a few blocks for a while, and then whether a thread that comes to one is switched there, for how long, and after how many instructions.

// Points is the state of the watched blocks.
type Points struct {
	UntilNs int64  // then others are chosen
	Set     uint64 // which were chosen; 0 is none
	Met     []Met  // those of them that a thread has come to, in that order
	Stops   int    // at points, since they were chosen
}

// Met is a block that threads have come to.
type Met struct {
	Code, Place int // the block: a number in Handles.Codes, and one in that file
	Stops       int
}

// Bounds of points. A stop at one costs some microseconds.
const (
	pointsNs   = 200e6   // of virtual time for which blocks are chosen
	chosenPPM  = 750_000 // how often any are chosen
	candidates = 16      // blocks that are chosen for one that is watched: of a large program, few are executed
	maxStops   = 16      // of threads at one block
)

// A switch is drawn as one number: after how many instructions the thread stops, and how it yields: by its priority, or for a time.
const (
	switchPauses = 16
	dropsLow     = switchPauses - 1 // puts a strict thread below those that dropped before
	pauseNs      = 4000             // twice that is the first pause, and each further one takes twice as long
)

// switchSteps are numbers of instructions: most blocks are short.
var switchSteps = [16]int{1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 10, 12, 14, 16}

// What a set of blocks is like follows from its number, so that sets differ (Groce et al., "Swarm Testing", ISSTA 2012): many blocks at which switches
// are rare, or few at which they are frequent; short pauses, or long ones too.
func (p *Points) focus() int      { return int(p.Set % 3) }
func (p *Points) longest() uint64 { return [3]uint64{5, 10, switchPauses}[p.Set/3%3] }

// points begins a turn: it chooses other blocks if the time of the last ones is over.
func (k *Kernel) points() {
	if k.Sched.Blocks == 0 {
		return
	}
	p := &k.State.Points
	for _, c := range k.Handles.Codes {
		if c != nil {
			c.Relay()
		}
	}
	if k.Now < p.UntilNs {
		return
	}
	if p.Set != 0 {
		k.lay(nil)
	}
	p.UntilNs = k.Now - k.Now%pointsNs + pointsNs
	p.Set = k.Tape.Rare("switch/blocks", 1+1<<32, chosenPPM)
	p.Met, p.Stops = p.Met[:0], 0
	for _, c := range k.Handles.Codes {
		k.LayIn(c)
	}
}

// lay makes the blocks that were met points, and no others.
func (k *Kernel) lay(met []Met) {
	for i, c := range k.Handles.Codes {
		if c == nil {
			continue
		}
		var list []uint32
		for _, b := range met {
			if b.Code == i && b.Stops < maxStops {
				list = append(list, uint32(b.Place))
			}
		}
		c.Lay(list)
	}
}

// LayIn lays points in a copy of a program that is new, if any are chosen now.
func (k *Kernel) LayIn(c machine.Code) {
	p := &k.State.Points
	if c != nil && p.Set != 0 && len(p.Met) < k.watched() && p.Stops < k.mostStops() {
		c.Lay(c.Candidates(p.Set, candidates*k.watched()))
	}
}

// notePoint notes that a thread has reached a point. It returns the tape's choice: 0, or 1 more than the number of a switch.
func (k *Kernel) notePoint(t *Thread) uint64 {
	p, s := &k.State.Points, &k.stop
	number := slices.IndexFunc(k.Handles.Codes, func(c machine.Code) bool { return c == s.Code })
	i := slices.IndexFunc(p.Met, func(b Met) bool { return b.Code == number && b.Place == s.Place })
	if i < 0 {
		i = len(p.Met)
		p.Met = append(p.Met, Met{Code: number, Place: s.Place})
		if len(p.Met) == k.watched() {
			k.lay(p.Met)
		}
	}
	if p.Met[i].Stops++; p.Met[i].Stops == maxStops {
		s.Code.Unlay(s.Place)
	}
	if p.Stops++; p.Stops == k.mostStops() {
		k.lay(nil)
	}
	rate := max(k.Sched.SwitchPPM<<(2*p.focus())>>1, 1)
	return k.Tape.Rare(k.switchStream(t), uint64(1+len(switchSteps)*switchPauses), rate)
}

// mostStops is how often threads stop at points before no more are watched of those that were chosen: it bounds what they cost.
func (k *Kernel) mostStops() int { return k.Sched.Blocks }

// watched is how many blocks are watched at a time.
func (k *Kernel) watched() int { return max(k.Sched.Blocks>>(2*k.State.Points.focus()), 1) }

// switchStream names the stream from which a thread draws that has stopped at a block.
func (k *Kernel) switchStream(t *Thread) string { return "switch/" + t.Name + "/" + k.place() }

// place names the block at which a thread has stopped.
func (k *Kernel) place() string {
	return strconv.FormatUint(k.stop.Code.Address(k.stop.Place), 16)
}

// switches has a thread that stands at a point yield.
func (k *Kernel) switches(t *Thread, v uint64) {
	k.Happen(k.Nodes[t.Node].Name, t.Name, "switch", int64(v), k.Proc(t).Path+"+0x"+k.place())
	steps, kind := switchSteps[v%uint64(len(switchSteps))], v/uint64(len(switchSteps))
	s := record.Switch{Stream: k.switchStream(t), TimeNs: k.Now, Thread: t.Name, Program: k.Proc(t).Path,
		Address: k.stop.Code.Address(k.stop.Place), Instructions: steps}
	if pause := kind % k.State.Points.longest(); pause > 0 && !(t.Strict && kind == dropsLow) {
		s.ForNs = pauseNs << pause
	}
	if len(k.Switches) < record.MaxSwitches {
		k.Switches = append(k.Switches, s)
	}
	k.M.Walk(t.ID, steps)
	k.Resched = true
	if s.ForNs > 0 {
		k.preempt(t, s.ForNs)
		return
	}
	k.DropSeq++
	if t.Prio = -k.DropSeq; t.Strict && kind != dropsLow { // above those that dropped before
		t.Prio = k.DropSeq
	}
}
