package inproc

import (
	"cmp"
	"errors"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// Specification is a TLA+ specification that runs can be checked against. Several worlds may use it at once.
type Specification struct{ model *model.Model }

// SpecificationOptions say how runs are followed in a [Specification].
type SpecificationOptions struct {
	// View names an operator without parameters. A search treats states as equal if the operator has the same value in
	// them. Without a view it distinguishes all states.
	View string
	// Library lists folders of further modules.
	Library []string
	// Scratch names variables that only matter within a step. Each starts every step with its value in the initial
	// states, which must be unique.
	Scratch []string
	// MostStates bounds the number of states that the specification may be in at once for one run; the default is 64.
	// Beyond it, it is unknown whether the run conforms.
	MostStates int
	// MostLeftOut is the largest share of events that may be ignored or unmodelled; the default is 0.05. Beyond it, it
	// is unknown whether the run conforms.
	MostLeftOut float64
	// Forget names an action whose steps are not followed. A test of a mapping forgets each action in turn: some run must then violate
	// the specification or be unknown.
	Forget string
	// Lenient ignores steps that the specification does not allow, and continues from the state before them, as
	// ModelFuzz does. Use it with World.Guide: it is then unknown whether a run conforms.
	Lenient bool
}

// LoadSpecification reads a module and its configuration file, such as Raft.tla and Raft.cfg.
func LoadSpecification(module, config string, o SpecificationOptions) (*Specification, error) {
	return specification(model.Load(module, config, o.model()))
}

// NewSpecification makes a Specification from a module that [tla.Load] has read.
func NewSpecification(spec *tla.Spec, o SpecificationOptions) (*Specification, error) {
	return specification(model.New(spec, o.model()))
}

func specification(m *model.Model, err error) (*Specification, error) {
	if err != nil {
		return nil, err
	}
	return &Specification{m}, nil
}

func (o SpecificationOptions) model() model.Options {
	return model.Options{View: o.View, Library: o.Library, Scratch: o.Scratch, MostStates: o.MostStates,
		MostLeftOut: o.MostLeftOut, Forget: o.Forget, Lenient: o.Lenient, Doubt: inprocess.Doubt}
}

// Actions returns the names of the specification's actions, each once.
func (s *Specification) Actions() []string { return s.model.Actions() }

// Follow starts to follow a run outside of a world, as a test of a mapping does. It returns an error if the
// specification's initial states cannot be computed.
func (s *Specification) Follow() (*Follower, error) {
	f, err := s.model.Follow()
	if err != nil {
		return nil, err
	}
	if kept, ok := f.Kept.(*Follower); ok { // of a run that is over
		return kept, nil
	}
	own := &Follower{follower: f}
	f.Kept = own
	return own, nil
}

// Follower follows one run in a [Specification]. The nodes of a world tell it which steps of the specification they
// take. Arguments and results are bools, integers, strings, []any of these (a sequence), or values of package
// tla/value. All methods of a nil Follower do nothing, so code need not check whether it is being followed.
type Follower struct {
	// Kept is free for the program that reports the steps. A later run that reuses the Follower finds it there.
	Kept any

	follower *model.Follower
}

// Step reports an action that the system has taken, with its arguments.
func (f *Follower) Step(action string, args ...any) {
	if f != nil {
		f.follower.Step(action, args...)
	}
}

// Saw reports an observation after the last step: that an operator of the specification has the value want for some
// arguments. States in which it has another value are dropped. If no state remains, the run violates the specification.
func (f *Follower) Saw(want any, operator string, args ...any) {
	if f != nil {
		f.follower.Saw(want, operator, args...)
	}
}

// Repeat reports an action that the system may have taken any number of times, including none: the system does at once
// what takes the specification several steps. The Step after it decides which of the states remain.
func (f *Follower) Repeat(action string, args ...any) {
	if f != nil {
		f.follower.Repeat(action, args...)
	}
}

// Ignore counts an event that is not a step of the specification, with the reason.
func (f *Follower) Ignore(reason string) {
	if f != nil {
		f.follower.Ignore(reason)
	}
}

// Unmodelled counts an event for which the specification lacks a step.
func (f *Follower) Unmodelled(kind string) {
	if f != nil {
		f.follower.Unmodelled(kind)
	}
}

// Abandon stops following, because the system has done something that the specification does not describe. It is then
// unknown whether the run conforms.
func (f *Follower) Abandon(why string) {
	if f != nil {
		f.follower.Abandon(why)
	}
}

// Err returns the first step that the specification does not allow, or the reason why the run cannot be followed, or
// nil.
func (f *Follower) Err() error {
	if f == nil {
		return nil
	}
	return f.follower.Err()
}

// Model promises that each run is a behaviour of a specification. The nodes report their steps to the Follower; a step
// that the specification does not allow ends the run. The states that runs reach in the specification guide the search.
// If s is nil, Model promises nothing and returns nil.
func (w *World) Model(name string, s *Specification) *Follower {
	if s == nil {
		return nil
	}
	own, err := s.Follow()
	if err != nil {
		w.mistake("the model of property %q: %v", name, err)
		return &Follower{follower: &model.Follower{}}
	}
	f := own.follower
	w.follows(f)
	w.promise(promise{name: name, kind: world.Invariant, follower: f, holds: func() error {
		if f.Err() == nil {
			return nil
		}
		var d *model.Divergence
		if errors.As(f.Err(), &d) {
			return d
		}
		return nil // End reports what cannot be followed, which violates nothing
	}})
	return own
}

// Guide follows each run in a specification and promises nothing. The states that runs reach in the specification guide
// the search and are counted. A step that the specification does not allow ends the following but not the run. A step
// that the specification does not have, such as an unknown action, is a mistake and ends the campaign. Guide returns
// nil if s is nil, and in runs for which no search or measurement needs the Follower.
func (w *World) Guide(s *Specification) *Follower {
	if s == nil || w.unguided {
		return nil
	}
	own, err := s.Follow()
	if err != nil {
		w.mistake("the model of a guide: %v", err)
		return &Follower{follower: &model.Follower{}}
	}
	w.follows(own.follower)
	w.guides = append(w.guides, own.follower)
	return own
}

// follows adds a follower of the run.
func (w *World) follows(f *model.Follower) {
	w.followers = append(w.followers, f)
	if w.measured {
		f.Measure()
	}
}

// mistaken is the first mistake in what followers were given; empty if there is none.
func (r *run) mistaken() string {
	for _, f := range r.def.followers {
		var m *model.Mistake
		if errors.As(f.Err(), &m) {
			return m.Error()
		}
	}
	return ""
}

// guided reports how well the models that guide a search could follow the run.
func (r *run) guided() *record.Guided {
	if len(r.def.guides) == 0 {
		return nil
	}
	g := &record.Guided{}
	for _, f := range r.def.guides {
		g.Mapped += f.Tally().Mapped
		var mistake *model.Mistake
		var divergence *model.Divergence
		var unknown *model.Unknown
		switch err := f.Err(); {
		case err == nil || errors.As(err, &mistake):
		case errors.As(err, &divergence) || errors.As(err, &unknown):
			g.Left = cmp.Or(g.Left, err.Error())
		default:
			g.Failed = cmp.Or(g.Failed, err.Error())
		}
	}
	return g
}

// follow adds what a run has reached in its specifications.
func (r *run) follow(list []coverage.Feature) []coverage.Feature {
	for _, f := range r.def.followers {
		list = append(list, f.Reached()...)
	}
	return list
}

// departures adds to the probes of models why the run left them.
func (r *run) departures(probes []record.Probe) {
	for i := range probes {
		p := &probes[i]
		at := slices.IndexFunc(r.def.checks, func(c promise) bool { return c.name == p.Property && c.follower != nil })
		var d *model.Divergence
		if at >= 0 && p.ExitCode == world.ProbeViolated && errors.As(r.def.checks[at].follower.Err(), &d) {
			c := d.Cause()
			p.Cause = &c
		}
	}
}

// near is how close the run came to what its specifications have besides what it reached.
func (r *run) near() []coverage.Nearness {
	var list []coverage.Nearness
	for i := range r.def.checks {
		if c := &r.def.checks[i]; c.follower != nil {
			list = append(list, coverage.Within(c.name, c.follower.Near())...)
		}
	}
	for _, f := range r.def.guides {
		list = append(list, coverage.Within("guide", f.Near())...)
	}
	return list
}

// tallies returns, for each property that followed the run in a model, how many events it could follow.
func (r *run) tallies() map[string]*coverage.Tally {
	var list map[string]*coverage.Tally
	for i := range r.def.checks {
		if c := &r.def.checks[i]; c.follower != nil {
			if list == nil {
				list = map[string]*coverage.Tally{}
			}
			t := &coverage.Tally{}
			t.Add(c.follower.Tally())
			list[c.name] = t
		}
	}
	return list
}
