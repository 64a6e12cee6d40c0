// Package incident reads what was recorded while something went wrong in production: the requests of clients, and what befell the servers.
package incident

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Formats of records.
const (
	Records    = "records"    // JSON lines of operations and faults
	EDN        = "edn"        // a history of Jepsen
	OTLP       = "otlp"       // traces of OpenTelemetry, as JSON
	Kubernetes = "kubernetes" // kubectl get events -o json
	AccessLog  = "access-log" // the common and the combined log format
)

// Formats are all of them.
var Formats = []string{Records, EDN, OTLP, Kubernetes, AccessLog}

// Operation is a request of a client.
type Operation struct {
	TimeNs int64 // since 1970, or since the beginning of the record
	Client string
	Op     string
	Key    string
	Value  string
}

// Fault is one fault of a record: a server or link that failed, and when.
type Fault struct {
	TimeNs int64
	EndNs  int64 // 0: the record does not say when it ended
	Kind   world.FaultKind
	Server string // as the record names it
	// Peer is the other end of a link that is cut; without it, a partition cuts all links of the server. OneWay cuts what Server sends to Peer.
	Peer     string
	OneWay   bool
	AmountNs int64  // how far a clock is off; 0: the record does not say
	Why      string // the words of the record
}

// Timeline merges the operations and faults of one or several records, ordered by time.
type Timeline struct {
	Operations []Operation
	Faults     []Fault
	// Ignored counts what is neither an operation nor a fault, by what it is.
	Ignored map[string]int
	// Begin and End are the first and the last of operations, faults and ends of faults; Last is the last of all records.
	Begin, End, Last Stamp
}

// Stamp is when something was recorded, and where.
type Stamp struct {
	Ns   int64 // as of Operation
	File string
	Line int    // 0: What says where
	What string // such as items[3]
}

func (s Stamp) String() string {
	at := time.Duration(s.Ns).String()
	if s.Ns > 1e17 { // a record of years is a date
		at = time.Unix(0, s.Ns).UTC().Format(time.RFC3339Nano)
	}
	return place(s.File, s.Line, s.What) + " at " + at
}

func place(file string, line int, what string) string {
	if line > 0 {
		file = fmt.Sprintf("%s:%d", file, line)
	}
	if what != "" {
		file += ": " + what
	}
	return file
}

// saw notes a record, and part one that is part of the incident.
func (t *Timeline) saw(s Stamp) {
	if t.Last.File == "" || s.Ns > t.Last.Ns {
		t.Last = s
	}
}

func (t *Timeline) part(s Stamp) {
	t.saw(s)
	if t.Begin.File == "" || s.Ns < t.Begin.Ns {
		t.Begin = s
	}
	if t.End.File == "" || s.Ns > t.End.Ns {
		t.End = s
	}
}

// Until is the end of the incident: a fault whose end is not recorded lasts to the last record of all.
func (t *Timeline) Until() Stamp {
	if t.Last.Ns > t.End.Ns && slices.ContainsFunc(t.Faults, func(f Fault) bool { return f.EndNs == 0 }) {
		return t.Last
	}
	return t.End
}

// longest bounds how long an incident lasts.
const longest = 24 * time.Hour

// Check returns an error if the incident lasts too long to be played, which a record of another day or of another clock makes it.
func (t *Timeline) Check() error {
	first, last := t.Begin, t.Until()
	if apart := time.Duration(last.Ns - first.Ns); apart > longest {
		return fmt.Errorf("%s and %s are %s apart, but an incident lasts at most %s; remove records that do not belong to it, or "+
			"make all files count time from the same moment", first, last, apart, longest)
	}
	return nil
}

// LineError is a line that cannot be read.
type LineError struct {
	File   string
	Line   int // 0: the file as a whole
	Text   string
	Remedy string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s: %s; %s", place(e.File, e.Line, ""), e.Text, e.Remedy)
}

// Read reads one record. Without a format, its content shows it.
func Read(file string, text []byte, format string) (*Timeline, error) {
	if format == "" {
		if format = Detect(text); format == "" {
			return nil, &LineError{file, 1, "the start of the file matches no known format",
				"set it with --format " + strings.Join(Formats, ", --format ")}
		}
	}
	t := &Timeline{Ignored: map[string]int{}}
	var err error
	switch format {
	case Records:
		err = t.records(file, text)
	case EDN:
		err = t.edn(file, text)
	case OTLP:
		err = t.otlp(file, text)
	case Kubernetes:
		err = t.kubernetes(file, text)
	case AccessLog:
		err = t.accessLog(file, text)
	default:
		return nil, fmt.Errorf("unknown format %q; choose one of %s", format, strings.Join(Formats, ", "))
	}
	if err != nil {
		return nil, err
	}
	if len(t.Operations)+len(t.Faults)+len(t.Ignored) == 0 {
		return nil, &LineError{file, 0, "the file has no records", "choose the file with the incident"}
	}
	return t, nil
}

// Detect recognises a format by the beginning of a file.
func Detect(text []byte) string {
	start := strings.TrimSpace(string(text[:min(len(text), 64<<10)]))
	first, _, _ := strings.Cut(start, "\n")
	var object map[string]json.RawMessage
	switch {
	case start == "":
		return ""
	case strings.HasPrefix(start, "{:") || strings.HasPrefix(start, "[{:") || strings.HasPrefix(start, "[\n{:") || strings.HasPrefix(start, "({:"):
		return EDN
	case strings.HasPrefix(start, "{"):
		if json.Unmarshal([]byte(first), &object) == nil {
			switch {
			case object["resourceSpans"] != nil:
				return OTLP
			case object["items"] != nil:
				return Kubernetes
			case object["type"] != nil || object["op"] != nil || object["fault"] != nil:
				return Records
			}
			return ""
		}
		if strings.Contains(start, `"resourceSpans"`) {
			return OTLP
		} else if strings.Contains(start, `"items"`) {
			return Kubernetes
		}
	case logLine.MatchString(first):
		return AccessLog
	}
	return ""
}

// Join merges timelines.
func Join(list []*Timeline) *Timeline {
	all := &Timeline{Ignored: map[string]int{}}
	for _, t := range list {
		all.Operations = append(all.Operations, t.Operations...)
		all.Faults = append(all.Faults, t.Faults...)
		if t.Begin.File != "" {
			all.part(t.Begin)
			all.part(t.End)
		}
		all.saw(t.Last)
		for what, n := range t.Ignored {
			all.Ignored[what] += n
		}
	}
	slices.SortStableFunc(all.Operations, func(a, b Operation) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
	slices.SortStableFunc(all.Faults, func(a, b Fault) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
	return all
}

// IgnoredKinds lists the kinds of records that were ignored, sorted.
func (t *Timeline) IgnoredKinds() []string { return slices.Sorted(maps.Keys(t.Ignored)) }

// openFault adds a fault that a later event ends.
func (t *Timeline) openFault(f Fault) { t.Faults = append(t.Faults, f) }

// end ends the open fault of a server of one of these kinds. It reports whether there was one.
func (t *Timeline) end(server string, atNs int64, kinds ...world.FaultKind) bool {
	for i := len(t.Faults) - 1; i >= 0; i-- {
		if f := &t.Faults[i]; f.Server == server && f.EndNs == 0 && slices.Contains(kinds, f.Kind) {
			f.EndNs = max(atNs, f.TimeNs+1)
			return true
		}
	}
	return false
}
