package debug

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// World is a world that a Timeline drives. Copies of one another have one run.
type World interface {
	engine.Debugging
	Moment() (event uint64, timeNs int64)
	Outcome() *record.Outcome
	Fork() (World, error)
	// Bytes is how much memory of the machine the world has, 0 if unknown; what several share counts in parts.
	Bytes() int64
	Close() error
}

// Timeline is a run in which one can go forward and backward. It keeps copies of the world at some positions, the snapshots, and comes to any
// other by running a copy of the one before.
type Timeline struct {
	// Interrupted is asked now and then whether what is under way is to end with ErrInterrupted. It may be nil.
	Interrupted func() bool

	now       World
	at        Position
	snapshots []snapshot // in their order
	inner     []snapshot // within one turn, behind its beginning
	trail     trail
	moved     bool // whether the world has stood elsewhere than at the beginning
	shelf     *shelf
	focus     uint64        // the event around which snapshots are most useful
	last      time.Time     // when the last snapshot on the way was taken
	cost      time.Duration // how long that took
}

// Limits of a Timeline.
const (
	// sliceEvents is how many events pass between looks at the clock and at an interrupt.
	sliceEvents = 500
	// maxSteps bounds the instructions that one step backward executes.
	maxSteps = 5_000_000
)

// ErrInterrupted is the error of what was interrupted. The timeline stands where it stood, or between two events on the way.
var ErrInterrupted = errors.New("interrupted")

// StopKind says why the world stopped.
type StopKind uint8

const (
	ByBreakpoint StopKind = iota
	ByWatchpoint
	ByStep
	AtBegin // the beginning of the timeline
	AtEnd   // the end of the run
	ByInterrupt
)

// Stop is where and why the world stopped.
type Stop struct {
	Kind   StopKind
	Thread engine.Thread // where a thread is stopped within its turn
	Watch  int           // which of the watchpoints
}

// New begins a timeline where a world stands. The world belongs to the timeline from now on, also if it fails. Where a thread is
// stopped within its turn, that is the beginning of the turn for the positions of the timeline.
func New(w World, budget runner.Budget) (*Timeline, error) {
	return newTimeline(w, &shelf{budget: budget})
}

func newTimeline(w World, s *shelf) (*Timeline, error) {
	t := &Timeline{now: w, at: between(w), shelf: s}
	if _, held := w.Held(); held {
		t.at = beginning(w)
	}
	t.focus = t.at.Event
	if err := t.snapshot(w, t.at, false, false); err != nil {
		w.Close()
		return nil, err
	}
	s.timelines = append(s.timelines, t)
	return t, nil
}

// errEnded is the error of a change to a run that is over.
var errEnded = errors.New("the run has ended here, so this would have no effect: go back first")

// Branch begins a timeline where this one stands, with a copy of the world that is changed.
func (t *Timeline) Branch(change func(World) error) (*Timeline, error) {
	if t.at.End {
		return nil, errEnded
	}
	w, err := t.now.Fork()
	if err != nil {
		return nil, err
	}
	if err := change(w); err != nil {
		w.Close()
		return nil, err
	}
	return newTimeline(w, t.shelf)
}

// Amend changes the beginning of a timeline that has never stood elsewhere. It reports false for any other.
func (t *Timeline) Amend(change func(World) error) (bool, error) {
	if t.moved || len(t.snapshots) != 1 {
		return false, nil
	}
	err := change(t.now)
	if err == nil {
		err = change(t.snapshots[0].world)
	}
	return true, err
}

// Close ends all worlds of the timeline.
func (t *Timeline) Close() error {
	err := t.now.Close()
	for _, s := range append(t.snapshots, t.inner...) {
		err = errors.Join(err, s.world.Close())
	}
	t.snapshots, t.inner = nil, nil
	t.shelf.timelines = slices.DeleteFunc(t.shelf.timelines, func(o *Timeline) bool { return o == t })
	return err
}

// World is the world as it stands now.
func (t *Timeline) World() World { return t.now }

