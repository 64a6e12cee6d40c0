// Package explore searches the tapes of a world for runs that break a property. Runs happen in worker processes,
// one world at a time in each, so that a crash or a hang costs one run and not the campaign. The package knows
// engines only by what a worker answers.
package explore

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
	"github.com/bloodhound-dst/bloodhound/internal/view"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Setup is the first line that a worker reads: what stays the same for all its runs.
type Setup struct {
	Spec *world.Spec `json:"spec"`
	// Driver is the path of the program that runs built-in workloads and probers inside the world.
	Driver string `json:"driver,omitempty"`
	// Scratch is a folder for the files of runs; empty is the system's temporary folder.
	Scratch string `json:"scratch,omitempty"`
	// Hidden are files and folders of the machine that nodes do not see (see engine.Options).
	Hidden []string `json:"hidden,omitempty"`
	// Then holds the files of the project's folder as a recorded run had them, when that run is replayed; nil otherwise
	// (see engine.Options).
	Then *filetree.Tree `json:"then,omitempty"`
	// Learn asks for what a search learns of each run.
	Learn bool `json:"learn,omitempty"`

	// Binaries choose what is watched of the programs in runs whose job asks for it.
	Binaries code.Choice `json:"binaries,omitempty"`

	// Measure has each run reported with its features of these domains, whatever the search learns of.
	Measure []coverage.Domain `json:"measure,omitempty"`

	// Unwatched are the domains that the search does not learn of.
	Unwatched []coverage.Domain `json:"unwatched,omitempty"`

	Snapshots runner.Budget `json:"snapshots,omitzero"`

	stateFile string // that was loaded last, and what it holds
	state     *code.State

	sent map[uint64]bool // features whose text this worker process has sent
}

// maxSent bounds the features whose texts a worker process remembers to have sent; it sends the texts of further ones each time.
const maxSent = 1 << 20

// Options adds to those of a run what a search needs. A run that was asked for its behaviour reports all of it already.
func (s *Setup) Options(o engine.Options) engine.Options {
	if s.Learn {
		if !o.Behaviour && len(s.Measure) == 0 {
			o.Unwatched = s.Unwatched
		}
		o.Behaviour, o.Draws = true, search.Watched
	}
	o.Behaviour = o.Behaviour || len(s.Measure) > 0
	return o
}

// Measured are the features of a run that Measure asks for.
func (s *Setup) Measured(o *check.Judged) (list []coverage.Feature) {
	for _, f := range o.Reached {
		if slices.Contains(s.Measure, f.Domain) {
			list = append(list, coverage.Feature{ID: f.ID, Domain: f.Domain})
		}
	}
	return list
}

// See takes from a run what a search learns of it, or nothing if there is none.
func (s *Setup) See(o *check.Judged) *search.Seen {
	if !s.Learn {
		return nil
	}
	if s.sent == nil {
		s.sent = map[uint64]bool{}
	}
	seen := &search.Seen{Events: o.Events, Near: o.Near, Injections: search.InjectionsOf(o.Decisions), Draws: o.Draws, DrawsLost: o.DrawsLost}
	for _, f := range o.Reached {
		if slices.Contains(s.Unwatched, f.Domain) {
			continue
		}
		if len(seen.Reached) >= search.MaxReached {
			break
		}
		seen.Reached = append(seen.Reached, f.ID)
		if s.sent[f.ID] {
			continue
		}
		if len(s.sent) < maxSent {
			s.sent[f.ID] = true
		}
		seen.Texts = append(seen.Texts, f)
	}
	return seen
}

// Job asks a worker for one run.
type Job struct {
	ID uint64 `json:"id"`
	runner.Request
	// RulesVersion is the version of the rules of the run, if it is not nil: that of a failure which an earlier program has stored.
	RulesVersion *int `json:"rules_version,omitempty"`
	// Full asks for the whole Outcome; without it only a run with a violation sends it.
	Full bool `json:"full,omitempty"`
	// Dumps is a folder for core files of programs that crash (see engine.Options).
	Dumps string `json:"dumps,omitempty"`
	// Cover asks for Summary.Code, if it is not nil.
	Cover *Cover `json:"cover,omitempty"`
	// Progress asks for a Progress now and then.
	Progress bool `json:"progress,omitempty"`
	// Behaviour asks for the features that the run reaches (see engine.Options).
	Behaviour bool `json:"behaviour,omitempty"`
	// Moments asks for Summary.Moments.
	Moments bool `json:"moments,omitempty"`
	// Sweep asks a run of a sweep for Reply.Sweep, if it is not nil. The job also asks for Moments.
	Sweep *sweep.Question `json:"sweep,omitempty"`
	Trace *Trace          `json:"trace,omitempty"`
	// Contrast asks for a run from its boot in which programs that read their own code see other bytes (see engine.Options).
	Contrast bool `json:"contrast,omitempty"`
	// Capture is a file for the packets of the run, up to the point of Look if there is one.
	Capture string `json:"capture,omitempty"`
	// Look asks for what the run shows at a point on its way.
	Look *view.Request `json:"look,omitempty"`
}

