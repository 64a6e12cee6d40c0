package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/rank"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// The two programs that a comparison of versions has instead of strategies.
const (
	beforeVersion = "before"
	afterVersion  = "after"
)

// ownFaults and defaultFaults are the faults of a bug's trials: those of its configuration, or none given. Others are modes.
const (
	ownFaults     = "own"
	defaultFaults = "default"
)

// versionContest compares two programs, each of which explores the same bugs with the same seeds.
type versionContest struct {
	*app
	programs            map[string]string // path by version
	trials, runs, first uint64
	timeout             time.Duration
	faults              []string
	shrink              bool
}

// versionsDocument is the JSON document of a comparison of versions.
type versionsDocument struct {
	Bloodhound string              `json:"bloodhound"`
	Verb       string              `json:"verb"`
	ExitCode   int                 `json:"exit_code"`
	Settings   comparison.Settings `json:"settings"`
	Trials     []trial.Trial       `json:"trials"`
	Missing    int                 `json:"missing"` // trials that were not run
}

// variant is a bug with the faults of its trials.
type variant struct {
	name   string // in tables and journals
	faults string
	config string // the file that both programs read
}

func (a *app) versions() *cobra.Command {
	v := &versionContest{app: a}
	var before, after string
	c := &cobra.Command{
		Use:   "versions BUG...",
		Short: "Compare how soon two builds of bloodhound, or one with different faults, find known bugs, each the folder or file of a project",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			v.programs = map[string]string{beforeVersion: before, afterVersion: after}
			return v.run(c, args)
		},
	}
	a.flags(c, "bloodhound-versions.jsonl")
	c.Flags().StringVar(&before, "before", "", "the `program` to compare with (default: none, and the faults of the other are compared)")
	c.Flags().StringVar(&after, "after", "", "the newer `program`")
	c.Flags().Uint64Var(&v.trials, "trials", 20, "how many campaigns each program runs for each bug")
	c.Flags().Uint64Var(&v.runs, "runs", 500, "how many runs a trial has at most")
	c.Flags().DurationVar(&v.timeout, "timeout", 2*time.Minute, "end a trial after this `time`; it has then found nothing within its CPU time")
	c.Flags().Uint64Var(&v.first, "seed", 1, "campaign `seed` of the first trial; the next trial has the next one")
	c.Flags().StringSliceVar(&v.faults, "faults", []string{ownFaults, defaultFaults},
		"the `faults` of trials, one table each: own, those of each configuration; default, none given; or a mode such as harsh")
	c.Flags().BoolVar(&v.shrink, "shrink", false, "also shrink the failures, and compare their sizes")
	return c
}

func (v *versionContest) run(c *cobra.Command, args []string) error {
	s := comparison.Settings{Bloodhound: program.Version(), Machine: program.System(), Strategies: []string{beforeVersion, afterVersion},
		Trials: v.trials, FirstSeed: v.first, Runs: v.runs, TimeoutNs: v.timeout.Nanoseconds()}
	err := errors.Join(within("trials", v.trials, 1, 10_000), within("runs", v.runs, 1, math.MaxUint32), within("workers", v.workers, 1, maxWorkers))
	if err != nil {
		return err
	}
	programs := map[string]string{}
	if v.programs[beforeVersion] == "" {
		s.Strategies = []string{afterVersion}
	}
	for _, version := range s.Strategies {
		path, digest, err := programOf(version, v.programs[version])
		if err != nil {
			return err
		}
		v.programs[version], programs[version] = path, digest
	}
	variants := map[string]*variant{}
	for _, faults := range v.faults {
		for _, bug := range args {
			one, digest, err := prepareVariant(bug, faults)
			if err != nil {
				return err
			}
			defer one.remove()
			if variants[one.name] != nil {
				return fmt.Errorf("%s is named twice", one.name)
			}
			variants[one.name] = one
			s.Bugs = append(s.Bugs, comparison.Bug{Name: one.name, Spec: digest, Files: programs, Variant: faults})
		}
	}
	j, err := comparison.Open(v.journal, &s, v.resume)
	if err != nil {
		return err
	}
	defer j.Close()
	err = v.makeTrials(c.Context(), &s, j, func(ctx context.Context, t trial.Trial) (trial.Trial, bool, error) {
		return v.explore(ctx, variants[t.Bug], t)
	})
	doc := versionsDocument{Bloodhound: program.Version(), Verb: c.Name(), Settings: s, Trials: j.Done, Missing: len(comparison.Missing(&s, j.Done))}
	doc.ExitCode, err = exitCode(err, j.Done, doc.Missing)
	v.code = doc.ExitCode
	if v.asJSON {
		return errors.Join(v.printJSON(doc), err)
	}
	if len(s.Strategies) == 1 {
		fmt.Fprintf(v.out, "\n%s", faultsTable(&s, v.faults, j.Done))
	} else {
		for _, faults := range v.faults {
			fmt.Fprintf(v.out, "\nfaults: %s\n\n%s", faults, versionsTable(&s, faults, j.Done))
			if v.shrink {
				fmt.Fprintf(v.out, "\n%s", shrunkTable(&s, faults, j.Done))
			}
		}
	}
	if doc.Missing > 0 {
		fmt.Fprintf(v.out, "\n%d trials are missing: go on with --resume\n", doc.Missing)
	}
	return err
}

