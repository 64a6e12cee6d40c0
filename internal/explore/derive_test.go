package explore

import (
	"context"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A campaign of swarm records the moments of its run without faults and of a scout, and all further runs have rules for them, which are off in the
// Spec's own runs. Other strategies derive nothing.
func TestACampaignDerivesRules(t *testing.T) {
	for _, strategy := range []string{search.Swarm, search.Random} {
		spec := fakeSpec(enginetest.Broken)
		spec.TimeStepNs = 10e6
		spec.Faults.Rules = []world.FaultRule{{Kind: "crash", RatePPM: 1000, MinNs: 1e6, MaxNs: 2e6}}
		c := campaign(t, spec, 8, 1)
		c.BaselineFirst = true
		var err error
		if c.Strategy, err = search.New(strategy, spec, c.Seed, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		var told *world.Spec
		c.Derived = func(s *world.Spec) { told = s }
		var recorded []uint64
		turnedOn := 0
		c.Here = func(setup *Setup, job *Job, _ func(Progress), _ <-chan struct{}) *Reply {
			s := &Summary{Reason: record.Finished, Repeat: record.Repeat{Reproducible: true}, Hash: "h"}
			if job.Moments {
				recorded = append(recorded, job.ID)
				s.Moments = &moments.Record{}
				file := map[bool]string{true: "/data/1.wal", false: "/data/7.snap"}[job.ID == baselineRun] // the scout shows another one
				s.Moments.Add(&moments.Moment{Class: moments.Class{Node: "n1", Act: moments.Sync, Call: "fsync", File: moments.Template(file)}, InChaos: true})
			}
			for _, e := range job.Tape.Edits {
				for i := range setup.Spec.Faults.Rules {
					if setup.Spec.Faults.Rules[i].Derived && e.Stream == fault.RateStream(i+1) {
						turnedOn++
						s.Hits = []fault.Hit{{Kind: "crash", Call: "fsync", File: "*.snap", Count: 1}}
					}
				}
			}
			return &Reply{ID: job.ID, Summary: s, Outcome: &check.Judged{}}
		}
		totals := c.Run(context.Background())
		if totals.Runs != 8 || len(totals.Failures) > 0 {
			t.Fatalf("%s: %s", strategy, stable(totals))
		}
		if strategy == search.Random {
			if told != nil || turnedOn > 0 || !slices.Equal(recorded, []uint64{baselineRun}) {
				t.Errorf("random derives rules: %v, %d times on, moments of runs %v", told, turnedOn, recorded)
			}
			continue
		}
		if !slices.Equal(recorded, []uint64{baselineRun, firstScout}) {
			t.Errorf("moments of runs %v were asked for", recorded)
		}
		var rules []string
		for i := range told.Faults.Rules {
			rules = append(rules, fault.Sentence(&told.Faults.Rules[i]))
		}
		if want := []string{"crash rate 0.001 for 1ms..2ms", "crash after fsync of *.snap rate 0.5 for 1ms..2ms",
			"crash after fsync of *.wal rate 0.5 for 1ms..2ms"}; !slices.Equal(rules, want) {
			t.Errorf("rules are %q, want %q", rules, want)
		}
		if len(spec.Faults.Rules) != 1 {
			t.Error("the caller's Spec was changed")
		}
		if turnedOn < 3 || len(totals.Moments) != 2 || len(totals.Faults.Hits) != 1 || totals.Faults.Hits[0].Count < 3 {
			t.Errorf("%d derived rules were on; moments %+v, hits %+v", turnedOn, totals.Moments, totals.Faults.Hits)
		}
	}
}
