package fault

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Shapes of a partition. Nodes and Links cut off single ones; the others part a whole group of servers, as Jepsen's
// nemeses do.
const (
	Nodes  = "nodes"  // one node from all others
	Links  = "links"  // one link
	Halves = "halves" // the group falls into two parts
	Bridge = "bridge" // into two parts, and one node reaches both
	Ring   = "ring"   // each node hears a majority, and no two hear the same one
)

// Majority as the shape of a kind that halts nodes: at least a majority of a group of servers, at once.
const Majority = "majority"

// Rolling as the shape of such a kind: each node of a group in turn, the next one when the last one is ready again.
const Rolling = "rolling"

// PartitionShapes lists the shapes of partitions, as configurations write them, and Shapes those of all kinds.
var (
	PartitionShapes = []string{Nodes, Links, Halves, Bridge, Ring}
	Shapes          = append(slices.Clone(PartitionShapes), Majority, Rolling)
)

// Grouped reports whether a shape parts a group of servers, and how many it needs at least.
func Grouped(shape string) (least int, ok bool) {
	switch shape {
	case Halves, Rolling:
		return 2, true
	case Bridge, Ring, Majority:
		return 3, true
	}
	return 0, false
}

// maxMajority bounds the servers of which a majority is chosen: each choice is one value of a draw.
const maxMajority = 12

// maxGroup bounds the servers of a group: each part of them is one value of a draw.
const maxGroup = 32

// maxShuffled bounds the nodes of a ring whose order is drawn; the others follow in the Spec's order.
const maxShuffled = 7

// aboutOneNode finds what a condition can only ask of a node or a link.
var aboutOneNode = regexp.MustCompile(`\b(role|node|peer|up_s|ready_s)\b`)

// CheckShape finds what is wrong with the shape of a rule in a world with these servers.
func CheckShape(r *world.FaultRule, servers []string) error {
	least, grouped := Grouped(r.Shape)
	switch {
	case r.Shape == "":
		return nil
	case !slices.Contains(Shapes, r.Shape):
		return fmt.Errorf("unknown shape %q; shapes are %s", r.Shape, strings.Join(Shapes, ", "))
	case RowOf(r.Kind).groups() && r.Shape != Majority && r.Shape != Rolling:
		return fmt.Errorf("%s has no shape %s, which only partitions have; the shapes of %s are %s and %s", r.Kind, r.Shape, r.Kind, Majority, Rolling)
	case !RowOf(r.Kind).groups() && !RowOf(r.Kind).Parts:
		return fmt.Errorf("%s has no shape; only partitions and faults that stop nodes, such as crash, have one", r.Kind)
	case r.Shape == Rolling && r.OnCalls():
		return fmt.Errorf("shape %s has no moment, because it goes from node to node; use after, when or a rate", r.Shape)
	case RowOf(r.Kind).Parts && r.Shape == Rolling:
		return fmt.Errorf("%s has no shape %s; remove the shape", r.Kind, r.Shape)
	case RowOf(r.Kind).Parts && r.Shape == Majority:
		return fmt.Errorf("%s has no shape %s; use %s", r.Kind, r.Shape, Halves)
	case !grouped && len(r.Targets) > 0:
		return fmt.Errorf("shape %s chooses its own targets; remove the shape or the targets", r.Shape)
	case !grouped:
		return nil
	case r.Shape == Ring && r.OneWay:
		return fmt.Errorf("shape %s has no direction", r.Shape)
	case aboutOneNode.MatchString(r.When):
		return fmt.Errorf("shape %s affects a group, so a condition about one node has no meaning; write roles by node, such as roles.n1 == \"leader\"",
			r.Shape)
	}
	members := r.Targets
	if len(members) == 0 {
		members = servers
	}
	for i, name := range members {
		switch {
		case !slices.Contains(servers, name):
			return fmt.Errorf("shape %s affects servers, and %q is not a server", r.Shape, name)
		case slices.Contains(members[:i], name):
			return fmt.Errorf("%q is listed twice", name)
		}
	}
	switch {
	case len(members) < least:
		return fmt.Errorf("shape %s needs at least %d servers, but there are %d", r.Shape, least, len(members))
	case len(members) > maxGroup, r.Shape == Majority && len(members) > maxMajority:
		most := maxGroup
		if r.Shape == Majority {
			most = maxMajority
		}
		return fmt.Errorf("shape %s affects a group of at most %d servers, but there are %d; list some of them as targets", r.Shape, most, len(members))
	}
	return nil
}