// Trace asks for a trace of the run in a file.
type Trace struct {
	File   string   `json:"file"`
	Format string   `json:"format"` // one of report.Formats
	Level  string   `json:"level,omitempty"`
	Events []string `json:"events,omitempty"`
	// Late allows the trace to begin at a snapshot.
	Late bool `json:"late,omitempty"`
}

// Reply is a line that a worker writes: progress of a job, or its end.
type Reply struct {
	ID       uint64    `json:"id"`
	Progress *Progress `json:"progress,omitempty"`
	Error    string    `json:"error,omitempty"` // the engine or the machine failed
	// Broken means that the Error is that of a panic (engine.Broken).
	Broken bool `json:"broken,omitempty"`
	// Unstarted means that the Error is that of a program that could not be started.
	Unstarted bool          `json:"unstarted,omitempty"`
	Summary   *Summary      `json:"summary,omitempty"`
	Outcome   *check.Judged `json:"outcome,omitempty"`
	Seen      *search.Seen  `json:"seen,omitempty"` // if the setup asks for it
	// Measured are the features that Setup.Measure asks for.
	Measured []coverage.Feature `json:"measured,omitempty"`
	// Began is the snapshot at which the run began; nil is its boot.
	Began *runner.Begin `json:"began,omitempty"`
	// NoSnapshots is why the worker takes no snapshots.
	NoSnapshots string `json:"no_snapshots,omitempty"`
	// Look shows the state of the run at a place, if the job asks for it. A run that was refused an answer was not made
	// to its end, and has no Summary.
	Look *view.Answer `json:"look,omitempty"`
	// Sweep are the moments that Job.Sweep asks for.
	Sweep []sweep.Series `json:"sweep,omitempty"`
	// CPU is the CPU time of the job.
	CPU    CPU    `json:"cpu,omitzero"`
	Memory Memory `json:"memory,omitzero"`
	// StartNs is the real time that the run took to the end of setup, 0 if it began at a snapshot, or that is not known.
	StartNs int64 `json:"start_ns,omitempty"`
	// Last says that the worker process ends after this answer.
	Last bool `json:"last,omitempty"`
}

// CPU is CPU time, as far as the system counts it: 0 where it does not.
type CPU struct {
	EngineNs   int64 `json:"engine_ns"`   // of the workers
	ProgramsNs int64 `json:"programs_ns"` // of the programs of their worlds that have ended, in user and kernel mode
}

// Ns is the sum, in nanoseconds.
func (c CPU) Ns() int64 { return c.EngineNs + c.ProgramsNs }

// Add adds what another job took.
func (c *CPU) Add(o CPU) {
	c.EngineNs += o.EngineNs
	c.ProgramsNs += o.ProgramsNs
}

// Progress is how far a run has come.
type Progress struct {
	Events    uint64 `json:"events"`
	VirtualNs int64  `json:"virtual_ns"`
}

// Summary holds the results of one run that its campaign keeps.
type Summary struct {
	Hash       string               `json:"hash"`
	StrictHash string               `json:"strict_hash,omitempty"`
	Reason     record.Reason        `json:"reason"`
	Detail     string               `json:"detail,omitempty"`
	Repeat     record.Repeat        `json:"repeat"`
	Events     uint64               `json:"events"`
	VirtualNs  int64                `json:"virtual_ns"`
	WallNs     int64                `json:"wall_ns"`
	Decisions  int                  `json:"decisions"`
	Operations Operations           `json:"operations"`
	Reasons    []Reason             `json:"reasons,omitempty"`
	Load       *Load                `json:"load,omitempty"`
	Faults     []fault.Entry        `json:"faults,omitempty"`
	FaultRules []fault.RuleEntry    `json:"fault_rules,omitempty"`
	Hits       []fault.Hit          `json:"hits,omitempty"`
	LogCounts  map[string]uint64    `json:"log_counts,omitempty"`
	Refused    []record.Unsupported `json:"refused,omitempty"`
	Warnings   []string             `json:"warnings,omitempty"`
	Marks      []record.Mark        `json:"marks,omitempty"`
	Verdicts   []check.Verdict      `json:"verdicts,omitempty"`
	Machine    string               `json:"machine,omitempty"`
	Code       []blocks.Hits        `json:"code,omitempty"`
	Programs   []record.Program     `json:"programs,omitempty"`
	Mistake    string               `json:"mistake,omitempty"`
	NeverReady []record.NotUp       `json:"never_ready,omitempty"`
	// DriverFailed says which driver failed, and how.
	DriverFailed string          `json:"driver_failed,omitempty"`
	Guide        *record.Guided  `json:"guide,omitempty"`
	Moments      *moments.Record `json:"moments,omitempty"` // that the job asks for
	Evidence     check.Evidence  `json:"evidence"`
	coverage.Behaviour
	// TailEvents are those after the end of the chaos phase.
	TailEvents uint64 `json:"tail_events,omitempty"`
	// Templates are those of the run's log (loglines.Keys), for a Background.
	Templates []uint64 `json:"templates,omitempty"`
}

