//go:build linux && amd64

package host

import (
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Tracer is the OS thread of a world: ptrace obeys only the thread that attached. What belongs to that thread, and not to a
// single machine, is here. A forked process sends its calls to the listener of its parent, so that all machines whose
// processes come from one another must have one Tracer, and share its listeners.
//
// The zero Tracer is the calling thread, which its caller has locked.
type Tracer struct {
	machines  []*Machine
	listeners []*listener
	current   *Checkpoint // whose processes run
	users     int         // worlds that have it
	work      chan func()
	ended     chan struct{}
}

// NewTracer starts a Tracer with an OS thread of its own.
func NewTracer() *Tracer {
	t := &Tracer{users: 1, work: make(chan func()), ended: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // never unlocked: the OS thread, which a world pins, ends with the goroutine
		for f := range t.work {
			f()
		}
		close(t.ended)
	}()
	return t
}

// Do runs f on the Tracer's thread. A panic in it is returned, and the thread goes on: worlds that share it are not affected.
func (t *Tracer) Do(f func()) *engine.Broken {
	done := make(chan *engine.Broken)
	t.work <- func() {
		var broken *engine.Broken
		defer func() {
			if value := recover(); value != nil {
				broken = engine.NewBroken(value, debug.Stack())
			}
			done <- broken
		}()
		f()
	}
	return <-done
}

// End ends the thread when the last of the worlds that have it has called End.
func (t *Tracer) End() {
	if t.users--; t.users > 0 {
		return
	}
	close(t.work)
	<-t.ended
}

// leave takes a machine out. With the last one the thread gets back what machines have taken from it.
func (t *Tracer) leave(m *Machine) {
	t.machines = slices.DeleteFunc(t.machines, func(o *Machine) bool { return o == m })
	if len(t.machines) == 0 {
		takeTSC()
		if m.cpuidTraps {
			takeCPUID()
		}
	}
}

// notifier finds the thread that waits in a notification, by its real id, in whichever machine it is.
func (t *Tracer) notifier(tid int) *thread {
	for _, m := range t.machines {
		for _, o := range m.threads {
			if o.tid == tid && (o.at == atNotice || o.at == atAnswered || o.at == atPassed) {
				return o
			}
		}
	}
	return nil
}

// maxListeners is how many listeners there may be before those that no thread uses are closed.
const maxListeners = 64

func (t *Tracer) closeListeners() {
	used := map[*listener]bool{}
	for _, m := range t.machines {
		for _, o := range m.threads {
			used[o.listener] = true
		}
	}
	t.listeners = slices.DeleteFunc(t.listeners, func(l *listener) bool {
		if !used[l] {
			unix.Close(l.fd)
		}
		return !used[l]
	})
}

// Checkpoint owns what is real of a world: all else is data, and can be copied.
type Checkpoint struct {
	Tracer  *Tracer
	Machine *Machine        // processes
	Blobs   *Blobs          // memfds of written files and shared memory
	VDSOs   []*machine.VDSO // by node, with the pages of time
	Bases   []*Base         // by node, open files of the machine
	Watched []*Watched      // copies of executables with breakpoints; nil where there is none
	Lack    Lack            // what the machine did not give

	executed []blocks.List // while another world runs: the blocks of each of Watched that this one has executed
	points   []Points      // likewise
}

// Enter makes c the world that runs. It must be called on the Tracer's thread.
func (c *Checkpoint) Enter() {
	t := c.Tracer
	if t.current == c {
		return
	}
	if t.current != nil {
		t.current.leave()
	}
	t.current = c
	if c.Machine != nil {
		c.Machine.watch.start()
	}
	for i, w := range c.Watched {
		if w != nil {
			w.Resume(c.executed[i])
			w.SetPoints(c.points[i])
		}
	}
	for _, b := range c.Bases {
		b.lack = &c.Lack
	}
}

func (c *Checkpoint) leave() {
	if c.Machine != nil {
		c.Machine.watch.stop()
	}
	c.executed, c.points = c.Executed(), c.Points()
}

// Points returns the points of each entry of Watched.
func (c *Checkpoint) Points() (list []Points) {
	if c.Tracer.current != c {
		return slices.Clone(c.points)
	}
	for _, w := range c.Watched {
		var p Points
		if w != nil {
			p = w.Points()
		}
		list = append(list, p)
	}
	return list
}

// Executed are the blocks of each of Watched that the world has executed.
func (c *Checkpoint) Executed() (list []blocks.List) {
	if c.Tracer.current != c {
		return slices.Clone(c.executed)
	}
	for _, w := range c.Watched {
		var hits blocks.List
		if w != nil {
			hits = w.Hits()
		}
		list = append(list, hits)
	}
	return list
}

// Close ends the processes and frees the rest. It must be called on the Tracer's thread, and leaves the Tracer.
func (c *Checkpoint) Close() {
	if c.Tracer.current == c {
		c.Tracer.current = nil
	}
	if c.Machine != nil {
		c.Machine.Close()
	}
	Unwatch(c.Watched)
	if c.Blobs != nil {
		c.Blobs.Close()
	}
	for _, b := range c.Bases {
		b.Close()
	}
	for _, v := range c.VDSOs {
		FreeVDSO(v)
	}
	*c = Checkpoint{Tracer: c.Tracer, Lack: c.Lack}
}
