package explore

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Cover asks a run for the blocks of programs that it executes.
type Cover struct {
	// State is the file of the code.State that the run begins with; empty is none.
	State string `json:"state,omitempty"`
	// Only is the digest of the one binary that is watched; empty is all that Setup.Binaries choose.
	Only string `json:"only,omitempty"`
}

// Code collects the blocks of programs that the runs of a campaign have executed.
type Code struct {
	State *code.State
	// Dir is a folder for the states that runs begin with.
	Dir string
	// Changed finds the blocks of a binary that was met whose code has changed, nil if they are not recorded. Each run reports these.
	Changed func(*code.File) blocks.Bits
	// Ran are the paths of programs that nodes under test have executed, watched or not, in their order.
	Ran     []string
	written int // states so far
	changed bool
}

// cover returns the coverage that a run which starts now begins with: all that is known by now. How much the run hits
// beyond that depends on how fast other runs were, but what is new of it when its turn comes does not.
func (c *Code) cover() (*Cover, error) {
	if c.changed || c.written == 0 {
		c.written++
		if err := c.State.Save(c.file(c.written)); err != nil {
			return nil, err
		}
		c.changed = false
		if old := c.written - statesKept; old > 0 {
			os.Remove(c.file(old))
		}
	}
	return &Cover{State: c.file(c.written)}, nil
}

// statesKept is how many states stay on the disk: each run that is under way may begin with one of its own.
const statesKept = 4096

func (c *Code) file(n int) string { return filepath.Join(c.Dir, fmt.Sprintf("code-%d.json", n)) }

// mergeHits adds the blocks that a run has hit; runs come in order. It returns those from which a search learns: new blocks of
// binaries that were known before, since all of the first run is new, and blocks of changed code.
func (c *Code) mergeHits(hits []blocks.Hits) (learned []blocks.Hits) {
	for _, h := range hits {
		old := c.State.Get(h.Digest)
		known, off := old != nil, old != nil && old.Off == "" && h.Off != ""
		blocks := c.State.Merge(h)
		f := c.State.Get(h.Digest)
		if !known && c.Changed != nil && f.Off == "" {
			f.Always = c.Changed(f)
		}
		c.changed = c.changed || len(blocks) > 0 || !known || off
		all := h.Blocks
		if h.Blocks = nil; known {
			h.Blocks = blocks
		}
		if f.Always != nil {
			for _, n := range all {
				if int(n) < f.Total && f.Always.Has(int(n)) {
					h.Blocks = append(h.Blocks, n)
				}
			}
			slices.Sort(h.Blocks)
			h.Blocks = slices.Compact(h.Blocks)
		}
		if len(h.Blocks) > 0 {
			learned = append(learned, h)
		}
	}
	return learned
}

// off ends the watching of binaries, and returns those that were watched: runs under way may blame one that is off by now.
func (c *Code) off(digests []string, why string) (ended []string) {
	for _, d := range digests {
		if f := c.State.Get(d); f != nil && f.Off == "" {
			f.Off, c.changed = why, true
			ended = append(ended, d)
		}
	}
	return ended
}

// watch returns the blocks that an engine should watch in a job, nil if the job asks for no coverage.
func (s *Setup) watch(j *Job) (*code.Watch, error) {
	if j.Cover == nil {
		return nil, nil
	}
	if j.Cover.State != s.stateFile {
		state, err := code.Load(j.Cover.State)
		if err != nil {
			return nil, err
		}
		s.stateFile, s.state = j.Cover.State, state
	}
	return &code.Watch{Choice: s.Binaries, State: s.state, Only: j.Cover.Only}, nil
}

// JobOptions adds to the options of a run what its job needs.
func (s *Setup) JobOptions(j *Job, o engine.Options) (engine.Options, error) {
	watch, err := s.watch(j)
	o.Code = watch
	o.Behaviour, o.Moments, o.Dumps, o.Contrast = j.Behaviour, j.Moments, j.Dumps, j.Contrast
	return s.Options(o), err
}

// bare is a job without breakpoints, from its boot.
func (j *Job) bare() *Job {
	b := *j
	b.Cover, b.FromBoot = nil, true
	return &b
}

// again is the job of a replay: without breakpoints, and from its boot. That of a campaign's first run and of each violation shows whether a
// program reads its own code.
func (r *result) again() *Job {
	j := r.job.bare()
	j.Contrast = j.ID == 0 || len(Violated(r.reply.Summary.Verdicts)) > 0
	return j
}

// replay makes a run again, without breakpoints. If that is another run, which repeats, and so does the one with them, then the
// breakpoints are to blame: it is the run without them that counts.
func replay(r *result, do func(*Job) (*Reply, string)) (second *Reply, lost string) {
	again := r.again()
	second, lost = do(again)
	if second == nil || Differs(r.reply.Summary, second.Summary) == "" {
		return second, lost
	}
	if r.job.Cover == nil {
		if again.Contrast {
			plain, _ := do(r.job.bare())
			r.reads = plain != nil && Differs(r.reply.Summary, plain.Summary) == ""
		}
		return second, lost
	}
	third, lost := do(again)
	if third == nil || Differs(second.Summary, third.Summary) != "" {
		return third, lost
	}
	watched := *r.job
	watched.FromBoot = true
	if first, lost := do(&watched); first == nil || Differs(first.Summary, second.Summary) == "" {
		return second, lost // something else has changed
	}
	r.moved = moved(r, second, do)
	second.Summary.Code = r.reply.Summary.Code
	r.reply = second
	return third, ""
}

