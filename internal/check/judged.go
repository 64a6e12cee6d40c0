package check

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Judged is the record of a run with what was derived from it. Its Behaviour includes that in the models of its properties and of its guide.
type Judged struct {
	record.Outcome
	record.Models
	Verdicts []Verdict `json:"verdicts,omitempty"`
}

// Judge adds the verdicts, and, if a search asks for it, what guides the search, but for domains that it does not watch.
func (j *Judged) Judge(spec *world.Spec, behaviour bool, unwatched ...coverage.Domain) {
	j.Verdicts = j.judge(spec)
	measure := behaviour && !slices.Contains(unwatched, coverage.ModelGoal)
	var more coverage.Behaviour
	if spec.Guide != nil {
		var f *model.Followed
		j.Guide, f = guided(spec, &j.Outcome, measure)
		more.Add("guide", &f.Behaviour)
	}
	if !behaviour {
		return
	}
	if spec.Engine != world.InProcess && !slices.Contains(unwatched, coverage.Trace) { // that engine knows the order itself
		more.Reached = append(more.Reached, ordered(spec, &j.Outcome))
	}
	follow(spec, &j.Outcome, measure, &more)
	if len(more.Reached) > 0 {
		j.Reached = coverage.Sort(append(j.Reached, more.Reached...))
	}
	j.Near = slices.Concat(Near(spec, &j.Outcome, j.Verdicts), more.Near, j.Near)
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
