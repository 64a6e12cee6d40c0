// Package debug has the verb debug: it stops runs for debuggers, at a prompt, and for delve.
package debug

import (
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/debug"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/view"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultListen is where debuggers find a world.
const defaultListen = "127.0.0.1:1234"

// Verbs makes the verb debug.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{debugVerb(a)}
}

func debugVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	o := &debugOptions{listen: defaultListen}
	c := &cobra.Command{
		Use:   "debug ID [FOLDER or FILE] | debug FOLDER or FILE",
		Short: "Debug a run forward and backward, with gdb or at a prompt",
		Long: "Replay a failure and stop at the violation. Without an ID, run one seed of a project and stop when the servers are up" +
			" and the workload begins.\n\n" +
			"gdb connects with \"target remote 127.0.0.1:1234\" and moves forward and backward (reverse-continue," +
			" reverse-step). Virtual time stands still while you look.\n\n" +
			"At Bloodhound's own prompt you can go to any point of the run and look at nodes, processes, sockets and logs. `help` lists " +
			"its commands. From gdb, type `monitor COMMAND`.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("usage: bloodhound debug ID [FOLDER or FILE], or bloodhound debug [FOLDER or FILE] --seed N, not %s",
					plural.Count(len(args), "argument"))
			}
			return flags.NoneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error { return debugRun(a, c, f, o, args) },
	}
	f.AddPlaces(c)
	f.AddOneTape(c)
	stored.AddOriginal(f, c)
	c.Flags().StringVar(&o.listen, "listen", o.listen, "listen for gdb at this `address`; without a host, only on this machine")
	c.Flags().Var(flags.Number(&o.gdbPort, 1, math.MaxUint16, "give a port, from 1 to 65535"), "gdb-port", "the same as --listen 127.0.0.1:`port`")
	c.Flags().StringVar(&o.at, "at", "", "stop at this `point` of the run: "+view.PlaceForms+", or begin or end")
	c.Flags().StringVar(&o.process, "process", "", "let the debugger see only this `process`: NODE/PID, or NODE for its first process")
	flags.AddSwitch(c, &o.delve, "delve", "print how to step backward with delve through the Go program that --process names, then exit")
	flags.AddSwitch(c, &o.launch, "launch-json", "print a launch.json to step backward in VS Code through the program that --process names, then exit")
	flags.AddSwitch(c, &o.rr, "rr", "serve delve as rr does")
	c.Flags().MarkHidden("rr")
	flags.AddSwitch(c, &o.drivers, "drivers", "let the debugger also see the processes of workloads")
	c.Flags().Var(flags.Number(&o.snapshots, 2, 10_000, "give the number of snapshots, from 2 to 10000"), "snapshots",
		"how many snapshots to keep along the run: with more of them, stepping back is faster but needs more memory "+
			"(default: exploration.snapshots.max, or 24)")
	c.Flags().Var(flags.Size(&f.SnapshotMemory), "snapshot-memory",
		"memory for the snapshots, a `size` such as 512m (default: exploration.snapshots.memory_bytes, or a quarter of the machine's memory)")
	return c
}

type debugOptions struct {
	listen, at    string
	gdbPort       uint64
	delve, launch bool
	rr            bool
	process       string
	drivers       bool
	snapshots     uint64
}

// only reads which process debuggers are shown alone: one of a node, or, if its number is 0, the first that the node has. It is nil if they are shown all.
func (o *debugOptions) only(spec *world.Spec) (*view.NodeProcess, error) {
	switch {
	case o.process == "":
		return nil, nil
	case slices.Contains(stored.NodeNames(spec), o.process):
		return &view.NodeProcess{Node: o.process}, nil
	}
	node, _, _ := strings.Cut(o.process, "/")
	err := stored.KnownNode(spec, node)
	var p view.NodeProcess
	if err == nil {
		p, err = view.ParseNodeProcess(o.process)
	}
	if err != nil {
		return nil, fmt.Errorf("--process: %w", err)
	}
	return &p, nil
}

// debugged is the run that is debugged.
type debugged struct {
	project *project.Project
	spec    *world.Spec
	tape    tape.Tape
	failure *report.Failure   // nil for a seed of a project
	only    *view.NodeProcess // that debuggers are shown; nil if they are shown all
	budget  runner.Budget     // of its snapshots
}

