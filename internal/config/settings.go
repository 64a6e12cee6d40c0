package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Exploration is how tapes are searched. Zero values were not set.
type Exploration struct {
	Strategy                string    `json:"strategy"`
	Seed                    *uint64   `json:"seed,omitempty"`
	Seeds                   uint64    `json:"seeds,omitempty"` // simulation.seeds
	Workers                 int       `json:"parallel_workers,omitempty"`
	TimeoutNs               int64     `json:"timeout_ns,omitempty"` // real time
	MaxDepth                int64     `json:"max_depth,omitempty"`
	MaxStates               int64     `json:"max_states,omitempty"`
	Streams                 []string  `json:"streams,omitempty"`
	FeedbackDelay           int64     `json:"feedback_delay,omitempty"` // runs; 0 is the default
	Length                  string    `json:"length,omitempty"`         // one of keys.Lengths; empty is the default
	Snapshots               Snapshots `json:"snapshots,omitzero"`
	Corpus                  string    `json:"corpus,omitempty"` // absolute; empty is none
	PrioritizeCoverage      bool      `json:"prioritize_coverage,omitempty"`
	PrioritizeNearViolation bool      `json:"prioritize_near_violation,omitempty"`
}

// Snapshots bounds those of a worker. What was not set is nil.
type Snapshots struct {
	Max         *int64 `json:"max,omitempty"`
	MemoryBytes *int64 `json:"memory_bytes,omitempty"`
}

// Output says which files a campaign writes.
type Output struct {
	Dir                  string `json:"dir"` // absolute
	SaveViolationTraces  bool   `json:"save_violation_traces,omitempty"`
	SaveInterestingSeeds bool   `json:"save_interesting_seeds,omitempty"`
	SummaryReport        bool   `json:"summary_report,omitempty"`
	CoverageFormat       string `json:"coverage_format,omitempty"`
}

// Coverage says which code is watched.
type Coverage struct {
	Enabled   bool     `json:"enabled,omitempty"`
	Binaries  []string `json:"binaries,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"` // in percent; nil is none
}

// Debug says what is written of a trace.
type Debug struct {
	TraceLevel  string   `json:"trace_level,omitempty"` // off, error, warn, info, debug, trace; empty was not set
	TraceEvents []string `json:"trace_events,omitempty"`
	TraceFile   string   `json:"trace_file,omitempty"` // absolute, or empty
}

// stateDir is the folder for the state of a project, beside its configuration.
const stateDir = ".bloodhound"

// Defaults where threads are switched in the code of programs. Runtimes such as Go's run one thread of user code for each CPU that they see.
const (
	defaultSwitchPPM  = 40_000
	defaultSwitchCPUs = 4
)

func (l *loader) simulation(n *source.Node) {
	s := l.Spec
	s.MaxTimeNs = source.ValueOr(n.Get("max_time"), int64(60e9))
	s.TimeStepNs = source.ValueOr(n.Get("time_step"), int64(10e6))
	s.StartUnixNs = source.ValueOr(n.Get("start"), int64(1735689600e9)) // 2025-01-01
	if s.SetupNs = source.ValueOr(n.Get("wait_for_setup"), int64(0)); s.SetupNs == 0 && n.Has("wait_for_setup") {
		s.SetupNs = -1
	}
	s.Sched.PreemptPPM = source.ValueOr(n.Get("preempt_rate"), uint64(50_000))
	switches := n.Get("switches")
	s.Sched.Blocks = int(source.ValueOr(switches.Get("blocks"), int64(0)))
	if s.Sched.Blocks > 0 {
		s.Sched.SwitchPPM = source.ValueOr(switches.Get("rate"), uint64(defaultSwitchPPM))
	}
	s.Sched.CPUs = int(source.ValueOr(n.Get("cpus"), int64(0)))
	if s.Sched.CPUs == 0 && s.Sched.Blocks > 0 {
		s.Sched.CPUs = defaultSwitchCPUs
	}
	for _, key := range []string{"switches", "cpus"} {
		l.Remember(load.Place{Part: engine.PartSimulation, Name: key}, n.Get(key), "simulation."+key)
	}
	cost := n.Get("cost")
	s.Cost = world.Cost{CallNs: source.ValueOr(cost.Get("call_ns"), int64(1000)), ClockReadNs: source.ValueOr(cost.Get("clock_read_ns"), int64(50))}
	limits := n.Get("limits")
	s.Limits = world.Limits{
		Events:      uint64(source.ValueOr(limits.Get("events"), int64(0))),
		WallMs:      atLeastOneMs(source.ValueOr(limits.Get("wall_time"), int64(defaultWallNs))),
		Threads:     int(source.ValueOr(limits.Get("threads"), int64(0))),
		MemoryBytes: source.ValueOr(limits.Get("memory_bytes"), int64(0)), WorldBytes: source.ValueOr(limits.Get("world_memory_bytes"), int64(0)),
		SpinCPUMs: atLeastOneMs(source.ValueOr(limits.Get("spin_cpu_time"), int64(0))),
	}
	l.result.Exploration.Seeds = uint64(source.ValueOr(n.Get("seeds"), int64(0)))
}

