//go:build linux && amd64

package native

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// World is one run of the native engine.
type World struct {
	// What does not change while the world runs.
	spec        *world.Spec
	options     engine.Options
	shared      sharing
	memoryBytes int64 // what the world may take of the machine's memory
	stateBytes  int64 // what was allocated for the state of a copy
	started     time.Time

	// What State copies: the parts with a state of their own, and what the world records itself.
	tape     *tape.Source
	kernel   *kernel.Kernel
	director *director.Director
	recorded

	debugger  *debugger                    // nil where none stops threads
	stackCode map[kernel.NodeID]dump.Files // that stacks have led through; a world has it with its copies

	// What is real, or ends the run.
	real    *host.Checkpoint
	failure error         // of a fault that was injected in the middle of a call
	broken  error         // the panic that ended it, an *engine.Broken
	halted  record.Reason // why the run has to end now, found in the middle of a call
	closed  bool
}

// Advance runs the world.
func (w *World) Advance(until engine.Until) (reason record.Reason, err error) {
	if until.Within > 0 {
		return "", engine.ErrUnsupported
	}
	broken := w.do(func() {
		over := w.outcome.Reason != ""
		if reason, err = w.advance(until); err == nil && !over && reason.Ends() {
			linux.EndLines(w.kernel)
			err = w.notice()
		}
	})
	if broken != nil {
		return "", broken
	}
	if reason.Ends() {
		w.outcome.Reason = reason
	}
	switch {
	case err != nil && w.real.Lack.Err != nil:
		err = w.real.Lack.Err
	case err != nil:
		err = host.Explain(err)
	}
	return reason, err
}

func (w *World) advance(until engine.Until) (record.Reason, error) {
	k, d := w.kernel, w.director
	if w.outcome.Reason != "" {
		return w.outcome.Reason, nil
	}
	if d.Hold = until.Ready; d.Held && !d.Hold {
		if err := d.Release(); err != nil {
			return "", err
		}
		if w.heldAt == whenIdle {
			k.Step(true)
		}
	}
	released := w.heldAt == whenDue
	w.heldAt = notHeld
	within := k.Held != 0 // a debugger has stopped a thread there
	for ; ; released = false {
		switch {
		case within:
			within = false
			k.Step(false)
			continue
		case k.Held != 0 || w.debugger.stopped():
			return record.Halted, nil
		}
		if !released && len(k.Notices) > 0 {
			if err := w.notice(); err != nil {
				return "", err
			}
			if err := w.director.Direct(); err != nil { // an end may be what a phase waited for
				return "", err
			}
			if d.Held {
				return record.Ready, nil
			}
		}
		if due, ok := linux.NextDue(k); !released && ok && due <= k.Now {
			linux.Fire(k)
		}
		if !released && d.Due <= k.Now {
			if err := w.director.Direct(); err != nil {
				return "", err
			}
			if d.Held {
				w.heldAt = whenDue
				return record.Ready, nil
			}
		}
		if reason, err := w.over(until); reason != "" || err != nil {
			if reason == record.ReachedUntil {
				w.heldAt = whenDue // the director has had this turn: what it does is due once
			}
			return reason, err
		}
		if k.Step(false) == kernel.Ran {
			k.IdleTurns = 0
			continue
		}
		// No thread can run, or only threads that yield and poll. These may be at work together, which shows in their memory
		// alone: they get some turns, and then time passes, in steps that grow.
		spins := k.Spins()
		if spins {
			if k.IdleTurns++; k.IdleTurns <= patientTurns {
				k.Step(true)
				continue
			}
		}
		due, ok := linux.NextDue(k)
		if !ok {
			due = director.Never
		}
		due = min(due, d.Due)
		if spins && due != director.Never {
			due = min(due, k.Now+spinStepNs<<min(k.IdleTurns-patientTurns, 30))
		}
		if due != director.Never {
			k.Now = max(k.Now, min(due, w.spec.MaxTimeNs))
			if k.Now >= w.spec.MaxTimeNs {
				continue
			}
			linux.Fire(k)
			if d.Due <= k.Now {
				if err := w.director.Direct(); err != nil {
					return "", err
				}
				if d.Held {
					w.heldAt = whenIdle
					return record.Ready, nil
				}
			}
			k.Step(true)
			continue
		}
		if k.Step(true) == kernel.Idle {
			w.outcome.Detail = k.Blocked()
			if unready := d.Unready(); unready != "" {
				w.outcome.Detail = unready + "; " + w.outcome.Detail
			}
			return record.Deadlock, nil
		}
	}
}

