package check

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Judged is the record of a run with what was derived from it. Reached has also what the run reached in the models of its properties and of its guide.
type Judged struct {
	engine.Outcome
	engine.Models
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Near is how close the run came to violating its properties.
	Near []coverage.Nearness `json:"near,omitempty"`
}

// Judge adds the verdicts, and, if a search asks for it, what guides the search, but for domains that it does not watch.
func (j *Judged) Judge(spec *world.Spec, behaviour bool, unwatched ...coverage.Domain) {
	j.Verdicts = j.judge(spec)
	var more []coverage.Feature
	if spec.Guide != nil {
		j.Guide, more = guided(spec, &j.Outcome)
	}
	if behaviour {
		j.Near = Near(spec, &j.Outcome, j.Verdicts)
		if spec.Engine != world.InProcess && !slices.Contains(unwatched, coverage.Trace) { // that engine knows the order itself
			more = append(more, ordered(spec, &j.Outcome))
		}
		if more = append(more, modelled(spec, &j.Outcome)...); len(more) > 0 {
			j.Reached = coverage.Sort(append(j.Reached, more...))
		}
	}
}

// judge gives the verdicts, each with the tally of the model that followed the run for its property.
func (j *Judged) judge(spec *world.Spec) []Verdict {
	verdicts := Judge(spec, &j.Outcome)
	for i := range spec.Properties {
		if t := j.Tallies[spec.Properties[i].Name]; t != nil {
			verdicts[i] = tallied(verdicts[i], t)
		}
	}
	return verdicts
}
