package isolation

import (
	"math"
	"slices"
)

// kind of a dependency between two transactions.
type kind uint8

const (
	ww      kind = iota // the second overwrote, or appended after, what the first had written
	wr                  // the second read what the first had written
	rw                  // the second overwrote, or appended after, what the first had read
	session             // the same client did the first, then the second
	clock               // the first had returned before the second began
	implied             // the first must come before the second, since a third one saw it so
	pass                // from a helper node on: no step of its own
)

func (k kind) String() string {
	return [...]string{"ww", "wr", "rw", "session", "clock", "implied", "pass"}[k]
}

// edge is a dependency. What a and b mean depends on the kind; they are for words only.
type edge struct {
	to   int32
	kind kind
	key  int32
	a, b int32
}

// graph has nodes that stand for transactions, or for events of them, and then helpers.
type graph struct {
	out  [][]edge
	real int // nodes that are no helpers
	fold int // node v stands for v%fold; see twice
}

func newGraph(nodes int) *graph { return &graph{make([][]edge, nodes), nodes, math.MaxInt} }

func (g *graph) helper(v int32) bool { return int(v)%g.fold >= g.real }

func (g *graph) node() int32 {
	g.out = append(g.out, nil)
	return int32(len(g.out) - 1)
}

func (g *graph) add(from int32, e edge) {
	if from != e.to {
		g.out[from] = append(g.out[from], e)
	}
}

// components numbers the strongly connected components, with the edges of the allowed kinds.
func (g *graph) components(allowed [pass + 1]bool) (of []int32, sizes []int32) {
	counts := make([]int32, len(g.out))
	for v, out := range g.out {
		for _, e := range out {
			if allowed[e.kind] {
				counts[v]++
			}
		}
	}
	a := newArrows(counts)
	for v, out := range g.out {
		for _, e := range slices.Backward(out) {
			if allowed[e.kind] {
				a.add(int32(v), e.to)
			}
		}
	}
	return a.components()
}

// arrows are edges without what they say.
type arrows struct {
	begins []int32 // by node, where its edges begin
	to     []int32
}

// newArrows has room for so many edges of each node. All of them must be added.
func newArrows(counts []int32) arrows {
	begins := make([]int32, len(counts)+1)
	end := int32(0)
	for v, n := range counts {
		end += n
		begins[v] = end // add goes back from there
	}
	begins[len(counts)] = end
	return arrows{begins, make([]int32, end)}
}

// add adds an edge before those of its node that were added so far.
func (a *arrows) add(from, to int32) {
	a.begins[from]--
	a.to[a.begins[from]] = to
}

// components numbers the strongly connected components (Tarjan, SIAM J. Comput. 1972, without recursion).
func (a *arrows) components() (of []int32, sizes []int32) {
	n := len(a.begins) - 1
	of = make([]int32, n)
	index, low := make([]int32, n), make([]int32, n)
	for i := range of {
		of[i] = -1
	}
	type frame struct{ node, next int32 }
	var calls []frame
	var stack []int32
	counter := int32(0)
	begin := func(v int32) {
		counter++
		index[v], low[v] = counter, counter
		stack = append(stack, v)
		calls = append(calls, frame{v, a.begins[v]})
	}
	for root := range int32(n) {
		if index[root] != 0 {
			continue
		}
		begin(root)
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			v := f.node
			descended := false
			for end := a.begins[v+1]; f.next < end; {
				to := a.to[f.next]
				f.next++
				if index[to] == 0 {
					begin(to)
					descended = true
					break
				}
				if of[to] < 0 {
					low[v] = min(low[v], index[to])
				}
			}
			if descended {
				continue
			}
			if low[v] == index[v] {
				c := int32(len(sizes))
				sizes = append(sizes, 0)
				for {
					w := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					of[w] = c
					sizes[c]++
					if w == v {
						break
					}
				}
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				p := calls[len(calls)-1].node
				low[p] = min(low[p], low[v])
			}
		}
	}
	return of, sizes
}

// step is an edge with its beginning.
type step struct {
	from int32
	edge
}

// maxLooks bounds the edges that the look for a shortest cycle goes over; after that the shortest one found so far counts.
const maxLooks = 20_000_000

// cycle is a cycle of edges of the allowed kinds with as few steps between transactions as there are, or nil if there is none.
// A way through helpers is one step. Steps of kind pass are none.
func (g *graph) cycle(allowed [pass + 1]bool) []step {
	of, sizes := g.components(allowed)
	if len(sizes) == len(g.out) {
		return nil // each node is alone
	}
	var best []step
	shortest := int32(len(g.out)) + 1
	length := make([]int32, len(g.out))
	came := make([]step, len(g.out))
	seen := make([]int32, len(g.out))
	looks := 0
	var near, far []int32 // nodes at this length, and at the next
	for v := range of {
		if sizes[of[v]] < 2 || best != nil && (g.helper(int32(v)) || looks > maxLooks) {
			continue
		}
		mark := int32(v) + 1
		near = append(near[:0], int32(v))
		length[v] = 0
		found := int32(-1)
		for now := int32(0); len(near) > 0 && now < shortest && found < 0; now++ {
			far = far[:0]
			for head := 0; head < len(near); head++ {
				u := near[head]
				if length[u] != now {
					continue
				}
				for _, e := range g.out[u] {
					if looks++; !allowed[e.kind] || of[e.to] != of[v] {
						continue
					}
					next := now + 1
					if e.kind == pass || g.helper(e.to) {
						next = now
					}
					if next >= shortest || e.to != int32(v) && seen[e.to] == mark && length[e.to] <= next {
						continue
					}
					if e.to == int32(v) {
						if found < 0 || next < found {
							came[v], found = step{u, e}, next
						}
						continue
					}
					seen[e.to], length[e.to], came[e.to] = mark, next, step{u, e}
					if next == now {
						near = append(near, e.to)
					} else {
						far = append(far, e.to)
					}
				}
			}
			near, far = far, near
		}
		if found < 0 {
			continue
		}
		shortest, best = found, nil
		for at := int32(v); ; {
			best = append(best, came[at])
			if at = came[at].from; at == int32(v) {
				break
			}
		}
		slices.Reverse(best)
	}
	return best
}

func kinds(list ...kind) (allowed [pass + 1]bool) {
	for _, k := range list {
		allowed[k] = true
	}
	return allowed
}
