package incident

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
)

// record is a line of JSON: an event of a history, or a fault.
type record struct {
	history.Event
	Fault string `json:"fault"`
	For   string `json:"for"`
}

// records reads lines of histories (docs/reference/workloads.md), and of faults: {"time_ns": N, "fault": "crash", "node": "n1", "for": "2s"}.
func (t *Timeline) records(file string, text []byte) error {
	line := 0
	for row := range bytes.Lines(text) {
		line++
		if row = bytes.TrimSpace(row); len(row) == 0 {
			continue
		}
		var r record
		if err := json.Unmarshal(row, &r); err != nil {
			return &LineError{file, line, "no line of JSON: " + err.Error(), "correct it, or name another --format"}
		}
		switch {
		case r.Fault != "":
			if !known(r.Fault) {
				return &LineError{file, line, fmt.Sprintf("no kind of fault is called %q", r.Fault), "docs/reference/faults.md lists the kinds"}
			}
			f := Fault{TimeNs: r.TimeNs, Kind: r.Fault, Server: r.Node, Why: r.Fault}
			if r.For != "" {
				d, err := time.ParseDuration(r.For)
				if err != nil || d <= 0 {
					return &LineError{file, line, fmt.Sprintf("%q is no duration", r.For), `write it as "2s"`}
				}
				f.EndNs = f.TimeNs + d.Nanoseconds()
			}
			t.begin(f)
		case r.Type == history.Invoke && r.Op != "":
			t.Operations = append(t.Operations, Operation{r.TimeNs, r.Client, r.Op, r.Key, r.Input})
		case r.Type == history.Ok || r.Type == history.Fail || r.Type == history.Info || r.Type.IsMark():
			t.Ignored["results of operations and marks"]++
		default:
			return &LineError{file, line, "neither an operation nor a fault", `write {"time_ns": 0, "client": "c0", "type": "invoke", "op": "put", "key": "k", "input": "v"} or {"time_ns": 0, "fault": "crash", "node": "n1", "for": "2s"}`}
		}
	}
	return nil
}

func known(kind string) bool { return slices.Contains(fault.Kinds(), fault.Kind(kind)) }

func (t *Timeline) edn(file string, text []byte) error {
	n := nemesis{timeline: t}
	err := formats.ReadEDNWithNemesis(bytes.NewReader(text), func(e *history.Event) error {
		if e.Type != history.Invoke {
			t.Ignored["results of operations"]++
			return nil
		}
		op := map[string]string{"read": "get", "write": "put"}[e.Op]
		t.Operations = append(t.Operations, Operation{e.TimeNs, e.Client, cmp.Or(op, e.Op), cmp.Or(e.Key, "0"), e.Input})
		return nil
	}, n.event)
	if err != nil {
		return &LineError{file, 0, err.Error(), "correct it, or name another --format"}
	}
	n.end()
	return nil
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
			return &LineError{file, line, "no line of the common or combined log format", "correct or remove it, or name another --format"}
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil {
			return &LineError{file, line, fmt.Sprintf("%q is no date", m[2]), "write it as 10/Oct/2000:13:55:36 -0700"}
		}
		op := operationOf[m[3]]
		if op == "" {
			t.Ignored["requests of method "+m[3]]++
			continue
		}
		t.Operations = append(t.Operations, Operation{at.UnixNano(), m[1], op, m[4], ""})
	}
	return nil
}

// operationOf are the operations that methods of HTTP stand for.
var operationOf = map[string]string{"GET": "get", "PUT": "put", "POST": "put", "DELETE": "delete"}

