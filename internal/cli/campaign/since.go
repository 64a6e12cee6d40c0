package campaign

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// revisionFlag is the value of a flag that takes a git revision.
type revisionFlag struct{ revision *string }

func (v revisionFlag) String() string { return flags.Value(v.revision) }
func (revisionFlag) Type() string     { return "revision" }
func (v revisionFlag) Set(text string) error {
	if text == "" || strings.HasPrefix(text, "-") {
		return errors.New("give a git revision, such as main or HEAD~3")
	}
	*v.revision = text
	return nil
}

// changes are the lines of source files that are others than at a revision.
type changes struct {
	top   string              // the repository's folder
	files map[string][][2]int // by absolute path: first line, and the one behind the last
}

// maxChangedBlocks bounds the blocks of changed code that each run reports: a stop of some 10 us for each that it runs.
const maxChangedBlocks = 4096

// changesSince asks git what has changed in the repository of a folder, committed or not. A file that git does not
// know yet, and shall not ignore, has changed as a whole.
func changesSince(ctx context.Context, dir, revision string) (*changes, error) {
	git := func(dir string, args ...string) (string, error) {
		out, err := project.GitOutput(ctx, dir, args...)
		if err != nil {
			return "", fmt.Errorf("--since %s: git cannot list the changes: %w; give a revision of the repository that contains %s", revision, err, dir)
		}
		return out, nil
	}
	top, err := git(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	top = strings.TrimSuffix(top, "\n")
	diff, err := git(top, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-prefix", "-U0", "--end-of-options", revision, "--")
	if err != nil {
		return nil, err
	}
	c := &changes{top: top, files: changedLines(top, diff)}
	fresh, err := git(top, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(fresh, "\x00"), "\x00") {
		if name != "" {
			c.files[filepath.Join(top, name)] = [][2]int{{1, math.MaxInt}}
		}
	}
	return c, nil
}

// noEffect says why no block of a campaign has changed code; it is empty if some have.
func (c *changes) noEffect(revision string, files []*code.File) string {
	if len(c.files) == 0 {
		return fmt.Sprintf("--since %s: nothing in %s has changed since", revision, c.top)
	}
	var reasons []string
	for _, f := range files {
		if f.Always.Count() > 0 {
			return ""
		}
		if f.Off != "" {
			continue
		}
		reason := "no changed file is among its sources; was it built from them?"
		if names, err := f.Names(); err != nil {
			reason = err.Error()
		} else if !namesLines(names, f.Total) {
			reason = "it has no line table (stripped, or built without -g)"
		}
		reasons = append(reasons, f.Path+": "+reason)
	}
	if len(reasons) == 0 {
		return ""
	}
	return fmt.Sprintf("--since %s: none of the changed code is watched: %s", revision, strings.Join(reasons, "; "))
}

// namesLines reports whether the source line of any block is known.
func namesLines(names *code.Names, blocks int) bool {
	for i := range blocks {
		if len(names.Lines(i)) > 0 {
			return true
		}
	}
	return false
}

// changedLines reads a diff without context.
func changedLines(top, diff string) map[string][][2]int {
	files := map[string][][2]int{}
	file := ""
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			file = filepath.Join(top, strings.TrimSuffix(name, "\t"))
			continue
		}
		if !strings.HasPrefix(line, "@@ ") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "+") {
			continue
		}
		first, count, counted := strings.Cut(fields[2][1:], ",")
		from, err := strconv.Atoi(first)
		n := 1
		if counted && err == nil {
			n, err = strconv.Atoi(count)
		}
		if err == nil && n > 0 {
			files[file] = append(files[file], [2]int{from, from + n})
		}
	}
	return files
}

// lines are the changed lines of a source file as a binary names it: by its path here, or, if it was built elsewhere or without
// paths (-trimpath), by one that ends as a path of the repository does.
func (c *changes) lines(file string) [][2]int {
	if ranges, ok := c.files[filepath.Join(c.top, file)]; ok && !filepath.IsAbs(file) {
		return ranges
	}
	if ranges, ok := c.files[file]; ok {
		return ranges
	}
	var all [][2]int
	for path, ranges := range c.files {
		if strings.HasSuffix(file, strings.TrimPrefix(path, c.top)) {
			all = append(all, ranges...)
		}
	}
	return all
}

// blocks are those of a binary that have changed code.
func (c *changes) blocks(f *code.File) blocks.Bits {
	names, err := f.Names()
	if err != nil {
		return nil
	}
	set := blocks.NewBits(f.Total)
	changed := map[string][][2]int{}
	n := 0
	for i := range f.Total {
		for _, l := range names.Lines(i) {
			ranges, ok := changed[l.File]
			if !ok {
				ranges = c.lines(l.File)
				changed[l.File] = ranges
			}
			in := slices.ContainsFunc(ranges, func(r [2]int) bool { return l.Line >= r[0] && l.Line < r[1] })
			if in && n < maxChangedBlocks && !set.Has(i) {
				set.Set(i)
				n++
			}
		}
	}
	return set
}
