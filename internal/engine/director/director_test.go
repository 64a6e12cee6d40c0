package director

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/clone"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var update = flag.Bool("update", false, "rewrite what scenarios expect")

// stage is an engine without any program: it writes down what the Director asks for, and when.
type stage struct {
	Actuator  // nil: what no scenario asks for
	spec      world.Spec
	edits     []tape.Edit
	tape      *tape.Source
	d         *Director
	out       record.Outcome
	now       int64
	events    uint64
	alive     map[int64]bool
	stopping  map[int]Stopping
	listening []int // where every node listens, of an engine that is asked
	text      strings.Builder
}

func (s *stage) note(format string, args ...any) {
	fmt.Fprintf(&s.text, "%s %s\n", time.Duration(s.now), fmt.Sprintf(format, args...))
}
func (s *stage) name(node int) string { return s.spec.Nodes[node].Name }

func (s *stage) Now() int64     { return s.now }
func (s *stage) Events() uint64 { return s.events }
func (s *stage) Deliver() error { return nil }
func (s *stage) Happen(node, call string, result int64, detail string) uint64 {
	s.events++
	s.note("event %d: %s", s.events, strings.Join(strings.Fields(fmt.Sprint(node, " ", call, " ", result, " ", detail)), " "))
	return s.events
}
func (s *stage) TakeImage(node, number int) error {
	s.note("copy the disk of %s as %d", s.name(node), number)
	return nil
}
func (s *stage) DropImage(node, number int) {
	s.note("drop copy %d of the disk of %s", number, s.name(node))
}
func (s *stage) Reimage(node int, by *fault.Action, number int) error {
	s.note("%s loses %s, and gets copy %d of the disk", by.Kind, s.name(node), number)
	return nil
}
func (s *stage) Launch(l *Launch) (int64, error) {
	kinds := []string{"", "main", "driver", "health", "probe", "role", "recovery", "prober", "hook", "operator"}
	if l.KeepDisk {
		s.note("keep the disk of %s", s.name(l.Node))
	}
	s.note("start job %d on %s: %s %s", l.Tag, s.name(l.Node), kinds[l.Kind], strings.Join(l.Argv, " "))
	for _, e := range l.Env {
		if skip, ok := strings.CutPrefix(e, "BLOODHOUND_SKIP="); ok {
			s.note("job %d skips %s", l.Tag, skip)
		}
	}
	s.alive[l.Tag] = true
	return l.Tag, nil
}
func (s *stage) Alive(proc int64) bool               { return s.alive[proc] }
func (s *stage) Running(int) []int64                 { return nil }
func (s *stage) Kill(proc int64)                     { s.note("kill process %d", proc) }
func (s *stage) KillTagged(tag int64)                { s.note("kill job %d", tag) }
func (s *stage) Starting(int) bool                   { return false }
func (s *stage) AwaitReady(int, bool)                {}
func (s *stage) Listening(int) []int                 { return s.listening }
func (s *stage) KillNode(node int, by *fault.Action) { s.note("kill %s", s.name(node)) }
func (s *stage) LosePower(node int, by *fault.Action, stream string) error {
	s.note("cut the power of %s, which keeps what %s draws", s.name(node), stream)
	return nil
}
func (s *stage) PowerOn(node int) { s.note("power of %s", s.name(node)) }
func (s *stage) Stop(node int, by *fault.Action, signal int) {
	s.note("send %s to %s", world.SignalName(signal), s.name(node))
	s.stopping[node] = Stopping{ID: by.ID, Signal: signal}
}
func (s *stage) Stopping(node int) Stopping { return s.stopping[node] }
func (s *stage) Stopped(node int) {
	s.note("kill what is left on %s", s.name(node))
	delete(s.stopping, node)
}
func (s *stage) Pause(node, id int)       { s.note("pause %s", s.name(node)) }
func (s *stage) Resume(node, id int) bool { s.note("resume %s", s.name(node)); return true }
func (s *stage) Leak(node, id int, from, to int64) {
	s.note("take the memory of %s until %s", s.name(node), time.Duration(to))
}
func (s *stage) EndLeak(node int) { s.note("give back the memory of %s", s.name(node)) }
func (s *stage) KillLargest(node, id int) (Killed, bool) {
	s.note("kill the largest process of %s", s.name(node))
	s.alive[s.d.Nodes[node].Main] = false
	return Killed{PID: 7, Program: "/bin/server", Bytes: 1 << 20}, true
}
func (s *stage) Restarts(node, id int)             {}
func (s *stage) Rates()                            { s.note("rates change") }
func (s *stage) Ask(int, bool) (int, string, bool) { return 0, "", false }
func (s *stage) Order(proc int64, line []byte) bool {
	if s.d.Jobs[proc-1].Kind == JobDriver {
		s.note("job %d reads %q", proc, line)
	}
	return true
}
func (s *stage) Watch(int, int64)                {}
func (s *stage) Life(int) Life                   { return Life{} }
func (s *stage) Hidden(int) string               { return "" }
func (s *stage) Dump(int64, int) *record.Dump    { return nil }
func (s *stage) Injected(*fault.Action)          {}
func (s *stage) Undone(*fault.Action)            {}
func (s *stage) RoleChanged(node string)         {}
func (s *stage) Logged(record.LogLine)           {}
func (s *stage) Block(c fault.Direction, id int) { s.note("block %s->%s by %d", c.From, c.To, id) }
func (s *stage) Clog(c fault.Direction, id int)  { s.note("clog %s->%s by %d", c.From, c.To, id) }
func (s *stage) Slow(c fault.Direction, on *fault.Action) {
	s.note("slow %s->%s by %d", c.From, c.To, on.ID)
}
func (s *stage) Reset(c fault.Direction, a *fault.Action) int { return 0 }
func (s *stage) Names(node string, id int, silent bool)       { s.note("names of %s fail by %d", node, id) }
func (s *stage) Pressure(node string, id int, sinceNs int64)  { s.note("memory of %s by %d", node, id) }
func (s *stage) FDLimit(node string, id int, sinceNs int64) {
	s.note("descriptors of %s by %d", node, id)
}
func (s *stage) FillDisk(node string, id int)        { s.note("disk of %s is full by %d", node, id) }
func (s *stage) Disk(node string, speed fault.Speed) { s.note("disk of %s: %s", node, speed.Name) }
func (s *stage) SlowDisk(node string, id int, ns int64) {
	s.note("disk of %s is slow by %d: %s", node, id, time.Duration(ns))
}
func (s *stage) Clock(a *fault.Action) {
	s.note("clock of %s is wrong by %d: %d", a.Node, a.ID, a.Amount)
}
func (s *stage) RightClock(a *fault.Action) { s.note("clock of %s is right", a.Node) }

