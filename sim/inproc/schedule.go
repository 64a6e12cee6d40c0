package inproc

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// schedule is a world whose steps are choices. What step i draws is draw i of a few streams: which channel delivers, how many of its
// messages, which machines tick not, which clients have a turn. So a step that is changed or taken away leaves the others as they are.
type schedule struct {
	run      *run
	settings Schedule
	channels []*channel // in the order in which they were first used
	deliver  tape.Stream
	count    tape.Stream
	chance   tape.Stream   // draw i is 0, unless an edit gives nodes other random numbers from step i on
	quiet    []tape.Stream // by node
	turns    []tape.Stream
	quietPPM uint64
	story    []choice
	begun    bool
}

// channel is a queue of messages.
type channel struct {
	hash uint64
	from *Node // nil: from all
	to   *Node
	box  inbox
	seen bool
}

// choice is a step of the story: what was chosen, in order.
type choice struct {
	what  string
	a, b  string
	count int
}

// maxStory bounds the story that is kept.
const maxStory = 100_000

// A turn of a client comes in one of turnEvery steps.
const (
	turnEvery = 10
	// places is how many values the choice of a channel has: each of them is a fixed order of all channels.
	places = 1 << 12
	// chances is how many kinds of chance nodes may have.
	chances = 1 << 32
)

func newSchedule(r *run, s *Schedule) *schedule {
	if s == nil {
		return nil
	}
	c := &schedule{run: r, settings: *s}
	if c.settings.Messages == 0 {
		c.settings.Messages = defaultMessages
	}
	c.settings.Ticks = max(c.settings.Ticks, 1)
	c.deliver, c.count, c.chance = r.src.Stream("sched/deliver"), r.src.Stream("sched/count"), r.src.Stream("chance/step")
	c.quietPPM = uint64(s.Quiet * tape.Certain)
	for _, n := range r.nodes {
		c.quiet = append(c.quiet, r.src.Stream(r.lay.nodes[n.id].quiet))
		c.turns = append(c.turns, r.src.Stream(r.lay.nodes[n.id].turn))
	}
	return c
}

// requestFirstStep schedules the first step. Steps lie between the moments at which faults begin.
func (s *schedule) requestFirstStep() {
	s.begun = true
	s.run.push(s.run.now+s.run.spec.TimeStepNs/2, pending{kind: choices})
}

// offer puts a message into its channel, unless a fault takes it.
func (s *schedule) offer(l *link, m Message) {
	r := s.run
	if l.rated {
		at, late := int64(0), (*ref)(nil)
		if r.harmed(l, &m, &at, &late) {
			r.missed(l.to, late)
			r.stepped(Lost, l.to, &m)
			return
		}
		if late != nil && late.kind == fault.Reorder {
			m.doubt = late
			r.push(r.now+max(at, r.spec.TimeStepNs), pending{kind: joins, node: l.to, msg: m})
			return
		}
	}
	s.queue(l, &m)
}

// queue puts a message into its channel.
func (s *schedule) queue(l *link, m *Message) {
	c := &l.channel
	if s.settings.Mailboxes {
		c = &s.run.link(l.to, l.to).channel // the one that a node's own messages do not need
	}
	if !c.seen {
		c.seen, c.to = true, l.to
		from := ""
		if !s.settings.Mailboxes {
			c.from, from = l.from, l.from.name
		}
		c.hash = channelHash(from, l.to.name)
		s.channels = append(s.channels, c)
	}
	if r := s.run; c.box.len() >= maxInbox {
		r.limit = fmt.Sprintf("the limit of %d messages that wait for %s", maxInbox, l.to.name)
		return
	}
	c.box.push(s.run.scratch, m)
}

// choose gives the channel that a value stands for among those that can deliver: each value is an order of all channels, which does
// not change as others come and go. 0 is the channel of the message that waits longest.
func (s *schedule) choose(v uint64) *channel {
	var best *channel
	var most uint64
	for _, c := range s.channels {
		if c.box.len() == 0 {
			continue
		}
		if c.to.pausedBy != 0 {
			c.to.late = true
			continue
		}
		if v == 0 {
			if sent := c.box.list[c.box.head].sent; best == nil || sent < most {
				best, most = c, sent
			}
		} else if h := preference(c.hash, v); best == nil || h > most {
			best, most = c, h
		}
	}
	return best
}

// step is one step of the world. When faults have ended, all that is under way arrives.
func (s *schedule) step() {
	r := s.run
	if !r.faultsOver() {
		if v := s.chance.Given(chances); v != 0 {
			r.chance = v
		}
		v, k := s.deliver.Choose(places), s.count.Choose(uint64(s.settings.Messages))
		if c := s.choose(v); c != nil {
			s.deliverMessages(c, s.settings.Messages-int(k))
		}
	} else {
		for _, c := range s.channels {
			s.deliverMessages(c, c.box.len())
		}
	}
	for i, n := range r.nodes {
		if r.ended != "" {
			return
		}
		n.late = n.late || n.pausedBy != 0 && n.machine != nil
		quiet := s.quietPPM > 0 && n.part.machine != nil && s.quiet[i].Rare(2, s.quietPPM) > 0
		for k := 0; k < s.settings.Ticks && n.machine != nil && n.pausedBy == 0 && !quiet && r.ended == ""; k++ {
			r.stepTick(n)
			r.stepped(Ticked, n, nil)
			r.invariants()
		}
		turn := n.part.process != nil && s.turns[i].Rare(2, tape.Certain/turnEvery) > 0
		if n.up && n.pausedBy == 0 && (turn || n.part.process != nil && r.faultsOver()) {
			for _, p := range n.threads {
				if p.wait == turned {
					s.record(choice{what: "Turn", a: p.thread})
					r.rouse(p)
					break
				}
			}
		}
	}
	r.push(r.now+r.spec.TimeStepNs, pending{kind: choices})
}

// deliverMessages delivers messages of a channel, up to a number.
func (s *schedule) deliverMessages(c *channel, most int) {
	r := s.run
	given := 0
	at := len(s.story)
	if most > 0 && c.box.len() > 0 {
		made := choice{what: "Deliver", a: c.to.name}
		if c.from != nil {
			made.b = c.from.name
		}
		s.record(made)
		r.event(callDeliver, nil, nil, int64(c.to.id)+1, 0, c.hash, c.to.name)
	}
	for ; given < most && c.box.len() > 0 && r.ended == ""; given++ {
		m := c.box.pop()
		r.arrived(c.to, &m)
	}
	if at < len(s.story) {
		s.story[at].count = given
	}
}

func (s *schedule) record(c choice) {
	if !s.run.engine.quiet && len(s.story) < maxStory {
		s.story = append(s.story, c)
	}
}

// injected and healed put faults into the story.
func (s *schedule) injected(a *fault.Action) {
	what := string(a.Kind)
	s.record(choice{what: strings.ToUpper(what[:1]) + what[1:], a: a.Target})
}

func (s *schedule) healed(a *fault.Action) {
	if fault.RowOf(a.Kind).Kills() {
		s.record(choice{what: "Start", a: a.Node})
	} else {
		s.record(choice{what: "End_" + string(a.Kind), a: a.Target})
	}
}

// Story implements inprocess.World.
func (r *run) Story() string {
	if r.schedule == nil {
		return ""
	}
	var list []string
	for _, c := range r.schedule.story {
		text := c.what + "(" + c.a
		if c.what == "Deliver" {
			text += fmt.Sprintf(", %d", c.count)
			if c.b != "" {
				text += " from " + c.b
			}
		}
		list = append(list, text+")")
	}
	return strings.Join(list, " . ")
}
