// Package shrink makes a run that fails smaller while it fails in the same way: fewer decisions, fewer operations, fewer
// nodes, a shorter time. It knows engines only by a function that makes a run and reports whether it fails so.
//
// The method is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) over
// the decisions of the run: all draws are the default but for those that are listed. Since draw i of a stream keeps its
// meaning whatever else is taken away, most of what does not matter goes in a few large pieces.
package shrink

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Case is a run that can be made: a tape, and what is cut out of the Spec.
type Case struct {
	Tape tape.Tape
	Cut  world.Cut
}

// Run is the result of a Case.
type Run struct {
	// Same means that the run shows the failure, and can be made again as far as its engine knows. The rest is of such runs.
	Same    bool
	Outcome *check.Judged
	Verdict check.Verdict
	// CPUNs is the CPU time that the run took, also of one that does not show the failure; 0 if it is not known.
	CPUNs int64
}

// Try makes the run of a Case. It is called by several goroutines at once. An error is one of the engine or the machine,
// or the end of ctx. proof asks for a run from its boot, whatever snapshots there are.
type Try func(ctx context.Context, c Case, proof bool) (*Run, error)

// Size is how large a run is.
type Size struct {
	Faults     uint64 `json:"faults"` // planned
	Operations int    `json:"operations"`
	Clients    int    `json:"clients"`
	Nodes      int    `json:"nodes"` // with a program that was started
	Decisions  int    `json:"decisions"`
	Events     uint64 `json:"events"`
	VirtualNs  int64  `json:"virtual_ns"`
}

// Less reports whether a run of this size is smaller than another: it has fewer faults, or as many and fewer operations, or then fewer decisions.
func (s Size) Less(o Size) bool {
	return cmp.Or(cmp.Compare(s.Faults, o.Faults), cmp.Compare(s.Operations, o.Operations), cmp.Compare(s.Decisions, o.Decisions)) < 0
}

// sizeOf measures the run of a Case of spec.
func sizeOf(spec *world.Spec, cut *world.Cut, o *check.Judged) Size {
	s := Size{Events: o.Events, VirtualNs: o.VirtualNs}
	for _, d := range o.Decisions {
		if !world.OfLength(d.Stream) {
			s.Decisions++
		}
	}
	for _, e := range o.Ledger.Entries {
		s.Faults += e.Planned
	}
	clients := map[string]bool{}
	for i := range o.History {
		if h := &o.History[i]; h.Type == history.Invoke {
			s.Operations++
			clients[world.ClientName(h.Client)] = true
		}
	}
	s.Clients = len(clients)
	for i := range spec.Nodes {
		if n := &spec.Nodes[i]; len(n.Command) > 0 && !slices.Contains(cut.Idle, n.Name) {
			s.Nodes++
		}
	}
	return s
}

// Bare is the tape that makes a run from its non-default decisions alone. What t reseeds stays so, since byte streams
// follow seeds only.
func Bare(t tape.Tape, decisions []tape.Decision) tape.Tape {
	bare := tape.Replay(t.Seed, decisions)
	var reseeds []tape.Edit
	for _, e := range t.Edits {
		if e.Op == tape.Reseed {
			reseeds = append(reseeds, e)
		}
	}
	bare.Edits = append(reseeds, bare.Edits...)
	return bare
}

// operation is one that a client did: number k of it, also counting those that it left out.
type operation struct {
	client string
	k      int
	key    string
	event  uint64 // of its invoke
}

// operations lists what clients did in a run, in the order of its history.
func operations(cut *world.Cut, h []history.Event) []operation {
	w := world.Workload{Skip: cut.Skip}
	next := map[string]int{}
	var list []operation
	for i := range h {
		if h[i].Type != history.Invoke {
			continue
		}
		c := world.ClientName(h[i].Client)
		k := next[c]
		for w.Skips(c, k) && !w.Ends(c, k) {
			k++
		}
		next[c] = k + 1
		list = append(list, operation{c, k, h[i].Key, h[i].Number})
	}
	return list
}

// without adds operations to those that clients leave out, and joins rows that meet.
func without(skip []world.Skip, gone []operation) []world.Skip {
	list := slices.Clone(skip)
	for _, o := range gone {
		list = append(list, world.Skip{Client: o.client, From: o.k, To: o.k + 1})
	}
	slices.SortFunc(list, func(a, b world.Skip) int {
		if c := strings.Compare(a.Client, b.Client); c != 0 {
			return c
		}
		return a.From - b.From
	})
	var joined []world.Skip
	for _, s := range list {
		if n := len(joined); n > 0 {
			last := &joined[n-1]
			if last.Client == s.Client && (last.To == 0 || s.From <= last.To) {
				if last.To != 0 && (s.To == 0 || s.To > last.To) {
					last.To = s.To
				}
				continue
			}
		}
		joined = append(joined, s)
	}
	return joined
}