// over reports why the loop ends here; nothing if it does not.
func (w *World) over(until engine.Until) (record.Reason, error) {
	k, d := w.kernel, w.director
	switch {
	case w.failure != nil:
		return "", w.failure
	case w.real.Lack.Err != nil:
		return "", w.real.Lack.Err
	case w.halted != "":
		return w.halted, nil
	}
	if reason := d.Over(until, k.Events, k.Now, cmp.Or(w.spec.Limits.Events, director.DefaultEvents)); reason != "" {
		return reason, nil
	}
	if k.Exceeded() != "" {
		w.outcome.Detail = k.Exceeded()
		return record.Limit, nil
	}
	if w.real.Machine.Due() || k.Slow() {
		if reason := w.outside(); reason != "" {
			return reason, nil
		}
	}
	return "", nil
}

// heldAt is where in a turn of the loop the director held, or the world has reached its Until, which is where the turn goes on.
type heldAt uint8

const (
	notHeld heldAt = iota // or as notices were taken in: a new turn does the rest
	whenDue
	whenIdle
)

// Threads that only yield and poll: how many turns they get before time passes, and the first step of time.
const (
	patientTurns = 100
	spinStepNs   = 1000
)

// halts looks at what lies outside the world in the midst of a call. If it is to end, it ends after that call.
func (w *World) halts() bool {
	if w.halted == "" {
		w.halted = w.outside()
	}
	return w.halted != ""
}

// outside looks at the real clock and at an interrupt: neither has any effect on a run that continues.
func (w *World) outside() record.Reason {
	select {
	case <-w.options.Interrupt:
		w.outcome.Detail = "interrupted"
		return record.Stopped
	default:
	}
	if ms := w.spec.Limits.WallMs; ms > 0 && time.Since(w.started) > time.Duration(ms)*time.Millisecond {
		w.outcome.Detail = fmt.Sprintf("the limit of %d ms of real time", ms)
		w.kernel.MarkUnrepeatable("ended by the limit of real time")
		return record.Limit
	}
	if w.options.Progress != nil {
		w.options.Progress(w.kernel.Events, w.kernel.Now)
	}
	w.real.Machine.Tidy()
	held := w.real.Machine.Held(false)
	w.outcome.MemoryBytes = max(w.outcome.MemoryBytes, held)
	if limit := w.memoryBytes; held > limit && w.real.Machine.Held(true) > limit {
		w.outcome.Detail = fmt.Sprintf("the limit of %d MB of the machine's memory that the world may take (simulation.limits.world_memory_bytes)", limit>>20)
		w.kernel.MarkUnrepeatable("ended by the limit of the world's memory, which depends on the machine")
		return record.Limit
	}
	return ""
}

// overdue records in the ledger which faults a thread of a program under test has seen.
func (w *World) overdue(k *kernel.Kernel, t *kernel.Thread, sock net.SockID) {
	since := k.Now
	if t.Call.Again {
		since = t.WaitNs
	}
	refs := k.Net.Overdue(linux.NetEnv(k), sock, since)
	if k.Nodes[t.Node].Driver {
		for _, r := range refs {
			w.director.Feel(int(t.Node), r.Kind, r.ID)
		}
		return
	}
	for _, r := range refs {
		w.observed(r)
	}
}

func (w *World) observed(r net.FaultRef) {
	w.director.Observed(r.Kind, r.ID, r.Rule)
	if r.ID == 0 {
		w.suffered(r.Kind, true)
	}
}

