package code

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Kind classifies instructions that a run cannot repeat by itself: the result depends on the processor's random
// numbers, on which processor executes the instruction, or on the machine's activity meanwhile.
type Kind uint8

// Kinds of such instructions. The TSC is not among them, since Linux can trap it everywhere.
const (
	RDRAND   Kind = iota + 1 // a random number
	RDSEED                   // a random number
	RDPID                    // the number of the processor
	LSL                      // of one segment: the number of the processor
	CPUID                    // identifies the processor
	XGETBV                   // which parts of the extended state are in use
	XSAVE                    // stores that beside the state, as do the next two
	XSAVEOPT                 //
	XSAVEC                   //
	XBEGIN                   // a transaction, which any interrupt aborts
	UMWAIT                   // a wait of the machine's time; TPAUSE too
	SGDT                     // an address of the machine's kernel, as do the next ones
	SIDT                     //
	SLDT                     //
	STR                      //
	SMSW                     //
	FNSTENV                  // where x87 executed its last instruction, which a switch of the machine's kernel may set to 0; also the next two
	FNSAVE                   //
	FXSAVE                   //
)

var kindNames = [...]string{"", "rdrand", "rdseed", "rdpid", "lsl", "cpuid", "xgetbv", "xsave", "xsaveopt", "xsavec", "xbegin",
	"umwait", "sgdt", "sidt", "sldt", "str", "smsw",
	"fnstenv", "fnsave", "fxsave"}

func (k Kind) String() string { return kindNames[k] }

// Instruction is one of these. Length is that of the whole instruction, with its prefixes.
type Instruction struct {
	Kind   Kind
	Length int
	Wide   bool // REX.W
	Narrow bool // an operand of 16 bits
	// The operand of ModRM: a register, or memory at Base + Index*Scale + Disp. Registers are numbered as in encodings; NoRegister is none.
	Reg      int // ModRM.reg
	Register int // ModRM.rm where it is a register, NoRegister where it is memory
	Base     int
	Index    int
	Scale    uint64
	Disp     int64 // of XBEGIN the distance to where an aborted one continues
	Relative bool  // to the next instruction
	FS, GS   bool  // relative to that segment
	Short    bool  // an address of 32 bits
}

// NoRegister is no register.
const NoRegister = -1

