// Package director decides what the world around programs does: which node starts when, when faults begin and end, when properties
// are probed, which phase comes next. Its State is plain data. An engine reports what happens to it, by methods of Director, and does
// what it asks for, as an Actuator.
package director

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Never is a time that does not come.
const Never int64 = math.MaxInt64

const never = Never

// State is the progress of the direction of a world.
type State struct {
	Due       int64 // when Direct is to be called next
	Hold      bool  // setup shall not end by itself: Held, until Release
	Held      bool
	HeldNs    int64 // the time of the phases that are held back
	Phase     string
	Plan      *fault.Plan
	Nodes     []NodeState
	Jobs      []Job // what was started, by tag-1
	NextStep  int64 // of faults; never outside chaos
	WarmupEnd int64
	ChaosEnd  int64
	SettleEnd int64
	Hurt      bool  // the end of the chaos phase has ended faults
	SetupEnd  int64 // when setup no longer waits for a program to say that it is complete
	SetupLook int64 // when setup looks again for programs that are starting
	Heals     []int64
	Quiet     Quiet
	Healed    int64 // time of the last heal that no fault has followed, 0 if none
	Probes    []Probe
	Prober    int64 // the tag of the one that takes orders, 0 if there is none
	Drivers   int   // drivers that still run
	// When setup no longer waits for the drivers and the prober that come with Bloodhound; 0 as long as they are not started
	OwnReadyNs             int64
	Announcers             []Announcer  // by workload, if one of the drivers announces where it is
	ReadyEnd               int64        // when faults no longer wait for drivers to be ready
	CheckEnd               int64        // when the final phase no longer waits for drivers that read back
	Waiting                []int64      // by workload, the tag of a driver that waits for its order to begin, or 0
	Length                 world.Length // what the tape takes away from the run's full length
	Started                bool
	Live                   []int // jobs that are not done and have a deadline
	Felt                   []Felt
	Stuck                  bool   // a node can never come up
	Unstartable            string // why the run ends because of that
	LogBytes, HistoryBytes int    // what programs have printed, and drivers have written about operations

	LogTail map[int64][]string    // last lines of each process' log, by tag
	Panics  map[int64]PanicReport // the last of each process, by tag
	LookNs  int64                 // when engines that have to be asked are asked again which nodes listen
	Harmed  []Harmed              // the last time that a call on the disk of a node has met each kind of fault
	Counts  map[string]uint64     // of lines that match the Spec's log patterns
	// What conditions of faults ask about.
	Operations uint64              // that clients have begun
	Invoked    map[string]uint64   // the events at which operations under way began, by client
	Roles      map[string][]string // of nodes, in the order in which they took them on
	RoleProbes []RoleProbe
}

// Setting holds the parts that all runs of a Spec share, made once.
type Setting struct {
	spec       *world.Spec
	plan       *fault.Plan
	conditions fault.Conditions
	patterns   []*regexp.Regexp
	roles      []roleLines
	jobs       []jobLines
	inProcess  bool // clients are their own drivers, and checks are functions
	Whole      bool // the chaos phase lasts until its end, also when all drivers have ended
	changes    bool // what packets suffer may change within the chaos phase
	spares     bool // and when a node becomes ready
	looks      bool // it matters when nodes become ready, and the engine has to be asked
}

// Prepare resolves the faults and patterns of a Spec. Its errors are the user's.
func Prepare(spec *world.Spec) (*Setting, error) {
	plan, err := fault.New(spec)
	if err != nil {
		return nil, err
	}
	s := &Setting{spec: spec, plan: plan, conditions: plan.Conditions(), jobs: compileJobs(spec),
		inProcess: spec.Engine == world.InProcess, changes: plan.Changes(), spares: plan.Spares(),
		looks: plan.AsksReady() && (spec.Engine == world.VM || spec.Engine == world.Container)}
	for i := range spec.Faults.Roles {
		s.roles = append(s.roles, compileRole(&spec.Faults.Roles[i]))
	}
	for _, p := range spec.LogPatterns {
		exp, err := regexp.Compile(p.Pattern)
		if err != nil {
			return nil, fmt.Errorf("log pattern %s: %w", p.Name, err)
		}
		s.patterns = append(s.patterns, exp)
	}
	return s, nil
}

// Faults is the plan before any run, for callers that look at its rules.
func (s *Setting) Faults() *fault.Plan { return s.plan }

// Director directs one run.
type Director struct {
	State
	*Setting
	tape    Chooser
	act     Actuator
	effects fault.Effects
	out     *record.Outcome
	moment  fault.Moment
	err     error // of an act that had no way to return it
}

// New makes the Director of a run, which writes what it learns into out.
func (s *Setting) New(tape Chooser, act Actuator, out *record.Outcome) *Director {
	spec := s.spec
	d := &Director{Setting: s, tape: tape, act: act, out: out,
		State: State{Phase: PhaseSetup, Plan: s.plan.Again(), Nodes: make([]NodeState, len(spec.Nodes)), NextStep: never,
			WarmupEnd: never, ChaosEnd: never, SettleEnd: never, ReadyEnd: never, CheckEnd: never, SetupEnd: never, SetupLook: never,
			Probes: make([]Probe, len(spec.Properties)), RoleProbes: make([]RoleProbe, len(spec.Faults.Roles)),
			Jobs: make([]Job, 0, 2*len(spec.Nodes))}}
	d.effects = effects{act, d}
	for i := range d.Probes {
		d.Probes[i].NextNs = never
	}
	for i := range d.RoleProbes {
		if spec.Faults.Roles[i].Check == nil {
			d.RoleProbes[i].NextNs = never
		}
	}
	if len(spec.LogPatterns) > 0 {
		d.Counts = map[string]uint64{}
	}
	for _, p := range spec.LogPatterns {
		d.Counts[p.Name] = 0 // what never matches is counted too
	}
	return d
}

