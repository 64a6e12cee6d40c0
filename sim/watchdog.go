package sim

import (
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// looks is how often a watchdog looks at a world during the longest step.
const looks = 8

// watchdog ends the program when a step of a world does not end. It counts its looks, not time, so that stopping the program for a while is no
// hang.
type watchdog struct {
	engine.Pulse
	hang func()

	sync.Mutex
	timer  *time.Timer
	every  time.Duration
	silent int  // looks without a step
	off    bool // no run is watched
}

// watch begins to watch a world whose steps may take so long.
func watch(longest time.Duration, hang func()) *watchdog {
	w := &watchdog{hang: hang, every: max(longest/looks, 1)}
	w.Lock()
	defer w.Unlock()
	w.timer = time.AfterFunc(w.every, w.look)
	return w
}

func (w *watchdog) look() {
	w.Lock()
	defer w.Unlock()
	switch {
	case w.off:
		return
	case w.silent > 0 && w.Silent():
		if w.silent++; w.silent > looks {
			w.hang()
		}
	default:
		w.silent = 1
		w.Ask()
	}
	w.timer.Reset(w.every)
}

// stopWatching stops watching, until wake.
func (w *watchdog) stopWatching() {
	w.Lock()
	defer w.Unlock()
	w.off, w.silent = true, 0
	w.timer.Stop()
}

func (w *watchdog) wake() {
	w.Lock()
	defer w.Unlock()
	w.off = false
	w.timer.Reset(w.every)
}
