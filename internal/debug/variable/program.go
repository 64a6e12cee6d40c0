package variable

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Program has the names of a running program.
type Program struct {
	bias      uint64 // from addresses of the file to those of the process
	symbols   []elf.Symbol
	data      *dwarf.Data // nil if the file has no debug information
	addresses []byte      // the section .debug_addr
	order     binary.ByteOrder
}

// Read reads the names of a program: from its file, and from another one with what was stripped from it, which may be nil. entry is the address in the
// process at which the program begins (AT_ENTRY, getauxval(3)).
func Read(file, stripped []byte, entry uint64) (*Program, error) {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	p := &Program{bias: entry - f.Entry, order: f.ByteOrder}
	p.addFile(f)
	if s, err := elf.NewFile(bytes.NewReader(stripped)); err == nil {
		p.addFile(s)
	}
	return p, nil
}

func (p *Program) addFile(f *elf.File) {
	if symbols, err := f.Symbols(); err == nil {
		p.symbols = append(p.symbols, symbols...)
	}
	if p.data != nil || f.Section(".debug_info") == nil && f.Section(".zdebug_info") == nil {
		return
	}
	p.data, _ = f.DWARF()
	if s := f.Section(".debug_addr"); s != nil {
		p.addresses, _ = s.Data()
	}
}

// variable is a variable with a place of its own, for the whole life of the process.
type variable struct {
	name    string // with what it is declared in, from the file on: bank.c::accounts
	address uint64
	kind    dwarf.Offset // its type
}

// Operations of DWARF expressions (DWARF 5, 7.7.1).
const (
	opAddr  = 0x03
	opAddrx = 0xa1
)

// address reads the location of a variable. ok is false where that is no place in memory that it has for itself.
func (p *Program) address(location []byte, base int64) (address uint64, ok bool) {
	switch {
	case len(location) == 9 && location[0] == opAddr:
		return p.order.Uint64(location[1:]), true
	case len(location) > 1 && location[0] == opAddrx:
		i, n := binary.Uvarint(location[1:])
		if at := uint64(base) + 8*i; n == len(location)-1 && at <= uint64(len(p.addresses)) && uint64(len(p.addresses))-at >= 8 {
			return p.order.Uint64(p.addresses[at:]), true
		}
	}
	return 0, false
}

// each gives visit every entry that has a name, with the name that says where it is declared. base is where the addresses of its unit begin in
// .debug_addr. Entries within functions are left out unless functions is set.
func (p *Program) each(functions bool, visit func(e *dwarf.Entry, name string, base int64)) error {
	if p.data == nil {
		return nil
	}
	r := p.data.Reader()
	var scopes []string // the names of the entries around
	var base int64
	declared := map[dwarf.Offset]string{}
	for {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		if e.Tag == 0 {
			scopes = scopes[:max(len(scopes)-1, 0)]
			continue
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if e.Tag == dwarf.TagCompileUnit {
			base, _ = e.Val(dwarf.AttrAddrBase).(int64)
			name = path.Base(name)
		}
		whole := name
		if n := len(scopes); n > 0 && scopes[n-1] != "" && name != "" {
			whole = scopes[n-1] + "::" + name
		}
		if of, ok := e.Val(dwarf.AttrSpecification).(dwarf.Offset); ok && declared[of] != "" {
			whole = declared[of]
		}
		if e.Tag == dwarf.TagVariable || e.Tag == dwarf.TagMember {
			declared[e.Offset] = whole
		}
		if whole != "" {
			visit(e, whole, base)
		}
		if !e.Children {
			continue
		}
		if e.Tag == dwarf.TagSubprogram && !functions {
			r.SkipChildren()
			continue
		}
		if name == "" && len(scopes) > 0 { // such as a block
			whole = scopes[len(scopes)-1]
		}
		scopes = append(scopes, whole)
	}
}

// called reports whether an entry with a whole name may be called by a shorter one.
func called(whole, name string) bool {
	return whole == name || strings.HasSuffix(whole, "::"+name)
}

// begins gives how much of an expression is the name of a variable, 0 if it begins with another one.
func begins(expression, whole string) (length int) {
	for name := whole; ; {
		if rest, ok := strings.CutPrefix(expression, name); ok &&
			(rest == "" || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "->")) {
			return len(name)
		}
		_, after, ok := strings.Cut(name, "::")
		if !ok {
			return 0
		}
		name = after
	}
}

