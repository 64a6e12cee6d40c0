// Package livelock is Raft's election of leaders under links that fail in one direction: without a vote before the vote, and without leaders that
// resign when no majority acknowledges them, there is a majority that could work and never does. Machines of package inproc, followed in a TLA+
// model.
package livelock

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Bug is what the servers lack.
type Bug string

// The bugs.
const (
	None Bug = ""
	// NoPreVote: a server that has lost patience begins a new term at once. A server that hears no other does so for ever, and deposes every leader.
	NoPreVote Bug = "no pre-vote"
	// NoCheckQuorum: a leader that hears no other server keeps announcing that it leads, and the others wait for it.
	NoCheckQuorum Bug = "no check of the quorum"
)

var names = []string{"n1", "n2", "n3"}

const (
	majority   = 2
	tick       = 10 * time.Millisecond
	beats      = 3 // ticks between a leader's messages
	lost       = 5 // ticks without a leader after which a server supports another one
	operations = 30
	attempt    = 150 * time.Millisecond // of the client with one server
	attempts   = 6                      // of an operation
)

// patience is how many ticks each server waits for a leader. They differ, so that two seldom campaign at once.
var patience = []int{10, 14, 18}

func index(name string) int { return slices.Index(names, name) }

// Messages.
type (
	ask      struct{ Term, Number int } // would you vote for me?
	support  struct{ Number int }
	campaign struct{ Term int }
	vote     struct{ Term int }
	beat     struct{ Term, Round int }
	ack      struct{ Term, Round int }
	newer    struct{ Term int }
	write    struct{}
	written  struct{ Ok bool }
)

// World describes three servers, and a client whose writes need a leader and one of its rounds. m may be nil: nothing is followed then.
func World(bug Bug, m *inproc.Specification) func(*inproc.World) {
	return func(w *inproc.World) {
		told := w.Model("conforms to Leadership.tla", m)
		rounds := 0
		leaders := map[int]string{} // by term
		var twice error
		for _, name := range names {
			w.Machine(name, func(n *inproc.Node) inproc.Machine {
				return &server{node: n, me: index(name), bug: bug, told: told, rounds: &rounds, role: "follower", leads: func(term int) {
					if other := leaders[term]; other != "" {
						twice = fmt.Errorf("%s and %s lead in term %d", other, name, term)
					}
					leaders[term] = name
				}}
			})
		}
		w.Client("client", client)
		w.Invariant("a term has one leader", func() error { return twice })
		w.Property(inproc.Property{Name: "writes get on", Type: "progress", Description: "writes get on: some majority always hears each other",
			Failures: 4, DuringFaults: true})
		w.Set(inproc.Settings{Tick: tick})
		w.Faults("partition on n1, n2, n3 one way rate 3% for 6s..10s max 1", "drop rate 1%")
	}
}

// server elects leaders, and is one at times.
type server struct {
	node   *inproc.Node
	me     int
	bug    Bug
	told   *inproc.Follower
	rounds *int // of all leaders, that are done
	leads  func(term int)
	term   int
	role   string // follower, asking, candidate, leader
	behind uint   // a bit for each server that supports it in what it does
	number int    // of its last question
	round  int
	ticks  int // since it heard of a leader or candidate; of a leader, since a majority heard it
	heard  int // ticks since it heard another leader
	writes []inproc.Message
	next   []inproc.Message // writes that wait for the round after this one
}

// become changes what the server does.
func (s *server) become(role string) {
	s.role, s.ticks, s.behind = role, 0, 0
	if role != "follower" {
		s.behind = 1 << s.me
	}
	for _, m := range append(s.writes, s.next...) {
		s.node.Reply(m, written{})
	}
	s.writes, s.next = nil, nil
}

// step reports to the model what the server has done, and what others can see of its state. Servers are numbers there, from 1 on.
func (s *server) step(action string, args ...any) {
	s.told.Step(action, append([]any{s.me + 1}, args...)...)
	s.told.Saw([]any{s.term, s.role}, "Shown", s.me+1)
}

