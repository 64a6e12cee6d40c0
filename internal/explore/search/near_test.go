package search_test

import (
	"math"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// In this world nothing shows but how near a run came: two pauses must begin at steps 400 and 700 of 1000.
func near(tp tape.Tape) (*search.Seen, float64) {
	src := tape.NewSource(tp)
	src.Watch(search.Watched)
	first, second := 1.0, 1.0
	for i := range 1000 {
		for _, stream := range []string{"fault/pause/n1", "fault/pause/n2"} {
			if src.Rare(stream, 17, 1000) == 0 {
				continue
			}
			first = min(first, math.Abs(float64(i)-400)/1000)
			second = min(second, math.Abs(float64(i)-700)/1000)
		}
	}
	distance := (first + second) / 2
	return &search.Seen{Injections: search.InjectionsOf(src.Decisions()), Draws: src.Draws(),
		Near: []coverage.Nearness{{Name: "both", Distance: distance}}}, distance
}

// A search that sees only distances goes down them.
func TestGuidedFollowsDistances(t *testing.T) {
	best := func(name string, s search.Settings) float64 {
		strategy, err := search.New(name, meeting(), 3, s)
		if err != nil {
			t.Fatal(err)
		}
		closest := 1.0
		for i := range uint64(1000) {
			c, _ := strategy.Next(i)
			seen, d := near(c.Tape)
			closest = min(closest, d)
			strategy.Learn(&search.Run{Number: i, Candidate: c, Seen: seen})
		}
		return closest
	}
	random, guided, only := best(search.Random, search.Settings{}), best(search.Guided, search.Settings{}), best(search.Guided, search.Settings{Nearness: true})
	t.Log(random, guided, only)
	if guided > random/4 || only > random/4 {
		t.Errorf("random comes as near as %g, guided %g, by distances alone %g", random, guided, only)
	}
}