// Recognise decodes the instruction at the start of b, if it is one of the kinds.
func Recognise(b []byte) (in Instruction, ok bool) {
	in = Instruction{Register: NoRegister, Base: NoRegister, Index: NoRegister}
	at, rex, repeat, repeatNot := 0, byte(0), false, false
	for ; ; at++ {
		if at >= len(b) || at >= MaxInstruction {
			return in, false
		}
		p := b[at]
		if !prefix(p) {
			break
		}
		rex = 0 // the processor passes over REX that is not right before the opcode
		switch {
		case p == 0x66:
			in.Narrow = true
		case p == 0x67:
			in.Short = true
		case p == 0xf2:
			repeat, repeatNot = false, true
		case p == 0xf3:
			repeat, repeatNot = true, false
		case p == 0x64:
			in.FS, in.GS = true, false
		case p == 0x65:
			in.FS, in.GS = false, true
		case isREX(p):
			rex = p
		}
	}
	in.Wide = rex&8 != 0
	if len(b) >= at+2 && b[at] == 0xc7 && b[at+1] == 0xf8 {
		return in.transaction(b, at+2)
	}
	if len(b) >= at+2 && isX87(b[at]) {
		if b[at+1]>>3&7 != 6 || b[at+1]>>6 == 3 {
			return in, false
		}
		if in.Kind = FNSTENV; b[at] == 0xdd {
			in.Kind = FNSAVE
		}
		in.Reg = 6 | int(rex>>2&1)<<3
		n, ok := in.operand(b[at+1:], rex)
		in.Length = at + 1 + n
		return in, ok && in.Length <= MaxInstruction
	}
	if len(b) < at+2 || b[at] != 0x0f {
		return in, false
	}
	op := b[at+1]
	if op == 0xa2 {
		in.Kind, in.Length = CPUID, at+2
		return in, true
	}
	if len(b) < at+3 {
		return in, false
	}
	mod, reg := b[at+2]>>6, b[at+2]>>3&7
	memory := mod != 3
	switch {
	case op == 0xc7 && reg == 6 && !memory && !repeat && !repeatNot:
		in.Kind = RDRAND
	case op == 0xc7 && reg == 7 && !memory && repeat:
		in.Kind = RDPID
	case op == 0xc7 && reg == 7 && !memory && !repeatNot:
		in.Kind = RDSEED
	case op == 0xc7 && reg == 4 && memory && !repeat && !repeatNot && !in.Narrow:
		in.Kind = XSAVEC
	case op == 0xae && reg == 0 && memory && !repeat && !repeatNot && !in.Narrow:
		in.Kind = FXSAVE
	case op == 0xae && reg == 4 && memory && !repeat && !repeatNot && !in.Narrow:
		in.Kind = XSAVE
	case op == 0xae && reg == 6 && memory && !repeat && !repeatNot && !in.Narrow:
		in.Kind = XSAVEOPT
	case op == 0xae && reg == 6 && !memory && (repeatNot || in.Narrow) && !repeat:
		in.Kind = UMWAIT
	case op == 0x03:
		in.Kind = LSL
	case op == 0x01 && b[at+2] == 0xd0 && !repeat && !repeatNot && !in.Narrow:
		in.Kind, in.Length = XGETBV, at+3
		return in, true
	case op == 0x01 && reg == 0 && memory:
		in.Kind = SGDT
	case op == 0x01 && reg == 1 && memory:
		in.Kind = SIDT
	case op == 0x01 && reg == 4:
		in.Kind = SMSW
	case op == 0x00 && reg == 0:
		in.Kind = SLDT
	case op == 0x00 && reg == 1:
		in.Kind = STR
	default:
		return in, false
	}
	in.Reg = int(reg) | int(rex>>2&1)<<3
	n, ok := in.operand(b[at+2:], rex)
	in.Length = at + 2 + n
	return in, ok && in.Length <= MaxInstruction
}

// transaction decodes the distance of XBEGIN, which is at a place of b.
func (in Instruction) transaction(b []byte, at int) (Instruction, bool) {
	size := 4
	if in.Narrow && !in.Wide {
		size = 2
	}
	if in.Kind, in.Length = XBEGIN, at+size; in.Length > min(len(b), MaxInstruction) {
		return in, false
	}
	if size == 2 {
		in.Disp = int64(int16(binary.LittleEndian.Uint16(b[at:])))
	} else {
		in.Disp = int64(int32(binary.LittleEndian.Uint32(b[at:])))
	}
	return in, true
}

// isX87 reports whether an opcode is one of those with FNSTENV and FNSAVE.
func isX87(opcode byte) bool { return opcode == 0xd9 || opcode == 0xdd }

// tellsX87 reports whether an instruction stores the pointers of x87. Bytes that look like one are too many to be watched, and compilers make FXSAVE
// as a program runs, to save registers of which only they read: so those count alone that are proven.
func (k Kind) tellsX87() bool { return k == FNSTENV || k == FNSAVE || k == FXSAVE }

// operand decodes ModRM and what belongs to it; it returns their length.
func (in *Instruction) operand(b []byte, rex byte) (n int, ok bool) {
	mod, rm := b[0]>>6, int(b[0]&7)
	n = 1
	if mod == 3 {
		in.Register = rm | int(rex&1)<<3
		return n, true
	}
	size := [3]int{0, 1, 4}[mod]
	switch {
	case rm == 4:
		if len(b) < 2 {
			return 0, false
		}
		sib := b[1]
		n++
		in.Scale = 1 << (sib >> 6)
		if index := int(sib>>3&7) | int(rex>>1&1)<<3; index != 4 {
			in.Index = index
		}
		if sib&7 == 5 && mod == 0 {
			size = 4
		} else {
			in.Base = int(sib&7) | int(rex&1)<<3
		}
	case rm == 5 && mod == 0:
		size, in.Relative = 4, true
	default:
		in.Base = rm | int(rex&1)<<3
	}
	if len(b) < n+size {
		return 0, false
	}
	switch size {
	case 1:
		in.Disp = int64(int8(b[n]))
	case 4:
		in.Disp = int64(int32(uint32(b[n]) | uint32(b[n+1])<<8 | uint32(b[n+2])<<16 | uint32(b[n+3])<<24))
	}
	return n + size, true
}

