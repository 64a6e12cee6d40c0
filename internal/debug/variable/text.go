package variable

import (
	"bytes"
	"debug/dwarf"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits of what is printed of a value.
const (
	maxDepth    = 8
	maxElements = 32
	maxText     = 64 // bytes of a string
)

// Text prints the bytes of a place. Pointers to text are followed in memory.
func (p *Program) Text(place Place, b []byte, m Memory) string {
	if place.Type == nil {
		switch len(b) {
		case 1, 2, 4, 8:
			return strconv.FormatInt(p.signed(b), 10)
		}
		return "0x" + hex.EncodeToString(b)
	}
	return p.text(place.Type, b, m, 0)
}

func (p *Program) unsigned(b []byte) uint64 {
	var whole [8]byte
	if p.order.Uint16([]byte{1, 0}) == 1 {
		copy(whole[:], b)
	} else {
		copy(whole[max(8-len(b), 0):], b)
	}
	return p.order.Uint64(whole[:])
}

func (p *Program) signed(b []byte) int64 {
	unused := 8 * max(8-len(b), 0)
	return int64(p.unsigned(b)) << unused >> unused
}

func (p *Program) text(t dwarf.Type, b []byte, m Memory, depth int) string {
	t = bare(t)
	if size := t.Size(); size < 0 || size > int64(len(b)) || depth == maxDepth {
		return "..."
	} else {
		b = b[:size]
	}
	switch t := t.(type) {
	case *dwarf.BoolType:
		return strconv.FormatBool(p.unsigned(b) != 0)
	case *dwarf.CharType:
		return character(p.signed(b))
	case *dwarf.UcharType:
		return strconv.FormatUint(p.unsigned(b), 10)
	case *dwarf.IntType:
		return strconv.FormatInt(p.signed(b), 10)
	case *dwarf.UintType:
		return strconv.FormatUint(p.unsigned(b), 10)
	case *dwarf.FloatType:
		switch len(b) {
		case 4:
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(p.unsigned(b)))), 'g', -1, 32)
		case 8:
			return strconv.FormatFloat(math.Float64frombits(p.unsigned(b)), 'g', -1, 64)
		}
	case *dwarf.EnumType:
		for _, v := range t.Val {
			if v.Val == p.signed(b) {
				return v.Name
			}
		}
		return strconv.FormatInt(p.signed(b), 10)
	case *dwarf.PtrType:
		address := p.unsigned(b)
		text := fmt.Sprintf("%#x", address)
		if _, ok := bare(t.Type).(*dwarf.CharType); ok && address != 0 {
			text += " " + quoted(m(address, maxText))
		}
		return text
	case *dwarf.ArrayType:
		return p.array(t, b, m, depth)
	case *dwarf.StructType:
		return p.structure(t, b, m, depth)
	}
	return "0x" + hex.EncodeToString(b)
}

// character prints a char as gdb does: the number, and what it stands for.
func character(n int64) string {
	text := strconv.FormatInt(n, 10)
	if n >= ' ' && n <= '~' {
		text += " " + strconv.QuoteRune(rune(n))
	}
	return text
}

// quoted prints text up to its end, a zero.
func quoted(b []byte) string {
	text, _, ended := bytes.Cut(b, []byte{0})
	if !ended && len(b) == maxText {
		return strconv.Quote(string(text)) + "..."
	}
	return strconv.Quote(string(text))
}

func (p *Program) array(t *dwarf.ArrayType, b []byte, m Memory, depth int) string {
	if _, ok := bare(t.Type).(*dwarf.CharType); ok {
		return quoted(b)
	}
	size := t.Type.Size()
	if size <= 0 {
		return "{}"
	}
	var list []string
	for ; int64(len(b)) >= size; b = b[size:] {
		if len(list) == maxElements {
			list = append(list, "...")
			break
		}
		list = append(list, p.text(t.Type, b, m, depth+1))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func (p *Program) structure(t *dwarf.StructType, b []byte, m Memory, depth int) string {
	if t.StructName == "string" && len(t.Field) == 2 && t.Field[0].Name == "str" && t.Field[1].Name == "len" && len(b) == 16 { // of Go
		n := p.unsigned(b[8:])
		text := strconv.Quote(string(m(p.unsigned(b), int(min(n, maxText)))))
		if n > maxText {
			text += "..."
		}
		return text
	}
	var list []string
	for i, f := range t.Field {
		if i == maxElements {
			list = append(list, "...")
			break
		}
		if f.BitSize != 0 || f.ByteOffset < 0 || f.ByteOffset > int64(len(b)) {
			continue
		}
		text := p.text(f.Type, b[f.ByteOffset:], m, depth+1)
		if f.Name != "" {
			text = f.Name + " = " + text
		}
		list = append(list, text)
	}
	return "{" + strings.Join(list, ", ") + "}"
}
