package isolation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

// place of an append: which transaction made it, and which of its appends to that key it is.
type place struct {
	txn   int32
	nth   int32
	total int32 // appends of that transaction to that key
	read  bool  // the append is in the longest list that was read
}

// own is what one transaction has done to a key so far.
type own struct {
	txn     int // its number, from 1
	appends []string
}

// view is a read of a key: how many elements others had put into the list.
type view struct {
	txn, key int32
	length   int32
}

type lists struct {
	txns    []Txn
	names   []string // of keys
	keys    map[string]int32
	writers []map[string]place // by key and value
	orders  [][]string         // by key: the longest list that was read
	places  [][]place          // by key: of its elements
	own     []own              // by key: of the transaction that is looked at
	in      []bool             // transactions that certainly committed
	views   []view
}

func newLists(txns []Txn) *lists { return &lists{txns: txns, keys: map[string]int32{}} }

func (l *lists) key(name string) int32 {
	k, seen := l.keys[name]
	if !seen {
		k = int32(len(l.names))
		l.keys[name] = k
		l.names = append(l.names, name)
		l.writers = append(l.writers, map[string]place{})
		l.orders = append(l.orders, nil)
		l.places = append(l.places, nil)
		l.own = append(l.own, own{})
	}
	return k
}

// ownOf is what a transaction has done to a key so far.
func (l *lists) ownOf(k int32, txn int) *own {
	o := &l.own[k]
	if o.txn != txn+1 {
		o.txn, o.appends = txn+1, o.appends[:0]
	}
	return o
}

func (l *lists) wrong(anomaly string, txns []int, format string, args ...any) Finding {
	return Finding{Answer: Violated, Anomaly: anomaly, Txns: txns, Reason: anomaly + ": " + fmt.Sprintf(format, args...)}
}

// index finds who appended what.
func (l *lists) index() *Finding {
	for i := range l.txns {
		again := false // it appends to a key several times
		for _, a := range l.txns[i].Accesses {
			k := l.key(a.Key)
			if !a.Write {
				continue
			}
			if p, seen := l.writers[k][a.Value]; seen {
				return &Finding{Reason: fmt.Sprintf("value %q was appended twice to key %q, by %s and by %s; append each value once", a.Value, a.Key,
					&l.txns[p.txn], &l.txns[i])}
			}
			o := l.ownOf(k, i)
			l.writers[k][a.Value] = place{txn: int32(i), nth: int32(len(o.appends)), total: 1}
			o.appends = append(o.appends, a.Value)
			again = again || len(o.appends) > 1
		}
		for _, a := range l.txns[i].Accesses {
			if a.Write && again {
				k := l.keys[a.Key]
				p := l.writers[k][a.Value]
				p.total = int32(len(l.ownOf(k, i).appends))
				l.writers[k][a.Value] = p
			}
		}
	}
	return nil
}

// read goes through what each transaction read, and finds what no level allows.
func (l *lists) read() *Finding {
	l.in = make([]bool, len(l.txns))
	clear(l.own)
	reader := make([]int, len(l.names)) // who read the longest list
	for i := range l.txns {
		t := &l.txns[i]
		if t.Fate != Committed {
			continue
		}
		l.in[i] = true
		for _, a := range t.Accesses {
			k := l.keys[a.Key]
			o := l.ownOf(k, i)
			if a.Write {
				o.appends = append(o.appends, a.Value)
				continue
			}
			if f := l.readList(i, k, &a, o, reader); f != nil {
				return f
			}
		}
	}
	return l.orderly(reader)
}

