package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// trio is a world of three servers, a client, and a checker.
func trio(check world.Check, kind world.PropertyKind) (*world.Spec, *world.Property) {
	spec := &world.Spec{Workloads: []world.Workload{{Name: "load", Driver: "http", Node: "client"}}, Faults: world.Faults{Enabled: true}}
	for _, name := range []string{"n1", "n2", "n3"} {
		spec.Nodes = append(spec.Nodes, world.Node{Name: name, Role: world.Server, Command: []string{"x"}})
	}
	spec.Nodes = append(spec.Nodes, world.Node{Name: "client", Role: world.Client}, world.Node{Name: "checker", Role: world.Checker})
	if check.While != "" && check.Nodes == nil {
		check.Nodes = []string{"n1", "n2", "n3"}
	}
	spec.Properties = []world.Property{{Name: "p", Kind: kind, TimeoutNs: 5 * second, Check: check}}
	return spec, &spec.Properties[0]
}

// faultsOf reads faults such as "crash n1 10-20", "partition n1-n2 5-9" and "partition n1->n2 5-9", in seconds.
func faultsOf(t *testing.T, texts ...string) (l fault.Ledger) {
	t.Helper()
	for i, text := range texts {
		var kind, target string
		var from, to int64
		if _, err := fmt.Sscanf(strings.ReplaceAll(text, "s ", " "), "%s %s %d..%d", &kind, &target, &from, &to); err != nil {
			t.Fatal(text, err)
		}
		s := fault.Injection{ID: i + 1, Kind: world.FaultKind(kind), Target: target, StartNs: from * second, EndNs: to * second}
		if a, b, oneWay := strings.Cut(target, "->"); oneWay {
			s.Directions = []fault.Direction{{From: a, To: b}}
		} else if a, b, link := strings.Cut(target, "-"); link {
			s.Directions = []fault.Direction{{From: a, To: b}, {From: b, To: a}}
		} else {
			s.Node = target
		}
		l.Injections = append(l.Injections, s)
	}
	return l
}

// checked is a run from 0 to 60 s in which a check of the property ran once a second and failed in these times, in seconds.
func checked(t *testing.T, failed [][2]int64, faults ...string) *record.Outcome {
	out := &record.Outcome{Reason: record.Finished, ReadyNs: second, VirtualNs: 60 * second, Ledger: faultsOf(t, faults...)}
	for at := int64(1); at < 60; at++ {
		q := record.Probe{Property: "p", Phase: "chaos", Event: uint64(at), StartNs: at * second, EndNs: at*second + second/2}
		if slices.ContainsFunc(failed, func(f [2]int64) bool { return f[0] <= at && at < f[1] }) {
			q.ExitCode, q.Output = world.ProbeViolated, "no leader"
		}
		out.Probes = append(out.Probes, q)
	}
	return out
}

