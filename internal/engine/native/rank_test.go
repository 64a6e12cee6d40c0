//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Ranks that a tape gives to threads decide which thread runs, strictly: a program that never waits ends before one of a lower rank does
// anything more. A change point lets the other one go first from there on.
func TestRanks(t *testing.T) {
	const lines = 400 // more calls than an epoch has, after which equals take turns
	command := []string{"/bin/sh", "-c", "i=0; while [ $i -lt 400 ]; do echo $i; i=$((i+1)); done"}
	spec := &world.Spec{Dir: t.TempDir(), StartUnixNs: 1735689600e9, MaxTimeNs: 1e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Sched: world.Sched{PreemptPPM: 50_000}}
	for _, name := range []string{"n1", "n2"} {
		spec.Nodes = append(spec.Nodes, world.Node{Name: name, Role: world.Server, Hostname: name, IPv4: "10.77.0.1" + name[1:],
			WorkingDir: "/", Command: command, Env: []string{"PATH=/usr/bin:/bin"}})
	}
	// who gives the nodes in the order in which they wrote, the lines that follow each other as one.
	who := func(edits string) string {
		tp, err := tape.Parse("tape 1\nseed 1\ndefault sched/** 0..\n" + edits)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []string
		last, count := "", 0
		_, err = engine.Run(native.New(), spec, tp, engine.Options{Log: func(l record.LogLine) {
			if l.Stream != "stdout" {
				return
			}
			count++
			if l.Node != last {
				nodes = append(nodes, l.Node)
				last = l.Node
			}
		}})
		if err != nil || count != 2*lines {
			t.Fatalf("%d lines, %v", count, err)
		}
		return strings.Join(nodes, " ")
	}
	threads := "set rank/n1/0 0 = %1\nset rank/n2/0 0 = %2"
	of := func(n1, n2 string) string { return strings.NewReplacer("%1", n1, "%2", n2).Replace(threads) }
	if got := who(""); strings.Count(got, " ") < 3 {
		t.Errorf("equals do not take turns: %s", got)
	}
	if got := who(of("2", "1")); got != "n1 n2" {
		t.Errorf("n1 has the higher rank: %s", got)
	}
	if got := who(of("1", "2")); got != "n2 n1" {
		t.Errorf("n2 has the higher rank: %s", got)
	}
	// Call 300 of n1 is in its second epoch.
	if got := who(of("2", "1") + "\nset sched/n1/0 1 = 50"); got != "n1 n2 n1" {
		t.Errorf("n1 drops: %s", got)
	}
	// Both drop; the one that is put above what was dropped continues at once.
	if got := who(of("2", "1") + "\nset sched/n1/0 1 = 50\nset sched/n2/0 1 = 306"); got != "n1 n2 n1" {
		t.Errorf("n2 drops to above n1: %s", got)
	}
	if got := who(of("2", "1") + "\nset sched/n1/0 1 = 50\nset sched/n2/0 1 = 50"); got != "n1 n2 n1 n2" {
		t.Errorf("n2 drops below n1: %s", got)
	}
}

// A rate of 0 preempts no thread.
func TestNoPreemptions(t *testing.T) {
	spec := &world.Spec{Dir: t.TempDir(), StartUnixNs: 1735689600e9, MaxTimeNs: 1e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.11", WorkingDir: "/",
			Command: []string{"/bin/sh", "-c", "echo one; /bin/echo two"}, Env: []string{"PATH=/usr/bin:/bin"}}}}
	for _, rate := range []uint64{0, 1_000_000} {
		spec.Sched.PreemptPPM = rate
		o, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, d := range o.Decisions {
			if strings.HasPrefix(d.Stream, "sched/") {
				n++
			}
		}
		if rate == 0 && n != 0 || rate > 0 && n == 0 {
			t.Errorf("rate %d: %d preemptions", rate, n)
		}
	}
}
