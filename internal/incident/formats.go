package incident

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// importable are the kinds of faults that a record may name: all but those that befall packets one by one.
func importable() []world.FaultKind {
	return fault.KindsOf(func(r *fault.Row) bool { return r.Place != fault.OnPacket })
}

// faultForm is an example of a line that records a fault.
const faultForm = `{"time_ns": 0, "fault": "crash", "node": "n1", "for": "2s"}`

// records reads lines of histories (docs/reference/workloads.md), and of faults.
func (t *Timeline) records(file string, text []byte) error {
	line := 0
	for row := range bytes.Lines(text) {
		line++
		if row = bytes.TrimSpace(row); len(row) == 0 {
			continue
		}
		var head struct {
			TimeNs *int64          `json:"time_ns"`
			Fault  json.RawMessage `json:"fault"`
			Type   json.RawMessage `json:"type"`
		}
		if err := json.Unmarshal(row, &head); err != nil {
			text := strictjson.Plain(err).Error()
			if !json.Valid(row) {
				text = "not a line of JSON: " + text
			}
			return &LineError{file, line, text, "correct it, or choose another --format"}
		}
		switch {
		case head.Fault == nil && head.Type == nil:
			return &LineError{file, line, "neither an operation nor a fault",
				`write {"time_ns": 0, "client": "c0", "type": "invoke", "op": "put", "key": "k", "input": "v"} or ` + faultForm}
		case head.TimeNs != nil && *head.TimeNs < 0:
			return &LineError{file, line, fmt.Sprintf("time_ns is %d", *head.TimeNs), "count nanoseconds from 1970, or from the beginning of the record"}
		}
		if head.Fault != nil {
			f, err := faultOf(file, line, row)
			if err != nil {
				return err
			}
			t.openFault(f)
			t.part(Stamp{Ns: f.TimeNs, File: file, Line: line})
			t.part(Stamp{Ns: max(f.TimeNs, f.EndNs), File: file, Line: line})
			continue
		}
		var at Stamp
		if head.TimeNs != nil {
			at = Stamp{Ns: *head.TimeNs, File: file, Line: line}
		}
		e := history.Stamp(row, uint64(line), at.Ns)[0]
		switch {
		case e.Type == history.Broken:
			return &LineError{file, line, e.Error, "`bloodhound docs workloads` lists the fields of a record"}
		case e.Type != history.Invoke:
			t.Ignored["results of operations and marks"]++
			t.saw(at)
		case head.TimeNs == nil:
			return &LineError{file, line, "an invoke has no time_ns", "add the time it began, in nanoseconds"}
		default:
			t.Operations = append(t.Operations, Operation{e.TimeNs, e.Client, e.Op, e.Key, e.Input})
			t.part(at)
		}
	}
	return nil
}

// faultOf reads a line of a fault.
func faultOf(file string, line int, row []byte) (Fault, error) {
	var r struct {
		TimeNs *int64 `json:"time_ns"`
		Fault  string `json:"fault"`
		Node   string `json:"node"`
		For    string `json:"for"`
	}
	in := json.NewDecoder(bytes.NewReader(row))
	in.DisallowUnknownFields()
	err := in.Decode(&r)
	if err == nil {
		err = strictjson.Unique(row)
	}
	kind := world.FaultKind(r.Fault)
	switch {
	case err != nil:
		return Fault{}, &LineError{file, line, strictjson.Plain(err).Error(), "write a fault as " + faultForm}
	case !fault.Known(kind):
		return Fault{}, &LineError{file, line, fmt.Sprintf("unknown kind of fault %q", r.Fault), "`bloodhound docs faults` lists the kinds"}
	case !slices.Contains(importable(), kind):
		return Fault{}, &LineError{file, line, r.Fault + " affects single packets, but a fault of an incident must be one event",
			"write another kind: " + world.FaultNames(importable())}
	case r.TimeNs == nil:
		return Fault{}, &LineError{file, line, "a fault has no time_ns", "add the time it began, in nanoseconds"}
	case r.Node == "":
		return Fault{}, &LineError{file, line, "a fault has no node", "add the server it affected"}
	}
	f := Fault{TimeNs: *r.TimeNs, Kind: kind, Server: r.Node, Why: r.Fault}
	lasts := fault.RowOf(kind).Lasts()
	if r.For != "" {
		d, err := time.ParseDuration(r.For)
		switch {
		case err != nil || d <= 0 || d.Nanoseconds() > math.MaxInt64-f.TimeNs:
			return Fault{}, &LineError{file, line, fmt.Sprintf("%q is not a duration", r.For), `write it as "2s"`}
		case !lasts:
			return Fault{}, &LineError{file, line, r.Fault + " has no duration", `remove "for"`}
		}
		f.EndNs = f.TimeNs + d.Nanoseconds()
	} else if !lasts {
		f.EndNs = f.TimeNs + 1
	}
	return f, nil
}