func TestLivenessWhileConnected(t *testing.T) {
	for _, c := range []struct {
		name    string
		check   world.Check
		missing [][2]int64 // the times without a leader
		faults  []string
		want    string // holds, violated, or part of the reason why it is unknown
		shows   string // in reason and evidence
	}{
		{name: "always there", faults: []string{"crash n3 10..30"}, want: "holds"},
		{name: "missing while one of three is down", missing: [][2]int64{{10, 30}}, faults: []string{"crash n3 10..30"}, want: "violated",
			shows: "n1, n2 of n1, n2, n3 were up and connected with each other"},
		{name: "missing for a while", missing: [][2]int64{{10, 14}}, faults: []string{"crash n3 10..30"}, want: "holds"},
		{name: "missing while two are down", missing: [][2]int64{{10, 33}}, faults: []string{"crash n3 10..30", "crash n2 10..30"}, want: "holds"},
		{name: "missing for longer than they are down", missing: [][2]int64{{10, 37}}, faults: []string{"crash n3 10..30", "crash n2 10..30"}, want: "violated",
			shows: "from 30.000000 s to 35.000000 s"},
		{name: "missing without a fault", missing: [][2]int64{{40, 50}}, want: "violated", shows: "meanwhile: no fault"},
		{name: "a partition of one node", missing: [][2]int64{{10, 20}},
			faults: []string{"partition n3-n1 10..30", "partition n3-n2 10..30"}, want: "violated"},
		{name: "one link is not enough to split three", missing: [][2]int64{{10, 20}}, faults: []string{"partition n1-n2 10..30"},
			want: "violated", shows: "n2, n3 of"},
		{name: "two links are, each in one direction", missing: [][2]int64{{10, 30}},
			faults: []string{"partition n1->n2 10..30", "partition n3->n1 10..30", "partition n3->n2 10..30"}, want: "holds"},
		{name: "a majority that changes all the time", missing: [][2]int64{{10, 30}}, want: "holds",
			faults: []string{"crash n1 10..14", "crash n2 14..18", "crash n3 18..22", "crash n1 22..26", "crash n2 26..30"}},
		{name: "faults of clients", missing: [][2]int64{{10, 30}},
			faults: []string{"partition client-n1 10..30", "partition client-n2 10..30"}, want: "violated"},
		{name: "a slow disk is an excuse", missing: [][2]int64{{10, 30}}, faults: []string{"slow_disk n1 10..30", "slow_disk n2 10..30"}, want: "holds"},
		{name: "but not if it shall be none", check: world.Check{Tolerance: world.Tolerance{Despite: []string{"slow_disk"}}}, missing: [][2]int64{{10, 30}},
			faults: []string{"slow_disk n1 10..30", "slow_disk n2 10..30"}, want: "violated", shows: "ignoring slow_disk"},
		{name: "all connected", check: world.Check{Tolerance: world.Tolerance{While: "all connected"}},
			missing: [][2]int64{{10, 30}}, faults: []string{"crash n3 10..30"}, want: "holds"},
		{name: "despite a kind alone", check: world.Check{Tolerance: world.Tolerance{While: "none", Despite: []string{"crash"}}},
			missing: [][2]int64{{10, 30}}, faults: []string{"crash n3 10..30"}, want: "violated"},
		{name: "despite another kind", check: world.Check{Tolerance: world.Tolerance{While: "none", Despite: []string{"pause"}}},
			missing: [][2]int64{{10, 30}}, faults: []string{"crash n3 10..30"}, want: "holds"},
		{name: "a server that was asked and is not of the majority", check: world.Check{Question: world.Question{Endpoint: "http://n3:80/leader"}},
			missing: [][2]int64{{10, 30}},
			faults:  []string{"partition n3-n1 10..30", "partition n3-n2 10..30"}, want: "holds"},
		{name: "a server that was asked and is", check: world.Check{Question: world.Question{Endpoint: "http://n1:80/leader"}}, missing: [][2]int64{{10, 30}},
			faults: []string{"partition n3-n1 10..30", "partition n3-n2 10..30"}, want: "violated"},
		{name: "never connected", faults: []string{"crash n1 0..60", "crash n2 0..60"},
			want: "there was no period of 5.000000 s throughout which 2 of 3 nodes were up"},
		{name: "faults every few seconds", faults: []string{"crash n1 1..4", "crash n2 4..8", "crash n3 8..12", "crash n1 12..60",
			"crash n2 12..60"}, missing: [][2]int64{{1, 12}},
			want: "there was no period"},
		{name: "a node that is not there", check: world.Check{Tolerance: world.Tolerance{Nodes: []string{"n1", "n9"}}}, want: "which is not in the world"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.check.Type = world.Custom; c.check.While == "" {
				c.check.While = "majority connected"
			} else if c.check.While == "none" {
				c.check.While = ""
			}
			spec, p := trio(c.check, world.Liveness)
			v := judge(spec, p, checked(t, c.missing, c.faults...))
			if status := string(v.Status); status != c.want && (v.Status != Unknown || !strings.Contains(v.Reason, c.want)) {
				t.Fatalf("%s: %s\n%s\nwant %s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"), c.want)
			}
			if text := v.Reason + "\n" + strings.Join(v.Evidence, "\n"); !strings.Contains(text, c.shows) {
				t.Fatalf("%s\ndoes not show %q", text, c.shows)
			}
		})
	}
	for faults, want := range map[string]bool{"crash n3 10..30": true, "clock_skew n1 10..12": false} {
		spec, p := trio(world.Check{Type: world.Custom,
			Tolerance: world.Tolerance{While: "all connected", Nodes: []string{"n1", "n2"}}}, world.Liveness)
		if v := judge(spec, p, checked(t, nil, faults)); v.Status != Holds || v.Withstood > 0 != want {
			t.Errorf("%s: %s, withstood %d", faults, v.Status, v.Withstood)
		}
	}
	spec, p := trio(world.Check{Type: world.Custom}, world.Liveness)
	if v := live(spec, p, checked(t, [][2]int64{{10, 30}}, "crash n3 10..30")); v.Status == Violated {
		t.Errorf("without `while`, a fault is no longer an excuse: %s", v.Reason)
	}
}