// nodeID is the place of a node in the Spec, or -1.
func (d *Director) nodeID(name string) int {
	for i := range d.spec.Nodes {
		if d.spec.Nodes[i].Name == name {
			return i
		}
	}
	return -1
}

// StartedNs gives when the main program of a node has started, if it runs.
func (d *Director) StartedNs(node string) (int64, bool) {
	i := d.nodeID(node)
	if i < 0 || d.Nodes[i].Status != Running {
		return 0, false
	}
	return d.Nodes[i].StartedNs, true
}

// nextDue is when the director next has something to do by itself.
func (d *Director) nextDue() int64 {
	if !d.Started {
		return 0
	}
	due := min(d.NextStep, d.WarmupEnd, d.ChaosEnd, d.SettleEnd, d.ReadyEnd, d.CheckEnd, d.SetupEnd, d.SetupLook, d.Quiet.dueNs())
	if end, ok := d.Plan.NextEndNs(); ok {
		due = min(due, end)
	}
	for i := range d.Nodes {
		due = min(due, d.Nodes[i].NextNs)
		if at := d.Nodes[i].KillNs; at > 0 {
			due = min(due, at)
		}
		if at := d.Nodes[i].RestoreNs; at > 0 {
			due = min(due, at)
		}
		if s := &d.Nodes[i]; s.StopBy != 0 {
			due = min(due, s.GraceNs)
		}
	}
	for i := range d.Probes {
		if !d.Probes[i].Running { // its end decides when the next one is due
			due = min(due, d.Probes[i].NextNs)
		}
	}
	if d.Phase == PhaseWarmup || d.Phase == PhaseChaos {
		for i := range d.RoleProbes {
			if !d.RoleProbes[i].Running {
				due = min(due, d.RoleProbes[i].NextNs)
			}
		}
	}
	for _, i := range d.Live {
		due = min(due, d.Jobs[i].Deadline)
	}
	return due
}

// Direct does everything that is due.
func (d *Director) Direct() error {
	if err := d.direct(); err != nil {
		return err
	}
	return d.err
}

func (d *Director) direct() error {
	now := d.act.Now()
	if !d.Started {
		d.Started = true
		for i := range d.Nodes {
			d.Nodes[i].NextNs = never
		}
		if err := d.startNodes(); err != nil {
			return err
		}
	}
	for _, i := range slices.Clone(d.Live) {
		switch j := &d.Jobs[i]; {
		case j.Deadline > now:
		case j.Prober != 0:
			if err := d.overran(int64(i + 1)); err != nil {
				return err
			}
		default:
			d.act.Kill(j.Proc)
		}
	}
	if err := d.act.Deliver(); err != nil {
		return err
	}
	for i := range d.Nodes {
		if d.Nodes[i].NextNs > now {
			continue
		}
		d.Nodes[i].NextNs = never
		var err error
		switch d.Nodes[i].Status {
		case Resting:
			err = d.startMain(i)
		case Running:
			err = d.checkHealth(i)
		}
		if err != nil {
			return err
		}
	}
	if err := d.quiet(now); err != nil {
		return err
	}
	for i := range d.Nodes {
		if at := d.Nodes[i].KillNs; at > 0 && at <= now {
			if err := d.outOfMemory(i); err != nil {
				return err
			}
		}
	}
	for i := range d.Nodes {
		if at := d.Nodes[i].RestoreNs; at > 0 && at <= now {
			d.restoreSnapshot(i)
		}
	}
	for i := range d.Nodes {
		if s := &d.Nodes[i]; s.StopBy != 0 && s.GraceNs <= now {
			if err := d.overstayed(i); err != nil {
				return err
			}
		}
	}
	if err := d.inject(now); err != nil {
		return err
	}
	if err := d.probe(now); err != nil {
		return err
	}
	if err := d.askRoles(now); err != nil {
		return err
	}
	return d.turn(now)
}

// Release begins what Hold has held back.
func (d *Director) Release() error {
	d.Hold, d.Held = false, false
	now := d.HeldNs
	if err := d.startWorkload(now); err != nil {
		return err
	}
	if err := d.turn(now); err != nil {
		return err
	}
	return d.err
}

// turn goes through all phases that are over.
func (d *Director) turn(now int64) error {
	for {
		phase := d.Phase
		if err := d.turnPhase(now); err != nil {
			return err
		}
		if d.Phase == phase {
			if err := d.quiet(now); err != nil {
				return err
			}
			d.Due = d.nextDue()
			if d.Stuck || d.Phase == PhaseSetup {
				d.Unstartable = d.unstartable()
			}
			return nil
		}
	}
}
