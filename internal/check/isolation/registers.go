package isolation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// written is a write of a register.
type written struct {
	txn  int32
	last bool // the transaction wrote the key no more
}

// seen is a read of a key that another transaction wrote, or that no transaction had written yet (from < 0).
type seen struct {
	key, from int32
}

type registers struct {
	txns   []Txn
	names  []string
	keys   map[string]int32
	in     []bool
	reads  [][]seen  // by transaction, in its order
	writes [][]int32 // by transaction: keys in order
}

func newRegisters(txns []Txn) *registers {
	return &registers{txns: txns, keys: map[string]int32{}, in: make([]bool, len(txns)), reads: make([][]seen, len(txns)), writes: make([][]int32, len(txns))}
}

// wrong is the finding of an anomaly, which its words begin with.
func wrong(anomaly string, c failure.Cause, txns []int, format string, args ...any) *Finding {
	return &Finding{Answer: Violated, Anomaly: anomaly, Txns: txns, Cause: c, Reason: anomaly + ": " + fmt.Sprintf(format, args...)}
}

// read finds who wrote what was read, and what no level allows.
func (r *registers) read() *Finding {
	type cell struct {
		key   int32
		value string
	}
	writer := map[cell]written{}
	for i := range r.txns {
		last := map[int32]string{}
		for _, a := range r.txns[i].Accesses {
			k, known := r.keys[a.Key]
			if !known {
				k = int32(len(r.names))
				r.keys[a.Key] = k
				r.names = append(r.names, a.Key)
			}
			if !a.Write {
				continue
			}
			if w, twice := writer[cell{k, a.Value}]; twice {
				return &Finding{Reason: fmt.Sprintf("value %q was written twice to key %q, by %s and by %s; write each value once", a.Value, a.Key,
					&r.txns[w.txn], &r.txns[i])}
			}
			writer[cell{k, a.Value}] = written{txn: int32(i)}
			last[k] = a.Value
		}
		for k, v := range last {
			writer[cell{k, v}] = written{int32(i), true}
			r.writes[i] = append(r.writes[i], k)
		}
		slices.Sort(r.writes[i])
	}
	for i := range r.txns {
		t := &r.txns[i]
		if t.Fate != Committed {
			continue
		}
		r.in[i] = true
		own := map[int32]string{}
		for _, a := range t.Accesses {
			k := r.keys[a.Key]
			if a.Write {
				own[k] = a.Value
				continue
			}
			if v, wrote := own[k]; wrote {
				if !a.Found || a.Value != v {
					return wrong("internal", ownReads.Cause(otherValue), []int{i}, "%s read %s in key %q after it had written %q", t, shown(a), a.Key, v)
				}
				continue
			}
			if !a.Found {
				r.reads[i] = append(r.reads[i], seen{k, -1})
				continue
			}
			w, ok := writer[cell{k, a.Value}]
			switch {
			case !ok:
				return wrong("G1a", unwritten.Cause(), []int{i}, "%s read %q in key %q, which was never written", t, a.Value, a.Key)
			case int(w.txn) == i:
				return wrong("internal", ownReads.Cause(tooEarly), []int{i}, "%s read its own %q in key %q before it wrote it", t, a.Value, a.Key)
			case r.txns[w.txn].Fate == Aborted:
				return wrong("G1a", abortedRead.Cause(), []int{int(w.txn), i},
					"%s read %q in key %q, which %s, a failed transaction, had written", t, a.Value, a.Key, &r.txns[w.txn])
			case !w.last:
				return wrong("G1b", intermediate.Cause(), []int{int(w.txn), i},
					"%s read %q in key %q, which %s had overwritten itself", t, a.Value, a.Key, &r.txns[w.txn])
			}
			r.in[w.txn] = true
			r.reads[i] = append(r.reads[i], seen{k, w.txn})
		}
	}
	return nil
}

func shown(a Access) string {
	if !a.Found {
		return "nothing"
	}
	return fmt.Sprintf("%q", a.Value)
}

