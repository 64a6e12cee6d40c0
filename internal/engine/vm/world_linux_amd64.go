package vm

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// World is one run of the engine vm.
type World struct {
	spec    *world.Spec
	options engine.Options
	engine  *Engine
	started time.Time
	trees   []*tree

	tape     *tape.Source
	director *director.Director
	state

	recording *Recording // nil unless the run is recorded

	machine *machine  // nil where it has not begun to run
	from    *snapshot // where it begins then
	opened  []opened
	failure error // ends the run
	closed  bool
	hand    *hand // of a world that runs in real time
}

// state holds the state of a World without the director, the tape and the virtual machine. It is plain data, which a
// fork copies.
type state struct {
	NowNs   int64
	Events  uint64
	Sum     [sha256.Size]byte // of all events, each with the sum before it
	Out     record.Outcome
	Procs   []process // by number-1
	Nodes   []nodeState
	Links   map[[2]int]wire.Link
	Rates   map[[2]int]fault.Rates
	Cuts    map[int]world.FaultKind // faults of links, by number
	Notices []wire.Notice           // not yet given to the director
	Acts    []wire.Act              // not yet sent
	Seeded  bool                    // with what the tape has after the end of setup
	HeldAt  heldAt
	Jitter  jitter            // of the schedule
	Files   map[string]bool   // that were read
	Folders map[string]string // names in those that were listed, as record.Outcome has them
	Console int               // bytes of the guest's console that are part of Sum
	Kernel  string
}

// process is a program that was started.
type process struct {
	Node    int
	Tag     int64
	Name    string // in the trace
	Over    bool
	ByFault int
}

// nodeState holds this engine's state of a node, besides the director's.
type nodeState struct {
	DownBy   int // the fault that has ended its programs, until the main one runs again
	DownKind world.FaultKind
	Paused   int
	Stopping director.Stopping
	LeakBy   int
}

// heldAt is where a turn of the loop stopped.
type heldAt uint8

const (
	notHeld heldAt = iota
	whenDue        // the director has had this turn
)

// note keeps the name of a file that was read.
func (w *World) note(name string) {
	if w.Files == nil {
		w.Files = map[string]bool{}
	}
	w.Files[name] = true
}

// maxNamesBytes bounds the names of a folder that are kept; more than these are kept as a digest.
const maxNamesBytes = 4 << 10

// listed keeps the names of a folder of this machine that was listed.
func (w *World) listed(folder string, names []wire.Name) {
	var list []string
	for _, n := range names {
		list = append(list, n.Name)
	}
	text := strings.Join(list, "/")
	if len(text) > maxNamesBytes {
		sum := sha256.Sum256([]byte(text))
		text = "sha256:" + hex.EncodeToString(sum[:])
	}
	if w.Folders == nil {
		w.Folders = map[string]string{}
	}
	w.Folders[strings.TrimRight(folder, "/")+"/"] = text
}

// Advance runs the world.
func (w *World) Advance(until engine.Until) (record.Reason, error) {
	if until.Within > 0 {
		return "", engine.ErrUnsupported
	}
	reason, err := w.advance(until)
	if errors.Is(err, errInterrupted) {
		w.Out.Detail, reason, err = "interrupted", record.Stopped, nil
	}
	if err != nil {
		return "", err
	}
	if reason.Ends() {
		w.Out.Reason = reason
	}
	return reason, nil
}

