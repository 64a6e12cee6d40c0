package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of what a campaign keeps, whatever its length.
const (
	MaxFailures = 200 // distinct failures; more are counted only
	MaxRefused  = 500 // distinct refused calls
	MaxWarnings = 100 // distinct warnings
	MaxLost     = 100 // runs lost to the engine or the machine that are listed
)

// Totals sums up a campaign so far, over its runs, in run order.
type Totals struct {
	Seed uint64 `json:"seed"`
	// RulesVersion is the version of the rules of its runs (world.Spec).
	RulesVersion int      `json:"rules_version,omitempty"`
	Runs         uint64   `json:"runs"`     // finished and judged
	Baseline     Baseline `json:"baseline"` // the run without faults before them
	Violated     uint64   `json:"violated"` // runs with a violation that replayed
	Events       uint64   `json:"events"`
	VirtualNs    int64    `json:"virtual_ns"`
	// WallNs is the real time of the campaign; RunWallNs the sum over its runs.
	WallNs    int64 `json:"wall_ns"`
	RunWallNs int64 `json:"run_wall_ns"`
	CPU       CPU   `json:"cpu"` // of its runs, without replays
	// StartNs is the real time that runs which began at their boot took to the end of setup, and Starts is their number. TailEvents
	// are the events of all runs after their chaos phase.
	StartNs    int64           `json:"start_ns,omitempty"`
	Starts     uint64          `json:"starts,omitempty"`
	TailEvents uint64          `json:"tail_events,omitempty"`
	Workers    int             `json:"workers"`
	Search     search.Standing `json:"search"` // how far it came
	// FeedbackDelay is the search's delay, in runs; 0 if it learns nothing from runs. A campaign only repeats with the
	// same delay.
	FeedbackDelay uint64      `json:"feedback_delay,omitempty"`
	Code          []CodeTotal `json:"code,omitempty"`
	CodeFile      string      `json:"code_file,omitempty"` // the report of it
	// Snapshots counts the runs that began at a snapshot.
	Snapshots SnapshotTotals `json:"snapshots,omitzero"`
	Memory    Memory         `json:"memory,omitzero"`
	// StateBytes is the size of the project's state folder after the campaign, 0 if it was not measured.
	StateBytes int64 `json:"state_bytes,omitempty"`
	// Replaced says which programs were others from some run on.
	Replaced   []string       `json:"replaced,omitempty"`
	Operations Operations     `json:"operations"`
	Reasons    []Reason       `json:"reasons,omitempty"`
	Evidence   check.Evidence `json:"evidence"`
	Load       Load           `json:"load"`  // over virtual time
	Curve      Curve          `json:"curve"` // over runs
	Faults     fault.Ledger   `json:"faults"`
	// Moments are those of the run without faults, and of the one that looks for further ones; Faults.Hits counts the faults at them.
	Moments   []fault.MomentCount  `json:"moments,omitempty"`
	LogCounts map[string]uint64    `json:"log_counts,omitempty"`
	Refused   []record.Unsupported `json:"refused,omitempty"`
	// Refusal is the first refused call for which a program left.
	Refusal    *record.Refusal `json:"refusal,omitempty"`
	Warnings   []Warning       `json:"warnings,omitempty"`
	Properties []PropertyTotal `json:"properties,omitempty"`
	Failures   []*Failure      `json:"failures,omitempty"`
	// Committed are the failures that were kept with the project and replayed before the campaign.
	Committed []Committed `json:"committed,omitempty"`
	// MoreFailures counts violations of signatures beyond MaxFailures.
	MoreFailures uint64 `json:"more_failures,omitempty"`
	// Unsteady are violations that did not replay and were tried again, the first MaxFailures.
	Unsteady []*Unsteady `json:"unsteady,omitempty"`
	// Unrepeatable counts runs that cannot be made again; FirstUnrepeatable is the first of them.
	Unrepeatable      uint64        `json:"unrepeatable,omitempty"`
	Once              bool          `json:"once,omitempty"` // runs of the engine do not repeat
	FirstUnrepeatable *Unrepeatable `json:"first_unrepeatable,omitempty"`
	Lost              []Lost        `json:"lost,omitempty"`
	LostRuns          uint64        `json:"lost_runs,omitempty"`
	// Mistake is a step that a world reported and its model does not have. It ends the campaign.
	Mistake string `json:"mistake,omitempty"`
	// Guide is the result of runs in the models that guide the search; nil if there are none.
	Guide *GuideTotal `json:"guide,omitempty"`
	// Deaths counts worker processes that died or hung and were replaced.
	Deaths uint64 `json:"deaths,omitempty"`
	// NeverReady are the servers that were never ready in the run without faults, or else in the first run.
	NeverReady []record.NotUp `json:"never_ready,omitempty"`
	// DriverFailed says which driver failed in the run without faults, and how.
	DriverFailed string `json:"driver_failed,omitempty"`
	// Stopped says why the campaign ended before its runs were done: interrupted, timeout, NoServer, NoDriver, or empty.
	Stopped string `json:"stopped,omitempty"`
	Machine string `json:"machine,omitempty"`
	// Background goes into the files of failures, and not into documents of a campaign.
	Background Background `json:"-"`
}

