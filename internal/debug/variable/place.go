package variable

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Memory reads memory of the process; it gives fewer bytes than asked for where a page cannot be read.
type Memory func(address uint64, bytes int) []byte

// Place is a place in the memory of a process.
type Place struct {
	Address uint64
	Bytes   int64
	Type    dwarf.Type // nil if that is not known
}

// Find finds the place of an expression, by what memory holds now:
//
//	NAME           a variable with a place of its own: global, of a package, or static. Where there are several of a name, with what it
//	               is declared in: FILE::NAME, NAMESPACE::NAME, FUNCTION::NAME
//	(TYPE *) 0x... what is there, as gdb prints a pointer to it
//	(*TYPE)(0x...) the same, as delve prints it
//	0x...          a place without a type: bytes says how large it is, 8 if it is 0
//	EXPR.MEMBER, EXPR->MEMBER, EXPR[N]  of structs, arrays and slices, and of what pointers lead to
func (p *Program) Find(expression string, bytes int64, m Memory) (Place, error) {
	place, rest, err := p.root(strings.TrimSpace(expression))
	if err != nil {
		return Place{}, err
	}
	for rest != "" && err == nil {
		place, rest, err = p.part(place, rest, m)
	}
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", expression, err)
	}
	if bytes > 0 {
		place.Bytes, place.Type = bytes, nil
	}
	if place.Type != nil {
		place.Bytes = place.Type.Size()
	}
	return place, nil
}

// root finds what an expression begins with.
func (p *Program) root(expression string) (Place, string, error) {
	if strings.HasPrefix(expression, "(") {
		return p.cast(expression)
	}
	if address, rest, ok := number(expression); ok {
		return Place{Address: address, Bytes: 8}, rest, nil
	}
	v, rest, err := p.named(expression)
	if err != nil {
		return Place{}, "", err
	}
	if v != nil {
		t, err := p.data.Type(v.kind)
		return Place{Address: v.address + p.bias, Type: t}, rest, err
	}
	address, size, err := p.symbol(expression)
	if err == nil && address == 0 {
		err = fmt.Errorf("the program has no variable %s with an address of its own: give its address, as `print "+
			"&%s` in gdb or delve prints it",
			expression, expression)
	}
	return Place{Address: address + p.bias, Bytes: int64(size)}, "", err
}

// number reads an address that an expression begins with.
func number(expression string) (n uint64, rest string, ok bool) {
	end := strings.IndexFunc(expression, func(r rune) bool { return !unicode.IsDigit(r) && !unicode.IsLetter(r) })
	if end < 0 {
		end = len(expression)
	}
	n, err := strconv.ParseUint(expression[:end], 0, 64)
	rest = strings.TrimSpace(expression[end:])
	if strings.HasPrefix(rest, "<") { // gdb adds the symbol
		_, rest, _ = strings.Cut(rest, ">")
	}
	return n, rest, err == nil
}

// cast reads a pointer as debuggers print it.
func (p *Program) cast(expression string) (Place, string, error) {
	form := errors.New("a pointer is written as gdb prints it, (TYPE *) 0x1234, or as delve does, (*TYPE)(0x1234)")
	name, rest, ok := strings.Cut(expression[1:], ")")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	inner, delve := strings.CutPrefix(name, "*")
	if !delve {
		if inner, ok = strings.CutSuffix(name, "*"); !ok {
			return Place{}, "", form
		}
	}
	if delve {
		if rest, ok = strings.CutPrefix(rest, "("); !ok {
			return Place{}, "", form
		}
	}
	address, rest, ok := number(rest)
	if ok && delve {
		rest, ok = strings.CutPrefix(rest, ")")
	}
	if !ok {
		return Place{}, "", form
	}
	t, err := p.typeNamed(strings.Trim(inner, `"`)) // delve writes long names in quotes
	return Place{Address: address, Type: t}, rest, err
}

// bare is a type without names for it and qualifiers of it.
func bare(t dwarf.Type) dwarf.Type {
	for range maxDepth {
		switch of := t.(type) {
		case *dwarf.TypedefType:
			t = of.Type
		case *dwarf.QualType:
			t = of.Type
		default:
			return t
		}
	}
	return t
}