func (w *World) advance(until engine.Until) (record.Reason, error) {
	if w.Out.Reason != "" {
		return w.Out.Reason, nil
	}
	if err := w.begun(); err != nil {
		return "", err
	}
	if err := w.wake(); err != nil {
		return "", err
	}
	d := w.director
	if d.Hold = until.Ready; d.Held && !d.Hold {
		if err := d.Release(); err != nil {
			return "", err
		}
	}
	released := w.HeldAt == whenDue
	w.HeldAt = notHeld
	for ; ; released = false {
		for !released && len(w.Notices) > 0 {
			n := w.Notices[0]
			w.Notices = w.Notices[1:]
			if err := w.notice(&n); err != nil {
				return "", err
			}
			if until.Event > 0 && w.Events >= until.Event {
				return record.ReachedUntil, nil
			}
			if len(w.Notices) == 0 {
				if err := d.Direct(); err != nil { // an end may be what a phase waited for
					return "", err
				}
				if d.Held {
					return record.Ready, nil
				}
			}
		}
		if !released && d.Due <= w.NowNs {
			if err := d.Direct(); err != nil {
				return "", err
			}
			if d.Held {
				w.HeldAt = whenDue
				return record.Ready, nil
			}
		}
		if reason, err := w.over(until); reason != "" || err != nil {
			if reason == record.ReachedUntil {
				w.HeldAt = whenDue
			}
			return reason, err
		}
		if len(w.Notices) > 0 && len(w.Acts) == 0 {
			continue
		}
		if !w.Seeded && d.Phase != director.PhaseSetup {
			w.reseed()
		}
		dueNs := min(d.Due, w.spec.MaxTimeNs, w.jitter())
		if w.hand != nil {
			if err := w.obey(); err != nil {
				return "", err
			}
			dueNs = min(d.Due, w.NowNs+handStepNs)
		}
		if _, err := w.exchange(dueNs); err != nil {
			return "", err
		}
	}
}

// reseed gives the guest random numbers of the tape.
func (w *World) reseed() {
	w.Seeded = w.director.Phase != director.PhaseSetup
	seed := make([]byte, 32)
	w.tape.Bytes("random", seed)
	w.Acts = append(w.Acts, wire.Act{Kind: wire.DoSeed, Bytes: seed})
}

// over reports why the loop ends here; nothing if it does not.
func (w *World) over(until engine.Until) (record.Reason, error) {
	if w.failure != nil {
		return "", w.failure
	}
	if reason := w.director.Over(until, w.Events, w.NowNs, cmp.Or(w.spec.Limits.Events, director.DefaultEvents)); reason != "" {
		return reason, nil
	}
	select {
	case <-w.options.Interrupt:
		return "", errInterrupted
	default:
	}
	if ms := w.spec.Limits.WallMs; ms > 0 && time.Since(w.started) > time.Duration(ms)*time.Millisecond {
		if !w.Out.Repeat.Once {
			w.Out.Repeat = record.Repeat{Reason: "ended by the limit of real time"}
		}
		w.Out.Detail = fmt.Sprintf("the limit of %d ms of real time", ms)
		return record.Limit, nil
	}
	return "", nil
}

// exchange sends what is to be done, lets the guest run until its next turn, and takes in what it reports.
func (w *World) exchange(dueNs int64) ([]wire.Result, error) {
	acts := w.Acts
	w.Acts = nil
	reply := wire.Encode(wire.Answer{Acts: acts, DueNs: dueNs})
	for {
		if w.recording != nil {
			w.recording.note(reply, w.Events, w.NowNs)
		}
		if err := w.machine.answer(reply); err != nil {
			return nil, w.ended(err)
		}
		kind, request, err := w.next()
		if err != nil {
			return nil, err
		}
		if kind == wire.Turn {
			return w.turn(request)
		}
		reply = w.serve(kind, request)
	}
}

// next waits for the guest to ask.
func (w *World) next() (kind int, request []byte, err error) {
	if kind, request, err = w.machine.next(w.options.Interrupt); err != nil {
		return 0, nil, w.ended(err)
	}
	if w.recording != nil {
		w.recording.asked(kind, request)
	}
	return kind, request, nil
}

func (w *World) turn(request []byte) ([]wire.Result, error) {
	var r wire.Request
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, fmt.Errorf("cannot read the virtual machine's request: %w", err)
	}
	w.NowNs = max(w.NowNs, r.NowNs)
	w.listen()
	w.Notices = append(w.Notices, r.Notices...)
	if r.Hello != nil {
		if r.Hello.Failed != "" {
			return nil, fmt.Errorf("the virtual machine's kernel %s is unsuitable: %s; use another: `bloodhound "+
				"image pull-kernel` downloads Debian's",
				r.Hello.Kernel, r.Hello.Failed)
		}
		w.Kernel = r.Hello.Kernel
	}
	return r.Results, nil
}

