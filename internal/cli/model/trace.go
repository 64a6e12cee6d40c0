package model

import (
	"errors"
	"fmt"
	"io"
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

// tracing holds the flags of model trace.
type tracing struct {
	json        bool
	config      string
	libraries   []string
	environment []string
	position    string
	end         string
	memory      memoryFlags
	timeout     time.Duration
}

func modelTraceVerb(a *console.App) *cobra.Command {
	m := &tracing{}
	c := &cobra.Command{
		Use:   "trace SPEC.tla [LOG.ndjson]",
		Short: "Validate a recorded log against a trace specification",
		Long: "Look for a behaviour of a trace specification that covers the complete log, which the " +
			"specification reads with ndJsonDeserialize. If there is none, print the first line that no " +
			"behaviour gets past, the state before it, and the conditions that were false there. Invariants and " +
			"step properties of the configuration are checked on the way.\n\nLOG sets the variables of IOEnv that " +
			"determine the log's name. A specification with a fixed name for its log reads LOG instead.",
		Args: func(_ *cobra.Command, args []string) error {
			const remedy = "usage: bloodhound model trace SPEC.tla LOG.ndjson"
			switch {
			case len(args) > 2:
				return fmt.Errorf("%s; these are %s: %s", remedy, plural.Count(len(args), "argument"), strings.Join(args, " "))
			case len(args) == 0 || slices.Contains(args, ""):
				return errors.New(remedy)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return modelTrace(a, c, m, args) },
	}
	f := c.Flags()
	flags.AddSwitch(c, &m.json, "json", "print one JSON document and nothing else")
	f.Var(flags.File(&m.config), "config", "read this configuration `file` instead of SPEC.cfg")
	f.Var(foldersFlag{&m.libraries}, "library", "also look for modules in this `folder`; repeat for several")
	f.StringArrayVar(&m.environment, "env", nil, "set a variable of IOEnv, as `NAME=VALUE`; repeat for several")
	f.Var(nameFlag{&m.position}, "position",
		"`name` of the variable or operator for the log's next item; level is the number of the state (default: the index of the log)")
	f.Var(nameFlag{&m.end}, "end", "the operator of this `name` is true where the log is at its end (default: the operator of a property, "+
		"or a position past the end of the log)")
	m.memory.add(f, "stop when this much memory is in use, a `size` such as 2GiB (default: three quarters of the available memory)")
	f.Var(program.Time(&m.timeout), "timeout", "stop after this `time`")
	return c
}

// TracedDocument is the JSON document of model trace.
type TracedDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	Spec       string `json:"spec"`
	Config     string `json:"config"`
	Log        string `json:"log"`
	ExitCode   int    `json:"exit_code"`
	Verdict    string `json:"verdict"`
	Accepted   bool   `json:"accepted"`
	// Items are the values of the log that the specification goes through.
	Items int `json:"items"`
	// Line is the first that no behaviour gets past, Item its number among the items.
	Line     int              `json:"line,omitempty"`
	Item     int              `json:"item,omitempty"`
	Text     string           `json:"text,omitempty"`
	Position string           `json:"position,omitempty"`
	End      string           `json:"end,omitempty"`
	States   int              `json:"states"`
	Steps    int              `json:"steps"`
	Depth    int              `json:"depth"`
	Ends     int              `json:"ends,omitempty"`
	Last     [][]stepDocument `json:"last,omitempty"`
	Tried    []triedDocument  `json:"tried,omitempty"`
	// Violation is a property that is broken on the way, at the line BrokenAt.
	Violation *brokenDocument    `json:"violation,omitempty"`
	BrokenAt  int                `json:"broken_at,omitempty"`
	Replaced  []string           `json:"replaced,omitempty"`
	Unchecked []uncheckedElement `json:"unchecked,omitempty"`
	WallNs    int64              `json:"wall_ns"`
}

type triedDocument struct {
	Action string          `json:"action"`
	Place  string          `json:"place"`
	Guards []guardDocument `json:"guards,omitempty"`
}

type guardDocument struct {
	Module string `json:"module"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

func modelTrace(a *console.App, c *cobra.Command, m *tracing, args []string) error {
	config, file, err := modelFiles(args[0], &m.config)
	if err != nil {
		return err
	}
	if config.Environment, err = m.readEnvironment(); err != nil {
		return err
	}
	if len(args) == 2 {
		if _, err := os.Stat(args[1]); err != nil {
			return fmt.Errorf("cannot read the log: %w", err)
		}
		config.Log = args[1]
	}
	began := time.Now()
	spec, err := tla.Load(file, config, m.libraries...)
	if err != nil {
		return err
	}
	out := a.Out
	if m.json {
		out = io.Discard
	}
	debug.SetGCPercent(400)
	memory, err := m.memory.bytes()
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(memory)
	v, err := tla.Validate(spec, tla.Options{Time: m.timeout, MemoryBytes: uint64(memory), Stop: c.Context().Done(),
		Print: func(text string) { fmt.Fprintln(out, text) },
		Progress: func(r *tla.Report) {
			a.Note("Progress: %s, the longest behaviour has %d", plural.Count(r.Distinct, "state"), r.Depth)
		}}, tla.Reading{Position: m.position, End: m.end})
	if err != nil {
		if len(v.Behaviour) > 0 {
			err = fmt.Errorf("%w\nThe behavior up to this point ends with:\n%s", err, tlc.Ending(spec, v.Behaviour, 1))
		}
		return err
	}
	verdict := ""
	verdict, a.Code = traced(v)
	if m.json {
		d := m.document(spec, file, v, verdict)
		d.ExitCode, d.WallNs = a.Code, int64(time.Since(began))
		return a.PrintJSON(d)
	}
	printValidation(out, spec, v)
	fmt.Fprintln(out, verdict)
	fmt.Fprintf(out, "%s in %s, the longest behavior has %d.\n", plural.Count(v.States, "state"), plural.Count(v.Steps, "step"), v.Depth)
	return nil
}

// readEnvironment reads the variables that flags set for the specification.
func (m *tracing) readEnvironment() (map[string]string, error) {
	variables := map[string]string{}
	for _, e := range m.environment {
		name, v, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--env %s: give a name and a value, as --env JSON=log.ndjson", e)
		}
		if before, ok := variables[name]; ok && before != v {
			return nil, fmt.Errorf("--env %s: %s is also set to %s; leave out one of them", e, name, before)
		}
		variables[name] = v
	}
	return variables, nil
}

// document makes the JSON document of a validation, without its exit code and time.
func (m *tracing) document(spec *tla.Spec, file string, v *tla.Validation, verdict string) *TracedDocument {
	d := &TracedDocument{Bloodhound: program.Version(), Verb: "model trace", Spec: file, Config: m.config, Log: v.Log,
		Verdict: verdict, Accepted: v.Accepted, Items: v.Items, Line: v.Line,
		Item: v.Item, Text: v.Text, Position: v.Position, End: v.End, States: v.States, Steps: v.Steps, Depth: v.Depth,
		Ends: v.Ends, BrokenAt: v.BrokenAt, Replaced: v.Replaced}
	for _, steps := range v.Last {
		d.Last = append(d.Last, stepsOf(spec, steps[max(0, len(steps)-1):]))
	}
	for _, t := range v.Tried {
		e := triedDocument{Action: t.Action.Name, Place: t.Action.String()}
		for _, g := range t.Guards {
			e.Guards = append(e.Guards, guardDocument{g.Module, g.Span.First.Line, g.Span.First.Column, g.Text})
		}
		d.Tried = append(d.Tried, e)
	}
	if v.Violation != nil {
		b := brokenOf(spec, v.Violation)
		d.Violation = &b
	}
	for _, u := range v.Unchecked {
		d.Unchecked = append(d.Unchecked, uncheckedElement{u.Name, u.Why.Error()})
	}
	return d
}

// traced sums up a validation in one line, and returns its exit code.
func traced(v *tla.Validation) (string, int) {
	items := plural.Count(v.Items, "item")
	switch {
	case v.Unknown != "":
		return "UNKNOWN: " + v.Unknown, check.ExitUnknown
	case v.Violation != nil && v.BrokenAt > 0:
		return fmt.Sprintf("VIOLATED: each behavior that gets furthest in %s breaks %s, at line %d", v.Log, v.Violation.Name, v.BrokenAt), check.ExitViolated
	case v.Violation != nil:
		return fmt.Sprintf("VIOLATED: %s", v.Violation.Name), check.ExitViolated
	case !v.Accepted && v.Line > 0:
		return fmt.Sprintf("REFUSED: no behavior gets past line %d of %s, item %d of %d", v.Line, v.Log, v.Item, v.Items), check.ExitViolated
	case !v.Accepted && v.Position != "":
		return fmt.Sprintf("REFUSED: at least one behavior consumes all of %s, but %s is true in no such behavior", v.Log, v.End), check.ExitViolated
	case !v.Accepted:
		return fmt.Sprintf("REFUSED: no behavior goes through %s; set --position to learn the "+
			"line", v.Log), check.ExitViolated
	case len(v.Unchecked) > 0:
		return fmt.Sprintf("UNKNOWN: a behavior goes through the %s of %s, but not all properties were checked", items, v.Log), check.ExitUnknown
	case v.Position == "":
		return "ACCEPTED: a behavior goes through " + v.Log, check.ExitHolds
	}
	return fmt.Sprintf("ACCEPTED: a behavior goes through the %s of %s", items, v.Log), check.ExitHolds
}

// shownText is how much of a line of a log is shown, in characters.
const shownText = 400

func printValidation(w io.Writer, spec *tla.Spec, v *tla.Validation) {
	for _, name := range v.Replaced {
		fmt.Fprintf(w, "%s tests the progress of the check itself; the answer below replaces it.\n", name)
	}
	for _, u := range v.Unchecked {
		fmt.Fprintf(w, "%s was not checked: %v\n", u.Name, u.Why)
	}
	if b := v.Violation; b != nil {
		fmt.Fprintf(w, "Error: %s %s is violated", strings.ToUpper(string(b.Kind[:1]))+string(b.Kind[1:]), b.Name)
		if len(b.Trace) > 0 {
			fmt.Fprintf(w, ". The behavior ends with:\n%s", tlc.Ending(spec, b.Trace, 2))
		} else {
			fmt.Fprintln(w, ".")
		}
	}
	if v.Accepted || v.Unknown != "" || v.Violation != nil && v.Line == 0 {
		return
	}
	if v.Line > 0 {
		text := []rune(v.Text)
		more := ""
		if len(text) > shownText {
			text, more = text[:shownText], "..."
		}
		fmt.Fprintf(w, "%s:%d: no behavior gets past this line:\n    %s%s\n", v.Log, v.Line, string(text), more)
	}
	if len(v.Last) == 0 {
		fmt.Fprintln(w, "No initial state fits it.")
		return
	}
	fmt.Fprintf(w, "The longest behaviors end in %s. The first is:\n%s", plural.Count(v.Ends, "state"), tlc.Ending(spec, v.Last[0], 1))
	fmt.Fprintln(w, "Steps tried there, and the conditions that were false:")
	for _, t := range v.Tried {
		fmt.Fprintf(w, "  %s\n", t.Action)
		for _, g := range t.Guards {
			fmt.Fprintf(w, "    %s (%s, line %d, column %d)\n", g.Text, g.Module, g.Span.First.Line, g.Span.First.Column)
		}
		if len(t.Guards) == 0 {
			fmt.Fprintln(w, "    nothing: there was nothing to choose from")
		}
	}
}
