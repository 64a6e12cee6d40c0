package fault

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// planOf is the plan of one rule in its chaos phase, on disks that take their time.
func planOf(t *testing.T, sentence string) *Plan {
	t.Helper()
	r, err := Parse(sentence)
	if err != nil {
		t.Fatal(err)
	}
	spec := threeNodes(r)
	spec.Cost.SyncNs = 1e6
	return mustPlan(t, spec)
}

// A rule that asks for a number draws once for each target and injects at that call, over all of the range.
func TestNumbersOfCalls(t *testing.T) {
	var met [9]int
	for seed := range uint64(400) {
		p := planOf(t, "crash on n1 at fsync nth 3..7")
		src := tape.NewSource(tape.Tape{Seed: seed})
		for k := 1; k <= 8; k++ {
			p.Enter(src, &Moment{}, "n2", "fsync", "/x")
			if len(p.Enter(src, &Moment{}, "n1", "fsync", "/x")) == 1 {
				met[k]++
			}
		}
		if d := src.Decisions(); len(d) != 1 || d[0].Stream != "fault/crash@fsync-nth/n1" {
			t.Fatalf("decisions %+v", d)
		}
	}
	if total := met[3] + met[4] + met[5] + met[6] + met[7]; total != 400 || slices.Min(met[3:8]) < 50 {
		t.Errorf("injected at calls %v", met)
	}
	p := planOf(t, "fsync_fail on n1 at fsync nth 2")
	src := tape.NewSource(tape.Tape{Seed: 1})
	for k := 1; k <= 3; k++ {
		if h := p.Call(src, &Moment{}, &Call{Node: "n1", Name: "fsync", Op: Sync, Path: "/x"}); (h.Kind != "") != (k == 2) {
			t.Errorf("fsync %d meets %+v", k, h)
		}
	}
	again := p.Again()
	again.BeginChaos(src, 0)
	if again.Rules[0].Counts[0].Met != 0 || p.Rules[0].Counts[0].Met != 3 {
		t.Error("two runs of a plan count the same calls")
	}
}

// A fault between two calls begins at one of the calls of the node behind the first one, at the latest as the second one is entered; never
// without the first, and not once the node has gone down.
func TestBetweenTwoCalls(t *testing.T) {
	const rule = "crash on n1 between fsync of *.wal and rename of *.snap max 1"
	struck := map[string]int{}
	for seed := range uint64(200) {
		p := planOf(t, rule)
		src := tape.NewSource(tape.Tape{Seed: seed})
		at := ""
		note := func(where string, a []Action) {
			if len(a) > 0 {
				at += where
			}
		}
		note("early", p.Enter(src, &Moment{}, "n1", "rename", "/a.snap", "/a.tmp"))
		note("first", p.Return(src, &Moment{}, "n1", "fsync", "/a.wal"))
		for k := range 4 {
			note("other", p.CountCall(&Moment{}, "n2"))
			note(fmt.Sprint(k+1), p.CountCall(&Moment{}, "n1"))
		}
		note("file", p.Enter(src, &Moment{}, "n1", "rename", "/b", "/a"))
		note("second", p.Enter(src, &Moment{}, "n1", "rename", "/a.snap", "/a.tmp"))
		if p.Opened("n1") {
			t.Fatal("the window stays open")
		}
		struck[at]++
	}
	for where, n := range struck {
		if !slices.Contains([]string{"1", "2", "3", "second"}, where) || n < 5 {
			t.Errorf("struck %q %d times of %v", where, n, struck)
		}
	}
	p := planOf(t, rule)
	p.Return(tape.NewSource(tape.Tape{Seed: 1}), &Moment{}, "n1", "fsync", "/a.wal")
	p.beginAction(Action{Kind: PowerLoss, Node: "n1", Target: "n1", DurationNs: 1}, &Rule{Row: rank(PowerLoss)}, &Moment{})
	if p.Opened("n1") {
		t.Error("what a node that is down was about to do is still waited for")
	}
}