// moved says which binaries make another run when there are breakpoints in them: those that do so alone, or all if none does.
func moved(r *result, bare *Reply, do func(*Job) (*Reply, string)) (digests []string) {
	var all []string
	for _, h := range r.reply.Summary.Code {
		if h.Off != "" || h.Source != blocks.Breakpoints {
			continue
		}
		all = append(all, h.Digest)
		one := *r.job
		one.FromBoot = true
		one.Cover = &Cover{State: r.job.Cover.State, Only: h.Digest}
		if reply, _ := do(&one); reply != nil && Differs(reply.Summary, bare.Summary) != "" {
			digests = append(digests, h.Digest)
		}
	}
	if len(digests) == 0 {
		return all
	}
	return digests
}

// ReadsCode is why a run differs if other breakpoints in the programs' code make another run of it (see engine.Options.Contrast).
const ReadsCode = "a program reads its own code, in which the engine has breakpoints"

const movedBy = "breakpoints in it change the run: it reads its own code"

// CodeTotal counts the blocks of one binary that a campaign has covered.
type CodeTotal struct {
	Path    string        `json:"path"`
	Digest  string        `json:"digest"`
	Source  blocks.Source `json:"source,omitempty"`
	Covered int           `json:"covered"` // blocks
	Total   int           `json:"total"`
	// Own is how many blocks are of the program's own code, without what it requires and what its language brings, and OwnCovered how
	// many of these are covered. Both are 0 where that is not known.
	Own        int `json:"own,omitempty"`
	OwnCovered int `json:"own_covered,omitempty"`
	// Changed is how many blocks have changed code, and ChangedCovered how many of these are covered.
	Changed        int    `json:"changed,omitempty"`
	ChangedCovered int    `json:"changed_covered,omitempty"`
	Off            string `json:"off,omitempty"` // why it is not watched
	// Replaced says that another program was found under this path before.
	Replaced bool `json:"replaced,omitempty"`
}

// Judged counts the blocks that a threshold compares: the program's own code, or all of it where that is unknown.
func (c CodeTotal) Judged() (covered, total int) {
	if c.Own > 0 {
		return c.OwnCovered, c.Own
	}
	return c.Covered, c.Total
}

// CompareCode orders what people read: by program, and of each its blocks before its edges.
func CompareCode(x, y CodeTotal) int {
	return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(string(x.Source), string(y.Source)))
}

// CodeTotals counts the blocks of each binary.
func CodeTotals(s *code.State) (list []CodeTotal) {
	type program struct {
		path   string
		source blocks.Source
	}
	seen := map[program]bool{}
	for _, f := range s.Files {
		is := program{f.Path, f.Source}
		c := CodeTotal{Path: f.Path, Digest: f.Digest, Source: f.Source, Covered: f.Covered.Count(), Total: f.Total,
			Changed: f.Always.Count(), Off: f.Off, Replaced: seen[is] && f.Source != blocks.Edges}
		if f.Always != nil {
			c.ChangedCovered = c.Covered - f.Quiet().Count()
		}
		list = append(list, c)
		seen[is] = true
	}
	return list
}

func (c CodeTotal) String() string {
	text := fmt.Sprintf("%d of %d %s", c.Covered, c.Total, c.Source.Blocks())
	switch {
	case c.Own > 0 && c.Own < c.Total:
		text = fmt.Sprintf("%d of %d %s of its own code (%.1f %%), %s in all", c.OwnCovered, c.Own, c.Source.Blocks(),
			100*float64(c.OwnCovered)/float64(c.Own), text)
	case c.Total > 0:
		text += fmt.Sprintf(" (%.1f %%)", 100*float64(c.Covered)/float64(c.Total))
	}
	if c.Changed > 0 {
		text += fmt.Sprintf("; of changed code %d of %d", c.ChangedCovered, c.Changed)
	}
	if c.Off != "" {
		text = "off: " + c.Off
		if c.Covered > 0 {
			text += fmt.Sprintf(" (%d of %d %s were seen before that)", c.Covered, c.Total, c.Source.Blocks())
		}
	}
	if c.Replaced {
		text += fmt.Sprintf("; it was replaced during the campaign, and this is the program with the digest %s", c.Digest[:12])
	}
	return text
}

// names are the paths of binaries, for people.
func names(s *code.State, digests []string) string {
	var list []string
	for _, d := range digests {
		if f := s.Get(d); f != nil {
			list = append(list, f.Path)
		}
	}
	return strings.Join(list, ", ")
}
