// Package commit is two-phase commit as state machines of package inproc, followed step by step in its TLA+ model.
package commit

import (
	"embed"
	"fmt"
	"github.com/bloodhound-dst/bloodhound/tla/value"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Bug is what is wrong in the code.
type Bug string

// The bugs.
const (
	None Bug = ""
	// Silent is the bug that gave the protocol its bad name: a coordinator that crashed after it had decided does not send its decision when it is back, and
	// participants that are prepared wait forever.
	Silent Bug = "silent"
	// Unsynced sends a decision before it is on the disk.
	Unsynced Bug = "unsynced"
	// Impatient participants that are prepared abort by themselves when no coordinator sends them the decision.
	Impatient Bug = "impatient"
	// Miscounting coordinators commit when one vote is missing.
	Miscounting Bug = "miscounting"
)

// Bugs are all of them.
var Bugs = []Bug{Silent, Unsynced, Impatient, Miscounting}

//go:embed TwoPhaseCommit.tla TwoPhaseCommit.cfg
var source embed.FS

// Specification is the model of the protocol, of which searches see what a view shows: "" (all), Middle or Coarse.
func Specification(view string) (*inproc.Specification, error) {
	var s *inproc.Specification
	err := Files(func(module, config string) (err error) {
		s, err = inproc.LoadSpecification(module, config, inproc.SpecificationOptions{View: view})
		return err
	})
	return s, err
}

// Files gives a function the model's module and configuration as files, which it removes afterwards.
func Files(use func(module, config string) error) error {
	dir, err := os.MkdirTemp("", "two-phase-commit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, source); err != nil {
		return err
	}
	return use(filepath.Join(dir, "TwoPhaseCommit.tla"), filepath.Join(dir, "TwoPhaseCommit.cfg"))
}

// Participants are the names of the participants.
var Participants = []string{"p1", "p2", "p3"}

const (
	patience = 8  // ticks after which an impatient participant aborts
	attempts = 20 // ticks after which a coordinator without all votes aborts
)

// Messages.
type (
	prepare  struct{}
	vote     struct{ Yes bool }
	decided  struct{ Commit bool }
	received struct{}
)

// World describes a coordinator and three participants. m may be nil: nothing is followed then.
func World(bug Bug, m *inproc.Specification) func(*inproc.World) {
	return Variant{Bug: bug, Model: m}.World
}

// Variant is a world that differs from the usual one.
type Variant struct {
	Bug   Bug
	Model *inproc.Specification // nil: nothing is followed
	// Unpromised follows runs for what they reach, and promises nothing of them.
	Unpromised bool
	// Rare has a twentieth of the usual faults.
	Rare bool
}

// World describes it.
func (v Variant) World(w *inproc.World) {
	bug := v.Bug
	told := &followed{}
	switch {
	case v.Model == nil:
	case v.Unpromised:
		told.Follower = w.Guide(v.Model)
	default:
		told.Follower = w.Model("conforms to TwoPhaseCommit.tla", v.Model)
	}
	ends := map[string]string{} // what each participant has come to
	begun := false
	w.Machine("coordinator", func(n *inproc.Node) inproc.Machine {
		if begun {
			told.step("Restart")
		}
		begun = true
		return newCoordinator(n, bug, told)
	})
	for _, name := range Participants {
		w.Machine(name, func(n *inproc.Node) inproc.Machine { return join(n, bug, told, ends) })
	}
	w.Invariant("all come to the same end", func() error {
		for p, end := range ends {
			for q, other := range ends {
				if end == "committed" && other == "aborted" {
					return fmt.Errorf("%s has committed and %s has aborted", p, q)
				}
			}
		}
		return nil
	})
	w.Final("all come to an end", func() error {
		if len(ends) < len(Participants) {
			return fmt.Errorf("only %d of %d participants know how it ended", len(ends), len(Participants))
		}
		return nil
	})
	w.Set(inproc.Settings{Schedule: &inproc.Schedule{Steps: 200, Messages: 2}})
	if v.Rare {
		w.Faults("crash rate 0.05% for 50ms..200ms", "drop rate 0.1%", "crash on coordinator at fsync rate 0.25% for 50ms..200ms")
		return
	}
	w.Faults("crash rate 1% for 50ms..200ms", "drop rate 2%", "crash on coordinator at fsync rate 5% for 50ms..200ms")
}

// followed reports steps to the model, if there is one.
type followed struct {
	*inproc.Follower
}

func (f *followed) step(action string, args ...any) {
	if f.Follower != nil {
		f.Step(action, args...)
	}
}

func (f *followed) saw(want any, what string, args ...any) {
	if f.Follower != nil {
		f.Saw(want, what, args...)
	}
}

// coordinator asks for votes until it has all, one is no, or it has waited too long; then it sends the decision until all have received it.
type coordinator struct {
	bug      Bug
	told     *followed
	decision string
	votes    map[string]bool
	heard    map[string]bool // who has received the decision
	ticks    int
}

func newCoordinator(n *inproc.Node, bug Bug, told *followed) inproc.Machine {
	c := &coordinator{bug: bug, told: told, votes: map[string]bool{}, heard: map[string]bool{}}
	if data, err := n.Disk().Read("decision"); err == nil {
		c.decision = string(data)
		if bug == Silent {
			for _, p := range Participants {
				c.heard[p] = true
			}
		}
	}
	return c
}

func (c *coordinator) Tick(n *inproc.Node) {
	if c.ticks++; c.decision == "" && c.ticks > attempts {
		c.decide(n, "abort")
	}
	for _, p := range Participants {
		switch {
		case c.decision == "" && !c.votes[p]:
			n.Send(p, prepare{})
		case c.decision != "" && !c.heard[p]:
			n.Send(p, decided{c.decision == "commit"})
		}
	}
}

func (c *coordinator) Receive(n *inproc.Node, m inproc.Message) {
	switch v := m.Payload.(type) {
	case received:
		c.heard[m.From] = true
	case vote:
		switch {
		case c.decision != "":
		case !v.Yes:
			c.decide(n, "abort")
		case !c.votes[m.From]:
			c.votes[m.From] = true
			c.told.step("Vote", value.ModelValue(m.From))
			c.told.saw(len(c.votes), "Votes")
			if len(c.votes) == len(Participants) || c.bug == Miscounting && len(c.votes) == len(Participants)-1 {
				c.decide(n, "commit")
			}
		}
	}
}

func (c *coordinator) decide(n *inproc.Node, decision string) {
	keep := func() {
		must(n.Disk().WriteFile("decision", []byte(decision)))
		must(n.Disk().Sync("decision"))
	}
	if c.bug != Unsynced {
		keep()
	}
	c.decision = decision
	c.told.step(map[string]string{"commit": "Commit", "abort": "Abort"}[decision])
	c.told.saw(decision, "Decision")
	for _, p := range Participants {
		n.Send(p, decided{decision == "commit"})
	}
	if c.bug == Unsynced && n.Choose(2) == 1 { // the disk has it later, or never
		keep()
	}
}

// participant prepares when it is asked, and waits for the decision.
type participant struct {
	bug   Bug
	told  *followed
	ends  map[string]string
	state string
	ticks int
}

func join(n *inproc.Node, bug Bug, told *followed, ends map[string]string) inproc.Machine {
	p := &participant{bug: bug, told: told, ends: ends, state: "working"}
	if data, err := n.Disk().Read("state"); err == nil {
		p.state = string(data)
	}
	return p
}

// become keeps a state on the disk, and reports the step that led to it.
func (p *participant) become(n *inproc.Node, state, action string) {
	must(n.Disk().WriteFile("state", []byte(state)))
	must(n.Disk().Sync("state"))
	p.state = state
	p.told.step(action, value.ModelValue(n.Name()))
	p.told.saw(state, "StateOf", value.ModelValue(n.Name()))
	if state == "committed" || state == "aborted" {
		p.ends[n.Name()] = state
	}
}

func (p *participant) Tick(n *inproc.Node) {
	if p.state != "prepared" {
		return
	}
	if p.ticks++; p.bug == Impatient && p.ticks > patience {
		p.become(n, "aborted", "Refuse")
	}
}

func (p *participant) Receive(n *inproc.Node, m inproc.Message) {
	switch d := m.Payload.(type) {
	case prepare:
		if p.state == "working" {
			if n.Choose(10) == 9 {
				p.become(n, "aborted", "Refuse")
			} else {
				p.become(n, "prepared", "Prepare")
			}
		}
		n.Send(m.From, vote{p.state != "aborted"})
	case decided:
		if p.state == "working" || p.state == "prepared" {
			p.become(n, map[bool]string{true: "committed", false: "aborted"}[d.Commit], "Learn")
		}
		n.Send(m.From, received{})
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
