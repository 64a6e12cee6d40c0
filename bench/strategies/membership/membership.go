// Package membership is Raft whose members change one at a time, as it was published first: a leader that changes them before it has committed an
// entry of its own term can lose what was committed (Ongaro, "bug in single-server membership changes", raft-dev, 2015). Machines of package inproc,
// followed in a TLA+ model.
package membership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// names of the servers, all of which are members at first.
var names = []string{"n1", "n2", "n3", "n4"}

var everybody = set(1<<len(names) - 1)

func index(name string) int { return slices.Index(names, name) }

func (s set) String() string {
	var list []string
	for i, name := range names {
		if s.has(i) {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// cluster is what an observer of a run knows.
type cluster struct {
	hasty   bool
	told    *inproc.Follower
	leaders map[int]string // by term
	agreed  []entry        // the longest log that anybody holds for committed
	twice   error          // two servers have led in one term
	lost    error          // what was committed is not any more
}

// World describes a cluster whose leaders change its members as they like. Hasty ones do so before they have committed an entry of their term. m may
// be nil: nothing is followed then.
func World(hasty bool, m *inproc.Specification) func(*inproc.World) {
	return func(w *inproc.World) {
		c := &cluster{hasty: hasty, told: w.Model("conforms to Membership.tla", m), leaders: map[int]string{}}
		for _, name := range names {
			w.Machine(name, c.start)
		}
		w.Invariant("a term has one leader", func() error { return c.twice })
		w.Invariant("what is committed stays", func() error { return c.lost })
		w.Set(inproc.Settings{Schedule: &inproc.Schedule{Steps: 400, Messages: 3}})
		w.Faults("partition shape halves rate 2% for 200ms..1s", "crash rate 0.3% for 50ms..500ms")
	}
}

// leads notes a leader.
func (c *cluster) leads(s *server) {
	if other := c.leaders[s.Term]; other != "" && other != s.node.Name() {
		c.twice = fmt.Errorf("%s and %s lead in term %d", other, s.node.Name(), s.Term)
	}
	c.leaders[s.Term] = s.node.Name()
}

// committed compares what a server holds for committed with what others do.
func (c *cluster) committed(s *server) {
	for i, e := range s.Log[:s.commit] {
		switch {
		case i == len(c.agreed):
			c.agreed = append(c.agreed, e)
		case e != c.agreed[i]:
			c.lost = fmt.Errorf("%s has committed members %s of term %d at %d, where members %s of term %d were committed before",
				s.node.Name(), e.Members, e.Term, i+1, c.agreed[i].Members, c.agreed[i].Term)
		}
	}
}