// defaultWallNs bounds the real time of a run where the configuration does not: far more than runs take, so that what hangs ends.
const defaultWallNs = 600e9

// atLeastOneMs rounds up, so that what was set does not become "not set".
func atLeastOneMs(ns int64) int64 { return (ns + 999_999) / 1_000_000 }

func (l *loader) settings(top *source.Node) {
	n := top.Get("exploration")
	e := &l.result.Exploration
	e.Strategy = source.ValueOr(n.Get("strategy"), search.Default)
	base := e.Strategy // without a guide and words, which package search knows
	if i := strings.IndexAny(base, ":+"); i >= 0 {
		base = base[:i]
	}
	if s := n.Get("strategy"); s != nil && !s.Bad && !slices.Contains(search.Names, base) {
		l.Fail(s.Position, suggest.Remedy(base, search.Names), "exploration.strategy: unknown value %q", e.Strategy)
	}
	l.Remember(load.Place{Part: "exploration.strategy"}, n.Get("strategy"), "exploration.strategy")
	l.searches(n, base)
	if s := n.Get("seed"); s != nil {
		seed := s.Value.(uint64)
		e.Seed = &seed
	}
	e.Workers = int(source.ValueOr(n.Get("parallel_workers"), int64(0)))
	e.TimeoutNs = source.ValueOr(n.Get("timeout"), int64(0))
	e.MaxDepth = source.ValueOr(n.Get("max_depth"), int64(0))
	e.MaxStates = source.ValueOr(n.Get("max_states"), int64(0))
	e.Length = source.ValueOr(n.Get("length"), "")
	e.FeedbackDelay = source.ValueOr(n.Get("feedback_delay"), int64(0))
	for name, to := range map[string]**int64{"max": &e.Snapshots.Max, "memory_bytes": &e.Snapshots.MemoryBytes} {
		if v := n.Get("snapshots").Get(name); v != nil && !v.Bad {
			bound := v.Value.(int64)
			*to = &bound
		}
	}
	if f := source.ValueOr(n.Get("corpus"), ""); f != "" {
		e.Corpus = l.Under(l.Spec.Dir, f)
		l.Remember(load.Place{Part: "exploration.corpus"}, n.Get("corpus"), "exploration.corpus")
	}
	for _, item := range n.Get("streams").List() {
		if err := tape.CheckPattern(item.Text); err != nil {
			l.Fail(item.Position, "write names of streams, with * for one part and ** for any number of parts, such as fault/**",
				"exploration.streams: %q is not a pattern: %v", item.Text, err)
			continue
		}
		e.Streams = append(e.Streams, item.Text)
	}
	e.PrioritizeCoverage = source.ValueOr(n.Get("prioritize_coverage"), false)
	e.PrioritizeNearViolation = source.ValueOr(n.Get("prioritize_near_violation"), false)

	n = top.Get("output")
	l.result.Output = Output{
		Dir:                  l.Under(l.Spec.Dir, source.ValueOr(n.Get("dir"), stateDir)),
		SaveViolationTraces:  source.ValueOr(n.Get("save_violation_traces"), false),
		SaveInterestingSeeds: source.ValueOr(n.Get("save_interesting_seeds"), false),
		SummaryReport:        source.ValueOr(n.Get("summary_report"), false),
		CoverageFormat:       source.ValueOr(n.Get("coverage_format"), ""),
	}
	l.Remember(load.Place{Part: "output.dir"}, n.Get("dir"), "output.dir")

	l.coverage(top.Get("coverage"))

	n = top.Get("debug")
	d := &l.result.Debug
	d.TraceLevel = source.ValueOr(n.Get("trace_level"), "")
	if f := source.ValueOr(n.Get("trace_file"), ""); f != "" {
		d.TraceFile = l.Under(l.Spec.Dir, f)
		l.Remember(load.Place{Part: "debug.trace_file"}, n.Get("trace_file"), "debug.trace_file")
	}
	for _, item := range n.Get("trace_events").List() {
		if near := suggest.Nearest(item.Text, traceEvents); near != "" && near != item.Text && suggest.Distance(near, item.Text) <= 2 {
			l.Fail(item.Position, fmt.Sprintf("did you mean %q?", near), "debug.trace_events: unknown event %q", item.Text)
			continue
		}
		d.TraceEvents = append(d.TraceEvents, item.Text)
	}
}

