package code

import (
	"cmp"
	"debug/elf"
	"slices"
)

// Most of a file's bytes that look like an instruction of chance are none: they are constants, or the end of one instruction and the beginning
// of the next. A breakpoint there changes what the program reads. So one is set only where decoding proves an instruction: it
// follows control from the entry of a function that the file lists, or it fills a gap between such instructions without a byte to spare.

// stretch is a piece of code and what decoding has shown of it so far.
type stretch struct {
	base   uint64 // the address of text
	text   []byte
	marks  []mark
	whole  bool // all of it is code, so gaps between its instructions are as well
	filled bool // gaps were decoded
	queue  []int
}

// mark says what decoding has shown of a byte. A byte with both marks lies in two instructions that overlap.
type mark uint8

const (
	begun  mark = 1 << iota // an instruction begins here
	within                  // it is a later byte of an instruction
)

// descend follows control from a place to all that it leads to without registers or memory (recursive descent: Schwarz, Debray and
// Andrews, Disassembly of Executable Code Revisited, 2002).
func (s *stretch) descend(from int) {
	s.queue = append(s.queue[:0], from)
	for len(s.queue) > 0 {
		at := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		for at >= 0 && at < len(s.text) && s.marks[at]&begun == 0 {
			in := decode(s.text[at:])
			if in.flow == bad {
				break
			}
			s.note(at, in.length)
			at += in.length
			if in.flow == branch || in.flow == jump || in.flow == call {
				if target := int64(at) + in.target; target >= 0 && target < int64(len(s.text)) {
					s.queue = append(s.queue, int(target))
				}
			}
			if in.flow == jump || in.flow == away || in.flow == stop {
				break
			}
		}
	}
}

// note marks one instruction.
func (s *stretch) note(at, length int) {
	s.marks[at] |= begun
	for i := at + 1; i < at+length; i++ {
		s.marks[i] |= within
	}
}

// fill decodes the gaps that descending has left in a function, such as the cases of a switch. A gap is code if it decodes from its first
// byte to its last.
func (s *stretch) fill() {
	s.filled = true
	var starts, lengths []int
	for at := 0; at < len(s.text); {
		if s.marks[at] != 0 {
			at++
			continue
		}
		starts, lengths = starts[:0], lengths[:0]
		to := at
		for to < len(s.text) && s.marks[to] == 0 {
			in := decode(s.text[to:])
			if in.flow == bad {
				break
			}
			starts, lengths = append(starts, to), append(lengths, in.length)
			to += in.length
		}
		if whole := to == len(s.text) || to < len(s.text) && s.marks[to] == begun; whole {
			for i := range starts {
				s.note(starts[i], lengths[i])
			}
		}
		at = max(to, at+1)
		for at < len(s.text) && s.marks[at] == 0 { // the rest of a gap that is no code
			at++
		}
	}
}

// verdict says what is known of bytes that look like an instruction.
type verdict uint8

const (
	unknown   verdict = iota
	proven            // they are one
	disproven         // they are part of others
)

// judge says what is known of the bytes at an address. The instruction that is there may have more prefixes than its bytes show.
func (s *stretch) judge(c Found, addr uint64) (Found, verdict) {
	at := int(addr - s.base)
	opcode := at + c.prefixes()
	if s.marks[opcode] == 0 && s.whole && !s.filled {
		s.fill()
	}
	if s.marks[opcode] == 0 {
		return c, unknown
	}
	start := opcode
	for s.marks[start]&begun == 0 {
		start--
	}
	end := start + decode(s.text[start:]).length
	if end <= opcode || s.overlaps(start, end) {
		return c, unknown
	}
	in, ok := Recognise(s.text[start:])
	if !ok || start+in.Length != end { // a prefix may make it another one than its bytes alone
		return c, disproven
	}
	c.Instruction, c.Offset = in, c.Offset+uint64(start)-uint64(at)
	c.Bytes = [MaxInstruction]byte{}
	copy(c.Bytes[:], s.text[start:start+in.Length])
	return c, proven
}

// overlaps reports whether another instruction begins within one: both are executed, so neither can be replaced.
func (s *stretch) overlaps(start, end int) bool {
	return s.marks[start] != begun || slices.ContainsFunc(s.marks[start+1:end], func(m mark) bool { return m != within })
}

// proofs are the stretches of one file in which something was looked for.
type proofs struct {
	f         *elfFile
	functions []function // that are listed with their ends, in order
	loose     []uint64   // entries whose ends are not known, in order
	objects   []function // data among the code
	done      map[uint64]*stretch
	left      uint64 // how many more bytes of code without a known end may be decoded
}

