//go:build linux && amd64

package host

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// watchdog stops a thread by force when it has used much CPU time without a system call: first to see whether it runs in
// circles (spin_linux.go), which has no effect on a thread that merely computes, and in the end to break it off. It stops
// one at once when the run is interrupted. It looks at the thread's own CPU time, not the wall clock: a busy machine must
// not look like a spin. Where it breaks a thread off is not repeatable, and the run says so.
type watchdog struct {
	tid         atomic.Int64 // the thread that runs now, 0 when none does
	turn        atomic.Int64 // counts resumes
	struck      atomic.Int32 // a strike
	interrupted atomic.Bool
	owner       int // the loop's thread
	limitNs     int64
	done        chan struct{}
}

type strike = int32

const (
	noStrike strike = iota
	breakOff
	lookAt // the first look of a turn; the next is one more
)

const (
	watchPeriod = 20 * time.Millisecond
	firstLookNs = 50e6 // CPU time before the first look; it doubles from look to look
)

func startWatchdog(limitMs int64) *watchdog {
	w := &watchdog{owner: unix.Gettid(), limitNs: limitMs * 1e6, done: make(chan struct{})}
	go w.loop()
	return w
}

func (w *watchdog) running(tid int) {
	w.turn.Add(1)
	w.tid.Store(int64(tid))
}

// continues makes the next turn count as a part of this one: the thread was only looked at.
func (w *watchdog) continues() { w.turn.Add(-1) }

func (w *watchdog) stopped() { w.tid.Store(0) }

func (w *watchdog) fired() strike { return w.struck.Swap(noStrike) }

func (w *watchdog) interrupt() { w.interrupted.Store(true) }

func (w *watchdog) stop() { close(w.done) }

func (w *watchdog) loop() {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	lastTurn, startNs, looks := int64(-1), int64(0), int32(0)
	usedNs := int64(-1)   // the CPU time at the last tick
	lookedNs := int64(-1) // the CPU time at the last look, which uses much of it and is not the thread's own
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
		tid, turn := int(w.tid.Load()), w.turn.Load()
		if tid == 0 {
			continue
		}
		used := cpuNs(tid)
		if turn == lastTurn && used == usedNs {
			// It waits for the CPU, or has stopped long ago: a signal to the process that comes in the same moment may have kept
			// that of the stop from the loop's thread.
			unix.Tgkill(unix.Getpid(), w.owner, unix.SIGCHLD)
		}
		usedNs = used
		if turn != lastTurn {
			lastTurn, startNs, looks, lookedNs = turn, used, 0, -1
		}
		if lookedNs >= 0 {
			startNs, lookedNs = startNs+used-lookedNs, -1
		}
		switch {
		case w.interrupted.Load() || used-startNs > w.limitNs:
			w.strike(tid, breakOff)
			startNs = used
		case used-startNs > firstLookNs<<looks:
			w.strike(tid, lookAt+looks)
			looks, lookedNs = looks+1, used
		}
	}
}

func (w *watchdog) strike(tid int, s strike) {
	w.struck.Store(s)
	unix.RawSyscall(unix.SYS_TKILL, uintptr(tid), uintptr(unix.SIGSTOP), 0)
}

// cpuNs reads a thread's CPU time from schedstat(5 proc); 0 where it is not there.
func cpuNs(tid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
	if err != nil {
		return 0
	}
	var ns int64
	fmt.Sscan(string(b), &ns)
	return ns
}
