package shrink

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// budget holds the limits of a search, and its use so far.
type budget struct {
	ctx     context.Context // ends with the time
	maxRuns int             // 0 is no bound, as of the others
	maxCPU  time.Duration
	maxTime time.Duration
	began   time.Time

	runs int
	cpu  time.Duration
}

// part returns the part of the budget that is used up; 1 means all of it.
func (b *budget) part() float64 {
	used := 0.0
	if b.maxRuns > 0 {
		used = max(used, float64(b.runs)/float64(b.maxRuns))
	}
	if b.maxCPU > 0 {
		used = max(used, float64(b.cpu)/float64(b.maxCPU))
	}
	if b.maxTime > 0 {
		used = max(used, float64(time.Since(b.began))/float64(b.maxTime))
	}
	return used
}

// ofOneRun returns the part of the budget that a run takes, estimated from earlier runs.
func (b *budget) ofOneRun() float64 { return b.part() / float64(max(b.runs, 1)) }

// spent reports whether the budget is used up.
func (b *budget) spent() bool {
	return b.ctx.Err() != nil || b.maxRuns > 0 && b.runs >= b.maxRuns || b.maxCPU > 0 && b.cpu >= b.maxCPU
}

// why says what ended a search before its end.
func (b *budget) why() string {
	switch {
	case b.maxRuns > 0 && b.runs >= b.maxRuns:
		return fmt.Sprintf("the budget of %d runs ended", b.maxRuns)
	case b.maxCPU > 0 && b.cpu >= b.maxCPU:
		return fmt.Sprintf("the budget of %s of CPU time ended", b.maxCPU.Round(time.Millisecond))
	case errors.Is(b.ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("the budget of %s ended", b.maxTime.Round(time.Millisecond))
	}
	return "interrupted"
}

// A stage gets a share of what is left of the budget, one stageShare-th, and is left when one idleShare-th of the whole budget, and no fewer runs than
// leastIdle, have found nothing smaller: what comes after it shall have its turn. A later round goes on where it was, since Cases that are
// known not to fail cost nothing.
const (
	stageShare = 3
	idleShare  = 10
	leastIdle  = 10 // runs
	// proofShare is the divisor of the largest share of the budget that is reserved for the proof that no single
	// decision can go. If that share is too small, leastProof runs are reserved.
	proofShare = 8
	leastProof = 16
	// leapShare is the divisor of the share of leaps.
	leapShare = 4
)

// turn is the share of the budget of one stage.
type turn struct {
	bounded bool
	patient bool    // it is not left for having found nothing for a while
	until   float64 // the part of the budget at which it is left
	idle    float64 // the part that was used when the last smaller run was found
	runsBy  int     // those made by then
}

// beginStage begins a stage, which may be bounded.
func (b *budget) beginStage(bounded bool) turn {
	part := b.part()
	return turn{bounded: bounded, until: part + (1-part)/stageShare, idle: part, runsBy: b.runs}
}

// over reports whether a stage is to be left for the next one. Of a search without bounds, none is.
func (b *budget) over(t *turn) bool {
	part := b.part()
	if !t.bounded || part == 0 {
		return false
	}
	return part >= t.until || !t.patient && part-t.idle >= 1.0/idleShare && b.runs-t.runsBy >= leastIdle
}

// late reports whether what is left of the budget is what so many more runs take, or where these are too many, the little that is kept then: so large
// a run is better made smaller than proven minimal.
func (b *budget) late(runs int) bool {
	part, needed := b.part(), float64(runs)*b.ofOneRun()
	if needed > 1.0/proofShare {
		needed = 1.0 / leastProof
	}
	return part > 0 && 1-part <= needed
}
