// Package caspaxos is a register that clients change by compare and set, over Paxos without a log (Rystsov, "CASPaxos: Replicated State Machines
// without logs", 2018). Acceptors are machines of package inproc and proposers processes; both are followed in a TLA+ model.
package caspaxos

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

var (
	acceptors = []string{"a1", "a2", "a3"}
	proposers = []string{"p1", "p2", "p3"}
)

const (
	majority   = 2
	operations = 8 // of each proposer
	attempts   = 5 // to get promises
	patience   = 20 * time.Millisecond
)

// Messages.
type (
	prepare struct{ Ballot int }
	promise struct {
		Ballot, Accepted int
		Value            string
	}
	accept struct {
		Ballot int
		Value  string
	}
	accepted struct{ Ballot int }
	refused  struct{ Ballot, Promised int }
)

// World describes three acceptors and three proposers. Acceptors that mix up ballots answer with the one that they had promised to before where the
// one that they have accepted belongs. m may be nil: nothing is followed then.
func World(mixed bool, m *inproc.Specification) func(*inproc.World) {
	return func(w *inproc.World) {
		told := w.Model("conforms to CasPaxos.tla", m)
		for _, name := range acceptors {
			w.Machine(name, func(n *inproc.Node) inproc.Machine { return newAcceptor(n, mixed, told) })
		}
		for i, name := range proposers {
			w.Client(name, func(p *inproc.Process) { (&proposer{Process: p, told: told, me: i}).work() })
		}
		w.Linearizable("cas-register")
		w.Faults("drop rate 4%", "delay rate 4%", "crash rate 0.5% for 10ms..200ms")
	}
}

// kept is what an acceptor has on its disk.
type kept struct {
	Promised, Accepted int
	Value              string
}

// acceptor remembers what it has promised and accepted.
type acceptor struct {
	kept
	mixed bool
	told  *inproc.Follower
}

func newAcceptor(n *inproc.Node, mixed bool, told *inproc.Follower) inproc.Machine {
	a := &acceptor{mixed: mixed, told: told}
	if data, err := n.Disk().Read("state"); err == nil {
		must(json.Unmarshal(data, &a.kept))
		told.Ignore("an acceptor that starts again knows all that it knew")
	}
	return a
}

// keep makes what the acceptor has done durable, and reports it to the model.
func (a *acceptor) keep(n *inproc.Node, action string, ballot int) {
	data, err := json.Marshal(&a.kept)
	must(err)
	must(n.Disk().WriteFile("state", data))
	must(n.Disk().Sync("state"))
	name := value.ModelValue(n.Name())
	a.told.Step(action, name, ballot)
	a.told.Saw([]any{a.Promised, a.Accepted, a.Value}, "Shown", name)
}

func (a *acceptor) Tick(*inproc.Node) {}

func (a *acceptor) Receive(n *inproc.Node, m inproc.Message) {
	switch v := m.Payload.(type) {
	case prepare:
		if v.Ballot <= a.Promised {
			n.Send(m.From, refused{v.Ballot, a.Promised})
			return
		}
		last := a.Accepted
		if a.mixed {
			last = a.Promised
		}
		a.Promised = v.Ballot
		a.keep(n, "Promise", v.Ballot)
		n.Send(m.From, promise{v.Ballot, last, a.Value})
	case accept:
		if v.Ballot < a.Promised {
			n.Send(m.From, refused{v.Ballot, a.Promised})
			return
		}
		a.kept = kept{v.Ballot, v.Ballot, v.Value}
		a.keep(n, "Accept", v.Ballot)
		n.Send(m.From, accepted{v.Ballot})
	}
}

// proposer is a client that changes the register.
type proposer struct {
	*inproc.Process
	told  *inproc.Follower
	me    int
	round int
	known string // what it last saw in the register
}

// Errors of a change.
var (
	errNoPromises = fmt.Errorf("no majority has promised: %w", inproc.ErrFailed)
	errNotTaken   = errors.New("no majority is known to have accepted")
)

func (p *proposer) work() {
	for i := range operations {
		value := p.Name() + "-" + strconv.Itoa(i)
		switch p.Choose(3) {
		case 0:
			p.Operation(inproc.Op{Kind: "get", Key: "r"}, func() (string, error) {
				old, err := p.change(func(old string) string { return old })
				if err == nil && old == "" {
					err = inproc.ErrNotFound
				}
				return old, err
			})
		case 1:
			p.Operation(inproc.Op{Kind: "put", Key: "r", Input: value}, func() (string, error) {
				_, err := p.change(func(string) string { return value })
				return "", err
			})
		case 2:
			expect := p.known
			if expect == "" { // a proposer that knows of no value expects one that no proposer writes
				expect = "none"
			}
			p.Operation(inproc.Op{Kind: "cas", Key: "r", Expect: expect, Input: value}, func() (string, error) {
				old, err := p.change(func(old string) string {
					if old == expect {
						return value
					}
					return old
				})
				return strconv.FormatBool(old == expect), err
			})
		}
		p.Sleep(time.Duration(p.Choose(40)) * time.Millisecond)
	}
}

// change puts another value in the place of the register's, which it gives.
func (p *proposer) change(f func(old string) string) (old string, err error) {
	for range attempts {
		p.round++
		ballot := p.round*len(proposers) + p.me
		from, old, by := p.promises(ballot)
		if len(by) < majority {
			p.Sleep(time.Duration(p.Choose(10)) * time.Millisecond)
			continue
		}
		next := f(old)
		p.told.Step("Propose", ballot, named(by), from, next)
		p.told.Saw(old, "ValueOf", from)
		if takers := p.ask(ballot, accept{ballot, next}, func(m inproc.Message) bool { return m.Payload == accepted{ballot} }); len(takers) < majority {
			return "", errNotTaken
		}
		p.told.Saw(true, "Decided", ballot)
		p.known = next
		return old, nil
	}
	return "", errNoPromises
}

// promises asks for promises to a ballot. It gives who made one, and of what they had accepted the highest ballot and its value.
func (p *proposer) promises(ballot int) (from int, value string, by []string) {
	by = p.ask(ballot, prepare{ballot}, func(m inproc.Message) bool {
		v, ok := m.Payload.(promise)
		if !ok || v.Ballot != ballot {
			return false
		}
		if v.Accepted > from {
			from, value = v.Accepted, v.Value
		}
		return true
	})
	return from, value, by
}

// ask sends a request to all acceptors, until a majority has answered, one has refused, or time is over. It gives those that have answered.
func (p *proposer) ask(ballot int, request any, answers func(inproc.Message) bool) (by []string) {
	for _, name := range acceptors {
		p.Send(name, request)
	}
	for until := p.Now().Add(patience); len(by) < majority; {
		m, ok := p.ReceiveWithin(until.Sub(p.Now()))
		if !ok {
			break
		}
		if r, ok := m.Payload.(refused); ok && r.Ballot == ballot {
			p.round = max(p.round, r.Promised/len(proposers))
			break
		}
		if !slices.Contains(by, m.From) && answers(m) {
			by = append(by, m.From)
		}
	}
	return by
}

// named is a set of acceptors as the model has it.
func named(names []string) value.Value {
	var list []value.Value
	for _, name := range names {
		list = append(list, value.ModelValue(name))
	}
	return value.NewSet(list)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