// TestLivenessWhileConnectedIsCareful: what is not known of a run is no violation.
func TestLivenessWhileConnectedIsCareful(t *testing.T) {
	missing := [][2]int64{{10, 30}}
	for name, c := range map[string]struct {
		change func(*world.Spec, *record.Outcome)
		want   string
	}{
		"an old record":    {func(_ *world.Spec, o *record.Outcome) { o.Ledger.Injections[0].Node = "" }, "the ledger does not list all faults"},
		"probes that hang": {func(_ *world.Spec, o *record.Outcome) { cutProbes(o, 12); o.Probes[11].ExitCode = world.ProbeHung }, "the check itself hung"},
		"no probes":        {func(_ *world.Spec, o *record.Outcome) { o.Probes = nil }, "the check never ran"},
		"few probes": {func(_ *world.Spec, o *record.Outcome) { o.Probes = append(o.Probes[:9:9], o.Probes[30:]...) },
			"no run of the check began and ended"},
		"probes that are late": {func(_ *world.Spec, o *record.Outcome) { o.Probes = append(o.Probes[:11:11], o.Probes[30:]...) }, "the check ran too rarely"},
		"a script that is not there": {func(_ *world.Spec, o *record.Outcome) {
			for i := range o.Probes {
				o.Probes[i].ExitCode = world.ProbeNotFound
			}
		}, "the check itself failed"},
		"a program that ended by itself, and stays down": {func(_ *world.Spec, o *record.Outcome) {
			o.Crashes = []record.Crash{{Node: "n1", TimeNs: 9 * second}}
		}, "holds"},
		"and that is started again": {func(s *world.Spec, o *record.Outcome) {
			s.Nodes[0].Restart = world.Restart{Mode: world.RestartAlways, DelayNs: second}
			o.Crashes = []record.Crash{{Node: "n1", TimeNs: 9 * second}}
		}, "violated"},
		"a node that shrinking has taken out": {func(s *world.Spec, _ *record.Outcome) { s.Nodes[1].Command = nil }, "holds"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, p := trio(world.Check{Type: world.Custom, Tolerance: world.Tolerance{While: "majority connected"}}, world.Liveness)
			out := checked(t, missing, "crash n3 10..30")
			c.change(spec, out)
			v := judge(spec, p, out)
			if status := string(v.Status); status != c.want && (v.Status != Unknown || !strings.Contains(v.Reason, c.want)) {
				t.Fatalf("%s: %s; want %s", v.Status, v.Reason, c.want)
			}
		})
	}
}

func cutProbes(o *record.Outcome, n int) { o.Probes = o.Probes[:n] }

// asking is a history in which one client asks a node once a second, and fails in a time, in seconds.
func asking(node string, from, to int64) (list []history.Event) {
	for at := int64(1); at < 60; at++ {
		e := history.Event{Number: uint64(2 * at), TimeNs: at * second, Client: "load/c0", Type: history.Invoke, Op: "put", Key: "k", Node: node}
		list = append(list, e)
		e.Number, e.TimeNs, e.Type = e.Number+1, e.TimeNs+second/2, history.Ok
		if from <= at && at < to {
			e.Type = history.Fail
		}
		list = append(list, e)
	}
	return list
}

// TestWorkloadsWhileConnected: what operations show of progress and recovery counts while a majority is connected, if the node that was
// asked is of it and its client can reach it.
func TestWorkloadsWhileConnected(t *testing.T) {
	progress := world.Check{Type: world.ProgressCheck, Patience: world.Patience{Failures: 5, GraceNs: 3 * second},
		Tolerance: world.Tolerance{While: "majority connected"}}
	recovery := world.Check{Type: world.RecoveryCheck, Tolerance: world.Tolerance{While: "majority connected"}}
	without := world.Check{Type: world.ProgressCheck, Patience: world.Patience{Failures: 5, GraceNs: 3 * second}}
	for _, c := range []struct {
		name     string
		check    world.Check
		node     string
		from, to int64 // when it fails
		faults   []string
		want     Status
	}{
		{"fails while one is down", progress, "n1:80", 10, 30, []string{"crash n3 10..30"}, Violated},
		{"as before without while", without, "n1:80", 10, 30, []string{"crash n3 10..30"}, Holds},
		{"nothing fails", progress, "n1:80", 0, 0, []string{"crash n3 10..30"}, Holds},
		{"the node that was asked is down", progress, "n3:80", 10, 30, []string{"crash n3 10..30"}, Holds},
		{"the client cannot reach it", progress, "n1:80", 10, 30, []string{"partition client-n1 10..30"}, Holds},
		{"the client of another workload cannot reach it", progress, "n1:80", 10, 30, []string{"partition client2-n1 10..30"}, Violated},
		{"it says not whom it asked", progress, "", 10, 30, []string{"crash n3 10..30"}, Violated},
		{"two are down", progress, "n1:80", 10, 30, []string{"crash n3 10..30", "pause n2 10..30"}, Holds},
		{"more fail in the grace than after it", progress, "n1:80", 10, 18, []string{"crash n3 10..30", "crash n2 10..12"}, Holds},
		{"many fail after it", progress, "n1:80", 10, 25, []string{"crash n3 10..30", "crash n2 10..12"}, Violated},
		{"recovers not while one is down", recovery, "n1:80", 8, 30, []string{"crash n2 5..10", "crash n3 5..30"}, Violated},
		{"recovers", recovery, "n1:80", 8, 12, []string{"crash n2 5..10", "crash n3 5..30"}, Holds},
		{"recovers not where a node is down", recovery, "n3:80", 8, 30, []string{"crash n2 5..10", "crash n3 5..30"}, Holds},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, p := trio(c.check, world.PropertyKind(c.check.Type))
			spec.Nodes = append(spec.Nodes, world.Node{Name: "client2", Role: world.Client})
			spec.Workloads = append(spec.Workloads, world.Workload{Name: "other", Driver: "command", Node: "client2"})
			out := &record.Outcome{Reason: record.Finished, ReadyNs: second, VirtualNs: 60 * second, Ledger: faultsOf(t, c.faults...),
				Heals: []int64{40 * second}, History: asking(c.node, c.from, c.to), Drivers: []record.DriverEnd{{Workload: "load"}, {Workload: "other"}}}
			v := judge(spec, p, out)
			if v.Status != c.want {
				t.Fatalf("%s: %s\n%s\nwant %s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"), c.want)
			}
			if met := c.name == "nothing fails" || c.name == "recovers"; met && v.Withstood == 0 {
				t.Fatal("it withstood no fault")
			}
		})
	}
}

