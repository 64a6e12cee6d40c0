package isolation

import "slices"

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

// edge is a dependency. What a and b mean depends on the kind; they are for words only.
type edge struct {
	to   int32
	kind kind
	key  int32
	a, b int32
}

type graph struct{ out [][]edge }

func newGraph(nodes int) *graph { return &graph{make([][]edge, nodes)} }

func (g *graph) node() int32 {
	g.out = append(g.out, nil)
	return int32(len(g.out) - 1)
}

func (g *graph) add(from int32, e edge) {
	if from != e.to {
		g.out[from] = append(g.out[from], e)
	}
}

// components numbers the strongly connected components, with the edges of the allowed kinds (Tarjan, SIAM J. Comput.
// 1972, without recursion).
func (g *graph) components(allowed [pass + 1]bool) (of []int32, sizes []int32) {
	n := len(g.out)
	of = make([]int32, n)
	index, low := make([]int32, n), make([]int32, n)
	for i := range of {
		of[i] = -1
	}
	type frame struct {
		node int32
		next int
	}
	var calls []frame
	var stack []int32
	counter := int32(0)
	for root := range n {
		if index[root] != 0 {
			continue
		}
		calls = append(calls[:0], frame{int32(root), 0})
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			v := f.node
			if f.next == 0 {
				counter++
				index[v], low[v] = counter, counter
				stack = append(stack, v)
			}
			descended := false
			for f.next < len(g.out[v]) {
				e := g.out[v][f.next]
				f.next++
				if !allowed[e.kind] {
					continue
				}
				if index[e.to] == 0 {
					calls = append(calls, frame{e.to, 0})
					descended = true
					break
				}
				if of[e.to] < 0 {
					low[v] = min(low[v], index[e.to])
				}
			}
			if descended {
				continue
			}
			f.next = max(f.next, 1) // a node without edges is not begun again
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

const maxStarts = 64 // nodes of a component from which a shortest circle is looked for

// circle is a short circle of edges of the allowed kinds, or nil if there is none.
func (g *graph) circle(allowed [pass + 1]bool) []step {
	of, sizes := g.components(allowed)
	smallest := int32(-1)
	for c, size := range sizes {
		if size > 1 && (smallest < 0 || size < sizes[smallest]) {
			smallest = int32(c)
		}
	}
	if smallest < 0 {
		return nil
	}
	var best []step
	starts := 0
	came := make([]step, len(g.out))
	seen := make([]int32, len(g.out))
	for v := range of {
		if of[v] != smallest {
			continue
		}
		if starts++; starts > maxStarts {
			break
		}
		mark := int32(starts)
		queue := []int32{int32(v)}
		found := false
		for head := 0; head < len(queue) && !found; head++ {
			u := queue[head]
			for _, e := range g.out[u] {
				if !allowed[e.kind] || of[e.to] != smallest || seen[e.to] == mark {
					continue
				}
				seen[e.to] = mark
				came[e.to] = step{u, e}
				if e.to == int32(v) {
					found = true
					break
				}
				queue = append(queue, e.to)
			}
		}
		var path []step
		for at := int32(v); ; {
			path = append(path, came[at])
			if at = came[at].from; at == int32(v) {
				break
			}
		}
		if best == nil || len(path) < len(best) {
			slices.Reverse(path)
			best = path
		}
	}
	return best
}

func kinds(list ...kind) (allowed [pass + 1]bool) {
	for _, k := range list {
		allowed[k] = true
	}
	return allowed
}
