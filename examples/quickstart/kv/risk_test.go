package main

import (
	"math"
	"os"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// planted is the bug with a chance that is known: a run shows it if its tape is one of those that do, and another draw of the tape, the gate, opens. While the gate is
// closed, nodes acknowledge by entry, which is never wrong (TestCampaigns).
type planted struct {
	shows []bool // by tape
	gate  float64
}

const gateParts = 1 << 40

// plant plays tapes, and chooses the gate that makes the chance of the bug p.
func plant(t *testing.T, tapes int, p float64) *planted {
	x := &planted{shows: simulated(t, tapes)}
	n := 0
	for _, is := range x.shows {
		if is {
			n++
		}
	}
	if x.gate = p * float64(tapes) / float64(n); n == 0 || x.gate > 1 {
		t.Fatalf("%d of %d tapes show the bug, which is too few for a chance of %g", n, tapes, p)
	}
	return x
}

var played []bool // by tape, of all tests

func simulated(t *testing.T, tapes int) []bool {
	for seed := len(played); seed < tapes; seed++ {
		s := newSim(t, uint64(seed), AckByIndex, partitions)
		s.play()
		played = append(played, !linearizable(s.ops))
	}
	return played[:tapes]
}

// run makes a run of a random tape: of one of those that were played, with draws of its own for the gate.
func (x *planted) run(seed uint64) bool {
	source := tape.NewSource(tape.Tape{Seed: seed})
	which := source.Choose("tape", uint64(len(x.shows)))
	return x.shows[which] && float64(source.Choose("gate", gateParts)) < x.gate*gateParts
}

// The bound of the risk covers the chance of quickstart's bug in at least 95 of 100 campaigns, however often one looks.
func TestRiskCoversAPlantedBug(t *testing.T) {
	tapes, campaigns := 400, 60
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	if soak {
		tapes, campaigns = 5000, 1000
	}
	class := records.PropertyClass("linearizable")
	for _, p := range []float64{1e-2, 1e-3, 1e-4} {
		x := plant(t, tapes, p)
		wrong, stopped := 0, 0.0
		for c := range campaigns {
			runs := uint64(5 / p) // in which --until-risk p may stop the campaign, and must not
			span := records.Span{Phase: records.Holdout, Classes: []records.Class{{Name: class}}}
			k := &span.Classes[0]
			early, enough := false, uint64(0)
			for i := range runs {
				if x.run(uint64(c)<<32 + i) {
					k.News, k.After = k.News+1, 0
				} else {
					k.After++
				}
				early = early || k.After >= records.RunsFor(p, k.News)
				if enough == 0 && k.After >= records.RunsFor(10*p, k.News) {
					enough = i + 1
				}
			}
			if early {
				wrong++
			}
			stopped += float64(enough) / float64(campaigns)
			if c > 0 {
				continue
			}
			span.Runs = runs
			v := records.NewView()
			v.AddEntry(span.Entry("t", "c", "e", "w"))
			if r := v.Test("t").Risk("c", class); k.After > 0 && (r == nil || (r.Bound <= p) != (k.After >= records.RunsFor(p, k.News))) {
				t.Errorf("p %g: the records say %+v of %+v", p, r, *k)
			}
		}
		// Without the soak there are too few campaigns for a share: 3 standard deviations are allowed.
		limit := 0.05 * float64(campaigns)
		if !soak {
			limit += 3 * math.Sqrt(limit)
		}
		t.Logf("p %g: the bound was ever below it in %d of %d campaigns; --until-risk %g stopped after %.0f runs of the holdout on average", p, wrong, campaigns, 10*p, stopped)
		if float64(wrong) > limit {
			t.Errorf("p %g: the bound was below it in %d of %d campaigns", p, wrong, campaigns)
		}
	}
}