func newProofs(f *elfFile) *proofs {
	p := &proofs{f: f, functions: f.functions(), done: map[uint64]*stretch{}, left: maxLooseBytes}
	p.loose = append(p.loose, f.Entry)
	for _, table := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for _, s := range Symbols(f.File, f.bytes, table) {
			switch t := elf.ST_TYPE(s.Info); {
			case s.Section == elf.SHN_UNDEF:
			case t == elf.STT_FUNC && s.Size == 0:
				p.loose = append(p.loose, s.Value)
			case t == elf.STT_OBJECT && f.text(s.Value, s.Value+s.Size) != nil:
				p.objects = append(p.objects, function{start: s.Value, end: s.Value + s.Size})
			}
		}
	}
	slices.Sort(p.loose)
	p.loose = slices.Compact(p.loose)
	slices.SortFunc(p.objects, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	return p
}

// before gives the last of some ranges, which are in order, that begins at an address or before it.
func before(list []function, addr uint64) (function, bool) {
	i, ok := slices.BinarySearchFunc(list, addr, func(fn function, a uint64) int { return cmp.Compare(fn.start, a) })
	if !ok {
		i--
	}
	if i < 0 {
		return function{}, false
	}
	return list[i], true
}

// Bounds of decoding where no end of the code is known: how far it goes from one entry, and in one file. What is decoded from several entries
// overlaps, so a file that lists entries everywhere would keep it busy for hours.
const (
	maxLoose      = 64 << 10
	maxLooseBytes = 32 << 20
)

// stretchAt gives the decoded code around an address, nil if none is known there.
func (p *proofs) stretchAt(addr uint64) *stretch {
	if fn, ok := before(p.functions, addr); ok && addr < fn.end {
		return p.decoded(fn)
	}
	piece := p.f.piece(addr)
	if piece.Size == 0 {
		return nil
	}
	// Between listed functions, from entries without an end.
	from, to := piece.Addr, min(piece.Addr+piece.Size, addr+maxLoose)
	if fn, ok := before(p.functions, addr); ok {
		from = max(from, fn.end)
	}
	if i, _ := slices.BinarySearchFunc(p.functions, addr, func(fn function, a uint64) int { return cmp.Compare(fn.start, a) }); i < len(p.functions) {
		to = min(to, p.functions[i].start)
	}
	i, ok := slices.BinarySearch(p.loose, addr)
	if !ok {
		i--
	}
	if i < 0 || p.loose[i] < from || addr-p.loose[i] > maxLoose {
		return nil
	}
	fn := function{start: p.loose[i], end: min(to, p.loose[i]+2*maxLoose)}
	if s := p.done[fn.start]; s == nil {
		if fn.end-fn.start > p.left {
			return nil
		}
		p.left -= fn.end - fn.start
	}
	return p.decoded(fn)
}

func (p *proofs) decoded(fn function) *stretch {
	if s := p.done[fn.start]; s != nil {
		return s
	}
	text := p.f.text(fn.start, fn.end)
	if text == nil {
		return nil
	}
	s := &stretch{base: fn.start, text: text, marks: make([]mark, len(text)), whole: fn.unwound}
	s.descend(0)
	p.done[fn.start] = s
	return s
}

// judge says what the file proves of bytes that look like an instruction.
func (p *proofs) judge(c Found, addr uint64) (Found, verdict) {
	end := addr + uint64(c.Length)
	if p.f.text(addr, end) == nil {
		return c, unknown // data, or what no section names
	}
	if data, ok := before(p.objects, end-1); ok && addr < data.end {
		return c, unknown
	}
	s := p.stretchAt(addr)
	if s == nil || end > s.base+uint64(len(s.text)) {
		return c, unknown
	}
	return s.judge(c, addr)
}

// Window decides what unproven instructions are by where control arrives as the program runs.
type Window struct {
	stretch stretch
	open    []Found // their offsets are addresses
}

// NewWindow takes the code around unproven instructions, whose offsets are addresses, as base is.
func NewWindow(base uint64, text []byte, unproven []Found) *Window {
	return &Window{stretch{base: base, text: text, marks: make([]mark, len(text))}, unproven}
}

// Clone copies a window.
func (w *Window) Clone() *Window {
	c := *w
	c.stretch.marks, c.open = slices.Clone(w.stretch.marks), slices.Clone(w.open)
	c.stretch.queue = nil
	return &c
}

// Open lists the instructions that are not decided.
func (w *Window) Open() []Found { return w.open }

// Arrive follows control from an address at which a thread is about to execute. It gives the instructions that are proven by that.
func (w *Window) Arrive(addr uint64) (found []Found) {
	at := addr - w.stretch.base
	if at >= uint64(len(w.stretch.text)) || w.stretch.marks[at]&begun != 0 {
		return nil
	}
	w.stretch.descend(int(at))
	w.open = slices.DeleteFunc(w.open, func(c Found) bool {
		in, known := w.stretch.judge(c, c.Offset)
		if known == proven {
			found = append(found, in)
		}
		return known != unknown
	})
	return found
}
