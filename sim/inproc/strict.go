package inproc

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/stray"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// strict watches a run for chance that is not the tape's.
type strict struct {
	steps   []step
	facts   map[string]fact
	loop    uint64          // the goroutine of the run
	stray   string          // the first call of a goroutine of the program's own
	changed string          // the first message that was changed on its way
	own     map[uint64]bool // the numbers of goroutines that run code of the world
	before  map[uint64]living
	left    []string // where goroutines were started that are still there
}

// step is an event, with the calls that led to it.
type step struct {
	timeNs int64
	call   call
	node   string
	thread string
	arg    int64
	result int64
	digest uint64
	clocks uint64
	detail string
	pcs    [12]uintptr
	depth  int
}

// maxSteps bounds the events that are compared.
const maxSteps = 200_000

func newStrict() *strict {
	s := &strict{loop: stray.Goroutine(), before: goroutines()}
	s.own = map[uint64]bool{s.loop: true}
	return s
}

// note keeps an event.
func (s *strict) note(r *run, c call, n *Node, p *Process, arg, result int64, digest, clocks uint64, detail string) {
	if len(s.steps) >= maxSteps {
		return
	}
	st := step{timeNs: r.now, call: c, arg: arg, result: result, digest: digest, clocks: clocks, detail: detail}
	if n != nil {
		st.node, st.thread = n.name, n.name
		if p != nil {
			st.thread = p.thread
		}
		if r.active == n {
			st.depth = runtime.Callers(3, st.pcs[:])
		}
	}
	s.steps = append(s.steps, st)
}

// enter looks at which goroutine calls into the world.
func (s *strict) enter(r *run, n *Node, p *Process, what string) {
	want := s.loop
	if p != nil {
		want = p.goid
	}
	if s.stray == "" && want != 0 && stray.Goroutine() != want {
		at := "at " + starter()
		if l := caller(); l.File != "" {
			at = "at " + l.String()
		}
		s.stray = fmt.Sprintf("a goroutine of the program's own calls %s on node %s %s; only a node's own functions call into the world", what, n.name, at)
		r.unrepeatable(s.stray)
	}
}

// received looks whether a message is what was sent.
func (s *strict) received(r *run, n *Node, m *Message) {
	if s.changed == "" && digestOf(m.Payload) != m.digest {
		s.changed = fmt.Sprintf("a message of type %v from %s to %s was changed after it was sent: its receiver sees other values. Send a copy",
			reflect.TypeOf(m.Payload), m.From, m.To)
		r.unrepeatable(s.changed)
	}
}

// end looks for goroutines that the run has left behind: those that its own goroutines started, and that these started. Others belong to other tests.
func (s *strict) end(r *run) {
	all := goroutines()
	for found := true; found; {
		found = false
		for id, g := range all {
			if _, old := s.before[id]; old || s.own[id] || !s.own[g.by] {
				continue
			}
			s.own[id], found = true, true
			if !g.coroutine {
				s.left = append(s.left, g.place)
			}
		}
	}
}

// living is a goroutine that has not ended.
type living struct {
	by        uint64 // the number of the goroutine that started it
	place     string // where
	coroutine bool
}

// goroutines returns the goroutines of this process, by number.
func goroutines() map[uint64]living {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	list := map[uint64]living{}
	for one := range strings.SplitSeq(string(b), "\n\n") {
		place := startedBy(one)
		if place == "" {
			continue
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(one, "goroutine "), " ")
		_, by, _ := strings.Cut(one[strings.LastIndex(one, "\ncreated by "):], " in goroutine ")
		by, _, _ = strings.Cut(by, "\n")
		g := living{place: place, coroutine: strings.HasSuffix(place, " in iter.Pull") || strings.Contains(place, " in iter.Pull[")}
		g.by, _ = strconv.ParseUint(by, 10, 64)
		if n, err := strconv.ParseUint(id, 10, 64); err == nil {
			list[n] = g
		}
	}
	return list
}

// startedBy is the place that has started a goroutine, of which the stack is given; empty of the first.
func startedBy(stack string) string {
	_, by, ok := strings.Cut(stack, "\ncreated by ")
	if !ok {
		return ""
	}
	function, rest, _ := strings.Cut(by, "\n")
	function, _, _ = strings.Cut(function, " in goroutine")
	where, _, _ := strings.Cut(strings.TrimSpace(rest), " +0x")
	return where + " in " + function
}

// starter is the go statement that has started this goroutine.
func starter() string {
	b := make([]byte, 64<<10)
	return startedBy(string(b[:runtime.Stack(b, false)]))
}

// behind reports goroutines that were left behind. If a Timeout started them, it suggests an alternative.
func behind(left []string) string {
	if slices.ContainsFunc(left, func(by string) bool { return strings.HasSuffix(by, " in net/http.setRequestCancel") }) {
		return "an http.Client has a Timeout, which counts real time in a goroutine of its own; leave it out, and set " +
			"Transport.Within instead (package sim/fake)"
	}
	return "a goroutine was left behind that was started at " + slices.Min(left)
}

