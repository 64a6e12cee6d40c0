// Package record holds the record of a run, which engines write and everything above them reads. Verdicts and other conclusions are
// not part of it. It depends on neither engines nor checks.
package record

import (
	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Reason says why an Advance returned.
type Reason string

const (
	ReachedUntil Reason = "until"       // the point asked for
	Ready        Reason = "ready"       // the end of setup, which Until asked for
	Finished     Reason = "finished"    // the world ended: its phases are over
	MaxTime      Reason = "max_time"    // virtual time is used up
	Deadlock     Reason = "deadlock"    // no thread can ever run again
	Unstartable  Reason = "unstartable" // a server can never come up
	Limit        Reason = "limit"       // a limit of the Spec was reached
	Halted       Reason = "halted"      // a debugger stopped a thread
	Stopped      Reason = "stopped"     // a safety property failed, an observer said stop, or the run was interrupted
)

// Ends reports whether the world has ended: further calls of Advance have no effect.
func (r Reason) Ends() bool { return r != ReachedUntil && r != Ready && r != Halted }

// Event is one system call (or another ordered happening) of a run: no pointers, registers or real ids in it.
type Event struct {
	Number uint64  `json:"number"`
	TimeNs int64   `json:"time_ns"`
	Node   string  `json:"node"`
	Thread string  `json:"thread"` // fork path, such as n1/0.2
	Call   string  `json:"call"`
	Args   []int64 `json:"args,omitempty"` // canonical scalars: pointers are left out
	Result int64   `json:"result"`
	Bytes  uint64  `json:"bytes,omitempty"`  // digest of the bytes in and out
	Clocks uint64  `json:"clocks,omitempty"` // clock reads of the thread since its last event
	Detail string  `json:"detail,omitempty"` // a path, an address: for people, and part of the hash
	// Object is the kind of object that the call's descriptor refers to: file, tcp, udp, unix or pipe; empty if the
	// engine does not say. It sorts events for people and is not part of the hash.
	Object string `json:"object,omitempty"`
}

// LogLine is a line of output of a program in the world.
type LogLine struct {
	Position
	TimeNs int64  `json:"time_ns"`
	Node   string `json:"node"`
	Stream string `json:"stream"` // stdout, stderr or engine
	Text   string `json:"text"`
}

// Repeat is the honest answer to "will this tape make this run again?".
type Repeat struct {
	Reproducible bool   `json:"reproducible"`
	Reason       string `json:"reason,omitempty"` // the first reason why not
	// Once says that no run of the engine repeats, so that what one shows was observed once: this is no failure.
	Once bool `json:"once,omitempty"`
}

// Failed reports whether a run that was to be reproducible is not.
func (r *Repeat) Failed() bool { return !r.Reproducible && !r.Once }

// Unsupported is a system call that a program made and the engine refused.
type Unsupported struct {
	Node    string `json:"node"`
	Program string `json:"program"`
	Call    string `json:"call"` // with the operation, where a call has several: fcntl(F_NOTIFY)
	Errno   string `json:"errno"`
	Count   uint64 `json:"count"`
	// LastNs is the virtual time of the last one in a run, 0 if unknown.
	LastNs int64 `json:"last_ns,omitempty"`
}

// Crash is an unexpected end of a program in the world.
type Crash struct {
	Position
	TimeNs   int64  `json:"time_ns"`
	Node     string `json:"node"`
	Program  string `json:"program"`
	PID      int    `json:"pid"`
	Signal   string `json:"signal,omitempty"`
	ExitCode int    `json:"exit_code"`
	// Dump describes the state of a program that a fatal signal ended, if Options.Dumps requests it.
	Dump *Dump `json:"dump,omitempty"`
	// Kind is crash (a fatal signal), panic (a language's own report), sanitizer, or exit (a main process that
	// ended though it should run on).
	Kind  string   `json:"kind"`
	Lines []string `json:"lines,omitempty"` // the last lines of its log
	// Main says that it was the main process of its node, and UpNs when the restart policy has started that again, 0 if it has not.
	Main bool  `json:"main,omitempty"`
	UpNs int64 `json:"up_ns,omitempty"`
	// During are the kinds of faults that the node suffered then, or had until shortly before.
	During []world.FaultKind `json:"during,omitempty"`
	// Refusal is the call for which it ended, if the engine refused one and it did nothing afterwards but leave.
	Refusal *Refusal `json:"refusal,omitempty"`
}

// Probe is one execution of a probing check inside the world.
type Probe struct {
	Property string `json:"property"`
	Phase    string `json:"phase"`
	Event    uint64 `json:"event"`
	StartNs  int64  `json:"start_ns"`
	EndNs    int64  `json:"end_ns"`
	// AfterHealNs is the time of the heal, or of the start, that this probe belongs to, for liveness properties.
	AfterHealNs int64  `json:"after_heal_ns,omitempty"`
	ExitCode    int    `json:"exit_code"`
	Output      string `json:"output,omitempty"`
	// Cause is the cause that Output describes, for a run that leaves its model, if the engine knows it.
	Cause *failure.Cause `json:"cause,omitempty"`
	// Scrapes lists the findings of an alerts check.
	Scrapes []world.Scraped `json:"scrapes,omitempty"`
}

// DriverEnd is how the process of a workload's driver ended. A driver that did not end by itself with exit code 0
// did not do its work, whatever its history looks like.
type DriverEnd struct {
	Workload string `json:"workload"`
	TimeNs   int64  `json:"time_ns"`
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	// Said is the last line of its log, if it did not end well.
	Said string `json:"said,omitempty"`
	// Hidden names a file or folder that it looked for without success although the machine has it, with the remedy.
	Hidden string `json:"hidden,omitempty"`
	// Silent says that a driver of the user's own, with what it started, reported nothing. False where the engine does not know which process reported.
	Silent bool `json:"silent,omitempty"`
}

// Mark is a record by which the driver of a workload says where it is: history.Ready, Done or Check.
type Mark struct {
	Workload string       `json:"workload"`
	Type     history.Type `json:"type"`
	Event    uint64       `json:"event"`
	TimeNs   int64        `json:"time_ns"`
}

// JobSighting is a line that reports a declared job.
type JobSighting struct {
	Property string        `json:"property"`
	What     world.JobStep `json:"what"`
	ID       string        `json:"id"`
	Node     string        `json:"node"`
	Event    uint64        `json:"event"`
	TimeNs   int64         `json:"time_ns"`
}

// Outcome is the record of a run: what the engine knows. What is derived from it above, such as verdicts, is not in it.
type Outcome struct {
	Tape       tape.Tape `json:"tape"`
	Reason     Reason    `json:"reason"`
	Detail     string    `json:"detail,omitempty"` // which limit, which threads are deadlocked
	Hash       string    `json:"hash"`             // trace hash, hex
	StrictHash string    `json:"strict_hash,omitempty"`
	Repeat     Repeat    `json:"repeat"`
	Events     uint64    `json:"events"`
	VirtualNs  int64     `json:"virtual_ns"`
	WallNs     int64     `json:"wall_ns"`
	// MemoryBytes is the most memory of the machine that the world was seen to take, about, or 0 if nobody looked. Like WallNs it differs from run to run.
	MemoryBytes int64           `json:"memory_bytes,omitempty"`
	Decisions   []tape.Decision `json:"decisions,omitempty"`
	// DecisionsNs are the virtual times at which decisions were made, one for each, or none where the engine does not keep them.
	DecisionsNs []int64 `json:"decisions_ns,omitempty"`
	// Switches are the first MaxSwitches decisions to switch a thread in the midst of its own code.
	Switches []Switch `json:"switches,omitempty"`
	// Draws lists the draws that Options.Draws requested, and DrawsLost counts further ones, which were not kept.
	Draws     []tape.Draws    `json:"draws,omitempty"`
	DrawsLost uint64          `json:"draws_lost,omitempty"`
	History   []history.Event `json:"history,omitempty"`
	Ledger    fault.Ledger    `json:"ledger"`
	Drivers   []DriverEnd     `json:"drivers,omitempty"`
	Marks     []Mark          `json:"marks,omitempty"` // of drivers that announce where they are, each once
	Probes    []Probe         `json:"probes,omitempty"`
	// ReadyNs is the virtual time at which setup was over: every server was up, and the workload began. Heals are those at
	// which the last fault ended.
	ReadyNs int64 `json:"ready_ns,omitempty"`
	// ChaosNs and ChaosEndNs are the virtual times between which faults were injected, 0 if they did not come, and ChaosEndEvent
	// is the last event before the end.
	ChaosNs       int64         `json:"chaos_ns,omitempty"`
	ChaosEndNs    int64         `json:"chaos_end_ns,omitempty"`
	ChaosEndEvent uint64        `json:"chaos_end_event,omitempty"`
	Heals         []int64       `json:"heals,omitempty"`
	Length        *world.Length `json:"length,omitempty"`   // what the tape took away from the run's full length; nil is nothing
	NeverUp       []string      `json:"never_up,omitempty"` // servers that ended before they were up, each with how
	NotUp         []NotUp       `json:"not_up,omitempty"`   // servers that did not run well when the final phase began
	// NeverReady are the servers that were never ready in the run: their healthchecks never succeeded, they ended before they
	// were ready, or they listen on none of the ports that the configuration names for them.
	NeverReady []NotUp       `json:"never_ready,omitempty"`
	Jobs       []JobSighting `json:"jobs,omitempty"`      // of properties that declare jobs
	JobsLost   uint64        `json:"jobs_lost,omitempty"` // further ones, beyond what is kept
	Crashes    []Crash       `json:"crashes,omitempty"`
	SDK        sdk.Record    `json:"sdk"` // what programs reported by an SDK of Antithesis
	Refused    []Unsupported `json:"refused,omitempty"`
	// DiskChanges are changes of files of nodes under test around faults, where the engine sees them.
	DiskChanges []DiskChange `json:"disk_changes,omitempty"`
	// Unanswered are the events at which a driver reported ok although it had read nothing from another node since it began the
	// operation; the first MaxUnanswered of them, where the engine knows.
	Unanswered []uint64          `json:"unanswered,omitempty"`
	Warnings   []string          `json:"warnings,omitempty"`
	Log        []LogLine         `json:"log,omitempty"`
	LogLost    uint64            `json:"log_lost,omitempty"` // lines after those that are kept
	LogCounts  map[string]uint64 `json:"log_counts,omitempty"`
	// Behaviour holds the engine's observations, if Options.Behaviour requests them. Judging a run adds to it.
	coverage.Behaviour
	// Moments lists the actions of programs under test at which a fault could show a bug, if Options.Moments requests
	// them; nil if the engine does not know them.
	Moments *moments.Record `json:"moments,omitempty"`
	// Code are the blocks of programs that were executed, for each binary that was watched; Options.Code says beyond what.
	Code []blocks.Hits `json:"code,omitempty"`
	// Programs lists the programs that nodes under test executed, in the order in which they were first seen.
	Programs []Program `json:"programs,omitempty"`
	// Files are digests of every base file that was opened: path -> SHA-256, hex, or size and date of a file that was not hashed
	// (filedigest.Sum). A base folder that was listed, whose
	// path has a slash at its end, is listed here with its names, joined by slashes, or, where these are many, with
	// "sha256:" and their digest.
	Files map[string]string `json:"files,omitempty"`
	// Later are files of the machine that programs under test looked for and did not find, since they are later than Options.Then; the
	// first MaxLater of them, where the engine knows.
	Later []string `json:"later,omitempty"`
	// Machine names the CPU feature set and the kernel that the run belongs to.
	Machine string `json:"machine,omitempty"`
	// Driver is the SHA-256 digest of the program that ran built-in workloads and probers in the world.
	Driver string `json:"driver,omitempty"`
}

// MaxLater bounds the later files that are kept of a run.
const MaxLater = 64

// NotUp is a server that does not run well, and why.
type NotUp struct {
	Node string `json:"node"`
	Why  string `json:"why"`
	// State summarises Why in a word; empty for a server that was never ready.
	State string `json:"state,omitempty"`
	// Said are the last lines that its main process wrote, of a server that was never ready.
	Said []string `json:"said,omitempty"`
	// Unprovoked says of a server that was never ready that it had ended, or had run for long, before a fault was injected into it.
	Unprovoked bool `json:"unprovoked,omitempty"`
}

// Program is one that a node under test executed.
type Program struct {
	Path string `json:"path"` // in the world
	// File is where it lies on this machine, and Stamp distinguishes it from others that lay there; both are empty for a program that the
	// world has written itself.
	File  string `json:"file,omitempty"`
	Stamp string `json:"stamp,omitempty"`
}

// Switch is a decision to switch a thread in the midst of its own code.
type Switch struct {
	Stream string `json:"stream"` // that it was drawn from: each draw other than 0 is one switch
	TimeNs int64  `json:"time_ns"`
	Thread string `json:"thread"`
	// Of a native program: the block at which the thread was stopped, and after how many further instructions it gave way.
	Program      string `json:"program,omitempty"` // a path in the world
	Address      uint64 `json:"address,omitempty"` // as the file has it
	Instructions int    `json:"instructions,omitempty"`
	// Place is where the thread was, where the engine knows the source.
	Place sdk.Location `json:"place,omitzero"`
	// ForNs is for how long the thread does not run; 0 until the others have had their turns.
	ForNs int64 `json:"for_ns"`
}

// MaxSwitches bounds Outcome.Switches.
const MaxSwitches = 1000

// MaxUnanswered bounds Outcome.Unanswered.
const MaxUnanswered = 1000

// MaxPrograms bounds Outcome.Programs.
const MaxPrograms = 100
