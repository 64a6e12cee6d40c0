// Command examples runs the models of a checkout of github.com/tlaplus/Examples, and compares what it finds with the manifests of that checkout: the
// verdict, and the number of distinct states where it is given.
//
//	go -C bench run ./tlc/examples [-limit 30s] [-only TEXT] CHECKOUT
//	go -C bench run ./tlc/examples -jar tla2tools.jar[:CommunityModules.jar] -expected 2m CHECKOUT
//
// The second form runs TLC besides, and writes a table in Markdown of the models that the manifests expect to take no longer than that.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/tla"
)

type manifest struct {
	Modules []struct {
		Path   string  `json:"path"`
		Models []model `json:"models"`
	} `json:"modules"`
}

type model struct {
	module string
	Path   string          `json:"path"`
	Time   string          `json:"runtime"` // hours:minutes:seconds, or unknown
	Mode   json.RawMessage `json:"mode"`
	Result string          `json:"result"`
	// What TLC found; nil where the manifest does not say.
	Distinct *int `json:"distinctStates"`
	Total    *int `json:"totalStates"`
	Depth    *int `json:"stateDepth"`
}

// found is the result of a run of a model.
type found struct {
	Error                  string
	Stopped                string
	Unchecked              []string
	Violation              string
	Kind                   tla.Kind
	Distinct, Total, Depth int
	Seconds, CPU           float64
	Walked                 bool
}

const (
	one        = "__one" // the argument by which this program runs one model, so that what goes wrong ends that one alone
	memoryByte = 6 << 30
	walks      = 100 // behaviours of a simulation
)

func main() {
	if len(os.Args) == 6 && os.Args[1] == one {
		json.NewEncoder(os.Stdout).Encode(run(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
		return
	}
	limit := flag.Duration("limit", 30*time.Second, "time of a model")
	only := flag.String("only", "", "models whose path has this `text`")
	jars := flag.String("jar", "", "the `path` of tla2tools.jar, and of other jars after colons: compare with TLC")
	expected := flag.Duration("expected", 2*time.Minute, "with -jar: models that are expected to take so long at most")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: examples [-limit 30s] [-only TEXT] [-jar JAR[:JAR] -expected 2m] CHECKOUT")
		os.Exit(2)
	}
	if *jars != "" {
		if err := compare(flag.Arg(0), *only, filepath.SplitList(*jars), *expected, *limit); err != nil {
			fmt.Fprintln(os.Stderr, "examples:", err)
			os.Exit(1)
		}
		return
	}
	if err := all(flag.Arg(0), *only, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

// models are those of a checkout, and how many there are for Apalache instead of TLC.
func models(root, only string) (list []model, symbolic int, err error) {
	files, _ := filepath.Glob(filepath.Join(root, "specifications", "*", "manifest.json"))
	if len(files) == 0 {
		return nil, 0, fmt.Errorf("%s is no checkout of tlaplus/Examples: there is no specifications/*/manifest.json", root)
	}
	slices.Sort(files)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, 0, err
		}
		var m manifest
		if err := json.Unmarshal(text, &m); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", f, err)
		}
		for _, mod := range m.Modules {
			for _, x := range mod.Models {
				switch x.module = mod.Path; {
				case string(x.Mode) == `"symbolic"`:
					symbolic++
				case strings.Contains(x.Path, only):
					list = append(list, x)
				}
			}
		}
	}
	return list, symbolic, nil
}

func all(root, only string, limit time.Duration) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	list, symbolic, err := models(root, only)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for i := range list {
		x := &list[i]
		r := apart(root, x, limit)
		verdict, says := judge(x, r)
		counts[verdict]++
		fmt.Printf("%-72s %7.1fs  %-9s %s\n", strings.TrimPrefix(x.Path, "specifications/"), r.Seconds, verdict, says)
	}
	fmt.Printf("\n%d models run to their end: %d agree with their expected numbers of states, %d have none and end as expected.\n",
		counts[agrees]+counts[ran]+counts[differs], counts[agrees], counts[ran])
	fmt.Printf("%d differ, %d did not end within %v, %d cannot be read or evaluated; %d symbolic ones are left out.\n",
		counts[differs], counts[late], limit, counts[fails], symbolic)
	if counts[differs] > 0 {
		return errors.New("some models differ")
	}
	return nil
}

// Verdicts.
const (
	agrees  = "agrees"
	ran     = "ran"
	differs = "DIFFERS"
	late    = "late"
	fails   = "fails"
)