// programOf is the absolute path and the digest of a program that --before or --after names.
func programOf(version, path string) (absolute, digest string, err error) {
	if path == "" {
		return "", "", fmt.Errorf("name the program by --%s, such as bin/bloodhound", version)
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", "", fmt.Errorf("--%s: %w", version, err)
	}
	path = found
	content, err := os.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("--%s: %w", version, err)
	}
	absolute, err = filepath.Abs(path)
	return absolute, fmt.Sprintf("%x", sha256.Sum256(content)), err
}

// faultsSection is the top-level section of a configuration.
var faultsSection = regexp.MustCompile(`(?m)^faults:.*\n(?:[ \t#].*\n|\n)*`)

// prepareVariant writes the configuration of a bug with other faults beside its own, and returns its digest.
func prepareVariant(bug, faults string) (*variant, string, error) {
	own := bug
	if info, err := os.Stat(bug); err != nil {
		return nil, "", err
	} else if info.IsDir() {
		own = filepath.Join(bug, "bloodhound.yaml")
	}
	text, err := os.ReadFile(own)
	if err != nil {
		return nil, "", err
	}
	one := &variant{name: bug + " " + faults, faults: faults, config: own}
	if faults != ownFaults {
		text = faultsSection.ReplaceAll(append(text, '\n'), nil)
		if faults != defaultFaults {
			text = append(text, fmt.Sprintf("faults: {mode: %s}\n", faults)...)
		}
		one.config = filepath.Join(filepath.Dir(own), fmt.Sprintf("contest-%s-%d.yaml", faults, os.Getpid()))
		if err := os.WriteFile(one.config, text, 0o644); err != nil {
			return nil, "", err
		}
	}
	return one, fmt.Sprintf("%x", sha256.Sum256(text)), nil
}

// remove removes what prepareVariant has written.
func (one *variant) remove() {
	if one.faults != ownFaults {
		os.Remove(one.config)
	}
}

// explored is the part of the JSON document of `bloodhound explore` that a trial needs. All versions have it.
type explored struct {
	ExitCode int `json:"exit_code"`
	Campaign struct {
		Runs     uint64 `json:"runs"`
		Violated uint64 `json:"violated"`
		WallNs   int64  `json:"wall_ns"`
		CPU      struct {
			EngineNs   int64 `json:"engine_ns"`
			ProgramsNs int64 `json:"programs_ns"`
		} `json:"cpu"`
		Failures []struct {
			Verdict struct {
				Property string `json:"property"`
			} `json:"verdict"`
			Shrunk *trial.Shrunk `json:"shrunk"`
		} `json:"failures"`
	} `json:"campaign"`
}

