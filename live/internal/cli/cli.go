// Package cli is the command line of bloodhound-live: one file a verb.
package cli

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/printable"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// ownName is the program's name, and verbName the verb of bloodhound that becomes this program.
const (
	ownName  = "bloodhound-live"
	verbName = "bloodhound live"
)

// Commands is the tree of verbs as bloodhound-live has them.
func Commands() *cobra.Command { return called(ownName) }

// Verb is the tree of verbs below `bloodhound live`, as people type them, for pages that are made of it.
func Verb() *cobra.Command { return called(verbName) }

func called(name string) *cobra.Command {
	return (&app{name: name, out: io.Discard, err: io.Discard}).root(nil)
}

// app is one use of the program.
type app struct {
	name string    // as people have typed it
	out  io.Writer // results
	err  io.Writer // progress, notes and errors
	code int
}

// Main parses the arguments, does what they say and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) (code int) {
	streams := program.NewStreams(stdout, stderr, false)
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
		fmt.Fprintf(stderr, "%s: Bloodhound itself failed: %v. Please report this bug with these lines:\n%s", ownName, value, debug.Stack())
		code = exitcode.Engine
	}()
	ctx, stop := program.Interruptible()
	defer stop()
	a := &app{name: ownName, out: streams.Out, err: streams.Err}
	if version, called := program.Caller(); called {
		a.name = verbName
		if own := program.Version(); version != own {
			a.note("note: bloodhound is %s, and %s is %s; install the same version of both", version, ownName, own)
		}
	}
	err := a.root(args).ExecuteContext(ctx)
	streams.Flush()
	if lost := streams.Lost(); lost != nil {
		err = lost
	}
	if err == nil {
		return a.code
	}
	fmt.Fprintf(a.err, "%s: %s\n", a.name, printable.Text(err.Error()))
	return program.CodeOf(err)
}

func (a *app) root(args []string) *cobra.Command {
	root := a.watchVerb()
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: a.name}
	root.Version = program.Build()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return program.UnknownVerb(c, args[0])
		}
		return nil
	}
	root.SetArgs(args)
	root.SuggestionsMinimumDistance = 2
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate(ownName + " {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w%s\n`%s --help` lists its flags", err, program.NearFlag(cmd, err), cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.testVerb(), a.buildVerb(), a.tryVerb(), a.federateVerb())
	program.Document(root, manuals, nil)
	return root
}

// note prints a remark while work continues.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.err, printable.Text(fmt.Sprintf(format, args...)))
}
