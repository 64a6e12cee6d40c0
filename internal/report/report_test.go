package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./report -update and look at the change. Got\n%s", path, got)
	}
}

func spec() *world.Spec {
	return &world.Spec{
		Name: "kv",
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Env: []string{"FAKE=" + enginetest.LostWrite}},
			{Name: "n2", Role: world.Server}, {Name: "load", Role: world.Client}},
		Workloads: []world.Workload{{Node: "load", Clients: 2, Operations: 12}},
		Properties: []world.Property{{Name: "linearizable", Kind: world.Safety,
			Check: world.Check{Type: world.Linearizability, Subject: world.Subject{Operations: []string{"put", "get"}}}}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "partition", RatePPM: 1, MinNs: 25e6, MaxNs: 25e6,
			Targets: []string{"n1-n2"}}}},
	}
}

// run makes a run with a partition at step 1, and traces it.
func run(t *testing.T, format string, f Filter) (string, *check.Judged) {
	t.Helper()
	var b bytes.Buffer
	sink, err := NewSink(format, &b, f, spec())
	if err != nil {
		t.Fatal(err)
	}
	tp := tape.Tape{Seed: 3, Edits: []tape.Edit{{Op: tape.Set, Stream: "fault/partition/n1-n2", From: 1, Value: 1}}}
	o, err := engine.Run(enginetest.New(), spec(), tp, engine.Options{Observe: sink.Event, Log: sink.Log})
	if err != nil {
		t.Fatal(err)
	}
	j := &check.Judged{Outcome: *o}
	if err := sink.Finish(j); err != nil {
		t.Fatal(err)
	}
	return b.String(), j
}

func TestTraceText(t *testing.T) {
	all, o := run(t, "text", Filter{})
	golden(t, "trace.txt", all)
	if n := strings.Count(all, "\n"); uint64(n) != o.Events {
		t.Errorf("%d lines, %d events", n, o.Events)
	}
	some, filtered := run(t, "text", Filter{Events: []string{"disk_write", "end partition"}})
	for _, line := range strings.Split(strings.TrimSpace(some), "\n") {
		if !strings.Contains(line, "pwrite64") && !strings.Contains(line, "end partition") || !strings.Contains(all, line+"\n") {
			t.Errorf("line %q", line)
		}
	}
	if filtered.Hash != o.Hash {
		t.Error("the filter touched the hash")
	}
}

func TestEventText(t *testing.T) {
	for _, c := range []struct {
		e    record.Event
		want string
	}{
		{record.Event{Number: 812, TimeNs: 1_204_001_000, Node: "n1", Thread: "n1/0.2", Call: "sendto", Args: []int64{7, 32, 0x4000, 16},
			Result: 32, Detail: "10.0.0.2:80", Object: "udp", Bytes: 0x9f, Clocks: 3},
			`812 1.204001000s n1/0.2 sendto(7, ..., 32, MSG_NOSIGNAL, "10.0.0.2:80", 16) = 32 on udp bytes 9f clocks 3`},
		{record.Event{Number: 2, TimeNs: 5, Call: "partition", Result: 3, Detail: "n1-n2"}, `2 0.000000005s - partition() = 3 "n1-n2"`},
		{record.Event{Number: 1, TimeNs: 5, Node: "n1", Thread: "0.2", Call: "futex", Result: -110},
			`1 0.000000005s n1 0.2 futex() = -1 ETIMEDOUT (Connection timed out)`},
		{record.Event{Node: "a", Thread: "a/0", Call: "open", Args: []int64{0x80000, 0}, Detail: "/new\nline"},
			`0 0.000000000s a/0 open("/new\nline", O_RDONLY|O_CLOEXEC) = 0`},
	} {
		if got := string(appendEvent(nil, &c.e)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// verify compares traces as text: events that differ in any field must differ as text.
func TestEveryFieldOfAnEventIsInItsText(t *testing.T) {
	base := record.Event{Number: 1, TimeNs: 1, Node: "n", Thread: "n/0", Call: "c", Args: []int64{1}, Result: 1, Bytes: 1, Clocks: 1, Detail: "d", Object: "o"}
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		changed := base
		f := reflect.ValueOf(&changed).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int64:
			f.SetInt(2)
		case reflect.Uint64:
			f.SetUint(2)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]int64{1, 1}))
		default:
			t.Fatalf("field %s: teach this test and AppendEvent its kind", v.Type().Field(i).Name)
		}
		if bytes.Equal(appendEvent(nil, &base), appendEvent(nil, &changed)) {
			t.Errorf("field %s is not in the text of an event", v.Type().Field(i).Name)
		}
	}
}

