package formats

import (
	"bufio"
	"io"
	"io/fs"
	"regexp"

	"github.com/bloodhound-dst/bloodhound/history"
)

// Format is how a file or a folder holds a history: the name of a row of Table.
type Format string

// Row describes a format: how its histories are recognized, how they are read, and what their events are like.
type Row struct {
	Format Format
	// Content is the row of docs/reference/histories.md.
	Content string
	// Tools write it. The help of check names them.
	Tools []string

	// Extension of file names that settles the format, whatever is in the file.
	Extension string
	// Certainty orders the rows by which a file or a folder is recognized; equal ones have the order of the table.
	Certainty Certainty
	// Begins reports whether a file begins like a history of this format. The start of the file is all that it sees.
	Begins func(start []byte) bool
	// Files is a glob of files in a folder that is a history of this format.
	Files string

	// Read reads a file event by event. Without it, histories are folders.
	Read func(in io.Reader, r *Reading, do func(*history.Event) error) error
	// ReadFolder reads a folder whose files match Files.
	ReadFolder func(folder fs.FS) ([]history.Event, error)

	// Sessions: transactions stand in the order of their clients, and have no times.
	Sessions bool
	// Keyed: values may be pairs of a key and the value proper.
	Keyed bool
	// Typed: values are spelt with their types.
	Typed bool
}

// Certainty says how much it means that a file begins like a format, or that a folder has its files.
type Certainty int

const (
	Certain  Certainty = iota // no other format begins so
	Likely                    // a line of it may stand in others
	Fallback                  // others look like it too
)

const (
	Records    Format = "records"
	EDN        Format = "edn"
	JepsenJSON Format = "jepsen-json"
	JepsenLog  Format = "jepsen-log"
	Porcupine  Format = "porcupine"
	Plume      Format = "plume"
	Awdit      Format = "awdit"
	DBCop      Format = "dbcop"
	DBCopJS    Format = "dbcop-json"
	Bincode    Format = "bincode"
	Cobra      Format = "cobra"
	Viper      Format = "viper"
)

