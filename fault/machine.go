package fault

// AmountSteps is the number of amounts between a rule's Least and Most that a strike chooses from.
const AmountSteps = 8

// onMachine tells whether a kind lies on a node's machine for a while, and its programs run on.
func onMachine(k Kind) bool {
	switch k {
	case DiskFull, SlowDisk:
		return true
	}
	return false
}

// Measured tells whether strikes of a kind have an Amount besides their duration.
func Measured(k Kind) bool { return k == SlowDisk }

// amounts counts the amounts that a rule's strikes choose from.
func (r *Rule) amounts() uint64 {
	if Measured(r.Kind) {
		return AmountSteps
	}
	return 1
}

// amount is step k of AmountSteps from the least amount to the most, both included.
func (r *Rule) amount(k uint64) int64 {
	return r.Least + (r.Most-r.Least)/(AmountSteps-1)*int64(k)
}
