package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/fault"
	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/world"
)

// worked is a run of n operations from 1 s on, one each second, of which each ok-th succeeds.
func worked(n, every int, op string, strikes ...fault.Strike) *engine.Outcome {
	out := &engine.Outcome{Ledger: fault.Ledger{Strikes: strikes}}
	for i := range n {
		end := history.Fail
		if every > 0 && i%every == 0 {
			end = history.Ok
		}
		at, number := int64(i+1)*second, uint64(2*i+1)
		out.History = append(out.History, history.Event{Number: number, TimeNs: at, Client: "load/c0", Type: history.Invoke, Op: op, Key: "k"},
			history.Event{Number: number + 1, TimeNs: at + second/2, Client: "load/c0", Type: end, Op: op, Key: "k"})
	}
	return out
}

func TestEnough(t *testing.T) {
	crash := func(from, to int64) fault.Strike {
		return fault.Strike{Kind: "crash", StartNs: from, EndNs: to}
	}
	for _, c := range []struct {
		name             string
		outs             []*engine.Outcome
		kind             world.CheckType
		unknown, warning string // of one line each; empty is none
	}{
		{"a fault meets operations", []*engine.Outcome{worked(20, 1, "get", crash(5*second, 6*second))}, world.Expression, "", ""},
		{"a fault that lasts into the first operation", []*engine.Outcome{worked(20, 1, "get", crash(0, 2*second))}, world.Expression, "", ""},
		{"a fault that never ends", []*engine.Outcome{worked(20, 1, "get", crash(second/2, 0))}, world.Expression, "", ""},
		{"faults before and after", []*engine.Outcome{worked(20, 1, "get", crash(0, second/2), crash(30*second, 31*second))}, world.Durability, "all 2 faults struck before", ""},
		{"only one run of a campaign", []*engine.Outcome{worked(20, 1, "get", crash(0, second/2)), worked(20, 1, "get", crash(5*second, 6*second))}, world.Durability, "", ""},
		{"no check of operations", []*engine.Outcome{worked(20, 1, "get", crash(0, second/2))}, world.HTTPCheck, "", "all 1 faults struck before"},
		{"8 percent", []*engine.Outcome{worked(100, 12, "get")}, world.Expression, "", "only 9 of 100 operations succeeded"},
		{"half a percent", []*engine.Outcome{worked(200, 200, "get"), worked(200, 200, "get"), worked(200, 0, "get")}, world.Expression, "only 2 of 600 operations succeeded", ""},
		{"no read", []*engine.Outcome{worked(20, 0, "get"), worked(20, 1, "put")}, world.Expression, `none of 20 operations "get" succeeded`, ""},
		{"no other kind", []*engine.Outcome{worked(20, 1, "get"), worked(20, 0, "incr")}, world.Expression, "", `none of 20 operations "incr" succeeded`},
		{"one client", []*engine.Outcome{worked(20, 1, "get")}, world.Linearizability, "", "no two operations"},
		{"no operation", []*engine.Outcome{worked(0, 0, "", crash(0, second))}, world.Linearizability, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sum Evidence
			for _, out := range c.outs {
				e := EvidenceOf(out)
				sum.Add(&e)
			}
			spec := &world.Spec{Properties: []world.Property{{Name: "p", Check: world.Check{Type: c.kind}}}}
			unknown, warnings := Enough(spec, &sum)
			for _, x := range []struct {
				got  []string
				want string
			}{{unknown, c.unknown}, {warnings, c.warning}} {
				got := strings.Join(x.got, "\n")
				if x.want == "" && got != "" || !strings.Contains(got, x.want) || len(x.got) > 1 {
					t.Error(fmt.Sprintf("%q, not %q", x.got, x.want))
				}
			}
		})
	}
}
