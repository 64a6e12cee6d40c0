package inproc

import (
	"errors"

	"github.com/bloodhound-dst/bloodhound/coverage"
	"github.com/bloodhound-dst/bloodhound/model"
	"github.com/bloodhound-dst/bloodhound/world"
)

// Model promises that each run is one of a specification. The nodes tell the follower that is given which steps of it they take; a step that the specification does
// not allow ends the run. What is reached in the specification guides the search. Without a model nothing is promised, and the follower is nil.
func (w *World) Model(name string, m *model.Model) *model.Follower {
	if m == nil {
		return nil
	}
	f, err := m.Follow()
	if err != nil {
		w.mistake("the model of property %q: %v", name, err)
		return &model.Follower{}
	}
	w.followers = append(w.followers, f)
	w.promise(promise{name: name, kind: world.Invariant, follower: f, holds: func() error {
		if f.Err() == nil {
			return nil
		}
		var d *model.Divergence
		if errors.As(f.Err(), &d) {
			return d
		}
		return nil // what cannot be followed breaks nothing: End tells it
	}})
	return f
}

// Guide has each run followed in a specification, and promises nothing: what is reached there guides the search and is measured, and a step that the
// specification does not allow ends the following and not the run. The follower is nil, as without a model, in runs of which nobody asks what they reach.
func (w *World) Guide(m *model.Model) *model.Follower {
	if m == nil || w.unguided {
		return nil
	}
	f, err := m.Follow()
	if err != nil {
		w.mistake("the model of a guide: %v", err)
		return &model.Follower{}
	}
	w.followers = append(w.followers, f)
	return f
}

// follow adds what a run has reached in its specifications.
func (r *run) follow(list []coverage.Feature) []coverage.Feature {
	for _, f := range r.def.followers {
		list = append(list, f.Reached()...)
	}
	return list
}

// tallies are what became of the events that properties followed in a model.
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