func TestFilter(t *testing.T) {
	calls := []record.Event{{Call: "crash"}, {Call: "exit_group"}, {Call: "end partition"}, {Call: "sendto"}, {Call: "write", Object: "tcp"},
		{Call: "write", Object: "file"}, {Call: "futex"}}
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "1111111"}, {Filter{Level: "trace"}, "1111111"}, {Filter{Level: "debug"}, "1111111"},
		{Filter{Level: "info"}, "1111110"}, {Filter{Level: "warn"}, "1110000"}, {Filter{Level: "error"}, "1000000"},
		{Filter{Level: "off"}, "0000000"}, {Filter{Level: "off", Events: []string{"network_send"}}, "0001100"},
		{Filter{Events: []string{"disk_write", "process_crash", "futex"}}, "1000011"},
	} {
		got := ""
		for i := range calls {
			if c.f.Keep(&calls[i]) {
				got += "1"
			} else {
				got += "0"
			}
		}
		if got != c.want {
			t.Errorf("%+v keeps %s, want %s", c.f, got, c.want)
		}
	}
	if err := (Filter{Level: "loud"}).Validate(); err == nil {
		t.Error("level loud is accepted")
	}
	if _, err := NewSink("xml", nil, Filter{}, spec()); err == nil {
		t.Error("format xml is accepted")
	}
}

