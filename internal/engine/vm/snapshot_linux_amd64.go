package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/clone"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// snapshot is a virtual machine that stands still within a bell, before the answer. Any number of worlds go on from it; nobody changes it.
type snapshot struct {
	users  atomic.Int32
	ram    *os.File // the guest's memory; nil: it is part of state
	state  *os.File
	unread int
	table  uint64
	pages  [wire.Pages]uint64
	held   int64 // bytes of this machine's memory
}

func (s *snapshot) retain() *snapshot {
	s.users.Add(1)
	return s
}

// release gives a snapshot up. The last of its users ends it.
func (s *snapshot) release() {
	if s == nil || s.users.Add(-1) > 0 {
		return
	}
	for _, f := range []*os.File{s.ram, s.state} {
		if f != nil {
			f.Close()
		}
	}
}

// A virtual machine is stopped while its CPU stands still in a bell: the lock that QEMU's monitor needs is free for a moment between two
// bytes. So many of them are read, with a pause behind each.
const (
	stopPause = 2 * time.Millisecond
	stopWait  = 5 * time.Second
	saveWait  = 60 * time.Second
)

// errNotStopped is a virtual machine that could not be stopped here. It goes on.
var errNotStopped = errors.New("QEMU did not stop the virtual machine at this point")

// stop stops the virtual machine within a bell.
func (m *machine) stop() error {
	for len(m.mon.events) > 0 {
		<-m.mon.events
	}
	defer m.gather()()
	defer m.pair.letThrough()()
	if err := m.mon.send("stop", nil); err != nil {
		return err
	}
	buffer := make([]byte, wire.BellBytes)
	stopped := m.mon.await("STOP", stopPause)
	for left := time.Now().Add(stopWait); !stopped && time.Now().Before(left); stopped = m.mon.await("STOP", stopPause) {
		if m.unread <= wire.MostHeld+1 {
			continue
		}
		n, _, err := unix.Recvfrom(m.bell, buffer[:1], unix.MSG_DONTWAIT)
		if n == 0 && err == nil {
			return errEnded
		}
		m.unread -= max(n, 0)
	}
	if !stopped {
		go func() {
			if m.mon.await("STOP", hangWait) {
				m.mon.send("cont", nil)
			}
		}()
		return errNotStopped
	}
	// What the guest has written and was not read is no part of the snapshot.
	for {
		n, _, err := unix.Recvfrom(m.bell, buffer, unix.MSG_DONTWAIT)
		if n <= 0 || err != nil {
			return nil
		}
		m.unread -= n
	}
}

// gather has all threads of QEMU share one CPU, until the function that it returns is called: the one that waits for the lock then runs as soon
// as the guest's CPU gives it up, where on a CPU of its own it would come too late each time.
func (m *machine) gather() (spread func()) {
	var own, one unix.CPUSet
	pid := m.cmd.Process.Pid
	if unix.SchedGetaffinity(pid, &own) != nil {
		return func() {}
	}
	for cpu := 0; one.Count() == 0 && cpu < 8*len(own)*8; cpu++ {
		if own.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	set := func(cpus *unix.CPUSet) {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				unix.SchedSetaffinity(tid, cpus)
			}
		}
	}
	set(&one)
	return func() { set(&own) }
}

// save makes a snapshot of the virtual machine, which goes on as if nothing had happened.
func (m *machine) save() (s *snapshot, err error) {
	if err := m.stop(); err != nil {
		return nil, err
	}
	defer func() {
		if e := m.mon.send("cont", nil); err == nil {
			err = e
		}
	}()
	s = &snapshot{unread: m.unread, table: m.table, pages: m.pages}
	s.users.Store(1)
	if err := m.ignoreShared(!m.private); err != nil {
		return nil, err
	}
	if _, err := m.mon.execute("migrate-set-parameters", map[string]any{"max-bandwidth": 1 << 40}, startWait); err != nil {
		return nil, err
	}
	if _, err := m.mon.execute("migrate", map[string]any{"uri": fmt.Sprintf("exec:cat >/proc/$PPID/fd/%d", savedAt)}, startWait); err != nil {
		return nil, err
	}
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		text, err := m.mon.execute("query-migrate", nil, startWait)
		if err != nil {
			return nil, err
		}
		var status struct {
			Status string `json:"status"`
			Error  string `json:"error-desc"`
		}
		if err := json.Unmarshal(text, &status); err != nil {
			return nil, err
		}
		if status.Status == "completed" {
			break
		}
		if status.Status == "failed" || time.Since(began) > saveWait {
			return nil, fmt.Errorf("QEMU did not write the state of the virtual machine: %s %s", status.Status, status.Error)
		}
	}
	if s.state, err = duplicate(m.saved, "state"); err != nil {
		return nil, err
	}
	if !m.private {
		if s.ram, err = duplicate(m.ram, "ram"); err != nil {
			return nil, err
		}
	}
	for _, f := range []*os.File{s.state, s.ram} {
		if f != nil {
			s.held += allocated(f)
		}
	}
	return s, nil
}