// do makes one line of a scenario: of the world, of the tape, or something that happens.
func (s *stage) do(t *testing.T, line string) {
	word, rest, _ := strings.Cut(line, " ")
	args := strings.Fields(rest)
	number := func(i int) int64 {
		n, err := strconv.ParseInt(args[i], 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	duration := func(text string) int64 {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return int64(d)
	}
	f := &s.spec.Faults
	times := map[string]*int64{"max": &s.spec.MaxTimeNs, "step": &s.spec.TimeStepNs, "warmup": &f.StartNs, "stop": &f.StopNs, "settle": &f.SettleNs}
	switch {
	case times[word] != nil:
		*times[word] = duration(rest)
	case word == "server" || word == "client":
		n := world.Node{Name: args[0], Role: world.Client}
		if word == "server" {
			n.Role, n.Command, n.StopGraceNs = world.Server, []string{"serve"}, 10e9
		}
		if len(args) > 1 {
			n.Restart = world.Restart{Mode: world.RestartMode(args[1])}
		}
		s.spec.Nodes = append(s.spec.Nodes, n)
	case word == "rules":
		s.spec.RulesVersion = int(number(0))
	case word == "ports":
		n := &s.spec.Nodes[len(s.spec.Nodes)-1]
		for i := range args {
			n.Ports = append(n.Ports, int(number(i)))
		}
	case word == "releases":
		n := &s.spec.Nodes[len(s.spec.Nodes)-1]
		for _, command := range args {
			n.Releases = append(n.Releases, []string{command})
		}
	case word == "replacement":
		s.spec.Nodes[len(s.spec.Nodes)-1].Replacement = args
	case word == "healthcheck":
		s.spec.Nodes[len(s.spec.Nodes)-1].Health = &world.Healthcheck{Command: []string{"check"}, IntervalNs: duration(rest)}
	case word == "engine":
		s.spec.Engine = rest
	case word == "listening":
		s.listening = append(s.listening, int(number(0)))
	case word == "listens":
		s.d.Listens(s.d.nodeID(args[0]), int(number(1)))
	case word == "answers":
		s.d.AnsweredClient(s.d.nodeID(args[0]))
	case word == "ready":
		ns, ok := s.d.ReadyNs(args[0])
		s.note("ready %v since %s, never ready %v", ok, time.Duration(ns), s.d.NeverReady(args[0]))
	case word == "workload":
		s.spec.Workloads = append(s.spec.Workloads, world.Workload{Name: args[0], Driver: "command", Node: args[0], Command: []string{"drive"}})
	case word == "announces":
		l := &s.spec.Workloads[len(s.spec.Workloads)-1]
		l.Announces, l.ReadyNs = true, duration(rest)
	case word == "reports":
		s.events++
		s.d.Reported(&Notice{Event: s.events, TimeNs: s.now, Node: s.d.Jobs[number(0)-1].Node, Tag: number(0),
			Text: fmt.Appendf(nil, `{"type":%q}`+"\n", args[1])})
		s.takeIn(t, nil)
	case word == "outcome":
		s.d.Sum(s.tape)
		if l := s.out.Length; l != nil {
			s.note("length: %+v", *l)
		}
		for _, w := range s.out.Warnings {
			s.note("warning: %s", w)
		}
		for _, m := range s.out.Marks {
			s.note("mark of %s at event %d: %s", m.Workload, m.Event, m.Type)
		}
		for _, e := range s.out.History {
			s.note("%s: %s", e.Type, e.Error)
		}
	case word == "fault":
		r, err := fault.Parse(rest)
		if err != nil {
			t.Fatal(err)
		}
		f.Enabled, f.Rules = true, append(f.Rules, r)
	case word == "role":
		f.Roles = append(f.Roles, world.NodeRole{Node: args[0], Name: args[1], Log: args[2]})
	case word == "eventually":
		s.spec.Properties = append(s.spec.Properties,
			world.Property{Name: args[0], Kind: world.Liveness, TimeoutNs: duration(args[1]),
				Check: world.Check{Type: world.HTTPCheck, IntervalNs: 1e9}})
	case word == "withstands":
		s.spec.Properties = append(s.spec.Properties, world.Property{Name: args[0], Kind: world.Liveness, TimeoutNs: duration(args[1]),
			Check: world.Check{Type: world.HTTPCheck, IntervalNs: 1e9, Tolerance: world.Tolerance{While: "majority connected"}}})
	case word == "always":
		s.spec.Properties = append(s.spec.Properties,
			world.Property{Name: args[0], Kind: world.Safety, Check: world.Check{Type: world.HTTPCheck, IntervalNs: 1e9}})
	case word == "draw":
		s.edits = append(s.edits, tape.Edit{Op: tape.Set, Stream: args[0], From: uint64(number(1)), Value: uint64(number(2))})
	case word == "until":
		s.until(t, duration(rest))
	case word == "exit":
		j := &s.d.Jobs[number(0)-1]
		s.alive[j.Proc] = false
		s.takeIn(t, s.d.Exited(&Notice{Event: s.events, TimeNs: s.now, Node: j.Node, Proc: j.Proc, Program: "/bin/x",
			Tag: number(0), Status: int(number(1)) << 8}))
	case word == "line":
		_, text, _ := strings.Cut(rest, " ")
		s.d.Log(record.LogLine{TimeNs: s.now, Node: args[0], Text: text}, 0)
	case word == "tells": // by an SDK
		s.events++
		s.d.Told(&Notice{Event: s.events, TimeNs: s.now, Node: s.d.nodeID(args[0]), Text: []byte(args[1])})
		s.takeIn(t, nil)
	case word == "answer":
		text, err := json.Marshal(world.ProbeAnswer{ID: number(0), Code: int(number(1))})
		if err != nil {
			t.Fatal(err)
		}
		s.takeIn(t, s.d.Answered(&Notice{TimeNs: s.now, Tag: s.d.Jobs[number(0)-1].Prober, Text: text}))
	case word == "asks": // for a quiet period
		s.d.Asked(&Notice{TimeNs: s.now, Tag: number(0), Text: []byte(strings.Join(args[1:], " "))})
		s.takeIn(t, nil)
	case word == "call":
		s.check(t, s.d.Entering(args[0], args[1], args[2:]...))
	case word == "ends":
		for _, c := range s.out.Crashes {
			s.note("%s ended at %s with exit code %d during %v, and ran again at %s", c.Node, time.Duration(c.TimeNs), c.ExitCode,
				c.During, time.Duration(c.UpNs))
		}
	case word == "ledger":
		for _, e := range s.d.Plan.Ledger.Entries {
			s.note("%s: planned %d, delivered %d, observed %d", e.Kind, e.Planned, e.Delivered, e.Observed)
		}
	case word == "injections":
		for _, i := range s.d.Plan.Ledger.Injections {
			s.note("%s %s from %s to %s: node %q, cuts %v", i.Kind, i.Target, time.Duration(i.StartNs), time.Duration(i.EndNs), i.Node, i.Directions)
		}
	default:
		t.Fatalf("%q is nothing that a scenario has", line)
	}
}

// check continues with a copy of the state, in which nothing may be missing.
func (s *stage) check(t *testing.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
	s.d.State = clone.Deep(s.d.State)
}

// takeIn has the Director decide at once, as engines do after a notice.
func (s *stage) takeIn(t *testing.T, err error) {
	s.check(t, err)
	s.check(t, s.d.Direct())
}

// until lets the Director act whenever it is due.
func (s *stage) until(t *testing.T, ns int64) {
	if s.d == nil {
		setting, err := Prepare(&s.spec)
		if err != nil {
			t.Fatal(err)
		}
		s.alive, s.stopping = map[int64]bool{}, map[int]Stopping{}
		s.tape = tape.NewSource(tape.Tape{Edits: append([]tape.Edit{{Op: tape.Default, Stream: "**"}}, s.edits...)})
		s.d = setting.New(s.tape, s, &s.out)
	}
	for turns := 0; s.d.Due <= ns; turns++ {
		if turns == 10_000 {
			t.Fatal("the Director never rests")
		}
		s.now = max(s.now, s.d.Due)
		s.check(t, s.d.Direct())
		if s.d.Phase == PhaseOver {
			return
		}
	}
	s.now = max(s.now, ns)
}

// A scenario has lines about a world, a tape and what happens; what the Director does then follows "> ".
func TestScenarios(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s := &stage{spec: world.Spec{MaxTimeNs: 60e9, TimeStepNs: 1e9, Faults: world.Faults{SettleNs: 1e9}}}
			var got strings.Builder
			for line := range strings.Lines(string(file)) {
				if strings.HasPrefix(line, ">") {
					continue
				}
				got.WriteString(line)
				if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				s.do(t, line)
				for act := range strings.Lines(s.text.String()) {
					got.WriteString("> " + act)
				}
				s.text.Reset()
			}
			if *update {
				if err := os.WriteFile(name, []byte(got.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if got.String() != string(file) {
				t.Errorf("%s differs (rewrite it with -update):\n%s", name, got.String())
			}
		})
	}
}

// What directs a world can be copied: there is no function, channel or interface in it.
//
//ci:series
func TestStateIsData(t *testing.T) {
	if flaws := clone.Flaws(reflect.TypeFor[State]()); len(flaws) > 0 {
		t.Errorf("no data: %v", flaws)
	}
}
