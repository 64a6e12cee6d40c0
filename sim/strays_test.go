package sim

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// clerk is a world of one client, which does this in each of its operations.
func clerk(act func(p *inproc.Process)) func(*inproc.World) {
	return func(w *inproc.World) {
		w.Client("clerk", func(p *inproc.Process) {
			for range 3 {
				p.Operation(inproc.Op{Kind: "count"}, func() (string, error) {
					act(p)
					return "", nil
				})
				p.Sleep(time.Millisecond)
			}
		})
		w.Final("nothing", func() error { return nil })
	}
}

// machine is a world of one machine, which does this in each tick.
func machine(act func()) func(*inproc.World) {
	return func(w *inproc.World) {
		w.Set(inproc.Settings{Chaos: 100 * time.Millisecond})
		w.Machine("m", func(*inproc.Node) inproc.Machine { return ticking{act} })
		w.Final("nothing", func() error { return nil })
	}
}

type ticking struct{ act func() }

func (ticking) Receive(*inproc.Node, inproc.Message) {}
func (m ticking) Tick(*inproc.Node)                  { m.act() }

// lineOf is the number of the line of this file that ends in a mark.
func lineOf(t *testing.T, mark string) string {
	t.Helper()
	text, err := os.ReadFile("strays_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, "// line: "+mark) {
			return "strays_test.go:" + strconv.Itoa(i+1)
		}
	}
	t.Fatalf("no line %s", mark)
	return ""
}

// group is like an errgroup.Group: its goroutines are started in a function of its own.
type group struct{ sync.WaitGroup }

func (g *group) start(f func()) {
	g.Add(1)
	go func() { // line: group
		defer g.Done()
		f()
	}()
}

