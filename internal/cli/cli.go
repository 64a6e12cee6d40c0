// Package cli is the command line: one file a verb, and how runs look on a terminal.
package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases; other builds name the commit that they were made from.
var version = ""

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
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = " " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if revision != "" && strings.Contains(v, revision[1:]) {
		return v
	}
	return v + revision + dirty
}

// app is one use of the program.
type app struct {
	out  io.Writer // results
	err  io.Writer // progress, notes and errors
	code int
}

// Main parses the arguments, does what they say and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == driverName {
		return driver(args[1:], stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)

	a := &app{out: stdout, err: stderr}
	root := a.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "bloodhound: %v\n", err)
		return codeOf(err)
	}
	return a.code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "bloodhound",
		Short: "Bloodhound hunts bugs in distributed systems",
		Long: `Bloodhound runs a whole cluster in a world where every choice that is normally left to chance is a decision on
a tape. Same tape, same run: a bug that was found is replayed as often as you like.

Exit codes: 0 all properties hold, 1 a violation was found, 2 wrong usage or configuration, 3 the engine or the
machine failed, 4 a run was not reproducible, 5 unknown.`,
		Version:       Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown verb %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
			}
			return fmt.Errorf("%s\nRun `bloodhound --help` for the list of verbs", text)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate("bloodhound {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nRun `%s --help` for its flags", err, cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.runVerb(), a.exploreVerb(), a.testVerb(), a.verifyVerb(), a.replayVerb(), a.initVerb(), a.doctorVerb(),
		a.workerVerb())
	return root
}

// printJSON writes the one document of --json.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// note tells a person something while work goes on.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
