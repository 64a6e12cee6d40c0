package campaign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/standin"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/group"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// simPackage is the import path by which tests with worlds of their own are found.
const simPackage = "github.com/bloodhound-dst/bloodhound/sim"

// actorFlags are those that --actor-mode knows.
var actorFlags = []string{"actor-mode", "seed", "seeds", "timeout", "workers", "strategy", "keep-going", "no-shrink", "shrink-runs", "json", "switches"}

// ActorDocument is the JSON document of test --actor-mode.
type ActorDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Verb       string           `json:"verb"`
	ExitCode   int              `json:"exit_code"`
	Packages   []string         `json:"packages"`
	Worlds     []explore.Result `json:"worlds"` // in the order of their packages' folders and their names
}

// runActors runs the tests of packages that have worlds inside one process, and judges what their campaigns came to.
func runActors(a *console.App, c *cobra.Command, f *campaignFlags, args []string) error {
	if err := requireActorFlags(c); err != nil {
		return err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("--actor-mode runs `go test`, and Go is not installed here: https://go.dev/dl")
	}
	var further []string // of go test
	if k := c.ArgsLenAtDash(); k >= 0 {
		args, further = args[:k], args[k:]
	}
	if len(args) == 0 {
		args = []string{"./..."}
	}
	packages, folders, err := simulated(c, args)
	if err != nil {
		return err
	}
	results, err := os.MkdirTemp("", "bloodhound-results-")
	if err != nil {
		return console.Failed(err)
	}
	defer os.RemoveAll(results)
	words := []string{"test", "-count=1", "-timeout=0"}
	if f.switches {
		overlay, err := switches(a, packages)
		if err != nil {
			return err
		}
		words = append(words, "-overlay="+overlay)
	}
	test := exec.CommandContext(c.Context(), "go", slices.Concat(words, packages, further)...)
	test.Env = append(os.Environ(), actorEnvironment(f, c, results)...)
	said := &endings{to: a.Out, folders: folders, of: map[string]string{}}
	test.Stdout, test.Stderr = said, a.Err
	if f.JSON {
		said.to = a.Err
	}
	ran := group.Run(test)
	if c.Context().Err() != nil {
		return project.ErrInterrupted
	}
	doc := ActorDocument{Bloodhound: program.Version(), Verb: "test", Packages: packages, Worlds: []explore.Result{}}
	if doc.Worlds, err = readResults(results, said.of, doc.Worlds); err != nil {
		return console.Failed(err)
	}
	for i := range doc.Worlds {
		doc.ExitCode = worse(doc.ExitCode, doc.Worlds[i].ExitCode)
	}
	var unexplained error
	switch {
	case ran != nil && doc.ExitCode == check.ExitHolds:
		doc.ExitCode = check.ExitUsage
		unexplained = fmt.Errorf("go test failed (%w), but no world caused it. A package did not build, another "+
			"test failed, or a test ended before its campaign; see the output above", ran)
	case len(doc.Worlds) == 0:
		doc.ExitCode = check.ExitUnknown
		unexplained = program.WithCode(check.ExitUnknown, errors.New("no test ran a campaign: every test was skipped, or none calls sim.Test"))
	}
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	for i := range doc.Worlds {
		printWorld(a, &doc.Worlds[i])
	}
	return unexplained
}

// requireActorFlags refuses flags that have no effect on the tests of Go packages.
func requireActorFlags(c *cobra.Command) error {
	var strange []string
	c.Flags().Visit(func(g *pflag.Flag) {
		if !slices.Contains(actorFlags, g.Name) {
			strange = append(strange, "--"+g.Name)
		}
	})
	if len(strange) > 0 {
		return fmt.Errorf("%s has no effect with --actor-mode, which runs Go tests; leave it out", strings.Join(strange, ", "))
	}
	return nil
}

// maxChannels bounds the places of channels that are listed.
const maxChannels = 5

// switches makes the overlay with which goroutines of packages are switched at operations of sync and sync/atomic.
func switches(a *console.App, packages []string) (overlay string, err error) {
	state, err := filepath.Abs(cmp.Or(os.Getenv(project.StateVariable), project.StateName))
	if err != nil {
		return "", err
	}
	r, err := standin.Write(".", filepath.Join(state, "switches"), packages)
	if err != nil {
		return "", err
	}
	if r.Files == 0 {
		return "", fmt.Errorf("--switches has no effect: no file of %s imports sync or sync/atomic or contains a "+
			"go statement", strings.Join(packages, ", "))
	}
	fmt.Fprintf(a.Err, "built with switches: %s of %s; go test -overlay=%s\n", plural.Count(r.Files, "file"), plural.Count(r.Packages, "package"), r.Overlay)
	for i, at := range r.Channels {
		if i == maxChannels {
			fmt.Fprintf(a.Err, "  and %d more\n", len(r.Channels)-i)
			break
		}
		if i == 0 {
			io.WriteString(a.Err, "channels are used at these places; a goroutine that waits on a channel stops "+
				"its world and fails the test\n")
		}
		fmt.Fprintf(a.Err, "  %s\n", at)
	}
	return r.Overlay, nil
}

