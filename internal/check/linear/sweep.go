package linear

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxOpen bounds the operations in flight at once, those of unknown outcome included.
const maxOpen = 64

// widths bound the configurations that a sweep keeps after an event, and, times perWidth, those that it looks at there.
// A narrow sweep often gets through a legal history; only when it does not, and had to drop some configuration, does a
// wider one begin.
var widths = []int{8, 32, 128, 512, 1 << 13, 1 << 17}

const perWidth = 8

// config is one way in which the past may have been: the state of the object, and which of the operations in flight
// have taken effect.
type config struct {
	done  uint64
	state int32
}

type sweeper struct {
	graph *graph
	spend func(steps int64) bool

	open    uint64          // slots in use
	reads   uint64          // slots of operations that change nothing
	endless uint64          // slots of operations that never return
	class   [maxOpen]int32  // by slot
	earlier [maxOpen]uint64 // slots of the same class that return earlier
	returns [maxOpen]int64  // by slot
	alike   []uint64        // slots in use, by class

	width   int
	dropped bool // some configuration was dropped that might have explained more

	// At the event in hand: configurations to look at, for each the next one of its kind or none, and by kind the first.
	queue []config
	next  []int32
	seen  configMap
}

const none = -1

func newSweeper(g *graph, spend func(steps int64) bool, width, ops int) *sweeper {
	few := 1 << bits.Len(uint(min(ops, 32))) // what mostly suffices, a power of two
	return &sweeper{graph: g, spend: spend, alike: make([]uint64, g.classes), width: width,
		queue: make([]config, 0, few), next: make([]int32, 0, few), seen: configMap{slots: make([]configSlot, few)}}
}

// sweep goes through the events in their order and keeps all configurations that explain what has returned so far
// (just-in-time linearization: Lowe, CCPE 2017). An operation takes effect no earlier than someone's return asks for,
// but a read that fits does so at once, since it takes no choice away. Of operations of one class, the one that
// returns first takes effect first. A configuration is dropped beside one in which more reads and fewer operations
// of unknown outcome are done. With Illegal comes the operation whose return no configuration explains.
func sweep(ops []Op, g *graph, initial int32, spend func(steps int64) bool) (Answer, int) {
	events := eventsOf(ops)
	for _, width := range widths {
		s := newSweeper(g, spend, width, len(ops))
		answer, culprit, limit := s.sweep(ops, events, initial)
		if answer == Legal || answer == Illegal && !s.dropped || limit {
			return answer, culprit
		}
	}
	return Undecided, 0
}

// event is the call of an operation, or its return.
type event struct {
	op  int32
	end bool
}

// eventsOf lists calls and returns in the order of their times; at one time the calls come first, since intervals are
// closed. It ends at the call at which more operations are in flight than a sweep can follow.
func eventsOf(ops []Op) []event {
	calls := make([]int32, len(ops))
	for i := range calls {
		calls[i] = int32(i)
	}
	byCall := func(i, j int32) int { return cmp.Compare(ops[i].Call, ops[j].Call) }
	if !slices.IsSortedFunc(calls, byCall) {
		slices.SortFunc(calls, byCall)
	}
	events := make([]event, 0, 2*len(ops))
	// Those in flight that return, the last one first. There are few, and a new one mostly returns late.
	flying := make([]int32, 0, maxOpen+1)
	endless := 0
	land := func(before int64) {
		for n := len(flying) - 1; n >= 0 && ops[flying[n]].Return < before; n-- {
			events = append(events, event{flying[n], true})
			flying = flying[:n]
		}
	}
	for _, i := range calls {
		land(ops[i].Call)
		events = append(events, event{i, false})
		if ops[i].Return == Forever {
			endless++
		} else {
			at := 0
			for at < len(flying) && ops[flying[at]].Return > ops[i].Return {
				at++
			}
			flying = slices.Insert(flying, at, i)
		}
		if endless+len(flying) > maxOpen {
			return events
		}
	}
	land(Forever)
	return events
}

// sweep goes through the events once. limit reports that a wider sweep would not help.
func (s *sweeper) sweep(ops []Op, events []event, initial int32) (answer Answer, culprit int, limit bool) {
	slots := make([]int8, len(ops))
	configs, next := []config{{state: initial}}, []config{}
	for _, e := range events {
		o := ops[e.op]
		if !e.end {
			if s.open == ^uint64(0) {
				return Undecided, 0, true
			}
			slots[e.op] = s.enter(o)
			continue
		}
		slot := slots[e.op]
		var ok bool
		if next, ok = s.advance(configs, next[:0], slot); !ok {
			return Undecided, 0, true
		}
		if len(next) == 0 {
			return Illegal, int(e.op), false
		}
		s.leave(slot)
		configs, next = next, configs
	}
	return Legal, 0, false
}

