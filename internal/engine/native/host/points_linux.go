//go:build linux && amd64

package host

import (
	"math/rand/v2"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Points are blocks of a program at which a thread may be switched: a breakpoint lies at each. The thread that comes to one stops, and the breakpoint
// is lifted until the thread's turn is over, so that a loop without system calls stops once. Its instruction is executed where it lies.

// pointBits are the points of a copy.
type pointBits struct {
	laid   blocks.Bits
	ever   blocks.Bits // that were laid since the copy was made: a process may have a page of its own with such a breakpoint
	used   bool
	lifted blocks.List // of those that are laid: where a thread has been in this turn
}

// Points holds the points of a copy as plain data.
type Points struct{ Laid, Lifted blocks.List }

// Points are where points lie now.
func (w *Watched) Points() Points {
	return Points{w.points.laid.Without(nil), slices.Clone(w.points.lifted)}
}

// SetPoints makes the points what they were elsewhere.
func (w *Watched) SetPoints(p Points) {
	w.Lay(p.Laid)
	for _, i := range p.Lifted {
		w.lift(int(i))
	}
}

// Lay implements machine.Code.
func (w *Watched) Lay(points []uint32) {
	for _, i := range w.points.laid.Without(nil) {
		w.Unlay(int(i))
	}
	w.points.used = w.points.used || len(points) > 0
	for _, i := range points {
		w.points.laid.Set(int(i))
		w.points.ever.Set(int(i))
		w.lay(int(i))
	}
}

// Unlay implements machine.Code.
func (w *Watched) Unlay(place int) {
	w.points.laid.Clear(place)
	w.points.lifted = slices.DeleteFunc(w.points.lifted, func(i uint32) bool { return int(i) == place })
	w.lay(place)
}

// lift takes the breakpoint of a point away for this turn, and reports whether there was one.
func (w *Watched) lift(i int) bool {
	if !w.points.lies(i) {
		return false
	}
	w.points.lifted = append(w.points.lifted, uint32(i))
	w.lay(i)
	return true
}

// Relay implements machine.Code.
func (w *Watched) Relay() {
	lifted := w.points.lifted
	w.points.lifted = lifted[:0]
	for _, i := range lifted {
		w.lay(int(i))
	}
}

func (p *pointBits) lies(i int) bool { return p.laid.Has(i) && !slices.Contains(p.lifted, uint32(i)) }

// Candidates implements machine.Code. Most are in functions of the program's own, if those are known. Of the rest every second one is in a function with
// an atomic instruction.
func (w *Watched) Candidates(by uint64, n int) []uint32 {
	b := w.Binary
	random := rand.New(rand.NewPCG(by, uint64(len(b.Places))))
	var list []uint32
	pick := func(from []uint32, n int) {
		for range min(n, (len(from)+1)/2) { // of a small program some, too, so that sets differ
			list = append(list, from[random.IntN(len(from))])
		}
	}
	rest := n
	if len(b.Own) > 0 {
		rest = n / othersPart
		pick(b.Own, n-rest)
	}
	pick(b.Shared, rest/2)
	for range rest - rest/2 {
		list = append(list, uint32(random.IntN(len(b.Places))))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// othersPart is the divisor of the share of candidates in functions that are not the program's own.
const othersPart = 16

// Address implements machine.Code.
func (w *Watched) Address(place int) uint64 { return w.Binary.Places[place] }

// Walk has a thread that stands at a point execute some instructions of its own, as many as it can before anything stops it: that is its next stop.
func (m *Machine) Walk(id ThreadID, instructions int) {
	t := m.get(id)
	if t.traps.any() {
		m.lift(t)
	}
	m.walks = true
	defer func() { m.walks = false }()
	for range instructions {
		var stop machine.Stop
		if ok, stopped := m.step(t, &stop); !ok {
			if stopped {
				t.queued = &stop
			}
			return
		}
	}
}