func debugRun(a *console.App, c *cobra.Command, f *flags.Set, o *debugOptions, args []string) error {
	address, err := o.address(c)
	if err != nil {
		return err
	}
	d, err := debuggedRun(a, c, f, args)
	if err != nil {
		return err
	}
	if d.project.Spec == nil {
		defer os.RemoveAll(d.project.State)
	}
	if err := project.RequireRepeats(d.spec, "bloodhound debug"); err != nil {
		return err
	}
	if d.only, err = o.only(d.spec); err != nil {
		return err
	}
	if d.budget, _ = project.SnapshotBudget(f, d.project); o.snapshots > 0 {
		d.budget.Most = int(o.snapshots)
	}
	if o.delve || o.launch {
		return prepareDelve(a, c, f, d, o, args)
	}
	// The port is tried before anything runs, and taken when the world stands: gdb repeats a connection that is refused (set tcp auto-retry), and gives up
	// one that nobody answers.
	listener, err := o.listener(address)
	if err != nil {
		return err
	}
	listener.Close()
	s, err := openDebugged(a, d)
	if err != nil {
		if d.failure != nil {
			return stored.ExplainLacking(d.project, args[0], d.failure, err)
		}
		return err
	}
	defer s.Close()
	if d.spec.Engine == world.VM {
		return debugVM(a, c, s, d, o, address)
	}
	session, err := debugSession(c.Context(), a, s, d, o)
	if err != nil {
		return err
	}
	defer session.Close()
	if c.Context().Err() != nil {
		return project.ErrInterrupted
	}
	if listener, err = o.listener(address); err != nil {
		return err
	}
	defer listener.Close()
	if o.rr {
		if err := launch(a.Err, session, listener.Addr().String(), s.Setup.Scratch); err != nil {
			return console.Failed(err)
		}
	}
	return o.serve(a, c, session, listener)
}

// address reads where to listen, and checks --at.
func (o *debugOptions) address(c *cobra.Command) (string, error) {
	if o.gdbPort > 0 {
		if c.Flags().Changed("listen") {
			return "", fmt.Errorf("--listen and --gdb-port mean the same; leave out one of them")
		}
		o.listen = fmt.Sprintf("127.0.0.1:%d", o.gdbPort)
	}
	address, err := listenAddress(o.listen)
	if err != nil {
		return "", err
	}
	if o.at != "" {
		if err := debug.CheckPoint(o.at); err != nil {
			return "", fmt.Errorf("--at: %w", err)
		}
	}
	return address, nil
}

// serve shows the session to debuggers and at the prompt, until one of them ends.
func (o *debugOptions) serve(a *console.App, c *cobra.Command, session *debug.Session, listener net.Listener) error {
	a.Note("in gdb: target remote %s, and for several processes set schedule-multiple on", listener.Addr())
	served := make(chan error, 1)
	go func() { served <- session.Serve(listener) }()
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		ended := session.Prompt(os.Stdin, a.Out, term.IsTerminal(int(os.Stdin.Fd())))
		if !ended && (c.Flags().Changed("listen") || o.gdbPort > 0) { // nobody types: debuggers come, until a signal ends it
			<-c.Context().Done()
		}
	}()
	select {
	case <-typed:
	case <-c.Context().Done():
	case err := <-served:
		return console.Failed(err)
	}
	listener.Close()
	return <-served
}

// debuggedRun finds the run that the arguments name.
func debuggedRun(a *console.App, c *cobra.Command, f *flags.Set, args []string) (*debugged, error) {
	ofSeed := len(args) == 0
	if len(args) == 1 && filepath.Ext(args[0]) != ".json" {
		_, err := os.Stat(args[0])
		ofSeed = err == nil
	}
	if !ofSeed {
		for _, name := range []string{"seed", "boot-seed", "tape"} {
			if flag := c.Flags().Lookup(name); flag != nil && flag.Changed {
				return nil, fmt.Errorf("--%s does not apply to the failure %s, which has its own seed; leave it out", name, args[0])
			}
		}
		p, full, err := stored.LoadFailure(a, c, f, args)
		if err != nil {
			return nil, err
		}
		failure := stored.ChosenRun(f, full)
		return &debugged{project: p, spec: failure.Spec, tape: failure.Tape, failure: failure}, nil
	}
	f.AsWritten = true
	p, err := project.Load(c.Context(), a, f, args)
	if err != nil {
		return nil, err
	}
	t, err := project.TapeOf(f, c, p)
	if err != nil {
		return nil, err
	}
	if err := p.Build(c.Context(), a); err != nil {
		return nil, err
	}
	return &debugged{project: p, spec: p.Spec, tape: t}, nil
}

// linesShown is how many lines the prompt shows of a log.
const linesShown = 40
