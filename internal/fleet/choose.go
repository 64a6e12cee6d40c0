package fleet

import (
	"cmp"
	"math"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// floorShare is the part of slices, one of so many, that go to each test in turn, whatever it promises.
const floorShare = 4

// Weights of lines of development.
var lineWeight = map[string]float64{"main": 40, "pr": 40, "release": 20}

// weightOf returns the weight of a line of development. Unknown lines weigh as much as the main one.
func weightOf(line string) float64 { return cmp.Or(lineWeight[line], lineWeight["main"]) }

// choose chooses the test of the next slice: one of a few in turn, and else by what a second of it promises.
func (w *Worker) choose(turn uint64) *course {
	n := uint64(len(w.courses))
	if turn < n {
		return w.courses[turn] // each once, before anything can be compared
	}
	if turn%floorShare == 0 {
		return w.courses[turn/floorShare%n]
	}
	sum := 0.0
	for _, c := range w.courses {
		sum += c.promise()
	}
	if sum == 0 {
		return w.courses[turn%n]
	}
	at := sum * float64(splitmix.Mix(w.courses[0].seed+turn)>>11) / (1 << 53)
	for _, c := range w.courses {
		if at -= c.promise(); at < 0 {
			return c
		}
	}
	return w.courses[n-1]
}

// promise estimates how many discoveries a second of the test gives: the runs since the last one bound the chance of another. What the runs of a test
// show that fails without faults is most often that failure.
func (c *course) promise() float64 {
	if c.broken {
		return 0
	}
	perSecond := float64(c.runs) / math.Max(c.time.Seconds(), 1e-3)
	return c.weight * math.Max(perSecond, 1e-6) / float64(c.barren+2)
}
