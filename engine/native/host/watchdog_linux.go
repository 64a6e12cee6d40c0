//go:build linux && amd64

package host

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// watchdog stops a thread by force when it has used too much CPU time without a system call, or when the run is
// interrupted. It looks at the thread's own CPU time, not the wall clock: a busy machine must not look like a spin.
// Where it strikes is not repeatable, and the run says so.
type watchdog struct {
	tid         atomic.Int64 // the thread that runs now, 0 when none does
	turn        atomic.Int64 // counts resumes
	struck      atomic.Bool
	interrupted atomic.Bool
	limitNs     int64
	done        chan struct{}
}

const watchPeriod = 20 * time.Millisecond

func startWatchdog(limitMs int64) *watchdog {
	w := &watchdog{limitNs: limitMs * 1e6, done: make(chan struct{})}
	go w.loop()
	return w
}

func (w *watchdog) running(tid int) {
	w.turn.Add(1)
	w.tid.Store(int64(tid))
}

func (w *watchdog) stopped() { w.tid.Store(0) }

func (w *watchdog) fired() bool { return w.struck.Swap(false) }

func (w *watchdog) interrupt() { w.interrupted.Store(true) }

func (w *watchdog) stop() { close(w.done) }

func (w *watchdog) loop() {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	lastTurn, startNs := int64(-1), int64(0)
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
		if turn != lastTurn {
			lastTurn, startNs = turn, used
			if !w.interrupted.Load() {
				continue
			}
		}
		if used-startNs > w.limitNs || w.interrupted.Load() {
			w.struck.Store(true)
			unix.RawSyscall(unix.SYS_TKILL, uintptr(tid), uintptr(unix.SIGSTOP), 0)
			startNs = used
		}
	}
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
