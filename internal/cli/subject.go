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
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Subject is a project that programs below bench make campaigns of. Its worker processes are the program itself, which passes their arguments to Main.
type Subject struct {
	project  *project
	session  *session
	programs *programs
}

// OpenSubject loads and builds the project in a folder or file. It prints notes to w. journal is a file that the nodes do not
// see, and seed that of the runs that find out which files the project's runs read.
func OpenSubject(ctx context.Context, w io.Writer, name, journal string, seed uint64) (*Subject, error) {
	a := &app{out: w, json: w, raw: w, err: w}
	p, err := a.load(ctx, &flags{}, []string{name})
	if err != nil {
		return nil, err
	}
	if err := p.build(ctx, a); err != nil {
		return nil, err
	}
	s, err := p.open(journal)
	if err != nil {
		return nil, err
	}
	used, err := p.programs(ctx, s, seed)
	if err != nil {
		s.close()
		return nil, err
	}
	return &Subject{p, s, used}, nil
}

// Campaign is the campaign that explore makes with a strategy, by one worker.
func (x *Subject) Campaign(strategy string, seed uint64) (*explore.Campaign, error) {
	set := settingsOf(&x.project.search)
	set.OneBoot = true
	s, err := search.New(strategy, x.project.spec, seed, set)
	setup := *x.session.setup
	setup.Snapshots, _ = snapshotBudget(&flags{}, x.project)
	return &explore.Campaign{Test: x.project.testName(), Setup: &setup, Command: x.session.command, Seed: seed, Strategy: s,
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
	(&flags{coverage: true}).cover(c, x.project, nil)
}

// Digest identifies what the project's runs depend on besides the files that they read, wherever its folder lies.
func (x *Subject) Digest() string {
	e := &x.project.search
	sum := sha256.Sum256(fmt.Append(nil, worldDigest(x.project.spec), e.MaxDepth, e.MaxStates, e.PrioritizeCoverage, e.PrioritizeNearViolation))
	return hex.EncodeToString(sum[:8])
}

// Files are the digests of the files that runs read, by their paths: those in the project's folder from there on.
func (x *Subject) Files() map[string]string { return x.programs.within(x.project.spec.Dir) }

// Changed is an error if one of the files has changed.
func (x *Subject) Changed() error { return x.programs.changed() }

// Close removes the scratch folder.
func (x *Subject) Close() { x.session.close() }

// Exit is err with an exit code of the program. An err that has one keeps it.
func Exit(code int, err error) error {
	var has *program.Error
	if errors.As(err, &has) {
		return err
	}
	return program.WithCode(code, err)
}

// CodeOf is the exit code for an error.
func CodeOf(err error) int { return codeOf(err) }

// System is the operating system of this machine.
func System() string { return program.System() }

// programs are the files that runs of a project read, with the digests that distinguish one build from another.
type programs struct {
	files map[string]string // as check.Judged.Files, without folders
	seen  map[string]fs.FileInfo
}

// programs makes two runs, one without faults, and takes the files that they opened and that are still there; and the commands of test templates, of which
// each run chooses some.
func (p *project) programs(ctx context.Context, s *session, seed uint64) (*programs, error) {
	used := &programs{map[string]string{}, map[string]fs.FileInfo{}}
	t := search.RandomTape(seed, 0)
	for _, job := range []*explore.Job{{Tape: t, Full: true}, {Tape: fault.Calm(t), Full: true}} {
		reply, err := s.run(ctx, job, nil)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		for path, sum := range reply.Outcome.Files {
			if _, err := os.Stat(path); !strings.HasSuffix(path, "/") && (err == nil || !filepath.IsAbs(path)) {
				used.files[path] = sum
			}
		}
	}
	for i := range p.spec.Workloads {
		for _, path := range workload.TemplateFiles(p.spec, &p.spec.Workloads[i]) {
			if o, ok := outputOf(path); ok {
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
		o, readable := outputOf(path)
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
func UseEngine(made func(*world.Spec) (engine.Engine, error)) { engineFor = made }
