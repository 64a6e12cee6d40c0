package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/targets"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/group"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

const (
	// guidesScratch ends the name of the folder beside the journal where programs are built: the same each time, as programs
	// contain the path where they were built, and a comparison continues only with those that it began with.
	guidesScratch = ".work"
)

func (a *app) guides() *cobra.Command {
	b := &guidesContest{app: a}
	c := &cobra.Command{
		Use:   "guides FILE",
		Short: "Compare what leads a search: time to known bugs, and what is reached",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return errors.New("name a file that lists targets and strategies: contest guides FILE; bench/CONTEST.md has an example")
			}
			return nil
		},
		RunE: b.run,
	}
	a.flags(c, "bloodhound-guides.jsonl")
	c.Flags().StringVar(&b.folder, "report", "",
		"write the tables and curves to this `folder` besides: guides.md, guides.json, and an SVG for each correct target")
	return c
}

// guidesContest is one comparison of guides.
type guidesContest struct {
	*app
	folder string
}

// guidesDocument is the JSON document of a comparison of guides.
type guidesDocument struct {
	Bloodhound  string                  `json:"bloodhound"`
	Verb        string                  `json:"verb"`
	ExitCode    int                     `json:"exit_code"`
	Settings    comparison.Settings     `json:"settings"`
	Rows        []comparison.Row        `json:"rows"`
	Reached     []comparison.Reach      `json:"reached"`
	Rarity      []comparison.Rarity     `json:"rarity"`
	Differences []comparison.Difference `json:"differences"`
	Mutations   []comparison.Changes    `json:"mutations"`
	Guides      []comparison.Changes    `json:"guides"`
	Missing     int                     `json:"missing"` // trials that were not made
	CutOff      int                     `json:"cut_off"` // trials that the timeout ended before their last run
	Unknown     int                     `json:"unknown"` // trials that found nothing, and could not judge all of their runs
}

// target is a program or a project that is ready for trials.
type target struct {
	targets.Target
	project *subject // nil: a program
	program string
	dir     string // where it runs: the folder of its package
	files   map[string]string
}

func (b *guidesContest) run(c *cobra.Command, args []string) error {
	g, err := targets.Load(args[0], search.Random, func(name string) error {
		_, err := search.Parse(name)
		return err
	})
	if err != nil {
		return err
	}
	if err := within("workers", b.workers, 1, maxWorkers); err != nil {
		return err
	}
	programs := slices.ContainsFunc(g.Targets, func(t targets.Target) bool { return t.Project == "" })
	if _, err := exec.LookPath("go"); err != nil && programs {
		return errors.New("contest guides builds programs of Go, and there is no go here; install it (https://go.dev/dl)")
	}
	work, err := claim(b.journal + guidesScratch)
	if err != nil {
		return err
	}
	defer work.close()
	s := comparison.Settings{Bloodhound: program.Version(), Machine: program.System(), Strategies: slices.Clone(g.Strategies),
		Trials: g.Trials, FirstSeed: g.Seed, Runs: g.Runs, TimeoutNs: g.TimeoutNs}
	targets := map[string]*target{}
	built := builds{dir: work.dir, made: map[string]*target{}}
	for i := range g.Targets {
		t, err := b.ready(c.Context(), &built, &g.Targets[i], g.Seed)
		if err != nil {
			return err
		}
		if t.project != nil {
			defer t.project.close()
		}
		targets[t.Name] = t
		own := t.Strategies
		if own == nil {
			own = g.Strategies
		}
		for _, name := range own { // one that cannot be used is a mistake now, and not after hours
			if t.project == nil {
				break
			}
			if _, err := t.project.campaign(name, g.Seed); err != nil {
				return fmt.Errorf("target %s: %w", t.Name, err)
			}
		}
		bug := comparison.Bug{Name: t.Name, Spec: t.digest(), Files: t.files, Strategies: own, Correct: t.Correct, Of: t.Of, Variant: t.Variant}
		if bug.Mapper, err = linesOf(t.Mapper); err != nil {
			return err
		}
		s.Bugs = append(s.Bugs, bug)
		for _, name := range own {
			if !slices.Contains(s.Strategies, name) {
				s.Strategies = append(s.Strategies, name)
			}
		}
	}
	j, err := comparison.Open(b.journal, &s, b.resume)
	if err != nil {
		return err
	}
	defer j.Close()
	err = b.makeTrials(c.Context(), &s, j, func(ctx context.Context, t trial.Trial) (trial.Trial, bool, error) {
		if of := targets[t.Bug]; of.project != nil {
			return of.campaign(ctx, &s, t)
		}
		return targets[t.Bug].trial(ctx, &s, t, work.dir)
	})
	doc := guidesDocument{Bloodhound: program.Version(), Verb: c.Name(), Settings: s, Rows: comparison.Rows(&s, j.Done),
		Reached: comparison.Reached(&s, j.Done), Differences: comparison.Differences(&s, j.Done), Mutations: comparison.Mutations(&s, j.Done),
		Guides: comparison.Guides(&s, j.Done), Missing: len(comparison.Missing(&s, j.Done))}
	comparison.Correct(doc.Rows, doc.Reached, doc.Differences)
	doc.Rarity = comparison.ByRarity(&s, doc.Rows)
	violated := false
	for i := range j.Done {
		if j.Done[i].CutOff {
			doc.CutOff++
		}
	}
	for i := range doc.Reached {
		violated = violated || doc.Reached[i].Violated > 0
	}
	unknown := trialsThat(j.Done, unresolved)
	doc.Unknown = len(unknown)
	doc.ExitCode, err = exitCode(err, j.Done, doc.Missing+doc.CutOff+doc.Unknown)
	if violated && err == nil {
		doc.ExitCode = check.ExitViolated
	}
	b.code = doc.ExitCode
	tables := guideTables{Settings: &s, Rows: doc.Rows, Reached: doc.Reached, Rarity: doc.Rarity, Differences: doc.Differences,
		Mutations: doc.Mutations, Guides: doc.Guides,
		Failed:  trialsThat(j.Done, func(t *trial.Trial) bool { return t.Failed != "" }),
		Hung:    trialsThat(j.Done, func(t *trial.Trial) bool { return t.Hung != "" }),
		Unknown: unknown, Missing: doc.Missing, CutOff: doc.CutOff}
	text := tables.markdown()
	if b.folder != "" {
		err = errors.Join(err, b.write(&doc, &tables, text))
	}
	if b.asJSON {
		return errors.Join(b.printJSON(doc), err)
	}
	fmt.Fprint(b.out, text)
	if doc.Missing > 0 {
		fmt.Fprintf(b.out, "\n%d trials were not made: go on with --resume\n", doc.Missing)
	}
	return err
}

