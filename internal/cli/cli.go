// Package cli is the command line: one file a verb, and how runs look on a terminal.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/module"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// version and revision, which is a commit, are set by the linker, for releases and by make. Other builds know what the go command has recorded.
var version, revision = "", ""

// Version names this build.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	at, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			at = " " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if at != "" && strings.Contains(v, at[1:]) {
		return v
	}
	return v + at + dirty
}

// buildOf names this build in full: its version, what it was made from, and the toolchain. `go install MODULE@VERSION` records no commit: then it
// is the one in the version, or else the module's digest.
func buildOf() string {
	from := "commit " + revision
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		from = "commit unknown"
		if rev, err := module.PseudoVersionRev(info.Main.Version); err == nil {
			from = "commit " + rev
		} else if info.Main.Sum != "" {
			from = "module " + info.Main.Sum
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				from = "commit " + s.Value
			}
		}
	}
	return fmt.Sprintf("%s (%s, %s %s/%s)", Version(), from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Commands is the tree of verbs, for pages and completions that are made of it.
func Commands() *cobra.Command {
	return (&app{out: io.Discard, json: io.Discard, raw: io.Discard, err: io.Discard}).root(nil)
}

// app is one use of the program.
type app struct {
	out  io.Writer // results, as text
	json io.Writer // the one document of --json
	raw  io.Writer // bytes of a file that was asked for, as they are
	err  io.Writer // progress, notes and errors
	code int
	// misused means that the flags could not be read.
	misused bool
	printed bool // the one document of --json is out
}

// Main parses the arguments, does what they say and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if value := recover(); value != nil { // Go's own exit code for it, 2, would say that the arguments are wrong
			fmt.Fprintf(stderr, "bloodhound: %s\n", engine.NewBroken(value, debug.Stack()))
			code = check.ExitEngine
		}
	}()
	ctx, stop := interruptible()
	defer stop()
	if len(args) > 0 && args[0] == "model" {
		args = append(args[:1:1], doubleDashes(args[1:])...)
	}
	out := &results{to: stdout}
	a := &app{out: &report.PrintableWriter{To: out}, json: out, raw: out, err: stderr}
	flush := func() {}
	if os.Getenv(workflowVariable) == "true" && (len(args) == 0 || args[0] != workerName) {
		text, notes := newWorkflowLogs(out, stderr)
		a.out, a.json, a.err = &report.PrintableWriter{To: text}, workflowJSON{out}, notes
		if !isRegular(stdout) {
			a.raw = text
		}
		flush = func() { text.flush(); notes.flush() }
		defer flush()
		defer func() {
			if problem := recover(); problem != nil {
				code = notes.recovered(problem)
			}
		}()
	}
	root := a.root(args)
	verb, err := root.ExecuteContextC(ctx)
	flush()
	if out.lost != nil {
		err = out.lost
	}
	if err == nil {
		return a.code
	}
	fmt.Fprintf(a.err, "bloodhound: %s\n", report.Printable(err.Error()))
	if a.wantsJSON(verb, args) && !a.printed {
		a.printJSON(newErrorDocument(verb, err))
	}
	return codeOf(err)
}

// sameInterrupt is how long after the first signal others belong to it: timeout(1) signals the program and then its whole group,
// and a terminal that closes sends more than one.
const sameInterrupt = time.Second

// interruptible gives a context that the first signal ends. A second one ends the program at once.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			cancel()
			time.AfterFunc(sameInterrupt, func() { signal.Stop(signals) })
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, cancel
}

// results is the standard output. That something could not be written there is a failure of the machine, whoever wrote
// it.
type results struct {
	to   io.Writer
	lost error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	if err != nil && r.lost == nil {
		r.lost = failed(fmt.Errorf("the results cannot be written: %w", err))
	}
	return n, err
}

func unknownVerb(root *cobra.Command, verb string) error {
	text := fmt.Sprintf("unknown verb %q", verb)
	if near := root.SuggestionsFor(verb); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return fmt.Errorf("%s\nRun `bloodhound --help` for the list of verbs", text)
}

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "bloodhound",
		Short: "Bloodhound finds bugs in distributed systems by deterministic simulation",
		Long: `Bloodhound runs a cluster of programs in a simulated world. A tape (a seed and a few edits) decides scheduling, network, disks,
clocks, random numbers and faults. The same tape gives the same run, so every bug that is found can be replayed.

` + exitCodes,
		Version:       buildOf(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownVerb(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.SetArgs(args)
	root.SuggestionsMinimumDistance = 2
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate("bloodhound {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.misused = true
		if !cmd.HasParent() {
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				return unknownVerb(cmd, args[0])
			}
			err = fmt.Errorf("%w; flags follow the verb", err)
		}
		return fmt.Errorf("%w%s\nRun `%s --help` for its flags", err, nearFlag(cmd, err), cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [VERB]",
		Short: "Print the help of a verb",
		RunE: func(_ *cobra.Command, args []string) error {
			about, _, err := root.Find(args)
			if err != nil || len(args) > 0 && about == root {
				return unknownVerb(root, args[0])
			}
			return about.Help()
		},
	})
	root.AddCommand(a.runVerb(), a.exploreVerb(), a.sweepVerb(), a.testVerb(), a.verifyVerb(), a.replayVerb(), a.debugVerb(),
		a.shrinkVerb(), a.explainVerb(), a.bisectVerb(), a.buildVerb(), a.liveVerb(), a.fleetVerb(), a.dashboardVerb(),
		a.checkVerb(), a.reportVerb(), a.listVerb(), a.docsVerb(), a.initVerb(), a.importVerb(), a.configVerb(), a.schemaVerb(),
		a.imageVerb(), a.doctorVerb(), a.modelVerb(), a.vmVerb(),
		a.workerVerb(), a.dbVerb())
	documentVerbs(root)
	return root
}

// unknownFlag is the error of pflag for a flag that a command does not have.
var unknownFlag = regexp.MustCompile(`^unknown flag: --([^ =]+)`)

// nearFlag suggests the flag of a command that is nearest to an unknown one; empty if none is near.
func nearFlag(cmd *cobra.Command, err error) string {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := suggest.Nearest(m[1], names); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}

// note prints a remark while work continues.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.err, report.Printable(fmt.Sprintf(format, args...)))
}