// Found is an instruction at a place.
type Found struct {
	Instruction
	Offset uint64               // in the file
	Bytes  [MaxInstruction]byte // the instruction
	Likely bool                 // it lies among code, and what is around it looks like code; of unproven ones only
}

// ChanceVersion changes when Chance finds others than before in a file.
const ChanceVersion = 7

// Findings are the instructions of a file that no run repeats, in order.
type Findings struct {
	Segments []Segment // that were searched
	Found    []Found   // proven to be code: a breakpoint there changes no data
	// Unproven are bytes that look like such instructions where nothing proves that they are code.
	Unproven []Found
}

// Part is a part of a file.
type Part struct{ Offset, Size uint64 }

// Unsearched lists what was not looked through of a part of a file, where programs map it in pages.
func (f *Findings) Unsearched(offset, size, page uint64) (rest []Part) {
	at, end := offset, offset+size
	for at < end {
		next := end // where a segment begins
		i := slices.IndexFunc(f.Segments, func(s Segment) bool {
			from, to := s.Offset&^(page-1), (s.Offset+s.Size+page-1)&^(page-1)
			if from > at {
				next = min(next, from)
			}
			return from <= at && at < to
		})
		if i < 0 {
			rest = append(rest, Part{at, next - at})
			at = next
			continue
		}
		at = (f.Segments[i].Offset + f.Segments[i].Size + page - 1) &^ (page - 1)
	}
	return rest
}

// Chance finds the instructions of these kinds in a file's executable segments. A file that is no program has none. It is a pure function
// of the file's bytes.
func Chance(file []byte) *Findings {
	f, err := open(file)
	if err != nil {
		return &Findings{}
	}
	var proofs *proofs
	out := &Findings{Segments: f.segments}
	for _, segment := range f.segments {
		text := file[segment.Offset : segment.Offset+segment.Size]
		list := candidates(text, allOpcodes, mostInFile)
		if len(list) == mostInFile {
			return &Findings{}
		}
		list = append(list, candidates(text, x87Opcodes, mostOfX87)...)
		slices.SortFunc(list, func(a, b Found) int { return cmp.Compare(a.Offset, b.Offset) })
		for _, c := range list {
			addr := c.Offset + segment.Addr
			if target := addr + uint64(c.Length) + uint64(c.Disp); c.Kind == XBEGIN && f.text(target, target+1) == nil {
				continue
			}
			if proofs == nil {
				proofs = newProofs(f)
			}
			switch in, known := proofs.judge(c, addr); {
			case known == proven:
				in.Offset += segment.Offset
				out.Found = append(out.Found, in)
			case known == unknown && !settled(text, c) && !c.Kind.tellsX87():
				c.Likely = f.text(addr, addr+1) != nil && looksLikeCode(text, c)
				if c.Offset += segment.Offset; c.Likely || c.Kind.Varies() {
					out.Unproven = append(out.Unproven, c)
				}
			}
		}
	}
	sortFound(out.Found)
	sortFound(out.Unproven)
	return out
}

// settled reports whether an instruction gives what never changes, by the code before it.
func settled(text []byte, c Found) bool {
	return c.Kind == LSL && !selects(text, c) || c.Kind == XGETBV && asksEnabled(text, c)
}

// selects reports whether code before an LSL names the segment by which Linux shows the number of the CPU (asm/segment.h). Of other segments LSL
// gives what never changes.
func selects(text []byte, c Found) bool {
	const cpuNode = "\x7b\x00\x00\x00"
	return bytes.Contains(text[max(0, int(c.Offset)-lead):c.Offset], []byte(cpuNode))
}

func sortFound(list []Found) {
	slices.SortFunc(list, func(a, b Found) int { return cmp.Compare(a.Offset, b.Offset) })
}