func (s *server) all(payload any) {
	for i, name := range names {
		if i != s.me {
			s.node.Send(name, payload)
		}
	}
}

// joined reports whether with a supporter there is a majority.
func (s *server) joined(from string) bool {
	s.behind |= 1 << index(from)
	return bits.OnesCount(s.behind) >= majority
}

func (s *server) Tick(n *inproc.Node) {
	s.ticks++
	s.heard++
	switch {
	case s.role == "leader":
		if s.ticks > patience[s.me] && s.bug != NoCheckQuorum {
			s.become("follower")
			s.step("Resign")
			return
		}
		if s.heard%beats == 0 {
			s.all(beat{s.term, s.round})
		}
	case s.ticks > patience[s.me] && s.bug == NoPreVote:
		s.campaign()
	case s.ticks > patience[s.me]:
		s.become("asking")
		s.number++
		s.step("Ask")
		s.all(ask{s.term, s.number})
	}
}

func (s *server) campaign() {
	s.term++
	s.become("candidate")
	s.step("Campaign")
	s.all(campaign{s.term})
}

// adopt moves to a newer term that a candidate or leader has sent.
func (s *server) adopt(from string, term int) {
	s.term = term
	s.become("follower")
	s.step("Adopt", index(from)+1, term)
}

func (s *server) Receive(n *inproc.Node, m inproc.Message) {
	switch v := m.Payload.(type) {
	case ask:
		switch {
		case v.Term < s.term:
			n.Send(m.From, newer{s.term})
		case s.role != "leader" && s.heard > lost:
			s.step("Support", index(m.From)+1)
			n.Send(m.From, support{v.Number})
		}
	case support:
		if s.role == "asking" && v.Number == s.number && s.joined(m.From) {
			s.campaign()
		}
	case campaign:
		switch {
		case v.Term > s.term:
			s.adopt(m.From, v.Term)
			n.Send(m.From, vote{v.Term})
		case v.Term < s.term:
			n.Send(m.From, newer{s.term})
		}
	case vote:
		if s.role == "candidate" && v.Term == s.term && s.joined(m.From) {
			s.become("leader")
			s.round = 0
			s.leads(s.term)
			s.step("Win")
			n.Log("leads in term %d", s.term)
			s.all(beat{s.term, s.round})
		}
	case beat:
		s.follow(m.From, v)
	case ack:
		if s.role == "leader" && v.Term == s.term && v.Round == s.round && s.joined(m.From) {
			s.round++
			s.ticks, s.behind = 0, 1<<s.me
			s.step("Round")
			*s.rounds++
			s.told.Saw(*s.rounds%2, "Done")
			for _, m := range s.writes {
				n.Reply(m, written{true})
			}
			s.writes, s.next = s.next, nil
		}
	case newer:
		if v.Term > s.term {
			s.term = v.Term
			s.become("follower")
			s.step("Learn", index(m.From)+1, v.Term)
		}
	case write:
		if s.role != "leader" {
			n.Reply(m, written{})
			return
		}
		s.next = append(s.next, m)
	}
}

// follow acknowledges a round of a leader.
func (s *server) follow(leader string, v beat) {
	if v.Term < s.term {
		s.node.Send(leader, newer{s.term})
		return
	}
	if v.Term > s.term {
		s.adopt(leader, v.Term)
	}
	if s.role != "follower" {
		s.become("follower")
	}
	s.ticks, s.heard = 0, 0
	s.step("Ack", index(leader)+1, v.Term)
	s.node.Send(leader, ack(v))
}

var errNobody = errors.New("no leader has written it in time")

// client writes, and asks one server after the other until one has.
func client(p *inproc.Process) {
	for i := range operations {
		p.Operation(inproc.Op{Kind: "write", Input: fmt.Sprint(i)}, func() (string, error) {
			for k := range attempts {
				answer, err := p.Call(names[(i+k)%len(names)], write{}, attempt)
				if err == nil && answer.(written).Ok {
					return "", nil
				}
				p.Sleep(attempt / 2)
			}
			return "", errNobody
		})
		p.Sleep(attempt)
	}
}