// Position returns the present position of the world.
func (t *Timeline) Position() Position { return t.at }

// Snapshots are the positions of the snapshots.
func (t *Timeline) Snapshots() (list []Position) {
	for i := range t.snapshots {
		list = append(list, t.snapshots[i].at)
	}
	return list
}

func between(w World) Position {
	event, _ := w.Moment()
	return Position{Turn: w.Turn(), Event: event, Between: true}
}

// beginning is the position of a world whose thread is at the beginning of its turn.
func beginning(w World) Position {
	event, _ := w.Moment()
	return Position{Turn: w.Turn(), Event: event}
}

// run runs a world to stops. It takes snapshots on the way.
func (t *Timeline) run(w World, s engine.Stops) (engine.Halt, error) {
	goal := s.Until.Event
	for {
		event, _ := w.Moment()
		s.Until.Event = event + sliceEvents
		if goal > 0 {
			s.Until.Event = min(s.Until.Event, goal)
		}
		h, err := w.Run(&s)
		if err != nil || h.Reason != record.ReachedUntil {
			return h, err
		}
		event, ns := w.Moment()
		if goal > 0 && event >= goal || s.Until.TimeNs > 0 && ns >= s.Until.TimeNs {
			return h, nil
		}
		if t.Interrupted != nil && t.Interrupted() {
			return h, ErrInterrupted
		}
		if err := t.onTheWay(w); err != nil {
			return h, err
		}
	}
}

// union are two sets of stops as one. Watchpoint i of the first and of the second are Watchpoints[a[i]] and [b[i]].
func union(first, second *Stops) (s engine.Stops, a, b []int) {
	add := func(o *Stops) (places []int) {
		if o == nil {
			return nil
		}
		s.Breakpoints = append(s.Breakpoints, o.Breakpoints...)
		for _, w := range o.Watchpoints {
			i := slices.Index(s.Watchpoints, w)
			if i < 0 {
				i = len(s.Watchpoints)
				s.Watchpoints = append(s.Watchpoints, w)
			}
			places = append(places, i)
		}
		return places
	}
	a = add(first)
	b = add(second)
	return s, a, b
}

// hits reports whether a halt is one at these stops, whose watchpoints have these places in what was watched.
func (s *Stops) hits(h *engine.Halt, places []int) bool {
	return s.breaks(h.Thread, h.PC) || slices.ContainsFunc(h.Watched, func(i int) bool { return slices.Contains(places, i) })
}

// lost is the error of a run that was not as the one before.
func lost(p *Position) error {
	return fmt.Errorf("the run did not reach the position it had before (%s): it does not repeat there", p)
}

// pc is the instruction that the thread executes next that is stopped within its turn.
func pc(w World) (engine.Thread, uint64, error) {
	th, _ := w.Held()
	cpu, err := w.CPU(th.Node, th.TID)
	if err != nil {
		return th, 0, err
	}
	return th, cpu.General[RIP], nil
}

// visitor is called at arrivals at stops. last says that it is where the walk ends.
type visitor func(p Position, h engine.Halt, last bool)

