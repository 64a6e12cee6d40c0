package sdk

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// pays is a program that pays by a call, and tries again when it fails.
func pays(r *Run, rates Rates, check func(charged int)) {
	at := NewPoint(r, "pay", "charge", rates)
	charged := 0
	for range 5 {
		call := at.Call()
		if call.Way != Before {
			charged++
		}
		if call.Way != Before && call.Way != After {
			break
		}
		if err := call.Error(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			r.Fatalf("an error is %v", err)
		}
	}
	r.Quiet()
	check(charged)
}

// A bug that needs one fault is found, shrunk to it, and found again by the stored tape.
func TestFailuresShrinkToTheirCause(t *testing.T) {
	t.Chdir(t.TempDir())
	twice := func(r *Run) {
		pays(r, Rates{After: 0.1, Slow: 0.3, Delay: 1}, func(charged int) {
			if charged > 1 {
				r.Errorf("charged %d times", charged)
			}
		})
	}
	text, ok := Campaign{Runs: 100}.Search(t, twice)
	if ok || !strings.Contains(text, "charged 2 times") || strings.Count(text, "fault pay_charge") != 1 || !strings.Contains(text, " to 1\n") {
		t.Fatalf("the failure reads:\n%s", text)
	}
	_, file, _ := strings.Cut(text, "-sdk.replay=")
	*flagReplay = strings.TrimSpace(file)
	defer func() { *flagReplay = "" }()
	if text, ok := (Campaign{}).Search(t, twice); ok || !strings.Contains(text, "charged 2 times") {
		t.Errorf("the replay reads:\n%s", text)
	}
}

// What proves nothing fails.
func TestLittleEvidence(t *testing.T) {
	holds := func(int) {}
	for _, c := range []struct {
		what string
		body func(*Run)
		want string
	}{
		{"no call", func(*Run) {}, "no call was made"},
		{"no fault", func(r *Run) { pays(r, Rates{Before: 1e-6}, holds) },
			"pay_charge_before never happened in 100 calls: play more runs, such as sdk.Campaign{Runs: 46"},
		{"no call is left", func(r *Run) { pays(r, Rates{Before: 1, After: 0.5}, holds) },
			"pay_charge_after never happened, because other faults left it no call: lower their rates"},
		{"no such call", func(r *Run) {
			NewPoint(r, "pay", "refund", Rates{After: 0.5})
			pays(r, Rates{Before: 0.1}, holds)
		}, "pay_refund_after could not happen"},
		{"nobody looks", func(r *Run) { NewPoint(r, "pay", "charge", Rates{After: 0.5, Twice: 0.1}).Call() }, "pay_charge_after happened"},
		{"broken before", func(r *Run) { r.Errorf("broken") }, "fails without any fault"},
		{"panic", func(r *Run) { pays(r, Rates{Before: 0.1}, func(int) { panic("at the disco") }) }, "at the disco"},
		{"an injected error in a text", func(r *Run) {
			at := NewPoint(r, "pay", "charge", Rates{Before: 0.5})
			if call := at.Call(); call.Way == Before {
				r.Logf("charging: %v", call.Error(nil))
				r.Fatalf("cannot charge: %v", fmt.Errorf("the bank: %w", call.Error(nil)))
			}
		}, "cannot charge: the bank: unexpected EOF (a fault of the test)"},
		{"a panic with an injected error", func(r *Run) {
			at := NewPoint(r, "pay", "charge", Rates{Before: 0.5})
			if call := at.Call(); call.Way == Before {
				panic(call.Error(nil))
			}
		}, "panic: unexpected EOF (a fault of the test)"},
		{"FailNow", func(r *Run) { r.FailNow() }, "fails without any fault"},
	} {
		if text, ok := (Campaign{Runs: 100}).Search(t, c.body); ok || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.what, text)
		}
	}
}

// A run that holds when it is made again says so.
func TestRunsThatDoNotRepeat(t *testing.T) {
	runs := 0
	text, ok := Campaign{Runs: 10}.Search(t, func(r *Run) {
		if runs++; runs == 7 {
			r.Errorf("by chance")
		}
	})
	if ok || !strings.Contains(text, "passed when it ran again") || !strings.Contains(text, "-sdk.seed=6") {
		t.Errorf("%s", text)
	}
}

// Quiet ends the faults, and a bubble takes no time.
func TestQuietAndBubbles(t *testing.T) {
	began := time.Now()
	Campaign{Runs: 20, Bubble: true}.Test(t, func(r *Run) {
		at := NewPoint(r, "db", "exec", Rates{Slow: 0.5, Delay: time.Hour})
		for range 10 {
			at.Call()
		}
		r.Quiet()
		before := time.Now()
		for range 100 {
			if at.Call().Way != Fine {
				r.Errorf("a fault after Quiet")
			}
		}
		if time.Since(before) != 0 {
			r.Errorf("a call after Quiet was slow")
		}
	})
	if time.Since(began) > time.Hour {
		t.Error("hours have passed")
	}
}

// Cleanups run, the last one first, also when a run ends early; TempDir gives empty folders.
func TestCleanup(t *testing.T) {
	var order []string
	Campaign{Runs: 1}.Search(t, func(r *Run) {
		dir := r.TempDir()
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 || dir == r.TempDir() {
			r.Errorf("%s has %v, %v", dir, list, err)
		}
		r.Cleanup(func() { order = append(order, "first") })
		r.Cleanup(func() { order = append(order, "last") })
		r.Fatalf("over")
	})
	if strings.Join(order, " ") != "last first" {
		t.Errorf("cleanups ran so: %v", order)
	}
}

