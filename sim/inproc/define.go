package inproc

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// World describes a world: its nodes, its properties, and the faults to inject. The function that describes the world fills one in, anew for
// each run.
type World struct {
	spec      *world.Spec // while the engine is made; nil in a run, which has its own
	settings  Settings
	parts     []part
	checks    []promise
	followers []*model.Follower
	guides    []*model.Follower // those of followers that promise nothing
	unguided  bool              // see inprocess.Engine.Unguided
	measured  bool              // how close the run comes to what specifications have
	faults    []world.FaultRule
	props     []world.Property
	after     []func(*Step)
	errs      []error
}

// part is a node of the description.
type part struct {
	name    string
	role    world.Role
	process func(*Process)
	machine func(*Node) Machine
}

// promise is a property that is a function.
type promise struct {
	name   string
	kind   world.PropertyKind
	final  bool // asked in the final phase alone
	within int64
	holds  func() error
	// follower is set for a property that follows the run in a model: at the end its End is called instead of holds.
	follower *model.Follower
}

// Settings are the parameters of a world. Each zero field stands for its default.
type Settings struct {
	MaxTime time.Duration // the longest virtual time of a run; 60 s by default
	// Latency is the time that a message takes, plus a random part of Jitter. Both are 1 ms by default; a negative
	// value means 0.
	Latency, Jitter time.Duration
	Tick            time.Duration // between ticks of a machine; 100 ms by default
	Sync            time.Duration // the duration of a disk's synchronisation; 100 µs by default
	// Faults begin after Warmup and last for Chaos: if Chaos is 0, until all clients have ended, or for 10 s in a world
	// without clients. Settle is the time after the chaos phase, 1 s by default. A negative Settle means 0.
	Warmup, Chaos, Settle time.Duration
	TimeStep              time.Duration // between the moments at which faults may start; 100 ms by default
	// Preempt is the probability, at each call of a process into the world, that other programs run first. The default
	// is 1 %; a negative value means 0.
	Preempt float64
	// Switch is the probability that other processes run first, at each operation of sync and sync/atomic and each go
	// statement of code that is built for it (bloodhound test --actor-mode --switches). The default is 1 %; a negative
	// value means 0. A third of the runs use this probability, a third 4 times and a third 16 times as much.
	Switch float64
	Events uint64    // the limit of calls and deliveries in a run; a million by default
	Start  time.Time // the time at the start of a run; 2026-01-01 by default
	// Swarm disables a random subset of the kinds of faults in each run.
	Swarm bool
	// Schedule makes the steps of the world choices of the tape. If it is nil, messages have latencies instead.
	Schedule *Schedule
}

// Schedule makes the steps of a world choices of the tape, as in model-guided fuzzing: each step delivers some messages
// of one non-empty channel, ticks machines, and may start or end faults. Messages have no latency.
type Schedule struct {
	Steps    int // of a run; 100 by default
	Messages int // the most that one step delivers; 5 by default
	// Step is the virtual time that a step takes, 10 ms by default. Durations of faults are rounded to steps.
	Step time.Duration
	// Quiet is the probability that a machine does not tick at a step, 0 by default.
	Quiet float64
	// Ticks is the number of ticks of a machine at a step, 1 by default.
	Ticks int
	// Mailboxes keeps one queue per receiver, in the order of sending, instead of one per sender and receiver.
	Mailboxes bool
}

// Op is an operation that a client is about to perform.
type Op struct {
	Kind  string // put, get, transfer, ...
	Key   string
	Input string
	// Expect is the value that a compare-and-set replaces with Input.
	Expect string
	// Node is the server that receives the request, if it is known.
	Node string
}

// Defaults of Settings.
const (
	defaultMaxTime  = 60 * time.Second
	defaultLatency  = time.Millisecond
	defaultTick     = 100 * time.Millisecond
	defaultSync     = 100 * time.Microsecond
	defaultChaos    = 10 * time.Second
	defaultSettle   = time.Second
	defaultTimeStep = 100 * time.Millisecond
	defaultPreempt  = 0.01
	defaultSwitch   = 0.01
	defaultEvents   = 1_000_000
	defaultSteps    = 100
	defaultMessages = 5
	defaultStep     = 10 * time.Millisecond
	callNs          = 1_000 // virtual time of a call into the world
	// checkEvery is how often a property that must come true is asked.
	checkEvery = 50 * time.Millisecond
)

