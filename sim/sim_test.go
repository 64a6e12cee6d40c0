package sim

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// register is a server that keeps one value in memory, though it promises more, and a client that writes and reads.
func register(durable bool) func(*inproc.World) {
	return func(w *inproc.World) {
		w.Process("server", func(p *inproc.Process) {
			value := ""
			if durable {
				data, _ := p.Disk().Read("value")
				value = string(data)
			}
			for {
				m := p.Receive()
				if put := m.Payload.(string); put != "" {
					value = put
					if durable {
						p.Disk().WriteFile("new", []byte(value))
						p.Disk().Sync("new")
						p.Disk().Rename("new", "value")
						p.Disk().Sync("value")
					}
				}
				p.Reply(m, value)
			}
		})
		w.Client("client", func(p *inproc.Process) {
			for i := range 20 { // so many that each run reads what it has written
				value := fmt.Sprint("v", i)
				p.Operation(inproc.Op{Kind: "put", Key: "k", Input: value}, func() (string, error) {
					_, err := p.Call("server", value, 100*time.Millisecond)
					return "", err
				})
				p.Sleep(150 * time.Millisecond)
				p.Operation(inproc.Op{Kind: "get", Key: "k"}, func() (string, error) {
					value, err := p.Call("server", "", 100*time.Millisecond)
					if value == "" {
						return "", inproc.ErrNotFound
					}
					return fmt.Sprint(value), err
				})
			}
		})
		w.Linearizable("key-value")
		w.Faults("crash on server rate 5% for 50ms..200ms")
	}
}

