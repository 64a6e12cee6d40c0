package sweep

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Kinds are the faults that a sweep can inject.
var Kinds = []world.FaultKind{fault.Crash, fault.PowerLoss}

// calls are the system calls that change a disk or start programs: the moments of package moments are among them. mmap is not: a rule that
// names it makes programs stop where they ask for memory, so that their run is another one, and the moment that a file is mapped is like the one
// at which it got its size.
var calls = []string{"clone", "clone3", "copy_file_range", "creat", "execve", "execveat", "fallocate", "fdatasync", "fork", "fsync", "ftruncate",
	"link", "linkat", "mkdir", "mkdirat", "mknod", "mknodat", "msync", "open", "openat", "pwrite64", "pwritev", "pwritev2", "rename",
	"renameat", "renameat2", "rmdir", "sendfile", "splice", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "truncate", "unlink",
	"unlinkat", "vfork", "write", "writev"}

// downNs is how long a node stays down.
const downNs = 500e6

// DownS is the same in seconds.
const DownS = downNs / 1e9

// syncNs is how long calls wait for the disk where the Spec does not say, as in worlds with power losses.
const syncNs = 1e6

// never is the condition of a scale.
const never = "false"

// slot is a place of a Layout: what a rule of a node is for. The kind of a scale is empty.
type slot struct {
	kind world.FaultKind
	when world.Moment
	node string
}

// Layout is the Spec of a sweep, with the streams of its rules.
type Layout struct {
	Spec    *world.Spec
	streams map[slot]string
}

// NewLayout gives a Spec the rules of a sweep in the place of its own faults.
func NewLayout(spec *world.Spec, kinds []world.FaultKind) (*Layout, error) {
	own := *spec
	own.Faults = world.Faults{Enabled: true, SettleNs: spec.Faults.SettleNs, Roles: spec.Faults.Roles, DiskProfile: spec.Faults.DiskProfile}
	waits := slices.Contains(kinds, fault.PowerLoss)
	if waits && own.Cost.SyncNs == 0 {
		own.Cost.SyncNs = syncNs
	}
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		if n.Role != world.Server || len(n.Command) == 0 {
			continue
		}
		var rules []world.FaultRule
		for _, kind := range kinds {
			rules = append(rules, ruleOf(kind, n.Name, world.AfterCall), ruleOf(kind, n.Name, world.AfterReply))
		}
		if waits {
			rules = append(rules, ruleOf(fault.PowerLoss, n.Name, world.During))
		}
		for _, r := range rules {
			if r.Kind == kinds[0] || r.Moment == world.During {
				scale := r
				scale.RatePPM, scale.When = tape.Certain, never
				own.Faults.Rules = append(own.Faults.Rules, scale)
			}
			own.Faults.Rules = append(own.Faults.Rules, r)
		}
	}
	if len(own.Faults.Rules) == 0 {
		return nil, errors.New("the world has no server with a command")
	}
	return LayoutOf(&own)
}

// ruleOf is a rule that injects by edits alone: its rate is the least that there is, and Tape sets its draws to 0.
func ruleOf(kind world.FaultKind, node string, when world.Moment) world.FaultRule {
	r := world.FaultRule{Kind: kind, RatePPM: 1, FromStart: true, Targets: []string{node},
		Trigger: world.Trigger{Moment: when}, MinNs: downNs, MaxNs: downNs}
	switch when {
	case world.AfterCall:
		r.At = calls
	case world.During:
		r.At = fault.Waiting
	}
	return r
}

// LayoutOf finds the streams in a Spec that NewLayout has made.
func LayoutOf(spec *world.Spec) (*Layout, error) {
	plan, err := fault.New(spec)
	if err != nil {
		return nil, err
	}
	l := &Layout{Spec: spec, streams: map[slot]string{}}
	for i := range plan.Rules {
		r := &plan.Rules[i]
		s := slot{r.Kind, r.Moment, r.Targets[0].A}
		if r.When == never {
			s.kind = ""
		}
		l.streams[s] = r.Targets[0].Stream
	}
	return l, nil
}

// Tape is the tape whose run has some strikes, in the order of their times, and no other fault.
func (l *Layout) Tape(seed uint64, strikes ...Strike) tape.Tape {
	t := tape.Tape{Seed: seed}
	var own []string
	for s, stream := range l.streams {
		if s.kind != "" {
			own = append(own, stream)
		}
	}
	slices.Sort(own)
	for _, stream := range own {
		t.Edits = append(t.Edits, tape.Edit{Op: tape.Default, Stream: stream, To: tape.End})
	}
	for _, s := range strikes {
		t.Edits = append(t.Edits, tape.Edit{Op: tape.Set, Stream: l.streams[s.slot()], From: s.drawIndex(), Value: s.value()})
	}
	t.Edits = append(t.Edits, images(seed, strikes)...)
	return t
}

// images gives each power loss random choices of its own of what its disk has kept: with those of the seed alone, the same file would
// survive, or not, at all moments.
func images(seed uint64, strikes []Strike) (edits []tape.Edit) {
	losses := map[string]int{}
	for i := range strikes {
		if s := &strikes[i]; s.Kind == fault.PowerLoss {
			losses[s.Node]++
			edits = append(edits, tape.Edit{Op: tape.Reseed, Stream: fault.LossStreams(s.Node, losses[s.Node]) + "**", Seed: seed + 1 + s.Event})
		}
	}
	return edits
}

