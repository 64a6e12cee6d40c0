package histories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
)

// comparable counts the messages of groups that received at least two, whose order can be wrong.
func (t *topic) comparable(order string) (n int) {
	if order == NoOrder {
		return 0
	}
	for _, g := range t.groups {
		if len(g.received) > 1 {
			n += len(g.received)
		}
	}
	return n
}

// outOfTurn finds two messages of one publisher that a group certainly received in the other order.
func (t *topic) outOfTurn(g *consumers) (first *refutation) {
	byPublisher := map[string][]*message{}
	for _, m := range g.received {
		if m.sent != nil {
			byPublisher[m.sent.Client] = append(byPublisher[m.sent.Client], m)
		}
	}
	for _, publisher := range slices.Sorted(maps.Keys(byPublisher)) {
		list := byPublisher[publisher]
		slices.SortFunc(list, func(x, y *message) int { return cmp.Compare(x.sent.Call, y.sent.Call) })
		var soonest *message // of the later ones, the one that was certainly received first
		for i := len(list) - 1; i >= 0; i-- {
			m := list[i]
			if soonest != nil && certainlyBefore(soonest, m, g) {
				first = earlier(first, t.swapped(m, soonest, g))
			}
			if soonest == nil || soonerReceipt(m, soonest, g) {
				soonest = m
			}
		}
	}
	return first
}

// soonerReceipt reports whether the end of x's first delivery is earlier than y's. Within a batch, places decide.
func soonerReceipt(x, y *message, g *consumers) bool {
	a, b := x.receiptBy(g), y.receiptBy(g)
	return a.high < b.high || a.high == b.high && a.place < b.place
}

// certainlyBefore reports whether a group's first delivery of x was before its first delivery of y.
func certainlyBefore(x, y *message, g *consumers) bool {
	a, b := x.receiptBy(g), y.receiptBy(g)
	return a.high < b.low || inOneBatch(a, b) && a.place < b.place
}

// inOneBatch reports whether both first deliveries were certainly in the same batch.
func inOneBatch(a, b *receipt) bool {
	return len(a.ops) == 1 && len(b.ops) == 1 && a.ops[0] == b.ops[0] && a.low == a.ops[0].Call && b.low == b.ops[0].Call
}

func (t *topic) swapped(early, late *message, g *consumers) *refutation {
	shown, told := early.receiptBy(g).ops[0], late.receiptBy(g).ops[0]
	claim := reordered.Cause(PublisherOrder).Claim("%s received %s before %s, which client %s had published first", clientOf(told),
		verdict.Shorten(late.value), verdict.Shorten(early.value), early.sent.Client)
	return t.conflict(shown, claim, []string{
		lineOf(early.sent, early.sent.Op+" "+verdict.Shorten(early.value)),
		lineOf(late.sent, late.sent.Op+" "+verdict.Shorten(late.value)),
		receiptLine(told, late), receiptLine(shown, early)})
}

// span is a message's interval in a relation: another message is before it if that one's span ends before this one begins.
type span struct {
	from, to uint64
	id       int
}

// relation orders messages by intervals: an interval order (Fishburn 1970), whose linear extensions are found in one pass.
type relation struct {
	group         *consumers // of receipts; nil for publications
	byTo, byFrom  []span
	first, waited int // places in byTo and byFrom
}

// cycle finds messages that no total order explains: each was certainly before the next, and the last before the first. Message
// a is before b if a was acknowledged, or received by anyone, before b was published, or if a group received a before b. An
// order exists exactly if this relation has no cycle: given an order that extends it, put each publication and delivery at the
// latest beginning of those before it.
func (t *topic) cycle() *refutation {
	var list []*message
	for _, m := range t.messages {
		if m.sent != nil && len(m.got) > 0 {
			list = append(list, m)
		}
	}
	o := newOrdering(t, list)
	if o.complete() {
		return nil
	}
	loop := o.loop()
	claim := reordered.Cause(TotalOrder).Claim("no order of the messages agrees with all consumers and publishers: %s is before %s, and %s before %s",
		verdict.Shorten(loop[0].a.value), verdict.Shorten(loop[0].b.value), verdict.Shorten(loop[len(loop)-1].a.value),
		verdict.Shorten(loop[0].a.value))
	var evidence []string
	var last *receipt
	for i, step := range loop {
		if i < verdict.MaxEvidence {
			evidence = append(evidence, fmt.Sprintf("%s before %s: %s", verdict.Shorten(step.a.value), verdict.Shorten(step.b.value), step.why))
		}
		for _, r := range step.b.got {
			if r != nil && (last == nil || r.high > last.high) {
				last = r
			}
		}
	}
	return t.conflict(last.ops[0], claim, evidence)
}

