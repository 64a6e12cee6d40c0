package histories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Levels of delivery: what a system promises about an acknowledged message.
const (
	AtLeastOnce = "at-least-once" // each group receives it, perhaps more than once
	AtMostOnce  = "at-most-once"  // no group receives it twice; it may be lost
	ExactlyOnce = "exactly-once"  // each group receives it once
)

// Orders of delivery. Only the first delivery of a message to a group counts: a broker may deliver it again later.
const (
	NoOrder        = "none"
	PublisherOrder = "publisher" // messages of one publisher arrive in the order in which it published them
	TotalOrder     = "total"     // there is one order of all messages, which all groups see and which publishers agree with
)

// What may be wrong with a delivery.
var (
	neverPublished  = failure.Declare("delivery/invented")
	refusedReceived = failure.Declare("delivery/refused")
	earlyReceived   = failure.Declare("delivery/early")
	deliveredTwice  = failure.Declare("delivery/duplicated")
	deliveredAgain  = failure.Declare("delivery/acknowledged-again")
	lostMessage     = failure.Declare("delivery/lost")
	reordered       = failure.Declare("delivery/reordered") // the order
)

// deliveryVerb is the effect of an operation on a topic.
type deliveryVerb uint8

const (
	noDelivery deliveryVerb = iota
	publish
	receive      // one message
	receiveBatch // a list of messages
	acknowledge
	subscribe
	unsubscribe
)

var deliveryVerbs = map[string]deliveryVerb{
	"publish": publish, "produce": publish, "send": publish, "enqueue": publish, "push": publish,
	"receive": receive, "consume": receive, "dequeue": receive, "pop": receive,
	"poll": receiveBatch, "fetch": receiveBatch,
	"ack": acknowledge, "subscribe": subscribe, "unsubscribe": unsubscribe,
}

// topic holds the messages of one key: a queue, a log or a subject.
type topic struct {
	key      string
	level    string
	messages []*message // in the order of their first mention
	byValue  map[string]*message
	groups   map[string]*consumers
	ops      int
	batches  bool // a receive may return several messages
}

// message is one that was published or received. Its value identifies it.
type message struct {
	value   string
	sent    *history.Operation // the publish that may have taken effect; nil if there was none
	acked   *history.Operation // the publish that returned ok first
	refused *history.Operation // a publish that failed
	twice   bool               // it was published more than once, and cannot be told from its double
	got     []*receipt         // by number of the group
}

// receipt is how a group received a message. Its first delivery was at some moment from low to high, both events.
type receipt struct {
	ops   []*history.Operation // in the order of their calls
	low   uint64
	high  uint64
	place int // within the batch, if there is one op only
}

// consumers is a group: consumers that share the messages of a topic.
type consumers struct {
	name     string
	number   int        // of the topic's groups
	received []*message // in the order of receipts, each once
	// last is the receive that was called last, with a known outcome; empty says that it found nothing.
	last  *history.Operation
	empty bool
	// unknown counts receives without a known outcome, from the event firstUnknown on.
	unknown      int
	firstUnknown uint64
	// from and until bound the messages that the group must receive: those that were published after it had subscribed, and
	// acknowledged before it unsubscribed.
	from, until uint64
	subscribed  bool
	acked       map[string]*history.Operation // by message
}

// delivered judges what consumers received of what publishers sent, topic by topic. The rules are those of at-least-once
// delivery in messaging standards (MQTT 5.0, section 4.3; AMQP 1.0, section 2.6.12).
func delivered(p *world.Property, ops []history.Operation, cut string) verdict.Verdict {
	level := cmp.Or(p.Check.Level, AtLeastOnce)
	order := cmp.Or(p.Check.Order, NoOrder)
	left := newLeftOut()
	topics := topicsOf(&p.Check, level, &left, ops)
	v := verdict.New(p)
	var worst *refutation
	var lost bool
	unread, judgedTopics, compared := "", 0, 0
	acked, received := 0, 0
	for _, key := range slices.Sorted(maps.Keys(topics)) {
		t := topics[key]
		if reason := t.ambiguous(); reason != "" {
			left.keys[key] = omission{"a message was published more than once", reason, t.ops}
			continue
		}
		judgedTopics++
		a, r := t.counts()
		acked, received = acked+a, received+r
		found, isLoss := t.firstConflict(order)
		if found != nil && (worst == nil || found.event < worst.event) {
			worst, lost = found, isLoss
		}
		unread = cmp.Or(unread, t.unread())
		compared += t.comparable(order)
	}
	v.LeftOut = left.lines()
	if worst != nil {
		worst.violate(&v)
		if lost {
			return verdict.AtEnd(p, v, cut)
		}
		return v
	}
	switch unjudged := left.unjudged(&p.Check, judgedTopics); {
	case unjudged != "":
		v.Reason = unjudged
	case acked == 0:
		v.Idle, v.Reason = true, "no message was acknowledged"
	case received == 0:
		v.Idle, v.Reason = true, "no message was received"
	case order != NoOrder && compared == 0:
		v.Idle, v.Reason = true, "no group received two messages, so no order could be wrong"
	case level != AtMostOnce && unread != "":
		v.Reason = unread
	default:
		v.Status = verdict.Holds
	}
	return v
}

