package check

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A run of less than its full length gives no verdict where its length could be the reason, and where it did too little its verdict does not count.
func TestShortRuns(t *testing.T) {
	spec := &world.Spec{Workloads: []world.Workload{{Name: "load", Driver: "http"}}, Properties: []world.Property{
		{Name: "many", Kind: world.Safety, Check: world.Check{Type: world.Expression, Subject: world.Subject{Condition: "len(ops) > 100"}}},
		{Name: "few", Kind: world.Safety, Check: world.Check{Type: world.Expression, Subject: world.Subject{Condition: "len(ops) < 100"}}},
		{Name: "linearizable", Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
			Subject: world.Subject{Operations: []string{"put", "get"}}}},
		{Name: "kept", Kind: world.Safety, Check: world.Check{Type: world.Durability}},
	}}
	op := func(n uint64, kind, in, out string) []history.Event {
		return []history.Event{{Number: n, TimeNs: int64(n), Client: "load/c0", Type: history.Invoke, Op: kind, Key: "k", Input: in},
			{Number: n + 1, TimeNs: int64(n + 1), Client: "load/c0", Type: history.Ok, Op: kind, Key: "k", Input: in, Output: out, Found: true}}
	}
	out := &record.Outcome{Reason: record.Finished, Drivers: []record.DriverEnd{{Workload: "load"}},
		History: append(op(1, "put", "1", ""), op(3, "put", "2", "")...)}
	status := func(name string) (Status, bool) {
		for _, v := range Judge(spec, out) {
			if v.Property == name {
				return v.Status, v.Short
			}
		}
		t.Fatalf("no verdict on %s", name)
		return "", false
	}
	want := func(name string, s Status, short bool) {
		t.Helper()
		if got, is := status(name); got != s || is != short {
			t.Errorf("length %v: %s is %s, short %v", out.Length, name, got, is)
		}
	}
	want("many", Violated, false)
	want("few", Holds, false)
	want("kept", Unknown, false) // nothing was read
	out.Length = &world.Length{ChaosNs: 1e9}
	want("many", Unknown, true)
	want("few", Unknown, true)
	want("kept", Unknown, true)
	out.History = append(out.History, op(5, "get", "", "1")...)
	want("linearizable", Violated, false)
	out.Reason = record.Limit // not because it is short
	out.History = out.History[:4]
	want("kept", Unknown, false)
}
