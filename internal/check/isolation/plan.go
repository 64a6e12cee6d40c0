package isolation

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

// fetch is a read of a key: which version it saw.
type fetch struct{ key, version int32 }

// plan looks for an order of transactions. Without snapshots each of them is one event; with them it has two, its
// start, when it reads, and its commit, when it writes, and no two that write the same key may overlap.
type plan struct {
	snapshot bool
	in       []bool
	reads    [][]fetch // by transaction, of what others wrote
	writes   [][]int32 // by transaction: keys, in order
	keys     int
	events   *graph // which events come before others: starts, then commits, then moments in time

	// versions counts the values of all keys: at first one for each key, then one for each write.
	versions int32
	wrote    [][]int32 // by transaction: the versions of its writes

	reach []uint64 // by event, once saturated: a bit for each event that comes after it
	words int      // of a row of them
}

func (p *plan) reaches(from, to int32) bool {
	return p.reach[int(from)*p.words+int(to)/64]&(1<<(to%64)) != 0
}

func newPlan(txns, keys int) *plan {
	return &plan{in: make([]bool, txns), reads: make([][]fetch, txns), writes: make([][]int32, txns), keys: keys,
		events: newGraph(2 * txns), wrote: make([][]int32, txns)}
}

func (p *plan) start(t int32) int32 { return t }

func (p *plan) commit(t int32) int32 {
	if p.snapshot {
		return t + int32(len(p.in))
	}
	return t
}

// precede adds that one transaction comes before another.
func (p *plan) precede(first, second int32, k kind) {
	p.order(first, edge{to: second, kind: k})
}

func (p *plan) order(first int32, e edge) {
	from, to := p.commit(first), p.start(e.to)
	if e.kind == rw {
		from, to = p.start(first), p.commit(e.to)
	}
	e.to = to
	p.events.add(from, e)
}

func (p *plan) number() {
	p.versions = int32(p.keys)
	for t, keys := range p.writes {
		p.wrote[t] = make([]int32, len(keys))
		for i := range keys {
			p.wrote[t][i] = p.versions
			p.versions++
		}
	}
}

// versionOf is the version of a key that a transaction wrote; txn < 0 stands for what was there at first.
func (p *plan) versionOf(txn, key int32) int32 {
	if txn < 0 {
		return key
	}
	i, _ := slices.BinarySearch(p.writes[txn], key)
	return p.wrote[txn][i]
}

// maxSaturated bounds the events of which all orders are inferred: that takes a bit for each two of them, 128 MiB.
const maxSaturated = 1 << 15

// written are the transactions that wrote each key and are in, and who wrote each version, -1 for what was there at first.
func (p *plan) written() (writers [][]int32, author []int32) {
	writers = make([][]int32, p.keys)
	author = make([]int32, p.versions)
	for k := range p.keys {
		author[k] = -1
	}
	for t, keys := range p.writes {
		for i, k := range keys {
			author[p.wrote[t][i]] = int32(t)
			if p.in[t] {
				writers[k] = append(writers[k], int32(t))
			}
		}
	}
	return writers, author
}

// saturate infers what must come before what. It gives a cycle if that is impossible, and whether the budget lasted.
func (p *plan) saturate(b *linear.Budget) (cycle []step, done bool) {
	n := len(p.events.out)
	if n > maxSaturated {
		b.Reached = fmt.Sprintf("%d events", maxSaturated)
		return p.events.cycle(kinds(ww, wr, rw, session, clock, implied, pass)), false
	}
	if p.snapshot {
		for t := range p.in {
			p.events.add(p.start(int32(t)), edge{to: p.commit(int32(t)), kind: pass})
		}
	}
	writers, author := p.written()
	words := (n + 63) / 64
	reach := make([]uint64, n*words)
	p.reach, p.words = reach, words
	reaches := p.reaches
	for {
		if c := p.events.cycle(kinds(ww, wr, rw, session, clock, implied, pass)); c != nil {
			return c, true
		}
		if !b.SpendAll(n * words / 64) {
			return nil, false
		}
		p.close(reach, words)
		added := false
		add := func(first int32, e edge) {
			from, to := p.commit(first), p.start(e.to)
			if e.kind == rw {
				from, to = p.start(first), p.commit(e.to)
			}
			if first == e.to || reaches(from, to) {
				return
			}
			p.order(first, e)
			added = true
		}
		if !p.fromReads(writers, author, add, b) || !p.fromSnapshots(writers, add, b) {
			return nil, false
		}
		if !added {
			return nil, true
		}
	}
}

// fromReads infers from each read of a version where the other writers of its key stand. It reports whether the budget lasted.
func (p *plan) fromReads(writers [][]int32, author []int32, add func(int32, edge), b *linear.Budget) bool {
	for t := range p.in {
		if !p.in[t] {
			continue
		}
		third := int32(t)
		for _, f := range p.reads[t] {
			first := author[f.version]
			if !b.SpendAll(len(writers[f.key])) {
				return false
			}
			for _, second := range writers[f.key] {
				if second == first || second == third {
					continue
				}
				if first < 0 {
					add(third, edge{second, rw, f.key, 0, 0})
					continue
				}
				if p.reaches(p.commit(second), p.start(third)) {
					add(second, edge{first, implied, f.key, third, 0})
				}
				if p.reaches(p.start(first), p.commit(second)) {
					add(third, edge{second, rw, f.key, 0, 0})
				}
			}
		}
	}
	return true
}

// fromSnapshots orders the writers of each key, of which no two overlap under snapshot isolation.
func (p *plan) fromSnapshots(writers [][]int32, add func(int32, edge), b *linear.Budget) bool {
	if p.snapshot {
		for k, list := range writers {
			if !b.SpendAll(len(list) * len(list)) {
				return false
			}
			for _, x := range list {
				for _, y := range list {
					if x != y && p.reaches(p.start(x), p.commit(y)) {
						add(x, edge{y, ww, int32(k), 0, 0})
					}
				}
			}
		}
	}
	return true
}

// close makes reach the transitive closure of the events' order, which has no cycle.
func (p *plan) close(reach []uint64, words int) {
	n := len(p.events.out)
	clear(reach)
	state := make([]uint8, n)
	var stack []int32
	for root := range n {
		stack = append(stack, int32(root))
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			if state[v] == 0 {
				state[v] = 1
				for _, e := range p.events.out[v] {
					if state[e.to] == 0 {
						stack = append(stack, e.to)
					}
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if state[v] == 2 {
				continue
			}
			state[v] = 2
			row := reach[int(v)*words : (int(v)+1)*words]
			for _, e := range p.events.out[v] {
				row[e.to/64] |= 1 << (e.to % 64)
				for i, w := range reach[int(e.to)*words : (int(e.to)+1)*words] {
					row[i] |= w
				}
			}
		}
	}
}

// txn of an event, or -1 for a moment in time.
func (p *plan) txn(e int32) int32 {
	n := int32(len(p.in))
	switch {
	case e < n:
		return e
	case e < 2*n:
		return e - n
	}
	return -1
}