// notice takes in what the last step has produced: log lines, reports of drivers, ends of processes.
func (w *World) notice() error {
	k := w.kernel
	notices := k.Notices
	k.Notices = nil
	for i := range notices {
		n := &notices[i]
		switch n.Kind {
		case kernel.Logged:
			l := record.LogLine{Position: record.PositionAt(n.Event), TimeNs: n.TimeNs, Node: k.Nodes[n.Node].Name, Stream: n.Stream, Text: string(n.Text)}
			if w.behaviour != nil && isOutput(&l) && !k.Nodes[n.Node].Driver {
				w.behaviour.said(n.Node, n.PID, n.TimeNs, l.Text)
			}
			w.director.Log(l, n.Tag)
		case kernel.Overflowed:
			w.director.Overflowed(noticeOf(n), maxCheckOutput)
		case kernel.Ineffective:
			w.director.Warn(fmt.Sprintf("%s on node %s wrote to %s, which shows the value but has no other "+
				"effect", n.Program, k.Nodes[n.Node].Name, n.Text))
		case kernel.Unreached:
			w.director.Warn(fmt.Sprintf("%s listens only on %s, so connections from other nodes were refused; "+
				"make it listen on all addresses (0.0.0.0 or ::)",
				k.Nodes[n.Node].Name, n.Text))
		case kernel.Reported:
			w.reported(noticeOf(n))
		case kernel.Told:
			w.director.Told(noticeOf(n))
		case kernel.Asked:
			w.director.Asked(noticeOf(n))
		case kernel.Wondered:
			linux.Answer(k, n.Tag, []byte(w.director.Mishap(noticeOf(n))))
		case kernel.Answered:
			if err := w.director.Answered(noticeOf(n)); err != nil {
				return err
			}
		case kernel.Exited:
			if err := w.director.Exited(noticeOf(n)); err != nil {
				return err
			}
		case kernel.Spun:
			w.director.Hung(noticeOf(n))
		case kernel.OutOfMemory:
			w.memoryLimit(n)
		case kernel.TornWrite:
			if err := w.director.InjectByID(int(n.Tag)); err != nil {
				return err
			}
		case kernel.PacketFault:
			l := &w.director.Plan.Ledger
			if n.Stream == "observed" {
				l.ObservedPacket(world.FaultKind(n.Program), int(n.Tag), n.Event)
				w.suffered(world.FaultKind(n.Program), false)
			} else {
				l.DeliveredPacket(world.FaultKind(n.Program), int(n.Tag))
			}
		}
	}
	return nil
}

// Moment is the position of the world in its run.
func (w *World) Moment() (event uint64, timeNs int64) { return w.kernel.Events, w.kernel.Now }

// Outcome reports what happened so far. Where that breaks the world it panics, as half an Outcome would look like a whole one.
func (w *World) Outcome() *record.Outcome {
	if w.broken != nil { // as Advance has reported
		return &w.outcome
	}
	if broken := w.do(w.collect); broken != nil {
		panic(broken)
	}
	return &w.outcome
}

func (w *World) collect() {
	o, k := &w.outcome, w.kernel
	if !w.closed {
		for _, id := range slices.Sorted(maps.Keys(k.Procs)) {
			k.CheckMade(k.Procs[id])
		}
	}
	trace, strict := k.Sums()
	w.director.Sum(w.tape)
	o.Hash, o.StrictHash = hex.EncodeToString(trace[:16]), hex.EncodeToString(strict[:16])
	o.Repeat = record.Repeat{Reproducible: k.Unsafe == "", Reason: k.Unsafe}
	o.Events, o.VirtualNs, o.WallNs = k.Events, k.Now, time.Since(w.started).Nanoseconds()
	o.Refused = nil
	for _, r := range k.Refused {
		o.Refused = append(o.Refused, record.Unsupported{Node: r.Node, Program: r.Program, Call: r.Call, Errno: r.Errno, Count: r.Count, LastNs: r.LastNs})
	}
	if w.options.Code != nil && !w.closed {
		o.Code = w.codeHits()
	}
	o.Switches = slices.Clone(k.Switches)
	o.DiskChanges = k.DiskChanges()
	o.Files = w.digests()
	o.Machine = host.Describe()
	if w.behaviour != nil {
		o.Reached = w.reached()
	}
}
