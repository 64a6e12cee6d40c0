// Package cli assembles the command line: the tree of commands, whose groups are the packages below it, and their help.
package cli

import (
	"fmt"
	"io"
	runtimedebug "runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/campaign"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/debug"
	"github.com/bloodhound-dst/bloodhound/internal/cli/failures"
	"github.com/bloodhound-dst/bloodhound/internal/cli/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/cli/history"
	"github.com/bloodhound-dst/bloodhound/internal/cli/image"
	"github.com/bloodhound-dst/bloodhound/internal/cli/model"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/setup"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// RRName is the name by which delve finds this program.
const RRName = debug.RRName

// RR is the program that delve starts.
func RR(args []string, out, errs io.Writer) int { return debug.RR(args, out, errs, Main) }

// Commands is the tree of verbs, for pages and completions that are made of it.
func Commands() *cobra.Command {
	return root(&console.App{Out: io.Discard, JSON: io.Discard, Raw: io.Discard, Err: io.Discard}, nil)
}

// Main parses the arguments, does what they say and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) (code int) {
	streams := program.NewStreams(stdout, stderr, len(args) > 0 && args[0] == project.WorkerName)
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
		fmt.Fprintf(stderr, "bloodhound: %s\n", engine.NewBroken(value, runtimedebug.Stack()))
		code = check.ExitEngine
	}()
	ctx, stop := program.Interruptible()
	defer stop()
	if len(args) > 0 && args[0] == "model" {
		args = append(args[:1:1], model.DoubleDashes(args[1:])...)
	}
	a := &console.App{Out: streams.Out, JSON: streams.JSON, Raw: streams.Raw, Err: streams.Err}
	root := root(a, args)
	verb, err := root.ExecuteContextC(ctx)
	streams.Flush()
	if lost := streams.Lost(); lost != nil {
		err = lost
	}
	if err == nil {
		return a.Code
	}
	fmt.Fprintf(a.Err, "bloodhound: %s\n", report.Printable(err.Error()))
	if a.WantsJSON(verb, args) && !a.Printed {
		a.PrintJSON(console.NewErrorDocument(verb, err))
	}
	return console.CodeOf(err)
}

// groups are the verbs, by what they are about.
var groups = []func(*console.App) []*cobra.Command{campaign.Verbs, failures.Verbs, debug.Verbs, history.Verbs, model.Verbs, fleet.Verbs,
	image.Verbs, setup.Verbs}

func root(a *console.App, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "bloodhound",
		Short:         "Find bugs in distributed systems by deterministic simulation",
		Long:          about,
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
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetVersionTemplate("bloodhound {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.Misused = true
		if !cmd.HasParent() {
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				return program.UnknownVerb(cmd, args[0])
			}
			err = fmt.Errorf("%w; write flags after the command", err)
		}
		return fmt.Errorf("%w%s\n`%s --help` lists its flags", err, program.NearFlag(cmd, err), cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
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
	for _, verbs := range groups {
		root.AddCommand(verbs(a)...)
	}
	program.Document(root, manuals, flagGroups)
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != root {
			help(c, args)
			return
		}
		printFirstScreen(c.OutOrStdout(), root)
	})
	return root
}