// walk runs a world to a position, which is not before where it stands, between turns or at the beginning of one. visit is called at each arrival
// at one of the stops on the way.
func (t *Timeline) walk(w World, p Position, s *Stops, visit visitor) error {
	t.focus = p.Event
	at, counted := w.Turn(), uint64(0) // arrivals at stops in this turn, behind its beginning
	_, held := w.Held()
	begun := func() error { // the thread stands at the beginning of its turn, which is an arrival
		if s == nil || p.within() && p.Turn == w.Turn() && len(p.Path) == 0 {
			return nil
		}
		th, place, err := pc(w)
		if err != nil {
			return err
		}
		if s.breaks(th, place) {
			visit(beginning(w), engine.Halt{Reason: record.Halted, Thread: th, PC: place, Begins: true, Break: true}, false)
		}
		return nil
	}
	if held {
		if err := begun(); err != nil {
			return err
		}
	}
	all, _, own := union(nil, s)
	for !(held && p.within() && p.Turn == at) {
		if here := between(w); !held && p.Between && compare(&here, &p) == 0 {
			return nil
		}
		each := all
		switch {
		case p.within():
			each.Turn = p.Turn
		case p.Between:
			each.Until.Event = p.Event
		}
		h, err := t.run(w, each)
		switch {
		case err != nil:
			return err
		case h.Reason == record.ReachedUntil && p.Between:
			if w.Turn() != p.Turn {
				return lost(&p)
			}
			return nil
		case h.Reason.Ends() && p.End:
			return nil
		case h.Reason != record.Halted || w.Turn() > p.Turn && !p.End:
			return lost(&p)
		}
		if w.Turn() != at {
			at, counted = w.Turn(), 0
		}
		if _, held = w.Held(); !held { // a call has written to a watched place
			if here := between(w); s.hits(&h, own) && compare(&here, &p) <= 0 {
				visit(here, h, compare(&here, &p) == 0)
			}
			continue
		}
		if h.Begins {
			if here := beginning(w); len(h.Watched) > 0 { // a call has written to a watched place
				visit(here, h, compare(&here, &p) == 0 && len(p.Path) == 0)
			}
			if err := begun(); err != nil {
				return err
			}
		} else if s.hits(&h, own) {
			counted++
			visit(Position{Turn: at, Event: eventOf(w), Path: []Leg{{Stops: s, Hits: counted}}}, h, false)
		}
		if !h.Begins && p.within() && at == p.Turn {
			return lost(&p)
		}
	}
	if len(p.Path) == 0 {
		return nil
	}
	if err := t.snapshot(w, beginning(w), true, false); err != nil {
		return err
	}
	return t.follow(w, beginning(w), p, s, visit)
}

func eventOf(w World) uint64 {
	event, _ := w.Moment()
	return event
}

// legsAfter returns the legs of a path after its prefix from. ok is false if the path does not begin with from.
func legsAfter(path, from []Leg) (legs []Leg, ok bool) {
	if len(from) > len(path) {
		return nil, false
	}
	for i, l := range from {
		switch o := path[i]; {
		case l.Stops != nil && o.Stops.equal(l.Stops) && o.Hits == l.Hits, l.Stops == nil && o.Stops == nil && o.Steps == l.Steps:
		case i == len(from)-1 && l.Stops == nil && o.Stops == nil && o.Steps > l.Steps:
			return append([]Leg{{Steps: o.Steps - l.Steps}}, path[i+1:]...), true
		default:
			return nil, false
		}
	}
	return path[len(from):], true
}

// Steps before a position at which copies are kept: steps backward come there next.
const (
	nearSteps = 64
	farSteps  = 1024
)

// closest is the copy in the midst of a turn from which the fewest steps lead to a position, or nil.
func (t *Timeline) closest(p *Position) (best *snapshot) {
	fewest := ^uint64(0)
	for i := range t.inner {
		s := &t.inner[i]
		if left, ok := legsAfter(p.Path, s.at.Path); ok && p.within() && s.at.Turn == p.Turn && len(s.at.Path) > 0 {
			steps := uint64(0)
			for _, l := range left {
				if steps += l.Steps; l.Stops != nil {
					steps += farSteps
				}
			}
			if steps < fewest {
				best, fewest = s, steps
			}
		}
	}
	return best
}

