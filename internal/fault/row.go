package fault

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// AmountSteps is the number of amounts between a rule's Least and Most that an injection chooses from.
const AmountSteps = 8

// MaxDriftPPB is the most that clock_drift makes a clock run faster or slower, in parts per billion.
const MaxDriftPPB = 500_000_000

// Place is where faults of a kind are injected, and so what a draw of a rule belongs to.
type Place uint8

const (
	OnLink   Place = iota + 1 // a link, or all links of a node: drawn once a time step for each target
	OnPacket                  // a packet of a link: drawn for each by the engine's network
	OnNode                    // the programs, names or memory of a node: once a time step
	OnDisk                    // the disk of a node: once a time step
	OnClock                   // the clocks of a node: once a time step
	OnCall                    // a call on the disk of a node: drawn for each (Plan.Call)
)

// Ends is how faults of a kind end the programs of a node.
type Ends uint8

const (
	NoEnd       Ends = iota
	Killed           // at once
	Unplugged        // at once, and what the disk has not made durable is lost
	Stopped          // in order: the main process gets the signal to stop
	OutOfMemory      // the largest process alone
	Replaced         // at once, and the disk is as it was before the node first started
	RolledBack       // at once, some time after the fault began, and the disk is as it was then
)

// Row describes one kind of fault. All that packages know about kinds is in the rows of the table.
type Row struct {
	Kind  world.FaultKind
	Says  string // what happens
	Shows string // when a program under test has observed it
	Story string // a sentence about the target, %s, in stories; "" names the kind instead
	// StoryPast is the same sentence about a fault that is over.
	StoryPast string
	Place     Place
	Keys      Keys
	// Span bounds the durations, or delays, of a rule that names none. Kinds without a duration have none.
	Span   Span
	Amount *Amount // the fault's strength; nil for kinds without one
	Ends   Ends
	// Halts says that the programs of a node do not run while it lasts: one such fault at a time is all that a node takes.
	Halts    bool
	Instant  bool // over at once: nothing has to be undone
	UntilEnd bool // lasts until the chaos phase ends; a target can have several at once
	// Datagrams says that TCP hides the kind from programs: it puts segments in order, and drops what it has.
	Datagrams bool
	// Parts: nodes are cut off from each other, in a shape that rules may name. A draw may leave a node its clients.
	Parts bool
	// OneEnd: a draw may choose one of the two ends of a link.
	OneEnd bool
	// Silence: a draw may choose no answer instead of a failure.
	Silence bool
	Call    *CallRow                    // kinds at OnCall
	Rate    int                         // kinds at OnPacket: their place in Rates
	Inject  func(Effects, *Action) bool // begins it, and reports whether it was delivered; nil where nothing is begun by a Plan
	End     func(Effects, *Action)      // undoes it
	// Undelivered explains faults that were planned and never delivered, and Unseen those that were delivered and never observed.
	Undelivered, Unseen string
}

// Keys are those of a configuration, in a group of `faults`. Kinds without keys are injected by rules alone, such as acts of operators.
type Keys struct{ Group, Rate, Duration string }

// Span bounds a time.
type Span struct{ MinNs, MaxNs int64 }

// Amount is how much of a fault of a kind there is.
type Amount struct {
	Least, Most int64  // of a rule that does not say
	Signed      bool   // below 0 in half of the injections
	PPM         bool   // a rate, in parts per billion, which people write as ppm; else ns
	Key         string // in the kind's group of a configuration, if it has one
}

// CallRow describes the effect of a kind on calls to a disk.
type CallRow struct {
	Names []string                           // of system calls that it can be injected into
	Meets func(c *Call) bool                 // reports whether it can do something to a call
	Ways  func(c *Call) uint64               // counts the ways in which it can; nil is one
	Harm  func(h *Harm, c *Call, way uint64) // fills in the way; nil has nothing to fill in
}

// Acts are the effects of faults that an engine has on the parts of a world.
type Acts interface {
	Network
	Limits
	Disks
	Clocks
}

// Network changes what happens between nodes.
type Network interface {
	// Block loses what is sent on a direction as long as id is not 0; Clog holds it back; Slow adds the fault's Slow to it, or nothing
	// if its ID is 0.
	Block(c Direction, id int)
	Clog(c Direction, id int)
	Slow(c Direction, on *Action)
	// Reset ends the connections of a direction and reports how many there were.
	Reset(c Direction, a *Action) int
	// Names has questions of a node about names fail, or get no answer at all, as long as id is not 0.
	Names(node string, id int, silent bool)
}

// Limits takes resources away from the programs of a node.
type Limits interface {
	// Pressure gives a node no more memory as long as id is not 0.
	Pressure(node string, id int, sinceNs int64)
	// FDLimit gives the processes of a node no new descriptor as long as id is not 0.
	FDLimit(node string, id int, sinceNs int64)
}

// Disks changes the disks of nodes.
type Disks interface {
	// FillDisk leaves a disk no room as long as id is not 0. SlowDisk lets its calls take so much longer.
	FillDisk(node string, id int)
	SlowDisk(node string, id int, ns int64)
	// Disk gives the disk of a node a speed, from now on.
	Disk(node string, speed Speed)
}