func (t *Timeline) edn(file string, text []byte) error {
	n := nemesis{timeline: t, file: file}
	err := formats.ReadEDNWithNemesis(bytes.NewReader(text), keyed(text), func(line int, e *history.Event) error {
		at := Stamp{Ns: e.TimeNs, File: file, Line: line}
		if e.Type != history.Invoke {
			t.Ignored["results of operations"]++
			t.saw(at)
			return nil
		}
		op := map[string]string{"read": "get", "write": "put"}[e.Op]
		t.Operations = append(t.Operations, Operation{e.TimeNs, e.Client, cmp.Or(op, e.Op), cmp.Or(e.Key, "0"), e.Input})
		t.part(at)
		return nil
	}, n.event)
	if err == nil {
		err = n.end()
	}
	var placed *LineError
	if errors.As(err, &placed) {
		return placed
	}
	if err != nil {
		return &LineError{file, 0, err.Error(), "correct it, or choose another --format"}
	}
	return nil
}

// keyed reports whether reads and writes of a history name their keys as jepsen.independent does: each value is a pair of a key and the value proper.
func keyed(text []byte) bool {
	pairs := 0
	err := formats.ReadEDN(bytes.NewReader(text), false, func(e *history.Event) error {
		if e.Type != history.Invoke || e.Op != "read" && e.Op != "write" {
			return nil
		}
		var pair []json.RawMessage
		if e.Key != "" || json.Unmarshal([]byte(e.Input), &pair) != nil || len(pair) != 2 {
			return errors.New("a value that is not a pair")
		}
		pairs++
		return nil
	})
	return err == nil && pairs > 0
}

// logLine is a line of the common or the combined log format (httpd.apache.org/docs/current/logs.html).
var logLine = regexp.MustCompile(`^(\S+) \S+ \S+ \[([^\]]+)\] "([A-Z]+) (\S+)(?: [^"]*)?" (\d{3}) (\S+)(?: "[^"]*" "[^"]*")?(?: .*)?$`)

