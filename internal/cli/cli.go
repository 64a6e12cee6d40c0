// Package cli is the command line: one file a verb, and how runs look on a terminal.
package cli

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// Version names this build.
func Version() string { return program.Version() }

// RRName is the name by which delve finds this program.
const RRName = rrName

// RR is the program that delve starts.
func RR(args []string, out, errs io.Writer) int { return rr(args, out, errs, Main) }

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
	streams := program.NewStreams(stdout, stderr, len(args) > 0 && args[0] == workerName)
	defer streams.Flush()
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if in, done := streams.Recovered(value); done {
			code = in
			return
		}
		// Go's own exit code for it, 2, would say that the arguments are wrong.
		fmt.Fprintf(stderr, "bloodhound: %s\n", engine.NewBroken(value, debug.Stack()))
		code = check.ExitEngine
	}()
	ctx, stop := program.Interruptible()
	defer stop()
	if len(args) > 0 && args[0] == "model" {
		args = append(args[:1:1], doubleDashes(args[1:])...)
	}
	a := &app{out: streams.Out, json: streams.JSON, raw: streams.Raw, err: streams.Err}
	root := a.root(args)
	verb, err := root.ExecuteContextC(ctx)
	streams.Flush()
	if lost := streams.Lost(); lost != nil {
		err = lost
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

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "bloodhound",
		Short: "Bloodhound finds bugs in distributed systems by deterministic simulation",
		Long: `Bloodhound runs a cluster of programs in a simulated world. A tape (a seed and a few edits) decides scheduling, network, disks,
clocks, random numbers and faults. The same tape gives the same run, so every bug that is found can be replayed.

` + exitCodes,
		Version:       program.Build(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return program.UnknownVerb(cmd, args[0])
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
				return program.UnknownVerb(cmd, args[0])
			}
			err = fmt.Errorf("%w; flags follow the verb", err)
		}
		return fmt.Errorf("%w%s\nRun `%s --help` for its flags", err, program.NearFlag(cmd, err), cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [VERB]",
		Short: "Print the help of a verb",
		RunE: func(_ *cobra.Command, args []string) error {
			about, below, err := root.Find(args)
			if err != nil || len(args) > 0 && about == root {
				return program.UnknownVerb(root, args[0])
			}
			if about.DisableFlagParsing { // another program has its help
				return about.RunE(about, append(below, "--help"))
			}
			return about.Help()
		},
	})
	root.AddCommand(a.runVerb(), a.exploreVerb(), a.sweepVerb(), a.testVerb(), a.verifyVerb(), a.replayVerb(), a.debugVerb(),
		a.shrinkVerb(), a.explainVerb(), a.bisectVerb(), a.buildVerb(), a.liveVerb(), a.fleetVerb(), a.dashboardVerb(),
		a.checkVerb(), a.reportVerb(), a.listVerb(), a.docsVerb(), a.initVerb(), a.importVerb(), a.configVerb(), a.schemaVerb(),
		a.imageVerb(), a.doctorVerb(), a.modelVerb(), a.vmVerb(),
		a.workerVerb(), a.dbVerb())
	program.Document(root, examples, flagGroups)
	return root
}

// note prints a remark while work continues.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.err, report.Printable(fmt.Sprintf(format, args...)))
}
