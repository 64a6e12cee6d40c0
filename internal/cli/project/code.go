package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// CodeUnderTest names the state of what a project runs: its commit and what differs from it, or else its programs; and its images.
func CodeUnderTest(ctx context.Context, p *Project, line string) records.Code {
	dir := p.Spec.Dir
	c := records.Code{Commit: Git(ctx, dir, "rev-parse", "HEAD"), AtMs: time.Now().UnixMilli()}
	if c.Commit != "" {
		c.Branch, c.Subject = Git(ctx, dir, "symbolic-ref", "--short", "-q", "HEAD"), Git(ctx, dir, "log", "-1", "--format=%s")
		seconds, _ := strconv.ParseInt(Git(ctx, dir, "log", "-1", "--format=%ct"), 10, 64)
		c.CommitMs = seconds * 1000
		c.Dirty = DirtyDigest(ctx, dir)
	}
	for i := range p.Spec.Nodes {
		n := &p.Spec.Nodes[i]
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
	case c.Commit != "" && Git(ctx, dir, "describe", "--exact-match", "--tags", "HEAD") != "":
		c.Line = "release"
	case c.Branch == "" || c.Branch == "main" || c.Branch == "master":
		c.Line = "main"
	default:
		c.Line = "pr"
	}
	return c
}

// DirtyDigest is a digest of what differs from the commit of a folder's repository; empty if nothing does.
func DirtyDigest(ctx context.Context, dir string) string {
	changes := Git(ctx, dir, "diff", "HEAD")
	if changes == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(changes))
	return hex.EncodeToString(sum[:8])
}

// CommitOf is the commit of a revision of the repository that a folder lies in; empty if it has none.
func CommitOf(ctx context.Context, dir, revision string) string {
	return Git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
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
	sum, _ := filedigest.Sum(path, nil)
	if filedigest.Hashed(sum) {
		return sum[:min(len(sum), 16)]
	}
	return sum
}

// maxCommits bounds how far back a worker records which commit follows which.
const maxCommits = 1000

// RecordCommits adds which commits the code follows, as far as the store lacks them.
func RecordCommits(ctx context.Context, db store.Store, dir string) error {
	known := records.NewView()
	if _, err := db.Read(ctx, records.CommitPrefix, "", func(e store.Entry) error { known.AddEntry(e); return nil }); err != nil {
		return err
	}
	var list []store.Entry
	for line := range strings.Lines(Git(ctx, dir, "rev-list", "--parents", "--max-count", fmt.Sprint(maxCommits), "HEAD")) {
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

// WithChanges follows the commit of a code that has changes.
const WithChanges = " with changes"

// HeadCommit names the commit of a folder, and reports whether files differ from it; empty if it has none.
func HeadCommit(dir string) string {
	ctx := context.Background()
	head := Git(ctx, dir, "rev-parse", "HEAD")
	if head != "" && Git(ctx, dir, "status", "--porcelain", "--untracked-files=no") != "" {
		head += WithChanges
	}
	return head
}
