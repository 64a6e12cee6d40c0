package model

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
)

const bank = `---- MODULE Bank ----
EXTENDS Naturals
VARIABLES balance, fee
Init == balance = [a |-> 5, b |-> 0] /\ fee \in {0, 1}
Move(from, to, n) ==
  /\ from # to
  /\ balance[from] >= n + fee
  /\ balance' = [balance EXCEPT ![from] = @ - n - fee, ![to] = @ + n]
  /\ UNCHANGED fee
Next == \E n \in 1..5 : Move("a", "b", n)
Of(x) == balance[x]
Rich == balance.a > 2
====
`

func follow(t *testing.T, o Options) *Follower {
	t.Helper()
	return followIn(t, bank, o)
}

// followIn follows a run in a module with that text.
func followIn(t *testing.T, text string, o Options) *Follower {
	t.Helper()
	dir := t.TempDir()
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "---- MODULE "), " ")
	file := filepath.Join(dir, name+".tla")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "Bank.cfg")
	if err := os.WriteFile(config, []byte("INIT Init\nNEXT Next\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Load(file, config, o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Follow()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestStepsAndWhatIsSeenNarrowTheStates(t *testing.T) {
	f := follow(t, Options{})
	f.Step("Move", "a", "b", 2)
	f.Saw(2, "Of", "b")
	if len(f.states) != 2 || f.Err() != nil {
		t.Fatalf("%d states, %v", len(f.states), f.Err())
	}
	f.Saw(2, "Of", "a") // so there is a fee
	f.Step("Move", "a", "b", 1)
	if len(f.states) != 1 || f.End() != nil {
		t.Fatalf("%d states, %v", len(f.states), f.End())
	}
	f.Step("Move", "a", "b", 1)
	var d *Divergence
	if !errors.As(f.Err(), &d) || d.Step != 3 || d.Action != `Move("a", "b", 1)` || d.Guard == nil ||
		d.Guard.Text != "balance[from] >= n + fee" || d.Guard.Span.First.Line != 7 ||
		!strings.Contains(d.State, "balance = [a |-> 0, b |-> 3]") {
		t.Fatalf("%v, %+v", f.Err(), d)
	}
	f.Step("Move", "a", "b", 0)
	if f.Tally().Mapped != 3 {
		t.Error("a run is followed on after it has left the model")
	}
	f.Restart()
	if f.Err() != nil || len(f.states) != 2 {
		t.Fatalf("%d states and %v in the next run", len(f.states), f.Err())
	}
	f.Step("Move", "a", "b", 2)
	f.Saw(1, "Of", "a")
	if err := f.Err(); !errors.As(err, &d) || !strings.Contains(err.Error(), `Of("a") is 3 after it, but the system shows 1`) {
		t.Fatalf("%v", err)
	}
}

func TestWhatIsLeftOutMakesItUnknown(t *testing.T) {
	var unknown *Unknown
	for name, c := range map[string]struct {
		do   func(f *Follower)
		says string
	}{
		"nothing is mapped": {func(f *Follower) {}, "no event of the run was mapped"},
		"ignored": {func(f *Follower) {
			f.Step("Move", "a", "b", 1)
			f.Ignore("a heartbeat")
		}, "50.0 % of the events were left out, but only 5.0 % may be (MostLeftOut of model.Options, left_out of a check): 1 mapped, 1 ignored (a heartbeat)"},
		"not modelled": {func(f *Follower) {
			f.Step("Move", "a", "b", 1)
			f.Unmodelled("compaction")
		}, "1 not modelled (compaction)"},
		"many states": {func(f *Follower) {
			f.model.o.MostStates = 1
			f.Step("Move", "a", "b", 1)
		}, "may be in more than 1 state"},
		"arguments":     {func(f *Follower) { f.Step("Move", "a") }, "Move needs 3 arguments, and has 1"},
		"no such":       {func(f *Follower) { f.Step("Steal") }, "there is no operator Steal"},
		"wrong kind":    {func(f *Follower) { f.Step("Move", "a", "b", "much") }, "step 1"},
		"no expression": {func(f *Follower) { f.Saw(1, "Next") }, "Next is not an expression over one state"},
	} {
		f := follow(t, Options{})
		c.do(f)
		var d *Divergence
		if err := f.End(); err == nil || errors.As(err, &d) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		} else if _ = errors.As(err, &unknown); name == "ignored" && unknown == nil {
			t.Errorf("%s: %T", name, err)
		}
	}
}

