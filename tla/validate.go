package tla

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/visited"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// deciding is of how many states in which the longest behaviours end it is found out which conditions were false there.
const deciding = 8

// recent is how many states before the last are kept of a behaviour.
const recent = 32

// trail is a behaviour by its last state.
type trail struct {
	state  State
	before *trail
	action int // -1: an initial state
	level  int // the number of the state
	broken *broken
}

// broken is a property that a behaviour breaks.
type broken struct {
	kind Kind
	name string
	line int
	last *trail
}

// validator goes through a log.
type validator struct {
	*checker
	v         *Validation
	log       *eval.Trace
	passed    visited.Fingerprints
	stack     []*trail
	later     []*trail // that break a property: they are followed when no other behaviour is left
	furthest  []*trail
	farthest  int64
	now       *trail
	accepted  *trail
	following bool // of later
}

// Validate searches for a behaviour of a trace specification that reaches the end of its log. It searches depth first
// and visits no state twice, so it never does more work than Check. It checks the properties of states and steps as it
// goes: a behaviour that breaks one counts only if no other behaviour reaches the end of the log.
func Validate(spec *Spec, o Options, how Reading) (*Validation, error) {
	c := newChecker(spec, o)
	w := &validator{checker: c, v: &Validation{}, farthest: -1}
	c.ev.TLC.Behaviour = func(cur State) ([]State, error) { return eval.StatesTo(w.steps(w.now), cur), nil }
	err := w.all(how)
	if errors.Is(err, eval.ErrStop) {
		err = nil
	}
	if err != nil && w.now != nil {
		w.v.Behaviour = w.shownTo(w.now)
		if r, line, _ := w.lineAt(w.now); line > 0 {
			err = fmt.Errorf("%w\nThat was met at %s:%d:\n%s", err, r.File, line, r.LineText(line))
		}
	}
	w.v.Depth = c.r.Depth
	return w.v, err
}

func (w *validator) all(how Reading) error {
	if f, err := w.holds(eval.PartsOf(w.spec).Assumptions, nil, nil); err != nil {
		return err
	} else if f != nil {
		w.v.Violation = &Violation{Kind: AssumptionViolated, Name: f.Name, Back: -1}
		return nil
	}
	log, err := w.ev.Trace(how.Position, how.End)
	if err != nil {
		return err
	}
	w.log = log
	w.v.Items, w.v.Position, w.v.End, w.v.Replaced = log.Items(), log.Position(), log.Ends, log.Replaced
	for _, name := range log.Unjudged {
		w.v.Unchecked = append(w.v.Unchecked, Unchecked{name, errors.New("it depends on a whole behaviour, and a log shows a finite part")})
	}
	if err := w.ev.Initial(func(s State) error { return w.reach(nil, s, -1) }); err != nil {
		return err
	}
	if len(w.stack)+len(w.later) == 0 {
		return w.refusedFromTheStart()
	}
	for _, t := range append(slices.Clone(w.stack), w.later...) {
		if w.accepted != nil && w.accepted == t {
			w.v.Unknown = fmt.Sprintf("%s is true in an initial state: it does not show where the log ends", log.Ends)
			return nil
		}
	}
	for {
		for len(w.stack) > 0 && w.accepted == nil {
			if w.v.States%64 == 0 && w.full() {
				w.v.Unknown = w.r.Stopped
				return nil
			}
			t := w.stack[len(w.stack)-1]
			w.stack = w.stack[:len(w.stack)-1]
			if err := w.visitSuccessors(t); err != nil {
				return err
			}
		}
		if w.accepted != nil || len(w.later) == 0 || w.following {
			break
		}
		// No behaviour that keeps the properties goes through the log. It may be that one that breaks them does.
		w.following, w.passed = true, visited.Fingerprints{}
		for _, t := range slices.Backward(w.later) {
			if _, isNew := w.passed.Add(w.key(t.state, t.level)); isNew {
				w.stack = append(w.stack, t)
			}
		}
	}
	return w.judge()
}

