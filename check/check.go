// Package check judges a recorded history of operations: whether a store was linearizable, which level of isolation its
// transactions kept, or whether an object of your own did what its sequential specification says.
//
//	ops, err := history.Pair(events) // from history.Read, or recorded by your test
//	if err != nil {
//		t.Fatal(err)
//	}
//	if v := check.Linearizable(ops, check.KeyValue); v.Status != check.Holds {
//		t.Error(v)
//	}
//
// A Verdict is Unknown, with the reason, where the history shows too little or a limit was reached; it never holds by default. The command
// `bloodhound check` does the same for files. docs/reference/checks.md describes the models, the names of their operations, and the levels.
package check

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Status of a Verdict.
type Status string

// Statuses.
const (
	Holds    Status = "holds"
	Violated Status = "violated"
	Unknown  Status = "unknown" // Reason says why
)

// Verdict is the judgement of one property over one history.
type Verdict struct {
	Status Status
	Reason string // one sentence: why the property is violated or unknown
	// Evidence are the operations that prove a violation, one a line.
	Evidence []string
}

// String returns the status, the reason and the evidence.
func (v Verdict) String() string {
	text := string(v.Status)
	if v.Reason != "" {
		text += ": " + v.Reason
	}
	return strings.Join(append([]string{text}, v.Evidence...), "\n  ")
}

// Names of models for [Linearizable]. docs/reference/checks.md lists their operations.
const (
	KeyValue   = "key-value"   // independent registers by key: put, get, delete, incr, cas, append
	Set        = "set"         // add, remove, contains, read
	Queue      = "queue"       // first in, first out: enqueue, dequeue
	Lock       = "lock"        // acquire, release
	Counter    = "counter"     // add, decr, read
	AppendList = "append-list" // append, read
)

// Linearizable judges whether the operations behave as if each took effect at one moment between its invocation and its return. model names the
// kind of object, such as [KeyValue].
func Linearizable(ops []history.Operation, model string) Verdict {
	return judged(world.Check{Type: world.Linearizability, Subject: world.Subject{Model: model}}, ops)
}

// Names of models for [Isolation].
const (
	ListAppend = "list-append" // transactions that append to lists and read whole lists
	RWRegister = "rw-register" // transactions that read and write registers
)

// Level of isolation. Of the first six each allows less than the one before it.
type Level string

// Levels of isolation.
const (
	ReadCommitted      Level = "read-committed"
	ReadAtomic         Level = "read-atomic" // registers only
	Causal             Level = "causal"      // registers only
	SnapshotIsolation  Level = "snapshot-isolation"
	Serializable       Level = "serializable"
	StrictSerializable Level = "strict-serializable" // serializable in an order that agrees with real time

	// In orders that agree with that of each client's transactions; registers only.
	SessionSnapshotIsolation Level = "strong-session-snapshot-isolation"
	SessionSerializable      Level = "strong-session-serializable"
)

// Isolation judges whether the transactions of a history keep a level of isolation. model is [ListAppend] or [RWRegister].
func Isolation(ops []history.Operation, model string, level Level) Verdict {
	return judged(world.Check{Type: world.Isolation, Subject: world.Subject{Model: model, Level: string(level)}}, ops)
}

func judged(c world.Check, ops []history.Operation) Verdict {
	p := &world.Property{Name: string(c.Type), Kind: world.Safety, Check: c}
	if err := histories.Validate(p); err != nil {
		return Verdict{Status: Unknown, Reason: err.Error()}
	}
	v := histories.Operations(p, ops)
	status := map[verdict.Status]Status{verdict.Holds: Holds, verdict.Violated: Violated}[v.Status]
	if status == "" {
		status = Unknown
	}
	return Verdict{Status: status, Reason: v.Reason, Evidence: v.Evidence}
}

// Model is the sequential specification of an object of your own.
type Model struct {
	// Initial is the state of an object at first. States are compared with ==: use strings, numbers, and structs or arrays of these.
	Initial any
	// Step reports whether an operation is legal in a state, and returns the state after it. An operation of type [history.Info] has no
	// result: it may have taken effect, and any result is legal. Step must be a pure function; goroutines call it at once, for
	// different objects.
	Step func(state any, op history.Operation) (next any, legal bool)
	// Object names the object that an operation belongs to; nil means its key. Each object is judged alone.
	Object func(op history.Operation) string
}

// Conforms judges whether the operations on each object of a model have a legal order: one in which each takes effect at one moment
// between its invocation and its return, and which the model allows.
func Conforms(ops []history.Operation, m Model) Verdict {
	if len(ops) == 0 {
		return Verdict{Status: Unknown, Reason: "the history has no operation"}
	}
	found := linear.Check(linear.Model(m), ops, histories.MaxSteps, histories.MaxBytes, histories.MaxWall)
	v := Verdict{Status: Unknown, Reason: found.Reason}
	switch found.Answer {
	case linear.Legal:
		v.Status = Holds
	case linear.Illegal:
		v.Status = Violated
	}
	if found.Op != nil {
		v.Evidence = []string{histories.Describe(found.Op)}
	}
	return v
}
