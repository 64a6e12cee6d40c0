package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	configName = "bloodhound.yaml"
	stateName  = ".bloodhound" // the state folder, beside the configuration

	// stateVariable names the folder for the state of projects whose own folder cannot be written to.
	stateVariable = "BLOODHOUND_STATE"
)

// stateFolder is the state folder of the project in a folder. Where stateVariable is set, it lies in a folder of its own there, by the
// project's name and a digest of its path. Its last name is the same, for nodes see nothing in folders of that name.
func stateFolder(dir string) string {
	place := os.Getenv(stateVariable)
	if place == "" {
		return filepath.Join(dir, stateName)
	}
	if abs, err := filepath.Abs(place); err == nil {
		place = abs
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(place, filepath.Base(dir)+"-"+hex.EncodeToString(sum[:6]), stateName)
}

// removeEmptyState removes a state folder without files, and the folder of the project around it where stateVariable is set.
func removeEmptyState(state string) {
	os.Remove(state)
	place, err := filepath.Abs(os.Getenv(stateVariable))
	if parent := filepath.Dir(state); err == nil && os.Getenv(stateVariable) != "" && filepath.Dir(parent) == place {
		os.Remove(parent)
	}
}

// project is a configuration that was read, with what verbs need from it besides the Spec.
type project struct {
	spec   *world.Spec
	result *config.Result
	config string // the file
	auto   bool   // the engine is the one that can run the world
	// sources are the files that make the configuration, from the project's folder on.
	sources []string
	state   string // the state folder, absolute
	// arguments are those that name the project on the command line, for the commands that stories print, each with a
	// space before it.
	arguments string

	movedFrom string // where the project lay when the failure that is replayed was found, if elsewhere

	seed    *uint64 // exploration.seed
	seeds   uint64  // simulation.seeds; 0 is not set
	search  config.Exploration
	workers int           // exploration.parallel_workers; 0 is not set
	timeout time.Duration // exploration.timeout; 0 is not set

	filter     report.Filter
	traceFile  string // debug.trace_file; empty is none
	outputDir  string // absolute
	saveTraces bool   // output.save_violation_traces
	saveSeeds  bool   // output.save_interesting_seeds
	summary    bool   // output.summary_report

	quiet       bool // the verb prints one document, and no progress
	commitNoted bool // that the commit cannot be read was reported, if it cannot

	steps []config.Build // run on the host before the first run
}

// open makes the session of the project's runs. What the machine lacks for them is reported where the configuration asks
// for it.
func (p *project) open(coming ...string) (*session, error) {
	for i := range p.spec.Workloads {
		w := &p.spec.Workloads[i]
		if _, err := workload.CheckTemplate(p.spec, w); err != nil {
			return nil, p.result.Locate(engine.Mistakes{{Part: engine.PartWorkload, Name: w.Name, Problem: err.Error(),
				Remedy: "`bloodhound docs antithesis` has what a test template is"}})
		}
	}
	s, err := openSession(p.spec, p.state, coming...)
	var lacking engine.Mistakes
	if errors.As(err, &lacking) {
		return nil, p.result.Locate(lacking)
	}
	return s, err
}

// shellQuote writes a word so that a shell reads it as one.
func shellQuote(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// argumentsOf writes what names a project on the command line.
func argumentsOf(f *flags, args []string) string {
	var b strings.Builder
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			arg = "./" + arg // it came after --
		}
		b.WriteString(" " + shellQuote(arg))
	}
	for _, name := range f.compose {
		b.WriteString(" --compose " + shellQuote(name))
	}
	if f.config != "" {
		b.WriteString(" --config " + shellQuote(f.config))
	}
	if f.engine != "" {
		b.WriteString(" --engine " + shellQuote(f.engine))
	}
	return b.String()
}

// bytesIn is what the files in a folder have on the disk, about. Files that come and go meanwhile, or cannot be seen, do not count.
func bytesIn(dir string) (total int64) {
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
