package fault

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// recorded has moments of a node, each so often in the chaos phase.
func recorded(node string, counts map[moments.Class]int) *moments.Record {
	r := &moments.Record{}
	for class, n := range counts {
		for range n {
			class.Node = node
			r.Add(&moments.Moment{Class: class, InChaos: true})
		}
	}
	r.Add(&moments.Moment{Class: moments.Class{Node: node, Act: moments.Rename, Call: "rename", File: "/data/before"}}) // no fault can come then
	return r
}

var someMoments = map[moments.Class]int{
	{Act: moments.Sync, Call: "fsync", File: "/data/*.wal"}:      100,
	{Act: moments.Sync, Call: "fdatasync", File: "/data/*.wal"}:  100,
	{Act: moments.Sync, Call: "fdatasync", File: "/data/my db"}:  4,
	{Act: moments.Create, Call: "openat", File: "/data/*.wal"}:   5,
	{Act: moments.Truncate, Call: "openat", File: "/data/x"}:     5,
	{Act: moments.Rename, Call: "renameat", File: "/data/*.wal"}: 1,
	{Act: moments.Reply, Call: "sendto", File: "8080 HTTP/*.*"}:  500,
	{Act: moments.Start, File: "/bin/server"}:                    1,
	{Act: moments.Operation, File: "put"}:                        80,
	{Act: moments.Operation, File: "delete"}:                     16,
	{Act: moments.Operation, File: "compact"}:                    4,
}

func sentences(rules []world.FaultRule) (list []string) {
	for i := range rules {
		list = append(list, Sentence(&rules[i]))
	}
	return list
}

// Rules are derived for the kinds alone that the Spec injects, where and when it injects them.
func TestDerive(t *testing.T) {
	record := recorded("n1", someMoments)
	for _, c := range []struct {
		rules []string
		want  []string
	}{
		{[]string{"partition rate 0.1", "pause rate 0.1", "crash rate 0.01 shape majority"}, nil},
		{[]string{"crash on n1 after 2s rate 0.01 for 100ms..2s"}, []string{
			"crash on n1 after renameat of *.wal rate 0.5 for 100ms..500ms when time_s >= 2",
			"crash on n1 in operation compact rate 0.25 for 100ms..500ms when time_s >= 2",
			"crash on n1 after reply rate 0.002 for 100ms..500ms when time_s >= 2",
			"crash on n1 after fdatasync of my?db rate 0.25 for 100ms..500ms when time_s >= 2",
			"crash on n1 after fdatasync, fsync of *.wal rate 0.005 for 100ms..500ms when time_s >= 2",
			"crash on n1 after create of *.wal rate 0.2 for 100ms..500ms when time_s >= 2"}},
		{[]string{"fsync_fail rate 0.001", "disk_full on n1 rate 0.01 for 1s max 2", "disk_full on n2 rate 0.01 for 3s max 1 when up_s > 7"}, []string{
			"disk_full on n1, n2 at renameat, create of *.wal rate 0.166666 for 1s..3s max 2",
			"fsync_fail at fdatasync of my?db rate 0.25",
			"fsync_fail at fdatasync, fsync of *.wal rate 0.005"}},
		{[]string{"open_fail on n1 rate 0.01 max 2"}, []string{"open_fail on n1 at open, openat, openat2, creat of *.wal rate 0.166666 max 2"}},
		{[]string{"fd_limit rate 0.01 for 100ms..1s when up_s > 7"}, []string{
			"fd_limit at create of *.wal rate 0.2 for 100ms..1s when up_s > 7",
			"fd_limit after reply rate 0.002 for 100ms..1s when up_s > 7"}},
		{[]string{"restart rate 0.01 for 2s", "restart rate 0.02 for 3s when up_s > 1", "restart rate 0 for 9s"},
			[]string{"restart after reply rate 0.002 for 2s..2s"}},
	} {
		spec := threeNodes()
		for _, text := range c.rules {
			r, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			spec.Faults.Rules = append(spec.Faults.Rules, r)
		}
		if c.want == nil && Derives(spec) {
			t.Errorf("%q: rules can be derived", c.rules)
		}
		derived := Derive(spec, record)
		got := sentences(derived)
		slices.Sort(got)
		slices.Sort(c.want)
		for i := range c.want {
			c.want[i] = strings.ReplaceAll(c.want[i], "2s..2s", "2s")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q give\n%s\nwant\n%s", c.rules, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		for i := range derived {
			again, err := Parse(Sentence(&derived[i]))
			if err != nil {
				t.Errorf("%s: %v", Sentence(&derived[i]), err)
				continue
			}
			again.Derived, again.ByUser = true, false
			if !reflect.DeepEqual(again, derived[i]) {
				t.Errorf("%s is read as\n%+v, and was\n%+v", Sentence(&again), again, derived[i])
			}
		}
		spec.Faults.Rules = append(spec.Faults.Rules, derived...)
		if _, err := New(spec); err != nil {
			t.Errorf("%q: %v", c.rules, err)
		}
		if len(derived) > 0 && Derives(spec) {
			t.Error("rules are derived twice")
		}
		if own := Underived(spec); len(own.Faults.Rules) != len(c.rules) || len(spec.Faults.Rules) != len(c.rules)+len(derived) {
			t.Errorf("%d rules are left without derived ones", len(own.Faults.Rules))
		}
	}
}

