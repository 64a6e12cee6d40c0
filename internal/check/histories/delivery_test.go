package histories

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func judgeDelivery(level, order string, ops []history.Operation) verdict.Verdict {
	return delivered(&world.Property{Name: "d", Check: world.Check{Type: world.Delivery, Subject: world.Subject{Level: level, Order: order}}}, ops, "")
}

// exchange writes a history of one queue as told does: "c@g:receive" has the group g, "c!2" returns message 2, and "c![1,2]" two
// messages of a poll.
func exchange(t testing.TB, text string) []history.Operation {
	t.Helper()
	ops := told(t, text)
	for i := range ops {
		ops[i].Key = "q"
	}
	return ops
}

// Each anomaly is found by the level and the order that forbid it, and by no other.
func TestDelivery(t *testing.T) {
	const drained = " c@g:receive c!"
	for _, c := range []struct {
		name, level, order, short string
		want                      string // "holds", a code without "delivery/", or part of a reason
	}{
		{"delivered", AtLeastOnce, "", "p:send=1 p! c@g:receive c!1" + drained, "holds"},
		{"again, at least once", AtLeastOnce, "", "p:send=1 p! c@g:receive c!1 c@g:receive c!1" + drained, "holds"},
		{"again, exactly once", ExactlyOnce, "", "p:send=1 p! c@g:receive c!1 c@g:receive c!1" + drained, "duplicated"},
		{"again, at most once", AtMostOnce, "", "p:send=1 p! c@g:receive c!1 c@g:receive c!1", "duplicated"},
		{"again, to another group", ExactlyOnce, "", "p:send=1 p! c@g:receive c!1 d@h:receive d!1 d@h:receive d!" + drained, "holds"},
		{"lost", AtLeastOnce, "", "p:send=1 p! p:send=2 p! c@g:receive c!1" + drained, "lost"},
		{"lost, at most once", AtMostOnce, "", "p:send=1 p! p:send=2 p! c@g:receive c!1" + drained, "holds"},
		{"of unknown outcome", AtLeastOnce, "", "p:send=1 p! p:send=2 p? c@g:receive c!1" + drained, "holds"},
		{"lost by one of two groups", AtLeastOnce, "", "p:send=1 p! c@g:receive c!1 d@h:receive d!" + drained, "lost"},
		{"not read to the end", AtLeastOnce, "", "p:send=1 p! p:send=2 p! c@g:receive c!1", "last receive still returned a message"},
		{"empty before it was acknowledged", AtLeastOnce, "", "p:send=1 p! c@g:receive c!1 c@g:receive p:send=2 c! p!",
			"last receive still returned a message"},
		{"taken by a receive that timed out", ExactlyOnce, "", "p:send=1 p! p:send=2 p! c@g:receive c!1 d@g:receive d?" + drained, "holds"},
		{"two for one receive that timed out", ExactlyOnce, "",
			"p:send=1 p! p:send=2 p! p:send=3 p! c@g:receive c!1 d@g:receive d?" + drained, "lost"},
		{"a receive that timed out, at least once", AtLeastOnce, "", "p:send=1 p! p:send=2 p! c@g:receive c!1 d@g:receive d?" + drained, "lost"},
		{"invented", AtLeastOnce, "", "p:send=1 p! c@g:receive c!2", "invented"},
		{"refused", AtLeastOnce, "", "p:send=1 p/ p:send=2 p! c@g:receive c!1", "refused"},
		{"refused, and sent again", AtLeastOnce, "", "p:send=1 p/ p:send=1 p! c@g:receive c!1" + drained, "holds"},
		{"early", AtLeastOnce, "", "c@g:receive c!1 p:send=1 p!", "early"},
		{"acknowledged by the consumer", AtLeastOnce, "",
			"p:send=1 p! c@g:receive c!1 c@g:ack=1 c! c@g:receive c!1", "acknowledged-again"},
		{"acknowledged in another group", AtLeastOnce, "",
			"p:send=1 p! c@g:receive c!1 c@g:ack=1 c! d@h:receive d!1 d@h:receive d!" + drained, "holds"},
		{"delivered while it is acknowledged", AtLeastOnce, "",
			"p:send=1 p! c@g:receive c!1 d@g:receive c@g:ack=1 c! d!1" + drained, "holds"},
		{"before the subscription", AtLeastOnce, "", "p:send=1 p! c@g:subscribe c! p:send=2 p! c@g:receive c!2" + drained, "holds"},
		{"after the subscription", AtLeastOnce, "", "c@g:subscribe c! p:send=1 p! p:send=2 p! c@g:receive c!2" + drained, "lost"},
		{"after the end of a subscription", AtLeastOnce, "",
			"c@g:subscribe c! p:send=1 p! c@g:receive c!1 c@g:receive c! c@g:unsubscribe c! p:send=2 p!", "holds"},
		{"the same twice", AtLeastOnce, "", "p:send=1 p! p:send=1 p! c@g:receive c!1" + drained, "published more than once"},
		{"the same twice, exactly once", ExactlyOnce, "", "p:send=1 p! p:send=1 p! c@g:receive c!1" + drained, "holds"},
		{"a foreign operation", AtLeastOnce, "", "p:send=1 p! p:purge p! c@g:receive c!" + drained, "has no model"},
		{"nothing sent", AtLeastOnce, "", "c@g:receive c!", "no message was acknowledged"},
		{"nothing received", AtMostOnce, "", "p:send=1 p! c@g:receive c!", "no message was received"},

		{"in order", AtLeastOnce, PublisherOrder, "p:send=1 p! p:send=2 p! c@g:receive c!1 c@g:receive c!2" + drained, "holds"},
		{"out of order", AtLeastOnce, PublisherOrder, "p:send=1 p! p:send=2 p! c@g:receive c!2 c@g:receive c!1" + drained, "reordered"},
		{"out of order, which is allowed", AtLeastOnce, NoOrder, "p:send=1 p! p:send=2 p! c@g:receive c!2 c@g:receive c!1" + drained, "holds"},
		{"delivered again, out of order", AtLeastOnce, PublisherOrder,
			"p:send=1 p! p:send=2 p! c@g:receive c!1 c@g:receive c!2 c@g:receive c!1" + drained, "holds"},
		{"two consumers at once", AtLeastOnce, PublisherOrder, "p:send=1 p! p:send=2 p! d@g:receive c@g:receive c!2 d!1" + drained, "holds"},
		{"first to a consumer that timed out", AtLeastOnce, PublisherOrder,
			"p:send=1 p! p:send=2 p! d@g:receive d? c@g:receive c!2 c@g:receive c!1" + drained, "holds"},
		{"a consumer that timed out, exactly once", ExactlyOnce, PublisherOrder,
			"p:send=1 p! p:send=2 p! d@g:receive d? c@g:receive c!2 c@g:receive c!1" + drained, "reordered"},
		{"within a batch", AtLeastOnce, PublisherOrder, "p:send=1 p! p:send=2 p! c@g:poll c![1,2] c@g:poll c![]", "holds"},
		{"within a batch, out of order", AtLeastOnce, PublisherOrder, "p:send=1 p! p:send=2 p! c@g:poll c![2,1] c@g:poll c![]", "reordered"},
		{"two publishers", AtLeastOnce, PublisherOrder, "p:send=1 p! r:send=2 r! c@g:receive c!2 c@g:receive c!1" + drained, "holds"},
		{"two publishers, one after the other", AtLeastOnce, TotalOrder,
			"p:send=1 p! r:send=2 r! c@g:receive c!2 c@g:receive c!1" + drained, "reordered"},
		{"two publishers at once", AtLeastOnce, TotalOrder, "p:send=1 r:send=2 p! r! c@g:receive c!2 c@g:receive c!1" + drained, "holds"},
		{"two groups disagree", AtLeastOnce, TotalOrder,
			"p:send=1 r:send=2 p! r! c@g:receive c!2 c@g:receive c!1 d@h:receive d!1 d@h:receive d!2 d@h:receive d!" + drained, "reordered"},
		{"two groups agree", AtLeastOnce, TotalOrder,
			"p:send=1 r:send=2 p! r! c@g:receive c!2 c@g:receive c!1 d@h:receive d!2 d@h:receive d!1 d@h:receive d!" + drained, "holds"},
		{"seen before it was published", AtLeastOnce, TotalOrder,
			"p:send=1 c@g:receive c!1 r:send=2 r! p! d@h:receive d!2 d@h:receive d!1 d@h:receive d! c@g:receive c!2" + drained, "reordered"},
		{"acknowledged before another one came", AtMostOnce, TotalOrder,
			"p:send=1 p! d@g:receive p:send=2 p! c@g:ack=2 c! c@g:receive c!1 d!2" + drained, "reordered"},
		{"one message only", AtLeastOnce, TotalOrder, "p:send=1 p! c@g:receive c!1" + drained, "no order could be wrong"},
	} {
		v := judgeDelivery(c.level, c.order, exchange(t, c.short))
		got := string(v.Status)
		if v.Status == verdict.Violated {
			got = strings.TrimPrefix(string(v.Cause.Code), "delivery/")
		}
		if got != c.want && !(v.Status == verdict.Unknown && c.want != "holds" && strings.Contains(v.Reason, c.want)) {
			t.Errorf("%s: %s (%s), want %s; evidence %q", c.name, got, v.Reason, c.want, v.Evidence)
		}
		if v.Status == verdict.Violated && (len(v.Evidence) == 0 || v.Event == 0) {
			t.Errorf("%s: no evidence: %+v", c.name, v)
		}
	}
}

