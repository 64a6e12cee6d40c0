package sync_test

import (
	"context"
	"fmt"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"github.com/bloodhound-dst/bloodhound/sim/inproc/sync"
	"github.com/bloodhound-dst/bloodhound/sim/inproc/sync/atomic"
)

// adds has two goroutines add to a counter, twice each.
func adds(add func(n *counter)) func(*inproc.World) {
	return func(w *inproc.World) {
		w.Client("client", func(p *inproc.Process) {
			p.Operation(inproc.Op{Kind: "add"}, func() (string, error) {
				n := &counter{}
				var wg sync.WaitGroup
				for range 2 {
					wg.Add(1)
					sync.Go(func() {
						defer wg.Done()
						add(n)
						add(n)
					})
				}
				wg.Wait()
				p.Assert(n.value() == 4, "no addition is lost")
				return "", nil
			})
		})
	}
}

type counter struct {
	mu     sync.Mutex
	atomic int64
	plain  int
}

func (n *counter) value() int { return int(n.atomic) + n.plain }

var counters = []struct {
	name  string
	right bool
	add   func(n *counter)
}{
	{"a load and a store", false, func(n *counter) { atomic.StoreInt64(&n.atomic, atomic.LoadInt64(&n.atomic)+1) }},
	{"a mutex that is released too early", false, func(n *counter) {
		n.mu.Lock()
		v := n.plain
		n.mu.Unlock()
		n.plain = v + 1
	}},
	{"an atomic addition", true, func(n *counter) { atomic.AddInt64(&n.atomic, 1) }},
	{"a compare and swap", true, func(n *counter) {
		for {
			v := atomic.LoadInt64(&n.atomic)
			if atomic.CompareAndSwapInt64(&n.atomic, v, v+1) {
				return
			}
		}
	}},
	{"a mutex", true, func(n *counter) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.plain++
	}},
}

// A lost addition is found by one of the first runs. It shrinks to the one switch that it takes, which the story names by its line, and repeats. Right code
// holds, however its goroutines are switched.
func TestCounters(t *testing.T) {
	runs := uint64(500)
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		runs = 10_000
	}
	switched := regexp.MustCompile(`thread client/0\.\d gives way for \S+, at \S+/sync_test\.go:\d+ in sync_test\.init\.func`)
	hash := regexp.MustCompile(`trace hash [0-9a-f]+`)
	for _, c := range counters {
		t.Run(c.name, func(t *testing.T) {
			r := campaign(t, runs, adds(c.add))
			if c.right {
				if r.Status != sim.Holds || r.Runs != runs {
					t.Errorf("%s in %d runs\n%s", r.Status, r.Runs, r.Text())
				}
				return
			}
			if r.Status != sim.Violated {
				t.Fatalf("%s in %d runs\n%s", r.Status, r.Runs, r.Text())
			}
			f := r.Failures[0]
			t.Logf("found by run %d, and shrunk to %+v", f.Run, f.Smallest)
			if f.Run >= 100 || f.Smallest.Decisions != 1 || !f.Minimal || !switched.MatchString(r.Text()) {
				t.Errorf("found by run %d, and shrunk to %+v (minimal: %v)\n%s", f.Run, f.Smallest, f.Minimal, r.Text())
			}
			for range 10 {
				again := campaign(t, runs, adds(c.add))
				if again.Runs != r.Runs || hash.FindString(again.Text()) != hash.FindString(r.Text()) {
					t.Errorf("another campaign finds\n%s\nand the first one\n%s", again.Text(), r.Text())
				}
			}
		})
	}
}