// explore runs one campaign. It is incomplete if ctx ended it.
func (v *versionContest) explore(ctx context.Context, of *variant, t trial.Trial) (done trial.Trial, complete bool, err error) {
	args := []string{"explore", "--config", of.config, "--workers", "1", "--json",
		"--seed", strconv.FormatUint(t.Seed, 10), "--seeds", strconv.FormatUint(v.runs, 10), "--timeout", v.timeout.String()}
	if !v.shrink {
		args = append(args, "--no-shrink")
	}
	c := exec.CommandContext(ctx, v.programs[t.Strategy], args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	ended := c.Run()
	if ctx.Err() != nil {
		return t, false, nil
	}
	var doc explored
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		return t, false, fmt.Errorf("%s %s: %w, and no document (%w): %s", c.Path, strings.Join(args, " "), ended, err, lastLines(stderr.String()))
	}
	t.Runs, t.WallNs = doc.Campaign.Runs, doc.Campaign.WallNs
	t.CPUNs = doc.Campaign.CPU.EngineNs + doc.Campaign.CPU.ProgramsNs
	switch doc.ExitCode {
	case check.ExitViolated:
		t.Found = true
		if len(doc.Campaign.Failures) > 0 {
			first := &doc.Campaign.Failures[0]
			t.Property, t.Shrunk = first.Verdict.Property, first.Shrunk
		}
		if t.Shrunk != nil {
			t.Shrunk.CPUNs = int64(c.ProcessState.UserTime()+c.ProcessState.SystemTime()) - t.CPUNs
		}
	case check.ExitHolds, check.ExitUnknown:
		t.CutOff = t.Runs < v.runs
		if t.CutOff && t.WallNs < v.timeout.Nanoseconds() {
			t.Failed = fmt.Sprintf("exit code %d after %d runs: %s", doc.ExitCode, t.Runs, lastLines(stderr.String()))
		}
	default:
		t.Failed = fmt.Sprintf("exit code %d: %s", doc.ExitCode, lastLines(stderr.String()))
	}
	return t, true, nil
}

// lastLines is the end of a program's error output.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// versionsTable is a Markdown table: CPU time and runs to the first violation before and after, and their ratio.
func versionsTable(s *comparison.Settings, faults string, done []trial.Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| bug | before | after | CPU time, after / before |\n|---|---|---|---|\n")
	var all [2][]trial.Trial
	for _, bug := range s.Bugs {
		if bug.Variant != faults {
			continue
		}
		var of [2][]trial.Trial
		for i, version := range s.Strategies {
			of[i] = trialsThat(done, func(t *trial.Trial) bool { return t.Bug == bug.Name && t.Strategy == version && t.Failed == "" })
			all[i] = append(all[i], of[i]...)
		}
		name, _, _ := strings.Cut(bug.Name, " ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, soon(of[0]), soon(of[1]), ratioText(of[0], of[1]))
	}
	fmt.Fprintf(&b, "| all trials | %s | %s | %s |\n", soon(all[0]), soon(all[1]), ratioText(all[0], all[1]))
	return b.String()
}

// soon says how soon trials found a violation, and how many did.
func soon(of []trial.Trial) string {
	found := len(trialsThat(of, func(t *trial.Trial) bool { return t.Found }))
	share := fmt.Sprintf("%d of %d", found, len(of))
	if len(of) == 0 {
		return share
	}
	cpu, runs := rank.Quantile(cpuSeconds(of), 0.5), rank.Quantile(runsUntil(of), 0.5)
	if math.IsInf(cpu, 1) {
		return share
	}
	return fmt.Sprintf("%.3g s, %.4g runs, %s", cpu, runs, share)
}

// cpuSeconds are the CPU times to the first violation of trials, infinite where none was found.
func cpuSeconds(of []trial.Trial) (list []float64) {
	for i := range of {
		list = append(list, until(&of[i], float64(of[i].CPUNs)/1e9))
	}
	return list
}

func runsUntil(of []trial.Trial) (list []float64) {
	for i := range of {
		list = append(list, until(&of[i], float64(of[i].Runs)))
	}
	return list
}

func until(t *trial.Trial, spent float64) float64 {
	if !t.Found {
		return math.Inf(1)
	}
	return spent
}

// ratioText is the ratio of the medians of CPU time, after divided by before, with its interval.
func ratioText(before, after []trial.Trial) string {
	if len(before) == 0 || len(after) == 0 {
		return ""
	}
	limit := 0.0
	for _, t := range slices.Concat(before, after) {
		limit = max(limit, float64(t.CPUNs)/1e9)
	}
	ratio, i := rank.MedianRatio(cpuSeconds(before), cpuSeconds(after), limit)
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) || ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f [%.2f-%.2f]", ratio, i.Low, i.High)
}

