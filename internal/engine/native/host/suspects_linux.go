//go:build linux && amd64

package host

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Bytes may look like an instruction of chance where nothing in their file proves that they are code: hand-written assembly without the size of
// its functions, a compiler's tables among its code, constants in an executable segment. A breakpoint would change what the program
// reads there. So their pages lose the permission to be executed instead, and reading them stays as it was. The thread that comes to such a page
// executes it in single steps, and where it goes shows what is code (code.Window): what is proven gets a breakpoint. When all is
// decided, the page is as the program has mapped it.

// suspect is a range of such pages.
type suspect struct {
	from, to uint64
	prot     uint64 // as the program has mapped them
	file     string // what is mapped there, as a line of maps tells it: device, inode and name
	offset   uint64 // of from in that file
	window   *code.Window
	spared   []code.Found // proven instructions without a breakpoint, where Contrast is set; their offsets are addresses
	steps    int          // that threads have taken there
	open     bool         // the pages can be executed, although not all is decided
	changed  bool         // the program has made them writable, or not executable: they are not watched
}

// Bounds of what is watched in this way.
const (
	maxSuspects  = 1024 // of one address space
	suspectSteps = 4096 // in one range
	sparedSteps  = 1024 // in one where all instructions are proven, of all processes together
	suspectLead  = 4096 // how many bytes of code around a range are decoded
)

func (s *suspect) copied() *suspect {
	c := *s
	c.spared = slices.Clone(s.spared)
	c.window = s.window.Clone()
	return &c
}

// filePlace is a place in a file.
type filePlace struct {
	file   string
	offset uint64
}

// place is where a range begins in its file.
func (s *suspect) place() filePlace { return filePlace{s.file, s.offset} }

// holds reports whether the instruction at an address may lie in the range.
func (s *suspect) holds(at uint64) bool {
	return at+code.MaxInstruction > s.from && at < s.to
}

// shows reports whether a line of maps is of the file in which the range lies.
func (s *suspect) shows(line string) bool {
	m, ok := machine.ParseMap(line)
	return ok && fileOf(line) == s.file && m.Offset-m.Start == s.offset-s.from
}

// suspectAll watches the pages of the unproven instructions in a part of a file that was just mapped, and those of proven ones that are to be
// spared a breakpoint. It reports the first instruction that can be neither watched nor trapped, or "". Code that the world has written is
// searched where it lies in memory (MadeChance).
func (m *Machine) suspectAll(t *thread, spared, unproven []code.Found, changes bool, addr, size, offset uint64) (lost string) {
	if changes {
		return ""
	}
	pages := map[uint64]*suspect{}
	page := func(f code.Found) *suspect {
		from := pageDown(f.Offset)
		if pages[from] == nil {
			pages[from] = &suspect{from: from, to: from + pageSize}
		}
		return pages[from]
	}
	here := func(list []code.Found, note func(code.Found)) {
		for _, f := range list {
			if f.Offset >= offset && f.Offset < offset+size && m.trappable(f.Kind) {
				f.Offset += addr - offset
				note(f)
			}
		}
	}
	open := map[*suspect][]code.Found{}
	here(spared, func(f code.Found) { s := page(f); s.spared = append(s.spared, f) })
	here(unproven, func(f code.Found) { s := page(f); open[s] = append(open[s], f) })
	if len(pages) == 0 {
		return ""
	}
	lines := t.realMaps()
	for _, from := range slices.Sorted(maps.Keys(pages)) {
		s := pages[from]
		if m.watchRange(t, lines, s.from, s.to, s.spared, open[s]) {
			continue
		}
		name := m.trapSpared(t, s)
		if len(open[s]) > 0 {
			name = open[s][0].Kind.String()
		}
		if lost == "" {
			lost = name
		}
	}
	return lost
}

// trapSpared puts breakpoints at the instructions of a range that were spared one. It reports the first at which none could be put, or "".
func (m *Machine) trapSpared(t *thread, s *suspect) (untrapped string) {
	page := &codePage{}
	for i := range s.spared {
		f := &s.spared[i]
		trapped, there := m.trap(t, f, f.Offset, page)
		if trapped {
			t.chance.spans = append(t.chance.spans, [2]uint64{s.from, s.to + code.MaxInstruction})
		} else if there && untrapped == "" {
			untrapped = f.Kind.String()
		}
	}
	s.spared = nil
	return untrapped
}