// sessions numbers the clients, and lists the transactions of each that committed, in their order.
func (r *registers) sessions() (of []int32, lists [][]int32) {
	of = make([]int32, len(r.txns))
	number := map[string]int32{}
	var order []int32
	for i := range r.txns {
		if r.in[i] {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(r.txns[x].Call, r.txns[y].Call) })
	for _, t := range order {
		s, known := number[r.txns[t].Client]
		if !known {
			s = int32(len(lists))
			number[r.txns[t].Client] = s
			lists = append(lists, nil)
		}
		of[t] = s
		lists[s] = append(lists[s], t)
	}
	return of, lists
}

// weak judges the levels at which each read has a say of its own: a transaction must come before the one that was read
// from, if it wrote the same key and could be seen by the reader. They differ in what could be seen.
func (r *registers) weak(level Level, b *linear.Budget) Finding {
	if f := r.read(); f != nil {
		return *f
	}
	n := int32(len(r.txns))
	g := newGraph(int(n) + 1) // the last node stands for the beginning, when all keys were empty
	of, sessions := r.sessions()
	for _, list := range sessions {
		for i, t := range list {
			g.add(n, edge{to: t, kind: pass})
			if i > 0 {
				g.add(list[i-1], edge{to: t, kind: session})
			}
		}
	}
	size := 0
	for t, reads := range r.reads {
		size += len(reads) + len(r.writes[t])
		for _, s := range reads {
			if s.from >= 0 {
				g.add(s.from, edge{to: int32(t), kind: wr, key: s.key})
			}
		}
	}
	if !b.SpendAll(size) {
		return Finding{Reason: "budget: more accesses than " + b.Reached}
	}
	if c := g.cycle(kinds(wr, session)); c != nil {
		return r.explain("G1c", c, n)
	}
	before := func(second, first, key, third int32) {
		if first < 0 {
			first = n
		}
		g.add(second, edge{first, implied, key, third, 0})
	}
	ok := true
	switch level {
	case ReadCommitted:
		ok = r.direct(before, b, true)
	case ReadAtomic:
		ok = r.direct(before, b, false) && r.recent(sessions, before)
	case Causal:
		ok = r.causal(g, of, sessions, before, b)
	}
	if !ok {
		return Finding{Reason: "budget: could not compute what follows from the reads within " + b.Reached}
	}
	if c := g.cycle(kinds(wr, session, implied, pass)); c != nil {
		return r.explain(string(level), c, n)
	}
	return Finding{Answer: Holds}
}

// direct adds what follows from what a transaction read from others. In order, only earlier reads have a say. It takes
// the smaller one of what was read and what was written, so that all together is within n to the power of 3/2.
func (r *registers) direct(before func(second, first, key, third int32), b *linear.Budget, inOrder bool) bool {
	for t, reads := range r.reads {
		third := int32(t)
		at := map[int32][]int{} // reads by key
		for i, s := range reads {
			at[s.key] = append(at[s.key], i)
		}
		first := map[int32]int{} // by writer, its first read
		var order []int32
		for i, s := range reads {
			if _, known := first[s.from]; !known && s.from >= 0 {
				first[s.from] = i
				order = append(order, s.from)
			}
		}
		for _, second := range order {
			say := func(key int32) {
				for _, i := range at[key] {
					if reads[i].from != second && (!inOrder || i > first[second]) {
						before(second, reads[i].from, key, third)
						return // whose writer is a second one itself, for later reads of the key
					}
				}
			}
			if len(r.writes[second]) <= len(at) {
				if !b.SpendAll(len(r.writes[second])) {
					return false
				}
				for _, k := range r.writes[second] {
					say(k)
				}
				continue
			}
			if !b.SpendAll(len(at)) {
				return false
			}
			for _, s := range reads {
				if _, writes := slices.BinarySearch(r.writes[second], s.key); writes {
					say(s.key)
				}
			}
		}
	}
	return true
}

