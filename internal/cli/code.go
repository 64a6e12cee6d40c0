package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// codeUnderTest names the state of what a project runs: its commit and what differs from it, or else its programs; and its images.
func codeUnderTest(ctx context.Context, p *project, line string) records.Code {
	dir := p.spec.Dir
	c := records.Code{Commit: git(ctx, dir, "rev-parse", "HEAD"), AtMs: time.Now().UnixMilli()}
	if c.Commit != "" {
		c.Branch, c.Subject = git(ctx, dir, "symbolic-ref", "--short", "-q", "HEAD"), git(ctx, dir, "log", "-1", "--format=%s")
		seconds, _ := strconv.ParseInt(git(ctx, dir, "log", "-1", "--format=%ct"), 10, 64)
		c.CommitMs = seconds * 1000
		c.Dirty = dirtyDigest(ctx, dir)
	}
	for i := range p.spec.Nodes {
		n := &p.spec.Nodes[i]
		switch {
		case n.Image != nil:
			c.Images = append(c.Images, n.Image.ID)
		case c.Commit == "" && len(n.Command) > 0:
			if digest := fileDigest(programOf(dir, n.Command[0])); digest != "" {
				c.Programs = append(c.Programs, filepath.Base(n.Command[0])+" "+digest)
			}
		}
	}
	for _, list := range []*[]string{&c.Images, &c.Programs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	c.Line = line
	switch {
	case line != "":
	case c.Commit != "" && git(ctx, dir, "describe", "--exact-match", "--tags", "HEAD") != "":
		c.Line = "release"
	case c.Branch == "" || c.Branch == "main" || c.Branch == "master":
		c.Line = "main"
	default:
		c.Line = "pr"
	}
	return c
}

// dirtyDigest is a digest of what differs from the commit of a folder's repository; empty if nothing does.
func dirtyDigest(ctx context.Context, dir string) string {
	changes := git(ctx, dir, "diff", "HEAD")
	if changes == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(changes))
	return hex.EncodeToString(sum[:8])
}

// commitOf is the commit of a revision of the repository that a folder lies in; empty if it has none.
func commitOf(ctx context.Context, dir, revision string) string {
	return git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
}

// programOf is the file of a program that is named as a shell does.
func programOf(dir, name string) string {
	if !strings.ContainsRune(name, filepath.Separator) {
		path, _ := exec.LookPath(name)
		return path
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// fileDigest is a short digest of a file's bytes, or its size and date if it is too large to hash; empty if it cannot be read.
func fileDigest(path string) string {
	sum, _ := filedigest.Of(path, nil)
	if filedigest.Hashed(sum) {
		return sum[:min(len(sum), 16)]
	}
	return sum
}

// maxCommits bounds how far back a worker records which commit follows which.
const maxCommits = 1000

// recordCommits adds which commits the code follows, as far as the store lacks them.
func recordCommits(ctx context.Context, db store.Store, dir string) error {
	known := records.NewView()
	if _, err := db.Read(ctx, records.CommitPrefix, "", func(e store.Entry) error { known.Take(e); return nil }); err != nil {
		return err
	}
	var list []store.Entry
	for line := range strings.Lines(git(ctx, dir, "rev-list", "--parents", "--max-count", fmt.Sprint(maxCommits), "HEAD")) {
		ids := strings.Fields(line)
		if len(ids) == 0 {
			continue
		}
		if _, had := known.Commits[ids[0]]; had {
			continue
		}
		list = append(list, (&records.Commit{ID: ids[0], Parents: ids[1:]}).Entry())
	}
	return db.Add(ctx, list...)
}

// importFailures takes in the failures that lie beside a project and in its state folder, as they are.
func importFailures(ctx context.Context, db store.Store, x *fleetProject) error {
	test := x.p.testID()
	known, err := viewOf(ctx, db, records.FailuresOf(test))
	if err != nil {
		return err
	}
	have := map[store.Digest]bool{}
	for _, f := range known.Test(test).Failures {
		for _, r := range f.Files {
			have[r.File] = true
		}
	}
	paths, err := failureFiles(x.p.spec.Dir, x.p.state)
	if err != nil {
		return err
	}
	for _, path := range paths {
		f, err := report.Load("", path)
		if err != nil {
			x.note("note: %v; it is not taken into the store", err)
			continue
		}
		if x.p.another(f) {
			continue
		}
		content, err := f.Content()
		if err != nil {
			return err
		}
		if have[store.DigestOf(content)] {
			continue
		}
		f.Belongs(x.p.testName())
		r := records.Failure{Failure: f.Failure, Reason: f.Verdict.Reason, Level: records.Raw,
			Decisions: len(f.Decisions), Tape: f.Tape.Name(),
			Imported: within(x.p.spec.Dir, path), AtMs: time.Now().UnixMilli()}
		if f.Smallest != nil {
			r.Level, r.Decisions, r.Tape = records.Shrunk, f.Smallest.Shrunk.To.Decisions, f.Smallest.Tape.Name()
		}
		if r.File, err = db.PutBlob(ctx, content); err == nil {
			err = db.Add(ctx, r.Entry(test))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s is not taken into the store", path), err)
		}
	}
	return nil
}