func campaign(t *testing.T, runs uint64, describe func(*inproc.World)) *sim.Result {
	t.Helper()
	r, err := sim.Campaign{Runs: runs, Dir: t.TempDir()}.Run(context.Background(), "world", describe)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// alone is a world of one client.
func alone(main func(p *inproc.Process)) func(*inproc.World) {
	return func(w *inproc.World) {
		w.Client("client", func(p *inproc.Process) {
			p.Operation(inproc.Op{Kind: "use"}, func() (string, error) {
				main(p)
				return "", nil
			})
		})
	}
}

// What waits in a world lets others run, and what the standard library promises holds.
func TestPromisesOfSync(t *testing.T) {
	for name, main := range map[string]func(p *inproc.Process){
		"a writer goes before readers that come later": func(p *inproc.Process) {
			var mu sync.RWMutex
			var wg sync.WaitGroup
			written, late := false, false
			mu.RLock()
			wg.Go(func() {
				mu.Lock()
				written = true
				mu.Unlock()
			})
			p.Sleep(time.Second)
			wg.Go(func() {
				mu.RLocker().Lock()
				late = !written
				mu.RLocker().Unlock()
			})
			p.Sleep(time.Second)
			p.Assert(!mu.TryRLock() && !mu.TryLock(), "who waits is not overtaken")
			mu.RUnlock()
			wg.Wait()
			p.Assert(written && !late, "the writer was first")
		},
		"a signal wakes who waited first, and a broadcast the others": func(p *inproc.Process) {
			var mu sync.Mutex
			c := sync.NewCond(&mu)
			var wg sync.WaitGroup
			var order []int
			for i := range 3 {
				wg.Go(func() {
					mu.Lock()
					defer mu.Unlock()
					c.Wait()
					order = append(order, i)
				})
				p.Sleep(time.Second)
			}
			c.Signal()
			p.Sleep(time.Second)
			p.Assert(len(order) == 1 && order[0] == 0, "one was woken")
			c.Broadcast()
			wg.Wait()
			p.Assert(len(order) == 3, "all were woken")
		},
		"once is once, and others wait for its end": func(p *inproc.Process) {
			var once sync.Once
			var wg sync.WaitGroup
			calls := 0
			for range 3 {
				wg.Go(func() {
					once.Do(func() {
						p.Sleep(time.Second)
						calls++
					})
					p.Assert(calls == 1, "it was called once")
				})
			}
			wg.Wait()
		},
		"a pool gives what was put, and a map ranges in order": func(p *inproc.Process) {
			pool := sync.Pool{New: func() any { return new(int) }}
			v := pool.Get()
			pool.Put(v)
			p.Assert(pool.Get() == v, "it is the same")
			var m sync.Map
			for i := range 20 {
				m.Store(i, i)
			}
			m.Delete(7)
			m.CompareAndSwap(8, 8, 80)
			last, n := -1, 0
			m.Range(func(k, v any) bool {
				p.Assert(k.(int) > last && (v == k || v == 80), "keys come in order")
				last, n = k.(int), n+1
				if n == 1 {
					m.Delete(19)
				}
				return true
			})
			p.Assert(n == 18, "each key comes once")
		},
		"a panic of a function that is called once comes again": func(p *inproc.Process) {
			calls := 0
			f := sync.OnceFunc(func() { calls++; panic("no") })
			for range 2 {
				func() {
					defer func() { p.Assert(recover() == "no", "it panics") }()
					f()
				}()
			}
			p.Assert(calls == 1, "it is called once")
		},
	} {
		t.Run(name, func(t *testing.T) {
			if r := campaign(t, 200, alone(main)); r.Status != sim.Holds {
				t.Error(r.Text())
			}
		})
	}
}

// A lock that spins lets its holder run, although the tape switches nothing.
func TestSpinning(t *testing.T) {
	r := campaign(t, 10, func(w *inproc.World) {
		w.Set(inproc.Settings{Switch: -1})
		alone(func(p *inproc.Process) {
			var held atomic.Bool
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for !held.CompareAndSwap(false, true) {
					}
					p.Sleep(time.Millisecond)
					held.Store(false)
				})
			}
			wg.Wait()
		})(w)
	})
	if r.Status != sim.Holds {
		t.Error(r.Text())
	}
}

// Goroutines that wait for each other end the run with a panic, as they end a program; so do two that each hold what the other
// one waits for, while others live.
func TestDeadlocks(t *testing.T) {
	for name, c := range map[string]struct {
		main func(p *inproc.Process)
		says string
	}{
		"all goroutines": {func(p *inproc.Process) {
			var mu sync.Mutex
			mu.Lock()
			mu.Lock()
		}, "all goroutines are asleep - deadlock!"},
		"two of three": {func(p *inproc.Process) {
			var a, b sync.Mutex
			inTurn := func(x, y *sync.Mutex) {
				x.Lock()
				y.Lock()
				y.Unlock()
				x.Unlock()
			}
			sync.Go(func() { inTurn(&a, &b) })
			sync.Go(func() { inTurn(&b, &a) })
			p.Sleep(10 * time.Second)
		}, "holds a lock and has waited for another one for"},
	} {
		t.Run(name, func(t *testing.T) {
			r := campaign(t, 200, func(w *inproc.World) {
				w.Process("node", func(p *inproc.Process) { c.main(p) })
			})
			if r.Status != sim.Violated || !strings.Contains(r.Text(), c.says) {
				t.Errorf("%s\n%s", r.Status, r.Text())
			}
		})
	}
}

