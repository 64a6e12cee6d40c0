//go:build linux && amd64

package dump

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of a core file.
const (
	// MaxCoreBytes bounds the pages that are written: what a core takes of a disk.
	MaxCoreBytes = 256 << 20
	// maxSparseBytes bounds its length, holes included.
	maxSparseBytes = 4 << 30
	// maxScannedPages bounds the pages of one map that are looked at.
	maxScannedPages = 4 << 20
	maxSegments     = 0xfff0 // e_phnum has 16 bits, and 0xffff means something else
)

// Note types of core files (linux/elf.h) that debug/elf does not name.
const (
	ntPrstatus  = 1
	ntPrfpreg   = 2
	ntPrpsinfo  = 3
	ntAuxv      = 6
	ntFile      = 0x46494c45
	ntSiginfo   = 0x53494749
	ntX86Xstate = 0x202
)

const pageSize = 4096

// prstatus is struct elf_prstatus (linux/elfcore.h). What depends on the machine, such as times, is 0.
type prstatus struct {
	Signo, Code, Errno   int32
	Cursig               int16
	_                    [2]byte
	Sigpend, Sighold     uint64
	PID, PPID, PGrp, SID int32
	Times                [8]int64
	Regs                 [27]uint64
	FPValid              int32
	_                    [4]byte
}

// prpsinfo is struct elf_prpsinfo.
type prpsinfo struct {
	State, Sname, Zombie, Nice byte
	_                          [4]byte
	Flag                       uint64
	UID, GID                   uint32
	PID, PPID, PGrp, SID       int32
	Fname                      [16]byte
	Psargs                     [80]byte
}

// notes are the bytes of the PT_NOTE segment, in the order in which Linux writes them: debuggers take the first thread for the one
// that the signal ended.
func (p *Process) notes() []byte {
	var out bytes.Buffer
	note := func(name string, kind uint32, data any) {
		var desc bytes.Buffer
		binary.Write(&desc, binary.LittleEndian, data)
		binary.Write(&out, binary.LittleEndian, [3]uint32{uint32(len(name) + 1), uint32(desc.Len()), kind})
		out.WriteString(name)
		out.Write(make([]byte, 4-len(name)%4))
		out.Write(desc.Bytes())
		out.Write(make([]byte, -desc.Len()&3))
	}
	status := func(t *Thread) {
		le := binary.LittleEndian
		s := prstatus{Signo: int32(p.Signal), Code: int32(le.Uint32(p.Info[8:])), Cursig: int16(p.Signal), PID: int32(t.TID),
			PPID: int32(p.PPID), PGrp: int32(p.PGID), SID: int32(p.SID)}
		var regs bytes.Buffer
		binary.Write(&regs, le, &t.Regs)
		binary.Read(&regs, le, &s.Regs)
		if len(t.XState) > 0 {
			s.FPValid = 1
		}
		note("CORE", ntPrstatus, &s)
	}
	extended := func(t *Thread) {
		if len(t.XState) < fxsaveBytes {
			return
		}
		fp := slices.Clone(t.XState[:fxsaveBytes])
		clear(fp[fxsaveUsed:])
		note("CORE", ntPrfpreg, fp)
		if len(t.XState) >= xsaveExtended {
			note("LINUX", ntX86Xstate, t.XState)
		}
	}
	for i := range p.Threads {
		status(&p.Threads[i])
		if i == 0 {
			info := prpsinfo{Sname: 'R', UID: uint32(p.UID), GID: uint32(p.GID), PID: int32(p.PID), PPID: int32(p.PPID), PGrp: int32(p.PGID), SID: int32(p.SID)}
			copy(info.Fname[:15], p.Comm)
			copy(info.Psargs[:79], strings.Join(p.Argv, " "))
			note("CORE", ntPrpsinfo, &info)
			note("CORE", ntSiginfo, p.Info[:])
			note("CORE", ntAuxv, p.Auxv)
			note("CORE", ntFile, p.files())
		}
		extended(&p.Threads[i])
	}
	return out.Bytes()
}

// files is the content of NT_FILE: which files are mapped where, offsets in pages.
func (p *Process) files() []byte {
	var places []uint64
	var names []byte
	for _, m := range p.Maps {
		if m.File {
			places = append(places, m.Start, m.End, m.Offset/pageSize)
			names = append(append(names, m.Name...), 0)
		}
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(places)/3))
	b = binary.LittleEndian.AppendUint64(b, pageSize)
	for _, v := range places {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return append(b, names...)
}

// segment is a map in a core file.
type segment struct {
	*Map
	offset, size uint64
	rank         int // smaller ones are written first
}

// core is a core file that is being written.
type core struct {
	*Process
	out     io.WriterAt
	end     uint64 // of the file so far, at a page
	written uint64
	cut     bool
}

