// Package model has the verb model: it checks TLA+ specifications, simulates them, validates traces and proposes mappings.
package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// modelling holds the flags of model check.
type modelling struct {
	json       bool
	config     string
	libraries  []string
	deadlock   bool
	goOn       bool
	coverage   bool
	difference bool
	simulate   bool
	number     uint64
	depth      uint64
	seed       uint64
	states     uint64
	memory     memoryFlags
	disk       string
	timeout    time.Duration
	workers    string
	userFile   string
	post       string
	traces     []dumpedTrace
	dump       dump
	tlc        string
}

const walkedDepth = 100 // states of a simulated behaviour

func modelCheckVerb(a *console.App) *cobra.Command {
	m := &modelling{seed: 1}
	c := &cobra.Command{
		Use:   "check SPEC.tla",
		Short: "Check a TLA+ specification as TLC does",
		Long: "Visit all states of a specification, breadth first, and check what its configuration (SPEC.cfg, as " +
			"for TLC) names: invariants, properties, deadlock. With --simulate, walk random behaviours instead. " +
			"TLC's options with one dash, such as -config, -deadlock, -simulate and -difftrace, mean the same " +
			"here.\n\n" +
			"States that do not fit in memory go to files on the disk, which are removed at the end.",
		Args: func(_ *cobra.Command, args []string) error { return m.oneSpecification(args) },
		RunE: func(c *cobra.Command, args []string) error { return modelCheck(a, c, m, args[0]) },
	}
	f := c.Flags()
	flags.AddSwitch(c, &m.json, "json", "print one JSON document and nothing else")
	f.Var(flags.File(&m.config), "config", "read this configuration `file` instead of SPEC.cfg")
	f.Var(foldersFlag{&m.libraries}, "library", "also look for modules in this `folder`; repeat for several")
	flags.AddSwitch(c, &m.deadlock, "deadlock", "do not report deadlocks: states without a successor")
	flags.AddSwitch(c, &m.goOn, "continue", "continue after a violation")
	flags.AddSwitch(c, &m.coverage, "coverage", "print how often each action reached a state")
	flags.AddSwitch(c, &m.difference, "difftrace", "in counterexamples, show only the variables that changed")
	flags.AddSwitch(c, &m.simulate, "simulate", "walk random behaviours")
	f.Var(flags.Number(&m.number, 1, math.MaxInt32, "give the number of behaviours to walk, 1 or more"), "num",
		"simulate: how many behaviours to walk (default: no limit)")
	f.Var(flags.Number(&m.depth, 1, math.MaxInt32, "give a number of states, 1 or more"), "depth",
		fmt.Sprintf("most states of a behaviour (default: no limit; simulate: %d)", walkedDepth))
	f.Var(seedFlag{&m.seed}, "seed", "simulate: `seed` of the behaviours")
	f.Var(flags.Number(&m.states, 1, math.MaxInt32, "give a number of states, 1 or more"), "max-states", "stop at this `number` of distinct states")
	m.memory.add(f, "use this much memory, a `size` such as 2GiB, then the disk (default: three quarters of the available memory)")
	f.Var(flags.File(&m.disk), "metadir", "the `folder` for states that do not fit in memory (default: the folder for temporary files)")
	f.Var(program.Time(&m.timeout), "timeout", "stop after this `time`")
	f.Var(&m.dump, "dump", "write all states to this `file`; -dump dot,actionlabels,colorize FILE writes their graph")
	f.Var(traceFlag{&m.traces}, "dumpTrace", "write the counterexample to a file: -dumpTrace json FILE, or -dumpTrace tla FILE")
	f.Var(flags.File(&m.userFile), "userFile", "write the output of Print and PrintT to this `file`")
	f.Var(nameFlag{&m.post}, "postCondition", "evaluate this `operator` of the specification at the end, as POSTCONDITION does")
	f.Var(workersFlag{&m.workers}, "workers", "accepted for compatibility with TLC; a check has one thread")
	f.Var(flags.File(&m.tlc), "tlc", "also run TLC and compare its answer: the `file` tla2tools.jar, with other jars after a colon")
	m.tlcFlags(c)
	return c
}