// topicsOf reads a history. A topic with an operation that has no model is left out.
func topicsOf(c *world.Check, level string, left *leftOut, ops []history.Operation) map[string]*topic {
	topics := map[string]*topic{}
	strange := map[string]*history.Operation{}
	for i := range ops {
		o := &ops[i]
		if !left.chooses(c, o) {
			continue
		}
		verb := deliveryVerbs[strings.ToLower(o.Op)]
		if verb == noDelivery {
			if o.Type != history.Fail && strange[o.Key] == nil && !history.IsRead(o.Op) {
				strange[o.Key] = o
			}
			continue
		}
		t := topics[o.Key]
		if t == nil {
			t = &topic{key: o.Key, level: level, byValue: map[string]*message{}, groups: map[string]*consumers{}}
			topics[o.Key] = t
		}
		t.ops++
		t.add(o, verb)
	}
	for key, o := range strange {
		if t := topics[key]; t != nil {
			reason := fmt.Sprintf("operation %q has no model", o.Op)
			left.keys[key] = omission{reason, fmt.Sprintf("%s, and it may have changed %q at event %d", reason, key, o.Call), t.ops}
			delete(topics, key)
		}
	}
	for _, t := range topics {
		t.boundReceipts()
	}
	return topics
}

func (t *topic) message(value string) *message {
	m := t.byValue[value]
	if m == nil {
		m = &message{value: value}
		t.byValue[value] = m
		t.messages = append(t.messages, m)
	}
	return m
}

// receiptBy returns how a group received the message, or nil.
func (m *message) receiptBy(g *consumers) *receipt {
	if g.number < len(m.got) {
		return m.got[g.number]
	}
	return nil
}

func (t *topic) group(name string) *consumers {
	g := t.groups[name]
	if g == nil {
		g = &consumers{name: name, number: len(t.groups), firstUnknown: history.Pending, until: history.Pending, acked: map[string]*history.Operation{}}
		t.groups[name] = g
	}
	return g
}

// add enters an operation. Operations come in the order of their calls.
func (t *topic) add(o *history.Operation, verb deliveryVerb) {
	ok := o.Type == history.Ok
	switch verb {
	case publish:
		t.publish(o)
	case receive, receiveBatch:
		t.receive(o, verb)
	case acknowledge:
		g := t.group(o.Group)
		if before := g.acked[o.Input]; ok && (before == nil || o.Return < before.Return) {
			g.acked[o.Input] = o
		}
	case subscribe:
		g := t.group(o.Group)
		if o.Type == history.Fail {
			return
		}
		if !g.subscribed {
			g.subscribed, g.from = true, history.Pending
		}
		if ok {
			g.from = min(g.from, o.Return)
		}
	case unsubscribe:
		if o.Type != history.Fail {
			g := t.group(o.Group)
			g.until = min(g.until, o.Call)
		}
	}
}

func (t *topic) publish(o *history.Operation) {
	m := t.message(o.Input)
	if o.Type == history.Fail {
		m.refused = o
		return
	}
	if m.sent == nil {
		m.sent = o
	} else if t.level != ExactlyOnce {
		m.twice = true
		return
	}
	if o.Type == history.Ok && (m.acked == nil || o.Return < m.acked.Return) {
		m.acked = o
	}
}

func (t *topic) receive(o *history.Operation, verb deliveryVerb) {
	g := t.group(o.Group)
	t.batches = t.batches || verb == receiveBatch
	switch o.Type {
	case history.Fail:
		return
	case history.Info:
		g.unknown++
		g.firstUnknown = min(g.firstUnknown, o.Call)
		return
	}
	values := received(o, verb)
	g.last, g.empty = o, len(values) == 0
	for place, value := range values {
		m := t.message(value)
		r := m.receiptBy(g)
		if r == nil {
			r = &receipt{low: o.Call, high: o.Return, place: place}
			for len(m.got) <= g.number {
				m.got = append(m.got, nil)
			}
			m.got[g.number] = r
			g.received = append(g.received, m)
		}
		r.ops = append(r.ops, o)
		r.high = min(r.high, o.Return)
	}
}