// simulated lists the packages among some whose tests have worlds, and their folders.
func simulated(c *cobra.Command, patterns []string) (packages []string, folders map[string]string, err error) {
	list := exec.CommandContext(c.Context(), "go",
		append([]string{"list", "-f", `{{.Dir}}	{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "--"}, patterns...)...)
	var said strings.Builder
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list %s: %s", strings.Join(patterns, " "), cmp.Or(strings.TrimSpace(said.String()), err.Error()))
	}
	folders = map[string]string{}
	for line := range strings.Lines(string(out)) {
		dir, rest, _ := strings.Cut(line, "\t")
		if words := strings.Fields(rest); len(words) > 1 && slices.Contains(words[1:], simPackage) {
			packages, folders[words[0]] = append(packages, words[0]), dir
		}
	}
	if len(packages) == 0 {
		return nil, nil, fmt.Errorf("no package of %s has a test that imports %s; `bloodhound docs inproc` has an example",
			strings.Join(patterns, " "), simPackage)
	}
	return packages, folders, nil
}

// endings passes on what go test prints, and notes how test programs have ended that broke off.
type endings struct {
	to      io.Writer
	folders map[string]string // of packages
	of      map[string]string // by folder
	line    []byte
	how     string
}

// maxEnding bounds a line that is looked at.
const maxEnding = 4 << 10

func (e *endings) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			if len(e.line) < maxEnding {
				e.line = append(e.line, b)
			}
			continue
		}
		line := string(e.line)
		e.line = e.line[:0]
		words := strings.Split(line, "\t")
		switch {
		case strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
			strings.HasPrefix(line, "exit status ") || strings.HasPrefix(line, "signal: "):
			e.how = cmp.Or(e.how, strings.TrimSuffix(line, " All goroutines:"))
		case len(words) > 1 && (words[0] == "FAIL" || words[0] == "ok  "):
			if dir := e.folders[words[1]]; dir != "" {
				e.of[dir] = e.how
			}
			e.how = ""
		}
	}
	return e.to.Write(p)
}

// actorEnvironment has the flags as package sim reads them.
func actorEnvironment(f *campaignFlags, c *cobra.Command, results string) []string {
	env := []string{"BLOODHOUND_RESULTS=" + results}
	add := func(name, value string) { env = append(env, name+"="+value) }
	if c.Flags().Changed("seed") {
		add("BLOODHOUND_CAMPAIGN", strconv.FormatUint(f.Seed, 10))
	}
	if f.seeds > 0 {
		add("BLOODHOUND_RUNS", strconv.FormatUint(f.seeds, 10))
	}
	if f.timeout > 0 {
		add("BLOODHOUND_TIME", f.timeout.String())
	}
	if f.strategy != "" {
		add("BLOODHOUND_STRATEGY", f.strategy)
	}
	if f.Workers > 0 {
		add("BLOODHOUND_WORKERS", strconv.FormatUint(f.Workers, 10))
	}
	if f.keepGoing {
		add("BLOODHOUND_KEEP_GOING", "1")
	}
	switch {
	case f.noShrink:
		add("BLOODHOUND_SHRINK_RUNS", "-1")
	case f.ShrinkRuns > 0:
		add("BLOODHOUND_SHRINK_RUNS", strconv.FormatUint(f.ShrinkRuns, 10))
	}
	return env
}

// readResults reads what the campaigns of tests have left. Those that were under way as their programs ended, which ended says by folder, are unknown.
func readResults(dir string, ended map[string]string, list []explore.Result) ([]explore.Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"+explore.UnderWay))
	if err != nil {
		return nil, err
	}
	for _, file := range append(files, left...) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r explore.Result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if strings.HasSuffix(file, explore.UnderWay) {
			r.Status.Unknown = []string{"the test program ended during its campaign: " + cmp.Or(ended[r.Dir], "see above")}
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y explore.Result) int { return cmp.Or(cmp.Compare(x.Dir, y.Dir), cmp.Compare(x.Name, y.Name)) })
	return list, nil
}

// worse is the exit code that goes before the other one.
func worse(x, y int) int {
	order := []int{check.ExitHolds, check.ExitUnknown, check.ExitNotReproducible, check.ExitViolated, check.ExitEngine}
	if slices.Index(order, y) > slices.Index(order, x) {
		return y
	}
	return x
}

// printWorld prints the result of a campaign. The output of the tests has the stories of failures.
func printWorld(a *console.App, r *explore.Result) {
	judgement := ""
	switch {
	case r.Diverged != "":
		judgement, _, _ = strings.Cut("NOT REPRODUCIBLE: "+r.Diverged, "\n")
	case r.Totals == nil && r.Status.Violated:
		judgement = "VIOLATED: a stored failure still fails"
	default:
		runs := uint64(0)
		if r.Totals != nil {
			runs = r.Totals.Runs
		}
		judgement = report.Judgement(r.Status, runs)
	}
	io.WriteString(a.Out, fmt.Sprintf("%s in %s: %s\n", r.Name, r.Dir, judgement))
	if r.Totals == nil {
		return
	}
	for _, p := range r.Totals.Properties {
		if p.Tally != nil {
			io.WriteString(a.Out, fmt.Sprintf("  %s: events: %s\n", p.Property, p.Tally))
		}
	}
}