// SnapshotTotals counts the runs of a campaign that did not begin at their boot.
type SnapshotTotals struct {
	Ready uint64 `json:"ready"` // began at the end of setup
	Later uint64 `json:"later"`
	// SavedNs is how long the runs that took the snapshots needed from their boot to there.
	SavedNs int64 `json:"saved_ns"`
}

// took adds the time that a run took.
func (t *Totals) took(r *Reply) {
	t.CPU.Add(r.CPU)
	t.Memory.add(r.Memory)
	t.Snapshots.add(r)
	if r.StartNs > 0 {
		t.StartNs += r.StartNs
		t.Starts++
	}
}

func (t *SnapshotTotals) add(r *Reply) {
	switch {
	case r.Began == nil:
		return
	case r.Began.Ready:
		t.Ready++
	default:
		t.Later++
	}
	t.SavedNs += r.Began.SavedNs
}

// Memory holds the largest sizes of worlds and snapshots that were measured, over all worlds and workers of a campaign.
type Memory struct {
	WorldBytes    int64 `json:"world_bytes,omitempty"`    // of a world that runs
	SnapshotBytes int64 `json:"snapshot_bytes,omitempty"` // of all snapshots of a worker
	LimitBytes    int64 `json:"limit_bytes,omitempty"`    // what these may have together; 0 is no bound
}

func (m *Memory) add(o Memory) {
	m.WorldBytes, m.SnapshotBytes = max(m.WorldBytes, o.WorldBytes), max(m.SnapshotBytes, o.SnapshotBytes)
	m.LimitBytes = max(m.LimitBytes, o.LimitBytes)
}

// Warning is a warning of runs, with the number of runs that gave it.
type Warning struct {
	Text string `json:"text"`
	Runs uint64 `json:"runs"`
}

