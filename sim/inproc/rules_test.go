package inproc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// lineOf is the number of the line of this caller's file that ends with a mark.
func lineOf(t *testing.T, mark string) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(1)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, mark) {
			return fmt.Sprint(i + 1)
		}
	}
	t.Fatalf("no line ends with %q", mark)
	return ""
}

// status is the verdict on a property after a run.
func status(t *testing.T, e *worldEngine, tp tape.Tape, property string) check.Verdict {
	t.Helper()
	out := mustRun(t, e, tp)
	for _, v := range check.Judge(e.Spec(), out) {
		if v.Property == property {
			return v
		}
	}
	t.Fatalf("no verdict on %q", property)
	return check.Verdict{}
}

func TestPropertiesThatAreFunctions(t *testing.T) {
	n := 0
	for _, c := range []struct {
		name   string
		define func(w *World)
		want   check.Status
		says   string
	}{
		{"an invariant that holds", func(w *World) { w.Invariant("p", func() error { return nil }) }, check.Holds, ""},
		{"an invariant that is broken for a moment", func(w *World) {
			w.Invariant("p", func() error {
				if n == 5 {
					return errors.New("it is five")
				}
				return nil
			})
		}, check.Violated, "it is five"},
		{"an invariant that panics", func(w *World) { w.Invariant("p", func() error { panic("oh") }) }, check.Unknown, "panics: oh"},
		{"a final one", func(w *World) {
			w.Final("p", func() error {
				if n != 10 {
					return fmt.Errorf("it is %d", n)
				}
				return nil
			})
		}, check.Holds, ""},
		{"a final one that is broken", func(w *World) { w.Final("p", func() error { return fmt.Errorf("it is %d", n) }) }, check.Violated, "it is 10"},
		{"one that comes true", func(w *World) {
			w.Eventually("p", time.Second, func() error {
				if n < 10 {
					return errors.New("not yet")
				}
				return nil
			})
		}, check.Holds, ""},
		{"one that comes true too late", func(w *World) {
			w.Eventually("p", 50*time.Millisecond, func() error {
				if n < 10 {
					return errors.New("not yet")
				}
				return nil
			})
		}, check.Violated, "not yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := mustNew(t, func(w *World) {
				n = 0
				w.Process("a", func(p *Process) {
					for range 10 {
						p.Sleep(10 * time.Millisecond)
						n++
					}
				})
				w.Set(Settings{Chaos: 500 * time.Millisecond})
				c.define(w)
			})
			if v := status(t, e, tape.Replay(1, nil), "p"); v.Status != c.want || !strings.Contains(v.Reason, c.says) {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A property that must come true again after a heal is asked there.
func TestWhatMustComeTrueAfterEachHeal(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		up := false
		e := mustNew(t, func(w *World) {
			up = false
			w.Process("a", func(p *Process) {
				defer func() { up = false }()
				if !recovers && p.life > 1 {
					p.Sleep(time.Hour)
				}
				p.Sleep(100 * time.Millisecond)
				up = true
				p.Sleep(time.Hour)
			})
			w.Set(Settings{Chaos: 5 * time.Second, MaxTime: time.Minute})
			w.Eventually("it is up", time.Second, func() error {
				if !up {
					return errors.New("down")
				}
				return nil
			})
			w.Faults("crash on a rate 10% max 1 for 300ms")
		})
		want := check.Holds
		if !recovers {
			want = check.Violated
		}
		for seed := range uint64(10) {
			if v := status(t, e, tape.Tape{Seed: seed}, "it is up"); v.Status != want {
				t.Errorf("recovers %v, seed %d: %+v", recovers, seed, v)
			}
		}
	}
}

// Two processes of a node that read, wait and write lose an update when they meet: preemption is drawn at calls, and nowhere else.
func TestProcessesInterleaveAtCallsAlone(t *testing.T) {
	lost, total := 0, 0
	for _, careful := range []bool{false, true} {
		lost = 0
		e := mustNew(t, func(w *World) {
			total = 0
			add := func(p *Process) {
				for range 20 {
					if careful {
						p.Choose(2)
						total++
						continue
					}
					before := total
					p.Send("sink", before) // others may run here
					total = before + 1
				}
			}
			w.Process("a", func(p *Process) { p.Spawn(add); add(p) })
			w.Process("sink", func(p *Process) {
				for {
					p.Receive()
				}
			})
			w.Set(Settings{Chaos: time.Second, Preempt: 0.1})
			w.Final("no update is lost", func() error {
				if total != 40 {
					return fmt.Errorf("%d", total)
				}
				return nil
			})
		})
		for seed := range uint64(50) {
			if v := status(t, e, tape.Tape{Seed: seed}, "no update is lost"); v.Status == check.Violated {
				lost++
			}
		}
		if careful && lost > 0 || !careful && lost == 0 {
			t.Errorf("careful %v: %d of 50 runs lose an update", careful, lost)
		}
	}
}

// Programs that misuse their node are reported, with the node, and the world continues without them.
func TestMisuse(t *testing.T) {
	var other *Process
	for _, c := range []struct {
		name string
		act  func(p *Process)
		says string
	}{
		{"another node's process", func(p *Process) { other.Send("n1", 1) }, "send on node n1 while act runs"},
		{"a node that is not there", func(p *Process) { p.Send("nobody", 1) }, `sends to "nobody", and no node has that name`},
		{"a choice of nothing", func(p *Process) { p.Choose(0) }, "something to choose from"},
		{"an operation without a kind", func(p *Process) { p.Operation(Op{}, func() (string, error) { return "", nil }) }, "has no Kind"},
	} {
		e := mustNew(t, func(w *World) {
			w.Set(Settings{Chaos: time.Second})
			w.Process("n1", func(p *Process) { other = p; p.Receive() })
			w.Process("act", func(p *Process) { p.Sleep(time.Millisecond); c.act(p) })
		})
		out := mustRun(t, e, tape.Tape{Seed: 1})
		if len(out.Crashes) != 1 || out.Crashes[0].Node != "act" || !strings.Contains(out.Crashes[0].Signal, c.says) ||
			!strings.Contains(strings.Join(out.Crashes[0].Lines, "\n"), "rules_test.go:") {
			t.Errorf("%s: %+v", c.name, out.Crashes)
		}
	}
}

// Whatever a program does as its node crashes, it ends there, and its deferred functions do not reach the world.
func TestACrashUnwindsPrograms(t *testing.T) {
	unwound, after := 0, 0
	e := mustNew(t, func(w *World) {
		w.Process("a", func(p *Process) {
			defer func() { unwound++ }()
			defer func() {
				defer func() { recover() }() // a program that recovers from every panic
				p.Send("a", "last words")
				after++
			}()
			for {
				func() {
					defer func() { recover() }()
					p.Sleep(time.Hour)
					after++
				}()
				if unwound > 0 || p.dead {
					return
				}
			}
		})
		w.Set(Settings{Chaos: 2 * time.Second})
		w.Faults("crash on a rate 100% max 1 for 10ms")
	})
	out := mustRun(t, e, tape.Tape{Seed: 1})
	if out.Reason != record.Finished || unwound == 0 || after > 0 || len(out.Crashes) > 0 {
		t.Errorf("%s, unwound %d, after %d, %+v", out.Reason, unwound, after, out.Crashes)
	}
}

// Every bound is a reason, never a hang.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		main func(p *Process)
		says string
	}{
		{"events", func(p *Process) {
			for {
				p.Disk().Read("nothing")
			}
		}, "events"},
		{"events of one who yields", func(p *Process) {
			for {
				p.Yield()
			}
		}, "events"},
		{"processes", func(p *Process) {
			for {
				p.Spawn(func(p *Process) { p.Sleep(time.Hour) })
			}
		}, "processes at once"},
		{"messages", func(p *Process) {
			for {
				p.Send("b", 1)
			}
		}, "messages"},
		{"bytes", func(p *Process) {
			for {
				p.Disk().WriteAt("log", make([]byte, 1<<20), 0)
			}
		}, "bytes written"},
	} {
		e := mustNew(t, func(w *World) {
			w.Set(Settings{Chaos: time.Hour, MaxTime: 2 * time.Hour, Preempt: -1})
			w.Process("a", c.main)
			w.Process("b", func(p *Process) { p.Sleep(time.Hour) })
		})
		out := mustRun(t, e, tape.Tape{Seed: 1})
		if out.Reason != record.Limit || !strings.Contains(out.Detail, c.says) {
			t.Errorf("%s: %s %s", c.name, out.Reason, out.Detail)
		}
	}
}

