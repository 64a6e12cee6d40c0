package isolation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

// appended is an append: which transaction made it, and which of its appends to that key it is.
type appended struct {
	txn   int32
	nth   int32
	total int32 // appends of that transaction to that key
	at    int32 // where it is in the longest list that was read; unread if it is not there
}

const unread = -1

// own holds the values that one transaction has appended to a key so far.
type own struct {
	txn     int // its number, from 1
	appends []value
}

// view is a read of a key: how many elements others had put into the list.
type view struct {
	txn, key int32
	length   int32
}

// longest is the longest list that was read from a key.
type longest struct {
	list    int32 // of the log
	reader  int32
	values  []value
	appends []int32 // of these values
}

type lists struct {
	*ListLog
	places  *appendTable
	appends []appended
	longest []longest // by key
	own     []own     // by key: of the transaction that is looked at
	in      []bool    // transactions that certainly committed
	views   []view
	// tails are, by key, the transactions that appended what no transaction read, in their order.
	tails [][]int32
}

func newLists(log *ListLog) *lists {
	keys := len(log.keys.texts)
	return &lists{ListLog: log, longest: make([]longest, keys), own: make([]own, keys), tails: make([][]int32, keys)}
}

// ownOf returns the values that a transaction has appended to a key so far.
func (l *lists) ownOf(k int32, txn int) *own {
	o := &l.own[k]
	if o.txn != txn+1 {
		o.txn, o.appends = txn+1, o.appends[:0]
	}
	return o
}

// appendOf finds the record of an append: its transaction, and its place in the longest list.
func (l *lists) appendOf(a listAccess) *appended { return &l.appends[l.places.find(a.key, a.what)] }

// index finds who appended what.
func (l *lists) index() *Finding {
	count := 0
	for _, a := range l.accesses {
		if a.length == appending {
			count++
		}
	}
	l.places, l.appends = newAppendTable(count), make([]appended, 0, count)
	for i := range l.txns {
		again := false // it appends to a key several times
		for _, a := range l.accessesOf(i) {
			if a.length != appending {
				continue
			}
			slot := l.places.slot(a.key, a.what)
			if slot.next != 0 {
				return &Finding{Reason: fmt.Sprintf("value %q was appended twice to key %q, by %s and by %s; append each value once", l.values.text(a.what),
					l.keys.texts[a.key], l.words(int(l.appends[slot.next-1].txn)), l.words(i))}
			}
			o := l.ownOf(a.key, i)
			l.appends = append(l.appends, appended{txn: int32(i), nth: int32(len(o.appends)), total: 1, at: unread})
			*slot = appendSlot{a.key, a.what, int32(len(l.appends))}
			o.appends = append(o.appends, a.what)
			again = again || len(o.appends) > 1
		}
		if !again {
			continue
		}
		for _, a := range l.accessesOf(i) {
			if a.length == appending {
				l.appendOf(a).total = int32(len(l.ownOf(a.key, i).appends))
			}
		}
	}
	return nil
}

// read goes through what each transaction read, and finds what no level allows.
func (l *lists) read() *Finding {
	l.in = make([]bool, len(l.txns))
	clear(l.own)
	for k := range l.longest {
		l.longest[k].list = -1
	}
	for i := range l.txns {
		if t := &l.txns[i]; !t.there || t.fate != Committed {
			continue
		}
		l.in[i] = true
		for _, a := range l.accessesOf(i) {
			o := l.ownOf(a.key, i)
			if a.length == appending {
				o.appends = append(o.appends, a.what)
				continue
			}
			if f := l.readList(i, a, o); f != nil {
				return f
			}
		}
	}
	return l.orderly()
}

// fewAccesses bounds the accesses of a transaction that are compared with each other.
const fewAccesses = 16