// CheckedDocument is the JSON document of model check.
type CheckedDocument struct {
	Bloodhound string             `json:"bloodhound"`
	Verb       string             `json:"verb"`
	Spec       string             `json:"spec"`
	Config     string             `json:"config"`
	ExitCode   int                `json:"exit_code"`
	Verdict    string             `json:"verdict"`
	Initial    int                `json:"initial"`
	Generated  int                `json:"generated"`
	Distinct   int                `json:"distinct"`
	Left       int                `json:"left"`
	Depth      int                `json:"depth"`
	Stopped    string             `json:"stopped,omitempty"`
	Actions    []actionDocument   `json:"actions"`
	Violations []brokenDocument   `json:"violations,omitempty"`
	Unchecked  []uncheckedElement `json:"unchecked,omitempty"`
	// Collisions are probabilities that states were missed since two had one fingerprint.
	Collisions *collisionsDocument `json:"collisions,omitempty"`
	TLC        *secondDocument     `json:"tlc,omitempty"`
	WallNs     int64               `json:"wall_ns"`
}

type actionDocument struct {
	Action    string `json:"action"`
	Place     string `json:"place"`
	Generated int    `json:"generated"`
	Distinct  int    `json:"distinct"`
}

type brokenDocument struct {
	Kind  tla.Kind       `json:"kind"`
	Name  string         `json:"name,omitempty"`
	Cause string         `json:"cause,omitempty"`
	Trace []stepDocument `json:"trace,omitempty"`
	// Back is the state, from 1 on, to which the behaviour returns forever; 0 if it is finite.
	Back int `json:"back,omitempty"`
}

type stepDocument struct {
	Action string            `json:"action,omitempty"`
	State  map[string]string `json:"state"`
}

type collisionsDocument struct {
	Calculated float64 `json:"calculated"`
	Observed   float64 `json:"observed,omitempty"`
}

type uncheckedElement struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func modelCheck(a *console.App, c *cobra.Command, m *modelling, file string) error {
	config, file, err := modelFiles(file, &m.config)
	if err != nil {
		return err
	}
	if err := m.configure(config, file); err != nil {
		return err
	}
	if err := m.secondPossible(file); err != nil {
		return err
	}
	m.idle(a, c)
	began := time.Now()
	spec, err := tla.Load(file, config, m.libraries...)
	if err != nil {
		return secondOfError(c.Context(), a, m, file, err)
	}
	for _, n := range spec.Notes {
		a.Note("note: %s", n)
	}
	out := a.Out
	if m.json {
		out = io.Discard
	}
	r, err := checkModel(a, c, m, spec, out)
	if err != nil {
		return secondOfError(c.Context(), a, m, file, m.withProgress(err, spec, r))
	}
	verdict := ""
	verdict, a.Code = judged(r, m)
	m.printResult(out, spec, r, verdict)
	if len(r.Violations) > 0 {
		if err := m.dumpTraces(spec, r.Violations[0]); err != nil {
			return err
		}
	}
	second, err := secondOpinion(c.Context(), a, m, file, r, out)
	if err != nil || !m.json {
		return err
	}
	d := documentOf(spec, r)
	d.TLC = second
	d.Spec, d.Config, d.ExitCode, d.Verdict, d.WallNs = file, m.config, a.Code, verdict, int64(time.Since(began))
	return a.PrintJSON(d)
}

// withProgress adds to an error how far the check had come.
func (m *modelling) withProgress(err error, spec *tla.Spec, r *tla.Report) error {
	if r != nil && len(r.Behaviour) > 0 {
		err = fmt.Errorf("%w\nThe behavior up to this point is:\n%s", err, strings.TrimRight(tlc.Behaviour(spec, r.Behaviour, m.difference), "\n"))
	}
	if r != nil && r.Generated > 0 && !m.simulate {
		err = fmt.Errorf("%w\n%s", err, tlc.Counts(r))
	}
	return err
}