// Quiet waits for late calls.
func TestLateCalls(t *testing.T) {
	Campaign{Runs: 5, Bubble: true}.Test(t, func(r *Run) {
		at := NewPoint(r, "pay", "charge", Rates{Late: 0.5, Delay: time.Hour})
		var charged atomic.Int64
		for range 10 {
			switch call := at.Call(); call.Way {
			case Late:
				at.Later(func() { charged.Add(1) })
			default:
				charged.Add(1)
			}
			time.Sleep(2 * time.Hour) // in the bubble: a late call is over
		}
		at.Call()
		if r.Quiet(); charged.Load() != 10 {
			r.Errorf("charged %d times", charged.Load())
		}
	})
}

// source is one that cannot make calls later, as a process of a world is.
type source struct{}

func (source) Mishap(string, float64) bool { return false }
func (source) Sleep(time.Duration)         {}

// What cannot be is refused, with the name of the fault.
func TestRefused(t *testing.T) {
	for want, make := range map[string]func(){
		"rate 1.5 of db_exec_before is not":          func() { NewPoint(source{}, "db", "exec", Rates{Before: 1.5}) },
		"rate -1 of db_exec_503_after":               func() { NewPoint(source{}, "db", "exec", Rates{}, Answer{Name: "503", After: -1}) },
		"rate NaN of db_bad_conn":                    func() { NewFault(source{}, "db_bad_conn", math.NaN()) },
		`"db_or der_late" is not a valid fault name`: func() { NewFault(source{}, "db_or der_late", 0) },
		"nothing decides":                            func() { NewPoint(nil, "db", "exec", Rates{Before: 0.1}) },
		"db_exec cannot be late here":                func() { NewPoint(source{}, "db", "exec", Rates{Late: 0.1}) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), want) {
					t.Errorf("not %q, but %v", want, p)
				}
			}()
			make()
		}()
	}
}

// What goes on again after the faults is progress; what hangs, ends early, or is never seen without faults, is none.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		what string
		body func(*Run, *Point, *Progress)
		want string
	}{
		{"goes on", func(r *Run, at *Point, p *Progress) {
			r.Quiet()
			for range 10 {
				at.Call()
				time.Sleep(50 * time.Second) // in the bubble
				p.Step()
			}
		}, ""},
		{"is done", func(r *Run, at *Point, p *Progress) {
			r.Quiet()
			at.Call()
			p.Done()
			time.Sleep(time.Hour) // in the bubble
		}, ""},
		{"hangs", func(r *Run, at *Point, p *Progress) {
			r.Quiet()
			p.Step()
			<-r.Context().Done()
		}, "orders made no progress for 1m0s"},
		{"ends early", func(r *Run, at *Point, p *Progress) {
			p.Step() // too early
			r.Quiet()
		}, "orders made no progress after the faults"},
		{"no end of faults", func(r *Run, at *Point, p *Progress) { p.Step() }, "call Quiet"},
		{"hangs after a fault", func(r *Run, at *Point, p *Progress) {
			lost := at.Call().Way == Before
			r.Quiet()
			p.Step()
			if lost {
				<-r.Context().Done()
			}
		}, " to 1\n"},
	} {
		t.Chdir(t.TempDir()) // where failures are stored
		text, ok := Campaign{Runs: 50, Bubble: true}.Search(t, func(r *Run) {
			at := NewPoint(r, "pay", "charge", Rates{Before: 0.2})
			p := r.Progress("orders", time.Minute)
			at.Call()
			c.body(r, at, p)
		})
		if ok != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.what, text)
		}
	}
}

// A run that hangs prints its story.
func TestHang(t *testing.T) {
	const here = "BLOODHOUND_SDK_HANGS"
	if os.Getenv(here) != "" {
		Campaign{Bubble: true}.Test(t, func(r *Run) {
			lost := NewPoint(r, "pay", "charge", Rates{Before: 0.5}).Call().Way == Before
			p := r.Progress("orders", time.Minute)
			r.Quiet()
			p.Step()
			if lost {
				<-make(chan bool)
			}
		})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHang$")
	cmd.Env = append(os.Environ(), here+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a run hangs") || !strings.Contains(string(out), "fault pay_charge_before at call 1") {
		t.Errorf("%v: %s", err, out)
	}
}

// What a call costs that cannot fail: whose rates are 0, after Quiet, and where nothing happens though five faults are drawn.
func BenchmarkOff(b *testing.B) {
	const rare = 1e-9
	some := Rates{Before: rare, After: rare, Late: rare, Twice: rare, Slow: rare, Delay: 1}
	run := func(calm bool) *Run {
		return &Run{src: tape.NewSource(tape.Tape{Seed: 1}), counts: map[string]*Count{}, calm: calm}
	}
	for name, at := range map[string]*Point{
		"off": NewPoint(run(false), "db", "exec", Rates{}), "quiet": NewPoint(run(true), "db", "exec", some), "drawn": NewPoint(run(false), "db", "exec", some),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				at.Call()
			}
		})
	}
}
