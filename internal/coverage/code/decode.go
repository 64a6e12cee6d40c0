package code

// How long instructions are, and where they lead, is all that blocks need: this decoder knows the forms of x86-64 (Intel SDM
// volume 2, appendix A) with VEX and EVEX, and nothing of what they do. It is strict: what no compiler emits is an error,
// because it means that data is being decoded.

// flow says where control goes after an instruction.
type flow uint8

const (
	bad    flow = iota // no instruction, or one that stands for data
	next               // the instruction behind it
	branch             // that, or target
	jump               // target
	call               // target, and back
	away               // elsewhere: a return, an indirect jump
	stop               // nowhere: a trap
)

// inst is one instruction.
type inst struct {
	flow   flow
	length int
	target int64 // of branch, jump and call: from the end of the instruction
	// disp is the displacement of a memory operand that has no base register but the instruction pointer (relative, from the
	// end of the instruction) or none (absolute), if data is true.
	data, relative, address bool // address: the operand's address is taken, and not what lies there
	disp                    int64
}

// What follows an opcode.
const (
	fNone = iota
	fModRM
	fImm8
	fImm16
	fImmZ     // 4 bytes, or 2 with the operand size prefix
	fModImm8  // ModRM and 1 byte
	fModImmZ  // ModRM and 4 bytes, or 2
	fMoffs    // an address of 8 bytes, or 4 with the address size prefix
	fMovImm   // 4 bytes, 2, or 8 with REX.W
	fRel8     // a relative target
	fRel32    //
	fEnter    // 3 bytes
	fTest     // ModRM, and an immediate if its reg is 0 or 1
	fTwoBytes // 0F
	fPrefix
	fVex2
	fVex3
	fEvex
	fBad
)

// oneByte and twoBytes say what follows the opcodes of the first map and of that behind 0F.
var oneByte, twoBytes = tables()

func tables() (one, two [256]uint8) {
	set := func(t *[256]uint8, form uint8, from, to int) {
		for i := from; i <= to; i++ {
			t[i] = form
		}
	}
	for row := 0; row < 0x40; row += 8 { // arithmetic
		set(&one, fModRM, row, row+3)
		one[row+4], one[row+5] = fImm8, fImmZ
		set(&one, fBad, row+6, row+7)
	}
	one[0x0f] = fTwoBytes
	for _, p := range []int{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3} {
		one[p] = fPrefix
	}
	set(&one, fPrefix, 0x40, 0x4f) // REX
	set(&one, fBad, 0x60, 0x61)
	one[0x62], one[0x63] = fEvex, fModRM
	one[0x68], one[0x69], one[0x6a], one[0x6b] = fImmZ, fModImmZ, fImm8, fModImm8
	set(&one, fBad, 0x6c, 0x6f) // ports
	set(&one, fRel8, 0x70, 0x7f)
	one[0x80], one[0x81], one[0x82], one[0x83] = fModImm8, fModImmZ, fBad, fModImm8
	set(&one, fModRM, 0x84, 0x8f)
	one[0x9a] = fBad
	set(&one, fMoffs, 0xa0, 0xa3)
	one[0xa8], one[0xa9] = fImm8, fImmZ
	set(&one, fImm8, 0xb0, 0xb7)
	set(&one, fMovImm, 0xb8, 0xbf)
	one[0xc0], one[0xc1], one[0xc2], one[0xc4], one[0xc5] = fModImm8, fModImm8, fImm16, fVex3, fVex2
	one[0xc6], one[0xc7], one[0xc8] = fModImm8, fModImmZ, fEnter
	set(&one, fBad, 0xca, 0xcb)
	set(&one, fBad, 0xcd, 0xcf)
	set(&one, fModRM, 0xd0, 0xd3)
	set(&one, fBad, 0xd4, 0xd7)
	set(&one, fModRM, 0xd8, 0xdf)
	set(&one, fRel8, 0xe0, 0xe3)
	set(&one, fBad, 0xe4, 0xe7)
	one[0xe8], one[0xe9], one[0xea], one[0xeb] = fRel32, fRel32, fBad, fRel8
	set(&one, fBad, 0xec, 0xef)
	one[0xf1] = fBad
	one[0xf6], one[0xf7] = fTest, fTest
	set(&one, fBad, 0xfa, 0xfb)
	one[0xfe], one[0xff] = fModRM, fModRM

	set(&two, fModRM, 0, 255)
	two[0x04], two[0x05], two[0x06], two[0x07], two[0x08], two[0x09], two[0x0a] = fBad, fNone, fBad, fBad, fBad, fBad, fBad
	two[0x0b], two[0x0c], two[0x0e], two[0x0f] = fNone, fBad, fNone, fBad
	set(&two, fBad, 0x20, 0x27)
	set(&two, fBad, 0x30, 0x3f)
	two[0x31], two[0x33], two[0x38], two[0x3a] = fNone, fNone, fModRM, fModImm8
	set(&two, fModImm8, 0x70, 0x73)
	two[0x77] = fNone
	set(&two, fBad, 0x78, 0x7b)
	set(&two, fRel32, 0x80, 0x8f)
	two[0xa0], two[0xa1], two[0xa2], two[0xa4] = fNone, fNone, fNone, fModImm8
	two[0xa6], two[0xa7], two[0xa8], two[0xa9], two[0xaa], two[0xac] = fBad, fBad, fNone, fNone, fBad, fModImm8
	two[0xba], two[0xc2] = fModImm8, fModImm8
	set(&two, fModImm8, 0xc4, 0xc6)
	set(&two, fNone, 0xc8, 0xcf)
	return one, two
}

