package corpus

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

func draw(r *rand.Rand) Input {
	number := func() int32 {
		if r.IntN(2) == 0 {
			return int32(r.IntN(12) - 4)
		}
		return int32(r.Uint32())
	}
	in := Input{A: number(), B: number(), C: uint8(r.IntN(256)), S: make([]byte, r.IntN(6))}
	if r.IntN(3) > 0 {
		in.C %= 12
	}
	for i := range in.S {
		in.S[i] = "abcxyz\xc3\xa4\xff0"[r.IntN(10)]
	}
	if r.IntN(8) == 0 {
		in.S = []byte("abc")
	}
	return in
}

// outcome returns the result of a case for an input: its text, or its panic.
func outcome(in Input, f func(a, b int32, c uint8, s []byte) string, symbolic bool) (text string) {
	in.S = append(make([]byte, 0, len(in.S)+8), in.S...)
	defer func() {
		if e := recover(); e != nil {
			text = fmt.Sprint("panic: ", e)
		}
	}()
	if symbolic {
		mark(&in)
	}
	return in.Call(f)
}

func mark(in *Input) {
	shadow.Symbolic("a", unsafe.Pointer(&in.A), 4, false)
	shadow.Symbolic("b", unsafe.Pointer(&in.B), 4, false)
	shadow.Symbolic("c", unsafe.Pointer(&in.C), 1, false)
	for i := range in.S {
		shadow.Symbolic(fmt.Sprint("s", i), unsafe.Pointer(&in.S[i]), 1, false)
	}
}

const rounds = 200

// What other goroutines do while a path is recorded is no part of it.
func TestOtherGoroutines(t *testing.T) {
	in := Input{A: 3, B: 2, C: 1, S: []byte("ab")}
	record := func() shadow.Path {
		shadow.BeginPath(nil)
		outcome(in, decisions, true)
		return shadow.End()
	}
	alone := record()
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				outcome(in, structs, false)
			}
		}
	}()
	for range rounds {
		if p := record(); len(p.Branches) != len(alone.Branches) || p.Stale > 0 {
			t.Fatalf("%d conditions, %d stale shadows; alone %d conditions", len(p.Branches), p.Stale, len(alone.Branches))
		}
	}
	close(stop)
	<-stopped
}

// TestMain runs the tests as live.Explore runs handlers: without garbage collection, since shadows are by address.
func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	shadow.Prepare()
	os.Exit(m.Run())
}

// Each function gives the same by its first body, by its second one, and by its second one with a path recorded.
func TestBodiesAgree(t *testing.T) {
	if len(shadow.Packages) == 0 {
		t.Fatal("the corpus is not instrumented; internal/live/rewrite runs this test")
	}
	conditions := 0
	for _, c := range Cases {
		r := rand.New(rand.NewPCG(1, uint64(len(c.Name))))
		for range rounds {
			in := draw(r)
			shadow.On = false
			first := outcome(in, c.Run, false)
			shadow.On = true
			second := outcome(in, c.Run, false)
			shadow.On = false
			if first != second {
				t.Fatalf("%s of %+v:\nfirst  %s\nsecond %s", c.Name, in, first, second)
			}
			shadow.BeginPath(nil)
			third := outcome(in, c.Run, true)
			p := shadow.End()
			if first != third {
				t.Fatalf("%s of %+v:\nfirst    %s\nrecorded %s", c.Name, in, first, third)
			}
			conditions += validate(t, c.Name, p)
		}
	}
	t.Logf("%d conditions", conditions)
	if conditions == 0 {
		t.Error("no condition depends on an input")
	}
}

// validate reports conditions that do not hold for the path's own inputs.
func validate(t *testing.T, name string, p shadow.Path) int {
	values := make([]uint64, len(p.Inputs))
	for i, in := range p.Inputs {
		values[i] = in.Value
	}
	for _, b := range p.Branches {
		if (bv.Eval(b.Cond, values) != 0) != b.Taken {
			t.Errorf("%s: site %d: %v is not %t", name, b.Site, b.Cond, b.Taken)
		}
	}
	if p.Stale > 0 && !strings.HasPrefix(name, "sorting") { // sort has no second bodies here, and swaps what it sorts
		t.Errorf("%s: %d stale shadows", name, p.Stale)
	}
	return len(p.Branches)
}

// What is solved for happens: a run takes the side that its inputs were computed for.
func TestPredictionsComeTrue(t *testing.T) {
	want := os.Getenv("CASE")
	var marks []string
	most := 15
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		most = 40
	}
	paths := 0
	for _, c := range Cases {
		if want != "" && c.Name != want {
			continue
		}
		in := Input{A: 3, B: 2, C: 1, S: []byte("ab")}
		r := search.Search(search.Options{Paths: most}, func(values []uint64) search.Run {
			shadow.BeginPath(values)
			outcome(in, c.Run, true)
			return search.Run{Path: shadow.End()}
		})
		paths += r.Paths
		if r.Stale > 0 && c.Name != "sorting" {
			t.Errorf("%s: %d stale shadows", c.Name, r.Stale)
		}
		for site, n := range r.Diverged {
			t.Errorf("%s: %d runs diverged at site %d", c.Name, n, site)
		}
		marks = append(marks, fmt.Sprintf("%s %d", c.Name, r.Paths))
	}
	t.Logf("%d paths: %s", paths, strings.Join(marks, ", "))
}
