// Package project opens projects for verbs: reads a configuration, builds its programs, finds its images, and starts sessions of runs.
package project

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	ConfigName = "bloodhound.yaml"
	StateName  = ".bloodhound" // the state folder, beside the configuration

	// StateVariable names the folder for the state of projects whose own folder cannot be written to.
	StateVariable = "BLOODHOUND_STATE"
)

// StateFolder is the state folder of the project in a folder. Where StateVariable is set, it lies in a folder of its own there, by the
// project's name and a digest of its path. Its last name is the same, for nodes see nothing in folders of that name.
func StateFolder(dir string) string {
	place := os.Getenv(StateVariable)
	if place == "" {
		return filepath.Join(dir, StateName)
	}
	if abs, err := filepath.Abs(place); err == nil {
		place = abs
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(place, filepath.Base(dir)+"-"+hex.EncodeToString(sum[:6]), StateName)
}

// removeEmptyState removes a state folder without files, and the folder of the project around it where StateVariable is set.
func removeEmptyState(state string) {
	os.Remove(state)
	place, err := filepath.Abs(os.Getenv(StateVariable))
	if parent := filepath.Dir(state); err == nil && os.Getenv(StateVariable) != "" && filepath.Dir(parent) == place {
		os.Remove(parent)
	}
}

// Project is a configuration that was read, with what verbs need from it besides the Spec.
type Project struct {
	Spec   *world.Spec
	Result *config.Result
	Config string // the file
	auto   bool   // the engine is the one that can run the world
	// Sources are the files that make the configuration, from the project's folder on.
	Sources []string
	State   string // the state folder, absolute
	// Arguments are those that name the project on the command line, for the commands that stories print, each with a
	// space before it.
	Arguments string

	MovedFrom string // where the project lay when the failure that is replayed was found, if elsewhere

	seed    *uint64 // exploration.seed
	Seeds   uint64  // simulation.seeds; 0 is not set
	Search  config.Exploration
	workers int           // exploration.parallel_workers; 0 is not set
	Timeout time.Duration // exploration.timeout; 0 is not set

	Filter     report.Filter
	traceFile  string // debug.trace_file; empty is none
	OutputDir  string // absolute
	SaveTraces bool   // output.save_violation_traces
	SaveSeeds  bool   // output.save_interesting_seeds
	Summary    bool   // output.summary_report

	quiet       bool // the verb prints one document, and no progress
	CommitNoted bool // that the commit cannot be read was reported, if it cannot

	Steps []config.Build // run on the host before the first run
}

// BytesIn sums the sizes of the regular files in a folder, in bytes. Files that come and go meanwhile, or cannot be
// seen, do not count.
func BytesIn(dir string) (total int64) {
	filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// CommittedName is the folder beside a configuration whose failures `test` replays first.
const CommittedName = "failures"

// FromAnother reports whether a failure is of another configuration than the project's.
func (p *Project) FromAnother(f *report.Failure) bool {
	return f.Config != "" && filepath.Base(f.Config) != filepath.Base(p.Config)
}

// WorkersOf is how many worlds run at once: what a flag says, or else the configuration, or else one for each CPU that this process may use, as far
// as the quota of its control group goes (GOMAXPROCS).
func (p *Project) WorkersOf(flag int) int {
	return cmp.Or(flag, p.workers, max(min(len(cpus.Allowed()), runtime.GOMAXPROCS(0)), 1))
}

// Snapshots bounds those of each worker.
func Snapshots(a *console.App, f *flags.Set, p *Project, workers int) runner.Budget {
	b, none := SnapshotBudget(f, p)
	if b.Among = workers; b.None {
		a.Note("note: all runs start from boot because %s is 0; leave it out for the default", none)
	}
	return b
}

// SnapshotBudget bounds snapshots by a flag, or else by the configuration. Where there may be none, none is what says so.
func SnapshotBudget(f *flags.Set, p *Project) (b runner.Budget, none string) {
	set := &p.Search.Snapshots
	for _, bound := range []struct {
		set  *int64
		name string
		to   func(int64)
	}{
		{f.SnapshotMemory, "--snapshot-memory", func(n int64) { b.MemoryBytes = n }},
		{set.MemoryBytes, "exploration.snapshots.memory_bytes", func(n int64) { b.MemoryBytes = cmp.Or(b.MemoryBytes, n) }},
		{set.Max, "exploration.snapshots.max", func(n int64) { b.Most = int(min(n, math.MaxInt32)) }},
	} {
		switch {
		case bound.set == nil || b.None || f.FromBoot:
		case *bound.set == 0:
			b.None, none = true, bound.name
		default:
			bound.to(*bound.set)
		}
	}
	return b, none
}

// Output is the path of a file in the output folder.
func (p *Project) Output(name string) string { return filepath.Join(p.OutputDir, name) }

// TestName is the stable name of the test: a changed configuration is the same test.
func (p *Project) TestName() string {
	name := p.Spec.Name
	if sources := strings.Join(p.Sources, "+"); sources != ConfigName {
		name += "/" + sources
	}
	return name
}

// TestID returns the id of the test in a database.
func (p *Project) TestID() records.ID { return records.TestID(p.TestName()) }

// stateError adds the remedy to an error of the state folder.
func stateError(err error, state string) error {
	if !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return report.DiskError(err, state)
	}
	return fmt.Errorf("%w: user %d cannot write to %s; change its owner, or use another folder with %s=FOLDER",
		err, os.Geteuid(), state, StateVariable)
}