// While a call waits one fault begins, at a part of the wait, unless its target cannot be affected any more.
func TestDuringACall(t *testing.T) {
	p := planOf(t, "power_loss during fsync of *.wal rate 50%")
	src := tape.NewSource(tape.Tape{Seed: 1})
	if id, _, _ := p.Wait(src, &Moment{}, "n1", "fsync", "/x.log"); id != 0 {
		t.Error("it draws for another file")
	}
	parts, none := map[int64]bool{}, 0
	for range 200 {
		id, part, of := p.Wait(src, &Moment{}, "n1", "fsync", "/x.wal")
		if id == 0 {
			none++
			continue
		}
		if part < 1 || part >= of {
			t.Fatalf("part %d of %d", part, of)
		}
		parts[part] = true
		if a := p.Strike(&Moment{}, id); len(a) != 1 || a[0].Node != "n1" || p.Strike(&Moment{}, id) != nil {
			t.Fatalf("%+v", a)
		}
		p.Ended(a100)
	}
	if none < 70 || none > 130 || len(parts) < 12 {
		t.Errorf("%d of 200 waits without a fault; parts %v", none, parts)
	}
	id, _, _ := p.Wait(tape.NewSource(tape.Tape{Edits: []tape.Edit{{Op: tape.Set, Stream: "fault/power_loss@during-fsync/n1",
		Value: 1}}}), &Moment{}, "n1", "fsync", "/x.wal")
	if p.Heal(0); id == 0 || p.Strike(&Moment{}, id) != nil {
		t.Error("a fault begins after the heal")
	}
}

// a100 is later than all ends of faults that begin at 0.
const a100 = 100e9

// After a reply each one is an opportunity; no other moment is.
func TestAfterReplies(t *testing.T) {
	p := planOf(t, "crash on n1, n2 after reply when node == 'n2'")
	src := tape.NewSource(tape.Tape{Seed: 1})
	if !p.Asks(world.AfterReply) || len(p.Watches()) != 0 || p.Rules[0].PerStep() || p.Rules[0].Moment != world.AfterReply {
		t.Errorf("rule %+v", p.Rules[0])
	}
	for _, node := range []string{"n1", "n-3", "n2"} {
		if a := append(p.Step(src, &Moment{}), append(p.Enter(src, &Moment{}, node, "write"), p.Return(src, &Moment{}, node, "write")...)...); len(a) > 0 {
			t.Errorf("%s: %+v", node, a)
		}
		if a := p.Reply(src, &Moment{}, node); len(a) == 1 != (node == "n2") {
			t.Errorf("%s: %+v", node, a)
		}
	}
}

// A fault in an operation begins at a call of its node, soon after a driver has begun one of the kind there.
func TestInOperation(t *testing.T) {
	at := map[int]bool{}
	for seed := range uint64(100) {
		p := planOf(t, "crash on n1 in operation comp* rate 50%")
		src := tape.NewSource(tape.Tape{Seed: seed})
		p.Operate(src, &Moment{}, "n2", "compact")
		p.Operate(src, &Moment{}, "n1", "put")
		if p.Opened("n1") || p.Opened("n2") {
			t.Fatal("it is about another node, or another operation")
		}
		p.Operate(src, &Moment{}, "n1", "compact")
		for k := 1; p.Opened("n1"); k++ {
			if a := p.CountCall(&Moment{}, "n1"); len(a) == 1 {
				at[k] = true
			}
		}
	}
	if len(at) < 10 || !at[1] && !at[2] && !at[3] || !at[987] && !at[1597] {
		t.Errorf("it begins at calls %v", at)
	}
}

// A fault in recovery begins at a call behind the start of its node, and at none where nothing starts.
func TestInRecovery(t *testing.T) {
	late := map[int]bool{}
	for seed := range uint64(100) {
		p := planOf(t, "crash on n1 in recovery rate 50%")
		src := tape.NewSource(tape.Tape{Seed: seed})
		if p.Recover(src, &Moment{}, "n2"); p.Opened("n2") {
			t.Fatal("it is about another node")
		}
		p.Recover(src, &Moment{}, "n1")
		for k := 1; p.Opened("n1"); k++ {
			if len(p.Enter(src, &Moment{}, "n1", "rename", "/a", "/b")) > 0 {
				t.Fatal("a call that no rule names ends the recovery")
			}
			if a := p.CountCall(&Moment{}, "n1"); len(a) == 1 {
				late[k] = true
			}
		}
	}
	if len(late) < 10 || late[0] || !late[10] && !late[30] && !late[60] {
		t.Errorf("it begins at calls %v", late)
	}
}

// Something large between two servers is an opportunity for what affects one of them or their link.
func TestInTransfer(t *testing.T) {
	for _, c := range []struct {
		rule string
		want int
	}{
		{"partition on n1-n2 in transfer", 1}, {"partition on n1->n2 in transfer", 1}, {"partition on n2->n1 in transfer", 0},
		{"partition on n2-n-3 in transfer", 0},
		{"crash on n1 in transfer", 1}, {"crash on n2 in transfer", 1}, {"crash on n-3 in transfer", 0}, {"partition on n1 in transfer", 1},
	} {
		if a := planOf(t, c.rule).Transfer(tape.NewSource(tape.Tape{Seed: 1}), &Moment{}, "n1", "n2"); len(a) != c.want {
			t.Errorf("%s: %+v", c.rule, a)
		}
	}
}