// Series are moments of a class at which a sweep can strike.
type Series struct {
	moments.Class
	// Count is how many there were in the run.
	Count   uint64   `json:"count"`
	Moments []Moment `json:"moments,omitempty"` // some of them, in the order of their times
}

// Moment is one of them.
type Moment struct {
	Number uint64 `json:"number"` // within its class, from 1 on
	Event  uint64 `json:"event"`
	TimeNs int64  `json:"time_ns"`
	Path   string `json:"path,omitempty"` // of the file
	// Draw is which draw of a rule strikes there, and During which one strikes while the call waits for the disk, if it does.
	Draw   uint64  `json:"draw"`
	During *uint64 `json:"during,omitempty"`
}

// Question asks for the moments of a run at which a sweep can strike.
type Question struct {
	Node  string        `json:"node,omitempty"`  // empty is all
	Phase moments.Phase `json:"phase,omitempty"` // empty is all
	Most  int           `json:"most"`            // of a class, spread evenly
}

// Read answers a question about a run of the sweep, by what it recorded and drew. Moments at which faults cannot strike are left out.
func (l *Layout) Read(q *Question, record *moments.Record, decisions []tape.Decision, times []int64) []Series {
	scales := map[string][]draw{}
	for s, stream := range l.streams {
		if s.kind == "" {
			scales[stream] = nil
		}
	}
	for i, d := range decisions {
		if list, ok := scales[d.Stream]; ok && i < len(times) {
			scales[d.Stream] = append(list, draw{times[i], d.Index})
		}
	}
	var all []Series
	for _, series := range record.Classes() {
		if series.Act == moments.Operation {
			continue // faults begin some calls after it
		}
		if q.Node != "" && series.Node != q.Node || q.Phase != "" && series.Phase != q.Phase {
			continue
		}
		s := Series{Class: series.Class, Count: series.Count}
		after := scales[l.streams[slot{"", whenOf(series.Act), series.Node}]]
		during := scales[l.streams[slot{"", world.During, series.Node}]]
		for _, o := range series.Sampled {
			at, ok := drawAt(after, o.TimeNs)
			if !ok {
				continue
			}
			m := Moment{Number: o.Number, Event: o.Event, TimeNs: o.TimeNs, Path: o.File, Draw: at}
			if series.Act == moments.Sync && slices.Contains(fault.Waiting, series.Call) {
				m.During = drawBefore(during, o.TimeNs)
			}
			s.Moments = append(s.Moments, m)
		}
		if s.Moments = spread(s.Moments, q.Most); len(s.Moments) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// draw is one draw of a scale.
type draw struct {
	timeNs int64
	index  uint64
}

// drawAt finds the draw that was made at a time.
func drawAt(list []draw, ns int64) (index uint64, ok bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].timeNs >= ns })
	if i == len(list) || list[i].timeNs != ns {
		return 0, false
	}
	return list[i].index, true
}

// drawBefore finds the last draw that was made before a time: the call that returned then began to wait at it.
func drawBefore(list []draw, ns int64) *uint64 {
	i := sort.Search(len(list), func(i int) bool { return list[i].timeNs >= ns })
	if i == 0 {
		return nil
	}
	index := list[i-1].index
	return &index
}

// whenOf is when a fault strikes at an act.
func whenOf(act moments.Act) world.Moment {
	if act == moments.Reply {
		return world.AfterReply
	}
	return world.AfterCall
}

// spread gives up to most of a list, evenly, the first and the last included.
func spread[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	var some []T
	for i := range most {
		at := len(list) / 2
		if most > 1 {
			at = i * (len(list) - 1) / (most - 1)
		}
		some = append(some, list[at])
	}
	return some
}

// NumberOf counts, from 1 on, the calls that the rule of a strike speaks of up to the strike, by the draws of its scale, which is the last rule
// of a Spec.
func NumberOf(spec *world.Spec, s *Strike, decisions []tape.Decision, times []int64) (uint64, error) {
	stream, err := streamOf(spec, len(spec.Faults.Rules)-1)
	if err != nil {
		return 0, err
	}
	var list []draw
	for i, d := range decisions {
		if d.Stream == stream && i < len(times) {
			list = append(list, draw{times[i], d.Index})
		}
	}
	if s.When == world.During {
		if at := drawBefore(list, s.TimeNs); at != nil {
			return *at + 1, nil
		}
	} else if at, ok := drawAt(list, s.TimeNs); ok {
		return at + 1, nil
	}
	return 0, fmt.Errorf("no rule matches the moment on replay: %s, event %d", s.ClassName(), s.Event)
}

// Parts is the tape by which the rules of a Spec strike as they should: it chooses after which part of a wait, and what disks have kept.
func Parts(spec *world.Spec, strikes []Strike, seed uint64) (tape.Tape, error) {
	t := tape.Tape{Seed: seed}
	for i := range strikes {
		if s := &strikes[i]; s.When == world.During {
			stream, err := streamOf(spec, i)
			if err != nil {
				return t, err
			}
			t.Edits = append(t.Edits, tape.Edit{Op: tape.Set, Stream: stream, Value: s.value()})
		}
	}
	t.Edits = append(t.Edits, images(seed, strikes)...)
	return t, nil
}

// streamOf is the stream of a rule with one target.
func streamOf(spec *world.Spec, rule int) (string, error) {
	plan, err := fault.New(spec)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(plan.Rules, func(r fault.Rule) bool { return r.Number == rule+1 })
	return plan.Rules[i].Targets[0].Stream, nil
}