// readList looks at what transaction i read of key k.
func (l *lists) readList(i int, k int32, a *Access, o *own, reader []int) *Finding {
	t := &l.txns[i]
	n := len(a.List) - len(o.appends)
	if n < 0 || !slices.Equal(a.List[n:], o.appends) {
		f := l.wrong("internal", []int{i}, "%s read %s of key %q, which does not end with its own %s", t, show(a.List), a.Key, show(o.appends))
		return &f
	}
	longest := l.orders[k]
	for at, v := range a.List[:n] {
		var p place
		ok := at < len(longest) && longest[at] == v // as nearly always: its place is known
		if ok {
			p = l.places[k][at]
		} else {
			p, ok = l.writers[k][v]
		}
		switch {
		case !ok:
			f := l.wrong("G1a", []int{i}, "%s read %q in key %q, which nobody had appended", t, v, a.Key)
			return &f
		case int(p.txn) == i:
			f := l.wrong("internal", []int{i}, "%s read its own %q in key %q at another place than it had appended it", t, v, a.Key)
			return &f
		case l.txns[p.txn].Fate == Aborted:
			f := l.wrong("G1a", []int{int(p.txn), i}, "%s read %q in key %q, which %s had appended, and that failed", t, v, a.Key, &l.txns[p.txn])
			return &f
		case at == n-1 && p.nth < p.total-1:
			f := l.wrong("G1b", []int{int(p.txn), i}, "%s read key %q up to %q, in the middle of the appends of %s", t, a.Key, v, &l.txns[p.txn])
			return &f
		}
		l.in[p.txn] = true
	}
	short, long := a.List, longest
	if len(short) > len(long) {
		short, long = long, short
	}
	if !slices.Equal(long[:len(short)], short) {
		f := l.wrong("incompatible order", []int{reader[k], i}, "%s read %s of key %q, and %s read %s: no order of the appends explains both", t,
			show(a.List), a.Key, &l.txns[reader[k]], show(longest))
		return &f
	}
	if len(a.List) > len(longest) {
		l.orders[k], reader[k] = a.List, i
		for _, v := range a.List[len(longest):] {
			l.places[k] = append(l.places[k], l.writers[k][v])
		}
	}
	l.views = append(l.views, view{int32(i), k, int32(n)})
	return nil
}

// orderly finds a longest list that no order of the appends explains.
func (l *lists) orderly(reader []int) *Finding {
	for k, order := range l.orders {
		next := map[int32]int32{} // by transaction
		seen := map[string]bool{}
		for at, v := range order {
			p := l.places[k][at]
			if seen[v] {
				f := l.wrong("incompatible order", []int{reader[k]}, "%s read %q twice in key %q, where it was appended once", &l.txns[reader[k]], v, l.names[k])
				return &f
			}
			seen[v] = true
			if p.nth != next[p.txn] {
				f := l.wrong("incompatible order", []int{reader[k], int(p.txn)}, "%s read the appends of %s to key %q in another order than they were made, or not all", &l.txns[reader[k]],
					&l.txns[p.txn], l.names[k])
				return &f
			}
			next[p.txn]++
			p.read = true
			l.writers[k][v] = p
		}
	}
	return nil
}

func (l *lists) judge(level Level, b *linear.Budget) Finding {
	if f := l.index(); f != nil {
		return *f
	}
	if f := l.read(); f != nil {
		return *f
	}
	g, crowded := l.graph(level == StrictSerializable)
	edges := 0
	for _, out := range g.out {
		edges += len(out)
	}
	if !b.SpendAll(edges) {
		return Finding{Reason: "budget: more dependencies than " + b.Reached}
	}
	// Without any cycle there is none of the kinds that the levels are about.
	if level != ReadCommitted && g.cycle(kinds(ww, wr, rw, pass, clock)) == nil {
		return Finding{Answer: Holds}
	}
	if c := g.cycle(kinds(ww)); c != nil {
		return l.explain("G0", c)
	}
	if c := g.cycle(kinds(ww, wr)); c != nil {
		return l.explain("G1c", c)
	}
	if level == ReadCommitted {
		return Finding{Answer: Holds}
	}
	if c := twice(g).cycle(kinds(ww, wr, rw, pass)); c != nil {
		n := int32(len(g.out))
		count := 0
		for i := range c {
			c[i].from %= n
			c[i].to %= n
			if c[i].kind == rw {
				count++
			}
		}
		name := "G-single"
		if count > 1 {
			name = "G-nonadjacent"
		}
		return l.explain(name, c)
	}
	if level == SnapshotIsolation {
		// A serial order is one of snapshots too.
		if !crowded || g.cycle(kinds(ww, wr, rw, pass)) == nil {
			return Finding{Answer: Holds}
		}
		return l.crowded(g, b)
	}
	if c := g.cycle(kinds(ww, wr, rw, pass)); c != nil {
		return l.explain("G2", c)
	}
	if level == StrictSerializable {
		if c := g.cycle(kinds(ww, wr, rw, pass, clock)); c != nil {
			return l.explain("a cycle in time", c)
		}
	}
	return Finding{Answer: Holds}
}

