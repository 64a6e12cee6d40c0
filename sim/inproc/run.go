package inproc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/stray"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Limits of the size of a run.
const (
	maxInFlight = 1 << 18 // messages and timers at once
	maxInbox    = 1 << 18 // messages that a node has not received
	maxThreads  = 1 << 14 // processes of a run that have not ended
	maxHistory  = 2_000_000
	maxCrashes  = 1_000
	// outsideEvery is how often the loop looks at what lies outside the world, in steps.
	outsideEvery = 1024
)

// run is one run of a world.
type run struct {
	engine *worldEngine
	lay    *layout
	spec   *world.Spec
	opts   engine.Options
	src    *tape.Source
	def    World

	now       int64
	events    uint64
	maxEvents uint64
	sum       sum
	order     uint64 // of the events so far: a hash without times
	queue     queue
	ready     line // who can run, in order
	nodes     []*Node
	links     []link
	threads   int
	parked    map[unsafe.Pointer][]parking // who waits for what, of the stand-ins for sync
	switchPPM uint64                       // see switchRate
	active    *Node                        // whose code runs, nil between steps
	current   *Process                     // that runs, nil while a machine is stepped
	director  *director.Director
	broken    bool      // an invariant was
	schedule  *schedule // nil: messages have latencies
	scratch   *scratch
	last      Step
	nextID    uint64 // of calls that wait for a reply
	written   int64  // bytes, to disks

	out     record.Outcome
	ended   record.Reason
	chance  uint64 // which streams nodes draw from: others than at first, if it is not 0
	failure error  // of the engine, or of its user's description
	limit   string // that was reached
	strict  *strict
	watched bool                        // see stray.Watching
	reached map[uint64]coverage.Feature // nil: not recorded
	began   time.Time
	closed  bool
}

// Boot starts a run with the nodes of the description. The Spec may leave out some of their programs.
func (e *worldEngine) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	return e.boot(spec, t, o, nil)
}

func (e *worldEngine) boot(spec *world.Spec, t tape.Tape, o engine.Options, s *strict) (*run, error) {
	if spec.Sched.SwitchPPM > 0 && !points.Linked {
		return nil, errUnlinked
	}
	lay, err := e.layoutOf(spec)
	if err != nil {
		return nil, err
	}
	r := &run{engine: e, lay: lay, spec: spec, opts: o, src: tape.NewSource(t), strict: s, maxEvents: spec.Limits.Events,
		began: time.Now(), watched: stray.Watched()}
	if r.maxEvents == 0 {
		r.maxEvents = defaultEvents
	}
	r.scratch = e.borrow()
	r.queue.heap, r.queue.free, r.ready.list = r.scratch.heap, r.scratch.free, r.scratch.line
	r.src.Expect(r.scratch.decisions)
	r.src.Watch(o.Draws)
	if t.Timed() {
		r.src.Clock(func() int64 { return r.now })
	}
	r.out.Tape = t
	r.out.Repeat = record.Repeat{Reproducible: true}
	if o.Behaviour {
		r.reached = map[uint64]coverage.Feature{}
	}
	r.def.unguided, r.def.measured = e.unguided, o.Behaviour && !slices.Contains(o.Unwatched, coverage.ModelGoal)
	e.define(&r.def)
	if err := r.matches(); err != nil {
		return nil, err
	}
	r.links = make([]link, len(lay.links))
	r.nodes = make([]*Node, len(spec.Nodes))
	nodes := make([]Node, len(spec.Nodes))
	for i := range spec.Nodes {
		n := &nodes[i]
		*n = Node{run: r, id: int32(i), name: spec.Nodes[i].Name, part: &r.def.parts[i],
			server: spec.Nodes[i].Role == world.Server, tickNs: or(r.def.settings.Tick, defaultTick)}
		n.hash = hashText(n.name)
		n.clock = clock{baseNs: spec.StartUnixNs + spec.Nodes[i].Clock.OffsetNs, driftPPB: spec.Nodes[i].Clock.DriftPPB}
		n.disk.node = n
		r.nodes[i] = n
	}
	r.schedule = newSchedule(r, r.def.settings.Schedule)
	r.director = lay.setting.New(r.src, r.actuator(), &r.out)
	r.event(callPhase, nil, nil, 0, 0, 0, director.PhaseSetup)
	r.direct()
	return r, nil
}