func (t *Timeline) accessLog(file string, text []byte) error {
	line := 0
	for row := range bytes.Lines(text) {
		line++
		if row = bytes.TrimSpace(row); len(row) == 0 {
			continue
		}
		m := logLine.FindStringSubmatch(string(row))
		if m == nil {
			return &LineError{file, line, "not a line of the common or combined log format", "correct or remove it, or choose another --format"}
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil {
			return &LineError{file, line, fmt.Sprintf("%q is not a date", m[2]), "write it as 10/Oct/2000:13:55:36 -0700"}
		}
		ns, ok := sinceEpoch(at)
		if !ok {
			return &LineError{file, line, fmt.Sprintf("%q is not a time from 1970 to 2262", m[2]), "correct or remove it"}
		}
		op := operationOf[m[3]]
		stamp := Stamp{Ns: ns, File: file, Line: line}
		if op == "" {
			t.Ignored["requests of method "+m[3]]++
			t.saw(stamp)
			continue
		}
		t.Operations = append(t.Operations, Operation{ns, m[1], op, m[4], ""})
		t.part(stamp)
	}
	return nil
}

// sinceEpoch are the nanoseconds since 1970, if 63 bits can have them.
func sinceEpoch(at time.Time) (ns int64, ok bool) {
	s := at.Unix()
	return at.UnixNano(), s >= 0 && s < math.MaxInt64/1_000_000_000
}

// operationOf are the operations that methods of HTTP stand for.
var operationOf = map[string]string{"GET": "get", "PUT": "put", "POST": "put", "DELETE": "delete"}

// events is a list of Kubernetes' events.
type events struct {
	Items []struct {
		Reason         string `json:"reason"`
		FirstTimestamp string `json:"firstTimestamp"` // of RFC 3339; nothing for null
		EventTime      string `json:"eventTime"`
		LastTimestamp  string `json:"lastTimestamp"`
		InvolvedObject struct {
			Name string `json:"name"`
		} `json:"involvedObject"`
	} `json:"items"`
}

// Reasons of events that mean faults, and those that end them.
var (
	begins = map[string]world.FaultKind{"Killing": "crash", "OOMKilling": "crash", "SystemOOM": "crash", "Evicted": "crash",
		"Preempting": "crash", "NodeNotReady": "partition", "NetworkNotReady": "partition",
		"Rebooted": "power_loss", "FreeDiskSpaceFailed": "disk_full", "EvictionThresholdMet": "memory_pressure"}
	ends = map[string][]world.FaultKind{"Started": {"crash", "power_loss"}, "NodeReady": {"partition", "power_loss"},
		"NodeHasNoDiskPressure": {"disk_full"}, "NodeHasSufficientMemory": {"memory_pressure"}}
)

func (t *Timeline) kubernetes(file string, text []byte) error {
	var list events
	if err := json.Unmarshal(text, &list); err != nil {
		return broken(file, text, 0, err, "write the output of `kubectl get events -o json`")
	}
	type event struct {
		at             Stamp
		reason, server string
	}
	var sorted []event
	for i, e := range list.Items {
		what := fmt.Sprintf("items[%d], %s,", i, e.Reason)
		var at time.Time
		for _, text := range []string{e.EventTime, e.LastTimestamp, e.FirstTimestamp} {
			if text == "" || !at.IsZero() {
				continue
			}
			var err error
			if at, err = time.Parse(time.RFC3339, text); err != nil {
				return &LineError{file, 0, fmt.Sprintf("%s has the time %q", what, text), "write it as 2006-01-02T15:04:05Z"}
			}
		}
		if at.IsZero() {
			return &LineError{file, 0, what + " has no time", "remove it, or add eventTime"}
		}
		ns, ok := sinceEpoch(at)
		if !ok {
			return &LineError{file, 0, fmt.Sprintf("%s has the time %s, which is not from 1970 to 2262", what, at.Format(time.RFC3339)), "correct or remove it"}
		}
		sorted = append(sorted, event{Stamp{Ns: ns, File: file, What: fmt.Sprintf("items[%d]", i)}, e.Reason, e.InvolvedObject.Name})
	}
	slices.SortStableFunc(sorted, func(a, b event) int { return cmp.Compare(a.at.Ns, b.at.Ns) })
	for _, e := range sorted {
		if kind := begins[e.reason]; kind != "" {
			t.openFault(Fault{TimeNs: e.at.Ns, Kind: kind, Server: e.server, Why: e.reason})
		} else if kinds := ends[e.reason]; kinds == nil || !t.end(e.server, e.at.Ns, kinds...) {
			t.Ignored["events "+e.reason]++
			t.saw(e.at)
			continue
		}
		t.part(e.at)
	}
	return nil
}

// traces is an ExportTraceServiceRequest of OTLP in its JSON form (opentelemetry.io/docs/specs/otlp).
type traces struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Spans []struct {
				Name       string      `json:"name"`
				Kind       any         `json:"kind"` // a number, or its name
				Start      string      `json:"startTimeUnixNano"`
				Attributes []attribute `json:"attributes"`
			} `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type attribute struct {
	Key   string `json:"key"`
	Value struct {
		Text string `json:"stringValue"`
	} `json:"value"`
}

func first(list []attribute, names ...string) string {
	for _, name := range names {
		for _, a := range list {
			if a.Key == name && a.Value.Text != "" {
				return a.Value.Text
			}
		}
	}
	return ""
}

// ofClient reports whether the kind of a span is SPAN_KIND_CLIENT, which is 3.
func ofClient(kind any) bool { return kind == 3.0 || kind == "SPAN_KIND_CLIENT" }

func (t *Timeline) otlp(file string, text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	for { // one document, or one a line, as a collector's file exporter writes them
		var list traces
		var document json.RawMessage
		begin := in.InputOffset()
		err := in.Decode(&document)
		switch err {
		case io.EOF:
			return nil
		case nil:
			begin = in.InputOffset() - int64(len(document))
			err = json.Unmarshal(document, &list)
		default:
			err = json.Unmarshal(text[begin:], &document) // whose offset counts from there
		}
		if err != nil {
			return broken(file, text, begin, err, "write OTLP as JSON: an object with resourceSpans")
		}
		for _, r := range list.ResourceSpans {
			service := cmp.Or(first(r.Resource.Attributes, "service.instance.id", "service.name"), "client")
			for _, scope := range r.ScopeSpans {
				for _, s := range scope.Spans {
					at, err := strconv.ParseInt(s.Start, 10, 64)
					if err != nil || at <= 0 {
						return &LineError{file, 0, fmt.Sprintf("span %q has no time: startTimeUnixNano is %q", s.Name, s.Start),
							"write nanoseconds since 1970, as text"}
					}
					stamp := Stamp{Ns: at, File: file, What: fmt.Sprintf("span %q", s.Name)}
					op := operationOf[first(s.Attributes, "http.request.method", "http.method")]
					key := first(s.Attributes, "url.path", "http.target")
					if op == "" {
						op = dbOperations[strings.ToLower(first(s.Attributes, "db.operation.name", "db.operation"))]
						key = first(s.Attributes, "db.query.parameter.key", "db.collection.name", "db.statement")
					}
					if !ofClient(s.Kind) || op == "" || key == "" {
						t.Ignored["spans that are not client requests"]++
						t.saw(stamp)
						continue
					}
					t.Operations = append(t.Operations, Operation{at, service, op, key, ""})
					t.part(stamp)
				}
			}
		}
	}
}

// dbOperations are the operations that the names of databases' requests stand for.
var dbOperations = map[string]string{"get": "get", "range": "get", "set": "put", "put": "put", "del": "delete", "delete": "delete"}

// broken is an error of JSON in a text that begins at an offset of the file, with its line.
func broken(file string, text []byte, begin int64, err error, remedy string) error {
	line := 0
	if at := offsetOf(err); at > 0 {
		line = 1 + bytes.Count(text[:min(int(begin+at), len(text))], []byte("\n"))
	}
	return &LineError{file, line, strictjson.Plain(err).Error(), remedy}
}

func offsetOf(err error) int64 {
	switch e := err.(type) {
	case *json.SyntaxError:
		return e.Offset
	case *json.UnmarshalTypeError:
		return e.Offset
	}
	return 0
}
