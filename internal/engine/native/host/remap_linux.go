//go:build linux && amd64

package host

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Breakpoints lie in the process' own copies of pages. madvise(2) can drop such a copy, so that the page is read from the file again, and
// mremap(2) can move it, or have a map show more of its file; mprotect(2) can have a program write to it. These calls stop the thread. What
// touches no code goes to the kernel at once: the world does not learn of it.

// span is a range of addresses.
type span struct{ from, to uint64 }

// maxCodeSpans bounds the ranges of code that are known apart: beyond that, all between the first and the last one counts as code.
const maxCodeSpans = 1024

// executable notes that a range of addresses was made executable. It counts as code from then on, whatever is mapped there later.
func (c *chancePlaces) executable(from, to uint64) {
	c.code = withSpan(c.code, from, to)
}

// executes reports whether there may be code in a range of addresses.
func (c *chancePlaces) executes(from, to uint64) bool {
	return c != nil && overlaps(c.code, from, to)
}

// watches reports whether the kernel wants to know of changes of maps in a range of addresses.
func (c *chancePlaces) watches(from, to uint64) bool {
	return c != nil && overlaps(c.watched, from, to)
}

// sparesCode reports whether the call at which a thread has stopped is one of those calls, and touches neither code nor the engine's
// pages, nor what the kernel watches.
func (t *thread) sparesCode(stop *machine.Stop) bool {
	a := &stop.Args
	end := a[0] + a[1]
	switch {
	case stop.Foreign || end < a[0] || end > machine.EngineFrom:
		return false
	case stop.Nr == unix.SYS_MADVISE && uint32(a[2]) == unix.MADV_DONTNEED:
	case stop.Nr == unix.SYS_MPROTECT && !t.vdso.StopsGrowth && a[2]&unix.PROT_EXEC == 0:
	case stop.Nr == unix.SYS_MREMAP && !t.vdso.StopsGrowth && a[3]&unix.MREMAP_FIXED == 0:
	default:
		return false
	}
	from, to := pageDown(a[0]), max(pageUp(end), a[0]+1) // an mremap of no bytes is one of a whole map
	return !t.chance.executes(from, to) && (stop.Nr == unix.SYS_MADVISE || !t.chance.watches(from, to))
}

// Executes reports whether there may be code in a range of addresses of a thread's process.
func (m *Machine) Executes(id ThreadID, addr, size uint64) bool {
	return m.get(id).chance.executes(pageDown(addr), max(pageUp(addr+size), addr+1))
}

// TrapAgain puts breakpoints where they were in a range of addresses, whose pages may have been read from their files again. It
// reports the first instruction at which none could be put, or "".
func (m *Machine) TrapAgain(id ThreadID, addr, size uint64) (untrapped string) {
	t := m.get(id)
	if t.chance == nil {
		return ""
	}
	for at, f := range t.chance.at {
		if at < pageDown(addr) || at >= pageUp(addr+size) {
			continue
		}
		b := make([]byte, f.Length)
		if t.see(at, b) != f.Length || string(b) != string(f.Bytes[:f.Length]) {
			continue
		}
		if !m.setByte(t, at, m.Mark()) && (untrapped == "" || f.Kind.String() < untrapped) {
			untrapped = f.Kind.String()
		}
	}
	return untrapped
}

// Remap has the real kernel execute the mremap at which a thread stopped, on code, and returns the result. It reports what
// TrapAgain and MadeChance do: the latter of what the map shows more of its file.
func (m *Machine) Remap(id ThreadID) (result int64, untrapped, made string, tooMuch bool) {
	t := m.get(id)
	m.lift(t)
	m.withdraw(t)
	r := t.load()
	from, size, newSize := r.Rdi, pageUp(r.Rsi), pageUp(r.Rdx)
	c := m.placesOf(t)
	for _, s := range slices.Clone(c.suspects) { // they are watched at their addresses alone
		if s.from < from+size && s.to > from && s.shows(lineAt(t.realMaps(), s.from)) {
			m.permit(t, s, true)
			for _, f := range s.window.Open() {
				m.unproven(t, &f)
			}
			m.trapSpared(t, s)
			c.drop(s)
		}
	}
	whole := size
	if whole == 0 { // the map is to be there twice
		whole = newSize
	}
	m.quieten(t, from, from+whole)
	if result = m.Native(id); result < 0 || m.leaks.Instructions {
		return result, "", "", false
	}
	to, common := uint64(result), min(whole, newSize)
	c.executable(to, to+newSize)
	c.spans = append(c.spans, [2]uint64{to, to + newSize})
	moved := map[uint64]*code.Found{}
	for at, f := range c.at {
		if at >= from && at-from < common {
			moved[at-from+to] = f
		}
	}
	maps.Copy(c.at, moved)
	t.code.moved(from, to, common)
	untrapped = m.TrapAgain(id, from, whole)
	m.MapWritten(id, to, newSize, true)
	m.movedWritten(t.space, from, to, common)
	if newSize > whole {
		made, tooMuch = m.MadeChance(id, to+whole, to+newSize)
	}
	return result, untrapped, made, tooMuch
}
