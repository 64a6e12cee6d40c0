package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/campaign"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Subject is a project that programs below bench make campaigns of. Its worker processes are the program itself, which passes their arguments to Main.
type Subject struct {
	project  *project.Project
	session  *project.Session
	programs *programs
}

// OpenSubject loads and builds the project in a folder or file. It prints notes to w. journal is a file that the nodes do not
// see, and seed that of the runs that find out which files the project's runs read.
func OpenSubject(ctx context.Context, w io.Writer, name, journal string, seed uint64) (*Subject, error) {
	a := &console.App{Out: w, JSON: w, Raw: w, Err: w}
	p, err := project.Load(ctx, a, &flags.Set{}, []string{name})
	if err != nil {
		return nil, err
	}
	if err := p.Build(ctx, a); err != nil {
		return nil, err
	}
	s, err := p.Open(journal)
	if err != nil {
		return nil, err
	}
	used, err := readPrograms(ctx, p, s, seed)
	if err != nil {
		s.Close()
		return nil, err
	}
	return &Subject{p, s, used}, nil
}

// Campaign is the campaign that explore makes with a strategy, by one worker.
func (x *Subject) Campaign(strategy string, seed uint64) (*explore.Campaign, error) {
	set := project.SettingsOf(&x.project.Search)
	set.OneBoot = true
	s, err := search.New(strategy, x.project.Spec, seed, set)
	setup := *x.session.Setup
	setup.Snapshots, _ = project.SnapshotBudget(&flags.Set{}, x.project)
	return &explore.Campaign{Test: x.project.TestName(), Setup: &setup, Command: x.session.Command, Seed: seed, Strategy: s,
		Workers: 1, BaselineFirst: true}, err
}

// Unguide has the runs of a campaign not followed in the model that only guides: a search does not pay for what it does not look at.
func (x *Subject) Unguide(c *explore.Campaign) {
	spec := *c.Setup.Spec
	spec.Guide = nil
	c.Setup.Spec = &spec
}

// CountBlocks has a campaign find out which blocks of programs its runs execute.
func (x *Subject) CountBlocks(c *explore.Campaign) {
	campaign.WatchCoverage(c, x.project, nil)
}

// Digest identifies what the project's runs depend on besides the files that they read, wherever its folder lies.
func (x *Subject) Digest() string {
	e := &x.project.Search
	sum := sha256.Sum256(fmt.Append(nil, project.WorldDigest(x.project.Spec), e.MaxDepth, e.MaxStates, e.PrioritizeCoverage, e.PrioritizeNearViolation))
	return hex.EncodeToString(sum[:8])
}

// Files are the digests of the files that runs read, by their paths: those in the project's folder from there on.
func (x *Subject) Files() map[string]string { return x.programs.within(x.project.Spec.Dir) }

// Changed is an error if one of the files has changed.
func (x *Subject) Changed() error { return x.programs.changed() }

// Close removes the scratch folder.
func (x *Subject) Close() { x.session.Close() }

// Exit is err with an exit code of the program. An err that has one keeps it.
func Exit(code int, err error) error {
	var has *program.Error
	if errors.As(err, &has) {
		return err
	}
	return program.WithCode(code, err)
}

// CodeOf is the exit code for an error.
func CodeOf(err error) int { return console.CodeOf(err) }

// System is the operating system of this machine.
func System() string { return program.System() }

// programs are the files that runs of a project read, with the digests that distinguish one build from another.
type programs struct {
	files map[string]string // as check.Judged.Files, without folders
	seen  map[string]fs.FileInfo
}

// readPrograms makes two runs, one without faults, and takes the files that they opened and that are still there; and the commands of test templates, of which
// each run chooses some.
func readPrograms(ctx context.Context, p *project.Project, s *project.Session, seed uint64) (*programs, error) {
	used := &programs{map[string]string{}, map[string]fs.FileInfo{}}
	t := search.RandomTape(seed, 0)
	for _, job := range []*explore.Job{{Request: runner.Play(t), Full: true}, {Request: runner.Play(fault.Calm(t)), Full: true}} {
		reply, err := s.Run(ctx, job, nil)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, project.ErrInterrupted
		}
		for path, sum := range reply.Outcome.Files {
			if _, err := os.Stat(path); !strings.HasSuffix(path, "/") && (err == nil || !filepath.IsAbs(path)) {
				used.files[path] = sum
			}
		}
	}
	for i := range p.Spec.Workloads {
		for _, path := range workload.TemplateFiles(p.Spec, &p.Spec.Workloads[i]) {
			if o, ok := project.OutputOf(path); ok {
				used.files[path] = o.SHA256
			}
		}
	}
	return used, used.changed()
}

// changed is an error if a file is another one than it was.
func (u *programs) changed() error {
	for _, path := range slices.Sorted(maps.Keys(u.files)) {
		if !filepath.IsAbs(path) {
			continue // an image's, which its id names
		}
		now, err := os.Stat(path)
		if was := u.seen[path]; err == nil && was != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) {
			continue
		}
		o, readable := project.OutputOf(path)
		if readable && o.SHA256 != u.files[path] || errors.Is(err, fs.ErrNotExist) {
			return program.WithCode(check.ExitUnknown, fmt.Errorf("%s has changed while trials were made of runs that read it: the last one is not counted; "+
				"put the file back and go on with --resume, or begin another comparison with --journal", path))
		}
		u.seen[path] = now
	}
	return nil
}

// within has the digests with the paths of a project's folder distinguished from there on.
func (u *programs) within(dir string) map[string]string {
	files := map[string]string{}
	for path, sum := range u.files {
		files[strings.TrimPrefix(path, strings.TrimRight(dir, "/")+"/")] = sum
	}
	return files
}

// UseEngine replaces the engine of runs, for tests.
func UseEngine(made func(*world.Spec) (engine.Engine, error)) { project.EngineFor = made }