// write leaves the tables in a folder.
func (b *guidesContest) write(doc *guidesDocument, tables *guideTables, text string) error {
	files := map[string][]byte{"guides.md": []byte(text)}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	files["guides.json"] = append(out, '\n')
	for name, svg := range tables.curves() {
		files[name] = []byte(svg)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := report.WriteFile(filepath.Join(b.folder, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// ready builds a target.
func (b *guidesContest) ready(ctx context.Context, built *builds, g *targets.Target, seed uint64) (*target, error) {
	if g.Project == "" {
		return built.target(ctx, g, b.note)
	}
	b.note("building " + g.Name)
	notes := b.err
	if b.asJSON {
		notes = io.Discard
	}
	p, err := openSubject(ctx, notes, g.Project, b.journal, seed)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", g.Name, err)
	}
	return &target{Target: *g, project: p, files: p.within()}, nil
}

// campaign makes a trial of a project. A search that looks at neither the model nor blocks does not pay for them, unless they are measured.
func (t *target) campaign(ctx context.Context, s *comparison.Settings, order trial.Trial) (done trial.Trial, complete bool, err error) {
	plan, err := search.Parse(order.Strategy)
	if err != nil {
		return order, false, err
	}
	c, err := t.project.campaign(order.Strategy, order.Seed)
	if err != nil {
		return order, false, fmt.Errorf("target %s: %w", t.Name, err)
	}
	if !t.Correct && !plan.WatchesModel() {
		t.project.unguide(c)
	}
	if plan.WatchesBlocks() || t.Correct && t.Blocks {
		t.project.countBlocks(c)
	}
	c.Runs, c.Timeout = s.Runs, time.Duration(s.TimeoutNs)
	done, complete = trial.OfProject(ctx, c, order, t.Correct)
	if complete {
		err = t.project.changed()
	}
	return done, complete, err
}

// digest names what a target's trials depend on besides its program.
func (t *target) digest() string {
	world := ""
	if t.project != nil {
		world = t.project.digest()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %s %v", t.Args, t.Correct, world, t.Blocks))
	return hex.EncodeToString(sum[:8])
}

// builds makes programs, once for all targets that share one.
type builds struct {
	dir  string
	made map[string]*target
}

func (b *builds) target(ctx context.Context, g *targets.Target, note func(string)) (*target, error) {
	t := &target{Target: *g}
	key := fmt.Sprintf("%q", []any{g.Dir, g.Package, g.Build, g.Prepare, g.Cover})
	if same := b.made[key]; same != nil {
		t.program, t.dir, t.files = same.program, same.dir, same.files
		return t, nil
	}
	note("building " + g.Name)
	own := filepath.Join(b.dir, fmt.Sprintf("target-%d", len(b.made)))
	if err := os.Mkdir(own, 0o777); err != nil {
		return nil, failed(err)
	}
	// A folder may be of another module than the file.
	pkg, from := g.Package, g.Dir
	if strings.HasPrefix(pkg, ".") || filepath.IsAbs(pkg) {
		if from = pkg; !filepath.IsAbs(pkg) {
			from = filepath.Join(g.Dir, pkg)
		}
		pkg = "."
		if _, err := os.Stat(from); err != nil {
			return nil, fmt.Errorf("target %s: %w; name a folder beside the file, or an import path", g.Name, err)
		}
	}
	where, _, err := tool(ctx, g, from, "go", "list", "-f", "{{.Dir}}\t{{.ImportPath}}\t{{.Name}}", "--", pkg)
	if err != nil {
		return nil, err
	}
	words := strings.Split(where, "\t")
	if len(words) != 3 || words[2] != "main" {
		return nil, fmt.Errorf("target %s: %s is no program but %s; name a main package that makes a campaign by sim.Campaign.Run under trial.Context",
			g.Name, g.Package, strings.Join(words, " "))
	}
	t.dir, t.program = words[0], filepath.Join(own, "program")
	build := append([]string{"build", "-buildvcs=false", "-o", t.program}, g.Build...)
	if len(g.Prepare) > 0 {
		var command []string
		for _, word := range g.Prepare {
			command = append(command, strings.ReplaceAll(word, "{dir}", own))
		}
		said, _, err := tool(ctx, g, from, command...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(said) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "-") {
				build = append(build, line)
			}
		}
	}
	if len(g.Cover) > 0 {
		build = append(build, "-cover", "-covermode=set", "-coverpkg="+strings.Join(append(slices.Clone(g.Cover), words[1]), ","))
	}
	_, said, err := tool(ctx, g, from, append(append([]string{"go"}, build...), "--", pkg)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(said) {
		if _, pattern, of := strings.Cut(strings.TrimSpace(line), "no packages being built depend on matches for pattern "); of {
			return nil, fmt.Errorf("target %s: cover: %s is no package that the program is built of, so nothing of it would be "+
				"counted; name some of `go list -deps %s`", g.Name, pattern, g.Package)
		}
	}
	content, err := os.ReadFile(t.program)
	if err != nil {
		return nil, failed(err)
	}
	sum := sha256.Sum256(content)
	t.files = map[string]string{"program": hex.EncodeToString(sum[:])}
	b.made[key] = t
	return t, nil
}

// tool runs a command for a target in a folder, and gives what it prints and what it says besides.
func tool(ctx context.Context, g *targets.Target, dir string, command ...string) (printed, besides string, err error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = dir
	var out bounded
	var complained group.Output
	c.Stdout, c.Stderr = &out, &complained
	err = group.Run(c)
	if ctx.Err() != nil {
		return "", "", withCode(check.ExitUnknown, errors.New("interrupted"))
	}
	if out.err != nil {
		err = out.err
	}
	if err != nil && strings.Contains(complained.String(), syscall.ENOSPC.Error()) {
		return "", "", failed(fmt.Errorf("target %s: %s: %w", g.Name, strings.Join(command, " "), syscall.ENOSPC))
	}
	if err != nil {
		return "", "", fmt.Errorf("target %s: %s: %w\n%s", g.Name, strings.Join(command, " "), err, strings.TrimSpace(complained.String()))
	}
	return strings.TrimSpace(out.String()), complained.String(), nil
}

// maxToolBytes bounds what a command for a target may print.
const maxToolBytes = 1 << 20

// bounded keeps what is written to it, up to a bound.
type bounded struct {
	strings.Builder
	err error
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxToolBytes {
		b.err = fmt.Errorf("it prints more than %d bytes", maxToolBytes)
		return 0, b.err
	}
	return b.Builder.Write(p)
}

// trial has a target's program make a trial. It is incomplete if ctx ended it.
func (t *target) trial(ctx context.Context, s *comparison.Settings, order trial.Trial, work string) (done trial.Trial, complete bool, err error) {
	dir, err := os.MkdirTemp(work, "trial-")
	if err != nil {
		return order, false, err
	}
	defer os.RemoveAll(dir)
	o := trial.Order{Strategy: order.Strategy, Seed: order.Seed, Runs: s.Runs, TimeoutNs: s.TimeoutNs, Measure: t.Correct,
		Story: order.Seed == s.FirstSeed, Attended: true}
	if err := o.Save(dir); err != nil {
		return order, false, err
	}
	within, cut := context.WithCancel(ctx)
	defer cut()
	c := exec.CommandContext(within, t.program, t.Args...)
	c.Dir = t.dir
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BLOODHOUND_") }),
		trial.OrderFolder+"="+dir, "BLOODHOUND_STATE="+filepath.Join(dir, "state"), "GOCOVERDIR="+dir, "GOMAXPROCS=1")
	var printed, complained group.Output
	c.Stdout, c.Stderr = &printed, &complained
	if _, err := c.StdinPipe(); err != nil { // it ends with this program, however that ends
		return order, false, err
	}
	began := time.Now()
	if s.TimeoutNs > 0 {
		go func() {
			for left := time.Duration(s.TimeoutNs); left > 0; left = o.Left(dir, time.Since(began)) {
				select {
				case <-within.Done():
					return
				case <-time.After(left):
				}
			}
			cut()
		}()
	}
	ran := group.Run(c)
	if ctx.Err() != nil {
		return order, false, nil
	}
	a, err := trial.Answered(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && within.Err() != nil:
		order.CutOff, order.WallNs, order.Hung = true, time.Since(began).Nanoseconds(),
			"the program had not begun its campaign; it calls sim.Campaign.Run under trial.Context too late, or never"
		if trial.Begun(dir) {
			order.Hung = fmt.Sprintf("the program had not ended its campaign %s after the timeout", trial.Overtime)
		}
		return order, true, nil
	case errors.Is(err, fs.ErrNotExist):
		if complained.String() == "" {
			complained = printed
		}
		order.Failed = fmt.Sprintf("the program has made no trial (%s): %s", endOf(ran), reason(&complained, c.ProcessState))
		return order, true, nil
	case err != nil:
		return order, false, err
	case a.Error != "":
		return order, false, withCode(check.ExitUsage, fmt.Errorf("target %s with %s: %s", t.Name, order.Strategy, a.Error))
	}
	a.Trial.Bug = order.Bug
	return a.Trial, true, nil
}

// endOf is how a program has ended.
func endOf(ran error) string {
	if ran == nil {
		return "it ended with exit status 0, and has not called sim.Campaign.Run under trial.Context"
	}
	return ran.Error()
}

// usageExit is the exit code of a wrong usage, by package flag and most other programs.
const usageExit = 2

// reason is why a program has ended, in one line: that of a panic, the text before its usage or, where it says that it was used
// wrongly, first; or else the end of what it has said.
func reason(said *group.Output, state *os.ProcessState) string {
	text := said.String()
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	if state != nil && !state.Success() {
		usage := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.ToLower(line), "usage") })
		switch {
		case usage > 0:
			return lines[usage-1]
		case state.ExitCode() == usageExit && len(lines) > 0:
			return lines[0]
		}
	}
	return strings.Join(strings.Fields(text[max(0, len(text)-300):]), " ")
}

