package record

import "fmt"

// VMTimesCPU is how many times the CPU time of the engine native the engine vm takes for a run of the quickstart, as bench measured it
// (bench/RESULTS.md). Tables and messages have the figure from here.
const VMTimesCPU = 106

// VMCost says in words what the engine vm costs.
var VMCost = fmt.Sprintf("about %d times the CPU time of `native`", VMTimesCPU)

// Refusal is a call that the engine refused, after which its process only left: nothing that it did afterwards took in anything to go on
// with. Event and TimeNs are those of the call, or, for a process that ended as its child did, of the moment when it learned of that.
type Refusal struct {
	Call    string `json:"call"` // with the operation, where a call has several
	Errno   string `json:"errno"`
	Node    string `json:"node"`
	Program string `json:"program"` // of the process that made the call
	PID     int    `json:"pid"`
	Thread  string `json:"thread"` // the one that left: its fork path
	Event   uint64 `json:"event"`
	TimeNs  int64  `json:"time_ns"`
}

// String says what was refused.
func (r *Refusal) String() string {
	return fmt.Sprintf("the engine refused the call %s (%s) of %s on %s, pid %d", r.Call, r.Errno, r.Program, r.Node, r.PID)
}

// RefusalRemedy says which engine runs a call that was refused.
func RefusalRemedy() string {
	return "`--engine vm` runs it, for " + VMCost
}
