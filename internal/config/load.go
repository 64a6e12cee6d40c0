// Package config reads bloodhound.yaml and Compose files into a world.Spec. It is strict: every key is known, every
// accepted key has an effect or a note that says why it has none, and mistakes are told with file, line, caret and
// remedy, many at once.
//
// The tables in keys.go are the one list of keys. A file is parsed into a tree (tree.go), compared with the tables
// (shape.go), which stores typed values in it, and then built into the Spec: nodes.go, workload.go, property.go,
// faults.go.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Options says what to read.
type Options struct {
	// Path is a folder with a bloodhound.yaml, or a YAML file; empty is the current folder.
	Path string
	// ComposeFiles replace the key `compose:`. With them a folder needs no bloodhound.yaml.
	ComposeFiles []string
	// ConfigFile is read instead of the bloodhound.yaml in Path.
	ConfigFile string
	// Images finds the images of nodes. Without it, a node that needs one is an error.
	Images Images
	// Describe asks no Images: nodes have their image's name, and nothing of what an image says.
	Describe bool
	// Dockerfiles builds images of services that have a Dockerfile. Without it, these must be there already.
	Dockerfiles Dockerfiles
	// Env has the variables for interpolation and for environments without values; nil is the process's own.
	Env map[string]string
}

// Result is what a configuration says.
type Result struct {
	// File is the configuration, or the first Compose file where there is none.
	File        string
	Spec        *world.Spec
	Builds      []Build
	Exploration Exploration
	Output      Output
	Coverage    Coverage
	Debug       Debug
	// Notes tell about keys that have no effect, spellings and guesses. They are no mistakes.
	Notes []Note

	files  []*file
	places map[place]location
}

// Files are the files that were read, as the user named them.
func (r *Result) Files() []string {
	var names []string
	for _, f := range r.files {
		names = append(names, f.name)
	}
	return names
}

// Build is a command that builds programs of the project on this machine, before the first world boots.
type Build struct {
	Node string   `json:"node"` // the first node that asked for it
	Argv []string `json:"command"`
	Dir  string   `json:"dir"`                   // absolute
	Env  []string `json:"environment,omitempty"` // besides the user's own, NAME=value
}

// Exploration is how tapes are searched. Zero values were not set.
type Exploration struct {
	Strategy                string   `json:"strategy"`
	Seed                    *uint64  `json:"seed,omitempty"`
	Seeds                   uint64   `json:"seeds,omitempty"` // simulation.seeds
	Workers                 int      `json:"parallel_workers,omitempty"`
	TimeoutNs               int64    `json:"timeout_ns,omitempty"` // real time
	MaxDepth                int64    `json:"max_depth,omitempty"`
	MaxStates               int64    `json:"max_states,omitempty"`
	Streams                 []string `json:"streams,omitempty"`
	FeedbackDelay           int64    `json:"feedback_delay,omitempty"` // runs; 0 is the default
	Corpus                  string   `json:"corpus,omitempty"`         // absolute; empty is none
	PrioritizeCoverage      bool     `json:"prioritize_coverage,omitempty"`
	PrioritizeNearViolation bool     `json:"prioritize_near_violation,omitempty"`
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

// Note is a remark about one key.
type Note struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Key  string `json:"key"` // such as debug.gdb_port
	Text string `json:"text"`
	// Idle tells that the key has no effect.
	Idle bool `json:"idle,omitempty"`
}

func (n Note) String() string { return fmt.Sprintf("%s:%d: %s: %s", n.File, n.Line, n.Key, n.Text) }

// Names of configurations, in the order in which a folder is searched.
var fileNames = []string{"bloodhound.yaml", "bloodhound.yml"}

// stateDir is the folder for the state of a project, beside its configuration.
const stateDir = ".bloodhound"

// loader is one Load.
type loader struct {
	opts    Options
	result  *Result
	spec    *world.Spec
	files   []*file
	dotEnvs map[string]map[string]string
	root    *shape // of the file that is being checked
	errs    []*Error
	nodes   []*declared
	// left are nodes that are left out, by their profiles or a scale of 0. Others may be built from their images.
	left []*declared
	// composed is what the Compose files say, nil without any.
	composed *node
	// surveying tells that what is checked is not the last word on it: keys without effect are told later.
	surveying bool
	nets      []*netDecl
	building  []string        // services whose images are being built, each for the one before it
	lent      map[string]bool // sources of volumes that other nodes have by volumes_from
	bridged   bool            // a note says what network_mode: bridge is
}

