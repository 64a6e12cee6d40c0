//go:build linux && amd64

package native

import (
	"regexp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const never = int64(1<<63 - 1)

// director decides what the world around the programs does: which node starts when, when faults strike, when
// properties are probed. Its state is plain data.
type director struct {
	Phase                  string
	Plan                   *fault.Plan
	Nodes                  []nodeState
	Jobs                   []job // what was started besides main processes, by tag-1
	NextStep               int64 // of faults; never outside chaos
	WarmupEnd              int64
	ChaosEnd               int64
	SettleEnd              int64
	Hurt                   bool  // the end of the chaos phase has ended faults
	SetupEnd               int64 // when setup no longer waits for a program to say that it is complete
	Heals                  []int64
	Quiet                  quiet
	Healed                 int64 // time of the last heal that no fault has followed, 0 if none
	Probes                 []probeState
	Prober                 int64 // the tag of the one that takes orders, 0 if there is none
	Drivers                int   // drivers that still run
	Started                bool
	Live                   []int // jobs that are not done and have a deadline
	Felt                   []felt
	Stuck                  bool   // a node can never come up
	Unstartable            string // why the run ends because of that
	LogBytes, HistoryBytes int    // what programs have printed, and drivers have written about operations

	LogTail map[int64][]string // last lines of each process' log, by tag
	Counts  map[string]uint64
	// What conditions of faults ask about.
	Operations uint64              // that clients have begun
	Roles      map[string][]string // of nodes, in the order in which they took them on
	RoleProbes []roleState
	patterns   []*regexp.Regexp
	conditions fault.Conditions
	roles      []roleLines
	jobs       []jobLines
	due        int64 // nextDue, as of the last direct
}

func newDirector(spec *world.Spec, plan *fault.Plan) *director {
	d := &director{Phase: phaseSetup, Plan: plan, Nodes: make([]nodeState, len(spec.Nodes)), NextStep: never, WarmupEnd: never, ChaosEnd: never, SettleEnd: never, SetupEnd: never,
		Probes: make([]probeState, len(spec.Properties)), LogTail: map[int64][]string{}, Counts: map[string]uint64{}, Roles: map[string][]string{}}
	for i := range d.Probes {
		d.Probes[i].NextNs = never
	}
	for i := range spec.Faults.Roles {
		r := &spec.Faults.Roles[i]
		d.roles = append(d.roles, compileRole(r))
		next := never
		if r.Check != nil {
			next = 0
		}
		d.RoleProbes = append(d.RoleProbes, roleState{NextNs: next})
	}
	d.jobs = compileJobs(spec)
	d.conditions = plan.Conditions()
	for _, p := range spec.LogPatterns {
		d.patterns = append(d.patterns, regexp.MustCompile(p.Pattern))
		d.Counts[p.Name] = 0 // what never matches is counted too
	}
	return d
}

// nextDue is when the director next has something to do by itself.
func (d *director) nextDue() int64 {
	if !d.Started {
		return 0
	}
	due := min(d.NextStep, d.WarmupEnd, d.ChaosEnd, d.SettleEnd, d.SetupEnd, d.Quiet.dueNs())
	if end, ok := d.Plan.NextEndNs(); ok {
		due = min(due, end)
	}
	for i := range d.Nodes {
		due = min(due, d.Nodes[i].NextNs)
		if at := d.Nodes[i].KillNs; at > 0 {
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
	if d.Phase == phaseWarmup || d.Phase == phaseChaos {
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

// direct does everything that is due.
func (w *World) direct() error {
	d, now := w.director, w.kernel.Now
	if !d.Started {
		d.Started = true
		for i := range d.Nodes {
			d.Nodes[i].NextNs = never
		}
		if err := w.startNodes(); err != nil {
			return err
		}
	}
	for _, i := range slices.Clone(d.Live) {
		switch j := &d.Jobs[i]; {
		case j.Deadline > now:
		case j.Prober != 0:
			if err := w.overran(int64(i + 1)); err != nil {
				return err
			}
		case w.kernel.Procs[j.Proc] != nil:
			w.kernel.KillProc(w.kernel.Procs[j.Proc])
		}
	}
	if err := w.notice(); err != nil {
		return err
	}
	for i := range d.Nodes {
		if d.Nodes[i].NextNs > now {
			continue
		}
		d.Nodes[i].NextNs = never
		var err error
		switch d.Nodes[i].Status {
		case resting:
			err = w.startMain(i)
		case running:
			err = w.checkHealth(i)
		}
		if err != nil {
			return err
		}
	}
	if err := w.hush(now); err != nil {
		return err
	}
	for i := range d.Nodes {
		if at := d.Nodes[i].KillNs; at > 0 && at <= now {
			if err := w.outOfMemory(i); err != nil {
				return err
			}
		}
	}
	for i := range d.Nodes {
		if s := &d.Nodes[i]; s.StopBy != 0 && s.GraceNs <= now {
			if err := w.overstayed(i); err != nil {
				return err
			}
		}
	}
	if err := w.strike(now); err != nil {
		return err
	}
	if err := w.probe(now); err != nil {
		return err
	}
	if err := w.askRoles(now); err != nil {
		return err
	}
	for {
		phase := d.Phase
		if err := w.turnPhase(now); err != nil {
			return err
		}
		if d.Phase == phase {
			if err := w.hush(now); err != nil {
				return err
			}
			d.due = d.nextDue()
			if d.Stuck || d.Phase == phaseSetup {
				d.Unstartable = w.unstartable()
			}
			return nil
		}
	}
}