// linesOf counts the lines of files that are neither empty nor comments alone.
func linesOf(files []targets.Mapped) (int, error) {
	n := 0
	for _, m := range files {
		f, err := os.Open(m.File)
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(io.LimitReader(f, source.MaxFileBytes))
		f.Close()
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") &&
				!strings.HasPrefix(line, `\*`) && (m.Lines == nil || m.Lines.MatchString(line)) {
				n++
			}
		}
	}
	return n, nil
}

// workFolder is a folder that one program at a time has.
type workFolder struct {
	dir  string
	lock *os.File
}

// claim makes the folder of a path, without what a killed program has left there. Only one program at a time has it.
func claim(path string) (*workFolder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(err)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, failed(report.DiskError(err, path))
	}
	lock, err := os.OpenFile(filepath.Join(path, ".lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, failed(report.DiskError(err, path))
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		lock.Close()
		return nil, fmt.Errorf("another program is at work in %s; wait for its end, or name another journal with --journal", path)
	}
	left, err := os.ReadDir(path)
	for _, e := range left {
		if name := filepath.Join(path, e.Name()); name != filepath.Join(path, ".lock") {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	if err != nil {
		lock.Close()
		return nil, failed(err)
	}
	return &workFolder{path, lock}, nil
}

func (w *workFolder) close() {
	os.RemoveAll(w.dir)
	w.lock.Close()
}