// TestTimesAgainstBruteForce: the times in which a majority is connected are those of a program that looks at each moment and each
// set of nodes.
func TestTimesAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	const end = 30
	some := 0
	for n := range 300 {
		nodes := 3 + r.IntN(3)
		spec := &world.Spec{}
		p := &world.Property{Check: world.Check{Tolerance: world.Tolerance{While: "majority connected"}}}
		for i := range nodes {
			name := fmt.Sprintf("n%d", i)
			spec.Nodes = append(spec.Nodes, world.Node{Name: name, Role: world.Server, Command: []string{"x"}})
			p.Check.Nodes = append(p.Check.Nodes, name)
		}
		out := &record.Outcome{}
		down := map[[2]int]*[end]bool{} // by node twice, or by link
		for range 1 + r.IntN(10) {
			a, b := r.IntN(nodes), r.IntN(nodes)
			from := r.IntN(end)
			to := from + r.IntN(8)
			s := fault.Injection{StartNs: int64(from), EndNs: int64(to)}
			if a == b {
				s.Node = p.Check.Nodes[a]
			} else {
				s.Directions = []fault.Direction{{From: p.Check.Nodes[a], To: p.Check.Nodes[b]}}
			}
			out.Ledger.Injections = append(out.Ledger.Injections, s)
			key := [2]int{min(a, b), max(a, b)}
			if down[key] == nil {
				down[key] = &[end]bool{}
			}
			for at := from; at < min(max(to, from+1), end); at++ { // one that is over at once is there for a moment
				down[key][at] = true
			}
		}
		tol, err := toleranceOf(spec, p, out)
		if err != nil {
			t.Fatal(err)
		}
		whole := func(set, from, to int) bool {
			for key, at := range down {
				if set>>key[0]&1 == 0 || set>>key[1]&1 == 0 {
					continue
				}
				for k := from; k < to; k++ {
					if at[k] {
						return false
					}
				}
			}
			return true
		}
		anySet := func(from, to int) bool {
			for set := range 1 << nodes {
				members := 0
				for i := range nodes {
					members += set >> i & 1
				}
				if members*2 > nodes && whole(set, from, to) {
					return true
				}
			}
			return false
		}
		times := tol.times(0, end, nil)
		for from := range end {
			for to := from + 1; to <= end; to++ {
				_, got := tol.whole(int64(from), int64(to), nil)
				want := anySet(from, to)
				listed := slices.ContainsFunc(times, func(s span) bool { return s.fromNs <= int64(from) && int64(to) <= s.toNs })
				if got != want || listed != want {
					t.Fatalf("world %d, from %d to %d: whole %v, listed %v, by brute force %v: %v\n%+v", n, from, to, got, listed,
						want, times, out.Ledger.Injections)
				}
				if want && to-from > 5 && len(out.Ledger.Injections) > 3 {
					some++
				}
			}
		}
	}
	if some < 1000 {
		t.Fatalf("only %d long times", some)
	}
}

func TestConnectedConditions(t *testing.T) {
	for text, want := range map[string]int{"majority connected": 3, "all connected": 5, "2 connected": 2, " majority  connected ": 3} {
		if got, err := world.Connected(text, 5); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "majority", "6 connected", "0 connected", "-1 connected", "majority of connected", "connected", "most connected"} {
		if got, err := world.Connected(text, 5); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}
