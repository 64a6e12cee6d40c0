// Package enginetest is a small engine for tests of everything above the waist. Its worlds are a model of a
// key-value store and its clients, a few hundred events long, and as deterministic as the tape. How a world
// misbehaves is said by the variable FAKE in the environment of any node, so that it travels in the Spec.
package enginetest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Modes that FAKE may name; several are separated by commas, and a mode may have an argument after a colon.
const (
	// LostWrite forgets an acknowledged put that reaches the first server while a partition cuts it off.
	LostWrite = "lost-write"
	// Meeting forgets an acknowledged put while faults of all kinds in the Spec are under way.
	Meeting = "meeting"
	// Broken forgets every second acknowledged put, with faults or without.
	Broken = "broken"
	// Chance gives one event another result each time a world runs.
	Chance = "chance"
	// ReadsCode has the first server crash unless the engine contrasts the run with another (see engine.Options).
	ReadsCode = "reads-code"
	// Die ends the process on every second tape.
	Die = "die"
	// DieOnce ends the process if the file that its argument names does not exist yet, and makes it.
	DieOnce = "die-once"
	// Break makes the engine itself panic on every second tape, or, with an argument, on all.
	Break = "break"
	// Hang never comes back on every second tape, not even when interrupted.
	Hang = "hang"
	// Slow waits to be interrupted, or, with an argument, for so many milliseconds of real time.
	Slow = "slow"
	// BootError refuses to boot.
	BootError = "boot-error"
	// Panic lets the first server end with a report of a panic.
	Panic = "panic"
	// Says lets the first server write the line that its argument is, and crash with it.
	Says = "says"
	// Opens reads the file that its argument names.
	Opens = "opens"
	// Appends has a process that has made as many worlds as its argument says change the file that Opens names.
	Appends = "appends"
	// Refuse lets the first server make a call that the engine refuses, and says that the run cannot repeat.
	Refuse = "refuse"
	// Leave lets the first server end for a call that was refused, unless the world is for the engine vm.
	Leave = "leave"
	// Forgets synchronises each put of the first server, which starts again after a crash with an empty store if the put was the first of every
	// three. Its argument, anew, makes it do so only where the crash comes while it starts again.
	Forgets = "forgets"
	// Opaque shows nothing of a stopped world.
	Opaque = "opaque"
)

const (
	callNs         = 1_000_000 // virtual time of an event
	defaultOps     = 60
	defaultClients = 2
	keys           = 3 // the fewer keys, the sooner a lost write is read
)

// Engine boots fake worlds.
type Engine struct{}

// New returns the fake engine.
func New() engine.Engine { return Engine{} }

// chance is the one thing in this package that does not come from the tape.
var chance atomic.Uint64

// worlds counts those that Appends has seen.
var worlds atomic.Uint64

// Boot starts a fake world.
func (Engine) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	plan, err := fault.New(spec)
	if err != nil {
		return nil, err
	}
	w := &fake{spec: spec, opts: o, src: tape.NewSource(t), plan: plan, store: map[string]string{}, turns: map[string]int{}, client: "client", load: "load"}
	w.src.Ready() // it has no setup
	w.src.Watch(o.Draws)
	w.src.Clock(func() int64 { return w.now })
	w.out = record.Outcome{Tape: t, Repeat: record.Repeat{Reproducible: true}, Machine: "fake"}
	if path, on := w.mode(Opens); on {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		w.out.Files = map[string]string{path: hex.EncodeToString(sum[:])}
		if after, on := w.mode(Appends); on && strconv.FormatUint(worlds.Add(1), 10) == after {
			if err := os.WriteFile(path, append(text, '+'), 0o666); err != nil {
				return nil, err
			}
		}
	}
	w.ops, w.clients = defaultOps, defaultClients
	if len(spec.Workloads) > 0 {
		l := spec.Workloads[0]
		w.client, w.load = l.Node, cmp.Or(l.Name, w.load)
		w.clients = max(l.Clients, 1)
		if l.Operations > 0 {
			w.ops = l.Operations
		}
	}
	w.server = "server"
	if len(plan.Servers) > 0 {
		w.server = plan.Servers[0]
	}
	odd := w.src.Choose("fake/odd", 2) == 1
	if _, on := w.mode(BootError); on {
		return nil, errors.New("this machine has no fake worlds; ask the tests for one")
	}
	if _, on := w.mode(Die); on && odd {
		os.Exit(97)
	}
	if path, on := w.mode(DieOnce); on {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			os.Exit(98)
		}
	}
	if always, on := w.mode(Break); on && (odd || always != "") {
		panic("the fake engine is broken")
	}
	if _, on := w.mode(Hang); on && odd {
		select {}
	}
	if arg, on := w.mode(Slow); on {
		var over <-chan time.Time
		if ms, err := strconv.Atoi(arg); err == nil {
			over = time.After(time.Duration(ms) * time.Millisecond)
		}
		select {
		case <-over:
		case <-o.Interrupt:
		}
	}
	return w, nil
}

