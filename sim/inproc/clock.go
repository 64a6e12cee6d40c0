package inproc

import "math/bits"

// clock is a node's: a line through the time of the world.
type clock struct {
	baseNs   int64 // what it shows at atNs
	atNs     int64
	driftPPB int64 // of the node itself, by the Spec
	extraPPB int64 // of a fault
	aheadNs  int64 // of faults
	faulty   int   // the fault that makes it wrong, or 0
}

const billion = 1_000_000_000

func (c *clock) rate() int64 { return billion + c.driftPPB + c.extraPPB }

// read returns the time that the clock shows, in ns.
func (c *clock) read(nowNs int64) int64 {
	return c.baseNs + c.aheadNs + scale(nowNs-c.atNs, c.rate(), billion)
}

// when is the moment at which the clock, as it runs now, shows a date: after nowNs.
func (c *clock) when(nowNs, dateNs int64) int64 {
	return nowNs + c.span(dateNs-c.read(nowNs))
}

// span returns the true duration of a time by this clock: at most forever, which is longer than any run.
func (c *clock) span(ns int64) int64 {
	if ns <= 0 {
		return 0
	}
	return scale(min(ns, forever), billion, c.rate())
}

// forever is 18 years, from which sums of times do not overflow.
const forever = 1 << 59

// set changes the drift and how far the clock is ahead, by a fault or the end of one.
func (c *clock) set(nowNs, extraPPB, aheadNs int64, faulty int) {
	c.baseNs += scale(nowNs-c.atNs, c.rate(), billion)
	c.atNs, c.extraPPB, c.aheadNs, c.faulty = nowNs, extraPPB, aheadNs, faulty
}

// scale is x * num / den, for x and factors that are not negative.
func scale(x, num, den int64) int64 {
	if num == den {
		return x
	}
	hi, lo := bits.Mul64(uint64(x), uint64(num))
	q, _ := bits.Div64(hi, lo, uint64(den))
	return int64(q)
}