// printResult prints what was found, what was not checked, and how much was searched.
func (m *modelling) printResult(out io.Writer, spec *tla.Spec, r *tla.Report, verdict string) {
	for _, v := range r.Violations {
		tlc.PrintViolation(out, spec, v, m.difference)
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(out, "%s was not checked: %v\n", u.Name, u.Why)
	}
	if r.Viewed {
		doubt := ""
		if !r.Compared {
			doubt = ". Not all states that VIEW merges were compared, so this is right only if VIEW hides " +
				"nothing that the properties depend on"
		}
		fmt.Fprintf(out, "Temporal properties were checked on the states that VIEW distinguishes%s.\n", doubt)
	}
	if m.coverage {
		fmt.Fprintln(out, "The coverage statistics:")
		for _, n := range r.Actions {
			fmt.Fprintf(out, "%s: %d:%d\n", n.Action, n.Distinct, n.Generated)
		}
		fmt.Fprintln(out, "End of statistics.")
	}
	fmt.Fprintln(out, verdict)
	if m.simulate {
		fmt.Fprintf(out, "%s walked, %s generated, the longest has %s.\n", plural.Count(r.Initial, "behaviour"),
			plural.Count(r.Generated, "state"), plural.Count(r.Depth, "state"))
	} else {
		fmt.Fprintln(out, tlc.Counts(r))
		if e := r.Collisions; e.Calculated > 0 {
			observed := ""
			if e.Observed > 0 {
				observed = fmt.Sprintf(", %.1E from the distance between actual fingerprints", e.Observed)
			}
			fmt.Fprintf(out, "The probability that a state was missed because two states have the same "+
				"fingerprint: %.1E from the number of states%s.\n",
				e.Calculated, observed)
		}
		fmt.Fprintf(out, "The depth of the complete state graph search is %d.\n", r.Depth)
	}
}

// checkModel goes through the states of a specification, or walks its behaviours.
func checkModel(a *console.App, c *cobra.Command, m *modelling, spec *tla.Spec, out io.Writer) (r *tla.Report, err error) {
	said := out
	if m.userFile != "" {
		f, err := os.Create(m.userFile)
		if err != nil {
			return nil, fmt.Errorf("--userFile: %w", err)
		}
		defer f.Close()
		said = f
	}
	memory, err := m.memory.bytes()
	if err != nil {
		return nil, err
	}
	o := tla.Options{Distinct: int(m.states), Time: m.timeout, MemoryBytes: uint64(memory), Disk: scratchFolder(m.disk),
		Continue: m.goOn, Stop: c.Context().Done(),
		Print: func(text string) { fmt.Fprintln(said, text) }}
	// States live long: looking through all of them seldom is twice as fast, as long as there is room.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memory)
	if m.simulate {
		if m.dump.file != "" {
			return nil, errors.New("--dump does not apply to --simulate, which does not visit all states; write counterexamples with --dumpTrace")
		}
		o.Progress = func(r *tla.Report) {
			a.Note("Progress: %s with %s checked", plural.Count(r.Initial, "behaviour"), plural.Count(r.Generated, "state"))
		}
		return tla.Simulate(spec, o, tla.Simulation{Number: int(m.number), Depth: int(m.depth), Seed: m.seed})
	}
	if m.dump.file != "" {
		if err := m.dump.begin(); err != nil {
			return nil, err
		}
		defer func() {
			if e := m.dump.end(); err == nil {
				err = e
			}
		}()
		o.Reached = func(r tla.Reached) { m.dump.Reached(spec, r) }
	}
	o.Depth = int(m.depth)
	o.Progress = func(r *tla.Report) {
		a.Note("Progress(%d): %s generated, %s found, %s left on queue", r.Depth, plural.Count(r.Generated, "state"),
			plural.Count(r.Distinct, "distinct state"), plural.Count(r.Left, "state"))
	}
	return tla.Check(spec, o)
}

