package formats

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

// Format is how a file or a folder holds a history.
type Format string

// Formats of one file each.
const (
	Records    Format = "records"     // those that history.Read reads
	EDN        Format = "edn"         // of Jepsen
	JepsenJSON Format = "jepsen-json" // maps as of Jepsen, one after the other or as one array
	JepsenLog  Format = "jepsen-log"  // what jepsen.util printed of a history
	Porcupine  Format = "porcupine"   // of the tests of Porcupine
)

// Formats of transactions that stand in sessions: in the order of their clients, and without times.
const (
	Plume   Format = "plume" // lines of r(key,value,session,transaction), as Plume, PolySI and AWDIT write them
	Awdit   Format = "awdit" // the text of AWDIT's tests: "w key value", ----- between transactions, ===== between sessions
	DBCop   Format = "dbcop" // the text of DBCop: [x:=1 y==2], --- between sessions
	DBCopJS Format = "dbcop-json"
	Bincode Format = "bincode" // history.bincode of DBCop
	Cobra   Format = "cobra"   // a folder of logs
	Viper   Format = "viper"   // a folder of logs
)

// Formats are all of them.
var Formats = []Format{Records, EDN, JepsenJSON, JepsenLog, Porcupine, Plume, Awdit, DBCop, DBCopJS, Bincode, Cobra, Viper}

// InSessions reports whether histories of this format have sessions, and no times.
func (f Format) InSessions() bool {
	return !slices.Contains([]Format{Records, EDN, JepsenJSON, JepsenLog, Porcupine}, f)
}

// OfFolder reports whether histories of this format are folders.
func (f Format) OfFolder() bool { return f == Cobra || f == Viper }

// Keyed reports whether the values of this format may be pairs of a key and the value proper.
func (f Format) Keyed() bool { return f == EDN || f == JepsenJSON }

// Typed reports whether the values of this format are spelt with their types.
func (f Format) Typed() bool { return f.Keyed() || f == JepsenLog }

// Recognize finds the format of a file by its name and by how it begins.
func Recognize(name string, start []byte) Format {
	switch path.Ext(name) {
	case ".edn":
		return EDN
	case ".bincode":
		return Bincode
	}
	if f := jsonOf(start); f != "" {
		return f
	}
	if f := sessionsOf(start); f != "" {
		return f
	}
	switch {
	case isJepsenLog(start):
		return JepsenLog
	case isPorcupine(start):
		return Porcupine
	case looksLikeEDN(start):
		return EDN
	}
	return Records
}

// looksLikeEDN distinguishes a history of Jepsen's from lines of JSON: its maps begin with a keyword.
func looksLikeEDN(start []byte) bool {
	text := strings.TrimLeft(string(start), " \t\r\n,[(")
	rest, isMap := strings.CutPrefix(text, "{")
	return strings.HasPrefix(text, ";") || strings.HasPrefix(text, "#") || isMap && strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n,"), ":")
}

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
	switch r.Format {
	case EDN:
		if r.InOrder {
			return ReadEDNInOrder(in, r.Keyed, do)
		}
		return ReadEDN(in, r.Keyed, do)
	case JepsenJSON:
		if r.InOrder {
			return ReadJepsenJSONInOrder(in, r.Keyed, do)
		}
		return ReadJepsenJSON(in, r.Keyed, do)
	case JepsenLog:
		return ReadJepsenLog(in, do)
	case Porcupine:
		return ReadPorcupine(in, do)
	case Records:
		return history.ReadEach(in, do)
	}
	events, err := ReadSessions(in, r.Format)
	if err != nil {
		return err
	}
	for i := range events {
		if err := do(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// ReadFolder reads a history that is a folder: of DBCop, or logs of Viper or Cobra. All have sessions and no times.
func ReadFolder(folder fs.FS) ([]history.Event, error) {
	if f, err := folder.Open("history.bincode"); err == nil {
		defer f.Close()
		return ReadSessions(f, Bincode)
	}
	if isViper(folder) {
		return readViper(folder)
	}
	if logs, _ := fs.Glob(folder, "*.log"); len(logs) > 0 {
		return readCobra(folder)
	}
	return nil, errors.New("the folder has no history.bincode, no *.log of Cobra and no J*.log of Viper; name a history first, and the folder after it")
}