// prefixes counts the bytes before the opcode of an instruction of chance.
func (f *Found) prefixes() int {
	return slices.IndexFunc(f.Bytes[:], func(b byte) bool { return b == 0x0f || b == 0xc7 || isX87(b) })
}

// InCode finds the instructions in code that is in no file. Those of which it is not sure are left out, and those by which compilers learn
// what they may use: cpuid, and xgetbv where it asks what is enabled. looked is how many places look like one, which are MostInCode at most.
func InCode(text []byte) (found []Found, looked int) {
	list := candidates(text, madeOpcodes, MostInCode)
	looked = len(list)
	return slices.DeleteFunc(list, func(c Found) bool {
		switch target := int64(c.Offset) + int64(c.Length) + c.Disp; {
		case !c.Kind.Varies():
			return true
		case c.Kind == XBEGIN && (target < 0 || target >= int64(len(text))):
			return true
		case c.Kind == XGETBV && asksEnabled(text, c):
			return true
		}
		return !looksLikeCode(text, c)
	}), looked
}

// looksLikeCode reports whether bytes that look like an instruction are likely to be one, where nothing lists functions. What looks like its first
// prefixes may be the end of the instruction before.
func looksLikeCode(text []byte, c Found) bool {
	for end := int(c.Offset) + c.Length; ; c.Offset++ {
		in, ok := Recognise(text[c.Offset:])
		if ok = ok && int(c.Offset)+in.Length == end; ok {
			if c.Instruction = in; likely(text, c) || begins(text, c) {
				return true
			}
		}
		if !prefix(text[c.Offset]) {
			return false
		}
	}
}

// Varies reports whether an instruction gives other results from run to run on one machine. The others tell of the machine itself, apart from the number of
// the processor.
func (k Kind) Varies() bool {
	switch k {
	case RDRAND, RDSEED, RDPID, XSAVE, XSAVEC, XSAVEOPT, UMWAIT, XBEGIN, XGETBV:
		return true
	}
	return false
}

// asksEnabled reports whether an XGETBV follows an instruction that has it ask what is enabled, which never changes.
func asksEnabled(text []byte, c Found) bool {
	before := text[:c.Offset]
	return slices.ContainsFunc(zeroECX, func(code []byte) bool { return bytes.HasSuffix(before, code) })
}

// zeroECX are instructions that put 0 into ECX: xor, sub, mov.
var zeroECX = [][]byte{{0x31, 0xc9}, {0x33, 0xc9}, {0x29, 0xc9}, {0x2b, 0xc9}, {0xb9, 0, 0, 0, 0}}

// begins reports whether nothing was written before an instruction, or no-ops alone, and code follows: a file that lists no functions begins
// anywhere.
func begins(text []byte, c Found) bool {
	if c.Offset < minBlank || !follows(text, c) {
		return false
	}
	return filler(text[c.Offset-minBlank:c.Offset]) || padded(text, int(c.Offset))
}

// padded reports whether the no-ops with which assemblers align code end at a place. The long ones hold zeros, so decoding that begins in
// the middle of one tells nothing.
func padded(text []byte, end int) bool {
	for start := max(0, end-minBlank-MaxInstruction); start <= end-minBlank; start++ {
		at := start
		for at < end && noOperation(text[at:]) {
			at += decode(text[at:]).length
		}
		if at == end {
			return true
		}
	}
	return false
}

// noOperation reports whether an instruction is one of those that do nothing.
func noOperation(b []byte) bool {
	opcode := b[Prefixes(b):]
	return decode(b).flow == next && (opcode[0] == 0x90 || len(opcode) > 1 && opcode[0] == 0x0f && opcode[1] == 0x1f)
}

// Bounds of the places that are looked at, in one file and in one piece of code: a program may consist of nothing else.
const (
	mostInFile = 1 << 18
	mostOfX87  = 1 << 20
	MostInCode = 1 << 14
)

