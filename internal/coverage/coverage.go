// Package coverage says what a run reached, as features that a search compares between runs. Engines and checks produce
// features; exploration counts them and knows nothing of what they stand for.
package coverage

import (
	"cmp"
	"slices"
)

// Domain is where a feature comes from.
type Domain string

// The domains.
const (
	Message    Domain = "message"    // a kind of message between nodes: size class and first bytes
	Connection Domain = "connection" // what became of a connection between nodes
	Errno      Domain = "errno"      // a system call that failed for a program, and how
	Log        Domain = "log"        // a line of a program's log, numbers masked
	Fault      Domain = "fault"      // faults of the ledger that met in one run
	Assertion  Domain = "assertion"  // a sometimes-assertion that was reached
	Code       Domain = "code"       // a block of a program's code
	State      Domain = "state"      // a state that a program reported
	// Of a specification that a run is followed in:
	ModelState Domain = "model-state" // a state, as the view of the model shows it
	ModelWhole Domain = "model-whole" // a whole state, where the model has a view: measured, and guides nothing
	ModelEdge  Domain = "model-edge"  // a step by an action from one state to another, as the view shows them
	ModelGuard Domain = "model-guard" // a guard of an action that was true, or false
	ModelGoal  Domain = "model-goal"  // how close a run came to what it has not reached there: distances, and no features

	Trace Domain = "trace" // the order of all events of a run: few runs have the same
	Line  Domain = "line"  // a block of Go code that the compiler counts
)

// Domains are all of them.
var Domains = []Domain{Message, Connection, Errno, Log, Fault, Assertion, Code, State, ModelState, ModelWhole, ModelEdge, ModelGuard, ModelGoal, Trace, Line}

// Feature is one thing that a run reached. Two runs that reach it have the same ID for it.
type Feature struct {
	ID     uint64 `json:"id"` // ID of domain and text
	Domain Domain `json:"domain"`
	Text   string `json:"text"` // for people; empty where there is nothing to read
}

// New makes the feature of a domain that a text names.
func New(d Domain, text string) Feature { return Feature{ID(d, text), d, text} }

// ID is the number of a feature: FNV-1a, 64 bits, over domain, a zero byte and text.
func ID(d Domain, text string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(d); i++ {
		h = (h ^ uint64(d[i])) * 1099511628211
	}
	h *= 1099511628211 // a zero byte
	for i := 0; i < len(text); i++ {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// Sort puts features into the order of their IDs and removes repetitions.
func Sort(list []Feature) []Feature {
	slices.SortFunc(list, func(a, b Feature) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(list, func(a, b Feature) bool { return a.ID == b.ID })
}

// Nearness is how close a run came to breaking a property, or to a goal that a program set by guidance. Distance is 1 where
// there was no sign of a break and 0 where it broke, or was reached; distances of one Name are compared with each other alone.
type Nearness struct {
	Name     string  `json:"name"`
	Distance float64 `json:"distance"`
	Says     string  `json:"says"` // for people: longest recovery 9.1 s of 10 s
	// Domain is ModelGoal, or empty of all that is no model's.
	Domain Domain `json:"domain,omitempty"`
}

// Behaviour is the part of a run by which a search compares it with others.
type Behaviour struct {
	// Reached are the features that the run reached, in the order of IDs, each once.
	Reached []Feature `json:"reached,omitempty"`
	// Near tells how close the run came to violating properties, and to states that the models that follow it have.
	Near []Nearness `json:"near,omitempty"`
}

// Add adds the behaviour of a run in a model, under the name of what the model follows the run for.
func (b *Behaviour) Add(name string, more *Behaviour) {
	b.Reached = append(b.Reached, more.Reached...)
	b.Near = append(b.Near, Within(name, more.Near)...)
}

// Within gives distances of a model the name of what it follows the run for.
func Within(name string, list []Nearness) []Nearness {
	for i := range list {
		list[i].Name = name + ": " + list[i].Name
	}
	return list
}