// named finds the variable with whose name an expression begins, and the rest of the expression. Of several such names the longest counts.
func (p *Program) named(expression string) (*variable, string, error) {
	var found []variable
	length := 0
	for _, functions := range []bool{false, true} {
		err := p.each(functions, func(e *dwarf.Entry, whole string, base int64) {
			if e.Tag != dwarf.TagVariable {
				return
			}
			n := begins(expression, whole)
			if n == 0 || n < length {
				return
			}
			location, _ := e.Val(dwarf.AttrLocation).([]byte)
			at, ok := p.address(location, base)
			kind, typed := p.typeOf(e)
			if !ok || !typed {
				return
			}
			if n > length {
				found, length = nil, n
			}
			if !slices.ContainsFunc(found, func(v variable) bool { return v.address == at }) {
				found = append(found, variable{whole, at, kind})
			}
		})
		if err != nil {
			return nil, "", err
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) > 1 {
		var names []string
		for _, v := range found[:min(len(found), maxNamed)] {
			names = append(names, v.name)
		}
		return nil, "", fmt.Errorf("%s may mean %s: give one of them", expression[:length], strings.Join(names, " or "))
	}
	if len(found) == 0 {
		return nil, "", nil
	}
	return &found[0], expression[length:], nil
}

// maxNamed bounds how many variables a message names.
const maxNamed = 8

// typeOf is the type of a variable: its own, or that of its declaration.
func (p *Program) typeOf(e *dwarf.Entry) (dwarf.Offset, bool) {
	for range 4 {
		if t, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			return t, true
		}
		of, ok := e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		if !ok {
			break
		}
		r := p.data.Reader()
		r.Seek(of)
		var err error
		if e, err = r.Next(); err != nil || e == nil {
			break
		}
	}
	return 0, false
}

// symbol is the place of a name that has no debug information.
func (p *Program) symbol(name string) (address uint64, size uint64, err error) {
	for i := range p.symbols {
		s := &p.symbols[i]
		if s.Name != name || s.Value == 0 || elf.ST_TYPE(s.Info) != elf.STT_OBJECT {
			continue
		}
		if address != 0 && address != s.Value {
			return 0, 0, fmt.Errorf("the program has several symbols named %s: give an address", name)
		}
		address, size = s.Value, s.Size
	}
	return address, size, nil
}

// typeNamed finds a type that has a place in memory.
func (p *Program) typeNamed(name string) (dwarf.Type, error) {
	name = strings.TrimSpace(name)
	if of, ok := strings.CutSuffix(name, "*"); ok {
		return p.pointer(of)
	}
	if of, ok := strings.CutPrefix(name, "*"); ok {
		return p.pointer(of)
	}
	for _, word := range []string{"struct ", "union ", "class ", "enum "} {
		name = strings.TrimPrefix(name, word)
	}
	normal := integer(name)
	var at dwarf.Offset
	err := p.each(false, func(e *dwarf.Entry, whole string, _ int64) {
		switch e.Tag {
		case dwarf.TagBaseType:
			if own, _ := e.Val(dwarf.AttrName).(string); at != 0 || integer(own) != normal {
				return
			}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagTypedef:
			if declaration, _ := e.Val(dwarf.AttrDeclaration).(bool); at != 0 || declaration || !called(whole, name) {
				return
			}
		default:
			return
		}
		at = e.Offset
	})
	if err == nil && at == 0 {
		err = fmt.Errorf("the program has no type %s in its debug information; write it as the program does, "+
			"such as long in C, int64 or main.Config in Go",
			name)
	}
	if err != nil {
		return nil, err
	}
	return p.data.Type(at)
}

func (p *Program) pointer(to string) (dwarf.Type, error) {
	t, err := p.typeNamed(to)
	if err != nil {
		return nil, err
	}
	return &dwarf.PtrType{CommonType: dwarf.CommonType{ByteSize: 8}, Type: t}, nil
}

// integer brings the names of an integer type of C to one: gdb writes unsigned long for what gcc calls long unsigned int.
func integer(name string) string {
	words := strings.Fields(name)
	if len(words) > 1 {
		words = slices.DeleteFunc(words, func(w string) bool { return w == "int" })
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
