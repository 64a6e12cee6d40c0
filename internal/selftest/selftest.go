// Package selftest has a small world for each kind of fault, in which a program sees that fault. The driver program plays all its roles
// (package roles), so that the whole self-test runs wherever Bloodhound does.
package selftest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Case is one kind of fault, and the programs that show it.
type Case struct {
	Kind           world.FaultKind
	Server, Client string // roles of programs; without a client, the server reports what it sees
	Rule           string // in the language of package fault, without its kind and targets
	Target         string // where it concerns the programs
	Elsewhere      string // where it concerns no program
	Calm           string // all that the program says without the fault
	Seen           string // what it says, besides, with it
	First          string // a rule that must come before the kind's own, with a target for %s
}

// Cases has every kind of fault, in the order of fault.Kinds.
var Cases = []Case{
	{fault.Partition, "echo", "talk", "rate 0.02 for 300ms..600ms", "n1-n2", "n1-n3", "ok", "timeout", ""},
	{fault.Clog, "echo", "talk", "rate 0.02 for 300ms..600ms", "n1-n2", "n1-n3", "ok", "timeout", ""},
	{fault.SlowLink, "echo", "talk", "rate 0.02 for 300ms..600ms", "n1-n2", "n1-n3", "ok", "slow", ""},
	{fault.Delay, "echo", "talk", "rate 0.2 for 20ms..40ms", "n1-n2", "n1-n3", "ok", "slow", ""},
	{fault.Drop, "echo", "talk", "rate 0.1", "n1-n2", "n1-n3", "ok", "timeout", ""},
	{fault.Corrupt, "echo", "burst", "rate 0.1", "n1-n2", "n1-n3", "same", "wrong", ""},
	{fault.Duplicate, "echo", "burst", "rate 0.1", "n1-n2", "n1-n3", "same", "twice", ""},
	{fault.Reorder, "echo", "burst", "rate 0.2 for 2ms..5ms", "n1-n2", "n1-n3", "same", "order", ""},
	{fault.Reset, "echo", "talk", "rate 0.02", "n1-n2", "n1-n3", "ok", "reset", ""},
	{fault.DNSFail, "resolve", "", "rate 0.02 for 300ms..600ms", "n1", "n3", "found", "failed", ""},
	{fault.Crash, "echo", "talk", "rate 0.01 for 200ms..400ms", "n1", "n3", "ok", "refused", ""},
	{fault.PowerLoss, "store", "", "rate 0.02 for 50ms..100ms", "n1", "n3", "same", "lost", ""},
	{fault.Restart, "echo", "talk", "rate 0.01 for 200ms..400ms", "n1", "n3", "ok", "refused", ""},
	{fault.Upgrade, "echo", "talk", "rate 0.01 for 200ms..400ms", "n1", "n3", "ok", "refused", ""},
	{fault.Downgrade, "echo", "talk", "rate 0.02 for 200ms..400ms", "n1", "n3", "ok", "refused", "upgrade on %s rate 0.01 for 200ms..400ms"},
	{fault.Replace, "counter", "grow", "rate 0.01 for 50ms..100ms", "n1", "n3", "more", "less", ""},
	{fault.Rollback, "counter", "grow", "rate 0.01 for 50ms..100ms by 200ms..400ms", "n1", "n3", "more", "less", ""},
	{fault.Run, "counter", "grow", "rate 0.01", "n1", "n3", "more", "less", ""},
	{fault.Pause, "echo", "talk", "rate 0.01 for 200ms..400ms", "n1", "n3", "ok", "timeout", ""},
	{fault.WriteFail, "store", "", "rate 0.1", "n1", "n3", "same", "write: input/output error", ""},
	{fault.ReadFail, "store", "", "rate 0.1", "n1", "n3", "same", "read: input/output error", ""},
	{fault.OpenFail, "store", "", "rate 0.1", "n1", "n3", "same", "open: input/output error", ""},
	{fault.PartialWrite, "store", "", "rate 0.1", "n1", "n3", "same", "short", ""},
	{fault.FsyncFail, "store", "", "rate 0.1", "n1", "n3", "same", "fsync: input/output error", ""},
	{fault.TornWrite, "store", "", "rate 0.05 for 50ms..100ms", "n1", "n3", "same", "torn", ""},
	{fault.ReadCorrupt, "store", "", "rate 0.1", "n1", "n3", "same", "wrong", ""},
	{fault.DiskFull, "store", "", "rate 0.02 for 200ms..400ms", "n1", "n3", "same", "write: no space left on device", ""},
	{fault.SlowDisk, "store", "", "rate 0.02 for 200ms..400ms by 5ms..20ms", "n1", "n3", "same", "slow", ""},
	{fault.MemoryPressure, "memory", "", "rate 0.02 for 200ms..400ms", "n1", "n3", "some", "none", ""},
	{fault.OOM, "watch", "", "rate 0.01 for 400ms..800ms", "n1", "n3", "plenty", "little", ""},
	{fault.FDLimit, "store", "", "rate 0.02 for 200ms..400ms", "n1", "n3", "same", "open: too many open files", ""},
	{fault.ClockSkew, "date", "", "rate 0.02 for 200ms..400ms by 50ms..500ms", "n1", "n3", "right", "wrong", ""},
	{fault.ClockJump, "date", "", "rate 0.01 by 1s..60s", "n1", "n3", "right", "wrong", ""},
	{fault.ClockDrift, "clock", "compare", "rate 0.02 for 200ms..400ms by 100000ppm", "n1", "n3", "agree", "differ", ""},
}