// recent adds what follows from what the same client had written before. Of its writes of a key the last one says all.
func (r *registers) recent(sessions [][]int32, before func(second, first, key, third int32)) bool {
	for _, list := range sessions {
		last := map[int32]int32{}
		for _, third := range list {
			for _, s := range r.reads[third] {
				if second, wrote := last[s.key]; wrote && second != s.from {
					before(second, s.from, s.key, third)
				}
			}
			for _, k := range r.writes[third] {
				last[k] = third
			}
		}
	}
	return true
}

// maxClocks bounds the memory of causal clocks: transactions times clients.
const maxClocks = 1 << 27

// causal adds what follows from all that happened before a transaction. For each client the last one that wrote the key
// says all; since clocks only grow along a client, pointers into the writes of each key do so too.
func (r *registers) causal(g *graph, of []int32, sessions [][]int32, before func(second, first, key, third int32), b *linear.Budget) bool {
	n, k := len(r.txns), len(sessions)
	if n*k > maxClocks {
		b.Reached = fmt.Sprintf("%d transactions times clients", maxClocks)
		return false
	}
	if !b.SpendAll(n * k / 16) {
		return false
	}
	clocks, position := r.clocks(g, of, sessions)
	columns := r.columns(sessions)
	for _, list := range sessions {
		for key := range columns {
			for i := range columns[key] {
				columns[key][i].at = 0
			}
		}
		for _, third := range list {
			clock := clocks[int(third)*k : (int(third)+1)*k]
			for _, s := range r.reads[third] {
				if !b.SpendAll(len(columns[s.key])) {
					return false
				}
				for i := range columns[s.key] {
					c := &columns[s.key][i]
					for c.at < len(c.txns) && position[c.txns[c.at]] < clock[c.client] {
						c.at++
					}
					if c.at > 0 && c.txns[c.at-1] != s.from {
						before(c.txns[c.at-1], s.from, s.key, third)
					}
				}
			}
		}
	}
	return true
}

// clocks are, for each transaction, how many of each client happened before it; position is its place in the list of its client.
func (r *registers) clocks(g *graph, of []int32, sessions [][]int32) (clocks, position []int32) {
	n, k := len(r.txns), len(sessions)
	clocks = make([]int32, n*k)
	position = make([]int32, n)
	missing := make([]int32, n)
	for _, list := range sessions {
		for i, t := range list {
			position[t] = int32(i)
		}
	}
	for v := range n {
		for _, e := range g.out[v] {
			if e.kind == wr || e.kind == session {
				missing[e.to]++
			}
		}
	}
	var queue []int32
	for t := range n {
		if r.in[t] && missing[t] == 0 {
			queue = append(queue, int32(t))
		}
	}
	for head := 0; head < len(queue); head++ {
		t := queue[head]
		mine := clocks[int(t)*k : (int(t)+1)*k]
		for _, e := range g.out[t] {
			if e.kind != wr && e.kind != session {
				continue
			}
			theirs := clocks[int(e.to)*k : (int(e.to)+1)*k]
			for s, c := range mine {
				theirs[s] = max(theirs[s], c)
			}
			theirs[of[t]] = max(theirs[of[t]], position[t]+1)
			if missing[e.to]--; missing[e.to] == 0 {
				queue = append(queue, e.to)
			}
		}
	}
	return clocks, position
}

// column has the transactions of a client that wrote a key.
type column struct {
	client int32
	txns   []int32
	at     int
}

// columns are the writes of each key, client by client.
func (r *registers) columns(sessions [][]int32) [][]column {
	columns := make([][]column, len(r.names))
	for s, list := range sessions {
		for _, t := range list {
			for _, key := range r.writes[t] {
				c := columns[key]
				if len(c) == 0 || c[len(c)-1].client != int32(s) {
					c = append(c, column{client: int32(s)})
				}
				c[len(c)-1].txns = append(c[len(c)-1].txns, t)
				columns[key] = c
			}
		}
	}
	return columns
}

