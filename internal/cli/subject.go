package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Subject is a project that programs below bench make campaigns of. Its worker processes are the program itself, which passes their arguments to Main.
type Subject struct {
	project *project
	session *session
}

// OpenSubject loads and builds the project in a folder or file. It prints notes to w. journal is a file that the nodes do not see.
func OpenSubject(ctx context.Context, w io.Writer, name, journal string) (*Subject, error) {
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
	return &Subject{p, s}, nil
}

// Spec is the project's world.
func (x *Subject) Spec() *world.Spec { return x.project.spec }

// Run makes one run from boot.
func (x *Subject) Run(ctx context.Context, job *explore.Job) (*explore.Reply, error) {
	return x.session.run(ctx, job, nil)
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
	(&flags{coverage: true}).cover(c, x.project)
}

// Digest identifies what the project's runs depend on besides the files that they read, wherever its folder lies.
func (x *Subject) Digest() string {
	e := &x.project.search
	sum := sha256.Sum256(fmt.Append(nil, worldDigest(x.project.spec), e.MaxDepth, e.MaxStates, e.PrioritizeCoverage, e.PrioritizeNearViolation))
	return hex.EncodeToString(sum[:8])
}

// Close removes the scratch folder.
func (x *Subject) Close() { x.session.close() }

// UseEngine replaces the engine of runs, for tests.
func UseEngine(made func(*world.Spec) (engine.Engine, error)) { engineFor = made }