// key distinguishes the states that the search continues from.
func (w *validator) key(s State, level int) uint64 {
	fp := value.Hash(s)
	if w.log.Levels {
		fp = splitmix.Mix(fp ^ uint64(level))
	}
	return fp
}

// visitSuccessors finds the successors of a behaviour's last state.
func (w *validator) visitSuccessors(t *trail) error {
	w.now, w.level = t, t.level
	w.ev.TLC.Level = t.level
	begin := len(w.stack)
	for i := range w.spec.Actions {
		err := w.ev.Successors(t.state, &w.spec.Actions[i], func(next State) error {
			if err := w.reach(t, next, i); err != nil {
				return err
			}
			if w.accepted != nil {
				return eval.ErrStop
			}
			return nil
		})
		if err != nil || w.accepted != nil {
			return err
		}
	}
	// What was found last is gone on with first: let that be what gets furthest, and the first of those.
	found := w.stack[begin:]
	if len(found) > 1 {
		places := map[*trail]int64{}
		for _, f := range found {
			n, err := w.log.PositionOf(f.state, f.level)
			if err != nil {
				return err
			}
			places[f] = n
		}
		slices.Reverse(found)
		slices.SortStableFunc(found, func(a, b *trail) int { return int(min(max(places[a]-places[b], -1), 1)) })
	}
	return nil
}

// reach takes in a state that a behaviour leads to; before is nil for an initial state.
func (w *validator) reach(before *trail, s State, action int) error {
	w.v.Steps++
	w.r.Generated++
	level, changed := 1, eval.AllVariables
	var current State
	var bad *broken
	if before != nil {
		level, current, bad = before.level+1, before.state, before.broken
		changed = eval.ChangedIn(current, s)
	}
	out, err := w.remain(eval.PartsOf(w.spec).Constraints, w.constraintReads, s, changed)
	if err == nil && out == nil && before != nil {
		out, err = w.holds(eval.PartsOf(w.spec).ActionConstraints, current, s)
	}
	if err != nil || out != nil {
		return err
	}
	here, err := w.log.PositionOf(s, level)
	if err != nil {
		return err
	}
	done, err := w.log.Ended(s, level, here)
	if err != nil {
		return err
	}
	t := &trail{before: before, action: action, level: level, broken: bad}
	breaks := func(kind Kind, f *eval.Formula) {
		_, line, _ := w.lineAt(before)
		t.broken = &broken{kind, f.Name, line, t}
	}
	if bad == nil {
		f, err := (*eval.Formula)(nil), error(nil)
		kind := StepViolated
		if before == nil {
			kind = InitialViolated
			f, err = w.holds(eval.PartsOf(w.spec).InitialProperties, s, nil)
		} else {
			f, err = w.holds(eval.PartsOf(w.spec).StepProperties, current, s)
		}
		if err != nil {
			return err
		}
		if f != nil {
			breaks(kind, f)
		}
	}
	if t.broken == nil || w.following {
		if _, isNew := w.passed.Add(w.key(s, level)); !isNew {
			return nil
		}
	}
	if t.broken == nil {
		f, err := w.remain(w.log.Invariants, w.invariantReads, s, changed)
		if err == nil && f == nil && !done {
			f, err = w.holds(w.log.Positional, s, nil)
		}
		if err != nil {
			return err
		}
		if f != nil {
			breaks(InvariantViolated, f)
		}
	}
	w.keep(t, s, here, done)
	return nil
}

// keep takes in a behaviour that leads to a state at a place of the log, to continue from there.
func (w *validator) keep(t *trail, s State, here int64, done bool) {
	t.state = slices.Clone(s)
	w.v.States++
	w.r.Distinct++
	w.r.Depth = max(w.r.Depth, t.level)
	t.forget()
	switch {
	case here > w.farthest:
		w.farthest, w.v.Ends = here, 1
		w.furthest = append(w.furthest[:0], t)
	case here == w.farthest:
		if w.v.Ends++; len(w.furthest) < recent {
			w.furthest = append(w.furthest, t)
		}
	}
	if t.broken != nil && !w.following {
		w.later = append(w.later, t)
		return
	}
	if w.stack = append(w.stack, t); done {
		w.accepted = t
	}
}