// watchRange takes the permission to execute from some pages, because of instructions of chance in them.
func (m *Machine) watchRange(t *thread, lines string, from, to uint64, spared, unproven []code.Found) bool {
	line := lineAt(lines, from)
	around, ok := machine.ParseMap(line)
	places := m.placesOf(t)
	places.suspects = slices.DeleteFunc(places.suspects, func(s *suspect) bool { return s.from < to && s.to > from })
	if !ok || to > around.End || len(places.suspects) >= maxSuspects {
		return false
	}
	start := max(around.Start, from-suspectLead)
	text := make([]byte, min(around.End, to+suspectLead)-start)
	if t.see(start, text) != len(text) {
		return false
	}
	t.traps.restored(start, text)
	t.unbroken(start, text)
	t.chance.restored(start, text)
	s := &suspect{from: from, to: to, prot: around.Prot(), file: fileOf(line), offset: from - around.Start + around.Offset,
		window: code.NewWindow(start, text, unproven), spared: spared, open: true}
	if len(unproven) == 0 && m.sparing[s.place()] >= sparedSteps || !m.permit(t, s, false) {
		return false
	}
	places.suspects = append(places.suspects, s)
	return true
}

// permit gives the permission to execute the pages of a range, or takes it.
func (m *Machine) permit(t *thread, s *suspect, open bool) bool {
	if s.open == open {
		return true
	}
	prot := s.prot
	if !open {
		prot &^= unix.PROT_EXEC
	}
	s.open = open
	return m.execute(t, unix.SYS_MPROTECT, s.from, s.to-s.from, prot) == 0
}

// arrived deals with a thread that may not execute the page that it has come to, if that is the engine's doing. stopped reports that stop is
// how the thread's way there ended.
func (m *Machine) arrived(t *thread, stop *machine.Stop) (ours, stopped bool) {
	if t.chance == nil || len(t.chance.suspects) == 0 {
		return false, false
	}
	fault := binary.LittleEndian.Uint64(stop.Info[16:])
	at := t.load().Rip
	i := slices.IndexFunc(t.chance.suspects, func(s *suspect) bool {
		return !s.open && !s.changed && fault >= s.from && fault < s.to && fault-at < code.MaxInstruction
	})
	if i < 0 {
		return false, false
	}
	s := t.chance.suspects[i]
	if line := lineAt(t.realMaps(), s.from); !s.shows(line) {
		t.chance.drop(s) // the program has mapped something else there
		return false, false
	}
	m.unforce(t, unix.SIGSEGV)
	if !m.permit(t, s, true) {
		return false, false
	}
	t.at = atStart
	m.watch.continues()
	return true, m.stepThrough(t, s, stop)
}

// stepThrough steps through the pages of a range until the thread leaves them, or stops, or all is decided there.
func (m *Machine) stepThrough(t *thread, s *suspect, stop *machine.Stop) (stopped bool) {
	for {
		at := t.load().Rip
		if !s.holds(at) {
			m.permit(t, s, false)
			return false
		}
		for _, f := range s.window.Arrive(at) {
			if trapped, there := m.trap(t, &f, f.Offset, &codePage{}); trapped {
				t.chance.spans = append(t.chance.spans, [2]uint64{s.from, s.to + code.MaxInstruction})
			} else if there {
				m.unproven(t, &f)
			}
		}
		if len(s.window.Open()) == 0 && len(s.spared) == 0 {
			t.chance.drop(s)
			return false
		}
		tooMany, ok := s.steps >= suspectSteps, false
		if len(s.window.Open()) == 0 {
			tooMany = m.sparing[s.place()] >= sparedSteps
		}
		s.steps++
		if len(s.spared) > 0 {
			m.sparing[s.place()]++
		}
		switch i := slices.IndexFunc(s.spared, func(f code.Found) bool { return f.Offset == at }); {
		case tooMany:
		case i >= 0:
			if ok = m.emulate(t, &s.spared[i].Instruction); ok {
				t.dirty = true
			}
		default:
			ok, stopped = m.step(t, stop)
		}
		if stopped {
			return true // the range stays open until a thread runs on
		}
		if !ok && t.load().Rip == at { // too many steps, or an instruction that cannot be executed in one
			for _, f := range s.window.Open() {
				if f.Likely || !tooMany {
					m.unproven(t, &f)
				}
			}
			if name := m.trapSpared(t, s); name != "" && m.Unproven != nil {
				m.Unproven(t.id, name)
			}
			t.chance.drop(s)
			return false
		}
	}
}

// closeSuspects takes the permission to execute the ranges that a stop has left open. A thread that is in one comes to it anew.
func (m *Machine) closeSuspects(t *thread) {
	for _, s := range t.chance.suspects {
		if s.open && !s.changed {
			m.permit(t, s, false)
		}
	}
}

