package debug

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
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
	"github.com/bloodhound-dst/bloodhound/internal/view"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

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
	timeline, err := startTimeline(eng, &spec, d, options)
	if err != nil {
		return nil, err
	}
	session := &debug.Session{Timeline: timeline, Until: until, Note: a.Note, Views: views(&spec), Nodes: stored.NodeNames(&spec), Recording: o.rr}
	session.Shown = func(t engine.Thread) bool {
		if d.only != nil {
			return t.Node == d.only.Node && (d.only.PID == 0 || t.PID == d.only.PID)
		}
		i := slices.Index(session.Nodes, t.Node)
		return i >= 0 && (o.drivers || spec.Nodes[i].Role == world.Server)
	}
	session.Ended = func(w debug.World) string { return ending(a, session, w, &spec, hash) }
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

// startTimeline boots the world of a run and stops it where a debugger can take over.
func startTimeline(eng engine.Engine, spec *world.Spec, d *debugged, options engine.Options) (*debug.Timeline, error) {
	booted, err := eng.Boot(spec, d.tape, options)
	if err != nil {
		return nil, console.Failed(err)
	}
	if _, err := booted.Advance(engine.Until{Ready: true, TimeNs: spec.EndNs}); err != nil {
		booted.Close()
		return nil, console.Failed(err)
	}
	w, err := debug.NewWorld(booted, spec, d.tape, options)
	if err != nil {
		booted.Close()
		return nil, fmt.Errorf("a debugger cannot stop this world: %w", err)
	}
	d.budget.Complete(eng)
	timeline, err := debug.New(w, d.budget)
	if err != nil {
		return nil, console.Failed(err)
	}
	return timeline, nil
}

// ending says how a run or a branch of it ended, compared with the trace hash of the original run.
func ending(a *console.App, session *debug.Session, w debug.World, spec *world.Spec, hash string) string {
	now := w.Outcome().Hash
	if n := session.Branch(); n > 0 {
		return fmt.Sprintf("end of branch %d: trace hash %s (recorded run: %s); %s", n, now, hash, verdictsAtEnd(w, spec))
	}
	if now != hash {
		a.Code = check.ExitNotReproducible
		return fmt.Sprintf("end of the run, which is NOT the original one: the trace hash is %s and was %s", now, hash)
	}
	return "end of the run: trace hash " + hash + ", as in the original run"
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

// views lists the prompt's commands that show a stopped world.
func views(spec *world.Spec) []debug.View {
	show := func(name, arguments, does string, least, most int, print func(io.Writer, debug.World, []string) error) debug.View {
		return debug.View{Name: name, Arguments: arguments, Does: does, Least: least, Most: most, Print: func(w debug.World, args []string) (string, error) {
			var b strings.Builder
			err := print(&b, w, args)
			return b.String(), err
		}}
	}
	return []debug.View{
		show("nodes", "", "the nodes", 0, 0, showNodes),
		show("ps", "", "processes and threads, and the system calls that they wait in", 0, 0, showProcesses),
		show("sockets", "", "sockets of all nodes", 0, 0, showSockets),
		show("fds", "NODE/PID", "open descriptors of a process", 1, 1, showDescriptors),
		show("files", "[NODE:PATH]", "the files that programs have changed, or the files of a folder", 0, 1, showFiles),
		show("cat", "NODE:PATH", "the contents of a file", 1, 1, showContents),
		show("logs", "[NODE]", fmt.Sprintf("the last %s that programs wrote", plural.Count(linesShown, "line")), 0, 1,
			func(out io.Writer, w debug.World, args []string) error { return showLogs(out, w, spec, args) }),
		show("history", "", fmt.Sprintf("the last %s of operations", plural.Count(linesShown, "record")), 0, 0, showHistory),
	}
}

func showNodes(out io.Writer, w debug.World, _ []string) error {
	list, err := w.Nodes()
	if err != nil {
		return err
	}
	return view.WriteNodes(out, list)
}

func showProcesses(out io.Writer, w debug.World, _ []string) error {
	list, err := view.Processes(w)
	if err != nil {
		return err
	}
	_, now := w.Moment()
	return view.WriteProcesses(out, list, now)
}

func showSockets(out io.Writer, w debug.World, _ []string) error {
	list, err := view.Sockets(w)
	if err != nil {
		return err
	}
	return view.WriteSockets(out, list)
}

func showDescriptors(out io.Writer, w debug.World, args []string) error {
	p, err := view.ParseNodeProcess(args[0])
	if err != nil {
		return err
	}
	list, err := w.Files(p.Node, p.PID)
	if err != nil {
		return err
	}
	return view.WriteOpenFiles(out, list)
}

func showFiles(out io.Writer, w debug.World, args []string) error {
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
}

func showContents(out io.Writer, w debug.World, args []string) error {
	p, err := view.ParseNodePath(args[0], false)
	if err != nil {
		return err
	}
	return view.Cat(&printable.Writer{To: out}, w, p)
}

func showLogs(out io.Writer, w debug.World, spec *world.Spec, args []string) error {
	log := w.Outcome().Log
	if len(args) > 0 {
		if err := stored.KnownNode(spec, args[0]); err != nil {
			return err
		}
		log = slices.DeleteFunc(slices.Clone(log), func(l record.LogLine) bool { return l.Node != args[0] })
	}
	return report.Logs(out, &check.Judged{Outcome: record.Outcome{Log: log[max(0, len(log)-linesShown):]}})
}

func showHistory(out io.Writer, w debug.World, _ []string) error {
	list := w.Outcome().History
	for _, e := range list[max(0, len(list)-linesShown):] {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", b)
	}
	return nil
}

func (o *debugOptions) listener(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, console.Failed(fmt.Errorf("--listen %s: %w; choose another port, such as --listen 127.0.0.1:0 for any free one", o.listen, err))
	}
	return l, nil
}
