package main

import (
	"context"
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
	"github.com/bloodhound-dst/bloodhound/internal/cli"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
)

// subject is a project that campaigns are made of, with the files that its runs read.
type subject struct {
	*cli.Subject
	files map[string]string      // their digests, which distinguish one build from another, by paths as in check.Judged.Files, without folders
	seen  map[string]fs.FileInfo // when they were last compared
}

// openSubject loads and builds a project, and makes two runs of it to find out which files its runs read.
func openSubject(ctx context.Context, w io.Writer, name, journal string, seed uint64) (*subject, error) {
	opened, err := cli.OpenSubject(ctx, w, name, journal)
	if err != nil {
		return nil, err
	}
	x := &subject{opened, map[string]string{}, map[string]fs.FileInfo{}}
	if err := x.findFiles(ctx, seed); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// findFiles makes two runs, one without faults, and takes the files that they opened and that are still there; and the commands of test templates, of which
// each run chooses some.
func (x *subject) findFiles(ctx context.Context, seed uint64) error {
	t := search.RandomTape(seed, 0)
	for _, job := range []*explore.Job{{Tape: t, Full: true}, {Tape: fault.Calm(t), Full: true}} {
		reply, err := x.Run(ctx, job)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return program.ErrInterrupted
		}
		for path, sum := range reply.Outcome.Files {
			if _, err := os.Stat(path); !strings.HasSuffix(path, "/") && (err == nil || !filepath.IsAbs(path)) {
				x.files[path] = sum
			}
		}
	}
	spec := x.Spec()
	for i := range spec.Workloads {
		for _, path := range workload.TemplateFiles(spec, &spec.Workloads[i]) {
			if sum, ok := digestOf(path); ok {
				x.files[path] = sum
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
		sum, readable := digestOf(path)
		if readable && sum != x.files[path] || errors.Is(err, fs.ErrNotExist) {
			return program.WithCode(check.ExitUnknown, fmt.Errorf("%s has changed while trials were made of runs that read it: the last one is not counted; "+
				"put the file back and go on with --resume, or begin another comparison with --journal", path))
		}
		x.seen[path] = now
	}
	return nil
}

// within has the digests with the paths of the project's folder distinguished from there on.
func (x *subject) within() map[string]string {
	dir := strings.TrimRight(x.Spec().Dir, "/") + "/"
	files := map[string]string{}
	for path, sum := range x.files {
		files[strings.TrimPrefix(path, dir)] = sum
	}
	return files
}

// digestOf is the digest of a regular file that can be read.
func digestOf(path string) (sum string, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	sum, _ = filedigest.Of(path, nil)
	return sum, sum != ""
}

// withCode is err with an exit code of the program. An err that has one keeps it.
func withCode(code int, err error) error {
	var has *program.Error
	if errors.As(err, &has) {
		return err
	}
	return program.WithCode(code, err)
}
