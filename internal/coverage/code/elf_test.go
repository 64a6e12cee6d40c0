package code

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
)

// program builds an ELF file of one segment, which is code, with a table of symbols.
func program(text, symbols, names []byte, flags elf.SectionFlag) []byte {
	const codeAt, addr = 0x1000, 0x400000
	var b bytes.Buffer
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: addr + codeAt, Phoff: 64,
		Shoff:  uint64(codeAt + len(text) + len(symbols) + len(names)),
		Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: 4, Shstrndx: 3}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	put(h)
	put(elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: codeAt, Vaddr: addr + codeAt,
		Filesz: uint64(len(text)), Memsz: uint64(len(text)), Align: 4096})
	b.Write(make([]byte, codeAt-b.Len()))
	b.Write(text)
	b.Write(symbols)
	b.Write(names)
	put(elf.Section64{})
	put(elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: addr + codeAt,
		Off: codeAt, Size: uint64(len(text))})
	put(elf.Section64{Type: uint32(elf.SHT_SYMTAB), Flags: uint64(flags), Off: uint64(codeAt + len(text)), Size: uint64(len(symbols)), Link: 3, Entsize: 24})
	put(elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: uint64(codeAt + len(text) + len(symbols)), Size: uint64(len(names))})
	return b.Bytes()
}

// A file that was made to fill memory does not: the memory for what is read is in proportion to the file's size.
func TestHostileFiles(t *testing.T) {
	random := []byte("\x48\x0f\xc7\xf0\x31\xff\xb8\x3c\x00\x00\x00\x0f\x05")
	symbol := func(name uint32) []byte {
		b, _ := binary.Append(nil, binary.LittleEndian, elf.Sym64{Name: name, Info: uint8(elf.STT_FUNC), Shndx: 1, Value: 0x401000, Size: 4})
		return b
	}
	var packed bytes.Buffer
	binary.Write(&packed, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: 1 << 30, Addralign: 8})
	z := zlib.NewWriter(&packed)
	for range 1 << 10 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	one := append([]byte{0}, append(bytes.Repeat([]byte{'n'}, 1<<20), 0)...)
	for name, c := range map[string]struct {
		file  []byte
		found int
	}{
		"plain":                  {program(random, symbol(1), []byte("\x00name\x00"), 0), 1},
		"one name for all":       {program(random, bytes.Repeat(symbol(1), 1<<11), one, 0), 1},
		"compressed symbols":     {program(random, packed.Bytes(), []byte{0}, elf.SHF_COMPRESSED), 1},
		"nothing but candidates": {program(bytes.Repeat([]byte("\x0f\xc7\xf0\x06"), 1<<20), symbol(1), []byte("\x00name\x00"), 0), 0},
		"a name for sections": {bytes.Replace(program(random, symbol(1), one, 0), []byte{0, 0, 0, 0, 1, 0, 0, 0, 6},
			[]byte{1, 0, 0, 0, 1, 0, 0, 0, 6}, 1), 1},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := Chance(c.file)
		Analyse(c.file)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 40*uint64(len(c.file))+64<<20 {
			t.Errorf("%s: %d MiB were taken for a file of %d KiB", name, took>>20, len(c.file)>>10)
		}
		if len(found.Found) != c.found {
			t.Errorf("%s: %d instructions, want %d", name, len(found.Found), c.found)
		}
		if rest := found.Unsearched(0x1000, 4096, 4096); (len(rest) == 0) != (c.found > 0) {
			t.Errorf("%s: not looked through: %v", name, rest)
		}
	}
}

// What programs map beside the segments that were searched is told, in pages.
func TestUnsearched(t *testing.T) {
	found := &Findings{Segments: []Segment{{Offset: 0x1100, Size: 0x1000}, {Offset: 0x5000, Size: 0x800}, {Offset: 0x6000, Size: 1}}}
	for _, c := range []struct {
		offset, size uint64
		want         []Part
	}{
		{0x1000, 0x2000, nil},
		{0x5000, 0x2000, nil},
		{0, 0x1000, []Part{{0, 0x1000}}},
		{0, 0x8000, []Part{{0, 0x1000}, {0x3000, 0x2000}, {0x7000, 0x1000}}},
		{0x2000, 0x1000, nil},
		{0x7000, 0, nil},
	} {
		if got := found.Unsearched(c.offset, c.size, 0x1000); !slices.Equal(got, c.want) {
			t.Errorf("%#x at %#x: %#x, want %#x", c.size, c.offset, got, c.want)
		}
	}
}