// faultsTable is a Markdown table with a row for each bug and a column for each choice of faults. The last rows compare each
// choice with the best one of each bug, in runs.
func faultsTable(s *comparison.Settings, choices []string, done []trial.Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| bug | %s |\n|---|%s\n", strings.Join(choices, " | "), strings.Repeat("---|", len(choices)))
	var names []string
	for _, bug := range s.Bugs {
		if name, _, _ := strings.Cut(bug.Name, " "); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	of := func(name, faults string) []trial.Trial {
		return trialsThat(done, func(t *trial.Trial) bool { return t.Bug == name+" "+faults && t.Failed == "" })
	}
	var samples [][][]float64 // by bug and choice: runs of each trial until the violation
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` |", name)
		found := false
		var row [][]float64
		for _, faults := range choices {
			trials := of(name, faults)
			fmt.Fprintf(&b, " %s |", soon(trials))
			runs := runsUntil(trials)
			found = found || slices.ContainsFunc(runs, func(n float64) bool { return !math.IsInf(n, 1) })
			row = append(row, runs)
		}
		b.WriteString("\n")
		if found && !slices.ContainsFunc(row, func(runs []float64) bool { return len(runs) == 0 }) {
			samples = append(samples, row)
		}
	}
	mean, worst := rank.AgainstBest(samples, float64(s.Runs))
	fmt.Fprintf(&b, "| runs, divided by those of the best, geometric mean |")
	for i := range mean {
		fmt.Fprintf(&b, " %.2f [%.2f-%.2f] |", mean[i].Value, mean[i].Low, mean[i].High)
	}
	fmt.Fprintf(&b, "\n| the same, worst bug |")
	for _, x := range worst {
		fmt.Fprintf(&b, " %.2f |", x)
	}
	b.WriteString("\n")
	return b.String()
}

// shrunkTable is a Markdown table of the sizes of first failures, before and after.
func shrunkTable(s *comparison.Settings, faults string, done []trial.Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| bug | before | after |\n|---|---|---|\n")
	for _, bug := range s.Bugs {
		if bug.Variant != faults {
			continue
		}
		name, _, _ := strings.Cut(bug.Name, " ")
		fmt.Fprintf(&b, "| `%s` |", name)
		for _, version := range s.Strategies {
			of := trialsThat(done, func(t *trial.Trial) bool { return t.Bug == bug.Name && t.Strategy == version && t.Shrunk != nil })
			fmt.Fprintf(&b, " %s |", shrunkText(of))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// shrunkText says what the failures of trials were shrunk to, in medians.
func shrunkText(of []trial.Trial) string {
	if len(of) == 0 {
		return "none"
	}
	median := func(value func(*trial.Shrunk) float64) float64 {
		var list []float64
		for i := range of {
			list = append(list, value(of[i].Shrunk))
		}
		return rank.Quantile(list, 0.5)
	}
	size := func(value func(trial.Size) int) string {
		from := median(func(x *trial.Shrunk) float64 { return float64(value(x.From)) })
		to := median(func(x *trial.Shrunk) float64 { return float64(value(x.To)) })
		return fmt.Sprintf("%.4g -> %.4g", from, to)
	}
	return fmt.Sprintf("operations %s, faults %s, decisions %s, %.3g s of CPU, %d failures",
		size(func(x trial.Size) int { return x.Operations }), size(func(x trial.Size) int { return x.Faults }),
		size(func(x trial.Size) int { return x.Decisions }), median(func(x *trial.Shrunk) float64 { return float64(x.CPUNs) / 1e9 }), len(of))
}
