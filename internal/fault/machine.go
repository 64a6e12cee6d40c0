package fault

// AmountSteps is the number of amounts between a rule's Least and Most that a strike chooses from.
const AmountSteps = 8

// MaxDriftPPB is the most that clock_drift makes a clock run faster or slower, in parts per billion.
const MaxDriftPPB = 500_000_000

// onMachine tells whether a kind lies on a node's machine for a while, and its programs run on.
func onMachine(k Kind) bool {
	switch k {
	case DiskFull, SlowDisk, MemoryPressure, OOM, ClockSkew, ClockJump, ClockDrift:
		return true
	}
	return false
}

// Measured tells whether strikes of a kind have an Amount besides their duration.
func Measured(k Kind) bool { return k == SlowDisk || signed(k) }

// signed tells whether an Amount is below 0 in half of the strikes.
func signed(k Kind) bool { return k == ClockSkew || k == ClockJump || k == ClockDrift }

// stays tells whether strikes of a kind last until the heal; a target can be struck again meanwhile.
func stays(k Kind) bool { return k == ClockJump }

// amounts counts the amounts that a rule's strikes choose from.
func (r *Rule) amounts() uint64 {
	switch {
	case signed(r.Kind):
		return 2 * AmountSteps
	case Measured(r.Kind):
		return AmountSteps
	}
	return 1
}

// amount is one of the amounts from the least to the most, both included.
func (r *Rule) amount(k uint64) int64 {
	sign := int64(1)
	if signed(r.Kind) {
		if k%2 == 1 {
			sign = -1
		}
		k /= 2
	}
	return sign * (r.Least + (r.Most-r.Least)/(AmountSteps-1)*int64(k))
}
