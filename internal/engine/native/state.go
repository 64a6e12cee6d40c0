//go:build linux && amd64

package native

import (
	"github.com/bloodhound-dst/bloodhound/internal/clone"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// State is a whole world as plain data: what a run has become, without its real side (host.Checkpoint) and what all runs of
// its Spec share. It copies all that the loop, the kernel or the director changes while a world runs. The pages of time are not
// among it: the kernel writes them whenever it lets a thread run.
type State struct {
	Kernel   *kernel.State
	Director director.State // with the plan of faults and its ledger
	Tape     tape.State
	recorded
	Executed []blocks.List // by watched copy: the blocks whose breakpoints were hit
	Points   []host.Points // by watched copy: where threads may be switched
}

// recorded holds a World's records of its run, besides the kernel, the director and the tape.
type recorded struct {
	outcome   record.Outcome // so far
	behaviour *behaviour     // nil where it is not recorded
	code      codeWatch
	absences  [][]string // by node: names that its programs have looked for without success in folders that begin empty
	dumps     dumps
	heldAt    heldAt
}

// save copies the world's state. It is called between two events, on the world's thread.
func (w *World) save() *State {
	s := clone.Deep(&State{Director: w.director.State, Tape: w.tape.State(), recorded: w.recorded})
	s.Kernel = w.kernel.Save()
	s.Executed, s.Points = w.real.Executed(), w.real.Points()
	return s
}

// load has the world continue from a State of a world whose real side is in the same position as its own. The State is the
// world's from then on.
func (w *World) load(s *State) {
	w.kernel.Load(s.Kernel)
	w.director.State = s.Director
	w.tape.Restore(s.Tape)
	w.recorded = s.recorded
	for i, c := range w.real.Watched {
		w.kernel.Handles.Codes = append(w.kernel.Handles.Codes, nil)
		if w.code.Points[i] {
			w.kernel.Handles.Codes[i] = c
		}
		if c != nil {
			c.Resume(s.Executed[i])
			c.SetPoints(s.Points[i])
		}
	}
}
