package stored

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/view"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// LookFlags ask for what a run shows at a point on its way.
type LookFlags struct {
	at, ls, cat, tar, core, fds, output, Pcap string
	ps, sockets, files                        bool
}

// Add adds the flags to a verb.
func (l *LookFlags) Add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.at, "at", "", "stop the run at this `point`: "+view.PlaceForms+" (default: violation)")
	flags.AddSwitch(c, &l.ps, "ps", "print the processes and threads of all nodes, and the system calls that they wait in")
	flags.AddSwitch(c, &l.sockets, "sockets", "print the sockets of all nodes")
	flags.AddSwitch(c, &l.files, "files", "print the files that programs created, changed or removed")
	f.StringVar(&l.fds, "fds", "", "print the open descriptors of the process `NODE/PID`")
	f.StringVar(&l.ls, "ls", "", "list the folder `NODE:PATH`")
	f.StringVar(&l.cat, "cat", "", "write the file `NODE:PATH` to standard output or to --output")
	f.StringVar(&l.tar, "tar", "", "write a tar archive of `NODE:PATH`, or of all files that the programs of NODE created or changed")
	f.StringVar(&l.core, "core", "", "write a core file of the process `NODE/PID`")
	f.VarP(flags.File(&l.output), "output", "o", "write the result of --cat, --tar or --core to this `file`")
	f.Var(flags.File(&l.Pcap), "pcap", "write the packets up to --at, or of the whole run, to this `file` as a Wireshark capture")
	c.MarkFlagsMutuallyExclusive("cat", "tar", "core")
}

// bytes is the flag that asks for bytes in place of text, and what it was given.
func (l *LookFlags) bytes() (name, text string) {
	for _, f := range [][2]string{{"--cat", l.cat}, {"--tar", l.tar}, {"--core", l.core}} {
		if f[1] != "" {
			return f[0], f[1]
		}
	}
	return "", ""
}

// Asked reports whether a replay shall stop to be looked at. --logs alone prints the logs of the whole run.
func (l *LookFlags) Asked() bool {
	name, _ := l.bytes()
	return l.at != "" || l.ps || l.sockets || l.files || l.fds != "" || l.ls != "" || name != ""
}

// Request reads the flags, and reports what is wrong with them before anything runs.
func (l *LookFlags) Request(c *cobra.Command, f *flags.Set, spec *world.Spec, terminal bool) (*view.Request, error) {
	if err := l.readFiles(c); err != nil {
		return nil, err
	}
	if !l.Asked() {
		return nil, nil
	}
	bytes, _ := l.bytes()
	texts := l.ps || l.sockets || l.files || l.fds != "" || l.ls != "" || f.Logs || f.JSON
	switch {
	case f.Runs > 1:
		return nil, errors.New("--runs does not apply when you look at one run; leave it out")
	case bytes == "--core" && l.output == "":
		return nil, errors.New("--core needs a file: add --output FILE")
	case bytes != "" && l.output == "" && texts:
		return nil, fmt.Errorf("%s and other flags would both write to standard output: add --output FILE", bytes)
	case bytes == "--tar" && l.output == "" && terminal:
		return nil, errors.New("--tar cannot write to a terminal: redirect it, or add --output FILE")
	}
	r := &view.Request{Processes: l.ps, Sockets: l.sockets, Changes: l.files, Nodes: !texts && bytes == "" || f.JSON}
	var err error
	if r.Place, err = view.ParsePlace(cmp.Or(l.at, "violation")); err != nil {
		return nil, fmt.Errorf("--at: %w", err)
	}
	path := func(name, text string, whole bool, to **view.NodePath) {
		if text == "" || err != nil {
			return
		}
		p, mistake := view.ParseNodePath(text, whole)
		if mistake == nil {
			mistake = KnownNode(spec, p.Node)
		}
		if *to = &p; mistake != nil {
			err = fmt.Errorf("--%s: %w", name, mistake)
		}
	}
	process := func(name, text string, to **view.NodeProcess) {
		if text == "" || err != nil {
			return
		}
		p, mistake := view.ParseNodeProcess(text)
		if mistake == nil {
			mistake = KnownNode(spec, p.Node)
		}
		if *to = &p; mistake != nil {
			err = fmt.Errorf("--%s: %w", name, mistake)
		}
	}
	path("ls", l.ls, true, &r.List)
	path("cat", l.cat, false, &r.Cat)
	path("tar", l.tar, true, &r.Tar)
	process("fds", l.fds, &r.OpenFiles)
	process("core", l.core, &r.Core)
	if r.List != nil {
		r.List.Path = cmp.Or(r.List.Path, "/")
	}
	return r, err
}

