package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// worked is a run of n operations from 1 s on, one each second, of which each ok-th succeeds.
func worked(n, every int, op string, injections ...fault.Injection) *record.Outcome {
	out := &record.Outcome{Ledger: fault.Ledger{Injections: injections}}
	for i := range n {
		end := history.Fail
		if every > 0 && i%every == 0 {
			end = history.Ok
		}
		at, number := int64(i+1)*second, uint64(2*i+1)
		out.History = append(out.History, history.Event{Number: number, TimeNs: at, Client: "load/c0", Type: history.Invoke, Op: op, Key: "k"},
			history.Event{Number: number + 1, TimeNs: at + second/2, Client: "load/c0", Type: end, Op: op, Key: "k",
				Found: end == history.Ok && history.IsRead(op)})
	}
	return out
}

// empty is a run whose reads find nothing.
func empty(out *record.Outcome) *record.Outcome {
	for i := range out.History {
		out.History[i].Found = false
	}
	return out
}

// readBack makes the events from a number on those by which a driver reads back. Each ok-th operation of them succeeds.
func readBack(out *record.Outcome, from uint64, every int) *record.Outcome {
	out.Marks = []record.Mark{{Workload: "load", Type: history.Ready, Event: 0}, {Workload: "load", Type: history.Check, Event: from}}
	for i := range out.History {
		if h := &out.History[i]; h.Number > from && h.Type == history.Ok && every == 0 {
			h.Type = history.Fail
		}
	}
	return out
}

// rates is a run whose chaos phase lost packets.
func rates(from, to int64) *record.Outcome {
	out := worked(20, 1, "get")
	out.ChaosNs, out.ChaosEndNs = from, to
	out.Ledger.Entries = []fault.Entry{{Kind: fault.Drop, Delivered: 7}}
	return out
}

// probed adds probes of the property p in the chaos phase, of which each ok-th gets an answer.
func probed(out *record.Outcome, n, every int) *record.Outcome {
	for i := range n {
		code := world.ProbeNoAnswer
		if every > 0 && i%every == 0 {
			code = world.ProbeHolds
		}
		out.Probes = append(out.Probes, record.Probe{Property: "p", Phase: "chaos", ExitCode: code})
	}
	out.Probes = append(out.Probes, record.Probe{Property: "p", Phase: finalPhase, ExitCode: world.ProbeHolds})
	return out
}

