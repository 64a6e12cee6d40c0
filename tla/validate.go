package tla

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Reading says how it is seen how far in its log a trace specification is.
type Reading struct {
	// Position names a variable, or an operator of states, that is the index of the next item of the log; "level" is the number of the state. If it is
	// empty, it is what the specification indexes the log by.
	Position string
	// End names an operator of states that is true where the log is at its end. If it is empty, that is what a property of the configuration says of it, or
	// else that the position is behind the last item.
	End string
}

// Validation is what became of a log.
type Validation struct {
	// Accepted: a behaviour of the specification goes through all of the log.
	Accepted bool
	// Unknown is why that is not known; empty if it is.
	Unknown string
	// Log is the file, and Items are those of its values that the specification goes through.
	Log   string
	Items int
	// Line is the first that no behaviour gets past, Text is that line, and Item is its number among the Items. They are 0 if the log is accepted, or if the
	// position is not known.
	Line, Item int
	Text       string
	// Last are states in which the longest behaviours end, a few of them with the states before; Ends is how many there are.
	Last [][]Step
	Ends int
	// Tried are the steps that were looked for there.
	Tried []Tried
	// Violation is a property that each behaviour breaks which goes through the log, or gets furthest.
	Violation *Violation
	BrokenAt  int // the line that the behaviour was at
	// Position and End tell what was taken for them.
	Position, End string
	// Replaced are properties that are about how a check goes on: this answer stands for them.
	Replaced  []string
	Unchecked []Unchecked
	// States is how many were reached, Steps how many ways led to them, and Depth the number of states in the longest behaviour.
	States, Steps, Depth int
	// Behaviour is what led to an error of the specification.
	Behaviour []Step
}

// Tried is an action that was tried where the log goes on in another way.
type Tried struct {
	Action *Action
	// Guards are the conditions that were false, those first that most others were true before. None: there was nothing to choose from.
	Guards []Guard
}

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
	v          *Validation
	position   *position
	end        func(*ctx) bool
	ends       string
	endSize    int
	levels     bool // the specification asks for the number of a state: states of different numbers differ
	passed     fingerprints
	stack      []*trail
	later      []*trail // that break a property: they are followed when no other behaviour is left
	furthest   []*trail
	farthest   int64
	invariants []Formula // but for those about the position alone, which are positional
	positional []Formula
	now        *trail
	accepted   *trail
	following  bool // of later
}

// Validate looks for a behaviour that goes through all of the log which a trace specification reads. It goes depth first, by states that were not reached
// before, and so never does more than going through all states. Properties of states and steps are checked on the way: a behaviour that breaks one is only followed
// if no other goes through the log.
func Validate(spec *Spec, o Options, how Reading) (*Validation, error) {
	c := newChecker(spec, o)
	w := &validator{checker: c, v: &Validation{}, farthest: -1}
	c.ev.TLC.behaviour = func(cur State) ([]State, error) { return statesTo(w.steps(w.now), cur), nil }
	err := w.all(how)
	if errors.Is(err, ErrStop) {
		err = nil
	}
	if err != nil && w.now != nil {
		w.v.Behaviour = w.shownTo(w.now)
		if r, line, _ := w.lineAt(w.now); line > 0 {
			err = fmt.Errorf("%w\nThat was met at %s:%d:\n%s", err, r.file, line, r.lineText(line))
		}
	}
	w.v.Depth = c.r.Depth
	return w.v, err
}

func (w *validator) all(how Reading) error {
	if f, err := w.holds(w.spec.Assumptions, nil, nil); err != nil {
		return err
	} else if f != nil {
		w.v.Violation = &Violation{Kind: AssumptionViolated, Name: f.Name, Back: -1}
		return nil
	}
	if err := w.prepare(how); err != nil || w.v.Unknown != "" {
		return err
	}
	if err := w.ev.Initial(func(s State) error { return w.reach(nil, s, -1) }); err != nil {
		return err
	}
	if len(w.stack)+len(w.later) == 0 {
		return w.refusedFromTheStart()
	}
	for _, t := range append(slices.Clone(w.stack), w.later...) {
		if w.accepted != nil && w.accepted == t {
			w.v.Unknown = fmt.Sprintf("%s is true in an initial state: it does not tell the end of the log", w.ends)
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
			if err := w.from(t); err != nil {
				return err
			}
		}
		if w.accepted != nil || len(w.later) == 0 || w.following {
			break
		}
		// No behaviour that keeps the properties goes through the log. It may be that one that breaks them does.
		w.following, w.passed = true, fingerprints{}
		for _, t := range slices.Backward(w.later) {
			if _, isNew := w.passed.add(w.key(t.state, t.level)); isNew {
				w.stack = append(w.stack, t)
			}
		}
	}
	return w.judge()
}