// readFiles checks that flags with values have some and that files can be written, and makes the path of the packets absolute.
func (l *LookFlags) readFiles(c *cobra.Command) error {
	for _, name := range []string{"at", "fds", "ls", "cat", "tar", "core"} {
		if given := c.Flags().Lookup(name); given.Changed && given.Value.String() == "" {
			return fmt.Errorf("--%s is empty; give %s", name,
				cmp.Or(map[string]string{"at": view.PlaceForms, "fds": "NODE/PID", "core": "NODE/PID"}[name], "NODE:PATH"))
		}
	}
	if bytes, _ := l.bytes(); l.output != "" && bytes == "" {
		return errors.New("--output needs --cat, --tar or --core")
	}
	for name, file := range map[string]string{"output": l.output, "pcap": l.Pcap} {
		if file == "" {
			continue
		}
		if problem, remedy := report.Unwritable(file); problem != "" {
			return fmt.Errorf("--%s %s: %s; %s", name, file, problem, remedy)
		}
	}
	if l.Pcap != "" {
		path, err := filepath.Abs(l.Pcap)
		if err != nil {
			return err
		}
		l.Pcap = path
	}
	return nil
}

// NodeNames lists the nodes of a world.
func NodeNames(spec *world.Spec) (names []string) {
	for i := range spec.Nodes {
		names = append(names, spec.Nodes[i].Name)
	}
	return names
}

// KnownNode returns an error unless a world has a node of this name.
func KnownNode(spec *world.Spec, name string) error {
	names := NodeNames(spec)
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("no node %q; nodes are %s", name, strings.Join(names, ", "))
}

// LookDocument is the JSON document of replay where it stops to be looked at.
type LookDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	ExitCode   int    `json:"exit_code"`
	Failure    string `json:"failure"` // id
	// SameRun says that the run is the stored one. Another one has Changes.
	SameRun bool             `json:"same_run"`
	Changes []string         `json:"changes,omitempty"`
	At      view.Answer      `json:"at"`
	Log     []record.LogLine `json:"log,omitempty"`
	Output  string           `json:"output,omitempty"`
	Packets string           `json:"packets,omitempty"` // the file of --pcap
}