// Load reads a configuration. Mistakes in files are an Errors; all errors are the user's.
func Load(opts Options) (*Result, error) {
	if opts.Env == nil {
		opts.Env = map[string]string{}
		for _, v := range os.Environ() {
			name, value, _ := strings.Cut(v, "=")
			opts.Env[name] = value
		}
	}
	l := &loader{opts: opts, dotEnvs: map[string]map[string]string{}, spec: &world.Spec{}}
	l.result = &Result{Spec: l.spec, places: map[place]location{}}
	name, err := configFile(opts)
	if err != nil {
		return nil, err
	}
	var named []composeName
	var top *node
	if name != "" {
		if top, err = l.read(name); err != nil {
			return nil, unread(err)
		}
		if l.root == &composeFile { // a Compose file in the place of a configuration
			named, top, l.files = append(named, composeName{path: name}), nil, nil
			l.errs, l.result.Notes = nil, nil
		}
	}
	for _, name := range opts.ComposeFiles {
		named = append(named, composeName{path: name})
	}
	if e := top.entry("compose"); e != nil && len(opts.ComposeFiles) > 0 {
		l.idle(e.key.position, "compose", "--compose replaces it")
	} else if e != nil {
		for _, v := range top.get("compose").scalars() {
			named = append(named, composeName{l.beside(v.file, v.text), v})
		}
	}
	l.place(name, opts.ComposeFiles)
	mistakes := len(l.errs)
	if l.composed, err = l.compose(named); err != nil {
		return nil, err
	}
	if len(l.errs) > mistakes { // what the nodes are is not known
		return nil, sortErrors(l.errs, l.files)
	}
	if top == nil {
		at := position{file: &file{name: l.result.File}}
		if len(l.files) > 0 {
			at.file = l.files[0]
		}
		top = &node{position: at, kind: mapping}
	}
	l.build(top)
	if len(l.errs) > 0 {
		return nil, sortErrors(l.errs, l.files)
	}
	l.sortNotes()
	l.result.files = l.files
	return l.result, nil
}

// unread adds the remedy to the error of a file that was named outside of files.
func unread(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w; name a file that is there", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w; make it readable", err)
	}
	return err
}

// sortNotes puts notes in the order of files and lines.
func (l *loader) sortNotes() {
	order := map[string]int{}
	for i, f := range l.files {
		order[f.name] = i
	}
	slices.SortStableFunc(l.result.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line))
	})
	seen := map[Note]bool{}
	l.result.Notes = slices.DeleteFunc(l.result.Notes, func(n Note) bool { // replicas have the same
		again := seen[n]
		seen[n] = true
		return again
	})
}