func TestFeaturesAreOfStatesStepsAndGuards(t *testing.T) {
	f := follow(t, Options{View: "Rich"})
	total := map[coverage.Domain]int{}
	for _, c := range []struct {
		after                       string
		do                          func()
		states, whole, edges, guard int
	}{
		{"the start", func() {}, 1, 1, 0, 0},
		{"a step that the view does not show", func() { f.Step("Move", "a", "b", 1) }, 0, 1, 1, 2},
		{"the same again", func() { f.Step("Move", "a", "b", 1) }, 0, 1, 0, 0},
		{"a step that makes poor", func() { f.Step("Move", "a", "b", 1) }, 1, 1, 1, 1}, // which not all of the states allow
		{"a step that is none", func() { f.Step("Move", "a", "b", 5) }, 0, 0, 0, 0},
	} {
		c.do()
		now := map[coverage.Domain]int{}
		for _, r := range f.Reached() {
			now[r.Domain]++
		}
		got := [4]int{}
		for i, d := range []coverage.Domain{coverage.ModelState, coverage.ModelWhole, coverage.ModelEdge, coverage.ModelGuard} {
			got[i] = now[d] - total[d]
		}
		if want := [4]int{c.states, c.whole, c.edges, c.guard}; got != want {
			t.Errorf("after %s there are %v more states, whole ones, edges and guards; want %v", c.after, got, want)
		}
		total = now
	}
	all := follow(t, Options{})
	for _, r := range all.Reached() {
		if r.Domain == coverage.ModelWhole {
			t.Error("without a view, whole states are counted twice")
		}
	}
}

func TestViewsTakeNoArguments(t *testing.T) {
	f := follow(t, Options{})
	if _, err := New(f.model.spec, Options{View: "Of"}); err == nil || !strings.Contains(err.Error(), "it must take none") {
		t.Error(err)
	}
}

// What the system does at once may be several steps of the specification: the next step decides how many.
func TestAnActionThatIsRepeated(t *testing.T) {
	f := follow(t, Options{})
	f.Repeat("Move", "a", "b", 1)
	if f.Err() != nil || len(f.states) != 9 { // without a fee 0 to 5 moves, with one 0 to 2
		t.Fatalf("%d states, %v", len(f.states), f.Err())
	}
	f.Step("Move", "a", "b", 2)
	f.Saw(5, "Of", "b")
	f.Saw(0, "Of", "a")
	if f.Err() != nil || len(f.states) != 1 || f.Tally().Mapped != 1 {
		t.Fatalf("%d states, %v, %v", len(f.states), f.Tally(), f.Err())
	}
	f.Repeat("Move", "a", "b", 1)
	f.Step("Move", "a", "b", 1)
	var d *Divergence
	if !errors.As(f.Err(), &d) || d.Guard == nil || d.Guard.Text != "balance[from] >= n + fee" {
		t.Fatalf("%v", f.Err())
	}
}

// Code without a follower reports its steps to nil.
func TestANilFollowerPassesOverWhatItIsTold(t *testing.T) {
	var f *Follower
	f.Step("Move", "a", "b", 1)
	f.Repeat("Move", "a", "b", 1)
	f.Saw(1, "Of", "a")
	f.Ignore("a heartbeat")
	f.Unmodelled("compaction")
}

// A mapping that forgets an action is found out by what depends on it.
func TestForget(t *testing.T) {
	f := follow(t, Options{Forget: "Move"})
	if names := f.model.Actions(); !slices.Equal(names, []string{"Move"}) {
		t.Errorf("the actions are %v", names)
	}
	f.Step("Move", "a", "b", 1)
	f.Saw(1, "Of", "b")
	var d *Divergence
	if !errors.As(f.Err(), &d) || f.Tally().Mapped != 0 {
		t.Errorf("%v, %v", f.Err(), f.Tally())
	}
}

func TestForgetWhatIsNot(t *testing.T) {
	spec := follow(t, Options{}).model.spec
	if _, err := New(spec, Options{Forget: "Nope"}); err == nil || !strings.Contains(err.Error(), "Nope") ||
		!strings.Contains(err.Error(), "use one of Move") {
		t.Errorf("%v", err)
	}
}

// A lenient follower continues where it was, and answers that it does not know.
func TestLenient(t *testing.T) {
	f := follow(t, Options{Lenient: true})
	f.Step("Move", "a", "b", 6) // more than there is
	f.Step("Move", "a", "c", 1) // to nowhere: EXCEPT changes nothing
	f.Step("Move", "c", "b", 1) // balance["c"] cannot be evaluated
	f.Saw(7, "Of", "b")
	f.Saw(7, "Of", "c")
	f.Step("Move", "a", "b", 2)
	f.Saw(2, "Of", "b")
	var unknown *Unknown
	if len(f.states) != 2 || f.Err() != nil || !errors.As(f.End(), &unknown) || len(f.Reached()) == 0 {
		t.Errorf("%d states, %v, %v", len(f.states), f.Err(), f.End())
	}
	f.Restart()
	f.Step("Move", "a", "b", 2)
	if f.End() != nil {
		t.Error(f.End())
	}
	f.Step("Steal", "a") // a mistake of the caller
	if f.Err() == nil {
		t.Error("an action that is not there was passed over")
	}
}