// MaxInstruction is the length of the longest instruction.
const MaxInstruction = 15

// decode decodes the instruction at the start of b.
func decode(b []byte) inst {
	if len(b) > MaxInstruction {
		b = b[:MaxInstruction]
	}
	d := decoder{b: b}
	return d.decode()
}

type decoder struct {
	b        []byte
	at       int
	narrow   bool // operand size prefix
	short    bool // address size prefix
	repeat   bool // F3
	wide     bool // REX.W
	in       inst
	mod, reg uint8
}

func (d *decoder) decode() inst {
	op := uint8(0)
	for {
		if d.at >= len(d.b) {
			return inst{}
		}
		op = d.b[d.at]
		d.at++
		if oneByte[op] != fPrefix {
			break
		}
		d.wide = op&0xf8 == 0x48 // REX counts only as the last prefix
		switch op {
		case 0x66:
			d.narrow = true
		case 0x67:
			d.short = true
		case 0xf3:
			d.repeat = true
		}
	}
	d.in.flow = next
	form := oneByte[op]
	switch form {
	case fTwoBytes:
		return d.twoBytes()
	case fVex2, fVex3, fEvex:
		return d.vector(form)
	}
	switch {
	case op == 0xc2, op == 0xc3:
		d.in.flow = away
	case op == 0xcc, op == 0xf4:
		d.in.flow = stop
	case op == 0xe8:
		d.in.flow = call
	case op == 0xe9, op == 0xeb:
		d.in.flow = jump
	case form == fRel8:
		d.in.flow = branch
	}
	if !d.operands(form) {
		return inst{}
	}
	switch {
	case op == 0x8f && d.reg != 0, op == 0xfe && d.reg > 1, op == 0xff && (d.reg == 3 || d.reg == 5 || d.reg == 7), op&0xfe == 0xc6 && d.reg != 0 && d.reg != 7:
		return inst{}
	case op == 0x8d:
		if d.mod == 3 {
			return inst{}
		}
		d.in.address = true
	case op == 0xff && d.reg == 4:
		d.in.flow = away
	}
	return d.done()
}

func (d *decoder) twoBytes() inst {
	op, ok := d.byte()
	if !ok {
		return inst{}
	}
	form := twoBytes[op]
	switch op {
	case 0x38, 0x3a:
		if _, ok = d.byte(); !ok { // a third byte of opcode
			return inst{}
		}
	case 0x0b:
		d.in.flow = stop
	case 0xb8:
		if !d.repeat {
			return inst{}
		}
	}
	if form == fRel32 {
		d.in.flow = branch
	}
	if !d.operands(form) {
		return inst{}
	}
	if op == 0xb9 || op == 0xff { // ud1, ud0
		d.in.flow = stop
	}
	return d.done()
}

