//go:build linux && amd64

package host

import (
	"encoding/binary"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// The kernel bars parts of shared maps of files, where an access may fail although the memory is there: a store
// that finds no room on a disk, a first load that a disk does not answer. The real map loses a permission, the
// thread that comes there stops, and the kernel decides.

// Permit gives a part of a map of a thread's process another protection than its program has asked for, or that one
// again.
func (m *Machine) Permit(id ThreadID, from, to, prot uint64) {
	t := m.runner(m.get(id).space)
	m.aside(t, func() int64 { return m.execute(t, unix.SYS_MPROTECT, from, to-from, prot) })
}

// Watch has a thread's process stop from now on where it moves what is mapped in a range of addresses, or changes
// its protection.
func (m *Machine) Watch(id ThreadID, from, to uint64) {
	c := m.placesOf(m.get(id))
	c.watched = withSpan(c.watched, from, to)
}

// withSpan adds a range to ranges that are apart and in order.
func withSpan(list []span, from, to uint64) []span {
	from, to = pageDown(from), pageUp(to)
	i, _ := slices.BinarySearchFunc(list, from, func(s span, from uint64) int {
		if s.to < from {
			return -1
		}
		return 1
	})
	j := i
	for ; j < len(list) && list[j].from <= to; j++ {
		from, to = min(from, list[j].from), max(to, list[j].to)
	}
	list = slices.Replace(list, i, j, span{from, to})
	if len(list) > maxCodeSpans {
		list = []span{{list[0].from, list[len(list)-1].to}}
	}
	return list
}

// overlaps reports whether a range meets one of some ranges that are apart and in order.
func overlaps(list []span, from, to uint64) bool {
	_, found := slices.BinarySearchFunc(list, from, func(s span, from uint64) int {
		switch {
		case s.to <= from:
			return -1
		case s.from >= to:
			return 1
		}
		return 0
	})
	return found
}

// barred deals with a thread that may not access an address, if the kernel has barred it. stopped reports that the
// thread has to deal with a SIGBUS, which stop has then; otherwise it goes on.
func (m *Machine) barred(t *thread, stop *machine.Stop) (ours, stopped bool) {
	if m.Barred == nil {
		return false, false
	}
	addr := binary.LittleEndian.Uint64(stop.Info[16:])
	switch m.Barred(t.id, addr, 1, machine.ByProgram) {
	case machine.NotBarred:
		return false, false
	case machine.Admitted:
		m.unforce(t, unix.SIGSEGV)
		t.at = atStart
		m.watch.continues()
		return true, false
	}
	m.unforce(t, unix.SIGSEGV)
	m.bus(t, addr, stop)
	return true, true
}

// bus makes a SIGBUS of the SIGSEGV at which a thread has stopped.
func (m *Machine) bus(t *thread, addr uint64, stop *machine.Stop) {
	const nonexistent = 2 // BUS_ADRERR
	*stop = machine.Stop{Kind: machine.StopSignal, Signal: int(unix.SIGBUS)}
	binary.LittleEndian.PutUint32(stop.Info[0:], uint32(unix.SIGBUS))
	binary.LittleEndian.PutUint32(stop.Info[8:], nonexistent)
	binary.LittleEndian.PutUint64(stop.Info[16:], addr)
	t.at = atSignal
	if m.Sigmask(t.id)&(1<<(unix.SIGBUS-1)) != 0 {
		return // it ends the process, and is never handed over
	}
	unix.Tgkill(t.tgid, t.tid, unix.SIGBUS)
	t.flush()
	for {
		ptrace(unix.PTRACE_CONT, t.tid, 0, 0)
		status, errno := m.wait(t)
		switch {
		case errno != 0 || !status.Stopped():
			*stop = machine.Stop{Kind: machine.StopExit, Status: status}
			return
		case syscall.Signal(status>>8) == unix.SIGBUS:
			ptrace(unix.PTRACE_SETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(&stop.Info)))
			return
		}
		// An interruption by the watchdog that comes late is first.
	}
}

// admit has the kernel decide about what a call writes for a thread. It reports whether anything has become
// accessible.
func (m *Machine) admit(t *thread, addr, size uint64) bool {
	return m.Barred != nil && m.Barred(t.id, addr, size, machine.ByCall) == machine.Admitted
}

// hidden reports whether the kernel has barred any of some addresses, which the engine can read all the same.
func (m *Machine) hidden(t *thread, addr, size uint64) bool {
	return m.Barred != nil && m.Barred(t.id, addr, size, machine.ByLook) == machine.Refused
}
