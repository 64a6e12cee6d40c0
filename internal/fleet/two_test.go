package fleet

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// crashing is a run of a world in which what shows follows from when nodes crash: where, which crash follows which, and which one that.
func crashing(tp tape.Tape) *search.Seen {
	source := tape.NewSource(tp)
	source.Watch(search.Watched)
	seen := &search.Seen{}
	reach := func(kind, a, b, c uint64) {
		seen.Reached = append(seen.Reached, 1+c+100*(b+100*(a+100*kind)))
	}
	var at []uint64
	for step := range uint64(1000) {
		if source.Rare("fault/crash/n1", 17, 1000) > 0 {
			at = append(at, step)
		}
	}
	for i, step := range at {
		reach(1, step/20, 0, 0)
		if i > 0 {
			reach(2, step/50, at[i-1]/50, 0)
		}
		if i > 1 {
			reach(3, step/100, at[i-1]/100, at[i-2]/100)
		}
	}
	seen.Draws, seen.Injections = source.Draws(), search.InjectionsOf(source.Decisions())
	return seen
}

// member is a worker of a fleet that makes its runs one by one.
type member struct {
	*Worker
	run   uint64
	again int // runs that only played what others had found
}

func (m *member) step() {
	c := m.courses[0]
	next, answer := c.strategy.Next(m.run)
	if answer != search.Here {
		panic("the search is exhausted")
	}
	seen := crashing(next.Tape)
	c.ran(&explore.Ran{Tape: next.Tape, Origin: next.Origin, Seen: seen, Summary: &explore.Summary{}})
	c.strategy.Learn(&search.Run{Number: m.run, Candidate: next, Seen: seen})
	c.kept(c.strategy.Changes())
	if next.Origin.Strategy == search.AdoptedOrigin {
		m.again++
	}
	m.run++
}

// runsUntil is after how many runs of each of some workers, who look at the store now and then, they know so many features together.
func runsUntil(t *testing.T, workers, features int, seed int) (runs, again int) {
	s := store.NewMemory()
	var list []*member
	for i := range workers {
		w := newWorker(s, fmt.Sprint("w", i, "-", seed, "-", workers), &fake{name: "a"})
		if err := w.register(); err != nil {
			t.Fatal(err)
		}
		w.began = time.Now()
		list = append(list, &member{Worker: w})
	}
	const look = 35 // runs, as in ten seconds of quickstart
	known := map[uint64]bool{}
	for len(known) < features {
		for i, m := range list {
			if runs%look == i*look/workers {
				m.refresh(t.Context())
			}
			m.step()
			for id := range m.courses[0].known {
				known[id] = true
			}
		}
		runs++
	}
	for _, m := range list {
		again += m.again
	}
	test := viewOf(t, s).Test(records.TestID("a"))
	for _, e := range test.Efforts {
		if len(e.Features) < features {
			t.Errorf("%d of %d features are recorded", len(e.Features), features)
		}
	}
	return runs, again
}

// Two workers find what one finds in little more than half as many runs each.
func TestTwoWorkersAgainstOne(t *testing.T) {
	campaigns := 12
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		campaigns = 100
	}
	const features = 300
	one, two, again := 0, 0, 0
	for seed := range campaigns {
		n, _ := runsUntil(t, 1, features, seed)
		one += n
		n, a := runsUntil(t, 2, features, seed)
		two, again = two+n, again+a
	}
	ratio := float64(one) / float64(two)
	t.Logf("%d features: %d runs of one worker, %d of each of two, of which %.1f %% play what the other has found; ratio %.2f",
		features, one/campaigns, two/campaigns, 50*float64(again)/float64(two), ratio)
	if ratio < 1.7 {
		t.Errorf("two workers are %.2f times as fast as one", ratio)
	}
}