// Process adds a server whose main function is sequential code.
func (w *World) Process(name string, main func(*Process)) {
	w.add(part{name: name, role: world.Server, process: main}, main == nil)
}

// Client adds a node whose main function performs operations. Its links suffer faults; the node itself does not. Clients start when all
// servers have started. When all clients have ended, the chaos phase ends.
func (w *World) Client(name string, main func(*Process)) {
	w.add(part{name: name, role: world.Client, process: main}, main == nil)
}

// Machine adds a server whose code is called for each message and each tick. start makes the machine from the contents
// of the node's disk: at first, and again after each crash.
func (w *World) Machine(name string, start func(*Node) Machine) {
	w.add(part{name: name, role: world.Server, machine: start}, start == nil)
}

func (w *World) add(p part, empty bool) {
	switch {
	case empty:
		w.mistake("node %q has no function; give one", p.name)
	case p.name == "" || strings.ContainsAny(p.name, " /\t\n*#\"") || strings.Contains(p.name, "->"):
		w.mistake("%q is not a valid node name; use letters, digits, dots, hyphens and underscores", p.name)
	case slices.ContainsFunc(w.parts, func(o part) bool { return o.name == p.name }):
		w.mistake("two nodes are named %q; give them different names", p.name)
	}
	w.parts = append(w.parts, p)
}

// Set sets the parameters of the world.
func (w *World) Set(s Settings) {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"MaxTime", s.MaxTime}, {"Tick", s.Tick}, {"Sync", s.Sync}, {"Warmup", s.Warmup}, {"Chaos", s.Chaos}, {"TimeStep", s.TimeStep}} {
		if d.d < 0 {
			w.mistake("%s is %s; it must not be negative", d.name, d.d)
		}
	}
	for _, c := range []struct {
		name string
		v    float64
	}{{"Preempt", s.Preempt}, {"Switch", s.Switch}} {
		if c.v > 1 {
			w.mistake("%s is %v; it must be a probability, from 0 to 1", c.name, c.v)
		}
	}
	if c := s.Schedule; c != nil && (c.Steps < 0 || c.Messages < 0 || c.Ticks < 0 || c.Step < 0 || c.Quiet < 0 || c.Quiet > 1) {
		w.mistake("Schedule has Steps %d, Messages %d, Ticks %d, Step %s and Quiet %v; none must be negative, "+
			"and Quiet must be a probability, from 0 to 1",
			c.Steps, c.Messages, c.Ticks, c.Step, c.Quiet)
	}
	w.settings = s
	if w.spec != nil && s.Schedule != nil {
		for i := range w.faults {
			if err := scheduled(&w.faults[i]); err != nil {
				w.mistake("%q: %v", fault.Sentence(&w.faults[i]), err)
			}
		}
	}
}

// Faults adds rules that inject faults, such as "crash on n1 rate 2%", "partition rate 5% for 100ms..1s" or "power_loss
// at fsync". Rates are per time step, except for faults of messages and of calls on disks, whose rates are per message
// and per call. docs/reference/faults.md describes the language.
func (w *World) Faults(sentences ...string) {
	if w.spec == nil {
		return // the run's Spec has them
	}
	for _, s := range sentences {
		r, err := fault.Parse(s)
		if err == nil {
			err = possible(&r)
		}
		if err == nil && w.settings.Schedule != nil {
			err = scheduled(&r)
		}
		if err != nil {
			w.mistake("%q: %v", s, err)
			continue
		}
		w.faults = append(w.faults, r)
	}
}

// Property is a check over the operations of clients (see [Process.Operation]). docs/reference/checks.md describes the
// types and their fields; leave the fields that a type does not use at zero.
type Property struct {
	Name        string
	Description string // for reports; empty is Name
	Type        string // linearizability, isolation, durability, monotonic, expression, invariant, progress or recovery
	Model       string // of linearizability, isolation and durability
	Level       string // of isolation
	Operations  []string
	Condition   string // of an expression
	// Failures is the number of failures in a row that violates progress. An operation longer than Hang also violates
	// it. Times of faults, and Grace after them, do not count unless DuringFaults is set.
	Failures     int
	Hang, Grace  time.Duration
	DuringFaults bool
	Keys         int           // of recovery: the number of keys to try
	Within       time.Duration // of recovery: after the last fault has ended
}

