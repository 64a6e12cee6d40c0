// Package fault holds the vocabulary of faults, decides when they strike, and keeps the ledger of what was
// planned, delivered and observed. It is pure: it draws from the tape and returns actions; an engine performs
// them and tells the ledger what became of them.
package fault

// Kind of a fault, with the words that configurations use.
type Kind string

const (
	Partition Kind = "partition"  // messages on a link are lost, one way or both
	Clog      Kind = "clog"       // messages on a link wait until it is over, one way or both
	SlowLink  Kind = "slow_link"  // a link has a higher latency and less bandwidth
	Delay     Kind = "delay"      // a packet takes longer
	Drop      Kind = "drop"       // a packet is lost: a retransmission delay on TCP, a loss on UDP
	Corrupt   Kind = "corrupt"    // a packet has a wrong byte: TCP drops it, a datagram arrives with it
	Duplicate Kind = "duplicate"  // a datagram arrives twice
	Reorder   Kind = "reorder"    // a datagram is overtaken
	Reset     Kind = "reset"      // connections end by RST, which both ends see or one
	DNSFail   Kind = "dns_fail"   // a node gets no answers about names, or failures
	Crash     Kind = "crash"      // kill -9 of all of a node's processes, and a restart
	PowerLoss Kind = "power_loss" // a crash that also takes what the node's disk has not made durable
	Restart   Kind = "restart"    // a node's programs are told to stop, and start again: a rolling update
	Pause     Kind = "pause"      // a node's threads do not run for a while

	WriteFail    Kind = "write_fail"    // a write to a disk fails with EIO
	ReadFail     Kind = "read_fail"     // a read from a disk fails with EIO
	PartialWrite Kind = "partial_write" // a write to a disk takes fewer bytes than it was given
	FsyncFail    Kind = "fsync_fail"    // an fsync fails with EIO once, and what it should have written is lost with the power
	TornWrite    Kind = "torn_write"    // the power goes while a write is on its way to the disk, of which some sectors are there
	ReadCorrupt  Kind = "read_corrupt"  // a bit of what is read has rotted on the disk
	DiskFull     Kind = "disk_full"     // a node's disk has no room for a while
	SlowDisk     Kind = "slow_disk"     // calls on a node's disk take longer for a while

	MemoryPressure Kind = "memory_pressure" // a node gives its programs no more memory for a while
	OOM            Kind = "oom"             // a node's memory runs out, and its kernel kills the largest process

	ClockSkew  Kind = "clock_skew"  // a node's date is wrong for a while
	ClockJump  Kind = "clock_jump"  // a node's date is wrong until the heal
	ClockDrift Kind = "clock_drift" // a node's clocks run at another rate for a while
)

// Entry counts what became of one kind of fault in one run.
type Entry struct {
	Kind      Kind   `json:"kind"`
	Planned   uint64 `json:"planned"`
	Delivered uint64 `json:"delivered"`
	Observed  uint64 `json:"observed"`
	// Handled counts the signs, which the Spec ties to the kind, that a program dealt with it.
	Handled uint64 `json:"handled,omitempty"`
	// FirstObserved is the number of the first event whose result a program under test would not have seen
	// without this kind of fault; 0 if there is none.
	FirstObserved uint64 `json:"first_observed,omitempty"`
}

// RuleEntry counts what became of one rule.
type RuleEntry struct {
	Rule int    `json:"rule"` // its place among the rules of the Spec, from 1 on
	Text string `json:"text"` // the rule as a sentence
	Entry
}

// Strike is one fault that was delivered, for the story of a run.
type Strike struct {
	ID       int    `json:"id"`
	Kind     Kind   `json:"kind"`
	Rule     int    `json:"rule,omitempty"` // its place among the rules of the Spec, from 1 on
	Target   string `json:"target"`         // n1, n1-n2, n1->n2
	Event    uint64 `json:"event"`
	StartNs  int64  `json:"start_ns"`
	EndNs    int64  `json:"end_ns"`
	Observed uint64 `json:"observed,omitempty"` // event number
}

// Ledger is the account of all faults of a run. Per-packet kinds are counted in Entries alone; Strikes lists the
// others.
type Ledger struct {
	Entries []Entry     `json:"entries,omitempty"`
	Rules   []RuleEntry `json:"rules,omitempty"` // of the kinds that several rules have
	Strikes []Strike    `json:"strikes,omitempty"`
}
