package debug

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// snapshot is a copy of the world at a position.
type snapshot struct {
	world World
	at    Position
	ns    int64
	near  bool  // at the beginning of a turn that was looked at, and not one of those that lie spread over the run
	kept  bool  // a user wants it
	bytes int64 // as measured last; 0 if it was not measured
}

// Limits of snapshots.
const (
	maxNear  = 3
	maxInner = 4
	// Between two snapshots on the way passes at least spacing of real time, and so many times as long as one takes.
	spacing      = 60 * time.Millisecond
	spacingTimes = 8
	// measureTimes is how many times as long as measuring all snapshots takes must pass before they are measured again.
	measureTimes = 20
)

// shelf has the snapshots of a timeline and of its branches within one bound of memory.
type shelf struct {
	budget    runner.Budget
	timelines []*Timeline
	measured  time.Time // when they were measured last
	measuring time.Duration
}

// all calls f for each snapshot.
func (s *shelf) all(f func(*snapshot)) {
	for _, t := range s.timelines {
		for i := range t.snapshots {
			f(&t.snapshots[i])
		}
		for i := range t.inner {
			f(&t.inner[i])
		}
	}
}

// bytes is how much memory all have together, and mean how much one has. Those that were not measured count as others do.
func (s *shelf) bytes() (total, mean int64) {
	n, measured := int64(0), int64(0)
	s.all(func(o *snapshot) {
		if n++; o.bytes > 0 {
			measured++
			total += o.bytes
		}
	})
	mean = total / max(measured, 1)
	return total + (n-measured)*mean, mean
}

// fit measures snapshots now and then, and drops some while they have more memory than they may.
func (s *shelf) fit(by *Timeline) {
	if s.budget.MemoryBytes == 0 {
		return
	}
	// Until one is measured, all count as nothing.
	if total, _ := s.bytes(); total > 0 && time.Since(s.measured) < measureTimes*s.measuring {
		return
	}
	s.measured = time.Now()
	for more := true; more; {
		s.all(func(o *snapshot) { o.bytes = o.world.Bytes() })
		more = false
		for total, _ := s.bytes(); total > s.budget.MemoryBytes && s.drop(by); total, _ = s.bytes() {
			more = true // the others have more now, of what they shared with it
		}
	}
	s.measuring = time.Since(s.measured)
}

// room makes room for one more snapshot of a timeline, and reports whether there is.
func (s *shelf) room(by *Timeline) bool {
	if s.budget.None {
		return false
	}
	s.fit(by)
	for {
		total, mean := s.bytes()
		if s.budget.MemoryBytes == 0 || total+mean <= s.budget.MemoryBytes {
			return true
		}
		if !s.drop(by) {
			return false
		}
	}
}

// drop drops the least useful snapshot of those that may go: of timelines that are not looked at first.
func (s *shelf) drop(by *Timeline) bool {
	for _, t := range s.timelines {
		if t != by && t.dropAny() {
			return true
		}
	}
	return by.dropAny()
}

// noRoom is the error of a snapshot that a user wants and for which there is no memory.
func (s *shelf) noRoom() error {
	total, mean := s.bytes()
	return fmt.Errorf("a snapshot of this world needs %s, and all snapshots may use %s, of which %s are in use; %s",
		runner.SizeText(mean), runner.SizeText(s.budget.MemoryBytes), runner.SizeText(total), runner.MemoryRemedy)
}

// dropAny drops the least useful snapshot of a timeline: not its beginning, and none that a user keeps.
func (t *Timeline) dropAny() bool {
	if i, _ := t.least(); i > 0 {
		t.drop(i)
	} else if last := len(t.snapshots) - 1; last > 0 && !t.snapshots[last].kept {
		t.drop(last)
	} else if i := slices.IndexFunc(t.snapshots, func(s snapshot) bool { return s.near && !s.kept }); i > 0 {
		t.drop(i)
	} else if len(t.inner) > 0 {
		t.dropInner()
	} else {
		return false
	}
	return true
}

func (t *Timeline) drop(i int) {
	t.snapshots[i].world.Close()
	t.snapshots = slices.Delete(t.snapshots, i, i+1)
}

func (t *Timeline) dropInner() {
	t.inner[0].world.Close()
	t.inner = slices.Delete(t.inner, 0, 1)
}

// rank is how useful a snapshot is that lies between two others: the longer the way is from the one to the other, and the nearer
// to where the user looks. So those that are kept lie close together there, and ever farther apart far away.
func (t *Timeline) rank(before, event, behind uint64) float64 {
	distance := max(event, t.focus) - min(event, t.focus)
	return float64(behind-before) / float64(distance+sliceEvents)
}