func run(t *testing.T, c Campaign, world func(*inproc.World)) *result {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Runs == 0 {
		c.Runs = 100
	}
	r, err := c.run(t.Context(), t.Name(), world)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestACampaignJudgesHistories(t *testing.T) {
	for _, strategy := range []string{"random", "coverage-guided", "swarm", "bfs"} {
		r := run(t, Campaign{Strategy: strategy, ShrinkRuns: -1}, register(false))
		if r.ExitCode != check.ExitViolated {
			t.Errorf("%s: a value in memory alone survives crashes:\n%s", strategy, r.text.String())
		}
		if r = run(t, Campaign{Strategy: strategy}, register(true)); r.ExitCode != check.ExitHolds && strategy != "bfs" {
			t.Errorf("%s: exit code %d:\n%s", strategy, r.ExitCode, r.text.String())
		}
	}
}

// A stored failure is made again by its file, by the same trace, and reports when it is gone.
func TestAFailureIsStored(t *testing.T) {
	dir := t.TempDir()
	r := run(t, Campaign{Dir: dir}, register(false))
	if len(r.Files) != 1 {
		t.Fatalf("%d files:\n%s", len(r.Files), r.text.String())
	}
	f, err := report.Load(dir, r.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	s, err := Campaign{Dir: dir, Hang: time.Minute}.open(t.Name(), register(false))
	if err != nil {
		t.Fatal(err)
	}
	if standing, err := s.standing(f); err != nil || !strings.HasSuffix(standing, "still shows") {
		t.Errorf("%q, %v", standing, err)
	}
	var b strings.Builder
	if _, err := s.printStory(&b, f, r.Files[0]); err != nil || strings.Contains(b.String(), "differs from the one that was found") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	other := func(w *inproc.World) { w.Process("lonely", func(*inproc.Process) {}) }
	if s, err = (Campaign{Dir: dir, Hang: time.Minute}).open("TestOther", other); err != nil {
		t.Fatal(err)
	}
	if _, err = s.standing(f); err == nil || !strings.Contains(s.foreign(f, err).Error(), "is of the test TestAFailureIsStored, and this one is TestOther") {
		t.Errorf("%v", err)
	}
	empty := &simulation{Campaign: Campaign{Dir: t.TempDir()}}
	if _, err := empty.load("abc"); err == nil || !strings.Contains(err.Error(), "run the test without -sim.replay: it stores its findings") {
		t.Errorf("%v", err)
	}
	if _, err := report.Load(dir, "../x/y"); err == nil || !strings.Contains(err.Error(), "which is "+filepath.Join(dir, "failures", "ID-RUN.json")) {
		t.Errorf("%v", err)
	}
	if s, err = (Campaign{Dir: dir, Hang: time.Minute}).open(t.Name(), register(true)); err != nil {
		t.Fatal(err)
	}
	if standing, err := s.standing(f); err != nil || standing != "" {
		t.Errorf("the repaired world: %q, %v", standing, err)
	}
}

// Failures of two tests, of two worlds, and of two tapes that break the same promise in the same way have files of their own in one folder.
func TestFailuresDoNotWriteOverEachOther(t *testing.T) {
	dir := t.TempDir()
	larger := func(w *inproc.World) {
		register(false)(w)
		w.Process("bystander", func(p *inproc.Process) { p.Receive() })
	}
	names, ids := map[string]string{}, map[string]string{}
	for _, c := range []struct {
		name  string
		seed  uint64
		world func(*inproc.World)
	}{{"TestA", 1, register(false)}, {"TestB", 1, register(false)}, {"TestA", 2, register(false)}, {"TestA", 1, larger}} {
		for range 2 {
			r, err := Campaign{Dir: dir, Runs: 100, Seed: c.seed, ShrinkRuns: -1}.run(t.Context(), c.name, c.world)
			if err != nil || len(r.failures) != 1 || r.Totals.Failures[0].ID != r.failures[0].ID {
				t.Fatalf("%v\n%s", err, r.text.String())
			}
			what := fmt.Sprintf("%s, seed %d, %d nodes", c.name, c.seed, len(r.failures[0].Spec.Nodes))
			f := r.failures[0]
			if was, known := names[f.Name()]; known && was != what {
				t.Errorf("%s and %s are both in %s", was, what, f.Name())
			}
			if was, known := ids[f.ID]; known && was != c.name {
				t.Errorf("%s and %s are both %s", was, c.name, f.ID)
			}
			names[f.Name()], ids[f.ID] = what, c.name
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "failures", "*.json"))
	if err != nil || len(files) != 4 || len(names) != 4 || len(ids) != 2 {
		t.Errorf("%v: %q of %v and %v", err, files, names, ids)
	}
}

// A world that never does what its faults are for proves nothing.
func TestWhatIsNotSeenIsNotKnown(t *testing.T) {
	r := run(t, Campaign{}, func(w *inproc.World) {
		register(true)(w)
		w.Faults("disk_full on server rate 0.0001%")
	})
	if r.ExitCode != check.ExitUnknown || !strings.Contains(r.text.String(), "disk_full") {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
	for rule, remedy := range map[string]string{
		"disk_full on server after 1000s":          "the chaos phase ended before the time or event it waits for: write an earlier `after`",
		"disk_full on server after event 1000000":  "the chaos phase ended before the time or event it waits for: write an earlier `after`",
		"disk_full on server after 1ms when false": "",
	} {
		r = run(t, Campaign{}, func(w *inproc.World) {
			register(true)(w)
			w.Faults(rule)
		})
		text := r.text.String()
		if r.ExitCode != check.ExitUnknown || !strings.Contains(text, "fault disk_full was planned 0 times") ||
			strings.Count(text, "the chaos phase ended") != 2*strings.Count(remedy, "the chaos phase ended") || !strings.Contains(text, remedy) {
			t.Errorf("%s: exit code %d:\n%s", rule, r.ExitCode, text)
		}
	}
	r = run(t, Campaign{}, func(w *inproc.World) {
		w.Client("client", func(p *inproc.Process) { p.Sleep(time.Second) })
		w.Linearizable("key-value")
	})
	if r.ExitCode != check.ExitUnknown || !strings.Contains(r.text.String(), "reported no operation") && !strings.Contains(r.text.String(), "no operation") {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
}

// Chance that is not the tape's is found before the campaign, with the place of the call at which it shows.
func TestChanceIsFound(t *testing.T) {
	r := run(t, Campaign{}, func(w *inproc.World) {
		w.Process("server", func(p *inproc.Process) {
			p.Sleep(time.Duration(rand.Intn(1_000_000_000)))
		})
		w.Final("nothing", func() error { return nil })
		w.Set(inproc.Settings{Chaos: time.Second})
	})
	if r.ExitCode != check.ExitNotReproducible || !strings.Contains(r.text.String(), "sim_test.go:") || !strings.Contains(r.text.String(), "server/0: sleep") {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
}

func TestOperationsAreNotNested(t *testing.T) {
	r := run(t, Campaign{Runs: 1, ShrinkRuns: -1}, func(w *inproc.World) {
		w.Client("client", func(p *inproc.Process) {
			p.Operation(inproc.Op{Kind: "put"}, func() (string, error) {
				return p.Operation(inproc.Op{Kind: "get"}, func() (string, error) { return "", nil })
			})
		})
		w.Final("nothing", func() error { return nil })
	})
	if r.ExitCode != check.ExitViolated || !strings.Contains(r.text.String(), "the operation get of client/0 begins before its operation put has ended") {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
}

func TestAPanicIsAFailureOfItsProgram(t *testing.T) {
	r := run(t, Campaign{}, func(w *inproc.World) {
		w.Process("server", func(p *inproc.Process) {
			if n := p.Choose(10); n == 7 {
				panic(fmt.Sprintf("no %d", n))
			}
			p.Receive()
		})
		w.Final("nothing", func() error { return nil })
		w.Set(inproc.Settings{Chaos: time.Second})
	})
	if r.ExitCode != check.ExitViolated || !strings.Contains(r.text.String(), "panic: no 7") || !strings.Contains(r.text.String(), "sim_test.go:") {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
	if len(r.failures) != 1 || r.failures[0].Smallest == nil || r.failures[0].Smallest.Shrunk.To.Decisions != 1 {
		t.Errorf("one choice is all it takes:\n%s", r.text.String())
	}
}

// t.Fatal in a process would end the goroutine of the campaign.
func TestGoexitIsToldOf(t *testing.T) {
	r := run(t, Campaign{Doubles: -1}, func(w *inproc.World) {
		w.Machine("m", func(*inproc.Node) inproc.Machine { return exits{} })
		w.Final("nothing", func() error { return nil })
	})
	if r.ExitCode != check.ExitEngine || !strings.Contains(r.text.String(), "t.Fatal") {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
}

func TestMistakesHaveTheirPlace(t *testing.T) {
	_, err := Campaign{}.run(t.Context(), "world", func(w *inproc.World) {
		w.Process("a", func(*inproc.Process) {})
		w.Faults("krash on a rate 1%", "reset rate 1%", "crash on a at open rate 1%")
	})
	if err == nil || strings.Count(err.Error(), "sim_test.go:") != 3 || !strings.Contains(err.Error(), "krash") ||
		!strings.Contains(err.Error(), "connections") ||
		!strings.Contains(err.Error(), `no call "open"; calls are send`) {
		t.Errorf("%v", err)
	}
	for says, describe := range map[string]func(*inproc.World){
		`property "linearizable": unknown model "nope"`: func(w *inproc.World) { w.Linearizable("nope") },
		"for another one use Property":                  func(w *inproc.World) { w.Linearizable("queue"); w.Linearizable("lock") },
	} {
		if _, err := (Campaign{}).run(t.Context(), "world",
			func(w *inproc.World) { w.Process("a", func(*inproc.Process) {}); describe(w) }); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if _, err := (Campaign{Strategy: "luck"}).run(t.Context(), "world", register(true)); err == nil || !strings.Contains(err.Error(), "luck") {
		t.Errorf("%v", err)
	}
	if _, err := (Campaign{Strategy: "pct"}).run(t.Context(), "world", register(true)); err == nil || !strings.Contains(err.Error(), "ranks") {
		t.Errorf("%v", err)
	}
}

// The environment stands for flags, which other packages of one `go test` would not know.
func TestTheEnvironmentGoesFirst(t *testing.T) {
	t.Setenv(envRuns, "7")
	t.Setenv(envStrategy, "swarm")
	r := run(t, Campaign{Runs: 50}, register(true))
	if r.Totals.Runs > 7+1 || r.Totals.Search.Strategy != "swarm" {
		t.Errorf("%d runs of %s", r.Totals.Runs, r.Totals.Search.Strategy)
	}
	for _, c := range []struct{ env, flag, value, says string }{
		{envRuns, flagRuns, "0", " is 0; give the number of runs, 1 or more"},
		{envRuns, flagRuns, "-1", ` is "-1"; give a whole number`},
		{envCampaign, flagCampaign, "abc", ` is "abc"; give a whole number`},
		{envStrategy, flagStrategy, "luck", `: unknown strategy "luck"`},
	} {
		t.Run(c.flag, func(t *testing.T) {
			t.Setenv(c.env, c.value)
			if _, err := (Campaign{}).given(false); err == nil || !strings.HasPrefix(err.Error(), c.env+c.says) {
				t.Errorf("%v", err)
			}
			if err := flag.Set(c.flag, c.value); err != nil {
				t.Fatal(err)
			}
			defer flag.Set(c.flag, "")
			if _, err := (Campaign{}).given(false); err == nil || !strings.HasPrefix(err.Error(), "-"+c.flag+c.says) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Setenv(envRuns, "many")
	if _, err := (Campaign{}).run(t.Context(), "world", register(true)); err == nil || !strings.Contains(err.Error(), envRuns) {
		t.Errorf("%v", err)
	}
	if flag.Lookup("sim.seed") == nil {
		t.Error("no flag -sim.seed")
	}
	if _, err := os.Stat(".bloodhound"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("tests have left a folder: %v", err)
	}
}

// What a campaign finds does not depend on how many runs it makes at once.
func TestWorkers(t *testing.T) {
	for _, strategy := range []string{"random", "coverage-guided"} {
		one := run(t, Campaign{Strategy: strategy, KeepGoing: true, ShrinkRuns: -1}, register(false))
		three := run(t, Campaign{Strategy: strategy, KeepGoing: true, ShrinkRuns: -1, Workers: 3}, register(false))
		if a, b := one.Totals, three.Totals; a.Events != b.Events || a.Violated != b.Violated || a.Violated == 0 ||
			len(a.Failures) != len(b.Failures) || a.Failures[0].Tape.Name() != b.Failures[0].Tape.Name() {
			t.Errorf("%s: one worker:\n%s\nthree:\n%s", strategy, one.text.String(), three.text.String())
		}
	}
}

// A node that never comes back to its world ends the program, which prints where the node is.
func TestAHangIsTold(t *testing.T) {
	if doubles, err := strconv.Atoi(os.Getenv("SIM_TEST_HANGS")); err == nil {
		run(t, Campaign{Doubles: doubles, Hang: 100 * time.Millisecond}, func(w *inproc.World) {
			w.Process("stuck", func(p *inproc.Process) { computesWithoutEnd() })
			w.Final("nothing", func() error { return nil })
		})
		return
	}
	for _, doubles := range []string{"-1", "3"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAHangIsTold$")
		cmd.Env = append(os.Environ(), "SIM_TEST_HANGS="+doubles, "TMPDIR="+t.TempDir()) // it ends without removing what it made
		out, err := cmd.CombinedOutput()
		for _, want := range []string{"world TestAHangIsTold: a node has not come back to the world for 100ms", "seed 1", "sim_test.go", "computesWithoutEnd"} {
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("doubles %s: %v; %q is not in\n%s", doubles, err, want, out)
			}
		}
	}
}

// Steps that take long are no hang, however long all of them take.
func TestSlowStepsAreNoHang(t *testing.T) {
	slow := 0
	run(t, Campaign{Runs: 1, Doubles: -1, Hang: time.Second}, func(w *inproc.World) {
		w.Process("slow", func(p *inproc.Process) {
			for range 8 {
				time.Sleep(150 * time.Millisecond) // real time is what the test is about
				slow++
				p.Sleep(time.Millisecond)
			}
		})
		w.Final("nothing", func() error { return nil })
	})
	if slow < 8 {
		t.Errorf("%d steps", slow)
	}
	hangs := 0
	w := watch(time.Hour, func() { hangs++ })
	defer w.stopWatching()
	for range 10 * looks {
		w.look()
		w.Beat()
	}
	if hangs > 0 {
		t.Error("a world whose steps continue hangs")
	}
	for range looks {
		w.look()
	}
	if hangs > 0 {
		t.Error("a step hangs before its time")
	}
	w.stopWatching()
	w.look()
	w.wake()
	for range looks {
		w.look()
	}
	if hangs > 0 {
		t.Error("a world that was not watched hangs")
	}
	if w.look(); hangs != 1 {
		t.Errorf("%d hangs", hangs)
	}
}

// The time of a campaign bounds the runs that are made twice before it, too, and what was cut off there is not taken for a difference.
func TestTheTimeBoundsAllRuns(t *testing.T) {
	r, err := Campaign{Time: time.Millisecond, Dir: t.TempDir()}.run(t.Context(), "endless", func(w *inproc.World) {
		w.Process("a", func(p *inproc.Process) {
			for {
				p.Yield()
			}
		})
		w.Final("nothing", func() error { return nil })
	})
	if err != nil || r.Diverged != "" || r.Totals.Runs > 1 {
		t.Errorf("%v\n%+v", err, r)
	}
}

var work int

func computesWithoutEnd() {
	for {
		work++
	}
}

// A stored failure that shows in another run than before is reported as it shows now.
func TestAChangedRunIsTold(t *testing.T) {
	seen := 1
	describe := func(w *inproc.World) {
		n := 0
		w.Process("a", func(p *inproc.Process) { p.Sleep(time.Duration(seen) * time.Second); n = seen })
		w.Final("nothing is seen", func() error {
			if n == 0 {
				return nil
			}
			return fmt.Errorf("saw %d", n)
		})
	}
	dir := t.TempDir()
	r, err := Campaign{Dir: dir}.run(t.Context(), t.Name(), describe)
	if err != nil || len(r.Files) != 1 {
		t.Fatalf("%v\n%+v", err, r)
	}
	f, err := report.Load(dir, r.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	seen = 2
	s, err := Campaign{Dir: dir, Hang: time.Minute}.open(t.Name(), describe)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if _, err := s.printStory(&b, f, r.Files[0]); err != nil || !strings.Contains(b.String(), "saw 2") ||
		strings.Contains(b.String(), "saw 1") || !strings.HasPrefix(b.String(), "note: this run differs from the one") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// A world that asks for switches, in a program that was not built for them, is an error, and holds nothing.
func TestSwitchesThatAreNotThere(t *testing.T) {
	_, err := Campaign{Runs: 1, Dir: t.TempDir()}.Run(t.Context(), "world", func(w *inproc.World) {
		w.Set(inproc.Settings{Switch: 0.1})
		w.Process("n", func(p *inproc.Process) { p.Sleep(time.Second) })
	})
	if err == nil || !strings.Contains(err.Error(), "bloodhound test --actor-mode --switches") {
		t.Error(err)
	}
}
