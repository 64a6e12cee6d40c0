//go:build linux && amd64

package host

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// A program may execute code from a file that the world writes to, by calls or through another map, in this or another process: just-in-time
// compilers map their code twice, once to write and once to execute it. So the same bytes are never executable in one map while they can be
// written through another. They come in chunks. A chunk that changed by a call, or that a map can write to, is shut: no map executes
// it. The thread that comes to it has it searched and opened, and then no map can write to it. The thread that writes to it has it shut.

// writtenFile is a blob of which processes map code.
type writtenFile struct {
	code   []*codeRange
	guards []guard // parts of shared maps that were writable, and are not while a chunk is open
}

// mapRange is a part of a map of such a file.
type mapRange struct {
	space            int
	blob             int64
	from, to, offset uint64
	prot             uint64 // as the program has it
}

// codeRange is a range that can be executed and not written to.
type codeRange struct {
	mapRange
	allOpen bool            // nothing was shut yet
	open    map[uint64]bool // the chunks that are open, by their number in the file
}

// guard is a range that could be written to.
type guard struct{ mapRange }

// chunkBytes is the size of a chunk: a chunk is searched as a whole, and each time that it changes from open to shut takes two stops.
const chunkBytes = 64 << 10

// chunks are the numbers of the first chunk of a part of a file and of that behind the last.
func chunks(offset, size uint64) (first, end uint64) {
	return offset / chunkBytes, (offset + size + chunkBytes - 1) / chunkBytes
}

// part is where a chunk lies in a map that begins at from with offset.
func part(chunk, from, to, offset uint64) (start, end uint64) {
	start, end = from, to
	if at := chunk * chunkBytes; at > offset {
		start = from + at - offset
	}
	if next := (chunk + 1) * chunkBytes; next-offset < to-from {
		end = from + next - offset
	}
	return start, end
}

// shows reports whether a real map is that of a range, apart from a permission that the engine takes and gives.
func (r *mapRange) shows(l *machine.RealMap, taken uint64) bool {
	return l.Blob == r.blob && l.Offset-l.Start == r.offset-r.from && l.Prot()|taken == r.prot
}

// number returns the number of the chunk at an address.
func (r *mapRange) number(addr uint64) uint64 { return (r.offset + addr - r.from) / chunkBytes }

func (r *codeRange) isOpen(chunk uint64) bool { return r.allOpen || r.open[chunk] }

// runner gives a thread that can execute calls in an address space, nil if the space is gone.
func (m *Machine) runner(space int) *thread {
	for _, t := range m.threads {
		if t.executesIn(space) {
			return t
		}
	}
	return nil
}

// executesIn reports whether a thread is in an address space and can execute calls.
func (t *thread) executesIn(space int) bool {
	return t.space == space && !t.ended && t.tid < nowhere && (t.queued == nil || t.queued.Kind != machine.StopExit)
}

// permitPart gives a permission back to a part of a range, or takes it, wherever the range is still mapped.
func (m *Machine) permitPart(r *mapRange, from, to, permission uint64, given bool) {
	prot := r.prot
	if !given {
		prot &^= permission
	}
	for _, l := range m.lines(r.space) {
		if start, end := max(l.Start, from), min(l.End, to); start < end && r.shows(&l, permission) && l.Prot() != prot {
			t := m.runner(r.space)
			m.aside(t, func() int64 { return m.execute(t, unix.SYS_MPROTECT, start, end-start, prot) })
		}
	}
}

// lines are the real maps of an address space.
func (m *Machine) lines(space int) (list []machine.RealMap) {
	t := m.runner(space)
	if t == nil {
		return nil
	}
	for line := range strings.Lines(t.realMaps()) {
		if l, ok := machine.ParseMap(line); ok {
			list = append(list, l)
		}
	}
	return list
}