func TestChromeTrace(t *testing.T) {
	text, o := run(t, "chrome", Filter{})
	var trace struct {
		TraceEvents []struct {
			Name, Cat, Ph string
			Ts, Dur       float64
			Pid, Tid      int
			ID            string
			Args          map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	named := map[int]bool{}
	for _, e := range trace.TraceEvents {
		count[e.Ph+" "+e.Cat]++
		if e.Ph == "M" && e.Name == "process_name" {
			named[e.Pid] = true
		} else if !named[e.Pid] {
			t.Fatalf("event %+v comes before its process has a name", e)
		}
	}
	ops := explore.CountOperations(o.History)
	if count["X operation"] != int(ops.Invoked) || count["b fault"] != 1 || count["e fault"] != 1 || count["i log"] != len(o.Log) {
		t.Errorf("counts %v", count)
	}
	golden(t, "trace.json", text)
}

func TestChromeShowsOperationsThatNeverReturn(t *testing.T) {
	var b bytes.Buffer
	sink, _ := NewSink("chrome", &b, Filter{}, spec())
	sink.Finish(&check.Judged{Outcome: record.Outcome{VirtualNs: 9000, History: []history.Event{
		{Number: 1, TimeNs: 1000, Client: "c", Type: history.Invoke, Op: "put", Key: "k"},
		{Number: 2, TimeNs: 2000, Client: "d", Type: history.Invoke, Op: "get"},
		{Number: 3, TimeNs: 4000, Client: "d", Type: history.Info, Op: "get", Error: "timeout"},
		{Number: 4, TimeNs: 5000, Client: "e", Type: history.Ok, Op: "stray"}}}})
	for _, want := range []string{`"name":"put k","cat":"operation","ph":"X","ts":1.000,"dur":8.000`, `"type":"pending"`,
		`"name":"get","cat":"operation","ph":"X","ts":2.000,"dur":7.000`, `"error":"timeout"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

func violation(o *check.Judged) check.Verdict {
	return check.Verdict{Property: "linearizable", Kind: "safety", Status: check.Violated, Event: 30, TimeNs: 30e6,
		Reason: `get k1 returned "", put was "v3"`, Evidence: []string{"load/0 put k1 v3 ok", "load/1 get k1 -> nothing\x1b[31m"}}
}

func TestStory(t *testing.T) {
	_, o := run(t, "text", Filter{})
	var b strings.Builder
	err := Story(&b, StoryOf{Spec: spec(), Outcome: o, Verdict: violation(o), Failure: failure.Failure{ID: "0123456789ab"},
		File: ".bloodhound/failures/0123456789ab.json", Replay: "bloodhound replay 0123456789ab"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "story.txt", b.String())
}

func TestStoryOfALongRunIsShort(t *testing.T) {
	o := &check.Judged{Outcome: record.Outcome{VirtualNs: 1e12, Events: 1e6}}
	for i := range 1_000_000 {
		text := string(rune('a'+i%26)) + string(rune('a'+i/26%26)) // lines that do not repeat are not folded
		o.Log = append(o.Log, record.LogLine{Position: record.PositionAt(uint64(i)), TimeNs: int64(i) * 1e6, Node: "n", Text: text})
	}
	o.Log[500_000].Text = strings.Repeat("long ", 1000)
	for i := range 5000 {
		o.Ledger.Injections = append(o.Ledger.Injections, fault.Injection{ID: i, Kind: fault.Drop, StartNs: 5e11, EndNs: 6e11})
		o.Decisions = append(o.Decisions, tape.Decision{Stream: "fault/x"})
	}
	var b strings.Builder
	Story(&b, StoryOf{Spec: &world.Spec{}, Outcome: o, Verdict: check.Verdict{Property: "p", Event: 500_000, TimeNs: 5e11,
		Evidence: make([]string, 1000)}})
	if b.Len() > 10_000 || !strings.Contains(b.String(), "before the violation are left out") {
		t.Errorf("%d bytes", b.Len())
	}
}

func TestSummary(t *testing.T) {
	totals := &explore.Totals{Seed: 7, Runs: 200, Violated: 2, VirtualNs: 3_600e9, WallNs: 61_500e6, Workers: 2,
		Operations: explore.Operations{Invoked: 1000, Ok: 900, Fail: 50, Info: 30},
		Reasons:    []explore.Reason{{Type: history.Fail, Text: "status 503", Count: 50}, {Type: history.Info, Text: explore.OtherReasons, Count: 30}},
		Faults:     fault.Ledger{Entries: []fault.Entry{{Kind: fault.Partition, Planned: 12, Delivered: 11, Observed: 9}}},
		LogCounts:  map[string]uint64{"leader change": 31, "election": 80},
		Refused: []record.Unsupported{{Program: "/bin/a", Call: "bpf", Errno: "EPERM", Count: 1},
			{Program: "/bin/b", Call: "io_uring_setup", Errno: "ENOSYS", Count: 9}},
		Warnings:   []explore.Warning{{Text: "MAP_SHARED writes bypass the journal", Runs: 200}},
		Properties: []explore.PropertyTotal{{Property: "linearizable", Kind: "safety", Holds: 197, Violated: 2, Unknown: 1, Reason: "budget", Seed: 7}},
		Failures: []*explore.Failure{{Failure: failure.Failure{ID: "0123456789ab", Property: "linearizable",
			Headline: "get # is stale"}, Runs: 2, Run: 17, Tape: tape.Tape{Seed: 99}}},
	}
	s := &world.Spec{}
	var b strings.Builder
	if err := Summary(&b, totals, totals.Status(s)); err != nil {
		t.Fatal(err)
	}
	totals.Violated, totals.Failures, totals.Seed = 0, nil, 8
	if err := Summary(&b, totals, totals.Status(s)); err != nil {
		t.Fatal(err)
	}
	if err := Summary(&b, &explore.Totals{Stopped: explore.Interrupted, LostRuns: 1, Lost: []explore.Lost{{Run: 3, Reason: "the worker process hung"}}},
		explore.Status{Failed: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.txt", b.String())
}

func TestRunText(t *testing.T) {
	_, o := run(t, "text", Filter{})
	o.Verdicts = []check.Verdict{violation(o)}
	o.Reason, o.Refused = record.MaxTime, []record.Unsupported{{Program: "/bin/a", Call: "bpf", Errno: "EPERM", Count: 1}}
	for _, e := range []struct {
		typ  history.Type
		text string
		n    int
	}{
		{history.Fail, "status 503", 3}, {history.Fail, "not connected: dial tcp 10.77.0.10:80: connect: connection refused", 7},
		{history.Info, "no reply: read tcp 10.77.0.14:40001->10.77.0.10:80: i/o timeout", 2},
		{history.Info, "no reply: read tcp 10.77.0.14:40002->10.77.0.10:80: i/o timeout", 2},
		{history.Info, "a -> b", 1}, {history.Info, "", 2}, {history.Info, "d", 1}, {history.Info, "e\n\x1b[31m", 1}, {history.Info, "f", 1},
	} {
		for range e.n {
			o.History = append(o.History, history.Event{Type: e.typ, Error: e.text})
		}
	}
	var b strings.Builder
	if err := Run(&b, 3, explore.Summarise(o)); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.txt", b.String())
}

func TestFailureFile(t *testing.T) {
	_, o := run(t, "text", Filter{})
	o.Files = map[string]string{"/bin/a": "11", "/bin/b": "22"}
	state := filepath.Join(t.TempDir(), ".bloodhound")
	v := violation(o)

	f := NewFailure("kv", "v1", "bloodhound.yaml", spec(), o, v)
	path, err := Save(state, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{f.ID, f.ID[:4], f.RunID, f.Name(), f.ID + "ffff", path} {
		got, err := Load(state, name)
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("Load(%q) = %+v, %v", name, got, err)
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}

	other := *o
	other.Files, other.Machine = map[string]string{"/bin/a": "12"}, "another"
	want := []string{"/bin/a has changed", `the machine was "fake" and is "another"`, "/bin/b was opened then and is not now"}
	if got := f.Changes(&other); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %q", got)
	}
	if got := f.Changes(o); got != nil {
		t.Errorf("changes of the same run: %q", got)
	}
	large := func(files map[string]string) []string {
		now, then := *o, *f
		now.Machine, now.Files, then.Files = f.Machine, files, map[string]string{"/a": "unhashed: 5 bytes, changed at 1"}
		return then.Changes(&now)
	}
	for sum, want := range map[string]string{
		"unhashed: 5 bytes, changed at 1": "/a is too large to hash, or the run ended first: it has the size and date that it had",
		"unhashed: 5 bytes, changed at 2": "/a has changed",
		"11":                              "/a was hashed in one of the two runs only, so it may have changed",
	} {
		if got := large(map[string]string{"/a": sum}); !reflect.DeepEqual(got, []string{want}) {
			t.Errorf("a large file that is %q now: %q, want %q", sum, got, want)
		}
	}

	g := *f
	g.ID = f.ID[:4] + "00000000"
	if _, err := Save(state, &g); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(FailurePath(state, "torn"), []byte(`{"failure_ver`), 0o666)
	os.WriteFile(FailurePath(state, "new"), []byte(`{"failure_version": 99, "bloodhound": "v9"}`), 0o666)
	os.WriteFile(FailurePath(state, "empty"), []byte(`{"failure_version": 1}`), 0o666)
	os.WriteFile(FailurePath(state, "twice"), []byte("{\"failure_version\": 1,\n\"spec\": {\"nodes\": [],\n\"nodes\": []}}"), 0o666)
	for _, c := range []struct{ name, want string }{
		{"twice", `"nodes" stands twice in an object, again on line 3`}, {f.ID[:4], "give more characters"},
		{"zzz", "no failure \"zzz\""}, {"torn", "not a failure file"},
		{"new", "the bloodhound that wrote it, version v9"}, {"empty", "no spec"}, {"./nowhere.json", "no such file"},
	} {
		if _, err := Load(state, c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Load(%q): %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Load(t.TempDir(), "abc"); err == nil || !strings.Contains(err.Error(), "bloodhound explore") {
		t.Errorf("Load from nothing: %v", err)
	}
}

// What differs between two runs of a failure is named, causes before what may be a consequence.
func TestChanges(t *testing.T) {
	f := &Failure{TraceVersion: TraceVersion, Machine: "m", Spec: &world.Spec{Dir: "/old"}, Files: map[string]string{
		"/bin/a": "11", "/old/kv.py": "22", "/old/": "a/kv.py", "/old/sub/": "", "/etc/": "x/y", "/lib/": "sha256:ab", "/once/": "z"}}
	f.Relocate("/new")
	now := &check.Judged{Outcome: record.Outcome{Machine: "m", Files: map[string]string{
		"/bin/a": "11", "/new/kv.py": "33", "/new/": "b/c/d/e/f/g/h/kv.py", "/new/sub/": "", "/etc/": "x/y", "/lib/": "sha256:cd", "/bin/new": "44"}}}
	want := []string{
		"the folder /lib/ has changed: names were added, removed or changed; the run lists them",
		"the folder /new/ has changed: b, c, d, e, f and 2 more added, a removed; the run lists the names in it",
		"/new/kv.py has changed",
		"/bin/new is opened now and was not then",
	}
	if got := f.Changes(now); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %q", got)
	}
}

func TestWriteFileKeepsTheOldContentOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "f")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	// The name is taken by a folder: the rename fails after the data were written.
	taken := filepath.Join(dir, "a", "taken")
	os.MkdirAll(filepath.Join(taken, "x"), 0o777)
	if err := WriteFile(taken, []byte("new")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "a"))
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	err := DiskError(&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "/state")
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk of /state is full; free some space") {
		t.Errorf("%v", err)
	}
	err = WriteFile(filepath.Join(path, "below", "f"), nil)
	if !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), "a file is in the way of a folder") {
		t.Errorf("%v", err)
	}
}

func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "new"): "", old: "", os.DevNull: "", dir: "is a folder", filepath.Join(dir, "no", "f"): "there is no folder",
		filepath.Join(old, "f"): "is not a folder", filepath.Join(old, "f", "g"): "not a directory",
	} {
		problem, remedy := Unwritable(path)
		if want == "" && problem != "" || !strings.Contains(problem, want) || (problem == "") != (remedy == "") {
			t.Errorf("%s: %q, %q, want %q", path, problem, remedy, want)
		}
	}
	if b, _ := os.ReadFile(old); string(b) != "content" {
		t.Errorf("the file that was there is %q now", b)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("a file that was not there is there now")
	}
}

func ExampleSeconds() {
	fmt.Println(Seconds(1_204_001_000))
	// Output: 1.204001s
}