func documentOf(spec *tla.Spec, r *tla.Report) CheckedDocument {
	d := CheckedDocument{Bloodhound: program.Version(), Verb: "model check", Initial: r.Initial, Generated: r.Generated,
		Distinct: r.Distinct, Left: r.Left, Depth: r.Depth, Stopped: r.Stopped}
	for _, n := range r.Actions {
		d.Actions = append(d.Actions, actionDocument{n.Action.Name, n.Action.String(), n.Generated, n.Distinct})
	}
	for _, v := range r.Violations {
		d.Violations = append(d.Violations, brokenOf(spec, v))
	}
	for _, u := range r.Unchecked {
		d.Unchecked = append(d.Unchecked, uncheckedElement{u.Name, u.Why.Error()})
	}
	if e := r.Collisions; e.Calculated > 0 {
		d.Collisions = &collisionsDocument{e.Calculated, e.Observed}
	}
	return d
}

// judged sums up a check in one line, and returns its exit code.
func judged(r *tla.Report, m *modelling) (string, int) {
	switch {
	case len(r.Violations) > 0:
		return fmt.Sprintf("VIOLATED: %s", plural.Count(len(r.Violations), "error")), check.ExitViolated
	case m.simulate && r.Stopped != "" && r.Stopped != tla.ByExit && r.Generated > 0 && r.Walked < max(int(m.number), 1):
		return fmt.Sprintf("UNKNOWN: %s walked to the end: %s", of(r.Walked, int(m.number)), r.Stopped), check.ExitUnknown
	case r.Stopped == "" && r.Barred:
		return "UNKNOWN: the action constraints exclude all steps, so no step was checked", check.ExitUnknown
	case m.simulate && len(r.Unchecked) == 0 && r.Generated > 0:
		return "No error has been found in the behaviours that were walked" + because(r) + ".", check.ExitHolds
	case r.Stopped != "" && r.Complete:
		return "UNKNOWN: all states were seen, but not everything was judged: " + r.Stopped, check.ExitUnknown
	case r.Stopped != "":
		return "UNKNOWN: not all states were seen: " + r.Stopped, check.ExitUnknown
	case len(r.Unchecked) > 0:
		return "UNKNOWN: not all properties were checked", check.ExitUnknown
	case r.Generated == 0 && len(r.Actions) > 0:
		return "UNKNOWN: there is no initial state, so nothing was checked", check.ExitUnknown
	case r.Distinct == 0 && len(r.Actions) > 0:
		return "UNKNOWN: the constraints exclude all initial states, so no step was checked", check.ExitUnknown
	}
	text := "Model checking completed. No error has been found."
	if len(r.Actions) > 0 && !slices.ContainsFunc(r.Actions, func(n tla.ActionCount) bool { return n.Generated > 0 }) {
		text += " No action was possible in any state."
	}
	return text, check.ExitHolds
}

// of says how many behaviours of those that were asked for were walked; without a number there is no end to them.
func of(walked, number int) string {
	switch {
	case number == 0:
		return "no behaviour was"
	case number == 1:
		return fmt.Sprintf("%d of 1 behaviour was", walked)
	}
	return fmt.Sprintf("%d of %s %s", walked, plural.Count(number, "behaviour"), plural.Verb(walked, "was", "were"))
}

func because(r *tla.Report) string {
	if r.Stopped == "" {
		return ""
	}
	return "; " + r.Stopped
}

func brokenOf(spec *tla.Spec, v *tla.Violation) brokenDocument {
	d := brokenDocument{Kind: v.Kind, Name: v.Name, Back: v.Back + 1, Trace: stepsOf(spec, v.Trace)}
	if v.Cause != nil {
		d.Cause = v.Cause.Error()
	}
	return d
}

func stepsOf(spec *tla.Spec, steps []tla.Step) (list []stepDocument) {
	for _, s := range steps {
		step := stepDocument{State: map[string]string{}}
		if s.Action != nil {
			step.Action = s.String()
		}
		for i, name := range spec.Variables {
			step.State[name] = s.State[i].String()
		}
		list = append(list, step)
	}
	return list
}