// ordering is the search for a total order of messages.
type ordering struct {
	list      []*message
	relations []*relation
	next      [][]int // by message: those directly after it in a batch
	waits     []int   // by message: relations and batches in which others may be before it
	gone      []bool
	ready     []int
}

func newOrdering(t *topic, list []*message) *ordering {
	o := &ordering{list: list, next: make([][]int, len(list)), waits: make([]int, len(list)), gone: make([]bool, len(list))}
	published := &relation{}
	ids := map[*message]int{}
	for id, m := range list {
		ids[m] = id
		known := uint64(history.Pending)
		if m.acked != nil {
			known = m.acked.Return
		}
		for _, r := range m.got {
			if r != nil {
				known = min(known, r.high)
			}
		}
		published.byTo = append(published.byTo, span{m.sent.Call, known, id})
	}
	o.relations = append(o.relations, published)
	for _, g := range t.sortedGroups() {
		r := &relation{group: g}
		var before *message
		for _, m := range g.received {
			if m.sent == nil {
				continue
			}
			got := m.receiptBy(g)
			r.byTo = append(r.byTo, span{got.low, got.high, ids[m]})
			if before != nil && inOneBatch(before.receiptBy(g), got) {
				o.next[ids[before]] = append(o.next[ids[before]], ids[m])
				o.waits[ids[m]]++
			}
			before = m
		}
		o.relations = append(o.relations, r)
	}
	for _, r := range o.relations {
		r.byFrom = slices.Clone(r.byTo)
		slices.SortFunc(r.byTo, func(x, y span) int { return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.id, y.id)) })
		slices.SortFunc(r.byFrom, func(x, y span) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.id, y.id)) })
		for _, s := range r.byTo {
			o.waits[s.id]++
		}
	}
	return o
}

// complete removes messages that nothing left is before, one after the other, and reports whether all could be removed.
func (o *ordering) complete() bool {
	removed := 0
	for _, r := range o.relations {
		o.release(r)
	}
	for len(o.ready) > 0 {
		id := o.ready[len(o.ready)-1]
		o.ready = o.ready[:len(o.ready)-1]
		o.gone[id] = true
		removed++
		for _, n := range o.next[id] {
			o.satisfy(n)
		}
		for _, r := range o.relations {
			o.release(r)
		}
	}
	return removed == len(o.list)
}

// release lets the messages go on that nothing left of a relation is before.
func (o *ordering) release(r *relation) {
	for r.first < len(r.byTo) && o.gone[r.byTo[r.first].id] {
		r.first++
	}
	for r.waited < len(r.byFrom) && (r.first == len(r.byTo) || r.byFrom[r.waited].from <= r.byTo[r.first].to) {
		o.satisfy(r.byFrom[r.waited].id)
		r.waited++
	}
}

func (o *ordering) satisfy(id int) {
	if o.waits[id]--; o.waits[id] == 0 {
		o.ready = append(o.ready, id)
	}
}

// precedence says why message a is before message b.
type precedence struct {
	a, b *message
	why  string
}

// loop follows what is left backwards, from a message to one before it, until one comes again.
func (o *ordering) loop() []precedence {
	at := slices.Index(o.gone, false)
	var path []precedence
	seen := map[int]int{}
	for {
		if start, again := seen[at]; again {
			path = path[start:]
			slices.Reverse(path)
			return path
		}
		seen[at] = len(path)
		before, why := o.before(at)
		path = append(path, precedence{o.list[before], o.list[at], why})
		at = before
	}
}

// before returns a message that is left and before another one that is left, and why.
func (o *ordering) before(id int) (before int, why string) {
	for _, r := range o.relations {
		i := slices.IndexFunc(r.byFrom[r.waited:], func(s span) bool { return s.id == id })
		if i < 0 {
			continue
		}
		a, b := o.list[r.byTo[r.first].id], o.list[id]
		if r.group == nil {
			if a.acked != nil && a.acked.Return < b.sent.Call {
				return r.byTo[r.first].id, "it was acknowledged before the other was published"
			}
			return r.byTo[r.first].id, "it was received before the other was published"
		}
		return r.byTo[r.first].id, "it was received first" + r.group.words(" by group")
	}
	for a, list := range o.next {
		if !o.gone[a] && slices.Contains(list, id) {
			return a, "it is earlier in a batch"
		}
	}
	panic("histories: a message waits for nothing")
}