func judge(x *model, r *found) (verdict, says string) {
	counts := fmt.Sprintf("%d distinct, %d generated, depth %d", r.Distinct, r.Total, r.Depth)
	result := "success"
	switch r.Kind {
	case "":
	case tla.TemporalViolated:
		result = "liveness failure"
	case tla.Deadlocked:
		result = "deadlock failure"
	case tla.AssumptionViolated:
		result = "assumption failure"
	default:
		result = "safety failure"
	}
	if r.Violation != "" {
		counts += ", " + r.Violation
	}
	for _, u := range r.Unchecked {
		counts += "; not checked: " + u
	}
	switch {
	case r.Error != "":
		return fails, strings.ReplaceAll(r.Error, "\n", "\n    ")
	case r.Stopped != "":
		return late, r.Stopped + ": " + counts
	case x.Result != "unknown" && result != x.Result:
		return differs, fmt.Sprintf("%s, expected %s: %s", result, x.Result, counts)
	case r.Kind != "" || r.Walked || x.Distinct == nil:
		return ran, counts
	case *x.Distinct != r.Distinct:
		return differs, fmt.Sprintf("%d distinct expected: %s", *x.Distinct, counts)
	}
	// Several workers count the depth, and states that are found twice, in another way than one.
	if x.Total != nil && *x.Total != r.Total {
		counts += fmt.Sprintf(" (the manifest has %d generated)", *x.Total)
	}
	if x.Depth != nil && *x.Depth != r.Depth {
		counts += fmt.Sprintf(" (the manifest has depth %d)", *x.Depth)
	}
	return agrees, counts
}

// workplace makes a folder to run a model in: some specifications read files of the checkout by paths from its root, and some write files.
func workplace(root string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "examples"); err != nil {
		return "", err
	}
	return dir, os.Symlink(filepath.Join(root, "specifications"), filepath.Join(dir, "specifications"))
}

// apart runs a model in a process of its own.
func apart(root string, x *model, limit time.Duration) *found {
	began := time.Now()
	r := &found{}
	defer func() { r.Seconds = time.Since(began).Seconds() }()
	self, err := os.Executable()
	if err != nil {
		r.Error = err.Error()
		return r
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+limit/10+5*time.Second)
	defer cancel()
	dir, err := workplace(root)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer os.RemoveAll(dir)
	c := exec.CommandContext(ctx, self, one, filepath.Join(root, x.module), filepath.Join(root, x.Path), string(x.Mode), limit.String())
	c.Dir = dir
	var wrong strings.Builder
	c.Stderr = &wrong
	out, err := c.Output()
	if p := c.ProcessState; p != nil {
		defer func() { r.CPU = (p.UserTime() + p.SystemTime()).Seconds() }()
	}
	switch {
	case ctx.Err() != nil:
		r.Stopped = "it had to be ended"
	case err != nil:
		r.Error = fmt.Sprintf("CRASH: %v: %.2000s", err, wrong.String())
	default:
		if err := json.Unmarshal(out, r); err != nil {
			r.Error = err.Error()
		}
	}
	return r
}

func run(module, cfg, mode, limit string) *found {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memoryByte)
	f := &found{}
	config, err := tla.ReadConfig(cfg)
	if err != nil {
		f.Error = err.Error()
		return f
	}
	spec, err := tla.Load(module, config)
	if err != nil {
		f.Error = err.Error()
		return f
	}
	o := tla.Options{MemoryBytes: memoryByte}
	o.Time, _ = time.ParseDuration(limit)
	var r *tla.Report
	if mode == `"exhaustive search"` {
		r, err = tla.Check(spec, o)
	} else {
		f.Walked = true
		r, err = tla.Simulate(spec, o, tla.Simulation{Number: walks, Seed: 1})
	}
	if err != nil {
		f.Error = err.Error()
	}
	f.Stopped, f.Distinct, f.Total, f.Depth = r.Stopped, r.Distinct, r.Generated, r.Depth
	for _, u := range r.Unchecked {
		f.Unchecked = append(f.Unchecked, fmt.Sprintf("%s: %v", u.Name, u.Why))
	}
	if len(r.Violations) > 0 {
		f.Kind, f.Violation = r.Violations[0].Kind, fmt.Sprintf("%s %s", r.Violations[0].Kind, r.Violations[0].Name)
	}
	return f
}