// received lists the messages that a receive returned.
func received(o *history.Operation, verb deliveryVerb) []string {
	if o.Output == "" && !o.Found {
		return nil
	}
	if verb == receive {
		return []string{o.Output}
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(o.Output), &list) != nil {
		return []string{o.Output}
	}
	values := make([]string, len(list))
	for i, raw := range list {
		if json.Unmarshal(raw, &values[i]) != nil {
			values[i] = string(raw)
		}
	}
	return values
}

// boundReceipts narrows and widens when first deliveries were: before the acknowledgement of a consumer, which ends all deliveries
// of a message, and as early as a receive of unknown outcome, unless each message arrives once at most.
func (t *topic) boundReceipts() {
	for _, g := range t.groups {
		for _, m := range g.received {
			r := m.receiptBy(g)
			if ack := g.acked[m.value]; ack != nil {
				r.high = min(r.high, ack.Return)
			}
			if t.level == AtLeastOnce {
				r.low = min(r.low, g.firstUnknown)
			}
		}
	}
}

// ambiguous says which message was published twice, where messages must differ to be told apart.
func (t *topic) ambiguous() string {
	for _, m := range t.messages {
		if m.twice {
			return fmt.Sprintf("message %s was published more than once on %q; publish each value once, or judge the level exactly-once, "+
				"in which equal messages count as one", verdict.Shorten(m.value), t.key)
		}
	}
	return ""
}

// counts returns how many messages were acknowledged, and how many were received.
func (t *topic) counts() (acked, received int) {
	for _, m := range t.messages {
		if m.acked != nil {
			acked++
		}
		if len(m.got) > 0 {
			received++
		}
	}
	return acked, received
}

// sortedGroups lists the groups by name.
func (t *topic) sortedGroups() []*consumers {
	return slices.SortedFunc(maps.Values(t.groups), func(x, y *consumers) int { return cmp.Compare(x.name, y.name) })
}

// firstConflict returns the violation that shows first, if there is one, and whether it is a loss.
func (t *topic) firstConflict(order string) (first *refutation, isLoss bool) {
	consider := func(c *refutation) { first = earlier(first, c) }
	groups := t.sortedGroups()
	for _, m := range t.messages {
		consider(t.invented(m))
		for _, g := range groups {
			consider(t.repeated(m, g))
		}
	}
	if first != nil {
		return first, false // messages that were never sent have no order
	}
	switch order {
	case PublisherOrder:
		for _, g := range groups {
			consider(t.outOfTurn(g))
		}
	case TotalOrder:
		consider(t.cycle())
	}
	if first != nil {
		return first, false
	}
	for _, g := range groups {
		consider(t.lost(g))
	}
	return first, first != nil
}

// invented finds a message that was received and cannot have been published before.
func (t *topic) invented(m *message) *refutation {
	first := m.firstReceipt()
	if first == nil {
		return nil
	}
	what := fmt.Sprintf("%s received %s", clientOf(first), verdict.Shorten(m.value))
	claim, evidence := failure.Claim{}, []string{}
	switch {
	case m.sent == nil && m.refused != nil:
		claim = refusedReceived.Cause(m.refused.Op).Claim("%s, although its %s had failed", what, m.refused.Op)
		evidence = append(evidence, lineOf(m.refused, m.refused.Op+" "+verdict.Shorten(m.value)+" failed"))
	case m.sent == nil:
		claim = neverPublished.Cause().Claim("%s, which was never published", what)
	case first.Return < m.sent.Call:
		claim = earlyReceived.Cause().Claim("%s before it was published", what)
		evidence = append(evidence, lineOf(m.sent, m.sent.Op+" "+verdict.Shorten(m.value)))
	default:
		return nil
	}
	return t.conflict(first, claim, append(evidence, receiptLine(first, m)))
}

// firstReceipt is the receive that returned the message first.
func (m *message) firstReceipt() (first *history.Operation) {
	for _, r := range m.got {
		if r == nil {
			continue
		}
		for _, o := range r.ops {
			if first == nil || o.Return < first.Return {
				first = o
			}
		}
	}
	return first
}