// matches reports whether the description made the same nodes as when the engine was made.
func (r *run) matches() error {
	if len(r.def.errs) > 0 {
		return errors.Join(r.def.errs...)
	}
	same := len(r.def.parts) == len(r.spec.Nodes)
	for i := 0; same && i < len(r.def.parts); i++ {
		same = r.def.parts[i].name == r.spec.Nodes[i].Name
	}
	if !same {
		return fmt.Errorf("the function that describes the world %q created different nodes than before; it must "+
			"create the same ones in every run", r.spec.Name)
	}
	return nil
}

// event numbers a happening and takes it into the hash.
func (r *run) event(c call, n *Node, p *Process, arg, result int64, digest uint64, detail string) uint64 {
	r.events++
	h := uint64(c)
	if n != nil {
		h ^= n.hash
		if p != nil {
			h ^= p.hash
		}
	}
	r.sum.event(h, uint64(r.now), uint64(arg)^digest, uint64(result))
	if r.reached != nil {
		r.order = splitmix.Mix(r.order ^ h*splitmix.Gamma ^ uint64(arg) ^ digest)
	}
	clocks := uint64(0)
	if n != nil && n.clocks > 0 {
		clocks, n.clocks = n.clocks, 0
		r.sum.add(clocks)
	}
	if r.strict != nil {
		r.strict.note(r, c, n, p, arg, result, digest, clocks, detail)
	}
	if r.opts.Observe != nil {
		e := record.Event{Number: r.events, TimeNs: r.now, Call: callNames[c], Result: result, Bytes: digest, Clocks: clocks, Detail: detail}
		if arg != 0 {
			e.Args = []int64{arg}
		}
		if n != nil {
			e.Node, e.Thread = n.name, n.name
			if p != nil {
				e.Thread = p.thread
			}
		}
		r.opts.Observe(&e)
	}
	if r.opts.Progress != nil {
		r.opts.Progress(r.events, r.now)
	}
	return r.events
}

// Advance implements engine.World.
func (r *run) Advance(until engine.Until) (record.Reason, error) {
	switch {
	case r.closed:
		return "", errors.New("the world is closed")
	case until.Within > 0:
		return "", engine.ErrUnsupported
	}
	if r.ended != "" {
		return r.ended, nil
	}
	for step := 0; ; step++ {
		r.opts.Pulse.Beat()
		switch {
		case r.failure != nil:
			return "", r.failure
		case r.ended != "":
			return r.end(r.ended), nil
		case r.director.Phase == director.PhaseOver:
			return r.end(record.Finished), nil
		case r.now >= r.spec.MaxTimeNs:
			return r.end(record.MaxTime), nil
		case until.Event > 0 && r.events >= until.Event, until.TimeNs > 0 && r.now >= until.TimeNs:
			return record.ReachedUntil, nil
		case r.limit != "":
			r.out.Detail = r.limit
			return r.end(record.Limit), nil
		case r.events >= r.maxEvents:
			r.out.Detail = fmt.Sprintf("the limit of %d events", r.maxEvents)
			return r.end(record.Limit), nil
		case len(r.out.History) >= maxHistory:
			r.out.Detail = fmt.Sprintf("the limit of %d records in the history", maxHistory)
			return r.end(record.Limit), nil
		}
		if step%outsideEvery == outsideEvery-1 {
			if reason := r.outside(); reason != "" {
				return r.end(reason), nil
			}
		}
		due, first := r.director.Due, true // the director acts when all that is due at that time has happened
		if !r.queue.empty() && r.queue.next() <= due {
			due, first = r.queue.next(), false
		}
		if due <= r.now || r.ready.empty() {
			if due == director.Never {
				return r.end(record.Deadlock), nil
			}
			r.now = max(r.now, due)
			if first {
				r.direct()
				r.invariants()
				continue
			}
			r.happen(r.queue.pop())
			continue
		}
		p := r.ready.pop()
		if p.pausedBy != 0 {
			p.wait = preempted
			p.gen++
			r.hold(p.Node, pending{kind: wake, node: p.Node, proc: p, gen: p.gen})
			continue
		}
		r.resume(p)
		r.stepped(Ran, p.Node, nil)
		r.invariants()
	}
}

func (r *run) end(reason record.Reason) record.Reason {
	r.ended = reason
	r.stuck()
	return reason
}

// outside looks at the real clock and at an interrupt: neither has any effect on a run that continues.
func (r *run) outside() record.Reason {
	select {
	case <-r.opts.Interrupt:
		r.out.Detail = "interrupted"
		return record.Stopped
	default:
	}
	if ms := r.spec.Limits.WallMs; ms > 0 && time.Since(r.began) > time.Duration(ms)*time.Millisecond {
		r.out.Detail = fmt.Sprintf("the limit of %d ms of real time", ms)
		r.unrepeatable("ended by the limit of real time")
		return record.Limit
	}
	return ""
}

