// Package isolation judges what transactions saw of each other: whether a history of transactions is one that a level
// of isolation allows, and if not, by which anomaly.
//
// The anomalies are those of Adya (PhD thesis, MIT 1999): G0 a cycle of writes, G1a a read of what failed, G1b a read
// of what was overwritten in the same transaction, G1c a cycle of writes and reads, G-single a cycle with one read of
// what was overwritten later, G2 a cycle with more of these. Snapshot isolation is taken as in Cerone and Gotsman
// (JACM 2018): no cycle without two such reads in a row. Read atomic and causal are the levels of Biswas and Enea
// (OOPSLA 2019), judged within the bounds of AWDIT (Møldrup and Pavlogiannis, PLDI 2025).
//
// Lists show in which order they were appended to (Kingsbury and Alvaro, VLDB 2020), so their histories are judged in
// near-linear time. Registers do not, and snapshot isolation and serializability of registers are NP-complete: there
// the answer comes from what can be inferred, and then from a solver that learns from cycles (as PolySI, Huang et al.,
// VLDB 2023, gives them to MonoSAT).
package isolation

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// Level of isolation. Of the first ones each allows less than the one before it.
type Level string

const (
	ReadCommitted      Level = "read-committed"
	ReadAtomic         Level = "read-atomic" // registers only
	Causal             Level = "causal"      // registers only
	SnapshotIsolation  Level = "snapshot-isolation"
	Serializable       Level = "serializable"
	StrictSerializable Level = "strict-serializable" // and in an order that agrees with time

	// The same in orders that agree with that of each client's transactions; registers only.
	SessionSnapshotIsolation Level = "strong-session-snapshot-isolation"
	SessionSerializable      Level = "strong-session-serializable"
)

// Levels are all levels.
var Levels = []Level{ReadCommitted, ReadAtomic, Causal, SnapshotIsolation, SessionSnapshotIsolation, Serializable, SessionSerializable, StrictSerializable}

// OfRegisters reports the levels that are judged over registers only.
func OfRegisters(l Level) bool {
	switch l {
	case ReadAtomic, Causal, SessionSnapshotIsolation, SessionSerializable:
		return true
	}
	return false
}

// Fate of a transaction.
type Fate uint8

const (
	Committed Fate = iota
	Aborted        // proof that it did nothing
	Unknown        // it may have committed; what it read is not known
)

// Access is one read or write of a transaction, in its order.
type Access struct {
	Key string
	// Value is the value that was written or appended, or that a read of a register returned.
	Value string
	// List has the elements that a read of a list returned.
	List  []string
	Write bool
	Found bool // a register that was read had a value
}

// Txn is a transaction. Clients have one transaction at a time.
type Txn struct {
	Client       string
	Fate         Fate
	Call, Return uint64 // event numbers; Return counts only if it committed
	Accesses     []Access
}

func (t *Txn) String() string {
	return fmt.Sprintf("the transaction of client %s at event %d", t.Client, t.Call)
}

// Answer of a judgement.
type Answer uint8

const (
	Undecided Answer = iota // Reason returns why
	Holds
	Violated
)

// What may be wrong with transactions: the anomaly, by the names of Adya (MIT, 1999) and of Elle (Alvaro and Kingsbury, VLDB 2020).
var (
	ownReads     = failure.Declare("isolation/internal")           // how a transaction sees its own writes: one of the ways below
	unwritten    = failure.Declare("isolation/G1a-unwritten")      // a value that nobody wrote
	abortedRead  = failure.Declare("isolation/G1a-aborted")        // a value of a transaction that failed
	intermediate = failure.Declare("isolation/G1b")                // a value that its transaction replaced
	incompatible = failure.Declare("isolation/incompatible-order") // how reads of a list contradict each other: one of the ways below
	twoValues    = failure.Declare("isolation/two-values")         // of one key, in one transaction
	cyclic       = failure.Declare("isolation/cycle")              // the anomaly that the cycle is
	selfCyclic   = failure.Declare("isolation/self-cycle")         // of one transaction: the anomaly, and its first dependency
	orderless    = failure.Declare("isolation/no-order")           // the level
)

// Ways in which reads are wrong, for causes.
const (
	notAtEnd   = "not-at-end"
	elsewhere  = "elsewhere"
	otherValue = "other-value"
	tooEarly   = "too-early"
	diverging  = "diverging"
	readTwice  = "twice"
	unordered  = "unordered"
)

// Finding is the result of a judgement: the answer and, where it is Violated, the anomaly and its transactions.
type Finding struct {
	Answer  Answer
	Anomaly string // G0, G1a, ...
	Reason  string // one sentence
	Cause   failure.Cause
	Steps   []string     // a cycle, step by step, in words
	Txns    []int        // the transactions in it
	Cycle   []Dependency // the same steps, for drawings
}

// Dependency is a step of a cycle: one transaction comes before another.
type Dependency struct {
	From, To int    // places in Txns; -1 for the time before all transactions
	Kind     string // ww, wr, rw, session, time
	Key      string // empty for session and time
}

// Lists judges transactions over lists: writes append, reads return the whole list.
func Lists(txns []Txn, level Level, b *linear.Budget) Finding { return logOf(txns).Judge(level, b) }

// Judge judges the transactions of a log. Those of a Finding are their numbers.
func (l *ListLog) Judge(level Level, b *linear.Budget) Finding {
	if OfRegisters(level) || !slices.Contains(Levels, level) {
		return Finding{Reason: fmt.Sprintf("unknown level %q for lists; use one of "+
			"read-committed, snapshot-isolation, serializable, strict-serializable", level)}
	}
	return newLists(l).judge(level, b)
}

// Registers judges transactions over registers.
func Registers(txns []Txn, level Level, b *linear.Budget) Finding {
	r := newRegisters(txns)
	switch level {
	case ReadCommitted, ReadAtomic, Causal:
		return r.weak(level, b)
	case SnapshotIsolation, Serializable, StrictSerializable, SessionSnapshotIsolation, SessionSerializable:
		return r.strong(level, b)
	}
	return Finding{Reason: fmt.Sprintf("unknown level %q; use one of %v", level, Levels)}
}
