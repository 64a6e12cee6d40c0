// Package linear decides whether the operations on one object have a legal order: one in which each operation takes
// effect at one moment between its call and its return (Herlihy and Wing, TOPLAS 1990).
//
// That is NP-complete in general. Where every value is put in only once, so that each result shows where it came from,
// near-linear methods decide: Zones for registers, Queue for queues, Lock for locks, Levels for lists and sets that
// only grow. They
// follow the decrease-and-conquer idea (Lee and Mathur, arXiv 2410.04581; Gibbons and Korach, SIAM J. Comput. 1997):
// a history is legal if no two values stand in each other's way. Search decides all else: first a sweep over the
// events, which remembers what the object may hold by now, then the depth-first search of Porcupine.
package linear

import (
	"fmt"
	"math"
	"time"
)

// Forever as the return of an operation means that it may take effect at any time after its call, or never.
const Forever = math.MaxInt64

// Op is an operation as a Search sees it: an interval, and a class. Operations of one class do the same: in each state
// they are legal together and lead to the same state.
type Op struct {
	Call, Return int64
	Class        int32
	// ReadOnly operations never change the state where they are legal.
	ReadOnly bool
}

// Answer of a decision.
type Answer uint8

const (
	Undecided Answer = iota // a limit was reached first
	Legal
	Illegal
)

// Budget bounds decisions. Steps and bytes are counted, so that a history gets the same answer on every machine; the
// wall time is there for what they do not foresee.
type Budget struct {
	Steps   int64
	Bytes   int64
	Until   time.Time
	Reached string // which bound, once one was reached

	steps, bytes int64 // the whole
	wall         time.Duration
	moot         func() bool // asked as rarely as the clock: whether the answer is of no use any more; nil means never
}

// NewBudget is a budget that starts now.
func NewBudget(steps, bytes int64, wall time.Duration) *Budget {
	return &Budget{Steps: steps, Bytes: bytes, Until: time.Now().Add(wall), steps: steps, bytes: bytes, wall: wall}
}

const wallCheckSteps = 1 << 16 // steps between two looks at the clock

// Spend takes one step that keeps so many bytes, and reports whether it was still there to take.
func (b *Budget) Spend(bytes int64) bool { return b.spend(1, bytes) }

// SpendAll takes many steps at once, for methods whose cost is known before.
func (b *Budget) SpendAll(steps int) bool { return b.spend(int64(steps), 0) }

func (b *Budget) spend(steps, bytes int64) bool {
	if b.Reached != "" {
		return false
	}
	before := b.Steps / wallCheckSteps
	b.Steps -= steps
	b.Bytes -= bytes
	switch {
	case b.Steps < 0:
		b.Reached = fmt.Sprintf("%d steps", b.steps)
	case b.Bytes < 0:
		b.Reached = fmt.Sprintf("%d MiB", b.bytes>>20)
	case b.Steps/wallCheckSteps == before:
		return true
	case time.Now().After(b.Until):
		b.Reached = b.wall.String()
	case b.moot != nil && b.moot():
		b.Reached = "the violation of another object"
	default:
		return true
	}
	return false
}

func (a Answer) String() string {
	switch a {
	case Legal:
		return "legal"
	case Illegal:
		return "illegal"
	case Undecided:
		return "undecided"
	}
	return fmt.Sprintf("Answer(%d)", uint8(a))
}
