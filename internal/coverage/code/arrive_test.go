package code

import (
	"math/rand/v2"
	"testing"
)

// arrives decodes from a place on until it comes to another, or passes it.
func arrives(text []byte, at, to int) arrival {
	for at < to {
		if text[at] == 0 && at+1 < to && text[at+1] == 0 {
			return blank
		}
		in := decode(text[at:])
		if in.flow == bad {
			return lost
		}
		at += in.length
	}
	if at == to {
		return arrived
	}
	return missed
}

// Decoding each place once tells the same as decoding from each place on.
func TestArrivals(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	usual := []byte{0x48, 0x89, 0x0f, 0xc7, 0xe8, 0x90, 0x8b, 0x45, 0x00, 0x00, 0xc3}
	for range 3000 {
		text := make([]byte, 100)
		for i := range text {
			if text[i] = byte(random.Uint32()); random.IntN(3) > 0 {
				text[i] = usual[random.IntN(len(usual))]
			}
		}
		end := random.IntN(len(text))
		came := make([]arrival, min(end, lead))
		arrivals(text, end, came)
		for i, a := range came {
			if want := arrives(text, end-len(came)+i, end); a != want {
				t.Fatalf("from %d to %d of %x: %d, not %d", end-len(came)+i, end, text, a, want)
			}
		}
	}
}

// Whatever prefixes an instruction has, those that change nothing, too, it is found with all of them. REX counts right before the opcode alone.
func TestPrefixesOfChance(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	harmless := []byte{0x26, 0x2e, 0x36, 0x3e, 0x40, 0x48, 0x4f}
	for range 3000 {
		core := [][]byte{{0x0f, 0xc7, 0xf0}, {0x0f, 0xc7, 0xf8}, {0x0f, 0xa2}, {0x0f, 0x01, 0xd0}, {0x0f, 0xae, 0x20},
			{0xd9, 0x30}, {0xc7, 0xf8, 0, 0, 0, 0}}[random.IntN(7)]
		want, ok := Recognise(core)
		if !ok {
			t.Fatalf("%x is not recognised", core)
		}
		var b []byte
		for range random.IntN(MaxInstruction - len(core) + 1) {
			b = append(b, harmless[random.IntN(len(harmless))])
		}
		if len(b) > 0 && core[1] == 0xc7 && core[2] == 0xf8 && random.IntN(2) == 0 {
			b[random.IntN(len(b))] = 0xf3
			want.Kind = RDPID
		}
		want.Wide = len(b) > 0 && b[len(b)-1]&0xf8 == 0x48
		instruction := append(b, core...)
		in, ok := Recognise(instruction)
		if !ok || in.Kind != want.Kind || in.Length != len(instruction) || in.Wide != want.Wide {
			t.Fatalf("%x is %+v, %v", instruction, in, ok)
		}
		// Behind the end of another instruction that looks like a prefix, and before another one.
		text := append([]byte{0x55, 0x83, 0xe0, 0x48}, instruction...)
		text = append(text, 0x5d, 0xc3)
		s := &stretch{base: 0, text: text, marks: make([]mark, len(text))}
		s.descend(0)
		for _, c := range candidates(text, append(allOpcodes, x87Opcodes...), 100) {
			found, known := s.judge(c, c.Offset)
			if known == proven && (found.Offset != 4 || found.Kind != want.Kind || found.Length != len(instruction)) {
				t.Fatalf("in %x it is %+v", text, found)
			}
			if known == proven {
				want.Length = 0
			}
		}
		if want.Length != 0 {
			t.Fatalf("in %x it is not found", text)
		}
	}
}

// Code that begins behind the no-ops of an assembler is seen, whatever lies before them.
func TestCodeBehindPadding(t *testing.T) {
	long := []byte{0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		pads int
		want int
	}{{5, 1}, {2, 1}, {1, 0}} {
		text := make([]byte, 64)
		for i := range text {
			text[i] = 0x06 // no instruction
		}
		for range c.pads {
			text = append(text, long...)
		}
		text = append(text, 0x0f, 0xc7, 0xf0, 0x73, 0xfb, 0xc3)
		if found, _ := InCode(text); len(found) != c.want {
			t.Errorf("behind %d no-ops: %+v", c.pads, found)
		}
	}
}