var errReadsNone = errors.New("the specification reads no log: it uses neither ndJsonDeserialize nor JsonDeserialize")

// prepare finds out what the position is, and how the end is seen.
func (w *validator) prepare(how Reading) (err error) {
	s := w.spec
	s.compiling.Lock()
	defer s.compiling.Unlock()
	parts := slices.Clone(s.relation)
	for _, name := range slices.Concat(s.config.Constraints, s.config.ActionConstraints) {
		parts = append(parts, s.named(name))
	}
	w.position, err = w.positionOf(how.Position, parts)
	if err != nil {
		return err
	}
	logs := &s.compiler.loader.logs
	if w.position != nil {
		w.v.Items, w.v.Position = len(w.position.items), w.position.name
	}
	if err := catch(func() {
		for _, p := range parts {
			w.levels = w.levels || s.compiler.mentions(p.expr, p.place).level
		}
		w.replace(how.End)
	}); err != nil {
		return err
	}
	w.levels = w.levels || w.position != nil && w.position.level
	if len(logs.read) > 0 && !slices.ContainsFunc(logs.read, func(r *recording) bool { return len(r.lines) > 0 }) {
		return logs.read[0].empty()
	}
	switch {
	case w.end != nil:
	case w.position != nil:
		w.ends = fmt.Sprintf("%s > %d", w.position.name, len(w.position.items))
	case len(s.Postconditions) > 0:
		w.ends = "POSTCONDITION " + s.Postconditions[0].Name
	case len(logs.read) == 0:
		return errReadsNone
	default:
		return errors.New("nothing tells where in its log the specification is: it indexes the log neither by a variable nor by TLCGet(\"level\"); name what does by --position, or the end of the log by --end")
	}
	w.v.End = w.ends
	return nil
}

// named is the definition that a configuration names.
func (s *Spec) named(name string) part {
	d := s.root.find(name)
	return part{&syntax.Apply{Pos: d.at.pos, Name: name}, place{scope: s.root}, nil}
}

// positionOf finds the position by its name, or by what the specification says.
func (w *validator) positionOf(name string, parts []part) (*position, error) {
	s := w.spec
	found, err := s.findPosition(w.ev, parts)
	if name == "" {
		return found, err
	}
	p := &position{name: name, variable: slices.Index(s.Variables, name)}
	switch {
	case p.variable >= 0:
		p.of, p.size = s.compiler.expr(s.named(name).expr, place{scope: s.root}), s.size
	case name == "level":
		p.level = true
	default:
		if p.of, p.size, err = s.stateOperator(name, "the position"); err != nil {
			return nil, err
		}
	}
	if found != nil && err == nil && (found.name == name || found.level && p.level) {
		return found, nil
	}
	logs := &s.compiler.loader.logs
	if len(logs.read) > 0 {
		p.items = logs.read[len(logs.read)-1].items.Items
	}
	switch {
	case len(logs.read) == 0:
		return nil, errReadsNone
	case len(p.items) == 0:
		return nil, logs.read[len(logs.read)-1].empty()
	}
	return p, nil
}

// stateOperator compiles an operator of states that an option names.
func (s *Spec) stateOperator(name, what string) (n node, size int, err error) {
	err = catch(func() {
		d := s.root.find(name)
		if d == nil || d.kind != operator || len(d.params) > 0 {
			s.compiler.failAt(&where{&source{file: s.root.file().file}, syntax.Pos{}}, "module %s has no operator %s without parameters that could be %s", s.root.module, name, what)
		}
		_, size = s.compiler.alone(func() node {
			n = s.compiler.expr(s.named(name).expr, place{scope: s.root})
			return n
		})
		if n.level == temporalLevel || n.next {
			s.compiler.failAt(&d.at, "%s is no expression of one state", name)
		}
	})
	return n, size, err
}

