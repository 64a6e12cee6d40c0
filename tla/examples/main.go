// Command examples runs the models of a checkout of github.com/tlaplus/Examples, and compares what it finds with the manifests of that checkout: the
// verdict, and the number of distinct states where it is given.
//
//	go run ./tla/examples [-limit 30s] [-only TEXT] CHECKOUT
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
	Mode   json.RawMessage `json:"mode"`
	Result string          `json:"result"`
	// What TLC found; nil where the manifest does not tell.
	Distinct *int `json:"distinctStates"`
	Total    *int `json:"totalStates"`
	Depth    *int `json:"stateDepth"`
}

// found is what a run of a model tells.
type found struct {
	Error                  string
	Stopped                string
	Unchecked              []string
	Violation              string
	Kind                   tla.Kind
	Distinct, Total, Depth int
	Seconds                float64
	Walked                 bool
}

const (
	one        = "__one" // the argument by which this program runs one model, so that what goes wrong ends that one alone
	memoryByte = 6 << 30
)

func main() {
	if len(os.Args) == 6 && os.Args[1] == one {
		json.NewEncoder(os.Stdout).Encode(run(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
		return
	}
	limit := flag.Duration("limit", 30*time.Second, "time of a model")
	only := flag.String("only", "", "models whose path has this `text`")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: examples [-limit 30s] [-only TEXT] CHECKOUT")
		os.Exit(2)
	}
	if err := all(flag.Arg(0), *only, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

func all(root, only string, limit time.Duration) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	files, _ := filepath.Glob(filepath.Join(root, "specifications", "*", "manifest.json"))
	if len(files) == 0 {
		return fmt.Errorf("%s is no checkout of tlaplus/Examples: there is no specifications/*/manifest.json", root)
	}
	slices.Sort(files)
	counts := map[string]int{}
	symbolic := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var m manifest
		if err := json.Unmarshal(text, &m); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		for _, mod := range m.Modules {
			for _, x := range mod.Models {
				switch {
				case string(x.Mode) == `"symbolic"`: // for Apalache, not for TLC
					symbolic++
					continue
				case !strings.Contains(x.Path, only):
					continue
				}
				x.module = mod.Path
				r := apart(root, &x, limit)
				verdict, says := judge(&x, r)
				counts[verdict]++
				fmt.Printf("%-72s %7.1fs  %-9s %s\n", strings.TrimPrefix(x.Path, "specifications/"), r.Seconds, verdict, says)
			}
		}
	}
	fmt.Printf("\n%d models run to their end: %d agree with their expected numbers of states, %d have none and end as expected.\n", counts[agrees]+counts[ran]+counts[differs], counts[agrees], counts[ran])
	fmt.Printf("%d differ, %d did not end within %v, %d cannot be read or evaluated; %d symbolic ones are left out.\n", counts[differs], counts[late], limit, counts[fails], symbolic)
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
	// Some specifications read files of the checkout by paths from its root, and some write files.
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink(filepath.Join(root, "specifications"), filepath.Join(dir, "specifications")); err != nil {
		r.Error = err.Error()
		return r
	}
	c := exec.CommandContext(ctx, self, one, filepath.Join(root, x.module), filepath.Join(root, x.Path), string(x.Mode), limit.String())
	c.Dir = dir
	var wrong strings.Builder
	c.Stderr = &wrong
	out, err := c.Output()
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
		r, err = tla.Simulate(spec, o, tla.Simulation{Number: 100, Seed: 1})
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
