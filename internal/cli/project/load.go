package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Options says what the flags and the arguments of a verb name.
func Options(f *flags.Set, args []string) (config.Options, error) {
	o := config.Options{ConfigFile: f.Config, ComposeFiles: f.Compose, FaultMode: f.Mode}
	if !f.AsWritten {
		o.UsualFaultMode = flags.UsualFaults
	}
	if f.Config != "" && len(args) > 0 {
		return o, fmt.Errorf("%s and --config %s both select a project; leave out one of them", args[0], f.Config)
	}
	if len(args) > 0 {
		o.Path = args[0]
	}
	return o, nil
}

// ReadConfig reads a configuration, and checks what only others know of its words.
func ReadConfig(o config.Options) (*config.Result, error) {
	r, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	for i := range r.Spec.Workloads {
		w := &r.Spec.Workloads[i]
		if err := workload.Validate(w); err != nil {
			return nil, r.Locate(engine.Mistakes{{Part: engine.PartWorkload, Name: w.Name, Problem: err.Error(),
				Remedy: "`bloodhound docs workloads` describes the drivers and their keys"}})
		}
	}
	noteStrays(r)
	return r, validateProperties(r)
}

// Load reads the project that the flags and the arguments name, and prints its notes.
func Load(ctx context.Context, a *console.App, f *flags.Set, args []string) (*Project, error) {
	o, err := Options(f, args)
	if err != nil {
		return nil, err
	}
	o.Images, o.Dockerfiles = findImages(ctx, a), buildImages(ctx, a)
	r, err := ReadConfig(o)
	if err != nil && ctx.Err() != nil { // what it says of images and their builds follows from that
		return nil, program.WithCode(check.ExitUnknown, errors.New("interrupted; the next pull or build of images continues"))
	}
	if err != nil {
		return nil, err
	}
	name := r.Engine
	if f.Engine != "" {
		name = f.Engine
	}
	why, err := engines.Choose(r.Spec, name)
	if err != nil {
		return nil, err
	}
	if why != "" {
		a.Note("%s", why)
	}
	if !f.JSON {
		briefNotes(a, r.Notes, flags.ArgumentsOf(f, args))
		if i := slices.IndexFunc(r.Spec.Nodes, func(n world.Node) bool { return n.HasMachineFiles() }); i >= 0 && WarnsRoot() {
			a.Note("warning: running as root, node %s can read every file of this machine; "+asRootVariable+
				"=1 accepts that (`bloodhound docs security`)", r.Spec.Nodes[i].Name)
		}
	}
	sources := []string{filepath.Base(r.File)}
	for _, name := range f.Compose {
		sources = append(sources, flags.RelativeTo(r.Spec.Dir, name))
	}
	p := &Project{
		auto:       name == engines.Auto,
		Sources:    sources,
		Spec:       r.Spec,
		Result:     r,
		Config:     r.File,
		State:      StateFolder(r.Spec.Dir),
		Arguments:  flags.ArgumentsOf(f, args),
		seed:       r.Exploration.Seed,
		Seeds:      r.Exploration.Seeds,
		Search:     r.Exploration,
		workers:    r.Exploration.Workers,
		Timeout:    time.Duration(r.Exploration.TimeoutNs),
		Filter:     report.Filter{Level: r.Debug.TraceLevel, Events: r.Debug.TraceEvents},
		traceFile:  r.Debug.TraceFile,
		OutputDir:  r.Output.Dir,
		SaveTraces: r.Output.SaveViolationTraces,
		SaveSeeds:  r.Output.SaveInterestingSeeds,
		Summary:    r.Output.SummaryReport,
		Steps:      r.Builds,
		quiet:      f.JSON,
	}
	if p.OutputDir == "" {
		p.OutputDir = p.State
	}
	return p, nil
}

// noteStrays reports executables in test templates that no composer runs. Project.Open reports what makes a template useless, when
// everything is built.
func noteStrays(r *config.Result) {
	for i := range r.Spec.Workloads {
		w := &r.Spec.Workloads[i]
		strays, _ := workload.CheckTemplate(r.Spec, w)
		for _, path := range strays {
			at := r.Locate(engine.Mistakes{{Part: engine.PartWorkload, Name: w.Name}})[0]
			r.Notes = append(r.Notes, config.Note{File: at.File, Line: at.Line, Key: "template",
				Text: flags.RelativeTo(r.Spec.Dir, path) + " is not a test command: its name has none of the seven prefixes " +
					"(`bloodhound docs antithesis`), nor helper_"})
		}
	}
}

// validateProperties finds properties that can never be judged, with their line. Conditions of invariants may be
// in the words of another tool: these load, and a note says that their verdict is unknown.
func validateProperties(r *config.Result) error {
	var mistakes engine.Mistakes
	for i := range r.Spec.Properties {
		p := &r.Spec.Properties[i]
		err := histories.Validate(p)
		if err == nil {
			continue
		}
		m := engine.Mistake{Part: engine.PartProperty, Name: p.Name, Problem: err.Error(), Remedy: "`bloodhound docs checks` describes the checks"}
		if p.Check.Type != world.InvariantCheck {
			mistakes = append(mistakes, m)
			continue
		}
		at := r.Locate(engine.Mistakes{m})[0]
		r.Notes = append(r.Notes, config.Note{File: at.File, Line: at.Line, Key: p.Name,
			Text: "the condition is not an expression over the history, so its verdict is unknown: " + err.Error()})
	}
	if len(mistakes) > 0 {
		return r.Locate(mistakes)
	}
	return nil
}

// asRootVariable is the environment variable that, if not empty, says that root runs worlds on purpose.
const asRootVariable = "BLOODHOUND_AS_ROOT"

// WarnsRoot reports whether root should be warned. Tests replace it.
var WarnsRoot = func() bool { return os.Geteuid() == 0 && os.Getenv(asRootVariable) == "" }