// replace finds what is said of the end of the log, and which properties are about how a check goes on.
func (w *validator) replace(end string) {
	s := w.spec
	own := uint64(0)
	if w.position != nil && w.position.variable >= 0 {
		own = bitOf(w.position.variable)
	}
	if end != "" {
		n, size, err := s.stateOperator(end, "the end of the log")
		if err != nil {
			panic(failure{err})
		}
		w.end, w.endSize, w.ends = n.truth(&where{s.root.file(), syntax.Pos{Line: 1, Column: 1}}), size, end
	}
	about := func(m mentioned) bool {
		return m.counters || own != 0 && m.variables&^own == 0 && m.variables != 0 || own == 0 && m.level && m.variables == 0
	}
	told := map[string]bool{}
	for _, p := range s.Properties {
		if told[p.Name] {
			continue
		}
		told[p.Name] = true
		named := s.named(p.Name)
		if !about(s.compiler.mentions(named.expr, named.place)) {
			w.v.Unchecked = append(w.v.Unchecked, Unchecked{p.Name, errors.New("a log shows a finite part of a behaviour, and this needs all of it")})
			continue
		}
		w.v.Replaced = append(w.v.Replaced, p.Name)
		if w.end != nil {
			continue
		}
		b := &behaviour{s.compiler, s}
		_, size := s.compiler.alone(func() node {
			w.end = b.ending(named.expr, named.place, nil)
			return node{}
		})
		if w.end != nil {
			w.endSize, w.ends = size, p.Name
		}
	}
	var invariants []Formula
	for _, f := range s.Invariants {
		if slices.Contains(s.config.Invariants, f.Name) {
			named := s.named(f.Name)
			if m := s.compiler.mentions(named.expr, named.place); about(m) && !m.counters {
				w.positional = append(w.positional, f)
				continue
			}
		}
		invariants = append(invariants, f)
	}
	w.invariants = invariants
}

// key tells states apart that are worth being gone on from.
func (w *validator) key(s State, level int) uint64 {
	fp := value.Hash(s)
	if w.levels {
		fp = splitmix.Mix(fp ^ uint64(level))
	}
	return fp
}

// at has the evaluator speak of a state with its number.
func (w *validator) at(s State, level int, f func(*ctx), size int) error {
	before, m := w.ev.TLC.level, w.ev.x.m
	w.ev.TLC.level = level
	so := m.enter(s, nil)
	err := w.ev.run(func() { f(w.ev.alone(size)) })
	m.leave(so)
	w.ev.TLC.level = before
	return err
}

// place is how far in the log a state is: its position, or its number if there is none.
func (w *validator) place(s State, level int) (n int64, err error) {
	if w.position == nil || w.position.level {
		return int64(level), nil
	}
	if i := w.position.variable; i >= 0 {
		if n, ok := s[i].(value.Int); ok {
			return int64(n), nil
		}
		return 0, fmt.Errorf("%s, by which the specification goes through its log, is no number but %s", w.position.name, value.Short(s[i]))
	}
	err = w.at(s, level, func(x *ctx) { n = integer(w.position.of.eval(x)) }, w.position.size)
	return n, err
}

// ended tells whether the log is at its end in a state.
func (w *validator) ended(s State, level int, at int64) (done bool, err error) {
	switch {
	case w.end != nil:
		err = w.at(s, level, func(x *ctx) { done = w.end(x) }, w.endSize)
		return done, err
	case w.position != nil:
		return at > int64(len(w.position.items)), nil
	}
	return false, nil // the postcondition tells, when all is known
}