// Seed is the tape on which every case shows its fault.
const Seed = 5

// Which says where the fault of a Case is injected.
type Which uint8

const (
	Nowhere   Which = iota // no fault at all
	There                  // where the programs see it
	Elsewhere              // where no program does
)

// Spec builds the world of a case. driver is the path of the driver program, and role names the arguments by which it plays a role.
func (c *Case) Spec(driver string, role func(name string) []string, which Which) (*world.Spec, error) {
	node := func(name, ip, program string) world.Node {
		return world.Node{Name: name, Role: world.Server, Hostname: name, IPv4: ip, Root: "host", WorkingDir: "/",
			Command: append([]string{driver}, role(program)...), Env: []string{"GOMAXPROCS=1"}, StopGraceNs: 1e9}
	}
	s := &world.Spec{Name: "selftest", Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6,
		Cost:        world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3},
		Nodes:       []world.Node{node("n1", "10.77.0.10", c.Server), node("n3", "10.77.0.12", "sleep")}}
	if c.Client != "" {
		s.Nodes = slices.Insert(s.Nodes, 1, node("n2", "10.77.0.11", c.Client))
	}
	// A node's /tmp and /run begin empty: a program that lies there is brought along.
	if _, ok := world.Emptied(driver); ok {
		folder := filepath.Dir(driver)
		for i := range s.Nodes {
			s.Nodes[i].Volumes = []world.Volume{{Kind: world.Bind, Source: folder, Target: folder, ReadOnly: true}}
		}
	}
	if which == Nowhere {
		return s, nil
	}
	target := c.Target
	if which == Elsewhere {
		target = c.Elsewhere
	}
	kind := string(c.Kind)
	if c.Kind == fault.Run {
		kind += ` "forget"`
	}
	sentences := []string{fmt.Sprintf("%s on %s %s", kind, target, c.Rule)}
	if c.First != "" {
		sentences = append(sentences, fmt.Sprintf(c.First, target))
	}
	s.Faults = world.Faults{Enabled: true, StartNs: 150e6, StopNs: 6e9}
	for _, text := range sentences {
		r, err := fault.Parse(text)
		if err != nil {
			return nil, err
		}
		if r.Kind == fault.Run {
			r.Command = append([]string{driver}, role(r.Command[0])...)
		}
		s.Faults.Rules = append(s.Faults.Rules, r)
	}
	for i := range s.Nodes { // releases of the same program
		for range releases {
			s.Nodes[i].Releases = append(s.Nodes[i].Releases, s.Nodes[i].Command)
		}
	}
	if fault.LosesPower(&s.Faults) {
		s.Cost.SyncNs = 1e6
	}
	return s, nil
}

// releases is how many releases each node has, besides its first one.
const releases = 3

// leastSaid is how often the program must have said something.
const leastSaid = 20

// Judge reports what is wrong with a run of the case, or nothing.
func (c *Case) Judge(which Which, out *record.Outcome) error {
	teller := "n1"
	if c.Client != "" {
		teller = "n2"
	}
	said := map[string]int{}
	for _, l := range out.Log {
		if l.Node == teller {
			said[l.Text]++
		}
	}
	if !out.Repeat.Reproducible {
		return fmt.Errorf("the run does not repeat: %s", out.Repeat.Reason)
	}
	if said[c.Calm] < leastSaid {
		return fmt.Errorf("the program said %q %d times, which should be at least %d: %s", c.Calm, said[c.Calm], leastSaid, words(said))
	}
	i := slices.IndexFunc(out.Ledger.Entries, func(e fault.Entry) bool { return e.Kind == c.Kind })
	if which == Nowhere {
		if i >= 0 || len(said) != 1 {
			return fmt.Errorf("without the fault the program said: %s", words(said))
		}
		return nil
	}
	if i < 0 {
		return fmt.Errorf("the ledger has no line for it")
	}
	e := out.Ledger.Entries[i]
	switch {
	case which == There && said[c.Seen] == 0:
		return fmt.Errorf("the program never said %q: %s", c.Seen, words(said))
	case which == There && (e.Delivered == 0 || e.Observed == 0):
		return fmt.Errorf("the ledger says: planned %d, delivered %d, observed %d", e.Planned, e.Delivered, e.Observed)
	case which == Elsewhere && (e.Observed != 0 || len(said) != 1):
		return fmt.Errorf("nobody can have seen it, but it was observed %d times, and the program said: %s", e.Observed, words(said))
	case which == Elsewhere && e.Delivered == 0 && fault.RowOf(c.Kind).PerStep() && !fault.RowOf(c.Kind).Instant:
		return fmt.Errorf("it was never delivered where nobody looks")
	}
	return nil
}

func words(said map[string]int) string {
	var list []string
	for w, n := range said {
		list = append(list, fmt.Sprintf("%q (%d)", w, n))
	}
	slices.Sort(list)
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
