package inproc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// gossip sends the others how often it has ticked.
type gossip struct {
	ticks int
	got   []string
	seen  map[string][]string
}

func (g *gossip) Receive(n *Node, m Message) {
	g.seen[n.Name()] = append(g.seen[n.Name()], fmt.Sprint(m.From, m.Payload))
}

func (g *gossip) Tick(n *Node) {
	g.ticks++
	for _, to := range []string{"n1", "n2", "n3"} {
		if to != n.Name() {
			n.Send(to, g.ticks)
		}
	}
}

func gossips(s Schedule, seen map[string][]string, faults ...string) func(*World) {
	return func(w *World) {
		clear(seen)
		w.Set(Settings{Schedule: &s, Settle: -1})
		for _, name := range []string{"n1", "n2", "n3"} {
			w.Machine(name, func(*Node) Machine { return &gossip{seen: seen} })
		}
		w.Faults(faults...)
	}
}

// played makes a run and gives its story besides.
func played(t *testing.T, e *worldEngine, tp tape.Tape) (*record.Outcome, string) {
	t.Helper()
	w, err := e.Boot(e.Spec(), tp, engine.Options{Draws: []string{"sched/**"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if reason, err := w.Advance(engine.Until{}); err != nil || reason != record.Finished {
		t.Fatalf("%s, %v", reason, err)
	}
	return w.Outcome(), w.(*run).Story()
}

// diceful draws at each tick.
type diceful struct{ drawn *[]string }

func (*diceful) Receive(*Node, Message) {}
func (d *diceful) Tick(n *Node) {
	*d.drawn = append(*d.drawn, fmt.Sprint(n.Uint64(), n.Choose(1<<20)))
}

// An edit gives nodes other chance from a step on, and the same before it. The decisions of that run alone make it again.
func TestOtherChanceFromAStepOn(t *testing.T) {
	const steps = 40
	var machine, process []string
	e := mustNew(t, func(w *World) {
		machine, process = nil, nil
		w.Set(Settings{Schedule: &Schedule{Steps: steps}, Settle: -1})
		w.Machine("m", func(*Node) Machine { return &diceful{&machine} })
		w.Client("c", func(p *Process) {
			for p.Turn() {
				process = append(process, fmt.Sprint(p.Uint64(), p.Choose(1<<20)))
			}
		})
	})
	play := func(tp tape.Tape) (m, p []string, out *record.Outcome) {
		for i := range uint64(steps) { // a turn at each step
			tp.Edits = append(tp.Edits, tape.Edit{Op: tape.Set, Stream: "sched/turn/c", From: i, Value: 1})
		}
		out, _ = played(t, e, tp)
		return machine, process, out
	}
	other := func(step, chance uint64) tape.Tape {
		return tape.Tape{Seed: 1, Edits: []tape.Edit{{Op: tape.Set, Stream: "chance/step", From: step, Value: chance}}}
	}
	m, p, _ := play(tape.Tape{Seed: 1})
	if len(m) < steps || len(p) < steps-1 {
		t.Fatalf("%d and %d draws in %d steps", len(m), len(p), steps)
	}
	for _, step := range []uint64{0, 1, 17, steps - 1} {
		m1, p1, out := play(other(step, 5))
		m2, _, _ := play(other(step, 6))
		for i := range steps {
			if same := m[i] == m1[i]; same != (uint64(i) < step) || !same && m1[i] == m2[i] {
				t.Errorf("step %d: at %d the machine draws %s, %s and %s", step, i, m[i], m1[i], m2[i])
			}
		}
		for i := range min(len(p), len(p1), steps-1) {
			if same := p[i] == p1[i]; same != (uint64(i) < step) {
				t.Errorf("step %d: at %d the process draws %s and %s", step, i, p[i], p1[i])
			}
		}
		again, _ := played(t, e, tape.Replay(1, out.Decisions))
		if again.Hash != out.Hash || !slices.Equal(machine, m1) {
			t.Errorf("step %d: its decisions make another run", step)
		}
	}
}

func TestAScheduleTellsItsSteps(t *testing.T) {
	seen := map[string][]string{}
	e := mustNew(t, gossips(Schedule{Steps: 40, Messages: 9}, seen, "crash on n1 rate 10% for 20ms..50ms"))
	form := regexp.MustCompile(`^(Deliver\(n[123], [1-9] from n[123]\)|Crash\(n1\)|Start\(n1\))$`)
	crashes := 0
	for seed := range uint64(50) {
		_, story := played(t, e, tape.Tape{Seed: seed})
		for _, step := range strings.Split(story, " . ") {
			if !form.MatchString(step) {
				t.Fatalf("seed %d: step %q of\n%s", seed, step, story)
			}
		}
		crashes += strings.Count(story, "Crash(n1)")
		if n := strings.Count(story, "Deliver("); n < 39 {
			t.Errorf("seed %d: %d deliveries in 40 steps; of channels with messages, one delivers at each step but the first", seed, n)
		}
		if c, s := strings.Count(story, "Crash"), strings.Count(story, "Start"); c != s {
			t.Errorf("seed %d: %d crashes and %d starts", seed, c, s)
		}
	}
	if crashes == 0 {
		t.Error("no crash in 50 runs")
	}
	e = mustNew(t, gossips(Schedule{Steps: 3, Messages: 9, Mailboxes: true}, seen))
	if _, story := played(t, e, tape.Replay(1, nil)); !regexp.MustCompile(`^Deliver\(n\d, \d\)( \. Deliver\(n\d, \d\))*$`).MatchString(story) {
		t.Errorf("with mailboxes: %s", story)
	}
}

// Without a draw the message that waits longest goes first, and channels keep their order whatever is drawn.
func TestChannelsKeepTheirOrder(t *testing.T) {
	seen := map[string][]string{}
	e := mustNew(t, gossips(Schedule{Steps: 200, Messages: 3}, seen))
	for seed := range uint64(20) {
		played(t, e, tape.Tape{Seed: seed})
		for to, list := range seen {
			last := map[string]int{}
			for _, one := range list {
				var n int
				fmt.Sscan(one[2:], &n)
				if n != last[one[:2]]+1 {
					t.Fatalf("seed %d: %s got %s after %d", seed, to, one, last[one[:2]])
				}
				last[one[:2]] = n
			}
		}
	}
	_, story := played(t, e, tape.Replay(1, nil))
	for _, way := range []string{"n1, 3 from n2", "n1, 3 from n3", "n2, 3 from n1", "n2, 3 from n3", "n3, 3 from n1", "n3, 3 from n2"} {
		if n := strings.Count(story, way); n < 20 {
			t.Errorf("the run without faults starves the way %q: %d of 200 steps", way, n)
		}
	}
}

// A message that is reordered comes into its channel some steps late, so that others of the same sender go before it; none is lost.
func TestReorderedMessagesAreOvertaken(t *testing.T) {
	seen := map[string][]string{}
	e := mustNew(t, gossips(Schedule{Steps: 100}, seen, "reorder rate 10% for 10ms..50ms"))
	overtaken, got := 0, 0
	for seed := range uint64(20) {
		played(t, e, tape.Tape{Seed: seed})
		for _, list := range seen {
			last := map[string]int{}
			for _, one := range list {
				var n int
				fmt.Sscan(one[2:], &n)
				if n < last[one[:2]] {
					overtaken++
				}
				last[one[:2]] = max(n, last[one[:2]])
				got++
			}
		}
	}
	if overtaken*100 < got || overtaken*5 > got {
		t.Errorf("%d of %d messages were overtaken", overtaken, got)
	}
}

// A step that is changed leaves what the others choose as it was: the draws of a schedule mean the same at each step.
func TestASteppedMutantIsTheSameRunButForItsStep(t *testing.T) {
	seen := map[string][]string{}
	e := mustNew(t, gossips(Schedule{Steps: 60, Messages: 5}, seen))
	same, all := 0, 0
	for seed := range uint64(30) {
		_, before := played(t, e, tape.Tape{Seed: seed})
		out, after := played(t, e, tape.Tape{Seed: seed, Edits: []tape.Edit{{Op: tape.Set, Stream: "sched/deliver", From: 20, Value: 1 + seed*37}}})
		a, b := strings.Split(before, " . "), strings.Split(after, " . ")
		for i := range min(len(a), len(b)) {
			switch {
			case i < 20-1 && a[i] != b[i]:
				t.Fatalf("seed %d: step %d differs before the change", seed, i)
			case i > 20:
				all++
				if to, _, _ := strings.Cut(a[i], ","); strings.HasPrefix(b[i], to) && strings.HasSuffix(b[i], a[i][len(a[i])-3:]) {
					same++
				}
			}
		}
		drawn := map[string]uint64{}
		for _, d := range out.Draws {
			drawn[d.Stream] = max(drawn[d.Stream], d.To)
		}
		if drawn["sched/deliver"] < 60 || drawn["sched/count"] != drawn["sched/deliver"] {
			t.Fatalf("seed %d: draws %v", seed, drawn)
		}
	}
	if same*100 < all*90 {
		t.Errorf("%d of %d later steps are the same", same, all)
	}
}

// Kinds of faults that mean nothing in a schedule are refused, in whatever order they are written; those of messages are injected there.
func TestFaultsOfSchedules(t *testing.T) {
	for _, rule := range []string{"delay rate 1%", "slow_link rate 1%"} {
		for _, first := range []bool{true, false} {
			_, err := newEngine("test", func(w *World) {
				if first {
					w.Set(Settings{Schedule: &Schedule{}})
				}
				w.Process("a", func(*Process) {})
				w.Process("b", func(*Process) {})
				w.Faults(rule)
				if !first {
					w.Set(Settings{Schedule: &Schedule{}})
				}
			})
			if err == nil || !strings.Contains(err.Error(), "no latency") || !strings.Contains(err.Error(), "schedule_test.go:") {
				t.Errorf("%s: %v", rule, err)
			}
		}
	}
	seen := map[string][]string{}
	for _, rule := range []string{"drop rate 10%", "duplicate rate 10%", "reorder rate 10%", "partition rate 10% for 20ms..50ms",
		"clog rate 10% for 20ms..50ms", "pause rate 10% for 20ms..50ms"} {
		e := mustNew(t, gossips(Schedule{Steps: 60}, seen, rule))
		observed := uint64(0)
		for seed := range uint64(10) {
			out, _ := played(t, e, tape.Tape{Seed: seed})
			observed += out.Ledger.Entries[0].Observed
		}
		if observed == 0 {
			t.Errorf("%s is never observed", rule)
		}
	}
}

// listener says nothing.
type listener struct{}

func (*listener) Receive(*Node, Message) {}
func (*listener) Tick(*Node)             {}

func TestTicksOfAStep(t *testing.T) {
	for _, c := range []struct{ ticks, want int }{{0, 10}, {1, 10}, {3, 30}} {
		ticked := 0
		e := mustNew(t, func(w *World) {
			ticked = 0
			w.Set(Settings{Schedule: &Schedule{Steps: 10, Ticks: c.ticks}, Settle: -1})
			w.Machine("n1", func(*Node) Machine { return &listener{} })
			w.After(func(s *Step) {
				if s.Kind == Ticked {
					ticked++
				}
			})
		})
		played(t, e, tape.Tape{Seed: 1})
		if ticked < c.want-3 || ticked > c.want+3 {
			t.Errorf("%d ticks a step: %d in 10 steps", c.ticks, ticked)
		}
	}
}
