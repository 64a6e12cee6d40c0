package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/online"
)

// liveFile is the configuration of live testing.
const liveFile = "live.yaml"

type watchOptions struct {
	config string
	store  string
	once   bool
	period time.Duration
}

func (a *app) watchVerb() *cobra.Command {
	o := &watchOptions{}
	c := &cobra.Command{
		Use:   ownName,
		Short: "Copy running programs and explore the next steps of the copies",
		Long: "Take a checkpoint of each process of live.yaml periodically, and let copies of it try inputs that " +
			"its handlers have not seen, which a solver derives from the conditions in the code. Copies reach " +
			"nothing outside, and the process itself continues undisturbed.\n\n" +
			"Findings go to the store and are tried again in each later checkpoint.",
		RunE: func(c *cobra.Command, _ []string) error { return a.watch(c.Context(), o) },
	}
	c.PersistentFlags().StringVar(&o.config, "config", liveFile, "the `file` that names the processes to explore")
	c.Flags().StringVar(&o.store, "store", "", "keep findings in the store of this `URL` (default: the store of the file)")
	c.Flags().BoolVar(&o.once, "once", false, "explore one checkpoint of each handler, and exit")
	c.Flags().Var(program.Time(&o.period), "for", "end after this `time`, such as 1h")
	return c
}

func (a *app) watch(ctx context.Context, o *watchOptions) error {
	l, err := a.readConfig(o.config)
	if err != nil {
		return err
	}
	if o.period > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.period)
		defer cancel()
	}
	w := &online.Watch{Live: l, Once: o.once, Note: func(text string) { a.note("%s", text) },
		Report: func(x *online.Explored, list []online.Standing) { a.report(x, list) }}
	if o.store == "" {
		o.store = l.Store
	}
	if o.store != "" {
		end, err := a.recorder(ctx, w, o.store)
		if err != nil {
			return err
		}
		defer end()
	}
	found, explored, err := w.Run(ctx)
	switch {
	case err != nil:
		return err
	case found:
		a.code = exitcode.Violated
	case o.once && errors.Is(ctx.Err(), context.Canceled):
		return program.ErrInterrupted
	case explored == 0 && !errors.Is(ctx.Err(), context.Canceled):
		a.code = exitcode.Unknown
	}
	return nil
}

// readConfig reads the configuration, and bounds the memory of this process as it says.
func (a *app) readConfig(name string) (*config.Live, error) {
	l, notes, err := config.LoadLive(name)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		a.note("%s", n)
	}
	debug.SetMemoryLimit(int64(l.Budget.MemoryBytes))
	return l, nil
}

// recorder gives a watch a store, and returns what ends that.
func (a *app) recorder(ctx context.Context, w *online.Watch, url string) (end func(), err error) {
	db, err := open.Open(url)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	id := records.ID(strings.ToLower(rand.Text()[:16]))
	identity := records.Worker{Host: host, PID: os.Getpid(), Bloodhound: program.Version(), CPUs: runtime.NumCPU(), StartedMs: time.Now().UnixMilli()}
	env := records.Env{Engine: records.LiveEngine, Bloodhound: program.Version(), System: program.System(), Machine: program.Machine()}
	if w.Recorder, err = online.NewRecorder(ctx, db, id, identity, env); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write to the store %s: %w", db, err), db.Close())
	}
	return func() {
		if err := w.Recorder.End(context.WithoutCancel(ctx), identity); err != nil {
			a.note("could not store the end of this worker: %v", err)
		}
		db.Close()
	}, nil
}

// report prints what came of a checkpoint.
func (a *app) report(x *online.Explored, list []online.Standing) {
	if x.BIRD != nil {
		a.reportBIRD(x, list)
		return
	}
	left := "no condition was left to negate"
	if x.Left != "" {
		left = "paths may be left: " + x.Left
	}
	fmt.Fprintf(a.out, "%s/%s: paused %v, ready after %v; %s in %v (CPU %v), %s of %s; %s\n", x.Node, x.Handler,
		x.Paused.Round(time.Microsecond), x.Ready.Round(time.Millisecond), plural.Count(x.Paths, "path"),
		x.Took.Round(time.Millisecond), x.CPU.Round(time.Millisecond), plural.Count(x.Sides, "side"), plural.Count(x.Sites, "branch"), left)
	fmt.Fprintf(a.out, "  memory: the checkpoint has %s of %s for itself, an explorer %s\n", megabytes(x.OwnBytes),
		megabytes(x.ResidentBytes), plural.Count(x.Pages, "page"))
	if x.Stuck > 0 {
		fmt.Fprintf(a.out, "  %s waited until the time was up: for a lock, or for something only the process itself has\n", plural.Count(x.Stuck, "path"))
	}
	if x.Starved > 0 {
		fmt.Fprintf(a.out, "  %s got hardly any CPU time; raise budget.path_time\n", plural.Count(x.Starved, "path"))
	}
	for _, s := range list {
		fmt.Fprintf(a.out, "  %s\n", standingLine(s))
	}
}