// readList looks at what transaction i read.
func (l *lists) readList(i int, a listAccess, o *own) *Finding {
	list, key := l.ListLog.read(a), l.keys.texts[a.key]
	n := len(list) - len(o.appends)
	if n < 0 || !slices.Equal(list[n:], o.appends) {
		return wrong("internal", ownReads.Cause(notAtEnd), []int{i}, "%s read %s of key %q, which does not end with its own %s",
			l.words(i), l.show(list), key, l.show(o.appends))
	}
	known := &l.longest[a.key]
	looked := 0 // so many elements were looked at when another transaction read them
	if known.list == int32(a.what) && len(l.accessesOf(i)) <= fewAccesses {
		looked = min(n, len(known.values))
		if f := l.again(i, a, known, looked, n); f != nil {
			return f
		}
	}
	for at := looked; at < n; at++ {
		v := list[at]
		w := int32(-1)
		if at < len(known.values) && known.values[at] == v { // as nearly always
			w = known.appends[at]
		} else {
			w = l.places.find(a.key, v)
		}
		if w < 0 {
			return wrong("G1a", unwritten.Cause(), []int{i}, "%s read %q in key %q, which was never appended", l.words(i), l.values.text(v), key)
		}
		p := &l.appends[w]
		switch {
		case int(p.txn) == i:
			return l.ownElsewhere(i, a, v)
		case l.txns[p.txn].fate == Aborted:
			return wrong("G1a", abortedRead.Cause(), []int{int(p.txn), i},
				"%s read %q in key %q, which %s, a failed transaction, had appended", l.words(i), l.values.text(v), key,
				l.words(int(p.txn)))
		case at == n-1 && p.nth < p.total-1:
			return l.amid(i, a, p, v)
		}
		l.in[p.txn] = true
	}
	if shared := min(len(list), len(known.values)); known.list != int32(a.what) && !slices.Equal(list[:shared], known.values[:shared]) {
		return wrong("incompatible order", incompatible.Cause(diverging), []int{int(known.reader), i},
			"%s read %s of key %q, and %s read %s: no order of the appends explains both",
			l.words(i), l.show(list), key, l.words(int(known.reader)), l.show(known.values))
	}
	if len(list) > len(known.values) {
		for at := len(known.values); at < len(list); at++ {
			w := l.places.find(a.key, list[at])
			if known.appends = append(known.appends, w); l.appends[w].at == unread {
				l.appends[w].at = int32(at)
			}
		}
		known.list, known.reader, known.values = int32(a.what), int32(i), list
	}
	l.views = append(l.views, view{int32(i), a.key, int32(n)})
	return nil
}

// again looks at a read of so many elements that another transaction had read before: what may be wrong is that the reader appended one of them,
// or that the last one, if all n are among them, is not its transaction's last.
func (l *lists) again(i int, a listAccess, known *longest, looked, n int) *Finding {
	first := int32(looked)
	for _, b := range l.accessesOf(i) {
		if b.length == appending && b.key == a.key {
			if at := l.appendOf(b).at; at != unread {
				first = min(first, at)
			}
		}
	}
	if int(first) < looked {
		return l.ownElsewhere(i, a, known.values[first])
	}
	if looked == n && n > 0 {
		if p := &l.appends[known.appends[n-1]]; p.nth < p.total-1 {
			return l.amid(i, a, p, known.values[n-1])
		}
	}
	return nil
}

func (l *lists) ownElsewhere(i int, a listAccess, v value) *Finding {
	return wrong("internal", ownReads.Cause(elsewhere), []int{i},
		"%s read its own %q in key %q at a different position from where it appended it", l.words(i), l.values.text(v),
		l.keys.texts[a.key])
}

// amid: a read ends in the middle of the appends of a transaction.
func (l *lists) amid(i int, a listAccess, p *appended, v value) *Finding {
	return wrong("G1b", intermediate.Cause(), []int{int(p.txn), i}, "%s read key %q up to %q, in the middle of the appends of %s",
		l.words(i), l.keys.texts[a.key], l.values.text(v), l.words(int(p.txn)))
}