// Of many moments each kind has the most important.
func TestDerivedRulesAreBounded(t *testing.T) {
	counts := map[moments.Class]int{}
	for i := range 100 {
		counts[moments.Class{Act: moments.Sync, Call: "fsync", File: fmt.Sprintf("/%c%c", 'a'+i/26, 'a'+i%26)}] = 100 - i
	}
	counts[moments.Class{Act: moments.Rename, Call: "rename", File: "/snap"}] = 1000
	derived := Derive(threeNodes(world.FaultRule{Kind: "crash", RatePPM: 9}, world.FaultRule{Kind: "power_loss", RatePPM: 9}), recorded("n1", counts))
	if len(derived) != MaxDerived {
		t.Fatalf("%d rules", len(derived))
	}
	for i, want := range []string{"crash after rename of snap", "power_loss after rename of snap", "crash after fsync of dv", "power_loss after fsync of dv"} {
		if got := Sentence(&derived[i]); !strings.HasPrefix(got, want) {
			t.Errorf("rule %d is %q, want %q", i, got, want)
		}
	}
}

// A derived rule is off, draws nothing and is nowhere in the ledger unless the tape turns it on; then it is told as a rule.
func TestDerivedRulesAreOff(t *testing.T) {
	user := []world.FaultRule{{Kind: "crash", RatePPM: 20_000, MinNs: 1e6, MaxNs: 2e6}, {Kind: "pause", RatePPM: 30_000, MinNs: 1e6, MaxNs: 2e6}}
	spec := threeNodes(user...)
	plain := threeNodes(user...)
	spec.Faults.Rules = append(spec.Faults.Rules, Derive(spec, recorded("n1", someMoments))...)
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	read := &world.Spec{} // as from a failure file
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	run := func(spec *world.Spec, edits ...tape.Edit) (*Plan, []tape.Decision) {
		p := mustPlan(t, spec)
		src := tape.NewSource(tape.Tape{Seed: 7, Edits: edits})
		p.On = false
		p.BeginChaos(src, 0)
		for i := range 2000 {
			m := &Moment{NowNs: int64(i) * 10e6}
			p.Ended(m.NowNs)
			p.Step(src, m)
			p.Enter(src, m, "n1", "fdatasync", "/data/my db")
			p.Return(src, m, "n1", "fdatasync", "/data/my db")
			p.Reply(src, m, "n1")
		}
		return p, src.Decisions()
	}
	for _, swarm := range []bool{false, true} {
		spec.Faults.Swarm, plain.Faults.Swarm, read.Faults.Swarm = swarm, swarm, swarm
		with, drawn := run(spec)
		without, want := run(plain)
		if !reflect.DeepEqual(drawn, want) || !reflect.DeepEqual(with.Ledger, without.Ledger) {
			t.Errorf("swarm %v: derived rules change a run that does not turn them on: %d draws and %d", swarm, len(drawn), len(want))
		}
	}
	spec.Faults.Swarm, read.Faults.Swarm = false, false
	number := 0
	for i := range spec.Faults.Rules {
		if spec.Faults.Rules[i].Path == "my?db" {
			number = i + 1
		}
	}
	on := tape.Edit{Op: tape.Set, Stream: RateStream(number), Value: RateAsIs + 1}
	p, drawn := run(spec, on)
	again, same := run(read, on)
	if !reflect.DeepEqual(drawn, same) || !reflect.DeepEqual(p.Ledger, again.Ledger) {
		t.Error("a Spec that was written and read makes another run")
	}
	if len(p.Ledger.Rules) != 1 || p.Ledger.Rules[0].Rule != number || !p.Ledger.Rules[0].Derived || p.Ledger.Rules[0].Planned < 100 ||
		p.Ledger.Rules[0].Text != "crash after fdatasync of my?db rate 0.25 for 1ms..2ms" {
		t.Errorf("the ledger tells %+v", p.Ledger.Rules)
	}
	if want := []Hit{{Crash, "fdatasync", "my?db", p.Ledger.Rules[0].Planned}}; !reflect.DeepEqual(p.Ledger.Hits, want) {
		t.Errorf("the ledger counts %+v, want %+v", p.Ledger.Hits, want)
	}
}

// The hits of runs add up, and their kinds are bounded.
func TestHitsAddUp(t *testing.T) {
	var sum Ledger
	for i := range 2 * MaxHits {
		sum.Add(&Ledger{Hits: []Hit{{Crash, "fsync", fmt.Sprint(i), 1}, {Crash, "fsync", "0", 2}}})
	}
	if len(sum.Hits) != MaxHits || sum.Hits[0].Count != 1+4*MaxHits {
		t.Errorf("%d kinds of hits, the first %+v", len(sum.Hits), sum.Hits[0])
	}
}