// broker is the slow twin: a machine that delivers messages as its level and order allow. It tries all moments at which each
// operation could have taken effect.
type broker struct {
	level, order string
	ops          []history.Operation
	steps        [][]string // by operation: the messages that it delivers, or one step of another kind
	events       []happening
	seen         map[string]bool
	batches      bool
}

// happening is a call or a return.
type happening struct {
	number uint64
	op     int
	ends   bool
}

type brokerState struct {
	next  int            // event
	done  []int          // steps of each operation; -1 before its call
	log   []string       // messages in their order
	first map[string]int // "group/message" -> how many messages the group had got before it
	got   map[string]int // "group/message" -> deliveries to a known receive
	acked map[string]bool
}

func newBroker(level, order string, ops []history.Operation) *broker {
	b := &broker{level: level, order: order, ops: ops, seen: map[string]bool{}}
	for i := range ops {
		o := &ops[i]
		b.events = append(b.events, happening{o.Call, i, false})
		if o.Return != history.Pending {
			b.events = append(b.events, happening{o.Return, i, true})
		}
		verb := deliveryVerbs[o.Op]
		b.batches = b.batches || verb == receiveBatch
		steps := []string{""}
		if verb == receive || verb == receiveBatch {
			if steps = nil; o.Type == history.Ok {
				steps = received(o, verb)
			}
		}
		b.steps = append(b.steps, steps)
	}
	slices.SortFunc(b.events, func(x, y happening) int { return int(int64(x.number) - int64(y.number)) })
	return b
}

