package container

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// World is one run. A loop takes in, one after the other, what goroutines have seen happen, and has the director act.
type World struct {
	ctx         context.Context
	cancel      context.CancelFunc
	spec        *world.Spec
	options     engine.Options
	client      *docker.Client
	run         string // its name in the daemon
	dir         string // on this machine
	keeperImage string
	libraries   []docker.Mount // that this program needs
	nodes       []*node
	report      *os.File // all drivers append to it
	read        reading
	interrupted atomic.Bool
	started     time.Time
	began       time.Time

	happened chan func() error
	closing  chan struct{}
	closed   bool

	// What the loop knows.
	tape     *tape.Source
	director *director.Director
	outcome  record.Outcome
	events   uint64
	last     int64 // time of the last event
	sum      [sha256.Size]byte
	procs    map[int64]*proc
	lastProc int64
	rates    map[string]rated
	resets   int64 // connections that the fault that is being injected has ended
	failure  error
}

func (w *World) now() int64 { return time.Since(w.began).Nanoseconds() }

func (w *World) named(name string) *node {
	for _, n := range w.nodes {
		if n.spec.Name == name {
			return n
		}
	}
	return nil
}

// notice hands something that happens now to the loop, which calls what with its time.
func (w *World) notice(what func(at int64, text string) error, text string) {
	at := w.now()
	select {
	case w.happened <- func() error { return what(at, text) }:
	case <-w.closing:
	}
}

// monotonicTime returns the time of an event, but never a time before that of an earlier call.
func (w *World) monotonicTime(timeNs int64) int64 {
	w.last = max(w.last, timeNs)
	return w.last
}

// event makes an event of the trace.
func (w *World) event(timeNs int64, node, call string, result int64, detail string) uint64 {
	w.events++
	e := record.Event{Number: w.events, TimeNs: w.monotonicTime(timeNs), Node: node, Call: call, Result: result, Detail: detail}
	w.sum = sha256.Sum256(fmt.Appendf(w.sum[:], "%d %d %q %q %d %q", e.Number, e.TimeNs, node, call, result, detail))
	if w.options.Observe != nil {
		w.options.Observe(&e)
	}
	if w.options.Progress != nil {
		w.options.Progress(e.Number, e.TimeNs)
	}
	return w.events
}

// Pauses of the loop: how long it waits at most before it looks whether the run is over, and how often reports are read.
const (
	lookEvery   = 50 * time.Millisecond
	reportEvery = time.Millisecond
)

// Advance runs the world, in real time.
func (w *World) Advance(until engine.Until) (record.Reason, error) {
	if until.Within > 0 {
		return "", engine.ErrUnsupported
	}
	if w.outcome.Reason != "" {
		return w.outcome.Reason, nil
	}
	reason, err := w.advance(until)
	if reason.Ends() && err == nil {
		w.outcome.Reason = reason
	}
	return reason, err
}

func (w *World) advance(until engine.Until) (record.Reason, error) {
	d := w.director
	if d.Hold = until.Ready; d.Held && !d.Hold {
		if err := d.Release(); err != nil {
			return "", err
		}
	}
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		if some, err := w.deliver(); err != nil {
			return "", err
		} else if some || d.Due <= w.now() {
			if err := d.Direct(); err != nil {
				return "", err
			}
		}
		if w.failure != nil {
			return "", w.failure
		}
		if d.Held {
			return record.Ready, nil
		}
		if reason := w.over(until); reason != "" {
			return reason, nil
		}
		wait.Reset(min(time.Duration(max(d.Due-w.now(), 0)), lookEvery))
		select {
		case act := <-w.happened:
			if err := act(); err != nil {
				return "", err
			}
			if err := d.Direct(); err != nil {
				return "", err
			}
		case <-wait.C:
		}
	}
}

// deliver takes in what has happened so far.
func (w *World) deliver() (some bool, err error) {
	for {
		select {
		case act := <-w.happened:
			some = true
			if err := act(); err != nil {
				return true, err
			}
		default:
			return some, nil
		}
	}
}

// over reports why the loop ends here; nothing if it does not.
func (w *World) over(until engine.Until) record.Reason {
	if reason := w.director.Over(until, w.events, w.now(), 0); reason != "" {
		return reason
	}
	switch {
	case w.spec.Limits.WallMs > 0 && time.Since(w.started) > time.Duration(w.spec.Limits.WallMs)*time.Millisecond:
		w.outcome.Detail = fmt.Sprintf("the limit of %d ms of real time", w.spec.Limits.WallMs)
		return record.Limit
	case w.interrupted.Load():
		w.outcome.Detail = "interrupted"
		return record.Stopped
	}
	return ""
}

// logged takes in a line of output.
func (w *World) logged(p *proc, stream, text string) {
	w.notice(func(at int64, text string) error {
		w.events++
		w.director.Log(record.LogLine{Position: record.PositionAt(w.events), TimeNs: w.monotonicTime(at), Node: p.node.spec.Name,
			Stream: stream, Text: text}, p.tag)
		return nil
	}, text)
}