// An invariant does not see what a goroutine has left half done under a lock, or in the midst of its code.
func TestInvariantsBetweenSteps(t *testing.T) {
	r := campaign(t, 200, func(w *inproc.World) {
		x, y := 0, 0
		var mu sync.Mutex
		w.Invariant("x is y", func() error {
			mu.Lock()
			defer mu.Unlock()
			if x != y {
				return fmt.Errorf("%d, %d", x, y)
			}
			return nil
		})
		w.Process("node", func(p *inproc.Process) {
			for range 2 {
				sync.Go(func() {
					for range 5 {
						mu.Lock()
						x++
						p.Now()
						p.Log("half")
						var n atomic.Int32
						n.Add(1)
						y++
						mu.Unlock()
					}
				})
			}
		})
	})
	if r.Status != sim.Holds {
		t.Error(r.Text())
	}
}

// A node that crashes takes with it who holds locks and who waits for them.
func TestCrashesUnderLocks(t *testing.T) {
	r := campaign(t, 300, func(w *inproc.World) {
		w.Set(inproc.Settings{Chaos: 2 * time.Second})
		w.Faults("crash on node rate 20% for 10ms..100ms")
		w.Process("node", func(p *inproc.Process) {
			var mu sync.Mutex
			n := 0
			for range 3 {
				sync.Go(func() {
					for {
						mu.Lock()
						v := n
						p.Sleep(time.Millisecond)
						n = v + 1
						mu.Unlock()
					}
				})
			}
			for range 10 {
				p.Sleep(50 * time.Millisecond)
				mu.Lock()
				p.Sometimes(n > 20, "much was done")
				mu.Unlock()
			}
		})
	})
	if r.Status != sim.Holds {
		t.Error(r.Text())
	}
}

// The stand-ins have all that the packages have for which they stand in, with the same types.
func TestNothingIsMissing(t *testing.T) {
	const own = "github.com/bloodhound-dst/bloodhound/sim/inproc/sync"
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports}, "sync", "sync/atomic", own, own+"/atomic")
	if err != nil || len(list) != 4 {
		t.Fatal(err, len(list))
	}
	of := map[string]*types.Package{}
	for _, p := range list {
		of[p.PkgPath] = p.Types
	}
	for path, by := range map[string]string{"sync": own, "sync/atomic": own + "/atomic"} {
		for _, name := range of[path].Scope().Names() {
			want, have := of[path].Scope().Lookup(name), of[by].Scope().Lookup(name)
			if !want.Exported() {
				continue
			}
			if have == nil {
				t.Errorf("%s has no %s", by, name)
				continue
			}
			if _, ok := want.(*types.Func); ok {
				if signature(have) != signature(want) {
					t.Errorf("%s.%s is %s, and not %s", by, name, signature(have), signature(want))
				}
				continue
			}
			methods := types.NewMethodSet(types.NewPointer(want.Type()))
			for i := range methods.Len() {
				m := methods.At(i).Obj()
				got := types.NewMethodSet(types.NewPointer(have.Type())).Lookup(nil, m.Name())
				if m.Exported() && (got == nil || signature(got.Obj()) != signature(m)) {
					t.Errorf("%s.%s has no method %s %s", by, name, m.Name(), signature(m))
				}
			}
		}
	}
}

// signature has the types of a function without names of parameters and packages.
func signature(o types.Object) string {
	s := o.(*types.Func).Signature()
	text := ""
	for _, list := range []*types.Tuple{s.Params(), s.Results()} {
		for i := range list.Len() {
			text += types.TypeString(list.At(i).Type(), func(*types.Package) string { return "" }) + " "
		}
		text += "; "
	}
	return text
}