// from finds the successors of a behaviour's last state.
func (w *validator) from(t *trail) error {
	w.now, w.level = t, t.level
	w.ev.TLC.level = t.level
	begin := len(w.stack)
	for i := range w.spec.Actions {
		err := w.ev.Successors(t.state, &w.spec.Actions[i], func(next State) error {
			if err := w.reach(t, next, i); err != nil {
				return err
			}
			if w.accepted != nil {
				return ErrStop
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
			n, err := w.place(f.state, f.level)
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
	level, changed := 1, allVariables
	var current State
	var bad *broken
	if before != nil {
		level, current, bad = before.level+1, before.state, before.broken
		changed = difference(current, s, identical)
	}
	out, err := w.remain(w.spec.Constraints, w.constraintReads, s, changed)
	if err == nil && out == nil && before != nil {
		out, err = w.holds(w.spec.ActionConstraints, current, s)
	}
	if err != nil || out != nil {
		return err
	}
	here, err := w.place(s, level)
	if err != nil {
		return err
	}
	done, err := w.ended(s, level, here)
	if err != nil {
		return err
	}
	t := &trail{before: before, action: action, level: level, broken: bad}
	breaks := func(kind Kind, f *Formula) {
		_, line, _ := w.lineAt(before)
		t.broken = &broken{kind, f.Name, line, t}
	}
	if bad == nil {
		f, err := (*Formula)(nil), error(nil)
		kind := StepViolated
		if before == nil {
			kind = InitialViolated
			f, err = w.holds(w.spec.InitialProperties, s, nil)
		} else {
			f, err = w.holds(w.spec.StepProperties, current, s)
		}
		if err != nil {
			return err
		}
		if f != nil {
			breaks(kind, f)
		}
	}
	if t.broken == nil || w.following {
		if _, isNew := w.passed.add(w.key(s, level)); !isNew {
			return nil
		}
	}
	if t.broken == nil {
		f, err := w.remain(w.invariants, w.invariantReads, s, changed)
		if err == nil && f == nil && !done {
			f, err = w.holds(w.positional, s, nil)
		}
		if err != nil {
			return err
		}
		if f != nil {
			breaks(InvariantViolated, f)
		}
	}
	t.state = slices.Clone(s)
	w.v.States++
	w.r.Distinct++
	w.r.Depth = max(w.r.Depth, level)
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
		return nil
	}
	if w.stack = append(w.stack, t); done {
		w.accepted = t
	}
	return nil
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
	return w.shownFrom(t.level-len(steps)+1, steps)
}

// lineAt is the line of the log that a behaviour is at, and its number among the items; 0 if that is not known.
func (w *validator) lineAt(t *trail) (r *recording, line, item int) {
	if w.position == nil || t == nil {
		return nil, 0, 0
	}
	n, err := w.place(t.state, t.level)
	if err != nil || n < 1 || n > int64(len(w.position.items)) {
		return nil, 0, 0
	}
	return w.lineOf(int(n))
}

func (w *validator) lineOf(item int) (*recording, int, int) {
	logs := &w.spec.compiler.loader.logs
	if r, line := logs.lineOf(w.position.items[item-1]); r != nil {
		return r, line, item
	}
	for _, r := range logs.read { // of a sequence that was made of the log's items
		if len(r.lines) == len(w.position.items) {
			return r, r.lines[item-1], item
		}
	}
	return nil, 0, item
}

// read tells which log was read.
func (w *validator) read() error {
	logs := &w.spec.compiler.loader.logs
	if len(logs.read) == 0 {
		return errReadsNone
	}
	w.v.Log = logs.read[0].file
	if w.position != nil {
		if r, _ := logs.lineOf(w.position.items[0]); r != nil {
			w.v.Log = r.file
		}
	}
	return nil
}

// refusedFromTheStart says what follows if there is no initial state.
func (w *validator) refusedFromTheStart() error {
	if err := w.read(); err != nil {
		return err
	}
	if w.position == nil {
		w.v.Unknown = "there is no initial state"
		return nil
	}
	r, line, item := w.lineOf(1)
	if w.v.Line, w.v.Item = line, item; r != nil {
		w.v.Text = r.lineText(line)
	}
	return nil
}

// judge says what follows from the behaviours that were found.
func (w *validator) judge() error {
	if err := w.read(); err != nil {
		return err
	}
	decides := w.end == nil && w.position == nil // the postcondition alone
	if all := w.spec.Postconditions; len(all) > 0 && (w.accepted != nil || decides) {
		broken, err := w.ev.all(all, nil, nil)
		if err != nil {
			return err
		}
		if decides && broken == nil {
			w.r.Depth--
			if broken, err := w.ev.all(all, nil, nil); err != nil {
				return err
			} else if broken == nil {
				w.v.Unknown = all[0].Name + " is true of shorter behaviours, too: it does not tell the end of the log; name that by --end"
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
		w.v.Line, w.v.Item, w.v.Text = line, item, r.lineText(line)
	}
	for _, t := range w.furthest[:min(len(w.furthest), 3)] {
		w.v.Last = append(w.v.Last, w.shownTo(t))
	}
	return w.refusals()
}
