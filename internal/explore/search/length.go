package search

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// fullLength is the class of runs of full length. In a run of class k faults last for one part in 2^k of the chaos phase of the run without faults, and
// clients do so much less.
const fullLength = 0

// Bounds of short runs.
const (
	// maxShortest bounds the classes.
	maxShortest = 5
	// leastRuns is how many runs a campaign has at least that also has short ones: who asks for a few wants them whole.
	leastRuns = 16
	// leastDurations is how many faults, one after the other and of the longest rule's mean duration, have room in the chaos phase of a short run.
	leastDurations = 8
	// leastChaosNs bounds that phase too.
	leastChaosNs = 1e9
	// leadTimes is how many times as long as the workload before it that phase is: what all runs need would cost the most otherwise.
	leadTimes = 2
)

// Shares of short runs in which something else varies too, in percent.
const (
	laterShare = 25 // faults begin later
	fewerShare = 25 // half of the clients do nothing
)

const (
	// fullShare is the part of the cost of a campaign that runs of full length have at least, in percent: what takes long to come is found by them alone.
	fullShare = 25
	// worthwhile is the cost of the first short run, in percent of a full one, above which short runs save too little: drivers do
	// not do less if they are told to.
	worthwhile = 70
	// lengthMemory is how many runs it takes until what one has shown of its length has lost all but 1/e of its weight.
	lengthMemory = 256
	// fixedCost is the cost of beginning and judging a run beside its events: one part of the run without faults in so
	// many.
	fixedCost = 16
	// firstShort is a run of the shortest length, for whose result all others wait.
	firstShort = 0
	// lengthDelay is the default of the feedback delay. Lengths are all that swarm learns, and later feedback costs less than idle workers do.
	lengthDelay = 32
)

// Client is a client of the run without faults.
type Client struct {
	Name       string
	Operations int
}

// lengths chooses how long runs are. Before there is feedback, all lengths get the same time, by the sequence of Luby, Sinclair and Zuckerman ("Optimal
// Speedup of Las Vegas Algorithms", 1993), which loses no more than a factor of the logarithm to the best length, whatever that is. Then a bandit prefers
// the length whose runs show the most new features for their cost, by Thompson sampling (see bandit). Costs are events and not CPU time, so that a campaign
// repeats.
type lengths struct {
	lead    int64 // time steps of the workload before faults begin
	steps   int64 // of the chaos phase
	clients []Client

	arms  []lengthArm    // by class
	given map[uint64]int // classes of runs that are not learned yet
	known map[uint64]bool
	first trial
	whole float64 // cost of the run without faults
}

// lengthArm sums up the runs of a class of lengths: their cost in events, and the new features that they reached.
type lengthArm struct {
	fresh, cost  float64 // with less weight for older runs
	runs         uint64
	news, events uint64
	due          float64 // cost of all runs that were given, as far as it is known or guessed
}

// trial is the result of the first short run.
type trial int

const (
	underWay trial = iota
	pays
	inVain
)

// newLengths is nil where short runs cannot be judged.
func newLengths(spec *world.Spec, s *Settings) *lengths {
	if s.FullLength || s.Runs > 0 && s.Runs < leastRuns || spec.Engine == world.InProcess || len(spec.Workloads) == 0 || spec.TimeStepNs <= 0 {
		return nil
	}
	if len(spec.Properties) > 0 && !slices.ContainsFunc(spec.Properties, func(p world.Property) bool { return p.AnyLength() }) {
		return nil
	}
	return &lengths{given: map[uint64]int{}, known: map[uint64]bool{}}
}

// begins takes in the run without faults, and reports whether runs can be shorter.
func (l *lengths) begins(spec *world.Spec, c Calm) bool {
	if c.ChaosNs == 0 || !c.Drained || len(c.Clients) == 0 {
		return false
	}
	step := spec.TimeStepNs
	l.lead, l.steps, l.clients = max(c.ChaosNs-c.ReadyNs, 0)/step, (c.HealNs-c.ChaosNs)/step, c.Clients
	least := max(leadTimes*l.lead, leastChaosNs/step)
	for i := range spec.Faults.Rules {
		if r := &spec.Faults.Rules[i]; r.RatePPM > 0 {
			least = max(least, leastDurations*(r.MinNs+r.MaxNs)/2/step)
		}
	}
	shortest := 0
	for shortest < maxShortest && l.steps>>(shortest+1) >= least {
		shortest++
	}
	l.arms = make([]lengthArm, shortest+1)
	l.arms[fullLength].due = l.whole // so runs begin short
	return shortest > 0
}

