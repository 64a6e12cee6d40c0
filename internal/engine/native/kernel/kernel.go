//go:build linux && amd64

package kernel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"golang.org/x/sys/unix"
)

// New makes a kernel without nodes.
func New(m Machine, tape Chance, h Handles, system *System) *Kernel {
	k := &Kernel{
		State: &State{
			LastID:  map[string]int64{},
			Threads: map[ThreadID]*Thread{}, Procs: map[ProcID]*Proc{}, Tables: map[TableID]*Table{}, Spaces: map[SpaceID]*Space{},
			Files: map[FileID]*File{}, Pipes: map[int64]*Pipe{}, EventFDs: map[int64]*EventFD{}, TimerFDs: map[int64]*TimerFD{},
			SignalFDs: map[int64]*SignalFD{}, Epolls: map[int64]*Epoll{}, Segs: map[int64]*ShmSegment{},
			Sems: map[int64]*SemSet{}, Queues: map[int64]*MsgQueue{},
			Waiting: map[Key][]ThreadID{}, Watching: map[Key][]Watch{}, Futexes: map[Key][]Waiter{},
		},
		M: m, Tape: tape, Handles: h, system: system,
		Buf:  make([]byte, 1<<16),
		hash: newHasher(), strict: newHasher(),
	}
	k.tree = fs.Env{Blobs: h.Blobs, Synth: system.Synth(k), Programs: &k.programs, NewBlob: func() fs.BlobID { return fs.BlobID(k.NewID("blob")) }}
	k.programs.k = k
	return k
}

// Result is the result of a handler: a value of the call, a negated errno, or one of these.
type Result int64

const (
	Pending Result = -1 << 40 // the thread waits
	Gone    Result = -1 << 41 // no thread is left to receive a result
	Passed  Result = -1 << 42 // the real kernel executes the call when the thread runs on; it cannot fail
)

func fail(e unix.Errno) Result { return -Result(e) }

// Progress says what a Step has come to.
type Progress uint8

const (
	Ran  Progress = iota // a thread ran
	Idle                 // no thread can run; time must pass
)

// Step runs one thread for one turn, if one can run. Threads that merely yield or poll run only if lazyToo is set:
// the caller lets time pass first, where there is something to wait for.
func (k *Kernel) Step(lazyToo bool) Progress {
	var t *Thread
	if k.Held != 0 {
		t = k.Threads[k.Held]
	} else if t = k.pick(lazyToo); t == nil {
		return Idle
	}
	k.running = t
	k.turn(t)
	k.running = nil
	return Ran
}

// turn runs a thread until it yields.
func (k *Kernel) turn(t *Thread) {
	if k.Held == 0 {
		if t.InCall && !k.retry(t) {
			return
		}
		if !k.deliver(t) {
			return
		}
	}
	k.resume(t)
}

// resume lets a thread run in user space to its next stop and deals with that.
func (k *Kernel) resume(t *Thread) {
	vdso := k.Handles.VDSOs[t.Node]
	page, node := vdso.Time, k.Nodes[t.Node]
	if k.Held == 0 {
		k.Turns++
		k.points()
		*page = machine.TimePage{NowNs: k.Now, RealNs: node.OffsetNs, MonoNs: node.BootNs, DriftPPB: node.DriftPPB, ReadCostNs: k.Cost.ClockReadNs}
	}
	k.M.Resume(t.ID, k.everyCall(t), &k.stop)
	switched := uint64(0)
	for k.stop.Kind == machine.StopPoint {
		if switched = k.notePoint(t); switched > 0 {
			break
		}
		k.Turns++
		k.M.Resume(t.ID, k.everyCall(t), &k.stop)
	}
	if k.Held = 0; k.stop.Kind == machine.StopHeld {
		k.Held = t.ID
		return
	}
	reads := page.Reads
	switch {
	case k.stop.Kind == machine.StopSpin && k.Proc(t).Bounded:
		// How often it has read a clock depends on where it was stopped. It does not run on, and so no time has passed.
	case reads <= mostReads && page.NowNs == k.Now+int64(reads)*k.Cost.ClockReadNs:
		k.Now = page.NowNs
		t.Clocks += reads
		if len(node.ClockFaults) > 0 && reads > page.TickReads {
			k.SawClock(node, page.WallReads > 0)
		}
	default:
		k.Unrepeatable("thread %s of %s wrote to the page of virtual time", t.Name, k.Proc(t).Path)
	}
	switch s := &k.stop; s.Kind {
	case machine.StopCall:
		if s.Nr == unix.SYS_CLOCK_GETTIME && reads >= machine.MostReads {
			k.watches(t)
		} else {
			t.Watches = 0
		}
		k.enter(t, s)
	case machine.StopCallExit:
		// only to look at signals that the call may have unblocked
	case machine.StopSignal:
		k.fault(t, s)
	case machine.StopSpinLoop:
		t.Lazy, k.Resched = true, true
		k.Now += k.Cost.CallNs
		if k.burns(t); t.State == Dead {
			break
		}
		if p := k.Proc(t); p.Bounded && len(p.Threads) == 1 { // no other thread of the process can end the loop
			k.spun(t, "waits in a spin loop without a system call")
		}
	case machine.StopSpin:
		if k.Proc(t).Bounded { // it ends here, so it does not matter where it is stopped
			t.Lazy, k.Resched = true, true
			k.Now += k.Cost.CallNs
			k.spun(t, "computes and makes no system call")
			break
		}
		k.Unrepeatable("thread %s of %s used its CPU time without a system call (spin break)", t.Name, k.Proc(t).Path)
		k.Resched = true
		t.SpinBreaks++
		k.busy(t, max(s.LimitNs, min(s.LimitNs<<t.SpinBreaks, maxBusyNs)))
	case machine.StopPoint:
		k.switches(t, switched-1)
	case machine.StopExit:
		k.vanished(t)
	}
}

