package code

import (
	"cmp"
	"encoding/binary"
	"slices"
)

const breakpoint = 0xcc

// body is the result of decoding a function from its entry to its end.
type body struct {
	atomic  bool     // one of its instructions has a LOCK prefix
	clean   bool     // each byte belongs to an instruction, and each jump leads to the beginning of one
	leaders []uint64 // addresses of blocks beside the entry
	tables  []uint64 // addresses of data that may be tables of an indirect jump
}

// reference is a place of code that other code names as data.
type reference struct {
	target  uint64
	address bool // its address is taken: it may be code all the same
}

// sweep decodes functions one after the other, with buffers that they share.
type sweep struct {
	f          *elfFile
	fixed      bool // addresses are absolute
	starts     []bool
	references []reference
}

// places finds where breakpoints may stand in functions: at their entries, and at the beginnings of blocks. Of a function
// that does not decode without doubt, or that code elsewhere refers to in its middle, there is the entry alone, and nothing
// of one in which other code reads data. atomic reports for each function whether one of its instructions is.
func (f *elfFile) places(functions []function) (places []uint64, atomic []bool) {
	s := sweep{f: f, fixed: f.Type.String() == "ET_EXEC"}
	bodies := make([]body, len(functions))
	for i, fn := range functions {
		bodies[i] = s.body(fn)
	}
	unclean, untouchable := make([]bool, len(functions)), make([]bool, len(functions))
	for _, r := range s.references {
		i, ok := slices.BinarySearchFunc(functions, r.target, func(fn function, a uint64) int { return cmp.Compare(fn.start, a) })
		if !ok {
			i--
		}
		switch {
		case i < 0 || r.target >= functions[i].end, r.address && r.target == functions[i].start:
		case r.address:
			unclean[i] = true
		default:
			untouchable[i] = true
		}
	}
	for i, fn := range functions {
		if untouchable[i] || f.text(fn.start, fn.end)[0] == breakpoint {
			continue
		}
		if in := decode(f.text(fn.start, fn.end)); in.flow == bad {
			continue
		}
		places = append(places, fn.start)
		if bodies[i].clean && !unclean[i] {
			places = append(places, bodies[i].leaders...)
		}
	}
	if len(places) > maxPlaces {
		places = places[:0]
		for i, fn := range functions[:min(len(functions), maxPlaces)] {
			if !untouchable[i] {
				places = append(places, fn.start)
			}
		}
	}
	slices.Sort(places)
	for i := range bodies {
		atomic = append(atomic, bodies[i].atomic)
	}
	return slices.Compact(places), atomic
}

// isAtomic reports whether an instruction has a LOCK prefix (Intel SDM volume 2, 2.1.1).
func isAtomic(in []byte) bool {
	for _, b := range in {
		switch b {
		case 0xf0:
			return true
		case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3:
		default:
			return false
		}
	}
	return false
}

// reached decodes a function that may have data in its middle: only what control leads to counts.
func (s *sweep) reached(fn function) body {
	text := s.f.text(fn.start, fn.end)
	way := stretch{base: fn.start, text: text, marks: make([]mark, len(text))}
	way.descend(0)
	out := body{clean: true}
	for at, m := range way.marks {
		if m&begun == 0 {
			continue
		}
		in := decode(text[at:])
		behind := at + in.length
		out.clean = out.clean && !way.overlaps(at, behind)
		out.atomic = out.atomic || isAtomic(text[at:behind])
		s.refer(in, fn.start+uint64(behind))
		if in.flow != branch && in.flow != jump {
			continue
		}
		places := []int64{int64(behind) + in.target}
		if in.flow == branch {
			places = append(places, int64(behind))
		}
		for _, place := range places {
			if place > 0 && place < int64(len(text)) && way.marks[place] == begun && text[place] != breakpoint {
				out.leaders = append(out.leaders, fn.start+uint64(place))
			}
		}
	}
	slices.Sort(out.leaders)
	out.leaders = slices.Compact(out.leaders)
	return out
}

// refer notes the place of code that an instruction names as data, where pc is the end of the instruction. If what it names is no code, ok is true,
// and table is its address.
func (s *sweep) refer(in inst, pc uint64) (table uint64, ok bool) {
	if !in.data || !in.relative && !s.fixed {
		return 0, false
	}
	target := uint64(in.disp)
	if in.relative {
		target += pc
	}
	if s.f.text(target, target+1) == nil {
		return target, true
	}
	s.references = append(s.references, reference{target, in.address})
	return 0, false
}

// body decodes a function.
func (s *sweep) body(fn function) body {
	if !fn.unwound {
		return s.reached(fn)
	}
	text := s.f.text(fn.start, fn.end)
	if cap(s.starts) < len(text) {
		s.starts = make([]bool, 2*len(text))
	}
	starts := s.starts[:len(text)]
	clear(starts)
	out := body{clean: true}
	indirect := false
	for at := 0; at < len(text); {
		in := decode(text[at:])
		if in.flow == bad {
			out.clean = out.clean && filler(text[at:])
			break
		}
		starts[at] = true
		behind := at + in.length
		out.atomic = out.atomic || isAtomic(text[at:behind])
		pc := fn.start + uint64(behind)
		switch in.flow {
		case branch, jump:
			target := pc + uint64(in.target)
			switch {
			case target >= fn.start && target < fn.end:
				out.leaders = append(out.leaders, target)
			case s.f.text(target, target+1) == nil:
				out.clean = false
			}
			if in.flow == branch && behind < len(text) {
				out.leaders = append(out.leaders, pc)
			}
		case call:
			if target := pc + uint64(in.target); s.f.text(target, target+1) == nil {
				out.clean = false
			}
		case away:
			indirect = true
		}
		if table, ok := s.refer(in, pc); ok && len(out.tables) < maxTables {
			out.tables = append(out.tables, table)
		}
		at = behind
	}
	if out.clean && indirect {
		for _, table := range out.tables {
			out.leaders = append(out.leaders, s.targets(table, fn, starts)...)
		}
	}
	out.tables = nil
	slices.Sort(out.leaders)
	out.leaders = slices.Compact(out.leaders)
	for _, l := range out.leaders {
		if !starts[l-fn.start] {
			out.clean = false
		}
	}
	out.leaders = slices.DeleteFunc(out.leaders, func(l uint64) bool { return text[l-fn.start] == breakpoint || l == fn.start })
	return out
}

// filler reports whether there are only zeros: what assemblers put behind a function's end.
func filler(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// Bounds of the tables of an indirect jump.
const (
	maxTables  = 256
	maxEntries = 4096
)

// targets are the blocks of a function that a table of its indirect jumps leads to: distances from the table, as compilers
// of C, C++ and Rust write them, or addresses. What only looks like a table does no harm: all that it can name are
// beginnings of instructions.
func (s *sweep) targets(table uint64, fn function, starts []bool) []uint64 {
	var found []uint64
	b := s.f.bytesAt(table)
	le := binary.LittleEndian
	for i := 0; i+4 <= len(b) && i < 4*maxEntries; i += 4 {
		target := table + uint64(int64(int32(le.Uint32(b[i:]))))
		if target <= fn.start || target >= fn.end || !starts[target-fn.start] {
			break
		}
		found = append(found, target)
	}
	for i := 0; i+8 <= len(b) && i < 8*maxEntries; i += 8 {
		target := le.Uint64(b[i:])
		if target <= fn.start || target >= fn.end || !starts[target-fn.start] {
			break
		}
		found = append(found, target)
	}
	return found
}
