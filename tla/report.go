package tla

import (
	"time"
)

// Options limit a check, and receive its progress. The zero value has no limit.
type Options struct {
	Distinct    int             // distinct states after which the check stops; 0: no limit
	Depth       int             // states in a behaviour; 0: no limit
	Time        time.Duration   // 0: no limit
	MemoryBytes uint64          // of the heap of this process; 0: no limit
	Disk        string          // a folder for states beyond MemoryBytes; empty: the check stops there
	Continue    bool            // do not stop at the first violation
	Progress    func(*Report)   // is called about once a second
	Print       func(string)    // receives the output of Print and PrintT of module TLC
	Stop        <-chan struct{} // the check stops soon after it is closed
	Reached     func(Reached)   // is called for each step of the graph of states; Simulate and Validate ignore it
}

// Reached is a step of the graph of states. States have numbers from 1 on, in the order in which the check finds them.
type Reached struct {
	From   int     // 0: To is an initial state
	Action *Action // nil if To is an initial state
	To     int
	State  State // the state with the number To; valid during the call
	New    bool  // the check has not found the state before
}

// Report is the result of a check or of a simulation.
type Report struct {
	Initial   int // distinct initial states; behaviours of a simulation
	Generated int // states, counting each as often as it was found
	Distinct  int
	// Left counts the states whose successors are not all known. If a violation ends the check, the state that was
	// being expanded does not count, as in TLC.
	Left       int
	Depth      int // states in the longest of the shortest behaviours to each state
	Actions    []ActionCount
	Complete   bool   // all reachable states were found
	Stopped    string // the limit that ended the check, or ByExit; empty: it is complete, or a violation ended it
	Barred     bool   // the action constraints excluded all steps
	Walked     int    // behaviours of a simulation that reached their end, or the requested depth
	Violations []*Violation
	// Behaviour leads to the error that ended the check. If an action does not give all variables a value, they are nil in its last state.
	Behaviour []Step
	// Edges counts the steps of the graph on which temporal properties were checked. Checked reports whether they were.
	Edges   int
	Checked bool
	// Viewed reports that states equal under VIEW were merged in that graph. Compared reports that all merged states
	// were compared and that no property distinguishes them.
	Viewed, Compared bool
	// Unchecked lists the properties that cannot be evaluated.
	Unchecked []Unchecked
	// Collisions estimates the probability that states were missed because two states share a fingerprint.
	Collisions Collisions
}

// ByExit is the value of Report.Stopped if the specification itself ended the check.
const ByExit = "the specification ended it by TLCSet(\"exit\", TRUE)"

// Collisions are two estimates of a probability, as TLC prints them (Specifying Systems, section 14.3.3).
type Collisions struct {
	Calculated float64 // from the numbers of states, as if fingerprints were drawn at random
	Observed   float64 // from the distance of the two closest fingerprints; 0: not computed
}

// ActionCount counts the states that an action led to, and the new ones among them.
type ActionCount struct {
	Action              *Action
	Generated, Distinct int
}

// Unchecked is a property that was not checked, with the reason.
type Unchecked struct {
	Name string
	Why  error
}

// Violation is a behaviour of the specification that breaks a property.
type Violation struct {
	Kind  Kind
	Name  string // of the property; of an Assert, its message
	Trace []Step
	// Back is the index in Trace to which the behaviour returns after its last step, forever, or -1 if the behaviour is
	// finite.
	Back int
	// Cause is the error behind the violation, or nil.
	Cause error
}

// Kind is the kind of property that a violation breaks.
type Kind string

// Kinds of violations.
const (
	InvariantViolated  Kind = "invariant"
	InitialViolated    Kind = "property of initial states"
	StepViolated       Kind = "action property"
	TemporalViolated   Kind = "temporal property"
	Deadlocked         Kind = "deadlock"
	AssertViolated     Kind = "assertion" // Assert of module TLC
	AssumptionViolated Kind = "assumption"
	PostViolated       Kind = "postcondition"
)

// Simulation sets the number and length of the behaviours that Simulate draws.
type Simulation struct {
	Number int    // of behaviours; 0: no limit
	Depth  int    // of each, in states; 0: 100
	Seed   uint64 // the same seed draws the same behaviours
}

// Reading tells Validate how far in its log a trace specification is. Usually Validate finds that out by itself.
type Reading struct {
	// Position names a variable or a state operator that holds the index of the log's next item; "level" stands for the
	// number of the state in its behaviour. If it is empty, the expression by which the specification indexes the log
	// is used.
	Position string
	// End names a state operator that is true at the end of the log. If it is empty, a property of the configuration
	// that waits for the end is used, or else a position after the last item.
	End string
}

// Validation is the result of comparing a log with a specification.
type Validation struct {
	// Accepted reports that a behaviour of the specification reaches the end of the log.
	Accepted bool
	// Unknown says why the answer is unknown. It is empty if the answer is known.
	Unknown string
	// Log is the name of the file, and Items counts the values in it that the specification reads.
	Log   string
	Items int
	// Line is the number of the first line that no behaviour gets past, Text that line, and Item its index among the
	// Items. They are zero if the log is accepted, or if the position is unknown.
	Line, Item int
	Text       string
	// Last holds a few of the states in which the longest behaviours end, each with the state before it. Ends counts
	// all of them.
	Last [][]Step
	Ends int
	// Tried lists the actions in those states, with the guards that were false.
	Tried []Tried
	// Violation is set if every behaviour that reaches the end of the log, or gets furthest, breaks a property.
	// BrokenAt is the line at which it breaks.
	Violation *Violation
	BrokenAt  int
	// Position and End are the expressions that Validate used for them.
	Position, End string
	// Replaced lists the properties about the progress of a check that this answer replaces.
	Replaced  []string
	Unchecked []Unchecked
	// States counts the reached states, Steps the steps to them, and Depth the states in the longest behaviour.
	States, Steps, Depth int
	// Behaviour leads to an error of the specification.
	Behaviour []Step
}