// searches reports keys that the strategy does not ask for. A flag may name another strategy, for which they count.
func (l *loader) searches(n *source.Node, strategy string) {
	idle := func(why string, names ...string) {
		for _, name := range names {
			if key := n.Get(name); key != nil {
				l.Idle(key.Position, "exploration."+name, why)
			}
		}
	}
	kind := search.KindOf(strategy)
	unused := func(why string, names ...string) {
		if !kind.Uses(names[0]) {
			idle(why, names...)
		}
	}
	only := func(key string) string { return "only " + strings.Join(search.Using(key), " and ") }
	switch {
	case kind.Name != "" && !kind.Uses(search.KeyFeedbackDelay):
		idle("the strategy "+strategy+" uses no feedback", search.KeyFeedbackDelay)
	case kind.Uses(search.KeyLength) && source.ValueOr(n.Get("length"), "") == keys.FullLength:
		idle("the strategy "+strategy+" uses feedback only for the length of runs", search.KeyFeedbackDelay)
	}
	unused(only(search.KeyLength)+" varies the length of runs, but the strategy is "+strategy, search.KeyLength)
	unused(strategy+" tapes follow no feedback", search.KeyCorpus, search.KeyCoverage, search.KeyNearness)
	unused(only(search.KeyMaxDepth)+" use it, but the strategy is "+strategy, search.KeyMaxDepth, search.KeyMaxStates, search.KeyStreams)
}

// traceEvents are the classes of events that debug.trace_events may name, besides system calls.
var traceEvents = []string{"network_send", "network_recv", "disk_write", "disk_read", "disk_sync", "process_start", "process_exit", "process_crash", "fault"}

func (l *loader) patterns(n *source.Node) {
	if n == nil {
		return
	}
	for _, e := range n.Entries {
		if !e.Value.Bad {
			l.Spec.LogPatterns = append(l.Spec.LogPatterns, world.LogPattern{Name: e.Name, Pattern: e.Value.Text})
		}
	}
}

// timesFit notes a workload that max_time will cut off: its verdicts would be unknown.
func (l *loader) timesFit(top *source.Node) {
	for _, w := range l.Spec.Workloads {
		if need := w.DurationNs + l.Spec.Faults.SettleNs; need >= l.Spec.MaxTimeNs {
			l.Note(top.Position, "simulation.max_time", "workload %q (%s) and faults.settle (%s) do not fit in max_time (%s): "+
				"runs would end before their final checks, and be unknown", w.Name, inSeconds(w.DurationNs),
				inSeconds(l.Spec.Faults.SettleNs), inSeconds(l.Spec.MaxTimeNs))
		}
	}
}

func inSeconds(ns int64) string { return fmt.Sprintf("%gs", float64(ns/1e6)/1e3) }
