package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Snapshots are copies of worlds that stand still, at which later runs begin instead of at their boot. A run begins at the latest one
// up to which its tape makes the same run. What a tape means does not depend on it: the same tape from boot gives the same hash.
type Snapshots struct {
	Budget
	// Refused is why no snapshot could be taken; none is tried after that.
	Refused error

	list []*snapshot
	// floor is the rank of the snapshot that was dropped last.
	floor float64
	// notAlong is set where snapshots at the end of setup fit into the budget, and later ones do not.
	notAlong bool
	// changed is set when snapshots were taken since they were measured, which began last at measured and took measuring.
	changed   bool
	measured  time.Time
	measuring time.Duration
}

// Budget bounds the snapshots of a process.
type Budget struct {
	// None asks for runs that all begin at their boot.
	None bool `json:"none,omitempty"`
	// Most is how many there may be; 0 is DefaultSnapshots.
	Most int `json:"most,omitempty"`
	// MemoryBytes is how much memory they may have together, which is looked at between runs; 0 is a share of machineShare of the
	// machine's, if the engine knows it.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Among is how many processes there are with such a budget; 0 is 1.
	Among int `json:"among,omitempty"`
}

// machineShare is the part of the machine's memory that the snapshots of all processes may have: one in so many.
const machineShare = 4

// Complete sets what was left to be the default.
func (b *Budget) Complete(e engine.Engine) {
	b.Most = cmp.Or(b.Most, DefaultSnapshots)
	if roomy, ok := e.(engine.Roomy); ok && b.MemoryBytes == 0 {
		b.MemoryBytes = roomy.MachineBytes() / machineShare / int64(max(b.Among, 1))
	}
}

// MemoryRemedy says how a user gives snapshots more memory, after how much one has. The command line has the flag and the key.
const MemoryRemedy = "raise --snapshot-memory or exploration.snapshots.memory_bytes"

// DefaultSnapshots is how many snapshots a process keeps.
const DefaultSnapshots = 24

// A run along which snapshots are taken is copied when it has run for so long since the last copy, and so many times as long as that
// took: copies may make it slower by a part of this.
const (
	betweenNs    = 60e6
	betweenTimes = 8
	stepEvents   = 1000 // between looks at the clock
)

// measureTimes is how many times as long as measuring all snapshots takes must pass before they are measured again.
const measureTimes = 20

type snapshot struct {
	world engine.World
	key   string
	ready bool // at the end of setup
	event uint64
	ns    int64         // virtual time
	wall  time.Duration // from boot to here
	bytes int64         // as measured last; 0 if it was not measured
	uses  int           // runs that began here, and the one that took it
	floor float64       // that of the Snapshots when it was used last

	moments bool // those of the run up to here are recorded
}

// Begin is where a run began: its boot if it is zero, and else a snapshot.
type Begin struct {
	Event   uint64 `json:"event"`
	Ready   bool   `json:"ready,omitempty"` // the end of setup
	SavedNs int64  `json:"saved_ns"`        // how long the run that took the snapshot needed from its boot to there
	// StartNs is how long a run that began at its boot needed to the end of setup; 0 if that is not known.
	StartNs int64 `json:"start_ns,omitempty"`
}

// Request asks for a run.
type Request struct {
	search.Candidate
	// Cut removes operations, nodes or the end of the Spec from the run; nil removes nothing.
	Cut *world.Cut `json:"cut,omitempty"`
	// Until stops the run after this many events, if it is not 0; its properties are not judged then.
	Until uint64 `json:"until,omitempty"`
	// Along asks for snapshots along the run, for tapes that differ from this one late. There is one at the end of setup in any case.
	Along bool `json:"along,omitempty"`
}

// Play requests a run of a tape.
func Play(t tape.Tape) Request { return Request{Candidate: search.Candidate{Tape: t}} }

// Work is a Request with all that a run needs. The Request's Cut was applied to the Spec.
type Work struct {
	Request
	Spec    *world.Spec
	Options engine.Options
}

// A snapshot for Work.PartNs is taken earlier than that by partEarlyNs, or by partEarlySteps time steps of the world if they are more: a world
// that waits goes from one time step to the next, and draws are made there.
const (
	partEarlyNs    = 1e6
	partEarlySteps = 2
)

// partAt is when a snapshot for PartNs is taken.
func (w *Work) partAt() int64 {
	return w.PartNs - max(partEarlyNs, partEarlySteps*w.Spec.TimeStepNs)
}

