package incident

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Each format is recognised by its beginning, and gives operations and faults with their times.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{Records, `{"time_ns": 5, "client": "a", "type": "invoke", "op": "put", "key": "x", "input": "1"}

{"time_ns": 6, "client": "a", "type": "ok", "op": "put", "key": "x"}
{"time_ns": 7, "fault": "pause", "node": "n1", "for": "2s"}
{"time_ns": 8, "fault": "crash", "node": "n2"}
{"time_ns": 8, "fault": "fsync_fail", "node": "n2"}
{"time_ns": 9, "client": "a", "type": "invoke", "op": "put", "key": 7, "input": 2}
`, `5 a put x 1; 9 a put 7 2; pause n1 7..2000000007 pause; crash n2 8..0 crash; fsync_fail n2 8..9 fsync_fail; 1 results of operations and marks`},
		{EDN, `{:type :invoke, :f :write, :value 3, :process 0, :time 10}
{:type :info, :f :start-partition, :value nil, :process :nemesis, :time 11}
{:type :ok, :f :write, :value 3, :process 0, :time 12}
{:type :invoke, :f :read, :value nil, :process 1, :time 13}
{:type :ok, :f :read, :value 3, :process 1, :time 14}
`, `10 0 put 0 3; 13 1 get 0 ; 1 calls start-partition of the nemesis; 2 results of operations`},
		{Kubernetes, `{"kind": "List",
"items": [
 {"reason": "Started", "lastTimestamp": "1970-01-01T00:00:09Z", "involvedObject": {"kind": "Pod", "name": "p"}},
 {"reason": "Killing", "lastTimestamp": "1970-01-01T00:00:01Z", "involvedObject": {"kind": "Pod", "name": "p"}},
 {"reason": "NodeNotReady", "eventTime": "1970-01-01T00:00:02.5Z", "involvedObject": {"kind": "Node", "name": "w"}},
 {"reason": "Started", "lastTimestamp": "1970-01-01T00:00:03Z", "involvedObject": {"kind": "Pod", "name": "other"}},
 {"reason": "Pulled", "firstTimestamp": "1970-01-01T00:00:04Z", "involvedObject": {"kind": "Pod", "name": "p"}}
]}`, `crash p 1000000000..9000000000 Killing; partition w 2500000000..0 NodeNotReady; 1 events Pulled; 1 events Started`},
		{AccessLog, `10.0.0.1 - bob [01/Jan/1970:00:00:01 +0000] "GET /a?b=c HTTP/1.1" 200 12
10.0.0.2 - - [01/Jan/1970:01:00:02 +0100] "POST /a HTTP/1.1" 503 - "-" "curl \"7\""
10.0.0.2 - - [01/Jan/1970:00:00:03 +0000] "OPTIONS * HTTP/1.1" 200 0
`, `1000000000 10.0.0.1 get /a?b=c ; 2000000000 10.0.0.2 put /a ; 1 requests of method OPTIONS`},
		{OTLP, `{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}, "scopeSpans": [{"spans": [
 {"name": "GET", "kind": 3, "startTimeUnixNano": "7", "attributes": [{"key": "http.request.method", "value": {"stringValue": "GET"}}, {"key": "url.path", "value": {"stringValue": "/cart"}}]},
 {"name": "set", "kind": "SPAN_KIND_CLIENT", "startTimeUnixNano": "8", "attributes": [{"key": "db.operation.name", "value": {"stringValue": "SET"}}, {"key": "db.query.parameter.key", "value": {"stringValue": "k"}}, {"key": "n", "value": {"intValue": "3"}}]},
 {"name": "work", "kind": 1, "startTimeUnixNano": "9"}]}]}]}`, `7 shop get /cart ; 8 shop put k ; 1 spans that are not client requests`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Detect([]byte(c.text)); got != c.name {
				t.Errorf("detected %q", got)
			}
			line, err := Read("file", []byte(c.text), "")
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(line); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Calls of a nemesis become faults of the nodes that their results name, until a call ends them.
func TestNemesis(t *testing.T) {
	const ask = "{:type :info, :process :nemesis, :time %d, :f %s, :value %s}\n"
	for _, c := range []struct {
		name  string
		calls []string // name, value as it began, value as it ended
		want  string
	}{
		{"kill and start", []string{
			":kill", ":one", `{"n2" :killed, "n1" :killed}`,
			":kill", ":one", `{"n1" :killed}`,
			":start", ":all", `{"n1" :started, "n2" :already-running, "n3" :already-running}`},
			"crash n1 1..5 nemesis kill; crash n2 1..5 nemesis kill"},
		{"pause and resume", []string{":pause", ":majority", `{"n1" nil}`, ":resume", ":all", `{"n1" "", "n2" ""}`}, "pause n1 1..3 nemesis pause"},
		{"partition", []string{
			":start-partition", ":majority", `[:isolated {"n1" #{"n3"}, "n2" #{"n3"}, "n3" #{"n1" "n2"}}]`,
			":stop-partition", "nil", ":network-healed"},
			"partition n1-n3 1..3 nemesis start-partition; partition n2-n3 1..3 nemesis start-partition"},
		{"partition of one direction", []string{":start", "nil", `[:isolated {"n1" #{"n2"}}]`}, "partition n2->n1 1..0 nemesis start"},
		{"start and stop of nodes", []string{
			":start-killer", "nil", `{"n1" [:killed "mongod"]}`, ":stop-killer", "nil", `{"n1" :restarted}`,
			":start", "nil", `{"n2" :paused}`, ":stop", "nil", `{"n2" :resumed}`},
			"crash n1 1..3 nemesis start-killer; pause n2 5..7 nemesis start"},
		{"clocks", []string{
			":bump-clock", `{"n1" -2500}`, `{"n1" -2500}`,
			":bump-clock", `{"n1" 1, "n2" 10}`, `{"n1" 1}`,
			":check-clock-offsets", "nil", "nil",
			":reset-clock", "nil", "nil"},
			"clock_skew n1 1..3 by 2500ms nemesis bump-clock; clock_skew n1 3..7 by 1ms nemesis bump-clock; 1 calls check-clock-offsets of the nemesis"},
		{"what is not known", []string{":truncate", "nil", `{"n1" {:file "/a"}}`, ":stop", "nil", `:nothing`, ":heal", "nil", "nil"},
			"1 calls heal of the nemesis; 1 calls stop of the nemesis; 1 calls truncate of the nemesis"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := ""
			for i := 0; i < len(c.calls); i += 3 {
				text += fmt.Sprintf(ask, i/3*2, c.calls[i], c.calls[i+1]) + fmt.Sprintf(ask, i/3*2+1, c.calls[i], c.calls[i+2])
			}
			line, err := Read("file", []byte(text), EDN)
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(line); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	once, err := Read("file", []byte(`{:type :info, :process :nemesis, :time 4, :f :kill, :value {"n1" :killed}}
{:type :info, :process :nemesis, :time 9, :f :start, :value {"n1" :started}}`), EDN)
	if err != nil || summary(once) != "crash n1 4..9 nemesis kill" {
		t.Errorf("calls that are recorded once: %v %v", once, err)
	}
}

// summary is a timeline as one line.
func summary(line *Timeline) string {
	var parts []string
	for _, o := range line.Operations {
		parts = append(parts, fmt.Sprintf("%d %s %s %s %s", o.TimeNs, o.Client, o.Op, o.Key, o.Value))
	}
	for _, f := range line.Faults {
		target, by := f.Server, ""
		switch {
		case f.OneWay:
			target += "->" + f.Peer
		case f.Peer != "":
			target += "-" + f.Peer
		}
		if f.AmountNs > 0 {
			by = fmt.Sprintf("by %dms ", f.AmountNs/1e6)
		}
		parts = append(parts, fmt.Sprintf("%s %s %d..%d %s%s", f.Kind, target, f.TimeNs, f.EndNs, by, f.Why))
	}
	for _, what := range line.IgnoredKinds() {
		parts = append(parts, fmt.Sprintf("%d %s", line.Ignored[what], what))
	}
	return strings.Join(parts, "; ")
}

// What cannot be read is an error with its place and a remedy.
func TestBroken(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"", "hello\n", "file:1: the start of the file matches no known format; set it with --format records"},
		{"", `{"a": 1}`, "matches no known format"},
		{"", "", "matches no known format"},
		{Records, "\n\n", "file: the file has no records"},
		{Records, "{\"time_ns\": 1, \"client\": \"a\", \"type\": \"invoke\", \"op\": \"put\"}\n{\"type\": \n",
			"file:2: not a line of JSON: it ends within a value; correct"},
		{Records, `{"time_ns": "1", "client": "a", "type": "invoke", "op": "put"}`,
			`file:1: "time_ns" is a text, and must be a whole number of 64 bits; correct`},
		{Records, `{"time_ns": 1, "fault": "crash", "node": 1}`, `file:1: "node" is a number, and must be a text; write a fault as`},
		{Records, `{"time_ns": 1, "client": "a", "type": "invoke", "op": 7}`, `file:1: broken history: "op" is a number, and must be a text in "{`},
		{Records, `[1]`, `file:1: the value is an array, and must be an object; correct`},
		{Records, "\n{\"op\": \"put\"}\n", "file:2: neither an operation nor a fault; write"},
		{Records, "\n{\"type\": \"invoked\"}\n", `file:2: broken history: type "invoked" is not one of invoke`},
		{Records, `{"client": "a", "type": "invoke", "op": "put"}`, "file:1: an invoke has no time_ns; add"},
		{Records, `{"time_ns": 1, "client": "a", "type": "invoke", "op": "put", "kye": "k"}`, `file:1: broken history: unknown field "kye"`},
		{Records, `{"time_ns": -1, "fault": "crash", "node": "n1"}`, "file:1: time_ns is -1; count"},
		{Records, `{"fault": "crash", "node": "n1"}`, "file:1: a fault has no time_ns; add"},
		{Records, `{"time_ns": 1, "fault": "crash"}`, "file:1: a fault has no node; add"},
		{Records, `{"time_ns": 1, "fault": "crash", "node": "n1", "fr": "2s"}`, `file:1: unknown field "fr"; write a fault as {"time_ns": 0,`},
		{Records, `{"time_ns": 1, "fault": "crash", "node": "n1", "node": "n2"}`, `file:1: the key "node" stands twice in an object; write`},
		{Records, `{"time_ns": 1, "fault": "drop", "node": "n1"}`,
			"file:1: drop affects single packets, but a fault of an incident must be one event; write another kind: partition, clog,"},
		{Records, `{"time_ns": 1, "fault": "reset", "node": "n1", "for": "2s"}`, `file:1: reset has no duration; remove "for"`},
		{Records, `{"time_ns": 9223372036854775807, "fault": "crash", "node": "n1", "for": "2s"}`, `file:1: "2s" is not a duration`},
		{Records, `{"fault": "explosion", "node": "n1"}`, `file:1: unknown kind of fault "explosion"; ` + "`bloodhound docs faults`"},
		{Records, `{"time_ns": 1, "fault": "crash", "node": "n1", "for": "-2s"}`, `file:1: "-2s" is not a duration`},
		{EDN, "{:type :invoke, :f :read, :process 0, :time 1}\n{:type :ok", "file: line 2"},
		{EDN, "{:type :invoke, :f :read, :process 0, :time 1}\n{:type :ok, :f :read, :process 0}", "file: line 2: :time is missing; it must be a number"},
		{EDN, "{:type :invoke, :f :read, :process 0, :time 99999999999999999999}", "file: line 1: :time is 99999999999999999999; it must be a number"},
		{EDN, "{:type :info, :f :kill, :process :nemesis, :time -1}", "file: line 1: :time is -1; it must be a number"},
		{EDN, "\n{:type :info, :f :bump, :value {\"n1\" -9e18}, :process :nemesis, :time 1}",
			"file:2: bump of n1 by -9000000000000000000 ms, which is more than 292 years; correct"},
		{Kubernetes, "{\n\"items\": [\n{\"reason\": 3}]}", `file:3: "items.reason" is a number, and must be a text; write the output of`},
		{Kubernetes, "{\n\"items\": [\n", "file:3: it ends within a value; write"},
		{Kubernetes, `{"items": [{"reason": "Killing"}]}`, "file: items[0], Killing, has no time"},
		{Kubernetes, `{"items": [{"reason": "Killing", "eventTime": null, "lastTimestamp": "yesterday"}]}`,
			`file: items[0], Killing, has the time "yesterday"; write it as 2006-01-02T15:04:05Z`},
		{Kubernetes, `{"items": [{"reason": "Killing", "lastTimestamp": "9999-12-31T23:59:59Z"}]}`,
			"file: items[0], Killing, has the time 9999-12-31T23:59:59Z, which is not from 1970 to 2262; correct"},
		{AccessLog, "1.1.1.1 - - [01/Jan/1970:00:00:01 +0000] \"GET / HTTP/1.1\" 200 1\nnonsense\n", "file:2: not a line of the common or combined log format"},
		{AccessLog, "1.1.1.1 - - [yesterday] \"GET / HTTP/1.1\" 200 1\n", `file:1: "yesterday" is not a date`},
		{OTLP, "{\"resourceSpans\": [\n]", "file:2: it ends within a value; write OTLP"},
		{OTLP, "{\"resourceSpans\": []}\n\n{\"resourceSpans\": [\n{\"scopeSpans\": [{\"spans\": [{\"name\": 1}]}]}]}",
			`file:4: "resourceSpans.scopeSpans.spans.name" is a number, and must be a text; write OTLP`},
		{OTLP, "{\"resourceSpans\": []}\n\n\n{\"resourceSpans\": [}", "file:4: invalid character '}'"},
		{OTLP, "{\"resourceSpans\": []}\n}\n", "file:2: invalid character '}'"},
		{AccessLog, "1.1.1.1 - - [01/Jan/9999:00:00:01 +0000] \"GET / HTTP/1.1\" 200 1\n", `file:1: "01/Jan/9999:00:00:01 +0000" is not a time from 1970 to 2262`},
		{OTLP, `{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "s"}]}]}]}`, `file: span "s" has no time`},
		{OTLP, `{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "s", "startTimeUnixNano": "0"}]}]}]}`,
			`file: span "s" has no time: startTimeUnixNano is "0"; write`},
		{"pcap", "x", `unknown format "pcap"; choose one of records`},
	} {
		if _, err := Read("file", []byte(c.text), c.format); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %s", c.format, c.text, err, c.want)
		}
	}
}

