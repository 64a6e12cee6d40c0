package main

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
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
)

// subject is a project that campaigns are made of, with the files that its runs read. Its worker processes are this program itself, which passes
// their arguments to cli.Main.
type subject struct {
	project *project.Project
	session *project.Session
	files   map[string]string      // their digests, which distinguish one build from another, by paths as in check.Judged.Files, without folders
	seen    map[string]fs.FileInfo // when they were last compared
}

// openSubject loads and builds the project in a folder or file, and makes two runs of it to find out which files its runs read. It prints notes
// to w. journal is a file that the nodes do not see.
func openSubject(ctx context.Context, w io.Writer, name, journal string, seed uint64) (*subject, error) {
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
	x := &subject{p, s, map[string]string{}, map[string]fs.FileInfo{}}
	if err := x.findFiles(ctx, seed); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// campaign is the campaign that explore makes with a strategy, by one worker.
func (x *subject) campaign(strategy string, seed uint64) (*explore.Campaign, error) {
	set := project.SettingsOf(&x.project.Search)
	set.OneBoot = true
	s, err := search.New(strategy, x.project.Spec, seed, set)
	setup := *x.session.Setup
	setup.Snapshots, _ = project.SnapshotBudget(&flags.Set{}, x.project)
	return &explore.Campaign{Test: x.project.TestName(), Setup: &setup, Command: x.session.Command, Seed: seed, Strategy: s,
		Workers: 1, BaselineFirst: true}, err
}

// unguide removes the model that only guides from a campaign, so that a search which does not look at it does not pay for it.
func (x *subject) unguide(c *explore.Campaign) {
	spec := *c.Setup.Spec
	spec.Guide = nil
	c.Setup.Spec = &spec
}

// countBlocks has a campaign find out which blocks of programs its runs execute.
func (x *subject) countBlocks(c *explore.Campaign) {
	campaign.WatchCoverage(c, x.project, nil)
}

// digest identifies what the project's runs depend on besides the files that they read, wherever its folder lies.
func (x *subject) digest() string {
	e := &x.project.Search
	sum := sha256.Sum256(fmt.Append(nil, project.WorldDigest(x.project.Spec), e.MaxDepth, e.MaxStates, e.PrioritizeCoverage, e.PrioritizeNearViolation))
	return hex.EncodeToString(sum[:8])
}

// close removes the scratch folder.
func (x *subject) close() { x.session.Close() }

// findFiles makes two runs, one without faults, and takes the files that they opened and that are still there; and the commands of test templates, of which
// each run chooses some.
func (x *subject) findFiles(ctx context.Context, seed uint64) error {
	t := search.RandomTape(seed, 0)
	for _, job := range []*explore.Job{{Request: runner.Play(t), Full: true}, {Request: runner.Play(fault.Calm(t)), Full: true}} {
		reply, err := x.session.Run(ctx, job, nil)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return project.ErrInterrupted
		}
		for path, sum := range reply.Outcome.Files {
			if _, err := os.Stat(path); !strings.HasSuffix(path, "/") && (err == nil || !filepath.IsAbs(path)) {
				x.files[path] = sum
			}
		}
	}
	spec := x.project.Spec
	for i := range spec.Workloads {
		for _, path := range workload.TemplateFiles(spec, &spec.Workloads[i]) {
			if o, ok := project.OutputOf(path); ok {
				x.files[path] = o.SHA256
			}
		}
	}
	return x.changed()
}

// changed is an error if a file is another one than it was.
func (x *subject) changed() error {
	for _, path := range slices.Sorted(maps.Keys(x.files)) {
		if !filepath.IsAbs(path) {
			continue // an image's, which its id names
		}
		now, err := os.Stat(path)
		if was := x.seen[path]; err == nil && was != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) {
			continue
		}
		o, readable := project.OutputOf(path)
		if readable && o.SHA256 != x.files[path] || errors.Is(err, fs.ErrNotExist) {
			return program.WithCode(check.ExitUnknown, fmt.Errorf("%s has changed while trials were made of runs that read it: the last one is not counted; "+
				"put the file back and go on with --resume, or begin another comparison with --journal", path))
		}
		x.seen[path] = now
	}
	return nil
}

// within returns the digests with paths relative to the project's folder where they lie in it.
func (x *subject) within() map[string]string {
	dir := strings.TrimRight(x.project.Spec.Dir, "/") + "/"
	files := map[string]string{}
	for path, sum := range x.files {
		files[strings.TrimPrefix(path, dir)] = sum
	}
	return files
}

// withCode is err with an exit code of the program. An err that has one keeps it.
func withCode(code int, err error) error {
	var has *program.Error
	if errors.As(err, &has) {
		return err
	}
	return program.WithCode(code, err)
}