func (r *run) unrepeatable(why string) {
	if r.out.Repeat.Reproducible {
		r.out.Repeat = record.Repeat{Reason: why}
	}
}

// happen does what is due.
func (r *run) happen(p *pending) {
	what := *p
	r.queue.recycle(p)
	n := what.node
	switch what.kind {
	case arrive:
		r.arrived(n, &what.msg)
	case ghost:
		r.missed(n, what.ref)
	case wake:
		if what.proc.wait != nothing && what.proc.gen == what.gen {
			if n.pausedBy != 0 {
				r.hold(n, what)
				return
			}
			r.rouse(what.proc)
		}
	case tick:
		if n.life != what.gen || n.machine == nil {
			return
		}
		if n.pausedBy != 0 {
			r.hold(n, what)
			return
		}
		r.tickDue(n)
		r.stepTick(n)
		r.stepped(Ticked, n, nil)
		r.invariants()
	case choices:
		r.schedule.step()
	case joins:
		r.schedule.queue(what.msg.link, &what.msg)
	}
}

// hold keeps what is due on a node that is paused.
func (r *run) hold(n *Node, what pending) {
	if len(n.held) >= maxInbox {
		r.limit = fmt.Sprintf("the limit of %d things held back on %s, which is paused", maxInbox, n.name)
		return
	}
	n.held = append(n.held, what)
}

// push puts a thing into the queue.
func (r *run) push(atNs int64, what pending) {
	if len(r.queue.heap) >= maxInFlight {
		r.limit = fmt.Sprintf("the limit of %d pending messages and timers", maxInFlight)
	}
	p := r.queue.fresh()
	*p = what
	r.queue.push(atNs, p)
}

// Fork implements engine.World: coroutines cannot be copied.
func (r *run) Fork(*world.Spec, tape.Tape, engine.Options) (engine.World, error) {
	return nil, engine.ErrUnsupported
}

// Follows implements engine.World.
func (r *run) Follows(tape.Tape) bool { return false }

// Inspect implements engine.World.
func (r *run) Inspect() (engine.Inspection, error) { return nil, engine.ErrUnsupported }

// Moment implements engine.World.
func (r *run) Moment() (event uint64, timeNs int64) { return r.events, r.now }

// Outcome implements engine.World.
func (r *run) Outcome() *record.Outcome {
	o := &r.out
	o.Reason = r.ended
	o.Hash = r.sum.String()
	o.Events, o.VirtualNs, o.WallNs = r.events, r.now, time.Since(r.began).Nanoseconds()
	o.Decisions, o.Draws, o.DrawsLost = r.src.Decisions(), r.src.Draws(), r.src.DrawsLost()
	if r.ended == "" { // there will be more of them
		o.Decisions, o.Draws = slices.Clone(o.Decisions), slices.Clone(o.Draws)
	}
	o.Ledger = r.director.Plan.Ledger
	o.Heals = slices.Clone(r.director.Heals)
	o.LogCounts = maps.Clone(r.director.Counts)
	r.departures(o.Probes)
	if r.reached != nil {
		list := r.follow(append(slices.Collect(maps.Values(r.reached)), coverage.Feature{ID: r.order, Domain: coverage.Trace}))
		if len(r.opts.Unwatched) > 0 {
			list = slices.DeleteFunc(list, func(f coverage.Feature) bool { return slices.Contains(r.opts.Unwatched, f.Domain) })
		}
		o.Reached, o.Near = coverage.Sort(list), r.near()
	}
	return o
}

// Models implements engine.Modelled.
func (r *run) Models() record.Models {
	return record.Models{Tallies: r.tallies(), Mistake: r.mistaken(), Guide: r.guided()}
}

// Close implements engine.World. Processes that have not ended do now.
func (r *run) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	for _, n := range r.nodes {
		r.bury(n)
	}
	if r.strict != nil {
		r.strict.end(r)
	}
	r.giveBack()
	for _, f := range r.def.followers {
		f.Release()
	}
	return nil
}

// reach notes what a run has reached, if asked to.
func (r *run) reach(d coverage.Domain, text string) {
	if r.reached == nil {
		return
	}
	f := coverage.New(d, text)
	r.reached[f.ID] = f
}
