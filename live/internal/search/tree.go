package search

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// node names a sequence of conditions, from the start of a path. 0 is the empty one.
type node int

// edge is a condition after a sequence of others. A condition that does not hold is its negation.
type edge struct {
	from node
	cond *bv.Expr
}

// tree has the sequences of conditions that paths have met.
type tree struct {
	nodes   map[edge]node
	negated map[edge]bool // conditions that were negated, by solving or by a path that met the other side
	picks   map[fixed][]*bv.Expr
}

// fixed is a value that was fixed after a sequence of conditions.
type fixed struct {
	from node
	site uint32
}

func newTree() *tree {
	return &tree{nodes: map[edge]node{}, negated: map[edge]bool{}, picks: map[fixed][]*bv.Expr{}}
}

func (t *tree) step(from node, cond *bv.Expr) node {
	e := edge{from, cond}
	n, ok := t.nodes[e]
	if !ok {
		n = node(len(t.nodes) + 1)
		t.nodes[e] = n
	}
	return n
}

// claim reports whether a condition is yet to be negated after a sequence, and notes that it is now.
func (t *tree) claim(from node, cond *bv.Expr) bool {
	e := edge{from, cond}
	if t.negated[e] {
		return false
	}
	t.negated[e] = true
	return true
}

// pick notes a value that was fixed.
func (t *tree) pick(f fixed, cond *bv.Expr) {
	if !slices.Contains(t.picks[f], cond) {
		t.picks[f] = append(t.picks[f], cond)
	}
}