// A smaller Spec leaves out operations and nodes, and what stays keeps its draws.
func TestCuts(t *testing.T) {
	e := mustNew(t, counter())
	spec := e.Spec()
	spec.Workloads[0].Skip = append(spec.Workloads[0].Skip, world.Skip{Client: "client/0", From: 3})
	out, err := engine.Run(e, spec, tape.Tape{Seed: 1}, engine.Options{})
	if err != nil || len(out.History) != 6 {
		t.Errorf("%d records, %v", len(out.History), err)
	}
	spec = e.Spec()
	spec.Nodes[0].Command = nil
	if out, err = engine.Run(e, spec, tape.Tape{Seed: 1}, engine.Options{}); err != nil || out.History[1].Type != "info" {
		t.Errorf("%+v, %v", out.History[1], err)
	}
}

// The hot paths allocate nothing: a run of twice the length allocates as much, but for what grows now and then.
func TestHotPathsAllocateNothing(t *testing.T) {
	for name, define := range map[string]func(n int) func(*World){"waits": sleeper, "messages": asker} {
		allocations := func(n int) uint64 {
			e := mustNew(t, define(n))
			spec := e.Spec()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := engine.Run(e, spec, tape.Replay(1, nil), engine.Options{}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		allocations(1000)
		if short, long := allocations(10_000), allocations(20_000); long > short+2000 {
			t.Errorf("%s: %d allocations for 10,000, %d for 20,000", name, short, long)
		}
	}
}

// Close ends all programs of a world, wherever they stand, and leaves no goroutine behind.
func TestCloseLeavesNothingBehind(t *testing.T) {
	e := mustNew(t, counter("crash on server rate 10% for 100ms..500ms"))
	before := runtime.NumGoroutine()
	for seed := range uint64(50) {
		w, err := e.Boot(e.Spec(), tape.Tape{Seed: seed}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if reason, err := w.Advance(engine.Until{Position: record.PositionAt(1 + seed)}); err != nil || reason != record.ReachedUntil {
			t.Fatal(reason, err)
		}
		if _, err := w.Fork(e.Spec(), tape.Tape{}, engine.Options{}); !errors.Is(err, engine.ErrUnsupported) {
			t.Error(err)
		}
		w.Close()
		w.Close()
		if _, err := w.Advance(engine.Until{}); err == nil {
			t.Error("a closed world continues")
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, and then %d", before, after)
	}
}

// A run in pieces is the run.
func TestAdvanceInPieces(t *testing.T) {
	e := mustNew(t, counter("crash on server rate 10% for 100ms..500ms", "partition rate 5% for 100ms..1s"))
	for seed := range uint64(10) {
		want := mustRun(t, e, tape.Tape{Seed: seed})
		w, err := e.Boot(e.Spec(), tape.Tape{Seed: seed}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for reason := record.ReachedUntil; reason == record.ReachedUntil; {
			if reason, err = w.Advance(engine.Until{Position: record.PositionAt(w.Outcome().Events + 7)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.Outcome(); got.Hash != want.Hash || len(got.Decisions) != len(want.Decisions) {
			t.Errorf("seed %d: %s and %s", seed, got.Hash, want.Hash)
		}
		w.Close()
	}
}

// A function that compares a world with a model gets each step, after it: each message is delivered or lost once, or still under way.
func TestAfterEachStep(t *testing.T) {
	count := map[StepKind]int{}
	sent, order := 0, []string(nil)
	e := mustNew(t, func(w *World) {
		clear(count)
		sent, order = 0, nil
		got := 0
		w.Machine("m", func(n *Node) Machine { return counts{&got} })
		w.Client("c", func(p *Process) {
			for range 50 {
				p.Send("m", sent)
				sent++
				p.Sleep(100 * time.Millisecond)
			}
		})
		w.Faults("crash on m rate 10% for 50ms..200ms", "drop rate 10%")
		w.After(func(s *Step) {
			count[s.Kind]++
			if s.Kind == Delivered && got != s.Message.Payload.(int)+1 {
				t.Errorf("a step reports message %v when the machine has dealt with %d", s.Message.Payload, got)
			}
			if s.Kind == Crashed || s.Kind == Started {
				order = append(order, s.Kind.String()+" "+s.Node)
			}
		})
	})
	for seed := range uint64(20) {
		mustRun(t, e, tape.Tape{Seed: seed})
		if count[Delivered]+count[Lost] != sent || sent != 50 || count[Ticked] == 0 || count[Ran] == 0 {
			t.Errorf("seed %d: %d messages were sent, and %v", seed, sent, count)
		}
		for i, step := range order[2:] {
			if want := []string{"Crashed m", "Started m"}[i%2]; step != want {
				t.Fatalf("seed %d: %v", seed, order)
			}
		}
	}
	e = mustNew(t, func(w *World) {
		w.Process("a", func(p *Process) { p.Sleep(time.Second) })
		w.After(func(*Step) { panic("lost my way") })
	})
	if _, err := engine.Run(e, e.Spec(), tape.Tape{}, engine.Options{}); err == nil || !strings.Contains(err.Error(), "lost my way") {
		t.Error(err)
	}
}

// counts counts messages.
type counts struct{ got *int }

func (c counts) Receive(n *Node, m Message) { *c.got = m.Payload.(int) + 1 }
func (c counts) Tick(*Node)                 {}

// A node that a smaller Spec leaves out is not started by the end of a crash either.
func TestACutNodeStaysDown(t *testing.T) {
	e := mustNew(t, counter("crash on server rate 100% for 10ms..20ms"))
	spec := e.Spec()
	spec.Nodes[0].Command = nil
	out, err := engine.Run(e, spec, tape.Tape{Seed: 1}, engine.Options{Observe: func(e *record.Event) {
		if e.Node == "server" {
			t.Fatalf("%+v", e)
		}
	}})
	if err != nil || out.Ledger.Entries[0].Delivered == 0 {
		t.Errorf("%v, %+v", err, out.Ledger)
	}
}

// Times beyond the end of any run do not come too early.
func TestTimesThatAreTooLong(t *testing.T) {
	e := mustNew(t, func(w *World) {
		w.Process("a", func(p *Process) {
			p.Spawn(func(p *Process) { p.Sleep(1<<63 - 1); panic("awake") })
			if _, ok := p.ReceiveWithin(1<<63 - 1); !ok {
				panic("nothing in time")
			}
		})
		w.Client("c", func(p *Process) {
			p.Sleep(-time.Hour)
			if began := p.run.now; began > int64(time.Second) {
				panic("a time below 0 has passed")
			}
			p.Call("a", "hello", 1<<63-1)
		})
		w.Set(Settings{MaxTime: 10 * time.Second})
		w.Faults("clock_drift on a rate 100% for 1s..2s by 300000ppm..400000ppm")
	})
	if out := mustRun(t, e, tape.Tape{Seed: 1}); len(out.Crashes) > 0 {
		t.Errorf("%+v", out.Crashes)
	}
}

// Nothing of a node runs while it is paused, or down, whatever it had begun.
func TestANodeThatIsPausedDoesNothing(t *testing.T) {
	for _, kind := range []string{"pause", "crash", "power_loss"} {
		e := mustNew(t, func(w *World) {
			w.Process("a", func(p *Process) {
				p.Spawn(func(p *Process) {
					for { // it wakes in the very moment of a time step, and asked for that before the step was
						const step = int64(9 * time.Millisecond)
						at := setupNs + ((p.run.now-setupNs)/step+2)*step
						p.Sleep(time.Duration(at - p.run.now - callNs))
						p.Send("m", 1)
					}
				})
				for {
					m := p.Receive()
					p.Disk().Append("log", []byte{1})
					p.Disk().Sync("log")
					p.Reply(m, 1)
				}
			})
			w.Machine("m", func(*Node) Machine { return pong{} })
			w.Client("c", func(p *Process) {
				for p.Turn() {
					p.Call("a", 1, 10*time.Millisecond)
				}
			})
			w.Set(Settings{Chaos: 2 * time.Second, TimeStep: 9 * time.Millisecond, Tick: 3 * time.Millisecond, Preempt: 0.01})
			w.Faults(kind + " on a rate 10% for 5ms..50ms")
		})
		injected := 0
		down := false
		_, err := engine.Run(e, e.Spec(), tape.Tape{Seed: 1}, engine.Options{Observe: func(ev *record.Event) {
			switch {
			case ev.Call == "fault":
				down = true
				injected++
			case ev.Call == "end":
				down = false
			case down && ev.Node == "a":
				t.Fatalf("%s: %+v", kind, ev)
			}
		}})
		if err != nil || injected < 5 {
			t.Errorf("%s: %v, %d injections", kind, err, injected)
		}
	}
}

// A rule may ask for the number of a call, or for a range of them that each tape chooses from; it cannot ask for what happens during, after or
// between calls.
func TestRulesAtNumbersOfCalls(t *testing.T) {
	world := func(rule string) func(w *World) {
		return func(w *World) {
			w.Process("a", func(p *Process) {
				for {
					p.Sleep(10 * time.Millisecond)
				}
			})
			w.Process("b", func(p *Process) { p.Sleep(time.Hour) })
			w.Set(Settings{Chaos: time.Second})
			w.Faults(rule)
		}
	}
	seen := map[int]bool{}
	for seed := range uint64(20) {
		out := mustRun(t, mustNew(t, world("crash on a at sleep nth 5..9 for 10ms")), tape.Tape{Seed: seed})
		if len(out.Ledger.Injections) != 1 {
			t.Fatalf("seed %d: %+v", seed, out.Ledger)
		}
		seen[int(out.Ledger.Injections[0].StartNs/10e6)] = true
	}
	if len(seen) < 3 || len(seen) > 5 {
		t.Errorf("it crashed at sleeps %v", seen)
	}
	for _, rule := range []string{"crash on a after reply", "crash on a during fsync", "crash on a between write and rename", "crash on a in recovery"} {
		if _, err := newEngine("test", world(rule)); err == nil || !strings.Contains(err.Error(), "write at") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