// reportBIRD prints what came of a checkpoint of a BIRD.
func (a *app) reportBIRD(x *online.Explored, list []online.Standing) {
	left := "every prefix was tried"
	if x.Left != "" {
		left = "prefixes may be left: " + x.Left
	}
	fmt.Fprintf(a.out, "%s/%s: paused %v; %s in its table; %s tried, by %s, in %v (CPU %v); %s\n", x.Node, x.Handler,
		x.Paused.Round(time.Microsecond), plural.Count(x.BIRD.Routes, "route"),
		plural.Count(x.Paths, "route"), plural.Count(x.BIRD.Announcements, "announcement"), x.Took.Round(time.Millisecond), x.CPU.Round(time.Millisecond), left)
	fmt.Fprintf(a.out, "  memory: the checkpoint has %s of %s for itself\n", megabytes(x.OwnBytes), megabytes(x.ResidentBytes))
	for _, s := range list {
		fmt.Fprintf(a.out, "  %s\n", standingLine(s))
	}
	if x.BIRD.More > 0 {
		fmt.Fprintf(a.out, "  %s more, which are not listed\n", plural.Count(x.BIRD.More, "range"))
	}
}

func standingLine(s online.Standing) string {
	word := "again"
	switch {
	case s.New:
		word = "NEW"
	case s.Gone:
		word = "gone"
	}
	return word + " " + s.Finding.String()
}

func (a *app) tryVerb() *cobra.Command {
	var change string
	c := &cobra.Command{
		Use:   "try --change FILE [NODE]",
		Short: "Try a new configuration on copies of a running program",
		Long: "Explore a process of live.yaml as it is, and copies of it that have loaded a new configuration. " +
			"Print the findings that the change brings and those that it removes. The process keeps its " +
			"configuration. NODE may be left out if the file has only one.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			file, _ := c.Flags().GetString("config")
			return a.try(c.Context(), file, change, strings.Join(args, ""))
		},
	}
	c.Flags().StringVar(&change, "change", "", "the `file` with the new configuration")
	c.MarkFlagRequired("change")
	return c
}

func (a *app) try(ctx context.Context, file, change, name string) error {
	l, err := a.readConfig(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(change)
	if err != nil {
		return fmt.Errorf("--change: %w", err)
	}
	node, err := nodeOf(l, name)
	if err != nil {
		return err
	}
	pace, err := online.Lower(&l.Budget)
	if err != nil {
		return err
	}
	names := node.Handlers
	if names == nil {
		if names, err = online.Handlers(node); err != nil {
			return err
		}
	}
	tried := "path"
	if node.BIRD != nil {
		tried = "route"
	}
	for _, h := range names {
		now, err := online.Explore(ctx, &online.Task{Node: *node, Handler: h}, &l.Budget, pace)
		if ctx.Err() != nil {
			return program.ErrInterrupted
		}
		if err != nil {
			return err
		}
		then, err := online.Explore(ctx, &online.Task{Node: *node, Handler: h, Change: text, Known: now.Findings}, &l.Budget, pace)
		if ctx.Err() != nil {
			return program.ErrInterrupted
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s/%s: as it is, %s and %s; with %s, %s and %s\n", node.Name, h, plural.Count(now.Paths, tried),
			plural.Count(len(now.Findings), "finding"),
			change, plural.Count(then.Paths, tried), plural.Count(len(then.Findings), "finding"))
		for _, s := range online.Standings(now.Findings, then) {
			word := "stays"
			switch {
			case s.New:
				word = "BROUGHT"
				a.code = exitcode.Violated
			case s.Gone:
				word = "gone"
			}
			fmt.Fprintf(a.out, "  %s %s\n", word, s.Finding.String())
		}
		if then.Left != "" {
			fmt.Fprintf(a.out, "  paths may be left with the change: %s\n", then.Left)
		}
	}
	return nil
}

func nodeOf(l *config.Live, name string) (*config.Node, error) {
	var names []string
	for i := range l.Nodes {
		if n := &l.Nodes[i]; n.Name == name || name == "" && len(l.Nodes) == 1 {
			return n, nil
		}
		names = append(names, l.Nodes[i].Name)
	}
	if name == "" {
		return nil, fmt.Errorf("%s has several nodes; give one of %s", l.File, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s has no node %s; give one of %s", l.File, name, strings.Join(names, ", "))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(max(n, 0))/1e6) }