// mostReads is more than any thread reads clocks in a turn: a program that writes to the page must not turn time back.
const mostReads = 1 << 32

// watches deals with a thread that has only read clocks for long: it waits for a time, or for another thread, which may
// run now. Its reads are paid; what lies between them costs more the longer the waiting lasts, so that the time comes.
func (s *State) watches(t *Thread) {
	s.Now += min(int64(t.Watches), maxWatchSteps) * 1e6
	t.Watches++
	t.Lazy, s.Resched = true, true
	s.IdleTurns = 0 // time passes without the world around
}

// maxWatchSteps is how many milliseconds at most pass at once for a thread that only reads clocks.
const maxWatchSteps = 10

// spun notifies the world of a thread that computes without end.
func (s *State) spun(t *Thread, how string) {
	p := s.Proc(t)
	s.Notices = append(s.Notices, Notice{Kind: Spun, Event: s.Events, TimeNs: s.Now, Node: t.Node, Proc: t.Proc, Tag: p.Tag, Text: []byte(p.Path + " " + how)})
}

// enter begins the call at which t has stopped.
func (k *Kernel) enter(t *Thread, s *machine.Stop) {
	k.burnt(t)
	k.Now += k.callNs(t)
	t.Calls++
	t.SpinBreaks = 0
	t.InCall = true
	t.Call = Call{Nr: s.Nr, Args: arguments(s), IP: s.IP}
	if s.Foreign || s.Nr >= numCalls {
		t.Call.Nr = numCalls - 1
	}
	if k.Proc(t).TimesCPU() {
		if k.CPUDue(t); t.State == Dead {
			return
		}
	}
	if k.Watched != nil && !k.Nodes[t.Node].Driver {
		if k.entering(t); t.State == Dead {
			return
		}
	}
	if k.Nodes[t.Node].Memory.LimitBytes > 0 {
		if k.system.Charge(k, t); t.State == Dead {
			return
		}
	}
	k.attempt(t)
	k.account(t)
}

// callNs returns the virtual time that a call takes: the smaller the node's share of a CPU, the longer.
func (k *Kernel) callNs(t *Thread) int64 {
	if share := k.Node(t).CPUPPM; share > 0 {
		return k.Cost.CallNs * 1_000_000 / share
	}
	return k.Cost.CallNs
}

// Slow reports whether the thread that ran last has taken long, as calls never do.
func (k *Kernel) Slow() bool {
	return k.stop.Kind == machine.StopSpin || k.stop.Kind == machine.StopSpinLoop
}

// retry tries a call again whose wait is over. It reports whether the thread may continue in user space.
func (k *Kernel) retry(t *Thread) bool {
	t.Call.Again = true
	k.attempt(t)
	return !t.InCall && t.State == Ready && (k.Watched == nil || k.Nodes[t.Node].Paused == 0)
}

// attempt runs the handler of the call at which t stopped, and completes the call when it is over.
func (k *Kernel) attempt(t *Thread) {
	k.handling = &k.system.Calls[t.Call.Nr]
	k.answer(t, k.handling)
	k.handling = nil
}

func (k *Kernel) answer(t *Thread, e *Syscall) {
	var r Result
	if e.Handle == nil {
		r = k.Refuse(t, e.Name, unix.ENOSYS)
	} else {
		r = e.Handle(k, t)
	}
	k.WakeTreeWatchers(k.Nodes[t.Node])
	switch r {
	case Gone:
		return
	case Passed:
		t.InCall = false
		k.M.Pass(t.ID)
		k.record(t, e, 0)
		return
	case Pending:
		if t.Call.Signaled && !e.Deaf && t.Call.Slow == 0 && t.Call.DiskNs == 0 {
			if r, over := k.interrupt(t, e); over {
				if r != Gone { // else it is made anew after the handler
					k.complete(t, e, r)
				}
				return
			}
			t.Call.Signaled = false
		}
		k.sleep(t)
		return
	}
	k.complete(t, e, r)
}