// spacesNow are the address spaces that there are, in order.
func (m *Machine) spacesNow() []int {
	seen := map[int]bool{}
	for _, t := range m.threads {
		seen[t.space] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// MapWritten notes that maps of blobs were made in a range of addresses, or that their protection has changed.
// executable says that they may be code.
func (m *Machine) MapWritten(id ThreadID, addr, size uint64, executable bool) {
	if m.leaks.Instructions || !executable && len(m.written) == 0 {
		return
	}
	t := m.get(id)
	end := pageUp(addr + size)
	for _, f := range m.written {
		f.forget(t.space, addr, end)
	}
	for _, l := range m.lines(t.space) {
		from, to := max(l.Start, addr), min(l.End, end)
		if from >= to || l.Blob == 0 {
			continue
		}
		f := m.written[l.Blob]
		offset := l.Offset + from - l.Start
		if l.Executable && !l.Writable {
			if f == nil {
				f = &writtenFile{}
				m.written[l.Blob] = f
				m.watch.blobs.watchCode(fs.BlobID(l.Blob))
			}
			r := &codeRange{mapRange: mapRange{t.space, l.Blob, from, to, offset, l.Prot()}, allOpen: true}
			f.code = append(f.code, r)
			if m.noteShared(f, r) || to-from > maxOpenUnsearched {
				m.shutAll(r)
			}
		}
		if f != nil {
			m.placesOf(t).executable(from, to)
			if l.Shared && l.Writable {
				first, last := chunks(offset, to-from)
				m.shutChunks(f, first, last)
			}
		}
	}
}

// maxOpenUnsearched bounds what the kernel searches as it is mapped (maxMadeAtOnce of linux/memmap.go).
const maxOpenUnsearched = 4 << 20

// noteShared has every process stop where it changes a shared map of a file that was just mapped executable, and reports whether one can write to it.
func (m *Machine) noteShared(f *writtenFile, r *codeRange) (writable bool) {
	for _, space := range m.spacesNow() {
		for _, l := range m.lines(space) {
			if l.Blob == r.blob && l.Shared {
				m.placesOf(m.runner(space)).executable(l.Start, l.End)
				writable = writable || l.Writable
			}
		}
	}
	return writable || len(f.guards) > 0
}

// forget drops what is known of a range of addresses.
func (f *writtenFile) forget(space int, from, to uint64) {
	f.guards = slices.DeleteFunc(f.guards, func(g guard) bool { return g.space == space && g.from < to && g.to > from })
	var rest []*codeRange
	for _, r := range f.code {
		if r.space != space || r.from >= to || r.to <= from {
			rest = append(rest, r)
			continue
		}
		if r.from < from {
			rest = append(rest, r.cut(r.from, from))
		}
		if r.to > to {
			rest = append(rest, r.cut(to, r.to))
		}
	}
	f.code = rest
}

// cut gives a part of a range.
func (r *codeRange) cut(from, to uint64) *codeRange {
	c := *r
	c.from, c.to, c.offset, c.open = from, to, r.offset+from-r.from, maps.Clone(r.open)
	return &c
}

// shutAll takes the permission to execute a range.
func (m *Machine) shutAll(r *codeRange) {
	r.allOpen, r.open = false, map[uint64]bool{}
	m.permitPart(&r.mapRange, r.from, r.to, unix.PROT_EXEC, false)
}

// shut takes the permission to execute a chunk of a range of which not all is open.
func (m *Machine) shut(r *codeRange, chunk uint64) {
	delete(r.open, chunk)
	start, end := part(chunk, r.from, r.to, r.offset)
	m.permitPart(&r.mapRange, start, end, unix.PROT_EXEC, false)
}

// shutChunks shuts those chunks of a file that are open, from first to before end, in every map of code.
func (m *Machine) shutChunks(f *writtenFile, first, end uint64) {
	for _, r := range f.code {
		from, to := chunks(r.offset, r.to-r.from)
		from, to = max(from, first), min(to, end)
		if r.allOpen && from < to {
			m.shutAll(r)
		}
		for chunk := from; chunk < to && len(r.open) > 0; chunk++ {
			if r.open[chunk] {
				m.shut(r, chunk)
			}
		}
	}
}

// shutStale shuts all maps of the files that calls have changed.
func (m *Machine) shutStale() {
	for _, id := range m.watch.blobs.takeStale() {
		if f := m.written[int64(id)]; f != nil {
			m.shutChunks(f, 0, ^uint64(0))
		}
	}
}

// openChunk has a chunk searched and opened in a map of code to which a thread has come. Until it is shut, nothing writes to it.
func (m *Machine) openChunk(t *thread, f *writtenFile, r *codeRange, chunk uint64) {
	for _, space := range m.spacesNow() {
		for _, l := range m.lines(space) {
			first, end := chunks(l.Offset, l.End-l.Start)
			if l.Blob != r.blob || !l.Shared || !l.Writable || chunk < first || chunk >= end {
				continue
			}
			from, to := part(chunk, l.Start, l.End, l.Offset)
			g := guard{mapRange{space, l.Blob, from, to, l.Offset + from - l.Start, l.Prot()}}
			m.permitPart(&g.mapRange, from, to, unix.PROT_WRITE, false)
			f.guards = append(f.guards, g)
		}
	}
	start, end := part(chunk, r.from, r.to, r.offset)
	untrapped := m.TrapAgain(t.id, start, end-start)
	looked := 0
	name, tooMuch := m.madeChance(t, max(r.from, start-madeOverlaps), min(r.to, end+code.MaxInstruction), &looked)
	if name == "" {
		name = untrapped
	}
	if m.Made != nil && (name != "" || tooMuch) {
		m.Made(t.id, name, tooMuch)
	}
	m.permitPart(&r.mapRange, start, end, unix.PROT_EXEC, true)
	r.open[chunk] = true
}

// release gives back the permission to write what a guard covers, and shuts the chunk.
func (m *Machine) release(f *writtenFile, g guard) {
	first, end := chunks(g.offset, g.to-g.from)
	m.shutChunks(f, first, end)
	f.guards = slices.DeleteFunc(f.guards, func(o guard) bool { return o == g })
	m.permitPart(&g.mapRange, g.from, g.to, unix.PROT_WRITE, true)
}

// touched deals with a thread that may not execute the chunk that it has come to, or not write to one, if that is the engine's doing. stopped
// reports that stop is how the thread went on.
func (m *Machine) touched(t *thread, stop *machine.Stop) (ours, stopped bool) {
	addr, at := binary.LittleEndian.Uint64(stop.Info[16:]), t.load().Rip
	for _, blob := range slices.Sorted(maps.Keys(m.written)) {
		f := m.written[blob]
		i := slices.IndexFunc(f.code, func(r *codeRange) bool { return r.space == t.space && addr >= r.from && addr < r.to })
		if i >= 0 && addr-at < code.MaxInstruction {
			r := f.code[i]
			l, ok := machine.MapAt(t.realMaps(), addr)
			if r.isOpen(r.number(addr)) || !ok || !r.shows(&l, unix.PROT_EXEC) {
				return false, false
			}
			m.unforce(t, unix.SIGSEGV)
			m.openChunk(t, f, r, r.number(addr))
			t.at = atStart
			m.watch.continues()
			return true, false
		}
		i = slices.IndexFunc(f.guards, func(g guard) bool { return g.space == t.space && addr >= g.from && addr < g.to })
		if i < 0 {
			continue
		}
		g := f.guards[i]
		l, ok := machine.MapAt(t.realMaps(), addr)
		if !ok || !g.shows(&l, unix.PROT_WRITE) {
			return false, false
		}
		m.unforce(t, unix.SIGSEGV)
		t.at = atStart
		m.watch.continues()
		for _, r := range f.code { // code that writes to its own chunk
			if r.space == t.space && at >= r.from && at < r.to && r.number(at) == g.number(addr) {
				m.permitPart(&g.mapRange, g.from, g.to, unix.PROT_WRITE, true)
				_, stopped = m.step(t, stop)
				break
			}
		}
		m.release(f, g)
		return true, stopped
	}
	return false, false
}

// unguard has the engine itself write to a range of addresses of a thread's process. It reports whether that was refused before.
func (m *Machine) unguard(t *thread, addr, size uint64) (done bool) {
	for _, f := range m.written {
		for _, g := range slices.Clone(f.guards) {
			if g.space == t.space && g.from < addr+size && g.to > addr {
				m.release(f, g)
				done = true
			}
		}
	}
	return done
}

// Protect has the real kernel execute an mprotect for a thread, of what may be maps of blobs with code, and returns the result.
func (m *Machine) Protect(id ThreadID, addr, size, prot uint64) int64 {
	t := m.get(id)
	m.quieten(t, addr, pageUp(addr+size))
	r := m.execute(t, unix.SYS_MPROTECT, addr, size, prot)
	m.MapWritten(id, addr, size, true)
	m.protectSuspects(t, addr, pageUp(addr+size))
	return r
}

// quieten shuts what is open of the files that are mapped in a range of addresses, so that all maps of them are as the program has them, but for the permission
// to execute.
func (m *Machine) quieten(t *thread, from, to uint64) {
	if len(m.written) == 0 {
		return
	}
	for _, l := range m.lines(t.space) {
		f := m.written[l.Blob]
		if f == nil || l.Start >= to || l.End <= from {
			continue
		}
		first, end := chunks(l.Offset, l.End-l.Start)
		m.shutChunks(f, first, end)
		for _, g := range slices.Clone(f.guards) {
			if a, b := chunks(g.offset, g.to-g.from); a < end && b > first {
				m.release(f, g)
			}
		}
	}
}

// movedWritten notes that the maps in a range of addresses have come to another.
func (m *Machine) movedWritten(space int, from, to, size uint64) {
	for _, f := range m.written {
		var moved []*codeRange
		for _, r := range f.code {
			if r.space == space && r.from < from+size && r.to > from {
				c := r.cut(max(r.from, from), min(r.to, from+size))
				c.from, c.to = c.from-from+to, c.to-from+to
				moved = append(moved, c)
			}
		}
		f.forget(space, to, to+size)
		f.code = append(f.code, moved...)
	}
}

// forkedWritten notes that an address space is a copy of another.
func (m *Machine) forkedWritten(old, space int) {
	for _, f := range m.written {
		for _, r := range slices.Clone(f.code) {
			if r.space == old {
				c := r.cut(r.from, r.to)
				c.space = space
				f.code = append(f.code, c)
			}
		}
		for _, g := range slices.Clone(f.guards) {
			if g.space == old {
				g.space = space
				f.guards = append(f.guards, g)
			}
		}
	}
}

func copyWritten(files map[int64]*writtenFile) map[int64]*writtenFile {
	n := make(map[int64]*writtenFile, len(files))
	for blob, f := range files {
		c := &writtenFile{guards: slices.Clone(f.guards)}
		for _, r := range f.code {
			c.code = append(c.code, r.cut(r.from, r.to))
		}
		n[blob] = c
	}
	return n
}

// shownWritten shows lines of maps of an address space as the program has made them.
func (m *Machine) shownWritten(space int, text string) string {
	if len(m.written) == 0 {
		return text
	}
	var lines []string
	for line := range strings.Lines(text) {
		l, ok := machine.ParseMap(line)
		if f := m.written[l.Blob]; ok && f != nil {
			line = f.shown(space, &l, line)
			if n := len(lines); n > 0 && f.splits(space, l.Start) {
				line, lines = joined(lines[n-1], line, lines)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// splits reports whether the engine has divided a map of the file at an address: Linux shows other lines apart for reasons of its own.
func (f *writtenFile) splits(space int, at uint64) bool {
	return slices.ContainsFunc(f.code, func(r *codeRange) bool { return r.space == space && at > r.from && at < r.to }) ||
		slices.ContainsFunc(f.guards, func(g guard) bool { return g.space == space && at >= g.from && at <= g.to })
}

func (f *writtenFile) shown(space int, l *machine.RealMap, line string) string {
	before, after, _ := strings.Cut(line, " ")
	for _, r := range f.code {
		if r.space == space && l.Start >= r.from && l.End <= r.to && r.shows(l, unix.PROT_EXEC) {
			return before + " " + after[:2] + "x" + after[3:]
		}
	}
	for _, g := range f.guards {
		if g.space == space && l.Start >= g.from && l.End <= g.to && g.shows(l, unix.PROT_WRITE) {
			return before + " " + after[:1] + "w" + after[2:]
		}
	}
	return line
}