func (b *broker) legal() bool {
	s := brokerState{done: make([]int, len(b.ops)), first: map[string]int{}, got: map[string]int{}, acked: map[string]bool{}}
	for i := range s.done {
		s.done[i] = -1
	}
	return b.explore(s)
}

func (s *brokerState) clone() brokerState {
	c := *s
	c.done, c.log = slices.Clone(s.done), slices.Clone(s.log)
	c.first, c.got, c.acked = map[string]int{}, map[string]int{}, map[string]bool{}
	for k, v := range s.first {
		c.first[k] = v
	}
	for k, v := range s.got {
		c.got[k] = v
	}
	for k, v := range s.acked {
		c.acked[k] = v
	}
	return c
}

func (b *broker) explore(s brokerState) bool {
	text, _ := json.Marshal([]any{s.next, s.done, s.log, s.first, s.got, s.acked})
	if b.seen[string(text)] {
		return false
	}
	b.seen[string(text)] = true
	if s.next == len(b.events) && b.complete(&s) {
		return true
	}
	if s.next < len(b.events) {
		e := b.events[s.next]
		o := &b.ops[e.op]
		if c := s.clone(); !e.ends {
			c.next++
			c.done[e.op] = 0
			if b.explore(c) {
				return true
			}
		} else if o.Type != history.Ok || s.done[e.op] == len(b.steps[e.op]) {
			c.next++
			if o.Type == history.Fail {
				c.done[e.op] = len(b.steps[e.op])
			}
			if b.explore(c) {
				return true
			}
		}
	}
	for i := range b.ops {
		if s.done[i] < 0 || b.ops[i].Type == history.Fail {
			continue
		}
		if s.done[i] < len(b.steps[i]) {
			if c := s.clone(); b.step(&c, i) && b.explore(c) {
				return true
			}
		}
		if b.silent(&s, i) {
			return true
		}
	}
	return false
}

// silent lets a receive of unknown outcome have been the first to get a message.
func (b *broker) silent(s *brokerState, i int) bool {
	o := &b.ops[i]
	verb := deliveryVerbs[o.Op]
	if o.Type != history.Info || verb != receive && verb != receiveBatch || b.level != AtLeastOnce {
		return false
	}
	for _, m := range s.log {
		if _, was := s.first[o.Group+"/"+m]; was || !b.mayBeNext(s, o.Group, m) {
			continue
		}
		c := s.clone()
		c.first[o.Group+"/"+m] = len(c.first)
		if b.explore(c) {
			return true
		}
	}
	return false
}