// Clocks changes the clocks of nodes.
type Clocks interface {
	// Clock makes a node's clocks as wrong as the fault says, until RightClock.
	Clock(a *Action)
	RightClock(a *Action)
}

// Effects lists the steps of which Inject and End of rows are made: acts of the engine, and decisions of a world's
// director.
type Effects interface {
	Acts
	// Lies gives the last of the active faults of a kind that lie on a direction; its ID is 0 if there is none.
	Lies(k world.FaultKind, from, to string) Action
	// TakeDown ends the programs of a node, as the kind's Ends says. BringUp starts them again.
	TakeDown(a *Action)
	BringUp(a *Action)
	// ChangeRelease takes a node down as TakeDown does. The node starts again by releases later, or earlier if by is negative. It reports
	// whether there is such a release.
	ChangeRelease(a *Action, by int) bool
	// TakeSnapshot copies the disk of a node. After the Amount of the action, the programs of the node end, and its disk is as it was
	// copied. EndRollback starts them again.
	TakeSnapshot(a *Action)
	EndRollback(a *Action)
	// RunCommand starts the command of the action on a node, and reports whether it runs. EndCommand ends it if it still runs.
	RunCommand(a *Action) bool
	EndCommand(a *Action)
	// Halt stops the threads of a node, until GoOn.
	Halt(a *Action)
	GoOn(a *Action)
	// Leak begins to take the memory of a node away, until EndLeak.
	Leak(a *Action)
	EndLeak(a *Action)
}

// RowOf gives the row of a kind. It panics for a kind that the table does not have: what users write is checked before (Known).
func RowOf(k world.FaultKind) *Row {
	if i := rank(k); i < len(Table) {
		return &Table[i]
	}
	panic("fault: there is no kind " + string(k))
}

// Known reports whether the table has a kind. A configuration may name others; with a rate above 0 they make a verdict unknown
// instead of being left out silently.
func Known(k world.FaultKind) bool { return rank(k) < len(Table) }

// rank is the place of k in the table, and its length for unknown kinds.
func rank(k world.FaultKind) int {
	if i := slices.Index(kinds, k); i >= 0 {
		return i
	}
	return len(kinds)
}

// PerStep reports whether a Plan draws a kind once a time step for each target.
func (r *Row) PerStep() bool { return r.Place != OnPacket && r.Place != OnCall }

// HasNode reports whether a kind is injected into servers, and not into links.
func (r *Row) HasNode() bool { return r.Place >= OnNode }

// Lacks reports whether faults of a kind keep a program from what it needs of its machine: room, memory, descriptors, or a disk that does what
// it is told. Some programs stop by design then.
func (r *Row) Lacks() bool {
	ofMachine := []world.FaultKind{DiskFull, MemoryPressure, OOM, FDLimit}
	return r.Place == OnCall && r.Ends == NoEnd && r.Kind != ReadCorrupt || slices.Contains(ofMachine, r.Kind)
}

// groups reports whether faults of a kind can affect several nodes at once.
func (r *Row) groups() bool { return r.Halts && r.Place == OnNode }

// Lasts reports whether a rule may say how long faults of a kind, or the delays that it brings, last.
func (r *Row) Lasts() bool { return r.Span.MaxNs > 0 }

// Kills reports whether a kind ends all programs of a node at once.
func (r *Row) Kills() bool { return r.Ends == Killed || r.Ends == Unplugged || r.Ends == Replaced }

// PowersOff reports whether the machine of a node is off until the fault ends.
func (r *Row) PowersOff() bool { return r.Ends == Unplugged || r.Restores() }

// Restores reports whether the disk of a node is replaced by a copy of it from another time.
func (r *Row) Restores() bool { return r.Ends == Replaced || r.Ends == RolledBack }

// amounts counts the amounts that a draw chooses from.
func (r *Row) amounts() uint64 {
	switch {
	case r.Amount == nil:
		return 1
	case r.Amount.Signed:
		return 2 * AmountSteps
	}
	return AmountSteps
}

var kinds = KindsOf(func(*Row) bool { return true })

// Kinds lists every kind, in the table's order.
func Kinds() []world.FaultKind { return slices.Clone(kinds) }

// Has reports whether a rule with a rate above 0 has a kind of whose row something is true.
func Has(f *world.Faults, is func(*Row) bool) bool {
	return slices.ContainsFunc(f.Rules, func(r world.FaultRule) bool { return r.RatePPM > 0 && Known(r.Kind) && is(RowOf(r.Kind)) })
}

// LosesPower reports whether the power of a node may go.
func LosesPower(f *world.Faults) bool {
	return Has(f, func(r *Row) bool { return r.Ends == Unplugged })
}

// KindsOf gives the kinds of whose rows something is true, in the table's order.
func KindsOf(has func(*Row) bool) (kinds []world.FaultKind) {
	for i := range Table {
		if has(&Table[i]) {
			kinds = append(kinds, Table[i].Kind)
		}
	}
	return kinds
}