// Operations counts the operations of clients by their results. Open ones never returned.
type Operations struct {
	Invoked uint64 `json:"invoked"`
	Ok      uint64 `json:"ok"`
	Fail    uint64 `json:"fail"`
	Info    uint64 `json:"info"`
}

// Open counts the operations that never returned.
func (o Operations) Open() uint64 { return o.Invoked - min(o.Invoked, o.Ok+o.Fail+o.Info) }

// Summarise keeps of an Outcome what does not grow with the length of the run.
func Summarise(o *check.Judged) *Summary {
	s := &Summary{Hash: o.Hash, StrictHash: o.StrictHash, Reason: o.Reason, Detail: o.Detail, Repeat: o.Repeat,
		Events: o.Events, VirtualNs: o.VirtualNs, WallNs: o.WallNs, Decisions: len(o.Decisions),
		Faults: o.Ledger.Entries, FaultRules: o.Ledger.Rules, Hits: o.Ledger.Hits, LogCounts: o.LogCounts, Refused: o.Refused,
		Warnings: o.Warnings, Marks: o.Marks,
		Verdicts: o.Verdicts, Machine: o.Machine, Behaviour: o.Behaviour, Code: o.Code, Programs: o.Programs,
		Mistake: o.Mistake, Guide: o.Guide, Moments: o.Moments}
	s.Operations = CountOperations(o.History)
	s.Reasons = countReasons(o.History)
	s.Load = loadOf(o.History)
	s.Evidence = check.EvidenceOf(&o.Outcome)
	s.NeverReady = o.NeverReady[:min(len(o.NeverReady), maxUnready)]
	s.DriverFailed = check.FailedDriver(o.Drivers)
	if o.ChaosEndEvent > 0 {
		s.TailEvents = o.Events - o.ChaosEndEvent
	}
	return s
}

// CountOperations counts the records of a history by type.
func CountOperations(h []history.Event) Operations {
	var c Operations
	for i := range h {
		switch h[i].Type {
		case history.Invoke:
			c.Invoked++
		case history.Ok:
			c.Ok++
		case history.Fail:
			c.Fail++
		case history.Info:
			c.Info++
		}
	}
	return c
}

// Shown is the violated verdict that has a signature, or else one that is Alike, or nil if there is none.
func Shown(verdicts []check.Verdict, signature string) *check.Verdict {
	if v := ShownExactly(verdicts, signature); v != nil {
		return v
	}
	return shown(verdicts, func(s string) bool { return failure.Alike(s, signature) })
}

// ShownExactly is the violated verdict that has a signature, or nil if there is none: a run that is shrunk is to show the same as the one that was found.
func ShownExactly(verdicts []check.Verdict, signature string) *check.Verdict {
	return shown(verdicts, func(s string) bool { return s == signature })
}

func shown(verdicts []check.Verdict, is func(signature string) bool) *check.Verdict {
	violated := Violated(verdicts)
	if i := slices.IndexFunc(violated, func(v check.Verdict) bool { return is(v.Signature()) }); i >= 0 {
		return &violated[i]
	}
	return nil
}

// Refusal is the first refused call that made a verdict unknown, or nil.
func Refusal(verdicts []check.Verdict) *record.Refusal {
	for i := range verdicts {
		if r := verdicts[i].Refusal; r != nil && verdicts[i].Status == check.Unknown {
			return r
		}
	}
	return nil
}

// Violated returns the violated verdicts.
func Violated(verdicts []check.Verdict) []check.Verdict {
	var v []check.Verdict
	for i := range verdicts {
		if verdicts[i].Status == check.Violated {
			v = append(v, verdicts[i])
		}
	}
	return v
}