// protectSuspects has ranges watched whose protection the program has changed.
func (m *Machine) protectSuspects(t *thread, from, to uint64) {
	if t.chance == nil {
		return
	}
	for _, s := range slices.Clone(t.chance.suspects) {
		if s.from >= to || s.to <= from {
			continue
		}
		lines := t.realMaps()
		line := lineAt(lines, s.from)
		l, ok := machine.ParseMap(line)
		if !ok || !s.shows(line) {
			t.chance.drop(s)
			continue
		}
		if s.changed = l.Writable || !l.Executable; s.changed {
			s.open = true
			continue
		}
		// The program may have written to the pages.
		overwritten := func(f code.Found) bool {
			var b [code.MaxInstruction]byte
			return t.see(f.Offset, b[:f.Length]) != f.Length || string(b[:f.Length]) != string(f.Bytes[:f.Length])
		}
		open := slices.DeleteFunc(slices.Clone(s.window.Open()), overwritten)
		spared := slices.DeleteFunc(slices.Clone(s.spared), overwritten)
		t.chance.drop(s)
		if len(open) == 0 && len(spared) == 0 {
			continue
		}
		if !m.watchRange(t, lines, s.from, s.to, spared, open) {
			m.trapSpared(t, s)
			for _, f := range open {
				m.unproven(t, &f)
			}
			continue
		}
		t.chance.suspects[len(t.chance.suspects)-1].steps = s.steps
	}
}

// unproven reports an instruction that is neither trapped nor watched any more.
func (m *Machine) unproven(t *thread, f *code.Found) {
	if m.Unproven != nil && f.Kind.Varies() {
		m.Unproven(t.id, f.Kind.String())
	}
}

func (c *chancePlaces) drop(s *suspect) {
	c.suspects = slices.DeleteFunc(c.suspects, func(o *suspect) bool { return o == s })
}

// realMaps are the lines of the real /proc/PID/maps.
func (t *thread) realMaps() string {
	return string(readWhole(fmt.Sprintf("/proc/%d/maps", t.tid)))
}

// lineAt finds the line of maps that holds an address.
func lineAt(maps string, addr uint64) string {
	for line := range strings.Lines(maps) {
		if m, ok := machine.ParseMap(line); ok && addr >= m.Start && addr < m.End {
			return line
		}
	}
	return ""
}

// fileOf names what a line of maps shows: the device, inode and name of a file.
func fileOf(line string) string {
	fields := strings.SplitN(line, " ", 4) // range, permissions, offset, the rest
	if len(fields) < 4 {
		return ""
	}
	return fields[3]
}

// unwatched shows lines of maps as they would be if no range were watched.
func (c *chancePlaces) unwatched(maps string) string {
	if c == nil || len(c.suspects) == 0 {
		return maps
	}
	var lines []string
	for line := range strings.Lines(maps) {
		for _, part := range c.cut(line) {
			if n := len(lines); n > 0 && c.splits(part) {
				part, lines = joined(lines[n-1], part, lines)
			}
			lines = append(lines, part)
		}
	}
	return strings.Join(lines, "")
}

// splits reports whether a line of maps begins where a range that is watched does, or ends: Linux shows other lines apart for reasons of its own.
func (c *chancePlaces) splits(line string) bool {
	m, ok := machine.ParseMap(line)
	return ok && slices.ContainsFunc(c.suspects, func(s *suspect) bool { return m.Start == s.from || m.Start == s.to })
}

// cut makes several lines of one that shows ranges that are watched, and those executable: Linux shows ranges side by side as one.
func (c *chancePlaces) cut(line string) (parts []string) {
	m, ok := machine.ParseMap(line)
	if !ok || m.Executable {
		return []string{line}
	}
	var here []*suspect
	for _, s := range c.suspects {
		if !s.changed && !s.open && s.from >= m.Start && s.to <= m.End && s.shows(line) {
			here = append(here, s)
		}
	}
	slices.SortFunc(here, func(a, b *suspect) int { return cmp.Compare(a.from, b.from) })
	_, permissions, _ := strings.Cut(line, " ")
	add := func(from, to uint64, executable string) {
		if from < to {
			part := permissions[:2] + executable + permissions[3:5]
			offset := m.Offset + from - m.Start
			parts = append(parts, fmt.Sprintf("%08x-%08x %s%08x %s", from, to, part, offset, fileOf(line)))
		}
	}
	at := m.Start
	for _, s := range here {
		add(at, s.from, "-")
		add(s.from, s.to, "x")
		at = s.to
	}
	add(at, m.End, "-")
	return parts
}

// joined makes one line of two that lie side by side in memory and in their file, and takes the first from the list.
func joined(first, second string, lines []string) (string, []string) {
	a, ok := machine.ParseMap(first)
	b, _ := machine.ParseMap(second)
	switch {
	case !ok, a.End != b.Start, a.Prot() != b.Prot(), a.Shared != b.Shared, fileOf(first) != fileOf(second):
		return second, lines
	case a.Offset+a.End-a.Start != b.Offset:
		return second, lines
	}
	start, rest, _ := strings.Cut(first, "-")
	_, after, _ := strings.Cut(rest, " ")
	_, end, _ := strings.Cut(second, "-")
	end, _, _ = strings.Cut(end, " ")
	return start + "-" + end + " " + after, lines[:len(lines)-1]
}
