package inproc

import "fmt"

// StepKind is the kind of a Step.
type StepKind uint8

// The kinds of steps.
const (
	Started   StepKind = iota + 1 // a node's program has started, for the first time or after a crash
	Crashed                       // a fault has ended a node's program
	Ticked                        // a machine has ticked
	Delivered                     // a machine has handled a message, or a process has received it
	Lost                          // a message will not arrive
	Ran                           // a process has run until its next wait or its end
)

var stepNames = [...]string{"", "Started", "Crashed", "Ticked", "Delivered", "Lost", "Ran"}

func (k StepKind) String() string { return stepNames[k] }

// Step is something that has just happened in a world.
type Step struct {
	Kind    StepKind
	Node    string
	Message Message // of a delivery or a loss
	Event   uint64  // the number of the last event
	TimeNs  int64
}

// After calls a function after each step of the world, to compare the world with a model. The function may read the
// variables of the describing function and must not change the nodes. The Step is reused.
func (w *World) After(look func(*Step)) {
	if look == nil {
		w.mistake("After has no function; give one")
	}
	w.after = append(w.after, look)
}

// stepped reports a step.
func (r *run) stepped(kind StepKind, n *Node, m *Message) {
	if len(r.def.after) == 0 {
		return
	}
	defer func() {
		if e := recover(); e != nil && r.failure == nil {
			r.failure = fmt.Errorf("a function of After panics at event %d, told that %s on %s: %v", r.events, kind, n.name, e)
		}
	}()
	r.last = Step{Kind: kind, Node: n.name, Event: r.events, TimeNs: r.now}
	if m != nil {
		r.last.Message = *m
	}
	for _, told := range r.def.after {
		told(&r.last)
	}
}