// part finds a part of a place, whose name the rest of an expression begins with.
func (p *Program) part(place Place, rest string, m Memory) (Place, string, error) {
	t := bare(place.Type)
	pointer, isPointer := t.(*dwarf.PtrType)
	if isPointer {
		address, err := p.word(place.Address, m)
		if err != nil {
			return place, "", err
		}
		place, t = Place{Address: address, Type: pointer.Type}, bare(pointer.Type)
	}
	if index, ok := strings.CutPrefix(rest, "["); ok {
		text, rest, _ := strings.Cut(index, "]")
		n, err := strconv.ParseUint(text, 0, 32)
		if err != nil {
			return place, "", fmt.Errorf("[%s] is not an index", text)
		}
		place, err = p.element(place, t, isPointer, n, m)
		return place, rest, err
	}
	name, ok := strings.CutPrefix(rest, "->")
	if !ok {
		if name, ok = strings.CutPrefix(rest, "."); !ok {
			return place, "", fmt.Errorf("%q is neither .MEMBER nor [INDEX]", rest)
		}
	}
	rest = ""
	if end := strings.IndexAny(name, ".[-"); end >= 0 {
		name, rest = name[:end], name[end:]
	}
	s, ok := t.(*dwarf.StructType)
	if !ok {
		return place, "", fmt.Errorf("it is not a struct, so it has no member %s", name)
	}
	f, offset := member(s, name)
	switch {
	case f == nil:
		return place, "", fmt.Errorf("%s has no member %s", s.String(), name)
	case f.BitSize != 0:
		return place, "", fmt.Errorf("%s is a bit-field, which has no address of its own", name)
	}
	return Place{Address: place.Address + uint64(offset), Type: f.Type}, rest, nil
}

// element finds an element of an array or a slice, or of what a pointer leads to.
func (p *Program) element(place Place, t dwarf.Type, isPointer bool, n uint64, m Memory) (Place, error) {
	of := place.Type
	switch s := t.(type) {
	case *dwarf.ArrayType:
		if s.Count >= 0 && n >= uint64(s.Count) {
			return place, fmt.Errorf("the array has %d elements", s.Count)
		}
		of = s.Type
	case *dwarf.StructType:
		array, from := member(s, "array")
		length, at := member(s, "len")
		pointer, ok := (*dwarf.PtrType)(nil), false
		if array != nil && length != nil {
			pointer, ok = bare(array.Type).(*dwarf.PtrType)
		}
		if ok {
			count, err := p.word(place.Address+uint64(at), m)
			if err == nil && n >= count {
				err = fmt.Errorf("the slice has %d elements", count)
			}
			if err != nil {
				return place, err
			}
			if place.Address, err = p.word(place.Address+uint64(from), m); err != nil {
				return place, err
			}
			of = pointer.Type
			break
		}
		if !isPointer {
			return place, fmt.Errorf("%s has no elements", s)
		}
	default:
		if !isPointer {
			return place, fmt.Errorf("it has no elements")
		}
	}
	size := of.Size()
	if size <= 0 {
		return place, fmt.Errorf("the size of %s is not known", of)
	}
	return Place{Address: place.Address + n*uint64(size), Type: of}, nil
}

// word reads a pointer or a length.
func (p *Program) word(address uint64, m Memory) (uint64, error) {
	b := m(address, 8)
	if len(b) != 8 {
		return 0, fmt.Errorf("there is no memory at %#x", address)
	}
	return p.order.Uint64(b), nil
}

// member finds a member of a struct, or of those without a name in it.
func member(s *dwarf.StructType, name string) (*dwarf.StructField, int64) {
	for _, f := range s.Field {
		if f.Name == name {
			return f, f.ByteOffset
		}
		if inner, ok := bare(f.Type).(*dwarf.StructType); ok && f.Name == "" {
			if g, offset := member(inner, name); g != nil {
				return g, f.ByteOffset + offset
			}
		}
	}
	return nil, 0
}