// key tells worlds apart that are not copies of one another whatever their tapes. When a run ends is no part of the world, and what
// workloads skip is none before the end of setup.
func (w *Work) key(ready bool) string {
	var cut world.Cut
	if w.Cut != nil {
		cut = *w.Cut
		cut.EndNs = 0
	}
	if ready {
		cut.Skip = nil
	}
	o := &w.Options
	var watched []any
	if o.Code != nil {
		watched = []any{o.Code.Choice, o.Code.Only}
		if o.Code.State != nil {
			for _, f := range o.Code.State.Files {
				if f.Off != "" {
					watched = append(watched, f.Digest)
				}
			}
		}
	}
	b, err := json.Marshal([]any{cut, w.Spec.RulesVersion, o.Behaviour, o.Unwatched, o.Draws, watched})
	if err != nil {
		panic("runner: " + err.Error()) // plain data
	}
	return string(b)
}

// Do makes a run from a snapshot, or from its boot, to its verdicts. It takes snapshots on the way. Where the machine fails a run that
// it would not fail without snapshots, there are none from then on.
func (s *Snapshots) Do(e engine.Engine, w *Work) (*check.Judged, Begin, error) {
	j, begin, err := s.try(e, w)
	if err == nil || len(s.list) == 0 {
		return j, begin, err
	}
	s.Close()
	j, begin, again := s.try(e, w)
	if again == nil {
		s.refuse(err)
	}
	return j, begin, again
}

func (s *Snapshots) try(e engine.Engine, w *Work) (*check.Judged, Begin, error) {
	if w.FromBoot || s.None {
		j, err := Do(e, w.Spec, w.Tape, w.Options, record.PositionAt(w.Until))
		return j, Begin{}, err
	}
	s.Complete(e)
	s.fit()
	r, begin := s.fork(w)
	if r == nil {
		var err error
		if r, err = Boot(e, w.Spec, w.Tape, w.Options); err != nil {
			return nil, begin, err
		}
	}
	defer r.Close()
	if err := s.advance(e, r, w, &begin); err != nil {
		return nil, begin, err
	}
	j := r.Judge()
	return j, begin, r.Close()
}

// fork begins a run at a snapshot; it gives none where it must boot.
func (s *Snapshots) fork(w *Work) (*Run, Begin) {
	from := s.latest(w)
	if from == nil {
		return nil, Begin{}
	}
	r := &Run{spec: w.Spec, options: w.Options, began: time.Now()}
	var err error
	if r.World, err = from.world.Fork(w.Spec, w.Tape, w.Options); err != nil {
		s.refuse(err)
		return nil, Begin{}
	}
	from.uses++
	from.floor = s.floor
	return r, Begin{Event: from.event, Ready: from.ready, SavedNs: from.wall.Nanoseconds()}
}

// advance runs a world to its end, and takes snapshots.
func (s *Snapshots) advance(e engine.Engine, r *Run, w *Work, begin *Begin) error {
	r.until = record.PositionAt(w.Until)
	until := engine.Until{Position: r.until, TimeNs: w.Spec.EndNs}
	take := func(ready bool) (cost time.Duration) {
		began := time.Now()
		s.keepCopy(e, r.World, w, ready, time.Duration(begin.SavedNs)+began.Sub(r.began))
		return time.Since(began)
	}
	// on advances the world by a step, and reports whether the run has not come to its end with that.
	on := func(step engine.Until) (more bool, err error) {
		if r.Reason, err = r.World.Advance(step); err != nil || r.Reason != record.ReachedUntil {
			return false, err
		}
		event, now := r.World.Moment()
		return (until.Event == 0 || event < until.Event) && (until.TimeNs == 0 || now < until.TimeNs), nil
	}
	if begin.Event == 0 && s.Refused == nil {
		ready := until
		ready.Ready = true
		var err error
		if r.Reason, err = r.World.Advance(ready); err != nil || r.Reason != record.Ready {
			return err
		}
		begin.StartNs = time.Since(r.began).Nanoseconds()
		take(true)
	}
	if _, now := r.World.Moment(); s.Refused == nil && !s.notAlong && now < w.partAt() {
		step := until
		if step.TimeNs == 0 || step.TimeNs > w.partAt() {
			step.TimeNs = w.partAt()
		}
		if more, err := on(step); !more {
			return err
		}
		if _, now := r.World.Moment(); now < w.PartNs { // else it has waited for longer, and draws may have been made behind that time
			take(false)
		}
	}
	last, pause := time.Now(), time.Duration(betweenNs)
	for w.Along && s.Refused == nil && !s.notAlong {
		step := until
		event, _ := r.World.Moment()
		step.Event = event + stepEvents
		if until.Event > 0 {
			step.Event = min(step.Event, until.Event)
		}
		if more, err := on(step); !more {
			return err
		}
		if time.Since(last) > pause {
			cost := take(false)
			last, pause = time.Now(), max(time.Duration(betweenNs), betweenTimes*cost)
		}
	}
	return r.Advance(r.until)
}