// repeated finds a message that a group received again, although it receives each once, or had acknowledged it.
func (t *topic) repeated(m *message, g *consumers) *refutation {
	r := m.receiptBy(g)
	if r == nil {
		return nil
	}
	if len(r.ops) > 1 && t.level != AtLeastOnce {
		again := r.ops[1]
		return t.conflict(again, deliveredTwice.Cause(t.level).Claim("%s received %s again", clientOf(again), verdict.Shorten(m.value)),
			[]string{receiptLine(r.ops[0], m), receiptLine(again, m)})
	}
	ack := g.acked[m.value]
	if ack == nil {
		return nil
	}
	for _, o := range r.ops {
		if o.Call > ack.Return {
			return t.conflict(o, deliveredAgain.Cause().Claim("%s received %s after %s had been told that it was acknowledged",
				clientOf(o), verdict.Shorten(m.value), clientOf(ack)),
				[]string{receiptLine(r.ops[0], m), lineOf(ack, "ack "+verdict.Shorten(m.value)+" -> ok"), receiptLine(o, m)})
		}
	}
	return nil
}

// lost finds a message that a group should have received, and did not, although its last receive found nothing.
func (t *topic) lost(g *consumers) *refutation {
	if t.level == AtMostOnce || !g.empty {
		return nil
	}
	var missing []*message
	for _, m := range t.messages {
		if g.owed(m) && m.receiptBy(g) == nil && g.last.Call > m.acked.Return {
			missing = append(missing, m)
		}
	}
	if len(missing) == 0 || t.level == ExactlyOnce && (len(missing) <= g.unknown || g.unknown > 0 && t.batches) {
		return nil // receives of unknown outcome may have taken them
	}
	m := missing[0]
	evidence := []string{lineOf(m.acked, m.acked.Op+" "+verdict.Shorten(m.value)+" -> ok")}
	if n := len(missing) - 1; n > 0 {
		evidence = append(evidence, fmt.Sprintf("and %s that were not received either, such as %s", counted(n, "further message"),
			verdict.Shorten(missing[len(missing)-1].value)))
	}
	evidence = append(evidence, lineOf(g.last, g.last.Op+" found nothing"))
	return t.conflict(g.last, lostMessage.Cause().Claim("%s was acknowledged and never delivered%s", verdict.Shorten(m.value), g.words(" to group")), evidence)
}

// owed reports whether a group must receive a message.
func (g *consumers) owed(m *message) bool {
	return m.acked != nil && m.sent.Call >= g.from && m.acked.Return <= g.until
}

// unread says which group may not have received all yet.
func (t *topic) unread() string {
	for _, g := range t.sortedGroups() {
		for _, m := range t.messages {
			if !g.owed(m) || m.receiptBy(g) != nil || g.empty && g.last.Call > m.acked.Return {
				continue
			}
			return fmt.Sprintf("%s on %q was not received%s, whose last receive still returned a message; at the end, receive until nothing is left",
				verdict.Shorten(m.value), t.key, g.words(" by group"))
		}
	}
	return ""
}

// words names the group after some words, if it has a name.
func (g *consumers) words(before string) string {
	if g.name == "" {
		return ""
	}
	return before + " " + g.name
}

func (t *topic) conflict(at *history.Operation, claim failure.Claim, evidence []string) *refutation {
	claim.Words = fmt.Sprintf("%q: %s", t.key, claim.Words)
	return refutationAt(at, claim, evidence...)
}

func clientOf(o *history.Operation) string {
	if o.Group != "" {
		return "client " + o.Client + " of group " + o.Group
	}
	return "client " + o.Client
}

func receiptLine(o *history.Operation, m *message) string {
	what := o.Op + " -> " + verdict.Shorten(m.value)
	if o.Group != "" {
		what += " (group " + o.Group + ")"
	}
	return lineOf(o, what)
}

// validDelivery returns why a property of delivery can never be judged.
func validDelivery(p *world.Property) error {
	levels := []string{"", AtLeastOnce, AtMostOnce, ExactlyOnce}
	if !slices.Contains(levels, p.Check.Level) {
		return fmt.Errorf("unknown level %q; use one of %s", p.Check.Level, strings.Join(levels[1:], ", "))
	}
	orders := []string{"", NoOrder, PublisherOrder, TotalOrder}
	if !slices.Contains(orders, p.Check.Order) {
		return fmt.Errorf("unknown order %q; use one of %s", p.Check.Order, strings.Join(orders[1:], ", "))
	}
	return nil
}
