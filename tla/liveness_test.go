package tla

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/liveness"
)

// specOf loads a module and a configuration from their texts.
func specOf(t *testing.T, module, config string) (*Spec, error) {
	t.Helper()
	name := strings.Fields(module[strings.Index(module, "MODULE")+len("MODULE"):])[0]
	file := filepath.Join(t.TempDir(), name+".tla")
	if err := os.WriteFile(file, []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(name+".cfg", config)
	if err != nil {
		return nil, err
	}
	return Load(file, c)
}

func mustCheck(t *testing.T, module, config string) (*Spec, *Report) {
	t.Helper()
	s, err := specOf(t, module, config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(s, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, module)
	}
	return s, r
}

// A random system: states 0..n-1, moves between them, each of some action.
type system struct {
	n      int
	moves  [][2]int // of action A, then of action B
	ofA    int
	weak   string // the fairness: of "", WF_x(A), SF_x(A), WF_x(Next), ...
	chance *rand.Rand
}

func (s *system) module(property string) string {
	var b strings.Builder
	fmt.Fprintln(&b, "---- MODULE M ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = 0")
	for i, name := range []string{"A", "B"} {
		list := s.moves[:s.ofA]
		if i == 1 {
			list = s.moves[s.ofA:]
		}
		fmt.Fprintf(&b, "%s == FALSE", name)
		for _, m := range list {
			fmt.Fprintf(&b, " \\/ (x = %d /\\ x' = %d)", m[0], m[1])
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, "Next == A \\/ B\nSpec == Init /\\ [][Next]_x"+s.weak)
	fmt.Fprintf(&b, "P == %s\n====\n", property)
	return b.String()
}

// a formula as text, and as what it says of a lasso: of each of its positions.
type said struct {
	text string
	of   func(w word) []bool
}

// word is a lasso: states of which the last leads back to the one at back, forever.
type word struct {
	states []int
	back   int
}

func (w word) next(i int) int {
	if i+1 < len(w.states) {
		return i + 1
	}
	return w.back
}

func positions(w word, f func(i int) bool) []bool {
	list := make([]bool, len(w.states))
	for i := range list {
		list[i] = f(i)
	}
	return list
}

// later reports for each position whether f holds at it or at a later one.
func later(w word, f []bool) []bool {
	return positions(w, func(i int) bool {
		for k := min(i, w.back); k < len(w.states); k++ {
			if f[k] && (k >= i || k >= w.back) {
				return true
			}
		}
		return false
	})
}

func inverse(f []bool) []bool {
	g := make([]bool, len(f))
	for i := range f {
		g[i] = !f[i]
	}
	return g
}

func (s *system) formula(depth int) said {
	r := s.chance
	if depth == 0 {
		k := r.IntN(s.n)
		return said{fmt.Sprintf("(x = %d)", k), func(w word) []bool { return positions(w, func(i int) bool { return w.states[i] == k }) }}
	}
	f := s.formula(depth - 1)
	switch r.IntN(7) {
	case 0:
		return said{"~" + f.text, func(w word) []bool { return inverse(f.of(w)) }}
	case 1, 2:
		return said{"[](" + f.text + ")", func(w word) []bool { return inverse(later(w, inverse(f.of(w)))) }}
	case 3, 4:
		return said{"<>(" + f.text + ")", func(w word) []bool { return later(w, f.of(w)) }}
	case 5:
		g := s.formula(depth - 1)
		return said{"(" + f.text + " ~> " + g.text + ")", func(w word) []bool {
			a, b := f.of(w), later(w, g.of(w))
			return inverse(later(w, positions(w, func(i int) bool { return a[i] && !b[i] })))
		}}
	}
	g := s.formula(depth - 1)
	and := r.IntN(2) == 0
	return said{"(" + f.text + map[bool]string{true: " /\\ ", false: " => "}[and] + g.text + ")", func(w word) []bool {
		a, b := f.of(w), g.of(w)
		return positions(w, func(i int) bool { return and && a[i] && b[i] || !and && (!a[i] || b[i]) })
	}}
}

// fair reports whether a lasso keeps the fairness of the system.
func (s *system) fair(w word) bool {
	if s.weak == "" {
		return true
	}
	list := s.moves
	if strings.Contains(s.weak, "(A)") {
		list = s.moves[:s.ofA]
	}
	enabled, always, happens := false, true, false
	for i := w.back; i < len(w.states); i++ {
		on := slices.ContainsFunc(list, func(m [2]int) bool { return m[0] == w.states[i] && m[1] != m[0] })
		enabled, always = enabled || on, always && on
		from, to := w.states[i], w.states[w.next(i)]
		happens = happens || from != to && slices.Contains(list, [2]int{from, to})
	}
	if strings.Contains(s.weak, "SF") {
		return !enabled || happens
	}
	return !always || happens
}

// step reports whether a behaviour may go from one state to another.
func (s *system) step(a, b int) bool { return a == b || slices.Contains(s.moves, [2]int{a, b}) }

// counter looks for a lasso that breaks a formula by trying all of up to so many states.
func (s *system) counter(f said, most int) *word {
	var found *word
	var grow func(states []int)
	grow = func(states []int) {
		for back := range states {
			if found == nil && s.step(states[len(states)-1], states[back]) {
				w := word{states, back}
				if s.fair(w) && !f.of(w)[0] {
					found = &word{slices.Clone(states), back}
				}
			}
		}
		if len(states) == most || found != nil {
			return
		}
		for next := range s.n {
			if s.step(states[len(states)-1], next) {
				grow(append(states, next))
			}
		}
	}
	grow([]int{0})
	return found
}

func TestTemporalPropertiesAgainstAllLassos(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	defer func(least int) { leastCompared = least }(leastCompared)
	leastCompared = 50
	broken, kept := 0, 0
	// A third of the systems also count their steps, which VIEW hides.
	counting := strings.NewReplacer("VARIABLE x", "VARIABLES x, h\nShown == x", "Init == x = 0", "Init == x = 0 /\\ h = 0",
		"Next == A \\/ B", "Next == (A \\/ B) /\\ h' = h + 1",
		"[Next]_x", "[Next]_<<x, h>>")
	for round := range 1500 {
		s := &system{n: 2 + r.IntN(2), chance: r}
		for range 1 + r.IntN(5) {
			s.moves = append(s.moves, [2]int{r.IntN(s.n), r.IntN(s.n)})
		}
		s.ofA = r.IntN(len(s.moves) + 1)
		s.weak = []string{"", " /\\ WF_x(A)", " /\\ SF_x(A)", " /\\ WF_x(Next)"}[r.IntN(4)]
		f := s.formula(1 + r.IntN(3))
		module := s.module(f.text)
		config := "SPECIFICATION Spec\nPROPERTY P\nCHECK_DEADLOCK FALSE"
		if round%3 == 0 {
			module, config = counting.Replace(module), config+"\nVIEW Shown"
		}
		_, report := mustCheck(t, module, config)
		if len(report.Unchecked) > 0 {
			t.Fatalf("not checked: %v\n%s", report.Unchecked, module)
		}
		counter := s.counter(f, 6)
		if len(report.Violations) == 0 {
			if kept++; counter != nil {
				t.Fatalf("no violation was found, and %v is one\n%s", *counter, module)
			}
			continue
		}
		broken++
		v := report.Violations[0]
		if v.Kind != TemporalViolated { // an invariant, or a property of the initial state
			if counter == nil {
				t.Fatalf("%s %s was found, and no behaviour breaks the property\n%s", v.Kind, v.Name, module)
			}
			continue
		}
		w := word{back: v.Back}
		for _, step := range v.Trace {
			var k int
			fmt.Sscan(step.State[0].String(), &k)
			w.states = append(w.states, k)
		}
		for i := range w.states {
			if !s.step(w.states[i], w.states[w.next(i)]) {
				t.Fatalf("%v is no behaviour\n%s", w, module)
			}
		}
		switch {
		case w.states[0] != 0:
			t.Fatalf("%v does not begin as Init says\n%s", w, module)
		case !s.fair(w):
			t.Fatalf("%v is not fair\n%s", w, module)
		case f.of(w)[0]:
			t.Fatalf("%v does not break the property\n%s", w, module)
		}
	}
	if broken < 300 || kept < 300 {
		t.Fatalf("%d properties were broken and %d kept: the test is lopsided", broken, kept)
	}
}

// ENABLED of a step of another specification asks for any next state of that one, whatever stands for its variables.
func TestEnabledOfRefinement(t *testing.T) {
	const module = `---- MODULE Count ----
EXTENDS Naturals
VARIABLES n, m
---- MODULE Flag ----
VARIABLES done, other
vars == <<done, other>>
Init == done = FALSE /\ other = 0
Ready == ~done
Finish == Ready /\ done' = TRUE /\ (IF done' THEN UNCHANGED other ELSE other' = 7)
Spec == Init /\ [][Finish]_vars /\ WF_vars(Finish)
====
vars == <<n, m>>
Init == n = 0 /\ m = 5
Step == n < 3 /\ n' = n + 1 /\ UNCHANGED m
Lazy == Init /\ [][Step]_vars
Spec == Lazy /\ WF_vars(Step)
F == INSTANCE Flag WITH done <- n = 3, other <- m - 5
Flagged == F!Spec
====
`
	for _, c := range []struct {
		spec  string
		holds bool
	}{{"Spec", true}, {"Lazy", false}} {
		_, r := mustCheck(t, module, "SPECIFICATION "+c.spec+" PROPERTY Flagged CHECK_DEADLOCK FALSE")
		if (len(r.Violations) == 0) != c.holds || len(r.Unchecked) > 0 {
			t.Errorf("%s: %d violations, not checked: %v", c.spec, len(r.Violations), r.Unchecked)
		}
	}
}

// Fairness under a condition that is the same in all states is fairness, or nothing: no automaton is made for it, which many conditions would make too large.
func TestFairnessUnderConstantConditions(t *testing.T) {
	const module = `---- MODULE Pairs ----
EXTENDS Naturals
VARIABLE x
S == 0..5
vars == <<x>>
Init == x = [i \in S |-> [k \in S |-> FALSE]]
Step(i, k) == i < k /\ k < i + 2 /\ ~x[i][k] /\ x' = [x EXCEPT ![i][k] = TRUE]
Next == \E i, k \in S : Step(i, k)
All == \A i, k \in S : i # k => WF_vars(Step(i, k))
Chosen == \A i, k \in S : IF i = k THEN TRUE ELSE WF_vars(Step(i, k))
Most == \A i, k \in S : i # k /\ i # 2 => WF_vars(Step(i, k))
Sure == \A i, k \in S : (i # k /\ i < k /\ k < i + 2) => <>x[i][k]
Else == \A i \in S : (i = 2 \/ i = 5) \/ <>x[i][i + 1]
SpecAll == Init /\ [][Next]_vars /\ All
SpecChosen == Init /\ [][Next]_vars /\ Chosen
SpecMost == Init /\ [][Next]_vars /\ Most
====
`
	for _, c := range []struct {
		spec, property string
		holds          bool
	}{{"All", "Sure", true}, {"Chosen", "Sure", true}, {"Most", "Sure", false}, {"Most", "Else", true}} {
		_, r := mustCheck(t, module, "SPECIFICATION Spec"+c.spec+" PROPERTY "+c.property+" CHECK_DEADLOCK FALSE")
		if (len(r.Violations) == 0) != c.holds || len(r.Unchecked) > 0 || !r.Complete {
			t.Errorf("%s of %s: %d violations, not checked: %v", c.property, c.spec, len(r.Violations), r.Unchecked)
		}
	}
}

// A property that asks for the length of the queue is evaluated once the successors of a state are known.
func TestQueueInProperties(t *testing.T) {
	const module = `---- MODULE Walk ----
EXTENDS Naturals, TLC
VARIABLE n
Init == n = 0
One == n < 3 /\ n' = n + 1
Two == n < 3 /\ n' \in {n + 1, n + 10}
One3 == Init /\ [][One]_n
Two3 == Init /\ [][Two]_n
Matched == [](n < 3 => [](TLCGet("queue") = 1 \/ n >= 3))
====
`
	for _, c := range []struct {
		spec  string
		holds bool
	}{{"One3", true}, {"Two3", false}} {
		_, r := mustCheck(t, module, "SPECIFICATION "+c.spec+" PROPERTY Matched CHECK_DEADLOCK FALSE")
		if (len(r.Violations) == 0) != c.holds || len(r.Unchecked) > 0 {
			t.Errorf("%s: %d violations, not checked: %v", c.spec, len(r.Violations), r.Unchecked)
		}
	}
}

// An automaton with too many ways is not waited for, and neither is the search through it beyond the limits of a check.
func TestAutomataAreBounded(t *testing.T) {
	defer func(most int) { liveness.MostTried = most }(liveness.MostTried)
	liveness.MostTried = 1 << 18
	many := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("[]<>(x = %d)", i+5)
		}
		return strings.Join(list, " \\/ ")
	}
	const spec = "---- MODULE M ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = 0\nNext == x' = (x + 1) %% 5\nSpec == Init " +
		"/\\ [][Next]_x /\\ WF_x(Next)\nP == %s\n===="
	for n, unknown := range map[int]bool{4: false, 30: true} {
		s, err := specOf(t, fmt.Sprintf(spec, many(n)), "SPECIFICATION Spec PROPERTY P")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(s, Options{})
		if err != nil || len(r.Unchecked) > 0 != unknown || len(r.Violations) > 0 == unknown {
			t.Errorf("%d: %v, %v, %v", n, err, r.Unchecked, r.Violations)
		}
		if unknown && !strings.Contains(r.Unchecked[0].Why.Error(), "ways to fulfil its temporal operators") {
			t.Error(r.Unchecked[0].Why)
		}
	}
	s, err := specOf(t, fmt.Sprintf(spec, many(6)), "SPECIFICATION Spec PROPERTY P")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	reached := 0
	r, err := Check(s, Options{Stop: stop, Reached: func(Reached) {
		if reached++; reached == 6 { // the last step there is
			close(stop)
		}
	}})
	if err != nil || r.Stopped == "" || len(r.Violations) > 0 || r.Checked || !r.Complete || r.Left > 0 {
		t.Errorf("%v, stopped by %q after %d states, %v", err, r.Stopped, reached, r.Violations)
	}
}