// latest is the last snapshot of those that a run may begin at.
func (s *Snapshots) latest(w *Work) (best *snapshot) {
	keys := map[bool]string{true: w.key(true), false: w.key(false)}
	for _, o := range s.list {
		if o.key == keys[o.ready] && (o.moments || !w.Options.Moments) && (best == nil || o.event > best.event) &&
			(w.Until == 0 || o.event < w.Until) && (w.Spec.EndNs == 0 || o.ns < w.Spec.EndNs) && o.world.Follows(w.Tape) {
			best = o
		}
	}
	return best
}

// keepCopy keeps a copy of a world.
func (s *Snapshots) keepCopy(e engine.Engine, of engine.World, w *Work, ready bool, wall time.Duration) {
	for len(s.list) >= s.Most || len(s.list) > 0 && s.MemoryBytes > 0 && s.Bytes()+s.mean() > s.MemoryBytes {
		s.drop()
	}
	for roomy, ok := e.(engine.Roomy); ok && !roomy.Room(); s.drop() {
		if len(s.list) == 0 {
			return
		}
	}
	c, err := of.Fork(w.Spec, w.Tape, w.Options)
	if err != nil {
		s.refuse(err)
		return
	}
	event, ns := c.Moment()
	s.list = append(s.list, &snapshot{world: c, key: w.key(ready), ready: ready, event: event, ns: ns, wall: wall, uses: 1,
		floor: s.floor, moments: w.Options.Moments})
	s.changed = true
}

// fit measures snapshots and drops some while they have more memory than they may. No run is under way: what a run shares with its
// snapshot would count in parts, and would be the snapshot's alone when the run has ended.
func (s *Snapshots) fit() {
	if s.MemoryBytes == 0 || !s.changed || time.Since(s.measured) < measureTimes*s.measuring {
		return
	}
	s.measured = time.Now()
	for len(s.list) > 0 {
		for _, o := range s.list {
			if sized, ok := o.world.(engine.Sized); ok {
				o.bytes = sized.Bytes()
			}
		}
		if s.Bytes() <= s.MemoryBytes {
			break
		}
		if last := s.list[0]; len(s.list) == 1 {
			s.drop()
			if !last.ready {
				s.notAlong = true
				break
			}
			s.refuse(fmt.Errorf("a snapshot of this world needs %s, and all snapshots of a worker may use %s; %s",
				SizeText(last.bytes), SizeText(s.MemoryBytes), MemoryRemedy))
			break
		}
		for len(s.list) > 1 && s.Bytes() > s.MemoryBytes { // the others have more then, of what they shared with it
			s.drop()
		}
	}
	s.changed, s.measuring = false, time.Since(s.measured)
}

// SizeText is a size for people, in units of 2^20 bytes.
func SizeText(bytes int64) string {
	if bytes < 1<<20/10 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// Bytes is how much memory all snapshots have, of which those that were not measured count as others do.
func (s *Snapshots) Bytes() (total int64) {
	mean := s.mean()
	for _, o := range s.list {
		total += cmp.Or(o.bytes, mean)
	}
	return total
}

// mean is how much memory a snapshot has that was measured.
func (s *Snapshots) mean() (bytes int64) {
	n := int64(0)
	for _, o := range s.list {
		if o.bytes > 0 {
			bytes += o.bytes
			n++
		}
	}
	return bytes / max(n, 1)
}

// drop closes the least useful snapshot: by the time that it has saved for its memory, and by when that was (the rank of
// Greedy-Dual-Size-Frequency: Cherkasova, HPL-98-69R1, 1998).
func (s *Snapshots) drop() {
	mean := s.mean()
	rank := func(o *snapshot) float64 {
		return o.floor + float64(o.uses)*o.wall.Seconds()/float64(max(cmp.Or(o.bytes, mean), 1))
	}
	i := 0
	for k, o := range s.list {
		if rank(o) < rank(s.list[i]) {
			i = k
		}
	}
	s.floor = rank(s.list[i])
	s.list[i].world.Close()
	s.list = slices.Delete(s.list, i, i+1)
}

// refuse ends the use of snapshots: what could not be had once would cost time in every run.
func (s *Snapshots) refuse(err error) {
	s.Close()
	s.Refused = err
}

// Close ends all snapshots.
func (s *Snapshots) Close() {
	for _, o := range s.list {
		o.world.Close()
	}
	s.list = nil
}
