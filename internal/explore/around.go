package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// MaxShift is how many draws of its stream an injected fault is moved by at most.
const MaxShift = 16

// Neighbourhood holds the tapes and decisions from which tapes near a stale failure are made.
type Neighbourhood struct {
	Original, Smallest tape.Tape
	// Stored are the decisions of the original tape's run as it was found, and Now as it is: up to where they part, both are
	// the same run.
	Stored, Now []tape.Decision
}

// Around is tape i of those near a failure's: a pure function of what they are made of and i. Tape 0 is the original; others
// follow it, or have the faults of the smallest tape at moments nearby. Of each four tapes that follow one another, two
// keep all chance up to where the original run parts from the one that was stored and follow a seed of their own from there
// on, and faults before that place stay where they were; the others have other chance from the beginning.
func (n *Neighbourhood) Around(i uint64) tape.Tape {
	if i == 0 {
		return n.Original
	}
	seed := search.RandomTape(n.Original.Seed, i).Seed
	same := n.common()
	parts := n.partings(same)
	keeps := i%4 < 2 && len(parts) > 0
	t := tape.Tape{Seed: n.Original.Seed}
	reseed := func(patterns ...string) {
		for _, p := range patterns {
			t.Edits = append(t.Edits, tape.Edit{Op: tape.Reseed, Stream: p, Seed: seed})
		}
	}
	if keeps || i%2 == 1 {
		t.Edits = slices.Clone(n.Original.Edits)
	}
	switch {
	case keeps:
		for _, p := range parts {
			t.Edits = append(t.Edits, tape.Edit{Op: tape.Reseed, Stream: p.Stream, From: p.Index, Seed: seed})
		}
	case i%2 == 1:
		reseed("net/**", "sched/**", "switch/**")
	default:
		t.Seed = n.Smallest.Seed
		for _, e := range n.Smallest.Edits {
			if e.Ready {
				t.Edits = append(t.Edits, e)
			}
		}
		reseed("random/**", "net/**", "sched/**", "switch/**")
	}
	if i%2 == 1 {
		return t
	}
	t.Edits = append(t.Edits, tape.Edit{Op: tape.Default, Stream: fault.Streams, To: tape.End})
	for k, e := range n.Smallest.Edits {
		if e.Op != tape.Set || !strings.HasPrefix(e.Stream, "fault/") {
			continue
		}
		kept := keeps && slices.ContainsFunc(n.Stored[:same], func(d tape.Decision) bool { return d.Stream == e.Stream && d.Index == e.From })
		if !kept {
			moves := tape.NewSource(tape.Tape{Seed: seed})
			by := moves.Choose(fmt.Sprintf("move/%d", k), 2*MaxShift+1)
			e.From = max(e.From+by, MaxShift) - MaxShift
		}
		t.Edits = append(t.Edits, e)
	}
	return t
}

// common counts the decisions that both runs begin with.
func (n *Neighbourhood) common() int {
	i := 0
	for i < min(len(n.Stored), len(n.Now)) && n.Stored[i] == n.Now[i] {
		i++
	}
	return i
}

// partings are the first draws of each stream of chance that one of the runs decided after both were the same. Draws of a
// stream before that one were the same in both.
func (n *Neighbourhood) partings(same int) []tape.Decision {
	var list []tape.Decision
	at := map[string]int{}
	for _, d := range slices.Concat(n.Stored[same:], n.Now[same:]) {
		if !strings.HasPrefix(d.Stream, "net/") && !strings.HasPrefix(d.Stream, "sched/") && !strings.HasPrefix(d.Stream, "switch/") {
			continue
		}
		k, known := at[d.Stream]
		if !known {
			at[d.Stream] = len(list)
			list = append(list, d)
		} else if d.Index < list[k].Index {
			list[k] = d
		}
	}
	return list
}