// ended explains the end of a virtual machine.
func (w *World) ended(err error) error {
	if !errors.Is(err, errEnded) {
		return err
	}
	if s := w.machine.killedBy(); s != 0 {
		return fmt.Errorf("the signal %q ended QEMU. This machine's kernel sends it when memory runs out: use "+
			"fewer --workers, or lower simulation.limits.world_memory_bytes", s)
	}
	console := w.machine.console()
	if strings.Contains(console, "Out of memory") {
		return fmt.Errorf("the virtual machine has used up its %d MiB of memory; raise "+
			"simulation.limits.world_memory_bytes, or limit the node that uses it with mem_limit; the last lines "+
			"of its console:\n%s", w.machine.bytes>>20, console)
	}
	return fmt.Errorf("the kernel of the virtual machine has stopped, perhaps in a panic; the last lines of its "+
		"console:\n%s\nIf a program under test made the kernel panic, that is a finding. A kernel or initrd from "+
		"--kernel or --initrd may not suit this machine", console)
}

// serve answers a request that is no turn.
func (w *World) serve(kind int, request []byte) []byte {
	switch kind {
	case wire.Stat:
		r := wire.ParseFileRequest(request)
		if t := w.tree(r.Tree); t != nil {
			return t.stat(r.Path).Append(nil)
		}
		return wire.Attr{Errno: noEntry}.Append(nil)
	case wire.List:
		r := wire.ParseFileRequest(request)
		t := w.tree(r.Tree)
		if t == nil {
			return wire.AppendNames(nil, noEntry, nil)
		}
		errno, names := t.list(r.Path)
		if errno == 0 && t.image == nil && !t.empty {
			w.listed(t.full(r.Path), names)
		}
		return wire.AppendNames(nil, errno, names[min(int(r.Offset), len(names)):])
	case wire.Read:
		errno, b := w.read(wire.ParseFileRequest(request))
		return append(binary.LittleEndian.AppendUint32(nil, uint32(errno)), b...)
	case wire.Packet:
		return w.packet(wire.ParsePacketRequest(request)).Append(nil)
	}
	return nil
}

const noEntry = 2 // ENOENT

// happen makes an event.
func (w *World) happen(e record.Event) uint64 {
	w.Events++
	e.Number = w.Events
	if e.TimeNs == 0 {
		e.TimeNs = w.NowNs
	}
	h := sha256.New()
	h.Write(w.Sum[:])
	fmt.Fprintf(h, "%d %d %q %q %q %d %d %q", e.Number, e.TimeNs, e.Node, e.Thread, e.Call, e.Result, e.Bytes, e.Detail)
	h.Sum(w.Sum[:0])
	if w.options.Observe != nil {
		w.options.Observe(&e)
	}
	if w.options.Progress != nil {
		w.options.Progress(e.Number, e.TimeNs)
	}
	return e.Number
}