func (b *broker) step(s *brokerState, i int) bool {
	o := &b.ops[i]
	message := b.steps[i][s.done[i]]
	s.done[i]++
	switch deliveryVerbs[o.Op] {
	case publish:
		if !slices.Contains(s.log, o.Input) {
			s.log = append(s.log, o.Input)
		}
	case acknowledge:
		s.acked[o.Group+"/"+o.Input] = true
	case receive, receiveBatch:
		place := o.Group + "/" + message
		if !slices.Contains(s.log, message) || s.acked[place] || b.level != AtLeastOnce && s.got[place] > 0 {
			return false
		}
		if _, was := s.first[place]; !was {
			if !b.mayBeNext(s, o.Group, message) {
				return false
			}
			s.first[place] = len(s.first)
		}
		s.got[place]++
	}
	return true
}

// mayBeNext reports whether a group may get a message for the first time.
func (b *broker) mayBeNext(s *brokerState, group, message string) bool {
	for other := range s.first {
		m, of := strings.CutPrefix(other, group+"/")
		switch {
		case !of:
		case b.order == TotalOrder && slices.Index(s.log, m) > slices.Index(s.log, message):
			return false
		case b.order == PublisherOrder && b.publishedBefore(message, m):
			return false
		}
	}
	return true
}

// publishedBefore reports whether one client published x and then y.
func (b *broker) publishedBefore(x, y string) bool {
	var by [2]*history.Operation
	for i := range b.ops {
		o := &b.ops[i]
		for k, m := range []string{x, y} {
			if deliveryVerbs[o.Op] == publish && o.Type != history.Fail && o.Input == m && by[k] == nil {
				by[k] = o
			}
		}
	}
	return by[0].Client == by[1].Client && by[0].Call < by[1].Call
}

// complete reports whether each group has got what it must have got at the end.
func (b *broker) complete(s *brokerState) bool {
	if b.level == AtMostOnce {
		return true
	}
	last, unknown := map[string]*history.Operation{}, map[string]int{}
	for i := range b.ops {
		o := &b.ops[i]
		verb := deliveryVerbs[o.Op]
		switch {
		case verb != receive && verb != receiveBatch:
		case o.Type == history.Ok:
			last[o.Group] = o
		case o.Type == history.Info:
			unknown[o.Group]++
		}
	}
	for group, l := range last {
		if len(received(l, deliveryVerbs[l.Op])) > 0 {
			continue
		}
		missing := 0
		counted := map[string]bool{}
		for i := range b.ops {
			o := &b.ops[i]
			if deliveryVerbs[o.Op] == publish && o.Type == history.Ok && o.Return < l.Call && s.got[group+"/"+o.Input] == 0 && !counted[o.Input] {
				missing++
				counted[o.Input] = true
			}
		}
		if missing > 0 && (b.level == AtLeastOnce || missing > unknown[group] && !(unknown[group] > 0 && b.batches)) {
			return false
		}
	}
	return true
}