// follow runs a world that stands within a turn, at done, along the rest of the path of a position.
func (t *Timeline) follow(w World, done, p Position, s *Stops, visit visitor) error {
	legs, _ := legsAfter(p.Path, done.Path)
	for i, leg := range legs {
		last := i == len(legs)-1
		if leg.Stops == nil {
			each, _, own := union(nil, s)
			each.Step = true
			for n := range leg.Steps {
				if left := leg.Steps - n; last && s == nil && n > 0 && (left == nearSteps || left == farSteps) {
					if err := t.keepInner(w, done.with(Leg{Steps: n})); err != nil {
						return err
					}
				}
				h, err := w.Run(&each)
				if err != nil {
					return err
				}
				if !h.Step {
					return lost(&p)
				}
				if s != nil && s.hits(&h, own) {
					visit(done.with(Leg{Steps: n + 1}), h, last && n+1 == leg.Steps)
				}
				if n%sliceEvents == sliceEvents-1 && t.Interrupted != nil && t.Interrupted() {
					return ErrInterrupted
				}
			}
		} else {
			each, towards, own := union(leg.Stops, s)
			hits, owns := uint64(0), uint64(0)
			for hits < leg.Hits {
				h, err := w.Run(&each)
				if err != nil {
					return err
				}
				if h.Reason != record.Halted || w.Turn() != p.Turn {
					return lost(&p)
				}
				if leg.Stops.hits(&h, towards) {
					hits++
				}
				if s != nil && s.hits(&h, own) {
					owns++
					visit(done.with(Leg{Stops: s, Hits: owns}), h, last && hits == leg.Hits)
				}
			}
		}
		done = done.with(leg)
	}
	return nil
}

// lastSnapshot returns the number of the last snapshot that is not after a position.
func (t *Timeline) lastSnapshot(p *Position) int {
	for i := len(t.snapshots) - 1; i > 0; i-- {
		if compare(&t.snapshots[i].at, p) <= 0 {
			return i
		}
	}
	return 0
}