// Goroutines that code of a world starts by itself are found, however long they live and whoever starts them, with their place and what to do.
func TestGoroutinesOutsideTheWorldAreFound(t *testing.T) {
	const (
		command  = "bloodhound test --actor-mode --switches"
		machines = "with World.Process instead of World.Machine"
		standard = "package sim/fake"
		timer    = "counts real time"
	)
	for _, c := range []struct {
		name, mark, remedy string
		world              func(t *testing.T) func(*inproc.World)
	}{
		{"one that has ended before the step does", "short", command, func(*testing.T) func(*inproc.World) {
			return clerk(func(*inproc.Process) {
				var done sync.WaitGroup
				done.Add(1)
				go done.Done() // line: short
				done.Wait()
			})
		}},
		{"one that outlives its run", "long", command, func(t *testing.T) func(*inproc.World) {
			return clerk(func(*inproc.Process) {
				go func() { <-t.Context().Done() }() // line: long
			})
		}},
		{"one that such a goroutine has started", "child", command, func(*testing.T) func(*inproc.World) {
			return clerk(func(*inproc.Process) {
				done := make(chan struct{})
				go func() {
					go func() { close(done) }() // line: child
				}()
				<-done
			})
		}},
		{"those of a group", "group", command, func(*testing.T) func(*inproc.World) {
			return clerk(func(*inproc.Process) {
				var g group
				g.start(func() {})
				g.start(func() {})
				g.Wait()
			})
		}},
		{"one with labels of its own", "labels", command, func(*testing.T) func(*inproc.World) {
			return clerk(func(p *inproc.Process) {
				pprof.Do(context.Background(), pprof.Labels("customer", "ann"), func(context.Context) {
					labelled := make(chan bool)
					go func() { // line: labels
						var b bytes.Buffer
						pprof.Lookup("goroutine").WriteTo(&b, 1)
						labelled <- strings.Contains(b.String(), `labels: {"customer":"ann"}`)
					}()
					p.Assert(<-labelled, "labels are inherited")
				})
			})
		}},
		{"one of another process", "spawned", command, func(*testing.T) func(*inproc.World) {
			return clerk(func(p *inproc.Process) {
				p.Spawn(func(*inproc.Process) {
					done := make(chan struct{})
					go close(done) // line: spawned
					<-done
				})
			})
		}},
		{"one of a coroutine", "coroutine", command, func(*testing.T) func(*inproc.World) {
			return clerk(func(p *inproc.Process) {
				next, stop := iter.Pull(func(yield func(int) bool) {
					done := make(chan struct{})
					go close(done) // line: coroutine
					<-done
					yield(1)
				})
				next()
				stop()
			})
		}},
		{"one in a run of a hundred", "rare", command, func(*testing.T) func(*inproc.World) {
			return clerk(func(p *inproc.Process) {
				if p.Choose(300) == 7 {
					done := make(chan struct{})
					go close(done) // line: rare
					<-done
				}
			})
		}},
		{"one of a machine", "machine", machines, func(*testing.T) func(*inproc.World) {
			return machine(func() {
				done := make(chan struct{})
				go close(done) // line: machine
				<-done
			})
		}},
		{"those of a server of the standard library", "server", standard, func(*testing.T) func(*inproc.World) {
			return clerk(func(*inproc.Process) {
				s := httptest.NewServer(http.NotFoundHandler()) // line: server
				s.Close()
			})
		}},
		{"one of a timer", "timer", timer, func(*testing.T) func(*inproc.World) {
			return clerk(func(*inproc.Process) {
				done := make(chan struct{})
				time.AfterFunc(time.Microsecond, func() { close(done) }) // line: timer
				<-done
			})
		}},
		{"one of a timer for which nothing waits", "later", timer, func(*testing.T) func(*inproc.World) {
			return machine(func() {
				time.AfterFunc(time.Microsecond, func() {}) // line: later
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, Campaign{Runs: 300}, c.world(t))
			for _, want := range []string{"not reproducible: ", lineOf(t, c.mark), c.remedy} {
				if !strings.Contains(r.text.String(), want) {
					t.Errorf("%q is not in\n%s", want, r.text.String())
				}
			}
			if r.ExitCode != check.ExitNotReproducible || r.public().Status != NotReproducible || r.Diverged == "" {
				t.Errorf("exit code %d, diverged: %q", r.ExitCode, r.Diverged)
			}
			for _, k := range []string{command, machines, standard, timer} {
				if k != c.remedy && strings.Contains(r.text.String(), k) {
					t.Errorf("%q does not help:\n%s", k, r.text.String())
				}
			}
		})
	}
}

// A violation is reported as one, with a note of goroutines outside the world.
func TestAViolationGoesBeforeGoroutinesOutside(t *testing.T) {
	r := run(t, Campaign{Runs: 100}, clerk(func(p *inproc.Process) {
		done := make(chan struct{})
		go close(done) // line: violating
		<-done
		p.Assert(p.Choose(20) != 7, "it is not 7")
	}))
	if text := r.text.String(); r.ExitCode != check.ExitViolated || !strings.Contains(text, "note: in ") || !strings.Contains(text, lineOf(t, "violating")) {
		t.Errorf("exit code %d:\n%s", r.ExitCode, text)
	}
}

// No world is blamed for goroutines that are not its own: those of other tests and other worlds, of libraries that were there before, and of Go's runtime.
func TestGoroutinesOfOthersAreNotSuspected(t *testing.T) {
	stop := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(stop)
	requests := make(chan chan struct{})
	noisy := func(act func()) {
		others.Add(1)
		go func() {
			defer others.Done()
			for {
				select {
				case <-stop:
					return
				case answer := <-requests: // of a library's pool that was there before
					go close(answer)
				default:
					act()
				}
			}
		}()
	}
	noisy(func() {
		done := make(chan struct{})
		go close(done)
		<-done
		fired := make(chan struct{})
		time.AfterFunc(time.Microsecond, func() { close(fired) })
		<-fired
	})
	noisy(func() { // another world, whose goroutines are outside
		c := Campaign{Runs: 5, Doubles: 1, Dir: t.TempDir()}
		r, err := c.run(context.Background(), "other", clerk(func(*inproc.Process) {
			done := make(chan struct{})
			go close(done)
			<-done
			time.AfterFunc(time.Microsecond, func() {})
		}))
		if err != nil || r.ExitCode != check.ExitNotReproducible {
			t.Errorf("%v: %v", err, r)
		}
	})
	for name, world := range map[string]func(*inproc.World){
		"no goroutine": clerk(func(p *inproc.Process) { p.Sleep(time.Millisecond) }),
		"coroutines": clerk(func(*inproc.Process) {
			next, stop := iter.Pull(func(yield func(int) bool) { yield(1) })
			next()
			stop()
		}),
		"a collection": clerk(func(*inproc.Process) {
			x := new([64]int)
			runtime.SetFinalizer(x, func(*[64]int) {})
			runtime.AddCleanup(new([64]int), func(int) {}, 1)
			runtime.GC()
		}),
		"a deadline that does not come": clerk(func(*inproc.Process) {
			_, cancel := context.WithTimeout(context.Background(), time.Hour)
			cancel()
			time.AfterFunc(time.Hour, func() {}).Stop()
		}),
		"a pool that was there": clerk(func(*inproc.Process) {
			answer := make(chan struct{})
			requests <- answer
			<-answer
		}),
		"a machine": machine(func() {}),
	} {
		for range 3 {
			r := run(t, Campaign{Runs: 30}, world)
			if r.ExitCode != check.ExitHolds || strings.Contains(r.text.String(), "outside the world") {
				t.Errorf("%s: exit code %d:\n%s", name, r.ExitCode, r.text.String())
			}
		}
	}
}

// While a trace is recorded by someone else, who starts goroutines is not known, and the summary says so.
func TestGoroutinesDuringATrace(t *testing.T) {
	if err := trace.Start(io.Discard); err == nil { // else this test itself is traced
		defer trace.Stop()
	}
	r := run(t, Campaign{Runs: 10}, clerk(func(*inproc.Process) {
		done := make(chan struct{})
		go close(done)
		<-done
	}))
	// A goroutine that has not quite ended with its run is seen without a trace.
	seen := r.ExitCode == check.ExitNotReproducible && strings.Contains(r.text.String(), "left behind")
	if !seen && !strings.Contains(r.text.String(), "cannot tell whether goroutines ran outside the world") {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
}
