package inproc

import (
	crand "crypto/rand"
	"io"
	"math/big"
	"math/rand"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// peers are a server that does something and two that listen.
func peers(act func(p *Process)) func(*World) {
	return func(w *World) {
		w.Set(Settings{Chaos: time.Second})
		w.Process("act", func(p *Process) {
			for range 10 {
				act(p)
				p.Sleep(10 * time.Millisecond)
			}
		})
		for _, name := range []string{"n1", "n2", "n3", "n4"} {
			w.Process(name, func(p *Process) {
				for {
					p.Receive()
				}
			})
		}
	}
}

var (
	survivor int
	survived atomic.Int64
)

// answering is a transport of no world, whose answers have bodies that are open.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// Each way in which chance slips in is found, with node, call and the line of the source.
func TestAccidentalChanceIsFound(t *testing.T) {
	survived.Store(0)
	for _, c := range []struct {
		name string
		act  func(p *Process)
		says []string
	}{
		{"the order of a map", func(p *Process) {
			for to := range map[string]bool{"n1": true, "n2": true, "n3": true, "n4": true} {
				p.Send(to, "hello") // line: map
			}
		}, []string{"act/0: send n", "line: map"}},
		{"time.Now", func(p *Process) {
			p.Send("n1", time.Now().UnixNano()) // line: clock
		}, []string{"act/0: send n1", "digest", "line: clock"}},
		{"math/rand", func(p *Process) {
			p.Sleep(time.Duration(rand.Intn(1e9))) // line: rand
		}, []string{"act/0: sleep", "line: rand"}},
		{"a duration alone", func(p *Process) {
			p.Sleep(time.Duration(survived.Add(1))) // line: duration
		}, []string{"act/0: sleep for 1ns, at", "act/0: sleep for 11ns, at", "line: duration"}},
		{"crypto/rand", func(p *Process) {
			n, _ := crand.Int(crand.Reader, big.NewInt(1e9))
			p.Disk().Append("log", n.Bytes()) // line: crypto
		}, []string{"act/0: write log", "line: crypto"}},
		{"a variable that lives on", func(p *Process) {
			survivor++
			p.Send("n1", survivor) // line: variable
		}, []string{"act/0: send n1", "line: variable"}},
		{"a goroutine that calls into the world", func(p *Process) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				p.Send("n1", "from elsewhere") // line: goroutine
			}()
			<-done
		}, []string{"a goroutine of the program's own calls send on node act", "line: goroutine"}},
		{"a call into the world by a go statement", func(p *Process) {
			before := runtime.NumGoroutine()
			go p.Send("n1", "from elsewhere") // line: statement
			for runtime.NumGoroutine() > before {
				runtime.Gosched()
			}
		}, []string{"a goroutine of the program's own calls send on node act at", "line: statement"}},
		{"the Timeout of an http.Client", func(p *Process) {
			r, err := (&http.Client{Timeout: time.Hour, Transport: answering{}}).Get("http://n1/")
			if err == nil {
				t.Cleanup(func() { r.Body.Close() })
			}
		}, []string{"an http.Client has a Timeout", "set Transport.Within instead"}},
		{"a goroutine that is left behind", func(p *Process) {
			stop := make(chan struct{})
			t.Cleanup(func() { close(stop) })
			go func() { <-stop }() // line: left
		}, []string{"left behind", "line: left"}},
		{"a message that is changed", func(p *Process) {
			data := []byte("hello")
			p.Send("n1", data)
			data[0] = 'j'
		}, []string{"[]uint8", "from act to n1 was changed after it was sent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := mustNew(t, peers(c.act))
			d, err := e.Diverge(e.Spec(), tape.Tape{Seed: 1}, 10, engine.Options{})
			if err != nil || d == nil {
				t.Fatalf("%v, %v", d, err)
			}
			for _, want := range c.says {
				if _, mark, ok := strings.Cut(want, "line: "); ok {
					want = "strict_test.go:" + lineOf(t, "// line: "+mark)
				}
				if !strings.Contains(d.Error(), want) {
					t.Errorf("%q is not in\n%s", want, d.Error())
				}
			}
		})
	}
	// What shows in an assertion or in a property alone has its place, too.
	// Eight keys fill a group of Go's map, so that the first is even half of the time: of two keys one comes first seven times in eight.
	first := func(of map[int]bool) bool {
		for v := range of {
			return v%2 == 0
		}
		return false
	}
	either := map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}
	for mark, c := range map[string]struct {
		define func(*World)
		says   string
	}{
		"asserted": {func(w *World) {
			w.Process("act", func(p *Process) {
				p.Assert(first(either), "all is well") // line: asserted
			})
		}, `act: the assertion "all is well" (Always) is false`},
		"reached": {func(w *World) {
			w.Process("act", func(p *Process) {
				p.Sometimes(first(either), "luck") // line: reached
			})
		}, `act: the assertion "luck" (Sometimes) is true`},
		"property": {func(w *World) {
			w.Process("act", func(p *Process) {})
			w.Final("luck holds", func() error { // line: property
				if first(either) {
					return nil
				}
				return io.EOF
			})
		}, `the property "luck holds" does not hold`},
	} {
		e := mustNew(t, c.define)
		d, err := e.Diverge(e.Spec(), tape.Tape{Seed: 1}, 30, engine.Options{})
		if err != nil || d == nil || d.Event == 0 || !strings.Contains(d.Error(), c.says) ||
			!strings.Contains(d.Error(), "strict_test.go:"+lineOf(t, "// line: "+mark)) {
			t.Errorf("%s: %v, %v", mark, d, err)
		}
	}
	// And what is sound is not suspected.
	for _, define := range []func(*World){peers(func(p *Process) {
		for v := range map[string]int{"a": 1, "b": 2, "c": 3} {
			p.Assert(true, v+" is well")
			p.Assert(v == "a", "it is a")
		}
	}), peers(func(p *Process) { p.Send("n1", p.Uint64()) }), counter("crash on server rate 10% for 100ms..500ms", "drop rate 5%")} {
		e := mustNew(t, define)
		for seed := range uint64(5) {
			if d, err := e.Diverge(e.Spec(), tape.Tape{Seed: seed}, 3, engine.Options{}); err != nil || d != nil {
				t.Errorf("%v, %v", d, err)
			}
		}
	}
}