type fake struct {
	spec    *world.Spec
	opts    engine.Options
	src     *tape.Source
	plan    *fault.Plan
	out     record.Outcome
	hash    uint64
	now     int64
	steps   int64
	server  string
	client  string
	load    string // the workload's name, and so the first part of its clients'
	clients int
	ops     int
	done    int
	over    bool
	turns   map[string]int // operations of each client so far, also those left out
	synced  int            // puts, with Forgets
	store   map[string]string
}

func (w *fake) mode(name string) (argument string, on bool) {
	for _, n := range w.spec.Nodes {
		for _, env := range n.Env {
			list, ok := strings.CutPrefix(env, "FAKE=")
			if !ok {
				continue
			}
			for _, m := range strings.Split(list, ",") {
				head, arg, _ := strings.Cut(m, ":")
				if head == name {
					return arg, true
				}
			}
		}
	}
	return "", false
}

func (w *fake) event(node, call string, result int64, detail string) uint64 {
	w.now += callNs
	w.out.Events++
	e := record.Event{Number: w.out.Events, TimeNs: w.now, Node: node, Call: call, Result: result, Detail: detail}
	if node != "" {
		e.Thread = node + "/0"
	}
	w.hash = xxhash.Sum64String(fmt.Sprint(w.hash, e.Number, e.TimeNs, e.Node, e.Call, e.Result, e.Detail))
	if w.opts.Observe != nil {
		w.opts.Observe(&e)
	}
	if w.opts.Progress != nil {
		w.opts.Progress(e.Number, e.TimeNs)
	}
	return e.Number
}

func (w *fake) log(node, text string) {
	l := record.LogLine{Position: record.PositionAt(w.out.Events), TimeNs: w.now, Node: node, Stream: "stdout", Text: text}
	w.out.Log = append(w.out.Log, l)
	if w.opts.Log != nil {
		w.opts.Log(l)
	}
}

// faults performs the plan up to now: a time step may lie between two events.
func (w *fake) faults() {
	step := w.spec.TimeStepNs
	if step == 0 {
		step = 10 * callNs
	}
	for (w.steps+1)*step <= w.now {
		w.steps++
		for _, a := range w.plan.Ended(w.now) {
			w.event("", "end "+string(a.Kind), int64(a.ID), a.Target)
			w.startAgain(&a)
		}
		for _, a := range w.plan.Step(w.src, &fault.Moment{NowNs: w.steps * step}) {
			n := w.event("", string(a.Kind), int64(a.ID), a.Target)
			w.plan.Ledger.Begun(&a, n)
			w.plan.Ledger.Delivered(&a)
			w.log(w.server, "lost contact: "+a.Target)
		}
	}
}