const (
	ownPackage    = "github.com/bloodhound-dst/bloodhound/sim/inproc."
	standIns      = "github.com/bloodhound-dst/bloodhound/sim/inproc/sync"
	pointsPackage = "github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points."
)

// own distinguishes the functions of this package, and of the stand-ins for sync, from those of its users; its tests are users.
func own(function, file string) bool {
	ours := strings.HasPrefix(function, ownPackage) || strings.HasPrefix(function, standIns) || strings.HasPrefix(function, pointsPackage)
	return ours && !strings.HasSuffix(file, "_test.go")
}

// caller is the place of a user's call into this package.
func caller() sdk.Location {
	var pcs [16]uintptr
	return where(pcs[:runtime.Callers(2, pcs[:])])
}

// where is the first place of a stack that is not this package's own.
func where(pcs []uintptr) sdk.Location {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.File != "" && !own(f.Function, f.File) && !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, "iter.") &&
			!strings.HasPrefix(f.Function, "math/rand") {
			return sdk.Location{File: f.File, Line: f.Line, Function: f.Function[strings.LastIndexByte(f.Function, '/')+1:]}
		}
		if !more {
			return sdk.Location{}
		}
	}
}

func place(pcs []uintptr) string {
	l := where(pcs)
	if l.File == "" {
		return "the world's description"
	}
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}

// text is a step in words.
func (s *step) text() string {
	who := s.thread
	if who == "" {
		who = "the world"
	}
	text := fmt.Sprintf("%s: %s", who, callNames[s.call])
	if s.call == callSleep {
		text += " for " + time.Duration(s.arg).String()
	}
	if s.detail != "" {
		text += " " + s.detail
	}
	if s.digest != 0 {
		text += fmt.Sprintf(" (digest %08x)", uint32(s.digest))
	}
	if s.result != 0 {
		text += fmt.Sprintf(", result %d", s.result)
	}
	text += fmt.Sprintf(", at %d ns", s.timeNs)
	if s.clocks > 0 {
		text += fmt.Sprintf(", after %d looks at the clock", s.clocks)
	}
	if l := where(s.pcs[:s.depth]); l.File != "" {
		text += fmt.Sprintf(", called at %s:%d in %s", l.File, l.Line, l.Function)
	}
	return text
}

// shown prints two steps that differ, in words that also differ.
func shown(a, b *step) (first, second string) {
	first, second = a.text(), b.text()
	if first == second {
		numbers := func(s *step) string { return fmt.Sprintf(", argument %d, digest %016x", s.arg, s.digest) }
		return first + numbers(a), second + numbers(b)
	}
	return first, second
}

func (a *step) same(b *step) bool {
	return a.timeNs == b.timeNs && a.call == b.call && a.node == b.node && a.thread == b.thread && a.arg == b.arg &&
		a.result == b.result && a.digest == b.digest &&
		a.clocks == b.clocks && a.detail == b.detail
}

// Diverge implements inprocess.Engine.
func (e *worldEngine) Diverge(spec *world.Spec, t tape.Tape, runs int, o engine.Options) (*inprocess.Divergence, error) {
	var first *strict
	d := &inprocess.Divergence{}
	for ; d.Runs < max(runs, 2); d.Runs++ {
		s := newStrict()
		r, err := e.boot(spec, t, o, s)
		if err != nil {
			return nil, err
		}
		_, err = r.Advance(engine.Until{TimeNs: spec.EndNs})
		s.facts = r.facts()
		r.Close()
		if err != nil {
			return nil, err
		}
		select {
		case <-o.Interrupt:
			return nil, nil
		default:
		}
		switch {
		case d.Cause != "":
		case s.stray != "":
			d.Cause = s.stray
		case s.changed != "":
			d.Cause = s.changed
		case len(s.left) > 0:
			d.Cause, d.Left = behind(s.left), true
		}
		if first == nil {
			first = s
			continue
		}
		for i := range max(len(first.steps), len(s.steps)) {
			ended := step{detail: "has ended"}
			a, b := &ended, &ended
			if i < len(first.steps) {
				a = &first.steps[i]
			}
			if i < len(s.steps) {
				b = &s.steps[i]
			}
			if a != &ended && b != &ended && a.same(b) {
				continue
			}
			d.Event, d.Left = uint64(i)+1, false
			d.First, d.Second = shown(a, b)
			if i > 0 {
				d.Before = first.steps[i-1].text()
			}
			d.Runs++
			return d, nil
		}
		if part, one := parts(first.facts, s.facts); part != nil {
			d.Runs++
			d.Event, d.First, d.Second, d.Left = part.event, part.text, "nothing of it", false
			if !one {
				d.First, d.Second = d.Second, d.First
			}
			return d, nil
		}
	}
	if d.Cause != "" {
		return d, nil
	}
	return nil, nil
}