// candidates are places where code looks like one of the instructions, in no order; there may be more if they are the most that are wanted.
func candidates(text []byte, opcodes [][]byte, most int) (list []Found) {
	look := func(at int) {
		in, ok := Recognise(text[at:])
		from := at
		for back := 1; back <= maxPrefixes && back <= at && prefix(text[at-back]); back++ {
			if p, yes := Recognise(text[at-back:]); yes && p.Length > back {
				from, in, ok = at-back, p, true
			}
		}
		if ok {
			f := Found{Instruction: in, Offset: uint64(from)}
			copy(f.Bytes[:], text[from:from+in.Length])
			list = append(list, f)
		}
	}
	for _, opcode := range opcodes {
		for at := 0; len(list) < most; at++ {
			i := bytes.Index(text[at:], opcode)
			if i < 0 {
				break
			}
			at += i
			look(at)
		}
	}
	return list
}

// What instructions begin with behind their prefixes: those that InCode is about, and the others.
var (
	madeOpcodes = [][]byte{{0x0f, 0xc7}, {0x0f, 0xae}, {0xc7, 0xf8}, {0x0f, 0x01, 0xd0}}
	x87Opcodes  = [][]byte{{0xd9}, {0xdd}}
	allOpcodes  = append([][]byte{{0x0f, 0x00}, {0x0f, 0x01}, {0x0f, 0x03}, {0x0f, 0xa2}}, madeOpcodes[:3]...)
)

// Bounds of what is looked at around an instruction.
const (
	maxPrefixes = MaxInstruction - 2 // of the shortest opcode
	lead        = 64                 // how far before it decoding begins
	follow      = 16                 // how many instructions must follow, if control does not go elsewhere
	minBlank    = 16
)

// likely reports whether what looks like an instruction is one, where nothing lists functions: x86 code falls into step after few
// instructions, wherever decoding begins, and what is no code does not decode for long. Tables are full of zeros, which decode, and fall into
// step at once, and so do the operands of long nops: such ways count for nothing, and enough of the others must be left.
func likely(text []byte, c Found) bool {
	from := int(c.Offset)
	var known [lead]arrival
	came := known[:min(from, lead)]
	arrivals(text, from, came)
	var ways [4]int    // by arrival
	if from < lead/2 { // at the very beginning
		came = came[:min(1, len(came))]
		if from == 0 {
			ways[arrived]++
		}
	} else {
		came = came[:len(came)-lead/4+1]
	}
	for _, a := range came {
		ways[a]++
	}
	all := ways[arrived] + ways[missed] + ways[lost]
	return all > 0 && 2*ways[arrived] >= all && 2*all >= ways[blank] && follows(text, c)
}

// follows reports whether code continues from an instruction.
func follows(text []byte, c Found) bool {
	at := int(c.Offset)
	for range follow {
		if at >= len(text) {
			return true
		}
		in := decode(text[at:])
		switch in.flow {
		case bad:
			return len(text)-at < MaxInstruction
		case jump, away, stop:
			return true
		}
		at += in.length
	}
	return true
}

// prefix reports whether a byte is one that instructions of these kinds may have before their opcodes. Many change nothing, and the processor
// takes them all the same.
func prefix(b byte) bool {
	switch b {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3:
		return true
	}
	return isREX(b)
}

// Prefixes counts the bytes before the opcode of the instruction at the start of b.
func Prefixes(b []byte) int {
	return max(0, slices.IndexFunc(b, func(c byte) bool { return !prefix(c) }))
}

func isREX(b byte) bool { return b&0xf0 == 0x40 }

type arrival uint8

const (
	lost arrival = iota // it met what is no code
	missed
	arrived
	blank // it met zeros
)

// arrivals reports how decoding comes to a place from each of the last ones before it.
func arrivals(text []byte, end int, came []arrival) {
	first := end - len(came)
	for i := len(came) - 1; i >= 0; i-- {
		at := first + i
		if text[at] == 0 && at+1 < end && text[at+1] == 0 {
			came[i] = blank // compilers do not write this instruction, add %al, (%rax)
			continue
		}
		in := decode(text[at:])
		next := at + in.length
		switch {
		case in.flow == bad:
			came[i] = lost
		case next < end:
			came[i] = came[next-first]
		case next == end:
			came[i] = arrived
		default:
			came[i] = missed
		}
	}
}