// notice gives the director what has happened.
func (w *World) notice(n *wire.Notice) error {
	d := w.director
	if n.Kind == wire.Met {
		w.countFault(n)
		return nil
	}
	h := fnv.New64a()
	h.Write(n.Text)
	e := record.Event{TimeNs: n.NowNs, Node: w.spec.Nodes[n.Node].Name, Call: n.Kind, Result: int64(n.Status), Bytes: h.Sum64(), Detail: n.Stream}
	if n.Proc == 0 && n.Tag > 0 { // what it reported by a file
		n.Proc = d.Jobs[n.Tag-1].Proc
	}
	var p *process
	if n.Proc > 0 && int(n.Proc) <= len(w.Procs) {
		p = &w.Procs[n.Proc-1]
		e.Thread = p.Name
	}
	what := &director.Notice{TimeNs: n.NowNs, Node: n.Node, Proc: n.Proc, PID: n.PID, Program: n.Program, Tag: n.Tag,
		Status: n.Status, Stream: n.Stream, Text: n.Text}
	what.Event = w.happen(e)
	switch n.Kind {
	case wire.Killed:
		bound := w.spec.Nodes[n.Node].Bounds.MemoryBytes
		text := fmt.Sprintf("Memory cgroup out of memory: Killed process %d (%s), the node's limit is %dkB", n.PID, n.Program, bound>>10)
		d.Log(record.LogLine{Position: record.PositionAt(what.Event), TimeNs: n.NowNs, Node: e.Node, Stream: "kernel", Text: text}, n.Tag)
		d.Warn(fmt.Sprintf("%s: its memory limit of %g MiB was reached, and %s was killed", e.Node, float64(bound)/(1<<20), n.Program))
	case wire.Logged:
		d.Log(record.LogLine{Position: record.PositionAt(what.Event), TimeNs: n.NowNs, Node: e.Node, Stream: n.Stream, Text: string(n.Text)}, n.Tag)
	case wire.Reported:
		d.Reported(what)
	case wire.Told:
		d.Told(what)
	case wire.Asked:
		d.Asked(what)
	case wire.Answered:
		return d.Answered(what)
	case wire.Exited:
		if p == nil {
			return fmt.Errorf("the virtual machine reports the end of a program %d that was not started", n.Proc)
		}
		p.Over = true
		what.ByFault = p.ByFault != 0
		w.obeyed(n.Node, what)
		return d.Exited(what)
	}
	return nil
}

// obeyed notes that the main program of a node took the signal to stop: it ended by itself after it.
func (w *World) obeyed(node int, n *director.Notice) {
	const sigKill = 9
	s := &w.Nodes[node].Stopping
	if s.ID != 0 && s.Taken == 0 && n.Proc == w.director.Nodes[node].Main && n.Status&0x7f != s.Signal && n.Status&0x7f != sigKill {
		s.Taken = n.Event
	}
}

// listen adds what the guest's kernel has printed to the sum of the run.
func (w *World) listen() {
	if w.machine == nil {
		return
	}
	text := w.machine.printed(w.Console)
	if len(text) == 0 {
		return
	}
	w.Console += len(text)
	h := fnv.New64a()
	h.Write(text)
	w.happen(record.Event{Call: "console", Bytes: h.Sum64(), Result: int64(len(text))})
}

// Moment is the position of the world in its run.
func (w *World) Moment() (event uint64, timeNs int64) { return w.Events, w.NowNs }

// Follows reports whether the run of a tape is the same as this one up to here.
func (w *World) Follows(t tape.Tape) bool { return w.tape.Follows(t) }

// Inspect answers no questions.
func (w *World) Inspect() (engine.Inspection, error) { return nil, engine.ErrUnsupported }

// Outcome reports what happened so far.
func (w *World) Outcome() *record.Outcome {
	o := &w.Out
	w.director.Sum(w.tape)
	o.Hash = hex.EncodeToString(w.Sum[:16])
	o.Repeat.Reproducible = o.Repeat.Reason == ""
	o.Events, o.VirtualNs, o.WallNs = w.Events, w.NowNs, time.Since(w.started).Nanoseconds()
	o.Machine = "vm: linux " + w.Kernel + " on an emulated x86-64"
	o.Files = map[string]string{}
	limit := time.Duration(w.spec.Limits.WallMs) * time.Millisecond
	stop := filedigest.Ends(w.options.Interrupt, filedigest.EndOf(w.started, limit))
	for name := range w.Files {
		o.Files[name] = filedigest.Text(name, stop)
	}
	maps.Copy(o.Files, w.Folders)
	for i := range w.spec.Nodes {
		if img := w.spec.Nodes[i].Image; img != nil {
			o.Files["image:"+img.Name] = img.ID
		}
	}
	return o
}

// Close ends the world.
func (w *World) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.hand.close()
	var err error
	if w.recording != nil && w.machine != nil && w.failure == nil {
		err = w.record()
	}
	if w.machine != nil {
		w.machine.close()
		w.machine.ram.Close()
	}
	w.from.release()
	for _, o := range w.opened {
		o.f.Close()
	}
	return err
}
