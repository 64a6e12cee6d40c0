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
	step  func(state, class int32) (int32, bool)
	spend func() bool

	open    uint64          // slots in use
	reads   uint64          // slots of operations that change nothing
	endless uint64          // slots of operations that never return
	class   [maxOpen]int32  // by slot
	earlier [maxOpen]uint64 // slots of the same class that return earlier
	returns [maxOpen]int64  // by slot

	width   int
	dropped bool      // some configuration was dropped that might have explained more
	seen    configSet // at this event
	queue   []config  // at this event
}

// sweep goes through the events in their order and keeps all configurations that explain what has returned so far
// (just-in-time linearization: Lowe, CCPE 2017). An operation takes effect no earlier than someone's return asks for,
// but a read that fits does so at once, since it takes no choice away. Of operations of one class, the one that
// returns first takes effect first. A configuration is dropped beside one in which more reads and fewer operations
// of unknown outcome are done. With Illegal comes the operation whose return no configuration explains.
func sweep(ops []Op, initial int32, step func(state, class int32) (int32, bool), spend func() bool) (Answer, int) {
	events := eventsOf(ops)
	for _, width := range widths {
		s := &sweeper{step: step, spend: spend, width: width}
		answer, culprit, limit := s.sweep(ops, events, initial)
		if answer == Legal || answer == Illegal && !s.dropped || limit {
			return answer, culprit
		}
	}
	return Undecided, 0
}

type event struct {
	at  int64
	op  int32
	end bool
}

func eventsOf(ops []Op) []event {
	events := make([]event, 0, 2*len(ops))
	for i, o := range ops {
		events = append(events, event{o.Call, int32(i), false})
		if o.Return != Forever {
			events = append(events, event{o.Return, int32(i), true})
		}
	}
	slices.SortFunc(events, func(x, y event) int {
		if c := cmp.Compare(x.at, y.at); c != 0 || x.end == y.end {
			return c
		}
		if y.end {
			return -1 // intervals are closed
		}
		return 1
	})
	return events
}

// sweep goes through the events once. limit tells that a wider sweep would not help.
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
		configs, next = s.best(next), configs
	}
	return Legal, 0, false
}

func (s *sweeper) enter(o Op) int8 {
	slot := bits.TrailingZeros64(^s.open)
	bit := uint64(1) << slot
	s.class[slot], s.returns[slot], s.earlier[slot] = o.Class, o.Return, 0
	for rest := s.open; rest != 0; rest &= rest - 1 {
		k := bits.TrailingZeros64(rest)
		if s.class[k] != o.Class {
			continue
		}
		if s.returns[k] <= o.Return {
			s.earlier[slot] |= 1 << k
		} else {
			s.earlier[k] |= bit
		}
	}
	s.open |= bit
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
	for rest := s.open; rest != 0; rest &= rest - 1 {
		s.earlier[bits.TrailingZeros64(rest)] &^= bit
	}
}

// settle lets all reads take effect that fit.
func (s *sweeper) settle(c config) config {
	for rest := s.open & s.reads &^ c.done; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		if _, ok := s.step(c.state, s.class[slot]); ok {
			c.done |= 1 << slot
		}
	}
	return c
}

// advance appends to out what configurations become when the operation in slot returns, those first in which the
// fewest operations had to take effect. It tells whether the budget lasted.
func (s *sweeper) advance(configs, out []config, slot int8) ([]config, bool) {
	bit := uint64(1) << slot
	s.queue = s.queue[:0]
	s.seen.reset()
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
		for rest := s.open &^ s.reads &^ c.done; rest != 0; rest &= rest - 1 {
			k := bits.TrailingZeros64(rest)
			if s.earlier[k]&^c.done != 0 {
				continue
			}
			state, ok := s.step(c.state, s.class[k])
			if !s.spend() {
				return out, false
			}
			if ok {
				s.push(s.settle(config{c.done | 1<<k, state}))
			}
		}
	}
	return out, true
}

// push puts a configuration at the end of the queue unless it was there before.
func (s *sweeper) push(c config) {
	if s.seen.add(c) {
		s.queue = append(s.queue, c)
	}
}

const maxCompared = 64 // configurations of one group that are compared with each other

// best keeps the configurations beside which no better one stands.
func (s *sweeper) best(configs []config) []config {
	if len(configs) == 1 {
		return configs
	}
	free := s.reads | s.endless
	slices.SortFunc(configs, func(x, y config) int {
		return cmp.Or(cmp.Compare(x.state, y.state), cmp.Compare(x.done&^free, y.done&^free),
			cmp.Compare(bits.OnesCount64(x.done&s.endless), bits.OnesCount64(y.done&s.endless)),
			cmp.Compare(y.done&s.reads, x.done&s.reads), cmp.Compare(x.done, y.done))
	})
	kept := configs[:0]
	group := 0 // where the current group begins in kept
	for _, c := range configs {
		if len(kept) > 0 && (kept[len(kept)-1].state != c.state || (kept[len(kept)-1].done^c.done)&^free != 0) {
			group = len(kept)
		}
		worse := false
		for _, k := range kept[group:min(len(kept), group+maxCompared)] {
			if k.done&s.endless&^c.done == 0 && c.done&s.reads&^s.endless&^k.done == 0 {
				worse = true
				break
			}
		}
		if !worse {
			kept = append(kept, c)
		}
	}
	return kept
}