// forget leaves out the states that are far behind the last one.
func (t *trail) forget() {
	if t.level%recent != 0 {
		return
	}
	for range recent {
		if t = t.before; t == nil {
			return
		}
	}
	t.before = nil
}

// steps are the last states of a behaviour.
func (w *validator) steps(t *trail) (steps []Step) {
	for ; t != nil && t.state != nil; t = t.before {
		s := Step{State: t.state}
		if t.action >= 0 {
			s.Action = &w.spec.Actions[t.action]
		}
		steps = append(steps, s)
	}
	slices.Reverse(steps)
	return steps
}

// shownTo is steps, with what ALIAS says of them.
func (w *validator) shownTo(t *trail) []Step {
	steps := w.steps(t)
	return w.ev.Show(t.level-len(steps)+1, steps)
}

// lineAt is the line of the log that a behaviour is at, and its number among the items; 0 if that is not known.
func (w *validator) lineAt(t *trail) (r *ndjson.Log, line, item int) {
	if w.log == nil || w.log.Position() == "" || t == nil {
		return nil, 0, 0
	}
	n, err := w.log.PositionOf(t.state, t.level)
	if err != nil || n < 1 || n > int64(w.log.Items()) {
		return nil, 0, 0
	}
	r, line = w.log.Line(int(n))
	return r, line, int(n)
}

// refusedFromTheStart sets the result for a specification without an initial state.
func (w *validator) refusedFromTheStart() (err error) {
	if w.v.Log, err = w.log.Log(); err != nil {
		return err
	}
	if w.log.Position() == "" {
		w.v.Unknown = "there is no initial state"
		return nil
	}
	r, line := w.log.Line(1)
	if w.v.Line, w.v.Item = line, 1; r != nil {
		w.v.Text = r.LineText(line)
	}
	return nil
}

// judge says what follows from the behaviours that were found.
func (w *validator) judge() (err error) {
	if w.v.Log, err = w.log.Log(); err != nil {
		return err
	}
	decides := w.log.Undecided() // the postcondition alone
	if all := eval.PartsOf(w.spec).Postconditions; len(all) > 0 && (w.accepted != nil || decides) {
		broken, err := w.ev.All(all, nil, nil)
		if err != nil {
			return err
		}
		if decides && broken == nil {
			w.r.Depth--
			if broken, err := w.ev.All(all, nil, nil); err != nil {
				return err
			} else if broken == nil {
				w.v.Unknown = all[0].Name + " is also true of shorter behaviours, so it does not show where the log ends; name that with --end"
			}
			w.r.Depth++
			w.accepted = w.furthest[0]
		} else if broken != nil && !decides {
			w.v.Violation = &Violation{Kind: PostViolated, Name: broken.Name, Trace: w.shownTo(w.accepted), Back: -1}
		}
	}
	if w.accepted != nil {
		if b := w.accepted.broken; b != nil {
			w.v.Violation, w.v.BrokenAt = &Violation{Kind: b.kind, Name: b.name, Trace: w.shownTo(b.last), Back: -1}, b.line
		}
		w.v.Accepted = w.v.Violation == nil && w.v.Unknown == ""
		return nil
	}
	t := w.furthest[0]
	if b := t.broken; b != nil {
		w.v.Violation, w.v.BrokenAt = &Violation{Kind: b.kind, Name: b.name, Trace: w.shownTo(b.last), Back: -1}, b.line
	}
	if r, line, item := w.lineAt(t); r != nil {
		w.v.Line, w.v.Item, w.v.Text = line, item, r.LineText(line)
	}
	for _, t := range w.furthest[:min(len(w.furthest), 3)] {
		w.v.Last = append(w.v.Last, w.shownTo(t))
	}
	w.v.Tried, err = w.ev.Tried(min(len(w.furthest), deciding), func(i int) State {
		w.now = w.furthest[i]
		w.ev.TLC.Level = w.now.level
		return w.now.state
	})
	return err
}
