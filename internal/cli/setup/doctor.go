package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/driver"
	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/selftest"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Of the world in which doctor runs a program alone.
const (
	doctorMaxTime   = 10 * time.Second // virtual
	doctorStartUnix = 1_700_000_000
	doctorLogLines  = 10
	// A program that ends uncleanly before this virtual time has not begun its work.
	doctorAtOnce = time.Second
	// doctorQuoted bounds the last lines of such a program that the conclusion quotes.
	doctorQuoted = 3
)

func doctorVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	maxTime, selfTest := doctorMaxTime, false
	c := &cobra.Command{
		Use:   "doctor [PROGRAM [ARGUMENTS]]",
		Short: "Check this machine, or try one program in the simulation",
		Long: "Without PROGRAM, check that this machine has what an engine needs, run a small world twice and compare " +
			"the runs, and list what other engines would need. --selftest also injects each kind of fault, and " +
			"checks that a program notices the fault and that Bloodhound counts it.\n\n" +
			"With PROGRAM, run it alone in a world without faults and name the system calls that it needs and " +
			"that Bloodhound does not support. A name without a slash is looked up in a node's PATH, which " +
			"differs from yours. A relative path starts at the current folder.",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && selfTest {
				return errors.New("--selftest runs its own programs; leave out " + flags.ShellQuote(args[0]))
			}
			if c.Flags().Changed("engine") && (len(args) > 0 || selfTest) {
				return errors.New("doctor runs programs only with the engine native; leave out --engine")
			}
			if len(args) > 0 {
				return doctorProgram(a, c, f, maxTime, args)
			}
			for _, name := range []string{"seed", "max-time"} {
				if c.Flags().Changed(name) {
					return fmt.Errorf("--%s needs a program: bloodhound doctor --%s ... PROGRAM", name, name)
				}
			}
			return examineMachine(c.Context(), a, f, selfTest)
		},
	}
	c.Flags().SetInterspersed(false) // flags after PROGRAM are the program's
	f.AddDocument(c)
	f.AddSeedFlag(c, "`seed` of the run (default: 1)")
	f.AddEngine(c, "native", "check this `engine` in detail: ")
	c.Flags().BoolVar(&selfTest, "selftest", false, "inject each kind of fault and check that a program observes it (under a minute)")
	c.Flags().Var(program.Time(&maxTime), "max-time", "end the program after this virtual `time`")
	return c
}

// DoctorDocument is the JSON document of doctor.
type DoctorDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Verb       string           `json:"verb"`
	ExitCode   int              `json:"exit_code"`
	Checks     []engine.Check   `json:"checks,omitempty"`
	Program    []string         `json:"program,omitempty"`
	Run        *explore.Summary `json:"run,omitempty"`
	// Conclusion is the answer about the program's system calls; there is none if one was refused, which Run lists.
	Conclusion string `json:"conclusion,omitempty"`
}

func examineMachine(ctx context.Context, a *console.App, f *flags.Set, selfTest bool) error {
	spec := &world.Spec{}
	why, err := engines.Choose(spec, f.Engine)
	if err != nil {
		return err
	}
	if why != "" {
		a.Note("%s", why)
	}
	doc := DoctorDocument{Bloodhound: program.Version(), Verb: "doctor", Checks: engineChecks(ctx, spec.Engine)}
	shown := len(doc.Checks)
	if !f.JSON {
		for _, x := range doc.Checks {
			printCheck(a.Out, x)
		}
	}
	if works := !slices.ContainsFunc(doc.Checks, engine.Check.Lacking); works && selfTest {
		for i := range selftest.Cases {
			x, err := trySelf(ctx, &selftest.Cases[i])
			if err != nil {
				return err
			}
			doc.Checks = append(doc.Checks, x)
			if !f.JSON {
				printCheck(a.Out, x)
			}
		}
	}
	if slices.ContainsFunc(doc.Checks, engine.Check.Lacking) {
		doc.ExitCode = check.ExitEngine
	}
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	switch {
	case slices.ContainsFunc(doc.Checks[:shown], engine.Check.Lacking):
		fmt.Fprintf(a.Out, "\nThe engine %s cannot run here; the lines above say what is missing.\n", f.Engine)
	case doc.ExitCode != 0:
		fmt.Fprintln(a.Out, "\nFault injection does not work correctly on this machine. Please report this with the lines above.")
	default:
		fmt.Fprintln(a.Out, "\nThis machine is ready. `bloodhound doctor PROGRAM` tries your own program.")
	}
	return nil
}