// configFile finds the configuration; empty where Compose files are all there is.
func configFile(opts Options) (string, error) {
	if opts.ConfigFile != "" {
		return opts.ConfigFile, nil
	}
	path := opts.Path
	if path == "" {
		path = "."
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%w; name a folder with a bloodhound.yaml, or a YAML file", err)
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, name := range fileNames {
		name = filepath.Join(path, name)
		if _, err := os.Stat(name); err == nil {
			return name, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if len(opts.ComposeFiles) > 0 {
		return "", nil
	}
	if name := composeIn(path); name != "" {
		return "", fmt.Errorf("no bloodhound.yaml in %s; `--compose %s` reads the Compose file that is there, `bloodhound init` writes a bloodhound.yaml",
			path, filepath.Join(path, name))
	}
	return "", fmt.Errorf("no bloodhound.yaml in %s; `bloodhound init` writes one", path)
}

// read parses a bloodhound.yaml and compares it with its table. It returns nil where there is nothing to build on. Of a
// Compose file it sets the root alone.
func (l *loader) read(name string) (*node, error) {
	f, content, err := l.open(name, l.projectEnv(l.opts.Env, filepath.Join(filepath.Dir(name), ".env")))
	if err != nil {
		return nil, err
	}
	n := l.parse(f, content, false)
	l.root = &bloodhoundFile
	if n == nil || n.bad {
		return nil, nil
	}
	if n.has("services") || n.has("include") {
		l.root = &composeFile
		return nil, nil
	}
	if n.kind != mapping {
		l.fail(n.position, "write `key: value` lines; `bloodhound init` writes a file to start from", "a configuration cannot be %s", n.kind)
		return nil, nil
	}
	l.check(n, l.root, "", false)
	return n, nil
}

// place sets the project's folder: that of the configuration, or else that of the path or of the first Compose file.
func (l *loader) place(name string, compose []string) {
	dir := l.opts.Path
	switch {
	case name != "":
		dir = filepath.Dir(name)
	case dir == "" && len(compose) > 0:
		dir = filepath.Dir(compose[0])
	}
	if name == "" && len(compose) > 0 {
		name = compose[0]
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	l.result.File, l.spec.Dir = name, abs
}

// beside is a path that a file names, as the user would name it.
func (l *loader) beside(f *file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.name), path)
}

// under makes a path of a file's absolute.
func (l *loader) under(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, ok := l.opts.Env["HOME"]; ok {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// words returns the texts of a scalar or of a list of them.
func (n *node) words() []string {
	if n == nil {
		return nil
	}
	if n.kind == scalar {
		return []string{n.text}
	}
	var all []string
	for _, item := range n.list() {
		all = append(all, item.text)
	}
	return all
}

// argv returns the words of a command: a list as it is, text split as a shell does it.
func (l *loader) argv(n *node, key string) []string {
	if n == nil || n.kind != scalar {
		return n.words()
	}
	words, err := splitWords(n.text)
	if err != nil {
		n.bad = true
		l.fail(n.position, `for a shell's work write [sh, -c, "..."]; put quotes around what is meant literally`, "%s: %v", key, err)
	}
	return words
}

// build makes the Result of the checked files.
func (l *loader) build(top *node) {
	l.spec.Name = valueOr(top.get("name"), "")
	if e := l.composed.entry("name"); e != nil && !e.implied {
		if l.spec.Name != "" {
			l.idle(e.key.position, "name", "the world is called "+l.spec.Name+" already")
		} else {
			l.spec.Name = valueOr(e.value, "")
		}
	}
	if l.spec.Name == "" {
		l.spec.Name = filepath.Base(l.spec.Dir)
	}
	l.simulation(top.get("simulation"))
	l.settings(top)
	l.networks(top)
	l.declare(top)
	l.buildNodes()
	l.links(top)
	l.workloads(top)
	l.properties(top)
	l.patterns(top.get("log_patterns"))
	l.faults(top.get("faults"))
	if ns := top.get("simulation").get("cost").get("sync_ns"); ns != nil {
		l.spec.Cost.SyncNs = ns.value.(int64)
	}
	l.furnish()
	l.addresses(top)
	l.timesFit(top)
}

func (l *loader) simulation(n *node) {
	s := l.spec
	s.MaxTimeNs = valueOr(n.get("max_time"), int64(60e9))
	s.TimeStepNs = valueOr(n.get("time_step"), int64(10e6))
	s.StartUnixNs = valueOr(n.get("start"), int64(1735689600e9)) // 2025-01-01
	if s.SetupNs = valueOr(n.get("wait_for_setup"), int64(0)); s.SetupNs == 0 && n.has("wait_for_setup") {
		s.SetupNs = -1
	}
	s.Sched.PreemptPPM = valueOr(n.get("preempt_rate"), uint64(50_000))
	cost := n.get("cost")
	s.Cost = world.Cost{CallNs: valueOr(cost.get("call_ns"), int64(1000)), ClockReadNs: valueOr(cost.get("clock_read_ns"), int64(50))}
	limits := n.get("limits")
	s.Limits = world.Limits{
		Events:      uint64(valueOr(limits.get("events"), int64(0))),
		WallMs:      atLeastOneMs(valueOr(limits.get("wall_time"), int64(defaultWallNs))),
		Threads:     int(valueOr(limits.get("threads"), int64(0))),
		MemoryBytes: valueOr(limits.get("memory_bytes"), int64(0)), WorldBytes: valueOr(limits.get("world_memory_bytes"), int64(0)),
		SpinCPUMs: atLeastOneMs(valueOr(limits.get("spin_cpu_time"), int64(0))),
	}
	l.result.Exploration.Seeds = uint64(valueOr(n.get("seeds"), int64(0)))
}

// defaultWallNs bounds the real time of a run where the configuration does not: far more than runs take, so that what hangs ends.
const defaultWallNs = 600e9

// atLeastOneMs rounds up, so that what was set does not become "not set".
func atLeastOneMs(ns int64) int64 { return (ns + 999_999) / 1_000_000 }

func (l *loader) settings(top *node) {
	n := top.get("exploration")
	e := &l.result.Exploration
	e.Strategy = valueOr(n.get("strategy"), "random")
	l.searches(n, e.Strategy)
	if s := n.get("seed"); s != nil {
		seed := s.value.(uint64)
		e.Seed = &seed
	}
	e.Workers = int(valueOr(n.get("parallel_workers"), int64(0)))
	e.TimeoutNs = valueOr(n.get("timeout"), int64(0))
	e.MaxDepth = valueOr(n.get("max_depth"), int64(0))
	e.MaxStates = valueOr(n.get("max_states"), int64(0))
	e.FeedbackDelay = valueOr(n.get("feedback_delay"), int64(0))
	if f := valueOr(n.get("corpus"), ""); f != "" {
		e.Corpus = l.under(l.spec.Dir, f)
		l.remember(place{part: "exploration.corpus"}, n.get("corpus"), "exploration.corpus")
	}
	for _, item := range n.get("streams").list() {
		if err := tape.CheckPattern(item.text); err != nil {
			l.fail(item.position, "write names of streams with * for one part and ** for any number of them, such as fault/**", "exploration.streams: %q is no pattern: %v", item.text, err)
			continue
		}
		e.Streams = append(e.Streams, item.text)
	}
	e.PrioritizeCoverage = valueOr(n.get("prioritize_coverage"), false)
	e.PrioritizeNearViolation = valueOr(n.get("prioritize_near_violation"), false)

	n = top.get("output")
	l.result.Output = Output{
		Dir:                  l.under(l.spec.Dir, valueOr(n.get("dir"), stateDir)),
		SaveViolationTraces:  valueOr(n.get("save_violation_traces"), false),
		SaveInterestingSeeds: valueOr(n.get("save_interesting_seeds"), false),
		SummaryReport:        valueOr(n.get("summary_report"), false),
		CoverageFormat:       valueOr(n.get("coverage_format"), ""),
	}
	l.remember(place{part: "output.dir"}, n.get("dir"), "output.dir")

	l.coverage(top.get("coverage"))

	n = top.get("debug")
	d := &l.result.Debug
	d.TraceLevel = valueOr(n.get("trace_level"), "")
	if f := valueOr(n.get("trace_file"), ""); f != "" {
		d.TraceFile = l.under(l.spec.Dir, f)
		l.remember(place{part: "debug.trace_file"}, n.get("trace_file"), "debug.trace_file")
	}
	for _, item := range n.get("trace_events").list() {
		if near := nearest(item.text, traceEvents); near != "" && near != item.text && distance(near, item.text) <= 2 {
			l.fail(item.position, fmt.Sprintf("did you mean %q?", near), "debug.trace_events: %q is no event", item.text)
			continue
		}
		d.TraceEvents = append(d.TraceEvents, item.text)
	}
}

// searches tells of keys that the strategy does not ask for. A flag may name another strategy, for which they count.
func (l *loader) searches(n *node, strategy string) {
	idle := func(why string, names ...string) {
		for _, name := range names {
			if key := n.get(name); key != nil {
				l.idle(key.position, "exploration."+name, why)
			}
		}
	}
	if strategy == "random" {
		idle("random tapes follow no feedback", "feedback_delay")
	}
	if strategy != "coverage-guided" {
		idle(strategy+" tapes follow no feedback", "corpus", "prioritize_coverage", "prioritize_near_violation")
	}
	if strategy != "bfs" && strategy != "dfs" {
		idle("it bounds bfs and dfs, and tapes are "+strategy, "max_depth", "max_states")
		idle("bfs and dfs edit these, and tapes are "+strategy, "streams")
	}
}

// traceEvents are the classes of events that debug.trace_events may name, besides system calls.
var traceEvents = []string{"network_send", "network_recv", "disk_write", "disk_read", "disk_sync", "process_start", "process_exit", "process_crash", "fault"}

func (l *loader) patterns(n *node) {
	if n == nil {
		return
	}
	for _, e := range n.entries {
		if !e.value.bad {
			l.spec.LogPatterns = append(l.spec.LogPatterns, world.LogPattern{Name: e.name, Pattern: e.value.text})
		}
	}
}

// timesFit notes a workload that max_time will cut off: its verdicts would be unknown.
func (l *loader) timesFit(top *node) {
	for _, w := range l.spec.Workloads {
		if need := w.DurationNs + l.spec.Faults.SettleNs; need >= l.spec.MaxTimeNs {
			l.note(top.position, "simulation.max_time", "workload %q (%s) and faults.settle (%s) do not fit into max_time (%s): "+
				"runs would end before their final checks, as unknown", w.Name, inSeconds(w.DurationNs), inSeconds(l.spec.Faults.SettleNs), inSeconds(l.spec.MaxTimeNs))
		}
	}
}

func inSeconds(ns int64) string { return fmt.Sprintf("%gs", float64(ns/1e6)/1e3) }