func (s *sweeper) enter(o Op) int8 {
	slot := bits.TrailingZeros64(^s.open)
	bit := uint64(1) << slot
	s.class[slot], s.returns[slot], s.earlier[slot] = o.Class, o.Return, 0
	for rest := s.alike[o.Class]; rest != 0; rest &= rest - 1 {
		k := bits.TrailingZeros64(rest)
		if s.returns[k] <= o.Return {
			s.earlier[slot] |= 1 << k
		} else {
			s.earlier[k] |= bit
		}
	}
	s.open |= bit
	s.alike[o.Class] |= bit
	if o.ReadOnly {
		s.reads |= bit
	}
	if o.Return == Forever {
		s.endless |= bit
	}
	return int8(slot)
}

func (s *sweeper) leave(slot int8) {
	bit := uint64(1) << slot
	s.open &^= bit
	s.reads &^= bit
	s.endless &^= bit
	class := s.class[slot]
	s.alike[class] &^= bit
	for rest := s.alike[class]; rest != 0; rest &= rest - 1 {
		s.earlier[bits.TrailingZeros64(rest)] &^= bit
	}
}

// settle lets all reads take effect that fit.
func (s *sweeper) settle(c config) config {
	for rest := s.open & s.reads &^ c.done; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		if s.graph.step(c.state, s.class[slot]) != illegal {
			c.done |= 1 << slot
		}
	}
	return c
}

// advance appends to out what configurations become when the operation in slot returns, those first in which the
// fewest operations had to take effect. It reports whether the budget lasted.
func (s *sweeper) advance(configs, out []config, slot int8) ([]config, bool) {
	bit := uint64(1) << slot
	s.queue, s.next = s.queue[:0], s.next[:0]
	s.seen.reset()
	// Better ones come first, so that push drops those that are worse.
	if len(configs) > 1 {
		slices.SortFunc(configs, func(x, y config) int {
			if c := bits.OnesCount64(x.done&s.endless) - bits.OnesCount64(y.done&s.endless); c != 0 {
				return c
			}
			return bits.OnesCount64(y.done&s.reads) - bits.OnesCount64(x.done&s.reads)
		})
	}
	for _, c := range configs {
		s.push(s.settle(c))
	}
	for head := 0; head < len(s.queue); head++ {
		if head >= s.width*perWidth || len(out) >= s.width {
			s.dropped = true
			break
		}
		c := s.queue[head]
		if c.done&bit != 0 {
			c.done &^= bit
			out = append(out, c)
			continue
		}
		steps := int64(0)
		for rest := s.open &^ s.reads &^ c.done; rest != 0; rest &= rest - 1 {
			k := bits.TrailingZeros64(rest)
			if s.earlier[k]&^c.done != 0 {
				continue
			}
			state := s.graph.step(c.state, s.class[k])
			steps++
			if state != illegal && (state != c.state || s.endless&(1<<k) == 0) {
				s.push(s.settle(config{c.done | 1<<k, state}))
			}
		}
		if !s.spend(steps) {
			return out, false
		}
	}
	return out, true
}

const maxCompared = 64 // configurations of one kind that are compared with each other

// push puts a configuration at the end of the queue, unless it was there before or a better one is there. Those of
// one kind have the object in the same state and have done the same operations that must return. Among them, one is
// better if it has done all reads of the other and no operation that never returns but those of the other: whatever can
// follow the other one can follow it.
func (s *sweeper) push(c config) {
	here := int32(len(s.queue))
	at, known := s.seen.findOrAdd(config{c.done &^ (s.reads | s.endless), c.state}, here)
	for compared := 1; known; compared++ {
		q := s.queue[at]
		if q.done&s.endless&^c.done == 0 && c.done&s.reads&^s.endless&^q.done == 0 {
			return
		}
		if compared == maxCompared {
			// The others of a large kind are only looked up; a state below zero keeps them apart from kinds.
			if _, known := s.seen.findOrAdd(config{c.done, ^c.state}, here); known {
				return
			}
			break
		}
		if s.next[at] == none {
			s.next[at] = here
			break
		}
		at = s.next[at]
	}
	s.queue, s.next = append(s.queue, c), append(s.next, none)
}