// orderly finds a longest list that no order of the appends explains.
func (l *lists) orderly() *Finding {
	for k := range l.longest {
		order := &l.longest[k]
		var next map[int32]int32 // by transaction, of those that appended several times
		for at, w := range order.appends {
			p := &l.appends[w]
			if int(p.at) != at {
				return wrong("incompatible order", incompatible.Cause(readTwice), []int{int(order.reader)},
					"%s read %q twice in key %q, where it was appended once",
					l.words(int(order.reader)), l.values.text(order.values[at]), l.keys.texts[k])
			}
			if p.nth != next[p.txn] {
				return wrong("incompatible order", incompatible.Cause(unordered), []int{int(order.reader), int(p.txn)},
					"%s read the appends of %s to key %q out of order, or only some of them", l.words(int(order.reader)),
					l.words(int(p.txn)), l.keys.texts[k])
			}
			if p.total > 1 {
				if next == nil {
					next = map[int32]int32{}
				}
				next[p.txn]++
			}
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
	crowded := l.unread()
	timed := level == StrictSerializable
	arcs, ok := l.dependencies(timed, b)
	if !ok {
		return Finding{Reason: "budget: more dependencies than " + b.Reached}
	}
	// Without any cycle there is none of the kinds that the levels are about.
	of, sizes := arcs.components()
	nodes := len(of)
	if len(sizes) == nodes {
		return Finding{Answer: Holds}
	}
	// A cycle is among transactions of one component.
	g, original := l.graph(timed, nodes, func(v int32) bool { return sizes[of[v]] > 1 })
	arcs = arrows{}
	found := func(anomaly string, cycle []step) Finding {
		for i := range cycle {
			cycle[i].from, cycle[i].to = original[cycle[i].from], original[cycle[i].to]
		}
		return l.explain(anomaly, cycle)
	}
	if c := g.cycle(kinds(ww)); c != nil {
		return found("G0", c)
	}
	if c := g.cycle(kinds(ww, wr)); c != nil {
		return found("G1c", c)
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
		return found(name, c)
	}
	if level == SnapshotIsolation {
		// A serial order is one of snapshots too.
		if !crowded || g.cycle(kinds(ww, wr, rw, pass)) == nil {
			return Finding{Answer: Holds}
		}
		all, _ := l.graph(timed, nodes, func(int32) bool { return true })
		return l.crowded(all, b)
	}
	if c := g.cycle(kinds(ww, wr, rw, pass)); c != nil {
		return found("G2", c)
	}
	if timed {
		if c := g.cycle(kinds(ww, wr, rw, pass, clock)); c != nil {
			return found("a cycle in time", c)
		}
	}
	return Finding{Answer: Holds}
}

// unread finds what was appended and not read. crowded reports whether several transactions appended so to one key, so that their order is not
// known.
func (l *lists) unread() (crowded bool) {
	for i := range l.txns {
		if !l.in[i] {
			continue
		}
		for _, a := range l.accessesOf(i) {
			if a.length != appending || l.appendOf(a).at != unread {
				continue
			}
			tail := &l.tails[a.key]
			if n := len(*tail); n == 0 || (*tail)[n-1] != int32(i) {
				*tail = append(*tail, int32(i))
				crowded = crowded || n > 0
			}
		}
	}
	return crowded
}

// edges calls a function for each dependency of what committed, and returns how many nodes they are between: transactions, and then helpers. A helper
// stands before what was appended to a key and not read; others stand for moments, which say which transactions had returned before others began.
func (l *lists) edges(timed bool, add func(from int32, e edge)) (nodes int) {
	nodes = len(l.txns)
	for k := range l.longest {
		key, order := int32(k), l.longest[k].appends
		for i := 1; i < len(order); i++ {
			add(l.appends[order[i-1]].txn, edge{l.appends[order[i]].txn, ww, key, int32(i - 1), int32(i)})
		}
	}
	helpers := make([]int32, len(l.tails))
	for k, tail := range l.tails {
		if len(tail) == 0 {
			continue
		}
		helpers[k] = int32(nodes)
		nodes++
		last := int32(len(l.longest[k].appends) - 1)
		for _, t := range tail {
			add(helpers[k], edge{t, pass, int32(k), 0, 0})
			if last >= 0 {
				add(l.appends[l.longest[k].appends[last]].txn, edge{t, ww, int32(k), last, -1})
			}
		}
	}
	for _, v := range l.views {
		order, tail := l.longest[v.key].appends, l.tails[v.key]
		if v.length > 0 {
			add(l.appends[order[v.length-1]].txn, edge{v.txn, wr, v.key, v.length - 1, 0})
		}
		switch {
		case int(v.length) < len(order):
			add(v.txn, edge{l.appends[order[v.length]].txn, rw, v.key, v.length, 0})
		case len(tail) == 0:
		case !contains(tail, v.txn):
			add(v.txn, edge{helpers[v.key], rw, v.key, v.length, 0})
		default:
			// The reader is one of those that follow; an edge to itself through the helper would be a cycle of nothing.
			for _, t := range tail {
				add(v.txn, edge{t, rw, v.key, v.length, 0})
			}
		}
	}
	if timed {
		nodes = l.moments(nodes, add)
	}
	return nodes
}

func contains(sorted []int32, x int32) bool {
	_, ok := slices.BinarySearch(sorted, x)
	return ok
}

// moments adds which transactions had returned before others began. Helpers from the given node on stand for moments before some of them began and
// after others had returned.
func (l *lists) moments(nodes int, add func(from int32, e edge)) int {
	var open returns
	now := int32(nodes)
	nodes++
	fresh := true // nothing comes after now yet
	for _, i := range l.calls() {
		for len(open) > 0 && open[0].at < l.txns[i].call {
			if !fresh {
				add(now, edge{to: int32(nodes), kind: clock})
				now, fresh = int32(nodes), true
				nodes++
			}
			add(open.pop().txn, edge{to: now, kind: clock})
		}
		add(now, edge{to: i, kind: clock})
		fresh = false
		if t := &l.txns[i]; t.fate == Committed {
			open.push(moment{t.ret, i})
		}
	}
	return nodes
}

// calls are the transactions that are in, by their calls.
func (l *lists) calls() []int32 {
	list := make([]int32, 0, len(l.txns))
	for i, in := range l.in {
		if in {
			list = append(list, int32(i))
		}
	}
	byCall := func(x, y int32) int { return cmp.Compare(l.txns[x].call, l.txns[y].call) }
	if !slices.IsSortedFunc(list, byCall) {
		slices.SortFunc(list, byCall)
	}
	return list
}

// moment is when a transaction returned.
type moment struct {
	at  uint64
	txn int32
}

// returns is a heap of those that are to come, the next one first.
type returns []moment

func (h *returns) push(m moment) {
	*h = append(*h, m)
	list := *h
	for i := len(list) - 1; i > 0 && list[i].at < list[(i-1)/2].at; i = (i - 1) / 2 {
		list[i], list[(i-1)/2] = list[(i-1)/2], list[i]
	}
}

func (h *returns) pop() moment {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	*h = list
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && list[child+1].at < list[child].at {
			child++
		}
		if child >= last || list[i].at <= list[child].at {
			return first
		}
		list[i], list[child] = list[child], list[i]
		i = child
	}
}

// dependencies are all edges, as no more than where they lead, if the budget has room for them.
func (l *lists) dependencies(timed bool, b *linear.Budget) (arcs arrows, ok bool) {
	var counts []int32
	all := 0
	nodes := l.edges(timed, func(from int32, e edge) {
		for int(from) >= len(counts) {
			counts = append(counts, make([]int32, max(len(l.txns), len(counts)/2))...)
		}
		if from != e.to {
			counts[from]++
			all++
		}
	})
	if !b.SpendAll(all) {
		return arcs, false
	}
	for len(counts) < nodes {
		counts = append(counts, 0)
	}
	arcs = newArrows(counts[:nodes])
	l.edges(timed, func(from int32, e edge) {
		if from != e.to {
			arcs.add(from, e.to)
		}
	})
	return arcs, true
}

// graph has the dependencies among some of the nodes. original gives what its nodes stand for, whose order they have.
func (l *lists) graph(timed bool, nodes int, among func(int32) bool) (g *graph, original []int32) {
	number := make([]int32, nodes)
	g = newGraph(0)
	for v := range int32(nodes) {
		number[v] = -1
		if among(v) {
			number[v] = g.node()
			original = append(original, v)
			if int(v) < len(l.txns) {
				g.real = len(g.out)
			}
		}
	}
	l.edges(timed, func(from int32, e edge) {
		if from, e.to = number[from], number[e.to]; from >= 0 && e.to >= 0 {
			g.add(from, e)
		}
	})
	for _, out := range g.out {
		slices.SortStableFunc(out, func(x, y edge) int {
			return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.to, y.to), cmp.Compare(x.key, y.key), cmp.Compare(x.a, y.a))
		})
	}
	return g, original
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
	p := newPlan(len(l.txns), len(l.keys.texts))
	p.snapshot = true
	copy(p.in, l.in)
	for i := range l.txns {
		for _, a := range l.accessesOf(i) {
			if a.length == appending {
				p.writes[i] = append(p.writes[i], a.key)
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
	violated := *wrong("G-single", orderless.Cause(string(SnapshotIsolation)), nil,
		"no order of the unread appends gives each transaction a snapshot")
	cycle, done := p.saturate(b)
	if cycle != nil {
		return violated
	}
	if done {
		switch p.solve(b) {
		case linear.Legal:
			return Finding{Answer: Holds}
		case linear.Illegal:
			return violated
		}
	}
	return Finding{Reason: "budget: no order of the unread appends was found within " + b.Reached}
}

// show is a list in words.
func (l *lists) show(list []value) string {
	const shown = 12
	if len(list) > shown {
		return fmt.Sprintf("[... %s] (%d elements)", strings.Join(l.texts(list[len(list)-shown:]), " "), len(list))
	}
	return "[" + strings.Join(l.texts(list), " ") + "]"
}

// explain says a cycle in words.
func (l *lists) explain(anomaly string, cycle []step) Finding {
	f := Finding{Answer: Violated, Anomaly: anomaly}
	value := func(key, at int32) string {
		if at < 0 || int(at) >= len(l.longest[key].values) {
			return "a value that was never read"
		}
		return fmt.Sprintf("%q", l.values.text(l.longest[key].values[at]))
	}
	key := func(s step) string { return l.keys.texts[s.key] }
	return finish(f, len(l.txns), l.words, key, cycle, func(s step, from, to string) string {
		switch s.kind {
		case ww:
			return fmt.Sprintf("%s appended %s to key %q, and %s appended %s after it", from, value(s.key, s.a), l.keys.texts[s.key], to, value(s.key, s.b))
		case wr:
			return fmt.Sprintf("%s appended %s to key %q, and %s read it", from, value(s.key, s.a), l.keys.texts[s.key], to)
		}
		return fmt.Sprintf("%s read key %q with %d elements, and %s appended %s after them", from, l.keys.texts[s.key], s.a, to, value(s.key, s.a))
	})
}

// finish puts a cycle of transactions, of which there are so many, into words: helper nodes are left out.
func finish(f Finding, txns int, words func(txn int) string, key func(step) string, cycle []step, say func(s step, from, to string) string) Finding {
	n := int32(txns)
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
		f.Cycle = append(f.Cycle, dependency(slices.Index(f.Txns, int(s.from)), slices.Index(f.Txns, int(cycle[i].to)), s, key))
		if s.kind == clock {
			f.Steps = append(f.Steps, fmt.Sprintf("%s had returned before %s began", from, to))
			continue
		}
		f.Steps = append(f.Steps, say(s, from, to))
	}
	f.Reason, f.Cause = fmt.Sprintf("%s: %d transactions each come before the next one, in a cycle", f.Anomaly, len(f.Txns)),
		cyclic.Cause(anomalyCode(f.Anomaly))
	if len(f.Txns) == 1 {
		f.Reason, f.Cause = f.Anomaly+": "+f.Steps[0], selfCyclic.Cause(anomalyCode(f.Anomaly), cycle[0].kind.String())
	}
	for k, t := range f.Txns {
		f.Steps = append(f.Steps, fmt.Sprintf("T%d is %s", k+1, words(t)))
	}
	return f
}

// dependency describes a step of a cycle between two of its transactions.
func dependency(from, to int, s step, key func(step) string) Dependency {
	switch s.kind {
	case clock:
		return Dependency{From: from, To: to, Kind: "time"}
	case session:
		return Dependency{From: from, To: to, Kind: s.kind.String()}
	case implied: // an order of writes that reads imply
		return Dependency{From: from, To: to, Kind: ww.String(), Key: key(s)}
	}
	return Dependency{From: from, To: to, Kind: s.kind.String(), Key: key(s)}
}