// group makes the one target of a rule that parts a group.
func (p *Plan) group(names []string) Target {
	if len(names) == 0 {
		return Target{Name: "servers", Members: p.Servers}
	}
	return Target{Name: strings.Join(names, ","), Members: names}
}

// groupShapes counts the ways in which a group can be parted.
func (r *Rule) groupShapes(t *Target) uint64 {
	n := uint64(len(t.Members))
	switch r.Shape {
	case Halves:
		return r.ways() * (1<<(n-1) - 1)
	case Bridge:
		return r.ways() * n * (1<<(n-2) - 1)
	case Majority:
		return uint64(len(majorities(int(n))))
	case Rolling:
		return n // which one comes first
	}
	return factorial(min(n, maxShuffled) - 1)
}

// majorities are the sets of at least a majority of n members, one bit for each, the smallest first.
func majorities(n int) (sets []uint64) {
	for size := n/2 + 1; size <= n; size++ {
		for set := range uint64(1) << n {
			if bits.OnesCount64(set) == size {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// ways is 2 where the direction of a cut is drawn.
func (r *Rule) ways() uint64 {
	if r.OneWay {
		return 2
	}
	return 1
}

// part says which nodes of a group do not hear each other.
func (p *Plan) part(a *Action, r *Rule, t *Target, shape uint64) {
	a.Group = t.Name
	if r.Shape == Ring {
		p.ring(a, order(t.Members, shape))
		return
	}
	backwards := r.OneWay && shape%2 == 1
	shape /= r.ways()
	rest, bridge := t.Members, ""
	if r.Shape == Bridge {
		i := shape % uint64(len(rest))
		shape /= uint64(len(rest))
		bridge = rest[i]
		rest = append(append([]string(nil), rest[:i]...), rest[i+1:]...)
	}
	// The first node is in the first part; of the others, those whose bit is set are in the second one.
	var parts [2][]string
	for i, name := range rest {
		k := uint64(0)
		if i > 0 {
			k = (shape + 1) >> (i - 1) & 1
		}
		parts[k] = append(parts[k], name)
	}
	for _, x := range parts[0] {
		for _, y := range parts[1] {
			if !backwards {
				a.Directions = append(a.Directions, Direction{x, y})
			}
			if backwards || !r.OneWay {
				a.Directions = append(a.Directions, Direction{y, x})
			}
		}
	}
	sign := "|"
	switch {
	case backwards:
		sign = "<|" // the first part hears nothing of the second one
	case r.OneWay:
		sign = "|>"
	}
	a.Target = strings.Join(parts[0], ",") + " " + sign + " " + strings.Join(parts[1], ",")
	if bridge != "" {
		a.Target += " over " + bridge
	}
}

// ring lets each node hear the majority around it (Jepsen's majorities-ring): what the others send to it is lost.
func (p *Plan) ring(a *Action, nodes []string) {
	n := len(nodes)
	majority := n/2 + 1
	for i, to := range nodes {
		first := i - majority/2 + n
		for k := majority; k < n; k++ {
			a.Directions = append(a.Directions, Direction{nodes[(first+k)%n], to})
		}
	}
	a.Target = "ring " + strings.Join(nodes, ",")
}

// order is permutation k of all but the first node.
func order(nodes []string, k uint64) []string {
	list := append([]string(nil), nodes...)
	last := min(len(list), maxShuffled)
	for i := 1; i < last; i++ {
		left := uint64(last - i)
		j := i + int(k%left)
		k /= left
		list[i], list[j] = list[j], list[i]
	}
	return list
}

func factorial(n uint64) uint64 {
	if n < 2 {
		return 1
	}
	return n * factorial(n-1)
}