// engineChecks looks at one engine closely, and at the others in a line each.
func engineChecks(ctx context.Context, asked string) (checks []engine.Check) {
	var others []engine.Check
	for _, r := range engines.Table() {
		make := func() (engine.Engine, error) { return project.EngineFor(&world.Spec{Engine: r.Spec}) }
		if r.Spec != asked {
			others = append(others, engines.Here(&r, make))
			continue
		}
		eng, err := make()
		if err != nil {
			x := engines.Here(&r, make)
			x.Required = true
			checks = append(checks, x)
			continue
		}
		if d, ok := eng.(engine.Doctor); ok {
			checks = append(checks, d.Doctor()...)
		}
		if r.Spec == world.Native {
			checks = append(checks, tryWorld(ctx))
		}
	}
	return append(checks, others...)
}

// trySelf runs the worlds of one kind of fault.
func trySelf(ctx context.Context, c *selftest.Case) (engine.Check, error) {
	x := engine.Check{Name: "fault " + string(c.Kind), Required: true, OK: true,
		Detail: fmt.Sprintf("a program reported %q, and the ledger counted the fault", c.Seen)}
	file, err := driverfile.Find()
	if err != nil {
		return x, console.Failed(err)
	}
	role := func(name string) []string { return []string{driver.Verb, driver.SelfTest, name} }
	for _, which := range []selftest.Which{selftest.Nowhere, selftest.There, selftest.Elsewhere} {
		spec, err := c.Spec(file, role, which)
		if err != nil {
			return x, console.Failed(err)
		}
		reply, err := runAlone(ctx, spec)
		if err != nil {
			return x, err
		}
		if err := c.Judge(which, &reply.Outcome.Outcome); err != nil {
			x.OK, x.Detail = false, err.Error()
			return x, nil
		}
	}
	return x, nil
}

// runAlone runs a world that belongs to no project.
func runAlone(ctx context.Context, spec *world.Spec) (*explore.Reply, error) {
	s, remove, err := openAlone(spec)
	if err != nil {
		return nil, err
	}
	defer remove()
	reply, err := s.Run(ctx, &explore.Job{Request: runner.Play(tape.Tape{Seed: selftest.Seed}), Full: true}, nil)
	if err == nil && ctx.Err() != nil {
		err = project.ErrInterrupted
	}
	return reply, err
}

// openAlone is a session for a world without a project.
func openAlone(spec *world.Spec) (s *project.Session, remove func(), err error) {
	state, err := os.MkdirTemp("", "bloodhound-doctor-")
	if err != nil {
		return nil, nil, console.Failed(err)
	}
	if s, err = project.OpenSession(spec, state); err != nil {
		os.RemoveAll(state)
		return nil, nil, err
	}
	return s, func() { s.Close(); os.RemoveAll(state) }, nil
}