// The values of Jepsen's tests with independent keys are pairs of a key and the value proper; where one read or write has no pair, the values are whole.
func TestKeyed(t *testing.T) {
	const rest = `
{:type :ok, :f :write, :value [1 5], :process 0, :time 2}
{:type :invoke, :f :cas, :value [2 [5 6]], :process 0, :time 3}
{:type :fail, :f :cas, :value [2 [5 6]], :process 0, :time 4}
{:type :invoke, :f :read, :value %s, :process 1, :time 5}
{:type :ok, :f :read, :value [1 5], :process 1, :time 6}`
	for value, want := range map[string]string{
		"[1 nil]": "1 0 put 1 5; 3 0 cas 2 6; 5 1 get 1 ; 3 results of operations",
		"nil":     "1 0 put 0 [1,5]; 3 0 cas 0 [5,6]; 5 1 get 0 ; 3 results of operations",
	} {
		line, err := Read("file", []byte("{:type :invoke, :f :write, :value [1 5], :process 0, :time 1}"+fmt.Sprintf(rest, value)), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(line); got != want {
			t.Errorf("a read of %s\ngot  %s\nwant %s", value, got, want)
		}
	}
}

// An incident lasts from its first operation or fault to its last; a fault whose end is not recorded lasts to the last record of
// all. What lies years apart is no incident.
func TestUntil(t *testing.T) {
	const day = 24 * 3600_000_000_000
	of := func(name, text string) *Timeline {
		line, err := Read(name, []byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	const put = `{"time_ns": 5, "client": "a", "type": "invoke", "op": "put", "key": "x", "input": "1"}
{"time_ns": 9, "client": "a", "type": "ok"}
`
	for name, c := range map[string]struct {
		text string
		want int64
	}{
		"results alone":          {put, 5},
		"a fault that ends":      {put + `{"time_ns": 6, "fault": "crash", "node": "n1", "for": "1ns"}`, 7},
		"a fault without an end": {put + `{"time_ns": 6, "fault": "crash", "node": "n1"}`, 9},
	} {
		all := Join([]*Timeline{of("f", c.text)})
		if first, last := all.Begin, all.Until(); first.Ns != 5 || first.String() != "f:1 at 5ns" || last.Ns != c.want || all.Check() != nil {
			t.Errorf("%s: %s to %s, %v", name, first, last, all.Check())
		}
	}
	log := "1.1.1.1 - - [%s +0000] \"GET / HTTP/1.1\" 200 1\n"
	years := Join([]*Timeline{of("a.log", fmt.Sprintf(log, "01/Jan/2036:00:00:00")+fmt.Sprintf(log, "01/Jan/2026:00:00:09"))})
	if err := years.Check(); err == nil ||
		err.Error() != "a.log:2 at 2026-01-01T00:00:09Z and a.log:1 at 2036-01-01T00:00:00Z are 87647h59m51s apart, but an incident lasts at most 24h0m0s; "+
			"remove records that do not belong to it, or make all files count time from the same moment" {
		t.Error(err)
	}
	clocks := Join([]*Timeline{of("a.log", fmt.Sprintf(log, "01/Jan/2026:00:00:09")), of("b", put)})
	if err := clocks.Check(); err == nil || !strings.HasPrefix(err.Error(), "b:1 at 5ns and a.log:1 at 2026-01-01T00:00:09Z are ") {
		t.Error(err)
	}
	for end, good := range map[int64]bool{4 + day: true, 5 + day: false} {
		text := put + fmt.Sprintf(`{"time_ns": %d, "fault": "reset", "node": "n1"}`, end)
		if err := Join([]*Timeline{of("f", text)}).Check(); (err == nil) != good {
			t.Errorf("%d: %v", end, err)
		}
	}
}

func TestJoin(t *testing.T) {
	a := &Timeline{Operations: []Operation{{TimeNs: 3, Key: "c"}, {TimeNs: 1, Key: "a"}}, Ignored: map[string]int{"x": 1}}
	b := &Timeline{Operations: []Operation{{TimeNs: 2, Key: "b"}}, Faults: []Fault{{TimeNs: 1}}, Ignored: map[string]int{"x": 2, "y": 1}}
	all := Join([]*Timeline{a, b})
	keys := ""
	for _, o := range all.Operations {
		keys += o.Key
	}
	if keys != "abc" || len(all.Faults) != 1 || !maps.Equal(all.Ignored, map[string]int{"x": 3, "y": 1}) {
		t.Errorf("%+v", all)
	}
}