// PropertyTotal counts the verdicts on one property.
type PropertyTotal struct {
	Property string `json:"property"`
	Kind     string `json:"kind"`
	Holds    uint64 `json:"holds"`
	Violated uint64 `json:"violated"`
	Unknown  uint64 `json:"unknown"`
	// Idle counts those of the unknown ones whose run did too little.
	Idle uint64 `json:"idle,omitempty"`
	// Short counts the runs of less than their full length that say nothing of the property. They are none of the unknown ones.
	Short uint64 `json:"short,omitempty"`
	// NotYet counts the runs in which what must happen in some run did not happen.
	NotYet uint64 `json:"not_yet,omitempty"`
	// Reason explains the first verdict that is unknown, of an idle run only if all are, or not yet, and Seed is its
	// run's.
	Reason string `json:"reason,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Tape is that run's, if it is more than its seed.
	Tape   *tape.Tape `json:"tape,omitempty"`
	Probes uint64     `json:"probes,omitempty"`
	// LeftOut lists the parts of the property that the first of Partial runs did not judge.
	LeftOut []string `json:"left_out,omitempty"`
	Partial uint64   `json:"partial,omitempty"`
	// Withstood is the sum of that of the verdicts.
	Withstood uint64 `json:"withstood,omitempty"`
	// Tally counts the events of all runs, of a property that follows runs in a model.
	Tally *coverage.Tally `json:"tally,omitempty"`
	// Examples are the first runs with each verdict.
	Examples []Example `json:"examples,omitempty"`
}

// Example is a run with a verdict on a property.
type Example struct {
	Status check.Status `json:"status"`
	Run    string       `json:"run"` // its tape's name
	// Seed is the run's, if seeds are all of its tape, and BootSeed the one with which it boots, if that is another.
	Seed     *uint64 `json:"seed,omitempty"`
	BootSeed *uint64 `json:"boot_seed,omitempty"`
	TimeNs   int64   `json:"time_ns,omitempty"` // where it shows
	Event    uint64  `json:"event,omitempty"`
	Text     string  `json:"text,omitempty"`
}

// example keeps a run as the first one with its verdict.
func (p *PropertyTotal) example(v *check.Verdict, tp tape.Tape) {
	if slices.ContainsFunc(p.Examples, func(e Example) bool { return e.Status == v.Status }) {
		return
	}
	e := Example{Status: v.Status, Run: tp.Name(), TimeNs: v.TimeNs, Event: v.Event, Text: v.Reason}
	if boot, seed, rest := tp.Seeds(); len(rest) == 0 {
		e.Seed = &seed
		if boot != seed {
			e.BootSeed = &boot
		}
	}
	if e.Text == "" && len(v.Evidence) > 0 {
		e.Text = v.Evidence[0]
	}
	p.Examples = append(p.Examples, e)
}

func (p *PropertyTotal) because(reason string, tp tape.Tape) {
	p.Reason, p.Seed, p.Tape = reason, tp.Seed, nil
	if len(tp.Edits) > 0 {
		p.Tape = &tp
	}
}

// First names the run of Reason.
func (p *PropertyTotal) First() string {
	if p.Tape != nil {
		return p.Tape.Name()
	}
	return tape.Tape{Seed: p.Seed}.Name()
}

// maxIdle is the share of a campaign's runs that may do too little for a property, 1 of so many.
const maxIdle = 4

// Unjudged reports whether runs in which the property is unknown make the campaign unknown: if the reason of any is another than
// that the run did too little, or if more than a few did, or if all were too short.
func (p *PropertyTotal) Unjudged() bool {
	return p.tooShort() || p.Unknown > p.Idle || p.Idle*maxIdle > p.Holds+p.Violated+p.Unknown+p.NotYet
}

// tooShort reports whether no run could judge the property because of their length.
func (p *PropertyTotal) tooShort() bool {
	return p.Short > 0 && p.Holds+p.Violated+p.Unknown+p.NotYet == 0
}

// Doubt says in how many runs the property is unknown where that makes the campaign unknown, and why in the first.
func (p *PropertyTotal) Doubt() (runs uint64, reason string) {
	if p.tooShort() {
		return p.Short, "short runs cannot show it, and all runs were short; run more seeds, or add --full-length"
	}
	return p.Unknown, p.Reason
}

// InPart says what some runs did not judge of what the property speaks of, or nothing.
func (p *PropertyTotal) InPart() string {
	if p.Partial == 0 {
		return ""
	}
	const most = 5
	list := p.LeftOut
	more := ""
	if len(list) > most {
		list, more = list[:most], fmt.Sprintf("; and %d more", len(list)-most)
	}
	return fmt.Sprintf("%s: judged only in part in %d of %s; the first of them left out %s%s", p.Property, p.Partial,
		plural.Count(p.Holds+p.Violated+p.Unknown+p.NotYet, "run"), strings.Join(list, "; "), more)
}

// Never reports whether what must happen in some run happened in none.
func (p *PropertyTotal) Never() bool { return p.NotYet > 0 && p.Holds == 0 && p.Violated == 0 }

// Failure is one kind of violation, with the first run that showed it.
type Failure struct {
	failure.Failure
	Runs     uint64        `json:"runs"`     // how many runs showed it
	Run      uint64        `json:"run"`      // the number of the first of them
	Baseline bool          `json:"baseline"` // that was the run without any fault
	Tape     tape.Tape     `json:"tape"`
	Origin   search.Origin `json:"origin"` // of the tape
	Verdict  check.Verdict `json:"verdict"`
	Hash     string        `json:"hash"`
	// Near is the committed failure near whose tape the run was found; empty for one of the campaign itself.
	Near string `json:"near,omitempty"`
	// Background is the campaign's, which continues to grow.
	Background *Background `json:"-"`
	// Shrunk is the result of shrinking its run, if that was done.
	Shrunk *shrink.Shrunk `json:"shrunk,omitempty"`
}

// Identify is the failure of a test that a run of a tape in a world shows. All who name failures do so by it.
func Identify(test string, spec *world.Spec, t tape.Tape, v *check.Verdict) failure.Failure {
	here, err := spec.Moved(".")
	if err != nil {
		panic(err) // a Spec is plain data
	}
	return failure.New(test, failure.RunOf(here, t), v.Property, v.Signature(), v.Reason)
}

// Scout reports whether that was a run in which a campaign looks for moments, and no numbered one.
func (f *Failure) Scout() bool { return !f.Baseline && f.Run >= firstScout }

// First names the run that showed a failure first.
func (f *Failure) First() string {
	if f.Baseline {
		return fmt.Sprintf("the run without faults, seed %d", f.Tape.Seed)
	}
	if f.Scout() {
		return fmt.Sprintf("the run that looks for moments, %s", f.Tape.Name())
	}
	return fmt.Sprintf("first run %d, %s", f.Run, f.Tape.Name())
}

// Unrepeatable is a run that cannot be made again.
type Unrepeatable struct {
	Run    uint64    `json:"run"`
	Tape   tape.Tape `json:"tape"`
	Reason string    `json:"reason"`
}

// Lost is a run that the engine or the machine failed to finish, twice.
type Lost struct {
	Run    uint64    `json:"run"`
	Tape   tape.Tape `json:"tape"`
	Reason string    `json:"reason"`
}

func (t *Totals) lose(l Lost) {
	t.LostRuns++
	if len(t.Lost) < MaxLost {
		t.Lost = append(t.Lost, l)
	}
}

// Near takes in what a search near committed failures found: failures, and runs that were lost or cannot be made again.
func (t *Totals) Near(search *Totals) {
	for _, f := range search.Failures {
		if !slices.ContainsFunc(t.Failures, func(known *Failure) bool { return known.Signature == f.Signature }) {
			t.Failures = append(t.Failures, f)
		}
	}
	for _, l := range search.Lost {
		t.lose(l)
	}
	if u := search.FirstUnrepeatable; u != nil {
		t.Unrepeatable += search.Unrepeatable - 1
		t.unrepeatable(*u)
	}
}

func (t *Totals) unrepeatable(u Unrepeatable) {
	t.Unrepeatable++
	if t.FirstUnrepeatable == nil {
		t.FirstUnrepeatable = &u
	}
}

// add takes a finished run of a tape into the sums.
func (t *Totals) add(s *Summary, tp tape.Tape) {
	t.Runs++
	if t.Runs == 1 && !t.Baseline.Done {
		t.NeverReady = s.NeverReady
	}
	t.Events += s.Events
	t.VirtualNs += s.VirtualNs
	t.TailEvents += s.TailEvents
	t.RunWallNs += s.WallNs
	t.Operations.Invoked += s.Operations.Invoked
	t.Operations.Ok += s.Operations.Ok
	t.Operations.Fail += s.Operations.Fail
	t.Operations.Info += s.Operations.Info
	t.Evidence.Add(&s.Evidence)
	t.Background.Add(s)
	t.Reasons = mergeReasons(t.Reasons, s.Reasons)
	t.Load.Add(s.Load)
	t.Faults.Add(&fault.Ledger{Entries: s.Faults, Rules: s.FaultRules, Hits: s.Hits})
	for name, n := range s.LogCounts {
		if t.LogCounts == nil {
			t.LogCounts = map[string]uint64{}
		}
		t.LogCounts[name] += n
	}
	t.Refused = MergeRefused(t.Refused, s.Refused)
	t.refuse(s)
	for _, w := range s.Warnings {
		t.warn(w)
	}
	for i := range s.Verdicts {
		t.verdict(&s.Verdicts[i], tp)
	}
	if t.Machine == "" {
		t.Machine = s.Machine
	}
	t.Mistake = cmp.Or(t.Mistake, s.Mistake)
	if g := s.Guide; g != nil {
		if t.Guide == nil {
			t.Guide = &GuideTotal{}
		}
		t.Guide.add(g, tp)
	}
}

// GuideTotal counts results of runs in the models that guide a search.
type GuideTotal struct {
	Runs uint64 `json:"runs"`
	// Tally counts the events of all runs that rules of a configuration map to steps; nil where worlds report their steps themselves.
	Tally  *coverage.Tally `json:"tally,omitempty"`
	Idle   uint64          `json:"idle,omitempty"`   // runs that reported no step
	Left   uint64          `json:"left,omitempty"`   // runs that took a step that the model does not allow, and were followed no further
	Failed uint64          `json:"failed,omitempty"` // runs that were followed no further since the specification cannot be evaluated
	// Reason explains the first of these, and Run is its tape's name.
	Reason string `json:"reason,omitempty"`
	Run    string `json:"run,omitempty"`
}

func (t *GuideTotal) add(g *record.Guided, tp tape.Tape) {
	t.Runs++
	if g.Tally != nil {
		if t.Tally == nil {
			t.Tally = &coverage.Tally{}
		}
		t.Tally.Add(g.Tally)
	}
	switch {
	case g.Mapped == 0 && g.Failed == "":
		t.Idle++
	case g.Failed != "":
		if t.Failed++; t.Failed == 1 { // it goes before those that have left the model
			t.Reason, t.Run = g.Failed, tp.Name()
		}
	case g.Left != "":
		if t.Left++; t.Reason == "" {
			t.Reason, t.Run = g.Left, tp.Name()
		}
	}
}

// Useless is the reason why the models that guide the search do not guide it, or empty. That runs leave the model is no reason in
// a world that reports its steps itself: the bug that is searched for may do that. Where rules map logs to steps, a rule that
// does not fit is more likely, if most runs do.
func (t *GuideTotal) Useless() string {
	switch {
	case t == nil:
	case 2*t.Failed > t.Runs:
		return fmt.Sprintf("the model that guides the search could not be followed in %d of %s: %s", t.Failed, plural.Count(t.Runs, "run"), t.Reason)
	case t.Tally != nil && 2*t.Left > t.Runs:
		return fmt.Sprintf("runs left the model that guides the search in %d of %s; the first: %s: "+
			"%s", t.Left, plural.Count(t.Runs, "run"), t.Run, t.Reason)
	case t.Idle == t.Runs && t.Tally != nil:
		return fmt.Sprintf("no event of any run is a step of the model that guides the search (%s): compare the rules of "+
			"exploration.guide with the logs that `bloodhound run --logs` prints", t.Tally)
	case t.Idle == t.Runs:
		return "no run reported a step to the model that guides the search; call Follower.Step"
	}
	return ""
}

// unmatched reports rules of mappings that have matched no event of any run. Without what they are for a model says less than it
// seems to, so that it is unknown, but for rules about what need not happen.
func (t *Totals) unmatched(spec *world.Spec) (unknown, notices []string) {
	report := func(m *world.Mapping, tally *coverage.Tally, of string) {
		if m == nil || tally == nil {
			return
		}
		for k, n := range tally.Rules {
			switch {
			case n > 0 || k >= len(m.Rules) || m.Rules[k].Optional:
			case m.Rules[k].Crash || m.Rules[k].Restart:
				notices = append(notices, fmt.Sprintf("%s: %s matched no event of any run", of, m.Place(k)))
			default:
				unknown = append(unknown, fmt.Sprintf("%s: %s matched no event of any run; correct the pattern, run more tapes, "+
					"or write `optional: true` if it need not match", of, m.Place(k)))
			}
		}
	}
	for i := range t.Properties {
		if k := slices.IndexFunc(spec.Properties, func(q world.Property) bool { return q.Name == t.Properties[i].Property }); k >= 0 {
			report(spec.Properties[k].Check.Mapping, t.Properties[i].Tally, t.Properties[i].Property)
		}
	}
	if t.Guide != nil {
		report(spec.Guide, t.Guide.Tally, "exploration.guide")
	}
	return unknown, notices
}

// Doubts are the reasons why a campaign without a violation is weak evidence: properties that are unknown in some runs, and a guide that does
// not guide. Empty means none.
func (t *Totals) Doubts() string {
	list := t.unjudged()
	if useless := t.Guide.Useless(); useless != "" {
		list = append(list, useless)
	}
	return strings.Join(list, "; ")
}

// unjudged says which properties are unknown in runs that make the campaign unknown.
func (t *Totals) unjudged() (list []string) {
	for i := range t.Properties {
		if p := &t.Properties[i]; p.Unjudged() {
			runs, reason := p.Doubt()
			list = append(list, fmt.Sprintf("%s: unknown in %d of %s: %s", p.Property, runs, plural.Count(t.Runs, "run"), reason))
		}
	}
	return list
}

// idle says which properties could not be judged in runs that did too little, a line for those of the same runs.
func (t *Totals) idle() (list []string) {
	var names [][]string
	var texts []string
	for i := range t.Properties {
		p := &t.Properties[i]
		if p.Idle == 0 || p.Unjudged() {
			continue
		}
		text := fmt.Sprintf("%d of %s did too little for a judgement, the first with %s: %s", p.Idle, plural.Count(t.Runs, "run"), p.First(), p.Reason)
		k := slices.Index(texts, text)
		if k < 0 {
			k, texts, names = len(texts), append(texts, text), append(names, nil)
		}
		names[k] = append(names[k], p.Property)
	}
	for k, text := range texts {
		list = append(list, strings.Join(names[k], ", ")+": "+text)
	}
	return list
}

// MergeRefused adds calls to a list in which a call of one program stands once, whatever the nodes, up to MaxRefused.
func MergeRefused(list, more []record.Unsupported) []record.Unsupported {
	for _, r := range more {
		same := func(k record.Unsupported) bool {
			return k.Program == r.Program && k.Call == r.Call && k.Errno == r.Errno
		}
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].Count += r.Count
		} else if len(list) < MaxRefused {
			list = append(list, r)
		}
	}
	return list
}

func (t *Totals) refuse(s *Summary) {
	if t.Refusal == nil {
		t.Refusal = Refusal(s.Verdicts)
	}
}

func (t *Totals) warn(text string) {
	for i := range t.Warnings {
		if t.Warnings[i].Text == text {
			t.Warnings[i].Runs++
			return
		}
	}
	if len(t.Warnings) < MaxWarnings {
		t.Warnings = append(t.Warnings, Warning{text, 1})
	}
}

func (t *Totals) verdict(v *check.Verdict, tp tape.Tape) {
	i := 0
	for i < len(t.Properties) && t.Properties[i].Property != v.Property {
		i++
	}
	if i == len(t.Properties) {
		t.Properties = append(t.Properties, PropertyTotal{Property: v.Property, Kind: v.Kind})
	}
	p := &t.Properties[i]
	if v.Short {
		p.Short++
		return
	}
	p.Probes += uint64(v.Probes)
	p.Withstood += v.Withstood
	p.example(v, tp)
	if len(v.LeftOut) > 0 {
		if p.Partial++; p.Partial == 1 {
			p.LeftOut = v.LeftOut
		}
	}
	if v.Tally != nil {
		if p.Tally == nil {
			p.Tally = &coverage.Tally{}
		}
		p.Tally.Add(v.Tally)
	}
	switch v.Status {
	case check.Holds:
		p.Holds++
	case check.Violated:
		p.Violated++
	case check.NotYet:
		if p.NotYet++; p.Reason == "" && p.Unknown == 0 {
			p.because(v.Reason, tp)
		}
	default:
		if p.Unknown == 0 || p.Unknown == p.Idle && !v.Idle {
			p.because(v.Reason, tp)
		}
		if p.Unknown++; v.Idle {
			p.Idle++
		}
	}
}

// fail records a violation of a run and reports whether its signature is a new one.
func (t *Totals) fail(job *Job, s *Summary, v check.Verdict) (*Failure, bool) {
	sig := v.Signature()
	for _, f := range t.Failures {
		if f.Signature == sig {
			f.Runs++
			return f, false
		}
	}
	if len(t.Failures) >= MaxFailures {
		t.MoreFailures++
		return nil, false
	}
	f := &Failure{Failure: failure.Failure{Property: v.Property, Signature: sig}, Runs: 1, Run: job.ID, Baseline: job.ID == baselineRun, Tape: job.Tape,
		Origin: job.Origin, Verdict: v, Hash: s.Hash, Background: &t.Background}
	t.Failures = append(t.Failures, f)
	return f, true
}

// Why a campaign stopped early.
const (
	Interrupted = "interrupted"
	TimedOut    = "timeout"
	// NoServer: without faults, no operation succeeded and a server was never ready, so that no run can show anything.
	NoServer = "a server was never ready in the run without faults"
	// NoDriver: without faults, no operation succeeded and a driver failed.
	NoDriver = "a driver failed in the run without faults"
)