// randomExchange is a small history of a broker that makes mistakes now and then.
func randomExchange(r *rand.Rand, level string) []history.Operation {
	type client struct {
		name, group string
		open        *history.Event
	}
	clients := []*client{{name: "p"}, {name: "r"}, {name: "c", group: "g"}, {name: "d", group: "g"}, {name: "e", group: "h"}}
	clients = clients[:3+r.IntN(3)]
	batch := r.IntN(3) == 0
	var events []history.Event
	var sent []string
	got := map[string]int{}        // of each group, how far it is in sent
	known := map[string][]string{} // by group: the messages received so far, which a consumer may acknowledge
	add := func(e history.Event) {
		e.Number, e.Key = uint64(len(events)+1), "q"
		e.TimeNs = int64(e.Number)
		events = append(events, e)
	}
	next := func(group string) string {
		switch at := got[group]; {
		case r.IntN(12) == 0:
			return strconv.Itoa(r.IntN(5))
		case at >= len(sent) || r.IntN(10) == 0:
			return ""
		case r.IntN(10) == 0 && at+1 < len(sent):
			got[group] = at + 2
			return sent[at+1]
		default:
			got[group]++
			return sent[at]
		}
	}
	finish := func(c *client) {
		e := *c.open
		c.open = nil
		e.Type = history.Ok
		switch {
		case r.IntN(8) == 0:
			e.Type = history.Info
			c.name += "."
		case r.IntN(12) == 0:
			e.Type = history.Fail
		case e.Op == "receive":
			e.Output = next(c.group)
		case e.Op == "poll":
			list := []string{}
			for range r.IntN(3) {
				if m := next(c.group); m != "" {
					list = append(list, m)
				}
			}
			text, _ := json.Marshal(list)
			e.Output = string(text)
			known[c.group] = append(known[c.group], list...)
		}
		if e.Op == "receive" && e.Output != "" {
			known[c.group] = append(known[c.group], e.Output)
		}
		add(e)
	}
	number := 0
	for begun, most := 0, 3+r.IntN(5); begun < most; {
		c := clients[r.IntN(len(clients))]
		if c.open != nil {
			finish(c)
			continue
		}
		e := history.Event{Client: c.name, Group: c.group, Type: history.Invoke}
		switch {
		case c.group == "":
			e.Op, e.Input = "send", strconv.Itoa(number)
			if level == ExactlyOnce && number > 0 && r.IntN(6) == 0 {
				e.Input = strconv.Itoa(r.IntN(number))
			} else {
				number++
			}
			sent = append(sent, e.Input)
		case len(known[c.group]) > 0 && r.IntN(4) == 0:
			e.Op, e.Input = "ack", known[c.group][r.IntN(len(known[c.group]))]
		case batch:
			e.Op = "poll"
		default:
			e.Op = "receive"
		}
		add(e)
		c.open = &e
		begun++
	}
	for _, c := range clients {
		if c.open != nil {
			finish(c)
		}
	}
	for _, c := range clients {
		if c.group != "" && r.IntN(3) > 0 {
			add(history.Event{Client: c.name, Group: c.group, Type: history.Invoke, Op: "receive"})
			add(history.Event{Client: c.name, Group: c.group, Type: history.Ok, Op: "receive"})
		}
	}
	ops, err := history.Pair(events)
	if err != nil {
		panic(err)
	}
	return ops
}

// redelivered reports whether a message of a batch came to its group more than once: the check then knows less about orders than
// the twin.
func redelivered(ops []history.Operation) bool {
	times, inBatch, unknown := map[string]int{}, map[string]bool{}, map[string]bool{}
	for i := range ops {
		o := &ops[i]
		verb := deliveryVerbs[o.Op]
		if verb != receive && verb != receiveBatch {
			continue
		}
		if o.Type == history.Info {
			unknown[o.Group] = true
		}
		for _, m := range received(o, verb) {
			times[o.Group+"/"+m]++
			inBatch[o.Group+"/"+m] = inBatch[o.Group+"/"+m] || verb == receiveBatch
		}
	}
	for place, n := range times {
		group, _, _ := strings.Cut(place, "/")
		if inBatch[place] && (n > 1 || unknown[group]) {
			return true
		}
	}
	return false
}

// The check agrees with its slow twin.
func TestDeliveryAgreesWithTheSlowTwin(t *testing.T) {
	rounds := 4000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		rounds = 100_000
	}
	r := rand.New(rand.NewPCG(4, 8))
	count := map[string]int{}
	for i := range rounds {
		level := []string{AtLeastOnce, AtMostOnce, ExactlyOnce}[i%3]
		order := []string{NoOrder, PublisherOrder, TotalOrder}[i/3%3]
		ops := randomExchange(r, level)
		v := judgeDelivery(level, order, ops)
		legal := newBroker(level, order, ops).legal()
		name := fmt.Sprintf("%s/%s/%v", level, order, legal)
		count[name]++
		if (v.Status == verdict.Violated) == !legal || !legal && v.Status != verdict.Violated && redelivered(ops) && order != NoOrder {
			continue
		}
		var lines []string
		for _, o := range ops {
			lines = append(lines, fmt.Sprintf("%d..%d %s@%s %s %s -> %s %s", o.Call, int64(o.Return), o.Client, o.Group, o.Op, o.Input, o.Type, o.Output))
		}
		t.Fatalf("round %d, %s, %s: the check says %s (%s), the twin legal=%v\n%s", i, level, order, v.Status, v.Reason, legal, strings.Join(lines, "\n"))
	}
	for _, level := range []string{AtLeastOnce, AtMostOnce, ExactlyOnce} {
		for _, order := range []string{NoOrder, PublisherOrder, TotalOrder} {
			for _, legal := range []bool{true, false} {
				if n := count[fmt.Sprintf("%s/%s/%v", level, order, legal)]; n < rounds/100 {
					t.Errorf("%s, %s: only %d of %d histories are legal=%v", level, order, n, rounds, legal)
				}
			}
		}
	}
}
