package cli

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

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/report"
)

// simPackage is what tests with worlds of their own import.
const simPackage = "github.com/bloodhound-dst/bloodhound/sim"

// actorFlags are those that --actor-mode knows.
var actorFlags = []string{"actor-mode", "seed", "seeds", "timeout", "workers", "strategy", "keep-going", "no-shrink", "shrink-runs", "json"}

// actorDocument is the JSON document of test --actor-mode.
type actorDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Verb       string           `json:"verb"`
	ExitCode   int              `json:"exit_code"`
	Packages   []string         `json:"packages"`
	Worlds     []explore.Result `json:"worlds"` // in the order of their packages' folders and their names
}

// actors runs the tests of packages that have worlds inside one process, and judges what their campaigns came to.
func (a *app) actors(c *cobra.Command, f *flags, args []string) error {
	var strange []string
	c.Flags().Visit(func(g *pflag.Flag) {
		if !slices.Contains(actorFlags, g.Name) {
			strange = append(strange, "--"+g.Name)
		}
	})
	if len(strange) > 0 {
		return fmt.Errorf("%s means nothing with --actor-mode, whose worlds are in tests of Go; leave it out", strings.Join(strange, ", "))
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("--actor-mode runs `go test`, and there is no go here; install Go (https://go.dev/dl)")
	}
	var further []string // of go test
	if k := c.ArgsLenAtDash(); k >= 0 {
		args, further = args[:k], args[k:]
	}
	if len(args) == 0 {
		args = []string{"./..."}
	}
	packages, err := simulated(c, args)
	if err != nil {
		return err
	}
	results, err := os.MkdirTemp("", "bloodhound-results-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(results)
	test := exec.CommandContext(c.Context(), "go", slices.Concat([]string{"test", "-count=1", "-timeout=0"}, packages, further)...)
	test.Env = append(os.Environ(), f.actorEnvironment(c, results)...)
	test.Stdout, test.Stderr = a.out, a.err
	if f.json {
		test.Stdout = a.err
	}
	ran := runGroup(test)
	if c.Context().Err() != nil {
		return errInterrupted
	}
	doc := actorDocument{Bloodhound: Version(), Verb: "test", Packages: packages, Worlds: []explore.Result{}}
	if doc.Worlds, err = readResults(results, doc.Worlds); err != nil {
		return failed(err)
	}
	for i := range doc.Worlds {
		doc.ExitCode = worse(doc.ExitCode, doc.Worlds[i].ExitCode)
	}
	var unexplained error
	switch {
	case ran != nil && doc.ExitCode == check.ExitHolds:
		doc.ExitCode = check.ExitUsage
		unexplained = fmt.Errorf("go test failed, and no world is to blame (%w): a package does not build, another test fails, or a test has ended before its campaign; see above", ran)
	case len(doc.Worlds) == 0:
		doc.ExitCode = check.ExitUnknown
		unexplained = &exitError{check.ExitUnknown, errors.New("no test has made a campaign: all were skipped, or none calls sim.Test")}
	}
	a.code = doc.ExitCode
	if f.json {
		return a.printJSON(doc)
	}
	for i := range doc.Worlds {
		a.tellWorld(&doc.Worlds[i])
	}
	return unexplained
}

// simulated lists the packages among some whose tests have worlds.
func simulated(c *cobra.Command, patterns []string) ([]string, error) {
	list := exec.CommandContext(c.Context(), "go", append([]string{"list", "-f", `{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "--"}, patterns...)...)
	var said strings.Builder
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %s", strings.Join(patterns, " "), cmp.Or(strings.TrimSpace(said.String()), err.Error()))
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 1 && slices.Contains(words[1:], simPackage) {
			packages = append(packages, words[0])
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no package of %s has a test with a world: none imports %s; docs/inproc.md has an example", strings.Join(patterns, " "), simPackage)
	}
	return packages, nil
}

// actorEnvironment has the flags as package sim reads them.
func (f *flags) actorEnvironment(c *cobra.Command, results string) []string {
	env := []string{"BLOODHOUND_RESULTS=" + results}
	add := func(name, value string) { env = append(env, name+"="+value) }
	if c.Flags().Changed("seed") {
		add("BLOODHOUND_CAMPAIGN", strconv.FormatUint(f.seed, 10))
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
	if f.workers > 0 {
		add("BLOODHOUND_WORKERS", strconv.FormatUint(f.workers, 10))
	}
	if f.keepGoing {
		add("BLOODHOUND_KEEP_GOING", "1")
	}
	switch {
	case f.noShrink:
		add("BLOODHOUND_SHRINK_RUNS", "-1")
	case f.shrinkRuns > 0:
		add("BLOODHOUND_SHRINK_RUNS", strconv.FormatUint(f.shrinkRuns, 10))
	}
	return env
}

// readResults reads what the campaigns of tests have left.
func readResults(dir string, list []explore.Result) ([]explore.Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r explore.Result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
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

// tellWorld tells what a campaign came to. The stories of failures stand in what the tests said.
func (a *app) tellWorld(r *explore.Result) {
	judgement := ""
	switch {
	case r.Diverged != "":
		judgement, _, _ = strings.Cut("NOT REPRODUCIBLE: "+r.Diverged, "\n")
	case r.Totals == nil:
		judgement = "VIOLATED: a stored failure still shows"
	default:
		judgement = report.Judgement(r.Status, r.Totals.Runs)
	}
	io.WriteString(a.out, fmt.Sprintf("%s in %s: %s\n", r.Name, r.Dir, judgement))
	if r.Totals == nil {
		return
	}
	for _, p := range r.Totals.Properties {
		if p.Tally != nil {
			io.WriteString(a.out, fmt.Sprintf("  %s: events: %s\n", p.Property, p.Tally))
		}
	}
}
