package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/group"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	configName = "bloodhound.yaml"
	stateName  = ".bloodhound" // the state folder, beside the configuration
)

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

// build runs the build steps. Their output is shown if one fails, which is exit code 2.
func (p *project) build(ctx context.Context, a *app) error {
	show := newProgress(a.err, false, p.quiet)
	defer show.end()
	for i, s := range p.steps {
		cmd := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
		cmd.Dir = s.Dir
		cmd.Env = append(cmd.Environ(), s.Env...)
		var out group.Output
		cmd.Stdout, cmd.Stderr = &out, &out
		stop := show.every(func(elapsed time.Duration) []part { return buildLine(&p.steps[i], elapsed) })
		err := group.Run(cmd)
		stop()
		if err == nil {
			continue
		}
		show.end()
		if ctx.Err() != nil {
			return errInterrupted
		}
		io.WriteString(a.err, report.Printable(out.String()))
		return fmt.Errorf("%s: the build of node %s failed: `%s` in %s: %w", p.config, s.Node, strings.Join(s.Argv, " "), s.Dir, err)
	}
	return nil
}

// buildLine is the line of progress of a build.
func buildLine(s *config.Build, elapsed time.Duration) []part {
	return []part{{"building " + s.Node, bold}, {elapsed.Round(time.Second).String(), noColour}, {strings.Join(s.Argv, " "), grey}}
}

// open makes the session of the project's runs. What the machine lacks for them is reported where the configuration asks
// for it.
func (p *project) open(coming ...string) (*session, error) {
	for i := range p.spec.Workloads {
		w := &p.spec.Workloads[i]
		if _, err := workload.CheckTemplate(p.spec, w); err != nil {
			return nil, p.result.Locate(engine.Mistakes{{Part: engine.PartWorkload, Name: w.Name, Problem: err.Error(), Remedy: "docs/reference/antithesis.md has what a test template is"}})
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
