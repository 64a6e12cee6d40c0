// Package fault holds the vocabulary of faults, decides when they are injected, and keeps the ledger of what was
// planned, delivered and observed. It is pure: it draws from the tape and returns actions; an engine performs
// them and reports to the ledger whether they were delivered and observed.
package fault

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The kinds of faults, by the words that configurations use. The Table says what each does.
const (
	Partition world.FaultKind = "partition"
	Clog      world.FaultKind = "clog"
	SlowLink  world.FaultKind = "slow_link"
	Delay     world.FaultKind = "delay"
	Drop      world.FaultKind = "drop"
	Corrupt   world.FaultKind = "corrupt"
	Duplicate world.FaultKind = "duplicate"
	Reorder   world.FaultKind = "reorder"
	Reset     world.FaultKind = "reset"
	DNSFail   world.FaultKind = "dns_fail"
	Crash     world.FaultKind = "crash"
	PowerLoss world.FaultKind = "power_loss"
	Restart   world.FaultKind = "restart"
	Pause     world.FaultKind = "pause"

	Upgrade   world.FaultKind = "upgrade"
	Downgrade world.FaultKind = "downgrade"
	Replace   world.FaultKind = "replace"
	Rollback  world.FaultKind = "rollback"
	Run       world.FaultKind = "run"

	WriteFail    world.FaultKind = "write_fail"
	ReadFail     world.FaultKind = "read_fail"
	OpenFail     world.FaultKind = "open_fail"
	PartialWrite world.FaultKind = "partial_write"
	FsyncFail    world.FaultKind = "fsync_fail"
	TornWrite    world.FaultKind = "torn_write"
	ReadCorrupt  world.FaultKind = "read_corrupt"
	DiskFull     world.FaultKind = "disk_full"
	SlowDisk     world.FaultKind = "slow_disk"

	MemoryPressure world.FaultKind = "memory_pressure"
	OOM            world.FaultKind = "oom"
	FDLimit        world.FaultKind = "fd_limit"

	ClockSkew  world.FaultKind = "clock_skew"
	ClockJump  world.FaultKind = "clock_jump"
	ClockDrift world.FaultKind = "clock_drift"
)

// Entry counts what became of one kind of fault in one run.
type Entry struct {
	Kind      world.FaultKind `json:"kind"`
	Planned   uint64          `json:"planned"`
	Delivered uint64          `json:"delivered"`
	Observed  uint64          `json:"observed"`
	// Handled counts the signs, which the Spec ties to the kind, that a program dealt with it.
	Handled uint64 `json:"handled,omitempty"`
	// FirstObserved is the number of the first event whose result a program under test would not have seen
	// without this kind of fault; 0 if there is none.
	FirstObserved uint64 `json:"first_observed,omitempty"`
	// Unreached counts the runs whose chaos phase ended before the time or the event that a rule waits for.
	Unreached uint64 `json:"unreached,omitempty"`
}

// RuleEntry counts what became of one rule.
type RuleEntry struct {
	Rule int    `json:"rule"` // its place among the rules of the Spec, from 1 on
	Text string `json:"text"` // the rule as a sentence
	// Derived marks a rule that the campaign has derived (world.FaultRule.Derived).
	Derived bool `json:"derived,omitempty"`
	Entry
}

// Hit counts the faults of a kind that were injected at a kind of moment.
type Hit struct {
	Kind world.FaultKind `json:"kind"`
	// Call is the system call, CreateCall, or a moment without calls: reply, recovery, transfer.
	Call  string `json:"call"`
	File  string `json:"file,omitempty"` // a pattern of names
	Count uint64 `json:"count"`
}

// Injection is one fault that was delivered, for the story of a run.
type Injection struct {
	ID       int             `json:"id"`
	Kind     world.FaultKind `json:"kind"`
	Rule     int             `json:"rule,omitempty"` // its place among the rules of the Spec, from 1 on
	Target   string          `json:"target"`         // n1, n1-n2, n1->n2
	Event    uint64          `json:"event"`
	StartNs  int64           `json:"start_ns"`
	EndNs    int64           `json:"end_ns"`
	Observed uint64          `json:"observed,omitempty"` // event number
	// Node is the affected node, and Directions are the directions on which a kind on links lies.
	Node       string      `json:"node,omitempty"`
	Directions []Direction `json:"cuts,omitempty"`
	Command    []string    `json:"command,omitempty"` // the command that a rule of kind run executed
	// RestoredNs is when a rollback restored the disk that the node had at StartNs; 0 if it did not.
	RestoredNs int64 `json:"restored_ns,omitempty"`
}

// Concerns reports whether an injection affects a node or one of its links.
func (i *Injection) Concerns(node string) bool {
	return i.Node == node || slices.ContainsFunc(i.Directions, func(c Direction) bool { return c.From == node || c.To == node })
}

// Ledger is the account of all faults of a run. Per-packet kinds are counted in Entries alone; Injections lists the
// others.
type Ledger struct {
	Entries    []Entry     `json:"entries,omitempty"`
	Rules      []RuleEntry `json:"rules,omitempty"` // of the kinds that several rules have
	Injections []Injection `json:"injections,omitempty"`
	Hits       []Hit       `json:"hits,omitempty"` // the first MaxHits kinds
}

// UnmarshalJSON also reads ledgers of earlier builds, which called injections strikes.
func (l *Ledger) UnmarshalJSON(text []byte) error {
	type plain Ledger
	return strictjson.Renamed(text, (*plain)(l), "strikes", &l.Injections)
}
