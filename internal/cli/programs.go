package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
)

// programs are the files that runs of a project read, with the digests that tell one build from another.
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
			return &exitError{check.ExitUnknown, fmt.Errorf("%s has changed while trials were made of runs that read it: the last one is not counted; "+
				"put the file back and go on with --resume, or begin another comparison with --journal", path)}
		}
		u.seen[path] = now
	}
	return nil
}

// within has the digests with the paths of a project's folder told from there on.
func (u *programs) within(dir string) map[string]string {
	files := map[string]string{}
	for path, sum := range u.files {
		files[strings.TrimPrefix(path, strings.TrimRight(dir, "/")+"/")] = sum
	}
	return files
}
