package explore

import (
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Play makes one run of a world, with its Cut applied to the Spec, and judges it. It returns nil if the run was abandoned early.
type Play func(spec *world.Spec, o engine.Options) (*check.Judged, error)

// Perform executes the run of a job and reduces its record to a Reply. The Reply also carries an error of the engine or of the machine.
func (s *Setup) Perform(job *Job, o engine.Options, play Play) *Reply {
	spec := s.Spec
	if job.RulesVersion != nil {
		spec = spec.UnderRules(*job.RulesVersion)
	}
	if job.Cut != nil {
		spec = job.Cut.Apply(spec)
	}
	o, err := s.JobOptions(job, o)
	if err != nil {
		return Failed(err)
	}
	out, err := play(spec, o)
	if err != nil {
		return Failed(err)
	}
	if out == nil {
		return &Reply{ID: job.ID}
	}
	r, err := s.reply(job, out)
	if err != nil {
		return Failed(err)
	}
	return r
}

// reply reduces the record of a run to the parts that the campaign needs.
func (s *Setup) reply(job *Job, out *check.Judged) (*Reply, error) {
	r := &Reply{ID: job.ID, Summary: Summarise(out), Seen: s.See(out), Measured: s.Measured(out)}
	r.Summary.Templates, r.Memory.WorldBytes = loglines.Keys(s.Spec, out.Log), out.MemoryBytes
	if s.Learn || len(s.Measure) > 0 { // the search has them
		out.Draws, r.Summary.Behaviour = nil, coverage.Behaviour{}
	}
	if job.Sweep != nil {
		layout, err := sweep.LayoutOf(s.Spec)
		if err != nil {
			return nil, err
		}
		r.Sweep = layout.Read(job.Sweep, out.Moments, out.Decisions, out.DecisionsNs)
		r.Summary.Moments, out.Moments, out.Decisions, out.DecisionsNs = nil, nil, nil, nil // it needs no more of them
	}
	if job.Full || len(Violated(out.Verdicts)) > 0 {
		r.Outcome = out
	}
	return r, nil
}
