package debug

import (
	"debug/elf"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Documents that gdb asks for as objects of a process or of the machine (appendix E.4.6 and following of the gdb manual).

// escaped is a text as it stands in XML.
func escaped(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text))
	return b.String()
}

// auxiliary is an entry of a process' auxiliary vector (getauxval(3)), 0 if there is none.
func auxiliary(auxv []byte, kind uint64) uint64 {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == kind {
			return binary.LittleEndian.Uint64(auxv[8:])
		}
	}
	return 0
}

// Places in the structures of link.h: r_debug and link_map.
const (
	debugVersion, debugMap, debugBytes             = 0, 8, 16
	mapBase, mapName, mapDynamic, mapNext, mapPart = 0, 8, 16, 24, 32
)

// Limits of what is read of a process to list its libraries: it may have written anything there.
const (
	maxHeaders   = 256
	maxDynamic   = 512
	maxLibraries = 4096
	maxNameBytes = 4096
)

// libraries is the list of objects that the dynamic linker of a process has mapped. It is empty where it has none, or has not begun its list.
func libraries(w World, node string, pid int) (string, error) {
	auxv, err := w.Auxv(node, pid)
	if err != nil {
		return "", err
	}
	words := func(at uint64, n int) []uint64 {
		b, err := w.Memory(node, pid, at, 8*n)
		if err != nil {
			return nil
		}
		var list []uint64
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, binary.LittleEndian.Uint64(b))
		}
		return list
	}
	var b strings.Builder
	main := uint64(0)
	if first := mapsOf(words, auxv); first != 0 {
		main = first
		for at, n := first, 0; at != 0 && n < maxLibraries; n++ {
			m := words(at, mapPart/8+1)
			if len(m) <= mapNext/8 {
				break
			}
			if name := textAt(w, node, pid, m[mapName/8]); at != main && name != "" {
				fmt.Fprintf(&b, `<library name="%s" lm="%#x" l_addr="%#x" l_ld="%#x" lmid="0x0"/>`, escaped(name), at, m[mapBase/8], m[mapDynamic/8])
			}
			at = m[mapNext/8]
		}
	}
	head := `<library-list-svr4 version="1.0"`
	if main != 0 {
		head += fmt.Sprintf(` main-lm="%#x"`, main)
	}
	return head + ">" + b.String() + "</library-list-svr4>", nil
}

// mapsOf is the address of the first of a process' link maps, that of the program, or 0.
func mapsOf(words func(uint64, int) []uint64, auxv []byte) uint64 {
	const phdr, phnum = 3, 5 // AT_PHDR, AT_PHNUM
	const headerWords = 7
	headers := auxiliary(auxv, phdr)
	list := words(headers, headerWords*int(min(auxiliary(auxv, phnum), maxHeaders)))
	bias, dynamic := uint64(0), uint64(0)
	for ; len(list) >= headerWords; list = list[headerWords:] {
		switch elf.ProgType(uint32(list[0])) {
		case elf.PT_PHDR:
			bias = headers - list[2]
		case elf.PT_DYNAMIC:
			dynamic = list[2]
		}
	}
	if dynamic == 0 {
		return 0
	}
	for list = words(bias+dynamic, 2*maxDynamic); len(list) >= 2 && list[0] != uint64(elf.DT_NULL); list = list[2:] {
		if list[0] != uint64(elf.DT_DEBUG) || list[1] == 0 {
			continue
		}
		if r := words(list[1], debugBytes/8); len(r) == 2 && uint32(r[debugVersion/8]) > 0 {
			return r[debugMap/8]
		}
	}
	return 0
}

// textAt reads a string of a process that ends with a zero.
func textAt(w World, node string, pid int, at uint64) string {
	b, err := w.Memory(node, pid, at, maxNameBytes)
	text, _, ended := strings.Cut(string(b), "\x00")
	if err != nil || !ended {
		return ""
	}
	return text
}

// osdata returns the output of info os: all processes or threads of all nodes. The names of columns are those of Linux.
func (s *Session) osdata(kind string) (string, error) {
	all, err := s.Timeline.World().Threads()
	if err != nil {
		return "", err
	}
	var rows [][][2]string
	number := func(node string, id int) string { return fmt.Sprint(s.number(node, id)) }
	switch kind {
	case "":
		for _, row := range [][2]string{{"processes", "Listing of all processes"}, {"threads", "Listing of all threads"}} {
			rows = append(rows, [][2]string{{"Type", row[0]}, {"Description", row[1]}})
		}
		kind = "types"
	case "processes":
		seen := map[string]bool{}
		for i := range all {
			if t := &all[i]; !seen[number(t.Node, t.PID)] {
				seen[number(t.Node, t.PID)] = true
				rows = append(rows, [][2]string{{"pid", number(t.Node, t.PID)}, {"user", t.Node}, {"command", commandOf(t)}, {"cores", "0"}})
			}
		}
	case "threads":
		for i := range all {
			t := &all[i]
			rows = append(rows, [][2]string{{"pid", number(t.Node, t.PID)}, {"command", commandOf(t)}, {"tid", number(t.Node, t.TID)}, {"core", "0"}})
		}
	default:
		return "", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0"?><!DOCTYPE target SYSTEM "osdata.dtd"><osdata type="%s">`, kind)
	for _, row := range rows {
		b.WriteString("<item>")
		for _, column := range row {
			fmt.Fprintf(&b, `<column name="%s">%s</column>`, column[0], escaped(column[1]))
		}
		b.WriteString("</item>")
	}
	b.WriteString("</osdata>")
	return b.String(), nil
}

// commandOf is the command line of a thread's process.
func commandOf(t *engine.Thread) string {
	if len(t.Args) == 0 {
		return t.Program
	}
	return strings.Join(t.Args, " ")
}