// events is a list of Kubernetes' events.
type events struct {
	Items []struct {
		Reason         string     `json:"reason"`
		Message        string     `json:"message"`
		Count          int        `json:"count"`
		FirstTimestamp *time.Time `json:"firstTimestamp"`
		EventTime      *time.Time `json:"eventTime"`
		LastTimestamp  *time.Time `json:"lastTimestamp"`
		InvolvedObject struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"involvedObject"`
	} `json:"items"`
}

// Reasons of events that mean faults, and those that end them.
var (
	begins = map[string]string{"Killing": "crash", "OOMKilling": "crash", "SystemOOM": "crash", "Evicted": "crash", "Preempting": "crash", "NodeNotReady": "partition", "NetworkNotReady": "partition",
		"Rebooted": "power_loss", "FreeDiskSpaceFailed": "disk_full", "EvictionThresholdMet": "memory_pressure"}
	ends = map[string][]string{"Started": {"crash", "power_loss"}, "NodeReady": {"partition", "power_loss"}, "NodeHasNoDiskPressure": {"disk_full"}, "NodeHasSufficientMemory": {"memory_pressure"}}
)

func (t *Timeline) kubernetes(file string, text []byte) error {
	var list events
	if err := json.Unmarshal(text, &list); err != nil {
		return broken(file, text, err, "write the output of `kubectl get events -o json`")
	}
	type event struct {
		at             int64
		reason, server string
	}
	var sorted []event
	for i, e := range list.Items {
		at := e.EventTime
		for _, other := range []*time.Time{e.LastTimestamp, e.FirstTimestamp} {
			if at == nil || at.IsZero() {
				at = other
			}
		}
		if at == nil || at.IsZero() {
			return &LineError{file, 0, fmt.Sprintf("items[%d], %s, has no time", i, e.Reason), "remove it, or add eventTime"}
		}
		sorted = append(sorted, event{at.UnixNano(), e.Reason, e.InvolvedObject.Name})
	}
	slices.SortStableFunc(sorted, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range sorted {
		if kind := begins[e.reason]; kind != "" {
			t.begin(Fault{TimeNs: e.at, Kind: kind, Server: e.server, Why: e.reason})
		} else if kinds := ends[e.reason]; kinds == nil || !t.end(e.server, e.at, kinds...) {
			t.Ignored["events "+e.reason]++
		}
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
				Kind       int         `json:"kind"`
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

// clientSpan is SPAN_KIND_CLIENT.
const clientSpan = 3

func (t *Timeline) otlp(file string, text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	for in.More() { // one document, or one a line, as a collector's file exporter writes them
		var list traces
		if err := in.Decode(&list); err != nil {
			return broken(file, text, err, "write OTLP as JSON: an object with resourceSpans")
		}
		for _, r := range list.ResourceSpans {
			service := cmp.Or(first(r.Resource.Attributes, "service.instance.id", "service.name"), "client")
			for _, scope := range r.ScopeSpans {
				for _, s := range scope.Spans {
					at, err := strconv.ParseInt(s.Start, 10, 64)
					if err != nil {
						return &LineError{file, 0, fmt.Sprintf("span %q has no time: startTimeUnixNano is %q", s.Name, s.Start), "write nanoseconds since 1970, as text"}
					}
					op := operationOf[first(s.Attributes, "http.request.method", "http.method")]
					key := first(s.Attributes, "url.path", "http.target")
					if op == "" {
						op = dbOperations[strings.ToLower(first(s.Attributes, "db.operation.name", "db.operation"))]
						key = first(s.Attributes, "db.query.parameter.key", "db.collection.name", "db.statement")
					}
					if s.Kind != clientSpan || op == "" || key == "" {
						t.Ignored["spans that are no request of a client"]++
						continue
					}
					t.Operations = append(t.Operations, Operation{at, service, op, key, ""})
				}
			}
		}
	}
	return nil
}

// dbOperations are the operations that the names of databases' requests stand for.
var dbOperations = map[string]string{"get": "get", "range": "get", "set": "put", "put": "put", "del": "delete", "delete": "delete"}

// broken is an error of JSON, with its line.
func broken(file string, text []byte, err error, remedy string) error {
	line := 0
	if at := offsetOf(err); at > 0 {
		line = 1 + bytes.Count(text[:min(int(at), len(text))], []byte("\n"))
	}
	return &LineError{file, line, err.Error(), remedy}
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