// ended takes in the end of a program.
func (w *World) ended(p *proc, at int64, status int) error {
	n := p.node
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	if n.proc == p {
		n.proc = nil
		if s := &n.stopping; s.ID != 0 && status&0x7f == 0 {
			s.Taken = w.events
		}
	}
	event := w.event(at, n.spec.Name, "exit", int64(status), p.program)
	delete(w.procs, p.id)
	return w.director.Exited(&director.Notice{Event: event, TimeNs: w.last, Node: n.id, Proc: p.id, Program: p.program,
		Tag: p.tag, Status: status, ByFault: p.byFault})
}

func (w *World) answered(p *proc, at int64, text string) error {
	w.events++
	return w.director.Answered(&director.Notice{Event: w.events, TimeNs: w.monotonicTime(at), Node: p.node.id, Proc: p.id, Tag: p.tag, Text: []byte(text)})
}

// told takes in a line of an SDK, and asked a request of a program.
func (n *node) told(at int64, text string) error {
	n.events++
	n.director.Told(&director.Notice{Event: n.events, TimeNs: n.monotonicTime(at), Node: n.id, Program: n.program(), Text: []byte(text)})
	return nil
}

func (n *node) asked(at int64, text string) error {
	n.events++
	n.director.Asked(&director.Notice{Event: n.events, TimeNs: n.monotonicTime(at), Node: n.id, Tag: n.driver(), Text: []byte(text)})
	return nil
}

// program names what runs on a node.
func (n *node) program() string {
	if len(n.spec.Command) > 0 {
		return n.spec.Command[0]
	}
	return n.spec.Name
}

// driver is the tag of a driver that runs on the node, 0 if none does.
func (n *node) driver() (tag int64) {
	for _, p := range n.procs {
		if p.node == n && p.kind == director.JobDriver {
			tag = max(tag, p.tag)
		}
	}
	return tag
}

// openReport makes the file that all drivers append their records to: appends are atomic, so its order is the order in which they wrote.
func (w *World) openReport() (err error) {
	name := filepath.Join(w.dir, "report")
	if w.report, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666); err != nil {
		return err
	}
	if err := os.Chmod(name, 0o666); err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-w.closing:
				return
			case <-tick.C:
				w.readReport()
			}
		}
	}()
	return nil
}

// reading is how far the reports of drivers were read.
type reading struct {
	sync.Mutex
	offset int64
	rest   []byte // a record without an end
	since  time.Time
	part   bool // that was reported
}

// partTime is after how long a record that does not end was written in parts: by a driver that buffers its output.
const partTime = 200 * time.Millisecond

// readReport takes in what drivers have written.
func (w *World) readReport() {
	r := &w.read
	r.Lock()
	defer r.Unlock()
	b := make([]byte, 64<<10)
	for {
		n, err := w.report.ReadAt(b, r.offset)
		if n > 0 {
			r.offset, r.rest, r.since = r.offset+int64(n), append(r.rest, b[:n]...), time.Now()
		}
		if err != nil {
			break
		}
	}
	for {
		i := bytes.IndexByte(r.rest, '\n')
		if i < 0 {
			break
		}
		w.notice(w.reported, string(r.rest[:i+1]))
		r.rest = r.rest[i+1:]
	}
	if len(r.rest) > 0 && !r.part && time.Since(r.since) > partTime {
		r.part = true
		w.notice(w.unfinished, "")
	}
}

func (w *World) reported(at int64, text string) error {
	w.events++
	node, tag := w.reporter(text)
	w.director.Reported(&director.Notice{Event: w.events, TimeNs: w.monotonicTime(at), Node: node, Tag: tag, Text: []byte(text)})
	return nil
}

func (w *World) unfinished(int64, string) error {
	w.director.Warn("a driver wrote only part of a record. It buffers its output, so its history does not show " +
		"when operations began and ended; make it write each record at once")
	return nil
}

// Moment is the position of the world in its run.
func (w *World) Moment() (event uint64, timeNs int64) { return w.events, w.now() }

// Fork implements engine.World: containers cannot be copied.
func (w *World) Fork(*world.Spec, tape.Tape, engine.Options) (engine.World, error) {
	return nil, engine.ErrUnsupported
}

// Follows implements engine.World.
func (w *World) Follows(tape.Tape) bool { return false }

// Inspect implements engine.World.
func (w *World) Inspect() (engine.Inspection, error) { return nil, engine.ErrUnsupported }

// once says why no run of this engine repeats.
const once = "a run of containers happens once, in real time"

// Outcome reports what happened so far.
func (w *World) Outcome() *record.Outcome {
	o := &w.outcome
	w.director.Sum(w.tape)
	o.Hash = hex.EncodeToString(w.sum[:16])
	o.Repeat = record.Repeat{Reason: once, Once: true}
	o.Events, o.VirtualNs, o.WallNs = w.events, w.now(), time.Since(w.started).Nanoseconds()
	o.Machine = "containers of the daemon at " + w.client.Socket
	return o
}
