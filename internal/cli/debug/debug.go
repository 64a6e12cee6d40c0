// Package debug has the verb debug: it stops runs for debuggers, at a prompt, and for delve.
package debug

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/debug"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/printable"
	"github.com/bloodhound-dst/bloodhound/internal/record"
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
		Short: "Debug a run forward and backward, with gdb or on a prompt",
		Long: `Makes the run of a failure, or of a seed of a project, and stops in it: at the violation, or where servers are up and the
workload begins. gdb connects with "target remote 127.0.0.1:1234" and goes forward and backward in the run (reverse-continue, reverse-step, ...);
virtual time stands still meanwhile. The prompt goes to points of the run and shows nodes, processes, sockets and logs; help lists its
commands, which gdb has as monitor COMMAND.
Exit code 4: the run did not end as the original one.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("debug takes the id or the file of a failure and a folder or a file, or a folder or a file alone, not %s",
					plural.Count(len(args), "argument"))
			}
			return flags.NoneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error { return debugRun(a, c, f, o, args) },
	}
	f.AddPlaces(c)
	f.AddOneTape(c)
	stored.AddOriginal(f, c)
	c.Flags().StringVar(&o.listen, "listen", o.listen, "`address` at which gdb finds the world; without a host only this machine does")
	c.Flags().Var(flags.Number(&o.gdbPort, 1, math.MaxUint16, "give a port, from 1 to 65535"), "gdb-port", "the same as --listen 127.0.0.1:`port`")
	c.Flags().StringVar(&o.at, "at", "", "stop at this `point` of the run: "+view.PlaceForms+", or begin or end")
	c.Flags().StringVar(&o.process, "process", "", "show debuggers this `process` alone, NODE/PID, or the first one of NODE")
	flags.AddSwitch(c, &o.delve, "delve", "print how delve debugs the Go program of --process backward, and end")
	flags.AddSwitch(c, &o.launch, "launch-json", "print a launch.json by which VS Code debugs --process backward, and end")
	flags.AddSwitch(c, &o.rr, "rr", "serve delve as rr does")
	c.Flags().MarkHidden("rr")
	flags.AddSwitch(c, &o.drivers, "drivers", "show debuggers the processes of workloads, too")
	c.Flags().Var(flags.Number(&o.snapshots, 2, 10_000, "give the number of snapshots, from 2 to 10000"), "snapshots",
		"how many snapshots to keep along the run: more are faster to go back, and need more memory (default: exploration.snapshots.max, or 24)")
	c.Flags().Var(flags.Size(&f.SnapshotMemory), "snapshot-memory",
		"maximum `size` of the snapshots, such as 512m (default: exploration.snapshots.memory_bytes, or a quarter of the machine's memory)")
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
	if o.gdbPort > 0 {
		if c.Flags().Changed("listen") {
			return fmt.Errorf("--listen and --gdb-port both say where gdb finds the world; give one of them")
		}
		o.listen = fmt.Sprintf("127.0.0.1:%d", o.gdbPort)
	}
	address, err := listenAddress(o.listen)
	if err != nil {
		return err
	}
	if o.at != "" {
		if err := debug.CheckPoint(o.at); err != nil {
			return fmt.Errorf("--at: %w", err)
		}
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
	a.Note("in gdb: target remote %s, and set schedule-multiple on for several processes", listener.Addr())
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
	case err = <-served:
		return console.Failed(err)
	}
	listener.Close()
	return <-served
}

func (o *debugOptions) listener(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, console.Failed(fmt.Errorf("--listen %s: %w; name another port, such as --listen 127.0.0.1:0 for any that is free", o.listen, err))
	}
	return l, nil
}

// listenAddress completes an address: what has no host is of this machine alone.
func listenAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if host, port, err = net.SplitHostPort(":" + text); err != nil {
			return "", fmt.Errorf("--listen %s: give an address and a port, such as %s", text, defaultListen)
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	address := net.JoinHostPort(host, port)
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return "", fmt.Errorf("--listen %s: %w; give an address of this machine and a port, such as %s", text, err, defaultListen)
	}
	return address, nil
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
				return nil, fmt.Errorf("--%s is of a run of a project, and %s is a failure, which has its own tape", name, args[0])
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

func openDebugged(a *console.App, d *debugged) (*project.Session, error) {
	if d.failure != nil {
		return stored.OpenFailure(a, d.project, d.failure)
	}
	return project.OpenSession(d.spec, d.project.State)
}

// debugSession makes the run once as it is, and then stops a second one where the options say.
func debugSession(ctx context.Context, a *console.App, s *project.Session, d *debugged, o *debugOptions) (*debug.Session, error) {
	eng, err := project.EngineFor(d.spec)
	if err != nil {
		return nil, console.Failed(err)
	}
	images, err := project.ImagesOf(d.spec)
	if err != nil {
		return nil, console.Failed(err)
	}
	options, err := s.Setup.JobOptions(&explore.Job{},
		engine.Options{Dir: s.Setup.Scratch, Hidden: s.Setup.Hidden, Then: s.Setup.Then, Images: images, Driver: s.Setup.Driver})
	if err != nil {
		return nil, console.Failed(err)
	}
	whole := options
	whole.Interrupt = ctx.Done()
	original, err := runner.Do(eng, d.spec, d.tape, whole, record.Position{})
	if err != nil {
		return nil, console.Failed(err)
	}
	if ctx.Err() != nil {
		return nil, project.ErrInterrupted
	}
	hash := original.Hash
	if d.failure != nil && d.failure.Hash != hash {
		stored.NoteChanged(a, d.project, d.failure, original)
	}
	violation := violationOf(d, original)
	at := o.at
	if at == "" && violation != nil {
		at = "violation"
	}
	until := func(p view.Place) (engine.Until, error) {
		u, _, err := p.Until(violation, &original.Ledger)
		return u, err
	}
	spec := *d.spec
	spec.Limits.WallMs = 0 // a person looks at it
	booted, err := eng.Boot(&spec, d.tape, options)
	if err != nil {
		return nil, console.Failed(err)
	}
	if _, err := booted.Advance(engine.Until{Ready: true, TimeNs: spec.EndNs}); err != nil {
		booted.Close()
		return nil, console.Failed(err)
	}
	w, err := debug.Of(booted, &spec, d.tape, options)
	if err != nil {
		booted.Close()
		return nil, fmt.Errorf("a debugger cannot stop this world: %w", err)
	}
	d.budget.Complete(eng)
	timeline, err := debug.New(w, d.budget)
	if err != nil {
		return nil, console.Failed(err)
	}
	session := &debug.Session{Timeline: timeline, Until: until, Note: a.Note, Views: views(&spec), Nodes: stored.NodeNames(&spec), Recording: o.rr}
	session.Shown = func(t engine.Thread) bool {
		if d.only != nil {
			return t.Node == d.only.Node && (d.only.PID == 0 || t.PID == d.only.PID)
		}
		i := slices.Index(session.Nodes, t.Node)
		return i >= 0 && (o.drivers || spec.Nodes[i].Role == world.Server)
	}
	session.Ended = func(w debug.World) string {
		now := w.Outcome().Hash
		if n := session.Branch(); n > 0 {
			return fmt.Sprintf("the end of branch %d: trace hash %s (that of the recorded run is %s); %s", n, now, hash, verdictsAtEnd(w, &spec))
		}
		if now != hash {
			a.Code = check.ExitNotReproducible
			return fmt.Sprintf("the end of the run: NOT the original one: the trace hash is %s and was %s", now, hash)
		}
		return "the end of the run: trace hash " + hash + ", that of the original run"
	}
	a.Note("%s: %s, %s of virtual time, trace hash %s", d.tape.Name(), plural.Count(original.Events, "event"), report.Seconds(original.VirtualNs), hash)
	if at != "" {
		there, err := session.GoTo(at)
		if err != nil {
			timeline.Close()
			return nil, fmt.Errorf("--at: %w", err)
		}
		a.Note("%s", strings.TrimSpace(there))
	}
	return session, nil
}

// verdictsAtEnd says what a run that has come to its end does with the properties of its world.
func verdictsAtEnd(w debug.World, spec *world.Spec) string {
	j := &check.Judged{Outcome: *w.Outcome()}
	j.Judge(spec, false)
	var names []string
	for i := range j.Verdicts {
		if v := &j.Verdicts[i]; v.Status != check.Holds {
			names = append(names, fmt.Sprintf("%s is %s", v.Property, v.Status))
		}
	}
	if len(names) == 0 {
		return "all properties hold"
	}
	return strings.Join(names, ", ")
}

// violationOf is the violation that is debugged: of a run that shows several, the failure's own. It is nil where there is none.
func violationOf(d *debugged, run *check.Judged) *check.Verdict {
	if d.failure != nil {
		return explore.Shown(run.Verdicts, d.failure.Signature)
	}
	if violated := explore.Violated(run.Verdicts); len(violated) > 0 {
		return &violated[0]
	}
	return nil
}

// views are what the prompt shows of a stopped world.
func views(spec *world.Spec) []debug.View {
	show := func(name, arguments, does string, least, most int, print func(io.Writer, debug.World, []string) error) debug.View {
		return debug.View{Name: name, Arguments: arguments, Does: does, Least: least, Most: most, Print: func(w debug.World, args []string) (string, error) {
			var b strings.Builder
			err := print(&b, w, args)
			return b.String(), err
		}}
	}
	return []debug.View{
		show("nodes", "", "the nodes", 0, 0, func(out io.Writer, w debug.World, _ []string) error {
			list, err := w.Nodes()
			if err != nil {
				return err
			}
			return view.WriteNodes(out, list)
		}),
		show("ps", "", "processes and threads, and what they wait in", 0, 0, func(out io.Writer, w debug.World, _ []string) error {
			list, err := view.Processes(w)
			if err != nil {
				return err
			}
			_, now := w.At()
			return view.WriteProcesses(out, list, now)
		}),
		show("sockets", "", "sockets of all nodes", 0, 0, func(out io.Writer, w debug.World, _ []string) error {
			list, err := view.Sockets(w)
			if err != nil {
				return err
			}
			return view.WriteSockets(out, list)
		}),
		show("fds", "NODE/PID", "open descriptors of a process", 1, 1, func(out io.Writer, w debug.World, args []string) error {
			p, err := view.ParseNodeProcess(args[0])
			if err != nil {
				return err
			}
			list, err := w.Files(p.Node, p.PID)
			if err != nil {
				return err
			}
			return view.WriteOpenFiles(out, list)
		}),
		show("files", "[NODE:PATH]", "the files that programs have changed, or those in a folder", 0, 1,
			func(out io.Writer, w debug.World, args []string) error {
				if len(args) == 0 {
					list, err := view.Changes(w)
					if err != nil {
						return err
					}
					return view.WriteChanges(out, list)
				}
				p, err := view.ParseNodePath(args[0], true)
				if err != nil {
					return err
				}
				p.Path = cmp.Or(p.Path, "/")
				list, err := view.List(w, p)
				if err != nil {
					return err
				}
				return view.WriteList(out, list)
			}),
		show("cat", "NODE:PATH", "the contents of a file", 1, 1, func(out io.Writer, w debug.World, args []string) error {
			p, err := view.ParseNodePath(args[0], false)
			if err != nil {
				return err
			}
			return view.Cat(&printable.Writer{To: out}, w, p)
		}),
		show("logs", "[NODE]", fmt.Sprintf("the last %s that programs wrote", plural.Count(linesShown, "line")), 0, 1,
			func(out io.Writer, w debug.World, args []string) error {
				log := w.Outcome().Log
				if len(args) > 0 {
					if err := stored.KnownNode(spec, args[0]); err != nil {
						return err
					}
					log = slices.DeleteFunc(slices.Clone(log), func(l record.LogLine) bool { return l.Node != args[0] })
				}
				return report.Logs(out, &check.Judged{Outcome: record.Outcome{Log: log[max(0, len(log)-linesShown):]}})
			}),
		show("history", "", fmt.Sprintf("the last %s of operations", plural.Count(linesShown, "record")), 0, 0,
			func(out io.Writer, w debug.World, _ []string) error {
				list := w.Outcome().History
				for _, e := range list[max(0, len(list)-linesShown):] {
					b, err := json.Marshal(e)
					if err != nil {
						return err
					}
					fmt.Fprintf(out, "%s\n", b)
				}
				return nil
			}),
	}
}

// linesShown is how many lines the prompt shows of a log.
const linesShown = 40
