package machinefault

import (
	"fmt"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/machine"
)

// ClockFaults configures the faults of a clock.
type ClockFaults struct {
	// Forward and Back are the probabilities that the time of day jumps by Jump before it is read. A Jump of 0 stands
	// for an hour.
	Forward, Back float64
	Jump          time.Duration
	// Drift is the probability that the clock drifts for its whole life, by DriftPPM parts per million: it is fast if
	// DriftPPM is positive, and slow if it is negative.
	Drift    float64
	DriftPPM int64
}

// NewClock makes a clock (machine.Clock) that follows under, such as machine.System(), with the faults f, as source
// decides. name names the clock in the ledger. NewClock panics if a rate is invalid. Its times have no monotonic
// reading, like times that were stored or come from another machine: use Elapsed to measure durations.
func NewClock(under machine.Clock, name string, f ClockFaults, source sdk.Source) machine.Clock {
	if f.DriftPPM <= -1_000_000 || f.Drift > 0 && f.DriftPPM == 0 {
		panic(fmt.Sprintf("machinefault: %s drifts by %s per million; the number must not be 0, and must be "+
			"above -1000000", name,
			plural.Count(f.DriftPPM, "part")))
	}
	c := &clock{
		under: under, now: under.Now().Round(0), from: under.Elapsed(), jump: f.Jump,
		forward: sdk.NewFault(source, name+"_forward", f.Forward), back: sdk.NewFault(source, name+"_back", f.Back),
	}
	if c.jump == 0 {
		c.jump = time.Hour
	}
	if sdk.NewFault(source, name+"_drift", f.Drift).Happens(false) {
		c.ppm = f.DriftPPM
	}
	return c
}

type clock struct {
	under         machine.Clock
	forward, back *sdk.Fault
	jump          time.Duration
	from          time.Duration // of under, when the clock began
	ppm           int64

	mu  sync.Mutex
	now time.Time // when the clock began, with all jumps
}

func (c *clock) Now() time.Time {
	ahead := c.forward.Happens(false)
	behind := c.back.Happens(ahead)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ahead:
		c.now = c.now.Add(c.jump)
	case behind:
		c.now = c.now.Add(-c.jump)
	}
	return c.now.Add(c.Elapsed())
}

func (c *clock) Elapsed() time.Duration {
	passed := c.under.Elapsed() - c.from
	return passed + scaled(passed, c.ppm, 1_000_000)
}

// scaled is d*part/whole.
func scaled(d time.Duration, part, whole int64) time.Duration {
	return time.Duration(float64(d) * float64(part) / float64(whole))
}

// real is how long d takes by this clock.
func (c *clock) real(d time.Duration) time.Duration { return scaled(d, 1_000_000, 1_000_000+c.ppm) }

func (c *clock) Sleep(d time.Duration)                  { c.under.Sleep(c.real(d)) }
func (c *clock) After(d time.Duration) <-chan time.Time { return c.under.After(c.real(d)) }