func TestEnough(t *testing.T) {
	injection := func(kind world.FaultKind, from, to int64) fault.Injection {
		return fault.Injection{Kind: kind, StartNs: from, EndNs: to}
	}
	crash := func(from, to int64) fault.Injection { return injection(fault.Crash, from, to) }
	late := make([]fault.Injection, 19)
	for i := range late {
		late[i] = crash(30*second, 31*second)
	}
	dropped := worked(20, 1, "get", crash(0, second/2))
	dropped.Ledger.Entries = []fault.Entry{{Kind: fault.Crash, Delivered: 1}, {Kind: fault.Drop, Delivered: 7}}
	again := worked(20, 1, "get")
	for _, h := range worked(20, 0, "put").History {
		h.Client, h.Number = "load"+world.RecoveryClients+"c0", h.Number+1000
		again.History = append(again.History, h)
	}
	type outs []*record.Outcome
	for _, c := range []struct {
		name             string
		outs             outs
		kind             world.CheckType
		unknown, warning string // of one line each; empty is none
	}{
		{"a fault meets operations", outs{worked(20, 1, "get", crash(5*second, 6*second))}, world.Expression, "", ""},
		{"a fault that lasts into the first operation", outs{worked(20, 1, "get", crash(0, 2*second))}, world.Expression, "", ""},
		{"a fault that never ends", outs{worked(20, 1, "get", crash(second/2, 0))}, world.Expression, "", ""},
		{"faults before and after", outs{worked(20, 1, "get", crash(0, second/2), crash(30*second, 31*second))}, world.Durability,
			"all 2 faults were active only before the first operation or after the last (1 before, 1 after)", ""},
		{"a fault between the work and the reading back",
			outs{readBack(worked(20, 1, "get", crash(18*second, 19*second)), 30, 1)}, world.Durability,
			"all 1 faults were active only before the first operation or after the last (0 before, 1 after)", ""},
		{"a fault that meets operations before the reading back",
			outs{readBack(worked(20, 1, "get", crash(5*second, 6*second)), 30, 1)}, world.Durability, "", ""},
		{"no reading back succeeded", outs{readBack(worked(2000, 1, "get", crash(5*second, 6*second)), 3990, 0)},
			world.Durability, "only 0 of 5 operations that read back the results succeeded", ""},
		{"faults before, and lost packets", outs{dropped}, world.Durability, "", "all 1 faults crash were active only before"},
		{"lost packets before the first operation", outs{rates(1, second/2)}, world.Durability,
			"all 7 faults were active only before the first operation or after the last (7 before, 0 after)", ""},
		{"lost packets after the last operation", outs{rates(30*second, 0)}, world.Durability,
			"all 7 faults were active only before the first operation or after the last (0 before, 7 after)", ""},
		{"lost packets meanwhile", outs{rates(second/2, 30*second)}, world.Durability, "", ""},
		{"lost packets after the last operation of one run", outs{rates(30*second, 0), rates(second, 0)}, world.Durability, "", ""},
		{"only one run of a campaign", outs{worked(20, 1, "get", crash(0, second/2)),
			worked(20, 1, "get", crash(5*second, 6*second))}, world.Durability, "", ""},
		{"one fault of 20", outs{worked(20, 1, "get", append(late, crash(5*second, 6*second))...)}, world.Durability, "",
			"only 1 of 20 faults were active between"},
		{"one kind of fault outside", outs{worked(20, 1, "get", crash(5*second, 6*second),
			injection(fault.Pause, 30*second, 31*second))}, world.Durability, "", "all 1 faults pause were active only before"},
		{"no check of operations", outs{worked(20, 1, "get", crash(0, second/2))}, world.HTTPCheck,
			"all 1 faults were active only before the first operation or after the last (1 before, 0 after)", ""},
		{"reads that find nothing", outs{empty(worked(20, 1, "get"))}, world.Expression, "", "all 20 reads found nothing"},
		{"reads that find nothing, and writes", outs{empty(worked(20, 1, "get")), worked(20, 1, "put")}, world.Expression, "", ""},
		{"11 percent", outs{worked(90, 9, "get")}, world.Expression, "", ""},
		{"8 percent", outs{worked(100, 12, "get")}, world.Expression, "", `only 9 of 100 operations "get" succeeded`},
		{"8 percent of reads, all writes", outs{worked(100, 12, "get"), worked(900, 1, "put")}, world.Expression, "",
			`only 9 of 100 operations "get" succeeded`},
		{"half a percent", outs{worked(200, 200, "get"), worked(200, 200, "get"), worked(200, 0, "get")}, world.Expression,
			`only 2 of 600 operations "get" succeeded`, ""},
		{"half a percent of writes", outs{worked(200, 200, "put"), worked(200, 200, "put"), worked(200, 0, "put")},
			world.Expression, "only 2 of 600 operations succeeded", `only 2 of 600 operations "put"`},
		{"no read", outs{worked(20, 0, "get"), worked(20, 1, "put")}, world.Expression, `none of 20 operations "get" succeeded`, ""},
		{"no read, in capitals", outs{worked(20, 0, "READ"), worked(20, 1, "put")}, world.Expression, `none of 20 operations "read" succeeded`, ""},
		{"nothing is received", outs{worked(20, 0, "receive"), worked(20, 1, "send")}, world.Expression, `none of 20 operations "receive" succeeded`, ""},
		{"no member is seen", outs{worked(20, 0, "members"), worked(20, 1, "add")}, world.Expression, `none of 20 operations "members" succeeded`, ""},
		{"no other kind", outs{worked(20, 1, "get"), worked(20, 0, "incr")}, world.Expression, "", `none of 20 operations "incr" succeeded`},
		{"what is tried again after the heal", outs{again}, world.Expression, "", ""},
		{"one client", outs{worked(20, 1, "get")}, world.Linearizability, "", "no two operations"},
		{"no operation", outs{worked(0, 0, "", crash(0, second))}, world.Linearizability, "", ""},
		{"probes", outs{probed(worked(0, 0, ""), 20, 2)}, world.HTTPCheck, "", ""},
		{"no probe got an answer", outs{probed(worked(0, 0, ""), 20, 0)}, world.SQLCheck, "p: 0 of 20 probes before the final phase", ""},
		{"few probes did", outs{probed(worked(0, 0, ""), 20, 20)}, world.Custom, "", "p: 1 of 20 probes before the final phase"},
		{"probes of nodes that differ meanwhile", outs{probed(worked(0, 0, ""), 20, 0)}, world.Agreement, "", ""},
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