// allKindsActive reports whether faults of all kinds are under way. What was under way together is what a run reaches.
func (w *fake) allKindsActive() bool {
	var kinds []string
	for _, a := range w.plan.Active {
		kinds = append(kinds, string(a.Kind))
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	if w.opts.Behaviour && len(kinds) > 0 {
		w.out.Reached = append(w.out.Reached, coverage.New(coverage.Fault, strings.Join(kinds, " and ")))
	}
	return len(kinds) > 0 && len(kinds) == len(w.plan.Ledger.Entries)
}

func (w *fake) cut() int {
	for _, s := range w.plan.Servers {
		if id := w.plan.Blocked(w.server, s); id != 0 {
			return id
		}
	}
	return 0
}

func (w *fake) operation() {
	c := fmt.Sprintf("%s/%d", w.load, w.src.Choose("load/client", uint64(w.clients)))
	key := fmt.Sprintf("k%d", w.src.Choose("load/key", keys))
	write := w.src.Choose("load/kind", 2) == 1
	turn := w.turns[c]
	w.turns[c]++
	if len(w.spec.Workloads) > 0 && w.spec.Workloads[0].Skips(c, turn) {
		w.done++
		w.now += 4 * callNs // the time that the operation would have taken
		return
	}
	h := history.Event{Client: c, Op: "get", Key: key, Type: history.Invoke, Node: w.server}
	if write {
		h.Op, h.Input = "put", fmt.Sprintf("v%d", w.done)
	}
	record := func() {
		h.TimeNs = w.now
		w.out.History = append(w.out.History, h)
	}
	h.Number = w.event(w.client, "sendto", 32, w.server)
	if w.opts.Capture != nil {
		w.opts.Capture(&engine.Packet{TimeNs: w.now, Event: w.out.Events, Sent: true, Protocol: 17,
			Src: netip.MustParseAddrPort("10.0.0.2:4000"), Dst: netip.MustParseAddrPort("10.0.0.1:80"), Data: []byte(h.Op)})
	}
	record()
	w.event(w.server, "recvfrom", 32, w.client)
	if write {
		n := w.event(w.server, "pwrite64", 16, "/data/log")
		id := w.cut()
		if id != 0 {
			w.plan.Ledger.Observed(id, n)
		}
		before := w.store[key]
		_, fragile := w.mode(LostWrite)
		_, broken := w.mode(Broken)
		_, meeting := w.mode(Meeting)
		if !(fragile && id != 0 || broken && w.done%2 == 0 || meeting && w.allKindsActive()) {
			w.store[key] = h.Input
		}
		w.log(w.server, "stored "+key+"="+h.Input)
		if w.syncs() {
			if w.store[key] == h.Input {
				w.store[key] = before
			}
			h.Type = history.Fail
			h.Number = w.event(w.client, "recvfrom", -1, w.server)
			record()
			w.done++
			return
		}
	} else {
		h.Output, h.Found = w.store[key], w.store[key] != ""
	}
	result := int64(24)
	if _, on := w.mode(Chance); on && w.done == 5 {
		result += int64(os.Getpid())<<16 + int64(chance.Add(1))
	}
	w.event(w.server, "sendto", result, w.client)
	h.Type = history.Ok
	h.Number = w.event(w.client, "recvfrom", result, w.server)
	record()
	w.done++
}

// syncs synchronises what was put, if the mode asks for it, and reports whether a fault has struck the server.
func (w *fake) syncs() bool {
	if _, on := w.mode(Forgets); !on {
		return false
	}
	w.synced++
	w.now += 400 * callNs // it is slow, so that there is time to start again
	return w.fsync(moments.Chaos, w.synced%3 == 1)
}

// fsync is a call at which faults can strike. The server loses its store to one, if it is weak there.
func (w *fake) fsync(phase moments.Phase, weak bool) (struck bool) {
	const call, file = "fsync", "/data/log"
	m := &fault.Moment{NowNs: w.now, Event: w.out.Events}
	id, _, _ := w.plan.Wait(w.src, m, w.server, call, file)
	n := w.event(w.server, call, 0, file)
	if w.opts.Moments {
		if w.out.Moments == nil {
			w.out.Moments = &moments.Record{}
		}
		w.out.Moments.Add(&moments.Moment{Class: moments.Class{Node: w.server, Program: "fake", Act: moments.Sync, Call: call, File: file, Phase: phase},
			Path: file, Event: n, TimeNs: w.now, InChaos: true})
	}
	m.NowNs, m.Event = w.now, n
	actions := w.plan.Return(w.src, m, w.server, call, file)
	if id != 0 {
		actions = append(w.plan.Strike(m, id), actions...)
	}
	only, _ := w.mode(Forgets)
	for _, a := range actions {
		n := w.event("", string(a.Kind), int64(a.ID), a.Target)
		w.plan.Ledger.Begun(&a, n)
		w.plan.Ledger.Delivered(&a)
		if weak && (only == "" || phase == moments.Recovery) {
			w.store = map[string]string{}
		}
	}
	return len(actions) > 0
}

// startAgain performs the server's recovery after a crash.
func (w *fake) startAgain(a *fault.Action) {
	if _, on := w.mode(Forgets); on && a.Node == w.server {
		w.fsync(moments.Recovery, true)
	}
}

func (w *fake) Advance(until engine.Until) (record.Reason, error) {
	if until.Within > 0 {
		return "", engine.ErrUnsupported
	}
	if w.over {
		return record.Finished, nil
	}
	if w.done == 0 {
		w.plan.BeginChaos(w.src, w.now)
	}
	for w.done < w.ops {
		switch {
		case until.Event > 0 && w.out.Events >= until.Event, until.TimeNs > 0 && w.now >= until.TimeNs:
			return record.ReachedUntil, nil
		case w.spec.MaxTimeNs > 0 && w.now >= w.spec.MaxTimeNs:
			return record.MaxTime, nil
		case w.spec.Limits.Events > 0 && w.out.Events >= w.spec.Limits.Events:
			w.out.Detail = "events"
			return record.Limit, nil
		}
		select {
		case <-w.opts.Interrupt:
			return record.Stopped, nil
		default:
		}
		w.operation()
		w.faults()
		if _, on := w.mode(Panic); on && w.done == 10 {
			w.log(w.server, "panic: index out of range [7]")
			w.out.Crashes = append(w.out.Crashes, record.Crash{Position: record.PositionAt(w.out.Events), TimeNs: w.now, Node: w.server,
				Program: "/bin/fake", PID: 1, ExitCode: 2, Kind: "panic", Lines: []string{"panic: index out of range [7]"}})
		}
		if _, on := w.mode(Leave); on && w.done == 10 && w.spec.Engine != world.VM {
			w.log(w.server, "io_uring: Function not implemented")
			w.out.Crashes = append(w.out.Crashes, record.Crash{Position: record.PositionAt(w.out.Events), TimeNs: w.now, Node: w.server,
				Program: "/bin/fake", PID: 1, ExitCode: 1, Kind: "exit", Refusal: &record.Refusal{Call: "io_uring_setup", Errno: "ENOSYS",
					Node: w.server, Program: "/bin/fake", PID: 1, Thread: w.server + "/0", Event: w.out.Events, TimeNs: w.now}})
		}
		if _, on := w.mode(ReadsCode); on && w.done == 10 && !w.opts.Contrast {
			w.log(w.server, "panic: the code differs from its digest")
			w.out.Crashes = append(w.out.Crashes, record.Crash{Position: record.PositionAt(w.out.Events), TimeNs: w.now, Node: w.server,
				Program: "/bin/fake", PID: 1, ExitCode: 2, Kind: "panic", Lines: []string{"panic: the code differs from its digest"}})
		}
		if text, on := w.mode(Says); on && w.done == 10 {
			w.log(w.server, text)
			w.out.Crashes = append(w.out.Crashes, record.Crash{Position: record.PositionAt(w.out.Events), TimeNs: w.now, Node: w.server,
				Program: text, PID: 1, ExitCode: 2, Kind: "panic", Lines: []string{text}})
		}
		if _, on := w.mode(Refuse); on && w.done == 10 {
			w.out.Refused = []record.Unsupported{{Node: w.server, Program: "/bin/fake", Call: "io_uring_setup", Errno: "ENOSYS", Count: 1}}
			w.out.Repeat = record.Repeat{Reason: "a fake leak of chance"}
		}
	}
	for _, a := range w.plan.Heal(w.now) {
		w.event("", "end "+string(a.Kind), int64(a.ID), a.Target)
	}
	w.over = true
	w.out.Heals = append(w.out.Heals, w.now)
	for _, l := range w.spec.Workloads {
		w.out.Drivers = append(w.out.Drivers, record.DriverEnd{Workload: l.Name, TimeNs: w.now})
	}
	return record.Finished, nil
}

func (w *fake) Fork(*world.Spec, tape.Tape, engine.Options) (engine.World, error) {
	return nil, engine.ErrUnsupported
}
func (w *fake) Follows(tape.Tape) bool { return false }

func (w *fake) Moment() (event uint64, timeNs int64) { return w.out.Events, w.now }

func (w *fake) Outcome() *record.Outcome {
	o := w.out
	o.Hash = fmt.Sprintf("%016x", w.hash)
	o.VirtualNs = w.now
	o.Reached = coverage.Sort(slices.Clone(o.Reached))
	o.Decisions, o.DecisionsNs = w.src.Decisions(), w.src.Times()
	o.Draws, o.DrawsLost = w.src.Draws(), w.src.DrawsLost()
	o.Ledger = w.plan.Ledger
	o.LogCounts = map[string]uint64{}
	for _, p := range w.spec.LogPatterns {
		o.LogCounts[p.Name] = 0
		for _, l := range w.out.Log {
			if strings.Contains(l.Text, p.Pattern) {
				o.LogCounts[p.Name]++
			}
		}
	}
	return &o
}

func (w *fake) Close() error { return nil }
