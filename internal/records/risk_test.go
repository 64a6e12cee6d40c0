package records

import (
	"math"
	"math/rand/v2"
	"testing"
)

// tree is a search whose chances are known: what is behind a feature can only be reached when the feature was. Each run draws one feature.
type tree struct {
	chance []float64 // of each feature, once its parent is known
	parent []int     // -1 is none
	known  []bool
}

func newTree(r *rand.Rand) *tree {
	t := &tree{}
	left := 0.9
	for i := range 60 {
		p := left * math.Pow(10, -1-3*r.Float64())
		left -= p
		t.chance = append(t.chance, p)
		t.parent = append(t.parent, r.IntN(i+2)-2)
		if t.parent[i] < 0 {
			t.parent[i] = -1
		}
	}
	t.known = make([]bool, len(t.chance))
	return t
}

// fresh is the chance that the next random run shows something new.
func (t *tree) fresh() (p float64) {
	for i := range t.chance {
		if !t.known[i] {
			p += t.chance[i]
		}
	}
	return p
}

// run makes a random run and reports whether it showed something new.
func (t *tree) run(r *rand.Rand) bool {
	at := r.Float64()
	for i, p := range t.chance {
		if at -= p; at < 0 {
			fresh := !t.known[i]
			t.known[i] = true
			return fresh
		}
	}
	return false
}

// Of a thousand campaigns, which are looked at after every run and whose search finds what random runs do not, the bound is ever wrong in at most one of
// twenty.
func TestBoundHolds(t *testing.T) {
	const campaigns, runs = 1000, 3000
	wrong, below := 0, 0
	for c := range uint64(campaigns) {
		r := rand.New(rand.NewPCG(c, 3))
		w := newTree(r)
		var news, after uint64
		bad := false
		for range runs {
			// The search learns of what follows from what is known, which no holdout shows.
			if i := r.IntN(len(w.known)); r.IntN(50) == 0 && (w.parent[i] < 0 || w.known[w.parent[i]]) {
				w.known[i] = true
			}
			if w.run(r) {
				news, after = news+1, 0
			} else {
				after++
			}
			bad = bad || w.fresh() > bound(news, after)
		}
		if bad {
			wrong++
		}
		if bound(news, after) < 0.05 {
			below++
		}
	}
	t.Logf("the bound was ever wrong in %d of %d campaigns, and below 0.05 at the end of %d", wrong, campaigns, below)
	if wrong > campaigns/20 {
		t.Errorf("the bound was wrong in %d of %d campaigns", wrong, campaigns)
	}
	if below < campaigns/2 {
		t.Errorf("the bound came below 0.05 in %d of %d campaigns only", below, campaigns)
	}
}

// Where a run shows it with a known chance, the bound is wrong before it shows in at most one of twenty campaigns.
func TestBoundOfAPlantedBug(t *testing.T) {
	for _, p := range []float64{1e-2, 1e-3, 1e-4} {
		const campaigns = 1000
		wrong := 0
		for c := range uint64(campaigns) {
			r := rand.New(rand.NewPCG(c, 5))
			shows := uint64(math.Ceil(math.Log(1-r.Float64()) / math.Log1p(-p))) // the run that shows it first
			if bound(0, shows-1) < p {
				wrong++
			}
		}
		t.Logf("p %g: wrong in %d of %d", p, wrong, campaigns)
		if wrong > campaigns/20 {
			t.Errorf("p %g: wrong in %d of %d campaigns", p, wrong, campaigns)
		}
	}
}

func TestRisks(t *testing.T) {
	span := func(seq uint64, at int64, runs uint64, classes ...Class) Span {
		return Span{Seq: seq, AtMs: at, Phase: Holdout, Runs: runs, Classes: classes}
	}
	of := func(spans ...Span) map[string]Risk {
		v := NewView()
		for _, s := range spans {
			v.AddEntry(s.Entry("t", "c", "e", "w"))
		}
		m := map[string]Risk{}
		for _, r := range v.Test("t").Risks("c") {
			m[r.Class] = r
		}
		return m
	}
	if m := of(); len(m) != 0 {
		t.Fatalf("without a run: %v", m)
	}
	m := of(span(0, 1, 100, Class{"any", 2, 10}), span(1, 2, 200, Class{"any", 0, 200}, Class{"property:x", 0, 200}))
	if r := m["any"]; r.Runs != 300 || r.News != 2 || r.After != 210 || math.Abs(r.Bound-math.Log(12/0.05)/210) > 1e-12 || r.Not != "" {
		t.Errorf("any: %+v", r)
	}
	if r := m["property:x"]; r.Runs != 200 || r.After != 200 || r.Not != "" {
		t.Errorf("property: %+v", r)
	}
	if r := of(span(0, 1, 2, Class{"any", 0, 2}))["any"]; r.Not == "" {
		t.Errorf("two runs: %+v", r)
	}
	s := span(0, 1, 1000, Class{"any", 0, 1000})
	s.Varying = 1
	if r := of(s)["any"]; r.Not == "" {
		t.Errorf("a run that varies: %+v", r)
	}
	if n := RunsFor(1e-4, 0); bound(0, n) > 1e-4 || bound(0, n-1) <= 1e-4 {
		t.Errorf("RunsFor gives %d", n)
	}
}