// vector decodes what follows a VEX or EVEX prefix.
func (d *decoder) vector(form uint8) inst {
	size, codes := 1, uint8(1)
	if d.at >= len(d.b) {
		return inst{}
	}
	switch form {
	case fVex3:
		size, codes = 2, d.b[d.at]&0x1f
	case fEvex:
		size, codes = 3, d.b[d.at]&7
		if d.b[d.at]&8 != 0 {
			return inst{}
		}
	}
	d.at += size
	op, ok := d.byte()
	if !ok {
		return inst{}
	}
	operands := uint8(fModRM)
	switch {
	case codes == 3, codes == 1 && (op >= 0x70 && op <= 0x73 || op == 0xc2 || op >= 0xc4 && op <= 0xc6):
		operands = fModImm8
	case codes == 1 && op == 0x77:
		operands = fNone
	case codes == 1, codes == 2, form == fEvex && (codes == 5 || codes == 6):
	default:
		return inst{}
	}
	if !d.operands(operands) {
		return inst{}
	}
	return d.done()
}

func (d *decoder) done() inst {
	if d.at > len(d.b) {
		return inst{}
	}
	d.in.length = d.at
	return d.in
}

func (d *decoder) byte() (uint8, bool) {
	if d.at >= len(d.b) {
		return 0, false
	}
	d.at++
	return d.b[d.at-1], true
}

// signed reads a little-endian number of 1 or 4 bytes.
func (d *decoder) signed(size int) (int64, bool) {
	if d.at+size > len(d.b) {
		return 0, false
	}
	b := d.b[d.at:]
	d.at += size
	if size == 1 {
		return int64(int8(b[0])), true
	}
	return int64(int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)), true
}

func (d *decoder) immZ() int {
	if d.narrow && !d.wide {
		return 2
	}
	return 4
}

func (d *decoder) operands(form uint8) (ok bool) {
	switch form {
	case fNone:
		return true
	case fModRM:
		return d.modRM()
	case fImm8:
		d.at++
	case fImm16:
		d.at += 2
	case fImmZ:
		d.at += d.immZ()
	case fModImm8:
		ok = d.modRM()
		d.at++
		return ok
	case fModImmZ:
		ok = d.modRM()
		d.at += d.immZ()
		return ok
	case fMoffs:
		if d.at += 8; d.short {
			d.at -= 4
		}
	case fMovImm:
		if d.at += d.immZ(); d.wide {
			d.at += 4
		}
	case fRel8:
		d.in.target, ok = d.signed(1)
		return ok
	case fRel32:
		d.in.target, ok = d.signed(4)
		return ok
	case fEnter:
		d.at += 3
	case fTest:
		byteSized := d.b[d.at-1] == 0xf6
		ok = d.modRM()
		if d.reg <= 1 {
			if d.at++; !byteSized {
				d.at += d.immZ() - 1
			}
		}
		return ok
	default:
		return false
	}
	return true
}

func (d *decoder) modRM() bool {
	b, ok := d.byte()
	if !ok {
		return false
	}
	mod, rm := b>>6, b&7
	d.mod, d.reg = mod, b>>3&7
	if mod == 3 {
		return true
	}
	size, bare := 0, false
	if rm == 4 {
		sib, ok := d.byte()
		if !ok {
			return false
		}
		rm = 0
		if sib&7 == 5 && mod == 0 {
			size, bare = 4, true
		}
	}
	switch {
	case mod == 1:
		size = 1
	case mod == 2:
		size, bare = 4, true // of a table that a register counts in, perhaps
	case rm == 5:
		size, bare, d.in.relative = 4, true, true
	}
	if size == 0 {
		return true
	}
	d.in.disp, ok = d.signed(size)
	d.in.data = ok && bare
	return ok
}