// complete answers a call and records it as an event.
func (k *Kernel) complete(t *Thread, e *Syscall, r Result) {
	t.InCall = false
	t.Call.Signaled = false
	if !t.Call.Empty && !e.Neutral {
		t.Empties = 0
	}
	k.unblock(t)
	if r < 0 && k.Failed != nil {
		k.failed(t, r)
	}
	if r == -Result(unix.ENOENT) && k.Absent != nil && t.Call.Detail != "" {
		k.Absent(t, t.Call.Detail)
	}
	k.M.Result(t.ID, int64(r))
	k.record(t, e, int64(r))
	if r < 0 || k.Nodes[t.Node].Driver {
		return
	}
	if k.Acted != nil {
		k.acted(t, e)
	}
	if k.Watched != nil {
		k.returned(t, e)
	}
}

// maxFailed bounds the ways to fail that are kept.
const maxFailed = 4096

// failed keeps how a call of a program under test failed.
func (s *State) failed(t *Thread, r Result) {
	if s.Nodes[t.Node].Driver || r < -maxErrno {
		return
	}
	program := s.Proc(t).Path // what a link such as redis-server leads to says less than its name
	if argv := s.Proc(t).Argv; len(argv) > 0 && argv[0] != "" {
		program = argv[0]
	}
	f := FailedCall{program, uint16(t.Call.Nr), uint16(-r)}
	if _, ok := s.Failed[f]; ok || len(s.Failed) < maxFailed {
		s.Failed[f]++
	}
}

// maxErrno is the largest number of an error that programs see; what is beyond it is between the kernel and itself.
const maxErrno = 133

// Watch makes the kernel and its network keep what is seen from now on. The network has its nodes by then.
func (s *State) Watch() {
	s.Failed = map[FailedCall]uint32{}
	s.Net.Watch()
}

// Unrepeatable notes the first reason why this run may not repeat.
func (s *State) Unrepeatable(format string, args ...any) {
	if s.Unsafe == "" {
		s.Unsafe = fmt.Sprintf(format, args...)
	}
}

// MarkUnrepeatable is unsafe for the world around the kernel.
func (s *State) MarkUnrepeatable(reason string) { s.Unrepeatable("%s", reason) }

// Proc gives the process of a thread.
func (s *State) Proc(t *Thread) *Proc { return s.Procs[t.Proc] }

// Node gives the node of a thread.
func (s *State) Node(t *Thread) *Node { return s.Nodes[t.Node] }

// maxBusyNs is how much virtual time at most passes at once for a thread that computes and makes no system call. The longer it
// does, the more passes for the CPU time that it really uses.
const maxBusyNs = 1e9

// Exceeded names the first limit of the world that was reached, or is empty.
func (s *State) Exceeded() string {
	return s.Net.Exceeded
}

// CallName is the name of the call at which a thread stopped.
func (k *Kernel) CallName(t *Thread) string { return k.system.Calls[t.Call.Nr].Name }

// Doing describes, for people, what the kernel is at, after a panic: the call that it answers, with its thread.
func (k *Kernel) Doing() string {
	when := fmt.Sprintf("after event %d, at %d ns of virtual time", k.Events, k.Now)
	t, call := k.running, k.handling
	if t == nil {
		return "its own work between the turns of threads " + when
	}
	who := fmt.Sprintf("thread %s (tid %d) of node %s", t.Name, t.TID, k.Nodes[t.Node].Name)
	if p := k.Procs[t.Proc]; p != nil {
		who += ", which executes " + p.Path
	}
	if call == nil && t.InCall {
		call = &k.system.Calls[t.Call.Nr]
	}
	if call == nil {
		return "a turn of " + who + ", " + when
	}
	args := make([]string, len(t.Call.Args))
	for i, a := range t.Call.Args {
		if args[i] = fmt.Sprintf("%#x", uint64(a)); a.Int64() > -maxShownNumber && a.Int64() < maxShownNumber {
			args[i] = strconv.FormatInt(a.Int64(), 10)
		}
	}
	return fmt.Sprintf("the call %s(%s) of %s, %s", call.Name, strings.Join(args, ", "), who, when)
}

// maxShownNumber is from where on an argument of a call is shown as an address.
const maxShownNumber = 1 << 16

// maxShown bounds how many waiting threads Blocked names.
const maxShown = 8

// Blocked describes, for people, what every thread waits for.
func (k *Kernel) Blocked() string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(k.Threads)) {
		t := k.Threads[id]
		if len(parts) == maxShown {
			parts = append(parts, "...")
			break
		}
		what := "runs"
		if t.State == Blocked {
			what = "waits in " + k.CallName(t)
		}
		parts = append(parts, t.Name+" ("+k.Proc(t).Path+") "+what)
	}
	if len(parts) == 0 {
		return "no program is left"
	}
	return strings.Join(parts, ", ")
}