// tryWorld runs this program in a world, twice, and compares the runs.
func tryWorld(ctx context.Context) engine.Check {
	x := engine.Check{Name: "a world runs, and repeats", Required: true,
		Remedy: "see above; containers need --security-opt seccomp=unconfined"}
	self, err := os.Executable()
	if err != nil {
		x.Detail = err.Error()
		return x
	}
	s, remove, err := doctorSession([]string{self, "--version"}, doctorMaxTime)
	if err != nil {
		x.Detail = err.Error()
		return x
	}
	defer remove()
	var first *explore.Summary
	for range 2 {
		reply, err := s.Run(ctx, &explore.Job{Request: runner.Play(tape.Tape{Seed: project.DefaultSeed})}, nil)
		switch {
		case err != nil:
			x.Detail = err.Error()
			return x
		case !reply.Summary.Repeat.Reproducible:
			x.Detail = reply.Summary.Repeat.Reason
			return x
		case first == nil:
			first = reply.Summary
			continue
		}
		if x.Detail = explore.Differs(first, reply.Summary); x.Detail != "" {
			return x
		}
	}
	x.OK, x.Remedy, x.Detail = true, "", fmt.Sprintf("two equal runs of %s", plural.Count(first.Events, "event"))
	return x
}

func printCheck(w io.Writer, x engine.Check) {
	mark := "ok"
	switch {
	case !x.OK && x.Required:
		mark = "MISSING"
	case !x.OK:
		mark = "without"
	}
	fmt.Fprintf(w, "%-8s %s", mark, x.Name)
	if x.Detail != "" {
		fmt.Fprintf(w, ": %s", x.Detail)
	}
	fmt.Fprintln(w)
	if !x.OK && x.Remedy != "" {
		fmt.Fprintf(w, "         to do: %s\n", x.Remedy)
	}
}

// doctorSession is a session for a world with one node that runs a command, without faults and without a project.
func doctorSession(command []string, maxTime time.Duration) (s *project.Session, remove func(), err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, console.Failed(err)
	}
	spec := &world.Spec{Name: "doctor", Dir: dir, StartUnixNs: doctorStartUnix * 1e9, MaxTimeNs: maxTime.Nanoseconds(),
		TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "node", Role: world.Server, Hostname: "node", IPv4: "10.0.0.1", Root: "host",
			Command: command, WorkingDir: dir,
			Restart: world.Restart{Mode: world.RestartNo}}}}
	// A node's /tmp and /run begin empty: a program that lies there is brought along.
	if _, ok := world.Emptied(command[0]); ok {
		folder := filepath.Dir(command[0])
		spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Bind, Source: folder, Target: folder}}
	}
	return openAlone(spec)
}

// doctorProgram runs a program alone in a world without faults.
func doctorProgram(a *console.App, c *cobra.Command, f *flags.Set, maxTime time.Duration, args []string) error {
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder, and doctor needs a program, such as `bloodhound doctor ./server --port 8080`; "+
			"`bloodhound config %s` checks a configuration",
			args[0], flags.ShellQuote(args[0]))
	}
	command := slices.Clone(args)
	if strings.Contains(command[0], "/") {
		var err error
		if command[0], err = filepath.Abs(command[0]); err != nil {
			return err
		}
	}
	s, remove, err := doctorSession(command, maxTime)
	var lacking engine.Mistakes
	if errors.As(err, &lacking) {
		remedy := lacking[0].Remedy
		if own, err := exec.LookPath(args[0]); err == nil && !strings.Contains(args[0], "/") {
			remedy = "try `bloodhound doctor " + flags.ShellQuote(own) + "` and use this path in nodes, which do not have your PATH"
		}
		return fmt.Errorf("%s\n  %s", lacking[0].Problem, remedy)
	}
	if err != nil {
		return err
	}
	defer remove()
	seed := project.SeedOf(f, c, &project.Project{})
	reply, err := project.OneRun(c.Context(), a, s, &explore.Job{Request: runner.Play(tape.Tape{Seed: seed}), Full: true, Progress: !f.JSON}, f.JSON)
	if err != nil {
		return err
	}
	unsure, err := contrasted(c.Context(), a, s, tape.Tape{Seed: seed}, reply.Summary, f.JSON)
	if err != nil {
		return err
	}
	doc := DoctorDocument{Bloodhound: program.Version(), Verb: "doctor", Program: args, Run: reply.Summary}
	if len(reply.Summary.Refused) == 0 {
		doc.Conclusion = doctorConclusion(args[0], &reply.Outcome.Outcome)
	}
	status := explore.StatusOfVerdicts(reply.Summary)
	status.Violated = status.Violated && !unsure
	if len(reply.Summary.Refused) > 0 {
		status.Unknown = append(status.Unknown, "system calls were refused")
	}
	doc.ExitCode = status.ExitCode()
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	if n := len(reply.Outcome.Log); n > 0 {
		fmt.Fprintf(a.Out, "its last lines:\n")
		for _, l := range reply.Outcome.Log[max(n-doctorLogLines, 0):] {
			fmt.Fprintf(a.Out, "  %14s  %s\n", report.Seconds(l.TimeNs), l.Text)
		}
		fmt.Fprintln(a.Out)
	}
	for _, x := range reply.Outcome.Crashes {
		fmt.Fprintf(a.Out, "%s of %s (exit code %d%s)\n", x.Kind, x.Program, x.ExitCode, withSignal(x.Signal))
	}
	if err := report.Run(a.Out, seed, reply.Summary); err != nil {
		return err
	}
	if doc.Conclusion != "" {
		fmt.Fprintf(a.Out, "\n%s\n", doc.Conclusion)
	}
	return nil
}