// overOperations reports whether checks of a kind judge what operations of clients returned, and when.
func overOperations(k *world.CheckKind) bool {
	return k.Basis == world.ByOperations || k.Basis == world.ByRun
}

// Property adds a check over the operations of clients.
func (w *World) Property(p Property) {
	t := world.CheckType(p.Type)
	kind := cmp.Or(t.Kind().Property, world.Safety)
	if known := world.CheckTypes(overOperations); !slices.Contains(known, p.Type) {
		last := len(known) - 1
		w.mistake("property %q: %q is not a type of check over operations; types are %s and %s, and Invariant, "+
			"Eventually and Final take functions",
			p.Name, p.Type, strings.Join(known[:last], ", "), known[last])
	}
	w.check(world.Property{Name: p.Name, Kind: kind, Description: p.Description, TimeoutNs: int64(p.Within), Check: world.Check{Type: t,
		Subject:  world.Subject{Model: p.Model, Level: p.Level, Operations: p.Operations, Condition: p.Condition},
		Patience: world.Patience{Failures: p.Failures, HangNs: int64(p.Hang), GraceNs: int64(p.Grace), DuringFaults: p.DuringFaults}, Keys: p.Keys}})
}

// check adds a property while the engine is made. In a run its Spec has them.
func (w *World) check(p world.Property) {
	if w.spec != nil {
		w.property(p)
	}
}

// linearizable is the name of the property that Linearizable adds.
const linearizable = "linearizable"

// Linearizable promises that the operations behave as if each took effect at one moment between its invocation and its return. model is
// key-value, or another model of docs/reference/checks.md.
func (w *World) Linearizable(model string) {
	if slices.ContainsFunc(w.props, func(o world.Property) bool { return o.Name == linearizable }) {
		w.mistake("two properties are named %q; for another one use Property, with its own name and the type "+
			"%s", linearizable, world.Linearizability)
		return
	}
	w.check(world.Property{Name: linearizable, Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
		Subject: world.Subject{Model: model}}})
}

// Invariant promises that a function returns no error. It is called after each step of a node. It may read the
// variables of the describing function but must not change anything. The first error ends the run.
func (w *World) Invariant(name string, holds func() error) {
	w.promise(promise{name: name, kind: world.Invariant, holds: holds})
}

// Final promises that a function returns no error at the end, after all faults have ended and the world has settled.
func (w *World) Final(name string, holds func() error) {
	w.promise(promise{name: name, kind: world.Safety, final: true, holds: holds})
}

// Eventually promises that a function returns no error at some time within a duration after the start, and again after
// each end of a fault.
func (w *World) Eventually(name string, within time.Duration, holds func() error) {
	if within <= 0 {
		w.mistake("property %q: it must come true within %s; give a time above 0", name, within)
	}
	w.promise(promise{name: name, kind: world.Liveness, within: int64(within), holds: holds})
}

func (w *World) promise(c promise) {
	if c.holds == nil {
		w.mistake("property %q has no function; give one", c.name)
	}
	w.checks = append(w.checks, c)
	if w.spec == nil {
		return
	}
	what, every := "it holds after each step of a node", int64(0)
	switch {
	case c.final:
		what = "it holds in the end"
	case c.kind == world.Liveness:
		every = max(int64(checkEvery), c.within/64)
		what = "it comes true within " + time.Duration(c.within).String() + " of the start and of each heal"
	}
	w.property(world.Property{Name: c.name, Kind: c.kind, TimeoutNs: c.within, Description: c.name + ": " + what,
		Check: world.Check{Type: world.Custom, Question: world.Question{Script: []string{c.name}}, IntervalNs: every}})
}

func (w *World) property(p world.Property) {
	switch {
	case p.Name == "":
		w.mistake("a property has no name; give one")
	case slices.ContainsFunc(w.props, func(o world.Property) bool { return o.Name == p.Name }):
		w.mistake("two properties are named %q; give them different names", p.Name)
	}
	w.props = append(w.props, p)
}

// mistake records an error in a description, with the place of the call.
func (w *World) mistake(format string, args ...any) {
	var pcs [16]uintptr
	w.errs = append(w.errs, fmt.Errorf("%s: %s", place(pcs[:runtime.Callers(2, pcs[:])]), fmt.Sprintf(format, args...)))
}