// graph has the dependencies of all that committed. crowded reports whether several transactions appended to the same key
// what no transaction read, so that their order is not known.
func (l *lists) graph(timed bool) (g *graph, crowded bool) {
	g = newGraph(len(l.txns))
	tails := make([]int32, len(l.names)) // the helper node before what was appended and not read
	unread := make([]map[int32]bool, len(l.names))
	for k, order := range l.orders {
		tails[k] = -1
		for i := 1; i < len(order); i++ {
			g.add(l.places[k][i-1].txn, edge{l.places[k][i].txn, ww, int32(k), int32(i - 1), int32(i)})
		}
	}
	for i := range l.txns {
		if !l.in[i] {
			continue
		}
		for _, a := range l.txns[i].Accesses {
			if !a.Write {
				continue
			}
			k := l.keys[a.Key]
			order := l.orders[k]
			if l.writers[k][a.Value].read || unread[k][int32(i)] {
				continue
			}
			if unread[k] == nil {
				unread[k] = map[int32]bool{}
				tails[k] = g.node()
			}
			unread[k][int32(i)] = true
			g.add(tails[k], edge{int32(i), pass, k, 0, 0})
			if len(order) > 0 {
				g.add(l.places[k][len(order)-1].txn, edge{int32(i), ww, k, int32(len(order) - 1), -1})
			}
		}
	}
	for _, v := range l.views {
		order := l.orders[v.key]
		if v.length > 0 {
			g.add(l.places[v.key][v.length-1].txn, edge{v.txn, wr, v.key, v.length - 1, 0})
		}
		switch {
		case int(v.length) < len(order):
			g.add(v.txn, edge{l.places[v.key][v.length].txn, rw, v.key, v.length, 0})
		case tails[v.key] >= 0 && !unread[v.key][v.txn]:
			g.add(v.txn, edge{tails[v.key], rw, v.key, v.length, 0})
		case tails[v.key] >= 0:
			// The reader is one of those that follow; an edge to itself through the helper would be a cycle of nothing.
			for t := range unread[v.key] {
				g.add(v.txn, edge{t, rw, v.key, v.length, 0})
			}
		}
	}
	for k := range unread {
		crowded = crowded || len(unread[k]) > 1
	}
	if timed {
		addTime(g, l.txns, l.in)
	}
	for _, out := range g.out {
		// Maps have no order, and the cycle that is shown must be the same each time.
		slices.SortStableFunc(out, func(x, y edge) int {
			return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.to, y.to), cmp.Compare(x.key, y.key), cmp.Compare(x.a, y.a))
		})
	}
	return g, crowded
}

// addTime returns which transactions had returned before others began, through helper nodes that stand for moments.
func addTime(g *graph, txns []Txn, in []bool) {
	type moment struct {
		at  uint64
		txn int32
		end bool
	}
	var moments []moment
	for i := range txns {
		if in[i] {
			moments = append(moments, moment{txns[i].Call, int32(i), false})
			if txns[i].Fate == Committed {
				moments = append(moments, moment{txns[i].Return, int32(i), true})
			}
		}
	}
	slices.SortFunc(moments, func(x, y moment) int { return cmp.Compare(x.at, y.at) })
	now := g.node()
	for _, m := range moments {
		if !m.end {
			g.add(now, edge{to: m.txn, kind: clock})
			continue
		}
		next := g.node()
		g.add(now, edge{to: next, kind: clock})
		g.add(m.txn, edge{to: next, kind: clock})
		now = next
	}
}

// twice is the graph in which no path has two anti-dependencies in a row: each node stands for having come by one, or
// by something else.
func twice(g *graph) *graph {
	n := int32(len(g.out))
	d := newGraph(int(2 * n))
	d.real, d.fold = g.real, int(n)
	for v, out := range g.out {
		for _, e := range out {
			switch e.kind {
			case rw:
				e.to += n
				d.add(int32(v), e)
			case pass:
				d.add(int32(v), e)
				e.to += n
				d.add(int32(v)+n, e)
			case ww, wr:
				d.add(int32(v), e)
				d.add(int32(v)+n, e)
			}
		}
	}
	return d
}

