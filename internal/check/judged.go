package check

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Judged is the record of a run with what was derived from it. Reached has also what the run reached in the models of its properties and of its guide.
type Judged struct {
	record.Outcome
	record.Models
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Near is how close the run came to violating its properties, and to what the models that follow it have besides.
	Near []coverage.Nearness `json:"near,omitempty"`
}

// Judge adds the verdicts, and, if a search asks for it, what guides the search, but for domains that it does not watch.
func (j *Judged) Judge(spec *world.Spec, behaviour bool, unwatched ...coverage.Domain) {
	j.Verdicts = j.judge(spec)
	measure := behaviour && !slices.Contains(unwatched, coverage.ModelGoal)
	var more []coverage.Feature
	var near []coverage.Nearness
	if spec.Guide != nil {
		var f *model.Followed
		j.Guide, f = guided(spec, &j.Outcome, measure)
		more, near = f.Reached, coverage.Within("guide", f.Near)
	}
	if !behaviour {
		return
	}
	if spec.Engine != world.InProcess && !slices.Contains(unwatched, coverage.Trace) { // that engine knows the order itself
		more = append(more, ordered(spec, &j.Outcome))
	}
	reached, nearer := modelled(spec, &j.Outcome, measure)
	if more = append(more, reached...); len(more) > 0 {
		j.Reached = coverage.Sort(append(j.Reached, more...))
	}
	j.Near = slices.Concat(Near(spec, &j.Outcome, j.Verdicts), near, nearer, j.Models.Near)
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