// Mistake records an error in a description, for packages that add nodes to worlds. The error names the place that
// called the calling package. A world with errors does not run.
func (w *World) Mistake(format string, args ...any) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	by := ""
	for {
		f, more := frames.Next()
		base := strings.LastIndexByte(f.Function, '/') + 1
		name, _, _ := strings.Cut(f.Function[base:], ".")
		if by == "" {
			by = f.Function[:base] + name
		}
		if !more || f.Function[:base]+name != by || strings.HasSuffix(f.File, "_test.go") {
			w.errs = append(w.errs, fmt.Errorf("%s:%d: %s", f.File, f.Line, fmt.Sprintf(format, args...)))
			return
		}
	}
}

// worldEngine runs one world that a function describes. Its worlds share nothing, as far as the function's runs do not.
type worldEngine struct {
	define func(*World)
	spec   *world.Spec
	quiet  bool
	// unguided: Guide follows no run.
	unguided bool
	// followed says that runs are followed in a specification.
	followed bool
	schedule *Schedule // nil: messages have latencies

	mu   sync.Mutex
	laid *layout // of the Spec that was booted last
}

func init() {
	inprocess.New = func(name string, describe any) (inprocess.Engine, error) {
		e, err := newEngine(name, describe.(func(*World)))
		if err != nil {
			return nil, err
		}
		return e, nil
	}
}

// newEngine makes the engine of a world. Errors are mistakes in the description, each with its place.
func newEngine(name string, define func(*World)) (*worldEngine, error) {
	if define == nil {
		return nil, errors.New("a world needs a function that describes it")
	}
	w := &World{spec: &world.Spec{Name: name, Engine: world.InProcess}}
	define(w)
	followed := len(w.followers) > 0
	for _, f := range w.followers {
		f.Release()
	}
	if len(w.parts) == 0 {
		w.errs = append(w.errs, errors.New("the world has no node; add one with Process, Client or Machine"))
	}
	if len(w.errs) > 0 {
		return nil, errors.Join(w.errs...)
	}
	e := &worldEngine{define: define, spec: w.describe(), followed: followed, schedule: w.settings.Schedule}
	if _, err := fault.New(e.spec); err != nil {
		return nil, err
	}
	return e, nil
}

// Spec implements inprocess.Engine.
func (e *worldEngine) Spec() *world.Spec {
	s := *e.spec
	s.Nodes, s.Workloads, s.Properties = slices.Clone(s.Nodes), slices.Clone(s.Workloads), slices.Clone(s.Properties)
	s.Faults.Rules = slices.Clone(s.Faults.Rules)
	return &s
}

// Quiet implements inprocess.Engine.
func (e *worldEngine) Quiet() inprocess.Engine {
	q := e.again()
	q.quiet = true
	return q
}

// Unguided implements inprocess.Engine.
func (e *worldEngine) Unguided() inprocess.Engine {
	u := e.again()
	u.unguided = true
	return u
}

// again is an engine of the same world, with nothing laid out or borrowed yet.
func (e *worldEngine) again() *worldEngine {
	return &worldEngine{define: e.define, spec: e.spec, quiet: e.quiet, unguided: e.unguided, followed: e.followed, schedule: e.schedule}
}

// Scheduled implements inprocess.Engine.
func (e *worldEngine) Scheduled() bool { return e.schedule != nil }

// Followed implements inprocess.Engine.
func (e *worldEngine) Followed() bool { return e.followed }

func or(d, otherwise time.Duration) int64 {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return int64(otherwise)
	}
	return int64(d)
}

