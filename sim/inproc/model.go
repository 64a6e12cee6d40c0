package inproc

import (
	"cmp"
	"errors"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/world"
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
// specification does not allow ends the following and not the run. What means nothing in the specification, such as an action that it does not have, is a mistake, and ends the
// campaign. The follower is nil, as without a model, in runs of which nobody asks what they reach.
func (w *World) Guide(m *model.Model) *model.Follower {
	if m == nil || w.unguided {
		return nil
	}
	f, err := m.Follow()
	if err != nil {
		w.mistake("the model of a guide: %v", err)
		return &model.Follower{}
	}
	w.followers, w.guides = append(w.followers, f), append(w.guides, f)
	return f
}

// mistaken is the first mistake in what followers were told; empty if there is none.
func (r *run) mistaken() string {
	for _, f := range r.def.followers {
		var m *model.Mistake
		if errors.As(f.Err(), &m) {
			return m.Error()
		}
	}
	return ""
}

// guided is what became of the run in the models that guide a search.
func (r *run) guided() *engine.Guided {
	if len(r.def.guides) == 0 {
		return nil
	}
	g := &engine.Guided{}
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
