package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

// Named finds the row of a format; it is nil for others.
func Named(f Format) *Row {
	if i := slices.IndexFunc(Table, func(r Row) bool { return r.Format == f }); i >= 0 {
		return &Table[i]
	}
	return nil
}

// OfFolder reports whether histories of this format are folders alone.
func (r *Row) OfFolder() bool { return r.Read == nil }

// byCertainty are the rows in the order in which a history is compared with them.
func byCertainty() []Row {
	return slices.SortedStableFunc(slices.Values(Table), func(a, b Row) int { return cmp.Compare(a.Certainty, b.Certainty) })
}

// Recognize finds the format of a file by its name and by how it begins.
func Recognize(name string, start []byte) Format {
	if extension := path.Ext(name); extension != "" {
		for i := range Table {
			if Table[i].Extension == extension {
				return Table[i].Format
			}
		}
	}
	for _, r := range byCertainty() {
		if r.Begins != nil && r.Begins(start) {
			return r.Format
		}
	}
	return Records
}

// looksLikeEDN distinguishes a history of Jepsen's from lines of JSON: its maps begin with a keyword.
func looksLikeEDN(start []byte) bool {
	text := strings.TrimLeft(string(start), " \t\r\n,[(")
	rest, isMap := strings.CutPrefix(text, "{")
	return strings.HasPrefix(text, ";") || strings.HasPrefix(text, "#") || isMap && strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n,"), ":")
}

func trimLeft(start []byte) []byte { return bytes.TrimLeft(start, " \t\r\n") }

// SkipMark passes over the mark of byte order, with which some editors begin a file.
func SkipMark(b *bufio.Reader) error {
	const mark = "\ufeff"
	if start, _ := b.Peek(len(mark)); string(start) == mark {
		b.Discard(len(mark))
	} else if len(start) > 1 && (start[0] == 0xff && start[1] == 0xfe || start[0] == 0xfe && start[1] == 0xff) {
		return errors.New("the file is UTF-16; save it as UTF-8")
	}
	return nil
}

// Reading says how a file is read.
type Reading struct {
	Format Format
	// Keyed means that each value of EDN or of Jepsen's JSON is a pair of a key and the value proper.
	Keyed bool
	// InOrder sorts the events of these two by their indices.
	InOrder bool
}

// ReadEach reads a history event by event.
func (r *Reading) ReadEach(in io.Reader, do func(*history.Event) error) error {
	row := Named(r.Format)
	if row == nil || row.OfFolder() {
		return fmt.Errorf("no file has the format %q", r.Format)
	}
	return row.Read(in, r, do)
}

// ReadFolder reads a history that is a folder. All such formats have sessions and no times.
func ReadFolder(folder fs.FS) ([]history.Event, error) {
	for _, r := range byCertainty() {
		if r.Files == "" {
			continue
		}
		if names, _ := fs.Glob(folder, r.Files); len(names) > 0 {
			return r.ReadFolder(folder)
		}
	}
	return nil, fmt.Errorf("the folder has %s; name a history first, and the folder after it", noFiles())
}

// noFiles lists the files by which a folder would be a history.
func noFiles() string {
	var list []string
	for _, r := range Table {
		switch {
		case r.Files == "":
		case strings.Contains(r.Files, "*"):
			list = append(list, "no "+r.Files+" of "+r.Tools[0])
		default:
			list = append(list, "no "+r.Files)
		}
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