// WriteCore writes a core file that debuggers open with the program: what the process has in memory of its own, as Linux chooses it
// by default (core(5), coredump_filter), with holes for pages of zeros. left says what did not fit, or is empty.
func (p *Process) WriteCore(out io.WriterAt) (left string, err error) {
	notes := p.notes()
	var segments []segment
	for i := range p.Maps {
		if len(segments) == maxSegments {
			break
		}
		segments = append(segments, segment{Map: &p.Maps[i], rank: p.rank(&p.Maps[i])})
	}
	const head, entry = 64, 56
	notesAt := uint64(head + entry*(1+len(segments)))
	c := &core{Process: p, out: out, end: pageUp(notesAt + uint64(len(notes)))}
	order := make([]*segment, len(segments))
	for i := range segments {
		order[i] = &segments[i]
	}
	slices.SortStableFunc(order, func(a, b *segment) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.End-a.Start, b.End-b.Start))
	})
	for _, s := range order {
		if err := c.segment(s); err != nil {
			return "", err
		}
	}
	var b bytes.Buffer
	le := binary.LittleEndian
	h := elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_X86_64),
		Version: uint32(elf.EV_CURRENT), Phoff: head, Ehsize: head, Phentsize: entry, Phnum: uint16(1 + len(segments))}
	binary.Write(&b, le, &h)
	binary.Write(&b, le, &elf.Prog64{Type: uint32(elf.PT_NOTE), Off: notesAt, Filesz: uint64(len(notes)), Align: 4})
	for i := range segments {
		s := &segments[i]
		flags := elf.ProgFlag(0)
		for flag, on := range map[elf.ProgFlag]bool{elf.PF_R: s.Read, elf.PF_W: s.Write, elf.PF_X: s.Exec} {
			if on {
				flags |= flag
			}
		}
		binary.Write(&b, le, &elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(flags), Off: s.offset, Vaddr: s.Start,
			Filesz: s.size, Memsz: s.End - s.Start, Align: pageSize})
	}
	b.Write(notes)
	b.Write(make([]byte, -b.Len()&(pageSize-1))) // the file reaches to where its segments begin
	if _, err := out.WriteAt(b.Bytes(), 0); err != nil {
		return "", err
	}
	if c.cut {
		left = fmt.Sprintf("memory beyond the first %d MiB is left out; stacks and small maps come first", MaxCoreBytes>>20)
	}
	return left, nil
}

// rank orders maps by what a debugger needs first: stacks, then data of files, then the rest.
func (p *Process) rank(m *Map) int {
	for i := range p.Threads {
		if sp := p.Threads[i].Regs.Rsp; sp >= m.Start && sp < m.End {
			return 0
		}
	}
	if m.File {
		return 1
	}
	return 2
}

func pageUp(v uint64) uint64 { return (v + pageSize - 1) &^ (pageSize - 1) }

// segment writes what a core has of a map.
func (c *core) segment(s *segment) error {
	if !s.Read && !s.Write && !s.Exec {
		return nil
	}
	pages := make([]Page, 1<<14)
	whole := false
	if s.File {
		if s.Shared {
			return nil
		}
		own := false
		c.scan(s, pages, func(_ uint64, p Page) bool { own = own || p == Private; return !own })
		if whole = own; !own {
			return c.head(s)
		}
	}
	base := c.end
	chunk := make([]byte, 1<<20)
	from, to := s.Start, s.Start // of pages that are to be written
	var failed error
	flush := func() bool {
		for from < to && failed == nil {
			n := min(to-from, uint64(len(chunk)))
			got := c.ReadAt(from, chunk[:n])
			clear(chunk[got:n])
			failed = c.pages(s, base, from, chunk[:n])
			from += n
		}
		return failed == nil && !c.cut
	}
	c.scan(s, pages, func(at uint64, p Page) bool {
		if !whole && p == Absent {
			return true
		}
		if at != to && !flush() {
			return false
		}
		if at != to {
			from = at
		}
		to = at + pageSize
		return true
	})
	flush()
	if s.size > 0 {
		s.offset = base
		c.end = base + pageUp(s.size)
	}
	return failed
}

// pages writes those pages of a map that are not zeros.
func (c *core) pages(s *segment, base, addr uint64, data []byte) error {
	for len(data) > 0 {
		n := 0
		for n < len(data) && !zeros(data[n:n+pageSize]) {
			n += pageSize
		}
		if n > 0 {
			at := addr - s.Start
			if c.written+uint64(n) > MaxCoreBytes || base+at+uint64(n) > maxSparseBytes {
				c.cut = true
				return nil
			}
			if _, err := c.out.WriteAt(data[:n], int64(base+at)); err != nil {
				return err
			}
			c.written += uint64(n)
			s.size = at + uint64(n)
		} else {
			n = pageSize
		}
		data, addr = data[n:], addr+uint64(n)
	}
	return nil
}

func zeros(p []byte) bool {
	for len(p) >= 8 {
		if binary.LittleEndian.Uint64(p) != 0 {
			return false
		}
		p = p[8:]
	}
	return true
}

// scan goes through the pages of a map until each says to stop.
func (c *core) scan(s *segment, pages []Page, each func(addr uint64, p Page) bool) {
	end := s.End
	if (end-s.Start)/pageSize > maxScannedPages {
		end, c.cut = s.Start+maxScannedPages*pageSize, true
	}
	for at := s.Start; at < end; {
		n := min((end-at)/pageSize, uint64(len(pages)))
		if !c.Pages(at, pages[:n]) {
			return
		}
		for i, p := range pages[:n] {
			if !each(at+uint64(i)*pageSize, p) {
				return
			}
		}
		at += n * pageSize
	}
}

// head writes the first page of a file's map, if the file is a program or a library: debuggers find its build id there.
func (c *core) head(s *segment) error {
	page := make([]byte, pageSize)
	if s.Offset != 0 || c.ReadAt(s.Start, page) != len(page) || string(page[:4]) != elf.ELFMAG {
		return nil
	}
	base := c.end
	if err := c.pages(s, base, s.Start, page); err != nil {
		return err
	}
	s.offset, c.end = base, base+pageUp(s.size)
	return nil
}