// class chooses that of a run. It is not known before the first short run is learned.
func (l *lengths) class(run, delay uint64, d *dice) (class int, known bool) {
	switch {
	case run == firstShort:
		class = len(l.arms) - 1
	case l.first == underWay:
		return fullLength, false
	default:
		class = l.best(run, delay, d)
	}
	l.given[run] = class
	l.arms[class].due += l.guess(class)
	return class, true
}

// best is full length where that has had too little, and else the class that is due or, with feedback, has the highest draw.
func (l *lengths) best(run, delay uint64, d *dice) int {
	total := 0.0
	for i := range l.arms {
		total += l.arms[i].due
	}
	switch {
	case l.arms[fullLength].due*100 < total*fullShare:
		return fullLength
	case run <= delay:
		return max(len(l.arms)-1-lubyPower(run), fullLength)
	}
	best, most := fullLength, 0.0
	for class := range l.arms {
		a := &l.arms[class]
		if rate := d.gamma(1+a.fresh) / (l.guess(class) + a.cost); rate > most {
			best, most = class, rate
		}
	}
	return best
}

// guess is the cost of a run of a class: the mean of those that are known, or its part of a full one.
func (l *lengths) guess(class int) float64 {
	a := &l.arms[class]
	if a.runs == 0 {
		return l.whole / float64(int(1)<<class)
	}
	return float64(a.events)/float64(a.runs) + l.whole/fixedCost
}

// lubyPower is the exponent of number i, from 1 on, of the sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ..., whose numbers are powers of 2.
func lubyPower(i uint64) int {
	for {
		k := bits.Len64(i)
		if i == 1<<k-1 {
			return k - 1
		}
		i -= 1<<(k-1) - 1
	}
}

// learn takes in a run.
func (l *lengths) learn(r *Run) {
	class, given := l.given[r.Number]
	delete(l.given, r.Number)
	fresh := uint64(0)
	if r.Seen != nil {
		for _, id := range r.Reached {
			if !l.known[id] && len(l.known) < maxFeatures {
				l.known[id] = true
				fresh++
			}
		}
	}
	switch {
	case r.Number == Baseline && r.Seen != nil:
		l.whole = float64(r.Events) * (1 + 1.0/fixedCost)
	case r.Number == firstShort && given:
		l.first = inVain
		if r.Seen != nil && float64(r.Events)*100 <= l.whole*worthwhile {
			l.first = pays
		}
	}
	if !given || r.Seen == nil {
		return
	}
	for i := range l.arms {
		l.arms[i].fresh *= 1 - 1.0/lengthMemory
		l.arms[i].cost *= 1 - 1.0/lengthMemory
	}
	a := &l.arms[class]
	a.fresh += float64(fresh)
	a.cost += float64(r.Events) + l.whole/fixedCost
	a.runs++
	a.events += r.Events
	a.news += fresh
}

// edits give a run a length of a class, and perhaps vary other things. The first short run is nothing but short: it shows what that saves.
func (l *lengths) edits(run uint64, class int, d *dice) []tape.Edit {
	if class == fullLength {
		return nil
	}
	var edits []tape.Edit
	set := func(stream string, value int64) {
		edits = append(edits, tape.Edit{Op: tape.Set, Stream: stream, Value: uint64(value)})
	}
	chaos := max(l.steps>>class, 1)
	set(world.ChaosStream, 2*chaos) // faults keep clients from their work, and the phase ends when all is done
	later := int64(0)
	if run != firstShort && d.chance(laterShare) {
		later = int64(d.below(int(l.steps - chaos + 1)))
		set(world.CalmStream, later)
	}
	acting := len(l.clients)
	if run != firstShort && d.chance(fewerShare) {
		acting = (acting + 1) / 2
	}
	first := d.below(len(l.clients))
	for i, c := range l.clients {
		most := int64(0)
		if place := (i - first + len(l.clients)) % len(l.clients); place < acting {
			all := l.lead + l.steps
			most = (int64(c.Operations)*(l.lead+later+chaos) + all - 1) / all
		}
		set(world.OperationsPrefix+c.Name, 1+most)
	}
	return edits
}

// LengthTotal counts the runs of a length.
type LengthTotal struct {
	Length   string `json:"length"` // full, 1/2, 1/4, ...
	Runs     uint64 `json:"runs"`
	Events   uint64 `json:"events"`
	Features uint64 `json:"features"` // that were new
}

func (l *lengths) totals() []LengthTotal {
	var list []LengthTotal
	for class := range l.arms {
		name := "full"
		if class != fullLength {
			name = fmt.Sprintf("1/%d", 1<<class)
		}
		a := &l.arms[class]
		list = append(list, LengthTotal{name, a.runs, a.events, a.news})
	}
	return list
}