// ShowPoint replays a failure, stops at a point to look at the run, and goes on to the end, which shows whether it is the stored run.
func ShowPoint(a *console.App, c *cobra.Command, f *flags.Set, l *LookFlags, p *project.Project, s *project.Session,
	full, failure *report.Failure, job *explore.Job, r *view.Request) error {
	ctx := c.Context()
	ledger := knownLedger(p, full, failure)
	var known bool
	var err error
	if r.Until, known, err = r.Place.Until(&failure.Verdict, ledger); err == nil && !known {
		whole := *job
		whole.Trace, whole.Capture = nil, ""
		reply, runErr := project.OneRun(ctx, a, s, &whole, f.JSON)
		if runErr != nil {
			return runErr
		}
		r.Until, _, err = r.Place.Until(&failure.Verdict, &reply.Outcome.Ledger)
	}
	if err != nil {
		return fmt.Errorf("--at: %w", err)
	}
	r.Out = filepath.Join(s.Setup.Scratch, "look") // not where the nodes see it
	job.Look = r
	reply, err := project.OneRun(ctx, a, s, job, f.JSON)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return project.ErrInterrupted
	}
	NoteLooked(a, failure.Spec, reply.Outcome)
	answer := reply.Look
	doc := LookDocument{Bloodhound: program.Version(), Verb: "replay", Failure: failure.ID, SameRun: reply.Summary.Hash == failure.Hash, At: *answer}
	if !doc.SameRun {
		doc.Changes = ChangesSince(p, failure, reply.Outcome)
		still := ""
		switch {
		case explore.Shown(reply.Summary.Verdicts, failure.Signature) != nil:
			still = "; it still violates the property"
		case len(doc.Changes) == 0:
			doc.ExitCode = check.ExitNotReproducible
		default:
			doc.ExitCode = check.ExitUnknown
		}
		a.Note("note: this is not the stored run: its trace hash was %s and is now %s%s", failure.Hash, reply.Summary.Hash, still)
		for _, change := range doc.Changes {
			a.Note("  %s", change)
		}
	}
	a.Code = doc.ExitCode
	if answer.Left != "" {
		a.Note("note: left out: %s", answer.Left)
	}
	if name, _ := l.bytes(); name != "" {
		if l.output == "" {
			return copyOut(a.Raw, r.Out)
		}
		if err := keepOutput(r.Out, l.output); err != nil {
			return console.Failed(report.DiskError(err, filepath.Dir(l.output)))
		}
		doc.Output = l.output
		if path, err := filepath.Abs(l.output); err == nil {
			project.RecordOutput(failure.Spec, path)
		}
	}
	if doc.Packets = l.Pcap; doc.Packets != "" {
		project.RecordOutput(failure.Spec, doc.Packets)
	}
	if f.Logs || f.JSON {
		doc.Log = view.LogUntil(reply.Outcome.Log, answer.Event)
	}
	if f.JSON {
		return a.PrintJSON(doc)
	}
	return printLook(a, f, r, answer, &doc)
}

// knownLedger has the faults of a failure's run, if they are stored.
func knownLedger(p *project.Project, full, failure *report.Failure) *fault.Ledger {
	if p.Spec == nil || failure != full {
		return nil
	}
	e, err := report.LoadEvidence(p.State, failure)
	if err != nil {
		return nil
	}
	return &e.Outcome.Ledger
}

func printLook(a *console.App, f *flags.Set, r *view.Request, at *view.Answer, doc *LookDocument) error {
	fmt.Fprintf(a.Out, "at event %d, %s of virtual time\n", at.Event, report.Seconds(at.TimeNs))
	parts := []struct {
		asked bool
		print func() error
	}{
		{r.Nodes, func() error { return view.WriteNodes(a.Out, at.Nodes) }},
		{r.Processes, func() error { return view.WriteProcesses(a.Out, at.Processes, at.TimeNs) }},
		{r.Sockets, func() error { return view.WriteSockets(a.Out, at.Sockets) }},
		{r.Changes, func() error { return view.WriteChanges(a.Out, at.Changes) }},
		{r.OpenFiles != nil, func() error { return view.WriteOpenFiles(a.Out, at.OpenFiles) }},
		{r.List != nil, func() error { return view.WriteList(a.Out, at.List) }},
		{f.Logs, func() error { return report.Logs(a.Out, &check.Judged{Outcome: record.Outcome{Log: doc.Log}}) }},
	}
	for _, p := range parts {
		if !p.asked {
			continue
		}
		fmt.Fprintln(a.Out)
		if err := p.print(); err != nil {
			return err
		}
	}
	if r.Nodes {
		fmt.Fprintln(a.Out, "\n--ps, --sockets, --files, --logs, --fds, --ls, --cat, --tar and --core show more")
	}
	if doc.Output != "" {
		fmt.Fprintf(a.Out, "\nwritten to %s\n", doc.Output)
	}
	if doc.Packets != "" {
		fmt.Fprintf(a.Out, "\npackets before this point in %s\n", doc.Packets)
	}
	return nil
}

func copyOut(to io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return console.Failed(err)
	}
	defer f.Close()
	if _, err := io.Copy(to, f); err != nil {
		return console.Failed(err)
	}
	return nil
}

// keepOutput moves a file of the session to where the user wants it; holes stay holes where it can be renamed.
func keepOutput(from, to string) error {
	if info, err := os.Stat(to); err != nil || info.Mode().IsRegular() {
		if os.Rename(from, to) == nil {
			return nil
		}
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	return cmp.Or(copyOut(f, from), f.Close())
}