// contrasted makes a run once more with other breakpoints in the program's code. If that is another run, the first one does not count as
// reproducible, and what it violates is not the program's fault.
func contrasted(ctx context.Context, a *console.App, s *project.Session, t tape.Tape, first *explore.Summary, quiet bool) (differs bool, err error) {
	if !first.Repeat.Reproducible {
		return false, nil
	}
	again, err := project.OneRun(ctx, a, s, &explore.Job{Request: runner.Play(t), Contrast: true}, quiet)
	if err == nil && ctx.Err() != nil {
		err = project.ErrInterrupted
	}
	if err != nil {
		return false, err
	}
	d := explore.Differs(first, again.Summary)
	if d == "" {
		return false, nil
	}
	return true, project.NoteUnrepeatable(ctx, a, s, t, first, d, quiet)
}

// doctorConclusion says what a run without refused calls shows about the system calls of a program. A program that ended
// uncleanly did not make the calls of its work, so their support is unknown.
func doctorConclusion(program string, out *record.Outcome) string {
	crash := uncleanEnd(out.Crashes)
	if crash == nil {
		return fmt.Sprintf("every system call that %s made is supported", program)
	}
	if crash.Kind == "crash" { // perhaps of a process that the program started
		program = crash.Program
	}
	end := fmt.Sprintf("%s exited with code %d", program, crash.ExitCode)
	if crash.Signal != "" {
		end = fmt.Sprintf("%s was ended by %s", program, crash.Signal)
	}
	end += fmt.Sprintf(" after %s of virtual time", report.Seconds(crash.TimeNs))
	if crash.TimeNs >= doctorAtOnce.Nanoseconds() {
		return end + ": its system calls before that are supported; later ones were not tried"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, too early to show which system calls are supported\n", end)
	if n := len(out.Log); n > 0 {
		b.WriteString("  it wrote last:\n")
		for _, l := range out.Log[max(n-doctorQuoted, 0):] {
			fmt.Fprintf(&b, "    %s\n", l.Text)
		}
	} else {
		b.WriteString("  it wrote nothing\n")
	}
	b.WriteString("  Start it as in production: bloodhound doctor PROGRAM ARGUMENTS")
	return b.String()
}

// uncleanEnd is how the main process of a world of one node ended, or else the first fatal signal of another process.
func uncleanEnd(crashes []record.Crash) *record.Crash {
	var signal *record.Crash
	for i := range crashes {
		switch c := &crashes[i]; c.Kind {
		case "exit", "panic":
			return c
		case "crash":
			if signal == nil {
				signal = c
			}
		}
	}
	return signal
}

func withSignal(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}