// Under VIEW the graph has the states that the view distinguishes, as in TLC: it may be finite where all states are not. What the
// view does not show must not matter.
func TestPropertiesUnderView(t *testing.T) {
	const module = `---- MODULE Turns ----
EXTENDS Naturals
VARIABLES y, n
vars == <<y, n>>
Shown == y
Init == y = 0 /\ n = 0
Turn == y' = 1 - y /\ n' = n + 1
Leap == y' = 1 - y /\ n' = n + 2
Few == n < 2 /\ Turn
Two == Turn \/ Leap
Spec == Init /\ [][Turn]_vars /\ WF_vars(Turn)
Lazy == Init /\ [][Turn]_vars
Ends == Init /\ [][Few]_vars
EndsFairly == Init /\ [][Few]_vars /\ WF_vars(Few)
Either == Init /\ [][Two]_vars /\ WF_vars(Two)
Strongly == Init /\ [][Two]_vars /\ SF_vars(Turn)
Again == []<>(y = 0)
Rests == <>[](y = 0)
Grows == <>(n > 5)
Still == <>[][FALSE]_vars
Turns == []<><<Turn>>_vars
====
`
	const differ = "VIEW takes states for one that differ in "
	const unlike = "VIEW takes states for one whose next steps differ"
	for _, c := range []struct{ spec, property, want string }{
		{"Spec", "Again", "holds, 2 states"},
		{"Spec", "Rests", "broken: y=0 n=0, y=1 n=1, back to 1"},
		{"Lazy", "Again", "broken: y=0 n=0, y=1 n=1, back to 2"},
		{"Spec", "Grows", differ},
		{"Spec", "Still", "broken: y=0 n=0, y=1 n=1, back to 1"},
		{"Ends", "Still", unlike},
		{"EndsFairly", "Again", unlike},
		{"Either", "Turns", "broken: y=0 n=0, y=1 n=2, y=0 n=4, back to 2"},
		{"Strongly", "Turns", "holds, 2 states"},
	} {
		s, r := mustCheck(t, module, "SPECIFICATION "+c.spec+" PROPERTY "+c.property+" VIEW Shown CHECK_DEADLOCK FALSE")
		got := fmt.Sprintf("holds, %d states", r.Distinct)
		if len(r.Unchecked) > 0 {
			got = r.Unchecked[0].Why.Error()
		}
		if len(r.Violations) > 0 {
			got = "broken:"
			for _, step := range r.Violations[0].Trace {
				got += fmt.Sprintf(" y=%v n=%v,", step.State[0], step.State[1])
			}
			got += fmt.Sprintf(" back to %d", r.Violations[0].Back+1)
		}
		if !strings.HasPrefix(got, c.want) || !r.Viewed || r.Compared || s.Variables[0] != "y" {
			t.Errorf("%s, %s: %s; want %s", c.spec, c.property, got, c.want)
		}
	}
	const round = `---- MODULE M ----
EXTENDS Integers
VARIABLES y, n
Init == y = 0 /\ n = 0
Next == y' = 1 - y /\ n' = (n + 1) % 4
Spec == Init /\ [][Next]_<<y, n>> /\ WF_<<y, n>>(Next)
Again == []<>(y = 0)
====
`
	if _, r := mustCheck(t, round, "SPECIFICATION Spec PROPERTY Again VIEW y"); !r.Viewed || !r.Compared || r.Distinct != 2 ||
		len(r.Unchecked)+len(r.Violations) > 0 {
		t.Errorf("all four states can be compared: %+v", r)
	}
}