// spread are the places of snapshots that lie spread over the run.
func (t *Timeline) spread() (list []int) {
	for i := range t.snapshots {
		if !t.snapshots[i].near || t.snapshots[i].kept {
			list = append(list, i)
		}
	}
	return list
}

// least is the place of the least useful snapshot of those that lie spread over the run, and its rank. The first and the last
// one, and those that a user keeps, are not among them; 0 is none.
func (t *Timeline) least() (place int, rank float64) {
	list := t.spread()
	for k := 1; k+1 < len(list); k++ {
		s := &t.snapshots[list[k]]
		if r := t.rank(t.snapshots[list[k-1]].at.Event, s.at.Event, t.snapshots[list[k+1]].at.Event); !s.kept && (place == 0 || r < rank) {
			place, rank = list[k], r
		}
	}
	return place, rank
}

// pays reports whether a snapshot at an event would be more useful than another one.
func (t *Timeline) pays(event uint64) bool {
	list := t.spread()
	k := slices.IndexFunc(list, func(i int) bool { return t.snapshots[i].at.Event >= event })
	if len(list) < t.shelf.most() || k < 0 {
		return true
	}
	place, lowest := t.least()
	return k > 0 && place > 0 && t.rank(t.snapshots[list[k-1]].at.Event, event, t.snapshots[list[k]].at.Event) > lowest
}

// most is how many snapshots lie spread over the run at most.
func (s *shelf) most() int { return max(cmp.Or(s.budget.Most, runner.DefaultSnapshots), 1) }

// snapshot keeps a copy of a world that stands at a position, if there is room.
func (t *Timeline) snapshot(w World, at Position, near, kept bool) error {
	i, there := slices.BinarySearchFunc(t.snapshots, at, func(s snapshot, p Position) int { return compare(&s.at, &p) })
	if there {
		t.snapshots[i].kept = t.snapshots[i].kept || kept
		return nil
	}
	if room := t.shelf.room(t); !room && len(t.snapshots) > 0 {
		if kept {
			return t.shelf.noRoom()
		}
		return nil
	}
	c, err := w.Fork()
	if err != nil {
		return err
	}
	_, ns := w.Moment()
	i, _ = slices.BinarySearchFunc(t.snapshots, at, func(s snapshot, p Position) int { return compare(&s.at, &p) }) // some may be gone
	t.snapshots = slices.Insert(t.snapshots, i, snapshot{world: c, at: at, ns: ns, near: near, kept: kept})
	t.evict(i)
	return nil
}

// evict drops what is too much: of near ones that which is farthest, else the least useful one.
func (t *Timeline) evict(newest int) {
	worst, nears := -1, 0
	distance := func(i int) uint64 {
		a, b := t.snapshots[i].at.Turn, t.snapshots[newest].at.Turn
		return max(a, b) - min(a, b)
	}
	for i := range t.snapshots {
		if !t.snapshots[i].near || t.snapshots[i].kept {
			continue
		}
		if nears++; i != newest && (worst < 0 || distance(i) > distance(worst)) {
			worst = i
		}
	}
	if nears > maxNear && worst >= 0 {
		t.drop(worst)
	} else if place, _ := t.least(); len(t.spread()) > t.shelf.most() && place > 0 {
		t.drop(place)
	}
}

// onTheWay takes a snapshot of a world that runs, if the last one was long ago for what it cost.
func (t *Timeline) onTheWay(w World) error {
	t.shelf.fit(t)
	event, _ := w.Moment()
	t.focus = max(t.focus, event)
	if time.Since(t.last) < max(spacing, spacingTimes*t.cost) || !t.pays(event) {
		return nil
	}
	began := time.Now()
	err := t.snapshot(w, between(w), false, false)
	t.last = time.Now()
	t.cost = t.last.Sub(began)
	return err
}

// keepInner keeps a copy of a world in the midst of a turn, if there is room.
func (t *Timeline) keepInner(w World, at Position) error {
	for i := range t.inner {
		if left, ok := legsAfter(t.inner[i].at.Path, at.Path); ok && len(left) == 0 && t.inner[i].at.Turn == at.Turn {
			return nil
		}
	}
	if !t.shelf.room(t) {
		return nil
	}
	c, err := w.Fork()
	if err != nil {
		return err
	}
	if t.inner = append(t.inner, snapshot{world: c, at: at}); len(t.inner) > maxInner {
		t.dropInner()
	}
	return nil
}
