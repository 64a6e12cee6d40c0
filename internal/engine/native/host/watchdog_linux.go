//go:build linux && amd64

package host

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// watchdog stops a thread by force when it has used much CPU time without a system call: first to see whether it runs in
// spin loops (spin_linux.go), which has no effect on a thread that merely computes, and in the end to break it off. It stops
// one at once when the run is interrupted. It looks at CPU time, not the wall clock: a busy machine must
// not look like a spin. Where it breaks a thread off is not repeatable, and the run says so.
type watchdog struct {
	now         atomic.Int64 // the thread that runs now: its tid, with the id of its process above; 0 when none does
	turn        atomic.Int64 // counts resumes
	cause       atomic.Int32 // an interruption
	waits       atomic.Int64 // counts the beginnings and the ends of waits: odd while there is one
	interrupted atomic.Bool
	spinning    atomic.Bool  // of the thread that runs now
	turnNs      atomic.Int64 // how much CPU time it may use
	patient     atomic.Bool  // a debugger's stops use CPU time, too
	due         atomic.Bool  // it is time to look at what lies outside the world
	limitBytes  atomic.Int64 // what the world may take of the machine's memory, 0 without a limit
	held        atomic.Pointer[seen]
	blobs       *Blobs
	began       machineBytes // when the limit was set, and what this process had then
	beganBytes  int64
	owner       int // the loop's thread
	limitNs     int64
	done        chan struct{}
}

type interruption = int32

const (
	noInterruption interruption = iota
	breakOff
	lookAt // the first look of a turn; the next is one more
)

// CPU time before the first look at a turn; it doubles from look to look. A thread that was in a spin loop before is looked at sooner.
const (
	watchPeriod = 20 * time.Millisecond
	firstLookNs = 10e6
	closePeriod = time.Millisecond
	closeLookNs = 1e6
	// duePeriod is how often the world looks at what lies outside it.
	duePeriod = 50 * time.Millisecond
	// closeTurns is how many turns a thread counts as one that was in a spin loop, closeTicks how many periods the watchdog stays close
	// after the last of them.
	closeTurns = 16
	closeTicks = 200
)

// spin is how a thread has been broken off.
type spin struct {
	ever    bool
	row     int // how often in a row
	signals int // how many times a signal has come then, which is what it may have waited for
}

// What a thread may use in a turn after it was broken off once, and how often this is halved for signals that it has waited for.
const (
	closeLimitNs = 50e6
	maxHalved    = 5
)

// debuggedLimitNs is the least limit of a turn that a debugger controls.
const debuggedLimitNs = 600e9

// limit is how much CPU time the next turn of such a thread may take, where most is what others have.
func (s *spin) limit(most int64) int64 {
	if !s.ever {
		return most
	}
	n := int64(closeLimitNs) >> min(s.signals, maxHalved)
	return min(n<<min(s.row, maxHalved), closeLimitNs, most)
}

// signal notes that a signal is delivered.
func (s *spin) signal() {
	if s.row > 0 {
		s.row = 0
		s.signals++
	}
}

func startWatchdog(limitMs int64) *watchdog {
	w := &watchdog{owner: unix.Gettid(), limitNs: limitMs * 1e6}
	w.start()
	return w
}

// start has the watchdog look from now on, until stop. It may be stopped and started again.
func (w *watchdog) start() {
	if w.done == nil {
		w.done = make(chan struct{})
		go w.loop(w.done)
	}
}

func (w *watchdog) stop() {
	if w.done != nil {
		close(w.done)
		w.done = nil
	}
}

func (w *watchdog) running(t *thread) {
	w.turn.Add(1)
	w.spinning.Store(t.spinTurns > 0)
	limitNs := t.spin.limit(w.limitNs)
	if w.patient.Load() {
		limitNs = max(limitNs, debuggedLimitNs)
	}
	w.turnNs.Store(limitNs)
	w.now.Store(int64(t.tgid)<<32 | int64(t.tid))
}

// continues makes the next turn count as a part of this one: the thread was only looked at.
func (w *watchdog) continues() { w.turn.Add(-1) }

func (w *watchdog) stopped() { w.now.Store(0) }

func (w *watchdog) fired() interruption { return w.cause.Swap(noInterruption) }

func (w *watchdog) interrupt() { w.interrupted.Store(true) }

func (w *watchdog) loop(done <-chan struct{}) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	near := 0 // for how many more periods the watchdog stays close
	lastTurn, startNs, looks := int64(-1), int64(0), int32(0)
	usedNs := int64(-1)   // the CPU time at the last tick
	lookedNs := int64(-1) // the CPU time at the last look, which uses much CPU time and is not the thread's own
	baseBytes := int64(0) // what the running process had when its turn was first seen
	last, measured := time.Now(), time.Now()
	lastWaits := int64(0)
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		wall := time.Now()
		if wall.Sub(last) > duePeriod {
			last = wall
			w.due.Store(true)
		}
		waits := w.waits.Load()
		if waits == lastWaits && waits%2 != 0 {
			w.nudge()
		}
		lastWaits = waits
		turn, now, spinning := w.turn.Load(), w.now.Load(), w.spinning.Load()
		short := spinning || w.turnNs.Load() < closeLimitNs
		switch {
		case short && near == 0:
			tick.Reset(closePeriod)
			near = closeTicks
		case short:
			near = closeTicks
		case near > 0:
			if near--; near == 0 {
				tick.Reset(watchPeriod)
			}
		}
		if now == 0 || w.turn.Load() != turn {
			continue
		}
		tid := int(int32(now))
		used := cpuNs(int(now >> 32))
		if turn == lastTurn && used == usedNs {
			// It waits for the CPU, or has stopped long ago: a signal to the process that comes in the same moment may have kept
			// that of the stop from the loop's thread.
			w.nudge()
		}
		usedNs = used
		fresh := turn != lastTurn
		if fresh {
			lastTurn, startNs, looks, lookedNs = turn, used, 0, -1
			baseBytes = ownBytes(tid)
		}
		if lookedNs >= 0 {
			startNs, lookedNs = startNs+used-lookedNs, -1
		}
		first := int64(firstLookNs)
		if spinning {
			first = closeLookNs
		}
		beyond := false
		if !fresh && wall.Sub(measured) > watchPeriod/2 { // between two turns, the world measures itself
			measured = wall
			beyond = w.beyond(tid, baseBytes)
		}
		switch {
		case w.interrupted.Load() || used-startNs > w.turnNs.Load(), beyond:
			w.halt(tid, breakOff)
			startNs = used
		case used-startNs > first<<looks:
			w.halt(tid, lookAt+looks)
			looks, lookedNs = looks+1, used
		}
	}
}

// nudge ends a wait of the loop's thread with EINTR.
func (w *watchdog) nudge() { unix.Tgkill(unix.Getpid(), w.owner, unix.SIGCHLD) }

func (w *watchdog) halt(tid int, s interruption) {
	w.cause.Store(s)
	unix.RawSyscall(unix.SYS_TKILL, uintptr(tid), uintptr(unix.SIGSTOP), 0)
}

// cpuNs reads the CPU time of a process (clock_getcpuclockid(3)), of which one thread runs at a time; 0 if it is gone.
func cpuNs(tgid int) int64 {
	const scheduler = 2 // CPUCLOCK_SCHED
	var ts unix.Timespec
	if unix.ClockGettime(int32(^tgid<<3|scheduler), &ts) != nil {
		return 0
	}
	return ts.Nano()
}