// strong judges the levels that ask for an order of all transactions.
func (r *registers) strong(level Level, b *linear.Budget) Finding {
	if f := r.read(); f != nil {
		return *f
	}
	p, twoValues := r.plan(level)
	if twoValues != nil {
		return *twoValues
	}
	cycle, done := p.saturate(b)
	if cycle != nil {
		return r.explain(name(cycle), p.fold(cycle), int32(len(r.txns)))
	}
	if done {
		switch p.solve(b) {
		case linear.Legal:
			return Finding{Answer: Holds}
		case linear.Illegal:
			return *wrong(string(level), orderless.Cause(string(level)), nil, "no order of the %d transactions explains their reads", len(r.txns))
		}
	}
	return Finding{Reason: fmt.Sprintf("budget: could not order %d transactions within %s; use fewer clients, or lists "+
		"instead of registers", len(r.txns), b.Reached)}
}

// plan puts the history in terms of a search for an order.
func (r *registers) plan(level Level) (*plan, *Finding) {
	p := newPlan(len(r.txns), len(r.names))
	p.snapshot = level == SnapshotIsolation || level == SessionSnapshotIsolation
	copy(p.in, r.in)
	copy(p.writes, r.writes)
	p.number()
	for t, reads := range r.reads {
		from := map[int32]int32{} // by key
		for _, s := range reads {
			if other, again := from[s.key]; again {
				if other != s.from {
					return nil, wrong("G-single", twoValues.Cause(), []int{t}, "%s read key %q twice and saw two values", &r.txns[t], r.names[s.key])
				}
				continue
			}
			from[s.key] = s.from
			p.reads[t] = append(p.reads[t], fetch{s.key, p.versionOf(s.from, s.key)})
			if s.from >= 0 {
				p.order(s.from, edge{to: int32(t), kind: wr, key: s.key})
			}
		}
	}
	if level == SessionSnapshotIsolation || level == SessionSerializable {
		_, sessions := r.sessions()
		for _, list := range sessions {
			for i := 1; i < len(list); i++ {
				p.precede(list[i-1], list[i], session)
			}
		}
	}
	if level == StrictSerializable {
		addTime(p.events, r.txns, r.in)
	}
	return p, nil
}

// inTime is the anomaly of a cycle that only the time of transactions closes.
const inTime = "a cycle in time"

// anomalyCode is an anomaly for causes.
func anomalyCode(anomaly string) string {
	if anomaly == inTime {
		return "time"
	}
	return anomaly
}

// name of the anomaly that a cycle is.
func name(cycle []step) string {
	count := map[kind]int{}
	for _, s := range cycle {
		count[s.kind]++
	}
	switch {
	case count[clock] > 0:
		return inTime
	case count[rw] > 1:
		return "G2"
	case count[rw] == 1:
		return "G-single"
	case count[wr] > 0:
		return "G1c"
	}
	return "G0"
}

// fold makes a cycle of events one of transactions.
func (p *plan) fold(cycle []step) []step {
	var folded []step
	for _, s := range cycle {
		if t := p.txn(s.from); t >= 0 {
			s.from = t
		}
		if t := p.txn(s.to); t >= 0 {
			s.to = t
		}
		if s.from != s.to {
			folded = append(folded, s)
		}
	}
	return folded
}

func (r *registers) explain(anomaly string, cycle []step, n int32) Finding {
	f := Finding{Answer: Violated, Anomaly: anomaly}
	words, keyOf := func(t int) string { return r.txns[t].String() }, func(s step) string { return r.names[s.key] }
	return finish(f, len(r.txns), words, keyOf, cycle, func(s step, from, to string) string {
		key := r.names[s.key]
		switch {
		case s.kind == session:
			return fmt.Sprintf("%s comes before %s, of the same client", from, to)
		case s.kind == wr:
			return fmt.Sprintf("%s wrote key %q, and %s read that", from, key, to)
		case s.kind == rw:
			return fmt.Sprintf("%s read key %q before %s wrote it", from, key, to)
		case s.kind == implied && s.to >= n:
			return fmt.Sprintf("%s wrote key %q, but %s, which must have seen that write, found nothing there", from, key, &r.txns[s.a])
		case s.kind == implied:
			return fmt.Sprintf("%s wrote key %q before %s did, since %s must have seen the first and read the second", from, key, to, &r.txns[s.a])
		}
		return fmt.Sprintf("%s wrote key %q before %s did", from, key, to)
	})
}