// crowded decides snapshot isolation where the order of some appends is free.
func (l *lists) crowded(g *graph, b *linear.Budget) Finding {
	p := newPlan(len(l.txns), len(l.names))
	p.snapshot = true
	copy(p.in, l.in)
	for i := range l.txns {
		for _, a := range l.txns[i].Accesses {
			if a.Write {
				p.writes[i] = append(p.writes[i], l.keys[a.Key])
			}
		}
		slices.Sort(p.writes[i])
		p.writes[i] = slices.Compact(p.writes[i])
	}
	// Reads are placed by order alone, since a list has one place where each of them belongs.
	for v := range l.txns {
		for _, e := range g.out[v] {
			if int(e.to) >= len(l.txns) {
				for _, f := range g.out[e.to] {
					p.precede(int32(v), f.to, e.kind)
				}
				continue
			}
			p.precede(int32(v), e.to, e.kind)
		}
	}
	p.number()
	wrong := Finding{Answer: Violated, Anomaly: "G-single", Reason: "G-single: no order of the appends that nobody read gives each transaction a snapshot"}
	cycle, done := p.saturate(b)
	if cycle != nil {
		return wrong
	}
	if done {
		switch p.solve(b) {
		case linear.Legal:
			return Finding{Answer: Holds}
		case linear.Illegal:
			return wrong
		}
	}
	return Finding{Reason: "budget: no order of the appends that nobody read was found within " + b.Reached}
}

func show(list []string) string {
	const shown = 12
	if len(list) > shown {
		return fmt.Sprintf("[... %s] (%d elements)", strings.Join(list[len(list)-shown:], " "), len(list))
	}
	return "[" + strings.Join(list, " ") + "]"
}

// explain says a cycle in words.
func (l *lists) explain(anomaly string, cycle []step) Finding {
	f := Finding{Answer: Violated, Anomaly: anomaly}
	value := func(key, at int32) string {
		if at < 0 || int(at) >= len(l.orders[key]) {
			return "a value that nobody read"
		}
		return fmt.Sprintf("%q", l.orders[key][at])
	}
	return finish(f, l.txns, cycle, func(s step, from, to string) string {
		switch s.kind {
		case ww:
			return fmt.Sprintf("%s appended %s to key %q, and %s appended %s behind it", from, value(s.key, s.a), l.names[s.key], to, value(s.key, s.b))
		case wr:
			return fmt.Sprintf("%s appended %s to key %q, and %s read it", from, value(s.key, s.a), l.names[s.key], to)
		}
		return fmt.Sprintf("%s read key %q with %d elements, and %s appended %s behind them", from, l.names[s.key], s.a, to, value(s.key, s.a))
	})
}

// finish puts a cycle into words: helper nodes are left out.
func finish(f Finding, txns []Txn, cycle []step, say func(s step, from, to string) string) Finding {
	n := int32(len(txns))
	// Begin at a transaction.
	for i := range cycle {
		if cycle[i].from < n {
			cycle = append(cycle[i:len(cycle):len(cycle)], cycle[:i]...)
			break
		}
	}
	name := func(t int32) string {
		if t >= n {
			return "the beginning"
		}
		k := slices.Index(f.Txns, int(t))
		if k < 0 {
			k = len(f.Txns)
			f.Txns = append(f.Txns, int(t))
		}
		return fmt.Sprintf("T%d", k+1)
	}
	for i := 0; i < len(cycle); i++ {
		s := cycle[i]
		for i+1 < len(cycle) && cycle[i].to >= n {
			i++ // through helpers
		}
		from, to := name(s.from), name(cycle[i].to)
		if s.kind == clock {
			f.Steps = append(f.Steps, fmt.Sprintf("%s had returned before %s began", from, to))
			continue
		}
		f.Steps = append(f.Steps, say(s, from, to))
	}
	f.Reason = fmt.Sprintf("%s: %d transactions each come before the next one, in a cycle", f.Anomaly, len(f.Txns))
	if len(f.Txns) == 1 {
		f.Reason = f.Anomaly + ": " + f.Steps[0]
	}
	for k, t := range f.Txns {
		f.Steps = append(f.Steps, fmt.Sprintf("T%d is %s", k+1, &txns[t]))
	}
	return f
}