// reach gives a world that stands at a position.
func (t *Timeline) reach(p Position) (World, error) {
	from := t.closest(&p)
	if from == nil {
		from = &t.snapshots[t.lastSnapshot(&p)]
	}
	at := from.at
	w, err := from.world.Fork()
	if err != nil {
		return nil, err
	}
	if len(at.Path) > 0 {
		err = t.follow(w, at, p, nil, nil)
	} else {
		err = t.walk(w, p, nil, nil)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// standsAt reports whether the world that is looked at stands at a position.
func (t *Timeline) standsAt(p *Position) bool {
	left, ok := legsAfter(p.Path, t.at.Path)
	return ok && len(left) == 0 && compare(p, &t.at) == 0
}

// Goto goes to a position that the timeline has given.
func (t *Timeline) Goto(p Position) error {
	w, err := t.reach(p)
	if err != nil {
		return err
	}
	t.stand(w, p)
	return nil
}

// stand makes a world the one that is looked at.
func (t *Timeline) stand(w World, p Position) {
	if t.now != w {
		t.now.Close()
	}
	t.now, t.at, t.moved = w, p, true
}

// GotoUntil goes to where a run from its beginning stops for a bound, to its end if the bound is zero. It reports whether the run comes there.
func (t *Timeline) GotoUntil(u engine.Until) (bool, error) {
	i := len(t.snapshots) - 1
	for ; i > 0; i-- {
		s := &t.snapshots[i]
		if u.Event > 0 && s.at.Event < u.Event || u.TimeNs > 0 && s.ns < u.TimeNs || u == (engine.Until{}) {
			break
		}
	}
	w, err := t.snapshots[i].world.Fork()
	if err != nil {
		return false, err
	}
	t.focus = u.Event
	h, err := t.run(w, engine.Stops{Until: u})
	if err != nil {
		w.Close()
		return false, err
	}
	p := between(w)
	if p.End = h.Reason.Ends(); p.End {
		p.Between = false
	}
	if u.TimeNs > 0 && !p.End { // where time has passed since the last event, the position is that of the event
		w.Close()
		if p.Event <= t.snapshots[0].at.Event {
			return true, t.GotoBeginning()
		}
		return t.GotoUntil(engine.Until{Position: record.PositionAt(p.Event)})
	}
	t.stand(w, p)
	_, ns := w.Moment()
	return h.Reason == record.ReachedUntil || u.TimeNs > 0 && ns >= u.TimeNs, nil // time may jump to the end
}

// GotoBeginning goes to the beginning of the timeline.
func (t *Timeline) GotoBeginning() error { return t.Goto(t.snapshots[0].at) }

// Keep takes a snapshot where the world stands, if that is between two turns or at the beginning of one, which stays until the end.
func (t *Timeline) Keep() error {
	if t.at.End || len(t.at.Path) > 0 {
		return errors.New("snapshots are taken between two events or at the beginning of a turn: go to an event first")
	}
	return t.snapshot(t.now, t.at, false, true)
}

// Continue runs forward to the next stop.
func (t *Timeline) Continue(s *Stops) (Stop, error) {
	if t.at.End {
		return Stop{Kind: AtEnd}, nil
	}
	t.moved, t.focus = true, 0
	all, _, own := union(nil, s)
	h, err := t.run(t.now, all)
	return t.settle(&h, s, own, err)
}

// settle takes in where a run of the world that is looked at has ended.
func (t *Timeline) settle(h *engine.Halt, s *Stops, own []int, err error) (Stop, error) {
	switch {
	case errors.Is(err, ErrInterrupted):
		t.at = between(t.now)
		return Stop{Kind: ByInterrupt}, nil
	case err != nil:
		return Stop{}, err
	case h.Reason.Ends():
		t.at = between(t.now)
		t.at.Between, t.at.End = false, true
		return Stop{Kind: AtEnd}, nil
	}
	if _, held := t.now.Held(); !held { // a call has written to a watched place
		t.at = between(t.now)
		stop := Stop{Thread: h.Thread}
		stop.Kind, stop.Watch = kindOf(s, h, own)
		if t.at.Event > 0 {
			_, err = t.now.Run(&engine.Stops{Until: engine.Until{Position: record.PositionAt(t.at.Event)}})
		}
		return stop, err
	}
	here := beginning(t.now)
	if t.at.within() && t.at.Turn == here.Turn {
		here.Path = t.at.Path
	}
	stop := Stop{Kind: ByStep, Thread: h.Thread}
	hit := s.hits(h, own)
	switch {
	case h.Step:
		here = here.with(Leg{Steps: 1})
	case hit && !h.Begins:
		here = here.with(Leg{Stops: s, Hits: 1})
	}
	if hit {
		stop.Kind, stop.Watch = kindOf(s, h, own)
	}
	t.at = here
	return stop, nil
}

// kindOf distinguishes breakpoints and watchpoints.
func kindOf(s *Stops, h *engine.Halt, own []int) (StopKind, int) {
	if s.breaks(h.Thread, h.PC) {
		return ByBreakpoint, 0
	}
	for i, place := range own {
		if slices.Contains(h.Watched, place) {
			return ByWatchpoint, i
		}
	}
	return ByStep, 0
}

// Step has a thread execute one instruction; others may run before that, and while it waits in a call. It may stop elsewhere before.
func (t *Timeline) Step(th engine.Thread, s *Stops) (Stop, error) {
	if t.at.End {
		return Stop{Kind: AtEnd}, nil
	}
	waits, err := t.waits(th)
	if err != nil {
		return Stop{}, err
	}
	t.moved = true
	for {
		if held, ok := t.now.Held(); ok && same(held, th) {
			all, _, own := union(nil, s)
			all.Step = true
			h, err := t.now.Run(&all)
			if err != nil || h.Reason.Ends() || h.Step || s != nil && s.hits(&h, own) {
				return t.settle(&h, s, own, err)
			}
			waits, t.at = true, between(t.now)
		}
		all, _, own := union(nil, s)
		all.Begins = &th
		h, err := t.run(t.now, all)
		stop, err := t.settle(&h, s, own, err)
		if err != nil || stop.Kind != ByStep || waits {
			return stop, err
		}
	}
}

// waits reports whether a thread waits in a call, which is what it finishes by its next step.
func (t *Timeline) waits(th engine.Thread) (bool, error) {
	list, err := t.now.Threads()
	if err != nil {
		return false, err
	}
	for i := range list {
		if same(list[i], th) {
			return list[i].Call != "", nil
		}
	}
	return false, fmt.Errorf("node %s has no thread %d", th.Node, th.TID)
}

func same(a, b engine.Thread) bool { return a.Node == b.Node && a.TID == b.TID }

// Back runs backward to the last stop before. At a watchpoint, that is before the instruction that accesses the place.
func (t *Timeline) Back(s *Stops) (Stop, error) {
	if t.trail.leads(s, &t.at) {
		return t.arrive(s)
	}
	if len(s.Breakpoints)+len(s.Watchpoints) == 0 {
		return Stop{Kind: AtBegin}, t.GotoBeginning()
	}
	err := t.backward(t.at, func(w World, goal Position) (bool, error) {
		t.trail = trail{stops: s}
		err := t.walk(w, goal, s, t.trail.note)
		return len(t.trail.stations) > 0, err
	})
	if err != nil {
		return Stop{}, err
	}
	if len(t.trail.stations) > 0 {
		return t.arrive(s)
	}
	return Stop{Kind: AtBegin}, t.GotoBeginning()
}

// backward has search look through the run before a position, part by part, the last one first, until it has found what it looks
// for: in a copy of the world that stands at the beginning of the part, up to the goal. A part is twice as many snapshots long as
// the one behind it, since each costs a copy.
func (t *Timeline) backward(goal Position, search func(w World, goal Position) (found bool, err error)) error {
	i := t.lastSnapshot(&goal)
	for parts := 1; ; parts *= 2 {
		from := t.snapshots[i].at
		w, err := t.snapshots[i].world.Fork()
		if err != nil {
			return err
		}
		found, err := search(w, goal)
		w.Close()
		if found || err != nil {
			return err
		}
		goal = from
		i, _ = slices.BinarySearchFunc(t.snapshots, goal, func(s snapshot, p Position) int { return compare(&s.at, &p) }) // there may be others now
		if i == 0 {
			return nil
		}
		i = max(i-parts, 0)
	}
}

// trail are the stops of the interval between two snapshots that a search has met, up to where it has led.
type trail struct {
	stops    *Stops
	stations []station
	at       Position // where it has led last
}

// station is a stop of a search backward.
type station struct {
	at   Position
	stop Stop
}

// maxTrail bounds the stops that are kept of an interval: the last ones.
const maxTrail = 4096

// note keeps an arrival. What the last instruction before a position has accessed is met on the way back from there; a breakpoint there is not.
func (r *trail) note(p Position, h engine.Halt, last bool) {
	if len(r.stations) >= 2*maxTrail {
		r.stations = slices.Delete(r.stations, 0, maxTrail)
	}
	_, _, own := union(nil, r.stops)
	for i, place := range own {
		if slices.Contains(h.Watched, place) {
			r.stations = append(r.stations, station{p, Stop{Kind: ByWatchpoint, Thread: h.Thread, Watch: i}})
			break
		}
	}
	if !last && r.stops.breaks(h.Thread, h.PC) {
		r.stations = append(r.stations, station{p, Stop{Kind: ByBreakpoint, Thread: h.Thread}})
	}
}

// leads reports whether a search from a position would find what it has found already.
func (r *trail) leads(s *Stops, p *Position) bool {
	left, ok := legsAfter(p.Path, r.at.Path)
	return len(r.stations) > 0 && r.stops.equal(s) && compare(p, &r.at) == 0 && ok && len(left) == 0
}

// arrive goes to the last stop that a search has met, and that it has not led to before.
func (t *Timeline) arrive(s *Stops) (Stop, error) {
	last := len(t.trail.stations) - 1
	found := t.trail.stations[last]
	t.trail.stations = t.trail.stations[:last]
	p, stop := found.at, found.stop
	if stop.Kind == ByWatchpoint {
		var err error
		if p, err = t.before(p, stop.Thread); err != nil {
			return stop, err
		}
	}
	if err := t.Goto(p); err != nil {
		return stop, err
	}
	t.trail.at = t.at
	if stop.Kind == ByWatchpoint {
		return stop, t.passWrite(&found.at)
	}
	return stop, nil
}

// passWrite drops what a search has met at or behind the instruction that accesses a watched place, at which the world stands now.
func (t *Timeline) passWrite(arrival *Position) error {
	if !arrival.within() || arrival.Turn != t.at.Turn { // a call, behind which others may have run
		t.trail = trail{}
		return nil
	}
	th, place, err := pc(t.now)
	if n := len(t.trail.stations) - 1; err == nil && n >= 0 && t.trail.stops.breaks(th, place) && t.trail.stations[n].stop.Kind == ByBreakpoint {
		t.trail.stations = t.trail.stations[:n]
	}
	return err
}

// StepBack goes to before the last instruction of a thread.
func (t *Timeline) StepBack(th engine.Thread) (Stop, error) {
	p, err := t.before(t.at, th)
	if errors.Is(err, errNoTurn) {
		return Stop{Kind: AtBegin}, t.GotoBeginning()
	}
	if err != nil {
		return Stop{}, err
	}
	return Stop{Kind: ByStep, Thread: th}, t.Goto(p)
}

// before is the position before the last instruction that a thread has executed at a position.
func (t *Timeline) before(p Position, th engine.Thread) (Position, error) {
	if p.within() && len(p.Path) > 0 && same(t.threadOf(p, th), th) {
		for len(p.Path) > 0 {
			last := p.Path[len(p.Path)-1]
			base := p
			base.Path = p.Path[:len(p.Path)-1]
			n := last.Steps
			if last.Stops != nil {
				var err error
				if base, n, err = t.length(base, last); err != nil {
					return p, err
				}
			}
			if p = base; n > 1 {
				return base.with(Leg{Steps: n - 1}), nil
			} else if n == 1 {
				return base, nil
			}
		}
	}
	return t.beforeTurn(p, th)
}

// threadOf is the thread of the turn of a position; th where that is the one that the world stands at.
func (t *Timeline) threadOf(p Position, th engine.Thread) engine.Thread {
	if compare(&p, &t.at) == 0 && t.at.within() {
		held, _ := t.now.Held()
		return held
	}
	return th
}

// length is how many instructions lead to the end of a leg from a position on its way, which it gives, too.
func (t *Timeline) length(base Position, leg Leg) (Position, uint64, error) {
	end := base.with(leg)
	if leg.Hits > 1 {
		base, leg = base.with(Leg{Stops: leg.Stops, Hits: leg.Hits - 1}), Leg{Stops: leg.Stops, Hits: 1}
	}
	there := t.now
	if !t.standsAt(&end) {
		w, err := t.reach(end)
		if err != nil {
			return base, 0, err
		}
		defer w.Close()
		there = w
	}
	near, err := t.approach(base, leg, there)
	if err != nil {
		return base, 0, err
	}
	w, err := t.reach(near)
	if err != nil {
		return base, 0, err
	}
	defer w.Close()
	if len(near.Path) > 0 {
		if err := t.keepInner(w, near); err != nil {
			return base, 0, err
		}
	}
	each, towards, _ := union(leg.Stops, nil)
	each.Step = true
	for n := uint64(1); n <= maxSteps; n++ {
		h, err := w.Run(&each)
		if err != nil {
			return base, 0, err
		}
		if !h.Step {
			return base, 0, lost(&near)
		}
		if leg.Stops.hits(&h, towards) {
			return near, n, nil
		}
		if n%sliceEvents == 0 && t.Interrupted != nil && t.Interrupted() {
			return base, 0, ErrInterrupted
		}
	}
	return base, 0, fmt.Errorf("there are more than %d instructions since the last stop or call: set a "+
		"breakpoint closer to this point, and step back from there",
		maxSteps)
}

// errNoTurn is the error of a thread that has run no instruction before.
var errNoTurn = errors.New("the thread has executed no instruction since the beginning of the timeline")

// beforeTurn is the position before the last instruction of the last turn of a thread that is over at a position: the call at which it ended.
func (t *Timeline) beforeTurn(p Position, th engine.Thread) (Position, error) {
	turn, err := t.lastTurn(p, th)
	if err != nil {
		return p, err
	}
	if q, ok, err := t.atCall(turn, p, th); ok || err != nil {
		return q, err
	}
	w, err := t.reach(turn)
	if err != nil {
		return p, err
	}
	defer w.Close()
	for n := uint64(0); n < maxSteps; n++ {
		h, err := w.Run(&engine.Stops{Step: true})
		if err != nil {
			return p, err
		}
		if !h.Step {
			if n == 0 {
				return turn, nil
			}
			return turn.with(Leg{Steps: n}), nil
		}
	}
	return p, fmt.Errorf("there are more than %d instructions in the last turn of the thread", maxSteps)
}

// lastTurn is the beginning of the last turn of a thread that is over at a position.
func (t *Timeline) lastTurn(p Position, th engine.Thread) (Position, error) {
	var last *Position
	err := t.backward(p, func(w World, goal Position) (_ bool, err error) {
		last, err = t.turnsOf(w, goal, th)
		return last != nil, err
	})
	switch {
	case err != nil:
		return p, err
	case last == nil:
		return p, errNoTurn
	}
	return *last, nil
}

// turnsOf runs a world to a position and gives the beginning of the last turn of a thread that is over there.
func (t *Timeline) turnsOf(w World, p Position, th engine.Thread) (last *Position, err error) {
	t.focus = p.Event
	if held, ok := w.Held(); ok && same(held, th) && (w.Turn() < p.Turn || !p.within()) {
		here := beginning(w)
		last = &here
	}
	for {
		if here := between(w); p.Between && compare(&here, &p) >= 0 || p.within() && w.Turn() >= p.Turn {
			return last, nil
		}
		each := engine.Stops{Begins: &th}
		if p.within() {
			each.Turn = p.Turn
		} else {
			each.Until.Event = p.Event
		}
		if p.End {
			each.Until.Event = 0
		}
		h, err := t.run(w, each)
		if err != nil || h.Reason != record.Halted {
			return last, err
		}
		if p.within() && w.Turn() == p.Turn {
			return last, nil
		}
		if same(h.Thread, th) {
			here := beginning(w)
			last = &here
		}
	}
}

// atCall is the position at the call with which a turn of a thread ends, if it ends with one: its last turn before the position end.
func (t *Timeline) atCall(turn, end Position, th engine.Thread) (Position, bool, error) {
	w, err := t.reach(turn)
	if err != nil {
		return turn, false, err
	}
	defer w.Close()
	behind := t.now // a world in which the thread has executed nothing since
	if !t.standsAt(&end) {
		if behind, err = w.Fork(); err != nil {
			return turn, false, err
		}
		defer behind.Close()
		if _, err := t.run(behind, engine.Stops{Turn: turn.Turn + 1}); err != nil {
			return turn, false, err
		}
	}
	cpu, err := behind.CPU(th.Node, th.TID)
	if err != nil { // it has ended
		return turn, false, nil
	}
	const length = 2 // of the instruction syscall
	held, place, err := pc(w)
	if err != nil {
		return turn, false, err
	}
	s := &Stops{Breakpoints: []engine.Breakpoint{{Node: held.Node, PID: held.PID, Address: cpu.General[RIP] - length}}}
	hits := uint64(0)
	for {
		h, err := t.run(w, engine.Stops{Breakpoints: s.Breakpoints, Turn: turn.Turn + 1})
		if err != nil {
			return turn, false, err
		}
		if h.Reason != record.Halted || w.Turn() > turn.Turn {
			break
		}
		hits++
	}
	p := turn
	if hits > 0 {
		p = turn.with(Leg{Stops: s, Hits: hits})
	} else if !s.breaks(held, place) {
		return turn, false, nil
	}
	there, err := t.reach(p)
	if err != nil {
		return turn, false, err
	}
	defer there.Close()
	h, err := there.Run(&engine.Stops{Step: true})
	return p, h.Over, err
}