// describe makes the Spec of a description.
func (w *World) describe() *world.Spec {
	s, c := w.spec, &w.settings
	start := c.Start
	if start.IsZero() {
		start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	s.StartUnixNs, s.MaxTimeNs, s.TimeStepNs = start.UnixNano(), or(c.MaxTime, defaultMaxTime), or(c.TimeStep, defaultTimeStep)
	s.Cost = world.Cost{CallNs: callNs, SyncNs: or(c.Sync, defaultSync)}
	s.Limits.Events = c.Events
	s.DefaultLink = world.Link{LatencyNs: or(c.Latency, defaultLatency), JitterNs: or(c.Jitter, defaultLatency)}
	switch {
	case c.Preempt == 0:
		s.Sched.PreemptPPM = defaultPreempt * tape.Certain
	case c.Preempt > 0:
		s.Sched.PreemptPPM = uint64(c.Preempt * tape.Certain)
	}
	switch {
	case c.Switch > 0:
		s.Sched.SwitchPPM = uint64(c.Switch * tape.Certain)
	case c.Switch == 0 && points.Linked:
		s.Sched.SwitchPPM = defaultSwitch * tape.Certain
	}
	s.Faults = world.Faults{Enabled: len(w.faults) > 0, Swarm: c.Swarm, StartNs: int64(c.Warmup), SettleNs: or(c.Settle, defaultSettle),
		Rules: w.faults}
	clients := slices.ContainsFunc(w.parts, func(p part) bool { return p.role == world.Client })
	switch {
	case c.Chaos > 0:
		s.Faults.StopNs = int64(c.Warmup + c.Chaos)
	case !clients:
		s.Faults.StopNs = int64(c.Warmup + defaultChaos)
	}
	if sch := c.Schedule; sch != nil {
		s.TimeStepNs = or(sch.Step, defaultStep)
		steps := sch.Steps
		if steps == 0 {
			steps = defaultSteps
		}
		s.Faults.StopNs = s.Faults.StartNs + int64(steps)*s.TimeStepNs
		s.MaxTimeNs = max(s.MaxTimeNs, 4*int64(steps)*s.TimeStepNs)
		if c.Preempt == 0 {
			s.Sched.PreemptPPM = 0 // the tape chooses the steps instead
		}
		if c.Switch == 0 {
			s.Sched.SwitchPPM = 0
		}
	}
	for _, p := range w.parts {
		n := world.Node{Name: p.name, Hostname: p.name, Role: p.role, Command: []string{kindOf(&p), nameOf(&p)}}
		s.Nodes = append(s.Nodes, n)
		if p.role == world.Client {
			s.Workloads = append(s.Workloads, world.Workload{Name: p.name, Driver: "command", Node: p.name, Clients: 1, Command: n.Command})
		}
	}
	s.Properties = w.props
	return s
}

func kindOf(p *part) string {
	if p.machine != nil {
		return "machine"
	}
	return "process"
}

// nameOf names the function of a node as the source has it.
func nameOf(p *part) string {
	f := any(p.process)
	if p.machine != nil {
		f = p.machine
	}
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndexByte(name, '/')+1:]
}

// scheduled reports why a rule can do nothing where messages have no latency, or nothing.
func scheduled(r *world.FaultRule) error {
	switch r.Kind {
	case fault.Delay, fault.SlowLink:
		return errors.New("messages of a schedule have no latency: each step chooses which one to deliver; leave out the rule, or the schedule")
	}
	return nil
}

// capabilities are the faults of worlds inside one process: all but those that mean nothing there, with what comes close.
var capabilities = engine.Capabilities{Engine: "in-process", AtCalls: true, DiskSpeed: true, Schedule: true, Reasons: map[world.FaultKind]string{
	fault.Reset:          "messages have no connections that could be reset; drop or partition loses them",
	fault.DNSFail:        "nodes know each other by name, without a lookup; partition cuts them off",
	fault.Restart:        "nodes are not told to stop; crash ends them",
	fault.Upgrade:        "a world has one release of its code; crash ends nodes",
	fault.Downgrade:      "a world has one release of its code; crash ends nodes",
	fault.Replace:        "disks of nodes are not copied; power_loss loses what was not synchronised",
	fault.Rollback:       "disks of nodes are not copied; power_loss loses what was not synchronised",
	fault.Run:            "nodes run no programs; let a client of the world do it",
	fault.OpenFail:       "disks of nodes have no call that opens a file; use read_fail and write_fail",
	fault.FDLimit:        "nodes have no descriptors; partition keeps connections from them, and disk_full keeps files from being made",
	fault.MemoryPressure: "nodes share this process's memory; crash ends them",
	fault.OOM:            "nodes share this process's memory; crash ends them",
}}

// possible reports why a rule cannot be had in such worlds, or nothing.
func possible(r *world.FaultRule) error {
	if reason := capabilities.Reasons[r.Kind]; reason != "" {
		return errors.New(reason)
	}
	if r.Moment != world.Entering {
		return errors.New("worlds inside one process inject faults at calls, and not during, after or between them; write at")
	}
	for _, call := range r.At {
		if !slices.Contains(callNames[1:], call) {
			return fmt.Errorf("there is no call %q; calls are %s", call, strings.Join(callNames[1:firstEngine], ", "))
		}
	}
	return nil
}