// Table has all formats. A file that no row recognizes is Records.
var Table = []Row{
	{
		Format:  Records,
		Content: "[Bloodhound's own](workloads.md#records), one a line or one array",
		Begins:  func(start []byte) bool { return jsonOf(start) == Records },
		Read: func(in io.Reader, _ *Reading, do func(*history.Event) error) error {
			return history.ReadEach(in, do)
		},
	}, {
		Format:    EDN,
		Content:   "Jepsen's maps",
		Tools:     []string{"Jepsen"},
		Extension: ".edn",
		Certainty: Fallback,
		Begins:    looksLikeEDN,
		Read: func(in io.Reader, r *Reading, do func(*history.Event) error) error {
			if r.InOrder {
				return ReadEDNInOrder(in, r.Keyed, do)
			}
			return ReadEDN(in, r.Keyed, do)
		},
		Keyed: true,
		Typed: true,
	}, {
		Format:  JepsenJSON,
		Content: "the same in JSON, as elle-cli reads it",
		Tools:   []string{"Jepsen"},
		Begins:  func(start []byte) bool { return jsonOf(start) == JepsenJSON },
		Read: func(in io.Reader, r *Reading, do func(*history.Event) error) error {
			if r.InOrder {
				return ReadJepsenJSONInOrder(in, r.Keyed, do)
			}
			return ReadJepsenJSON(in, r.Keyed, do)
		},
		Keyed: true,
		Typed: true,
	}, {
		Format:    JepsenLog,
		Content:   "lines of `jepsen.util` (`INFO jepsen.util - 0 :invoke :write 4`)",
		Tools:     []string{"Jepsen"},
		Certainty: Likely,
		Begins:    isJepsenLog,
		Read: func(in io.Reader, _ *Reading, do func(*history.Event) error) error {
			return ReadJepsenLog(in, do)
		},
		Typed: true,
	}, {
		Format:    Porcupine,
		Content:   "Porcupine's EDN with `get`, `put` and `append` of a `:key`. An unwritten key reads as `\"\"`",
		Tools:     []string{"Porcupine"},
		Certainty: Likely,
		Begins:    isPorcupine,
		Read: func(in io.Reader, _ *Reading, do func(*history.Event) error) error {
			return ReadPorcupine(in, do)
		},
	}, {
		Format:   Plume,
		Content:  "`r(key,value,session,transaction)` and `w(...)`: Plume, PolySI, AWDIT. Transaction -1 was aborted",
		Tools:    []string{"Plume", "PolySI", "AWDIT"},
		Begins:   beginsWith(`^[rw]\([0-9]`),
		Read:     inSessions((*sessions).plume, true),
		Sessions: true,
	}, {
		Format:   Awdit,
		Content:  "`w key value`, `-----` between transactions, `=====` between sessions",
		Tools:    []string{"AWDIT"},
		Begins:   beginsWith(`^([rw] +[0-9]|=+\s*\n|-+\s*\n\s*[rw] )`),
		Read:     inSessions((*sessions).awdit, false),
		Sessions: true,
	}, {
		// The lines that divide sessions are AWDIT's, whose row comes before.
		Format:   DBCop,
		Content:  "DBCop's text `[x:=1 y==2]` (`[...]!`: not committed)",
		Tools:    []string{"DBCop"},
		Begins:   beginsWith(`^(//|-+\s*\n|\[\s*([a-zA-Z_]\w*\s*(:=|==)|\]))`),
		Read:     inSessions((*sessions).dbcop, true),
		Sessions: true,
	}, {
		Format:   DBCopJS,
		Content:  "DBCop's JSON",
		Tools:    []string{"DBCop"},
		Begins:   beginsWith(`^(\{\s*"(params|info|start|end|data)"|\[\s*\[\s*(\{\s*"(events|committed)"|\]))`),
		Read:     inSessions((*sessions).dbcopJSON, true),
		Sessions: true,
	}, {
		Format:     Bincode,
		Content:    "DBCop's `history.bincode`, or its folder",
		Tools:      []string{"DBCop"},
		Extension:  ".bincode",
		Files:      bincodeFile,
		Read:       inSessions((*sessions).bincode, true),
		ReadFolder: readBincode,
		Sessions:   true,
	}, {
		Format:     Cobra,
		Content:    "a folder of `*.log`, one session each",
		Tools:      []string{"Cobra"},
		Certainty:  Fallback,
		Files:      "*.log",
		ReadFolder: readCobra,
		Sessions:   true,
	}, {
		Format:     Viper,
		Content:    "a folder of `J*.log`, one session each, with `r`, `w`, `i`, `d` and `range` over integer keys",
		Tools:      []string{"Viper"},
		Files:      viperLogs,
		ReadFolder: readViper,
		Sessions:   true,
	},
}

// beginsWith recognizes a file by a pattern, after white space.
func beginsWith(pattern string) func(start []byte) bool {
	compiled := regexp.MustCompile(pattern)
	return func(start []byte) bool { return compiled.Match(trimLeft(start)) }
}

// inSessions reads a file of transactions over registers. Each becomes an operation named txn of a client that is its session. Events
// are numbered so that each session keeps its order; between sessions their numbers mean nothing. With zero, a read of 0 found the key
// as it was at first if no transaction writes 0 to that key. Errors name the line or the byte.
func inSessions(read func(*sessions, *bufio.Reader) error, zero bool) func(io.Reader, *Reading, func(*history.Event) error) error {
	return func(in io.Reader, _ *Reading, do func(*history.Event) error) error {
		s := &sessions{at: map[string]int{}}
		if err := read(s, bufio.NewReader(in)); err != nil {
			return err
		}
		events, err := s.events(zero)
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
}