// allocated is how much memory a file in memory takes.
func allocated(f *os.File) int64 {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// duplicate copies a file in memory, with its holes.
func duplicate(from *os.File, name string) (*os.File, error) {
	to, err := memory(name)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*os.File, error) {
		to.Close()
		return nil, lackOf(err)
	}
	size, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return fail(err)
	}
	if err := to.Truncate(size); err != nil {
		return fail(err)
	}
	buffer := make([]byte, 1<<20)
	for at := int64(0); at < size; {
		begin, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break
		}
		if err != nil {
			return fail(err)
		}
		end, err := unix.Seek(int(from.Fd()), begin, unix.SEEK_HOLE)
		if err != nil {
			return fail(err)
		}
		for at = begin; at < end; {
			n, err := from.ReadAt(buffer[:min(int64(len(buffer)), end-at)], at)
			if n == 0 && err != nil {
				return fail(err)
			}
			if _, err := to.WriteAt(buffer[:n], at); err != nil {
				return fail(err)
			}
			at += int64(n)
		}
	}
	return to, nil
}

// lackOf explains that there is no memory for a virtual machine.
func lackOf(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) {
		return fmt.Errorf("this machine has no room for the memory of a virtual machine: %w; end other programs, "+
			"use fewer --workers, or lower simulation.limits.world_memory_bytes", err)
	}
	return err
}

// Fork copies the world.
func (w *World) Fork(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	if inRealTime() {
		return nil, engine.ErrUnsupported
	}
	if !w.Follows(t) {
		return nil, errors.New("cannot copy this world for another tape: with that tape, the run so far would " +
			"have been different")
	}
	if w.failure != nil {
		return nil, w.failure
	}
	s := w.from
	if w.machine != nil {
		var err error
		if s, err = w.machine.save(); err != nil {
			return nil, fmt.Errorf("a snapshot of the virtual machine: %w", err)
		}
	} else {
		s.retain()
	}
	c, err := w.engine.world(spec, t, o)
	if err != nil {
		s.release()
		return nil, err
	}
	c.from, c.trees = s, w.trees
	ts := clone.Deep(w.tape.State())
	ts.Tape = t
	c.tape.Restore(ts)
	c.state = clone.Deep(w.state)
	c.director.State = clone.Deep(w.director.State)
	if w.machine != nil {
		c.Console = 0
	}
	return c, nil
}

// wake has a world that was copied begin to run.
func (w *World) wake() error {
	if w.machine != nil {
		return nil
	}
	s := w.from
	p := w.engine.plan
	p.private, p.state, p.ram = s.ram != nil, s.state, s.ram
	p.bytes = w.engine.bytes(w.spec)
	if p.ram == nil {
		var err error
		if p.ram, err = blank(p.bytes); err != nil {
			return err
		}
	}
	if _, err := s.state.Seek(0, io.SeekStart); err != nil {
		return err
	}
	m, err := start(p)
	if err != nil {
		return err
	}
	m.unread, m.head, m.table, m.pages = s.unread, true, s.table, s.pages
	w.machine = m
	return m.mon.send("cont", nil)
}

// blank is a file for the memory of a guest.
func blank(bytes int64) (*os.File, error) {
	f, err := memory("ram")
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(bytes); err != nil {
		f.Close()
		return nil, lackOf(err)
	}
	return f, nil
}

// Bytes is how much of this machine's memory the world has.
func (w *World) Bytes() int64 {
	if w.machine == nil {
		return w.from.held / int64(max(w.from.users.Load(), 1))
	}
	return allocated(w.machine.ram)
}
