package debug

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// toy is a run of a toy machine: what each turn executes is known beforehand.
type toy struct {
	turns []toyTurn
}

type toyTurn struct {
	thread int
	pcs    []uint64
}

// An instruction writes to a cell if its address says so.
const toyWrites = 0x1010

// toyWorld is a world of the toy machine. It stands within a turn, before instruction at, or between two.
type toyWorld struct {
	engine.Inspection
	run    *toy
	turn   int // how many have begun
	at     int
	held   bool
	copies *int
}

func (w *toyWorld) thread() engine.Thread {
	return engine.Thread{Node: "n", PID: 1, TID: w.run.turns[w.turn-1].thread}
}

func (w *toyWorld) Run(s *engine.Stops) (h engine.Halt, err error) {
	for {
		if w.held {
			t := w.run.turns[w.turn-1]
			wrote := t.pcs[w.at] == toyWrites
			if w.at++; w.at == len(t.pcs) {
				if w.held = false; s.Step {
					return engine.Halt{Reason: record.Halted, Over: true}, nil
				}
				continue
			}
			h = engine.Halt{Reason: record.Halted, Thread: w.thread(), PC: t.pcs[w.at], Step: s.Step}
			for i := range s.Watchpoints {
				if wrote {
					h.Watched = append(h.Watched, i)
				}
			}
		} else {
			switch {
			case w.turn == len(w.run.turns):
				return engine.Halt{Reason: record.Finished}, nil
			case s.Until.Event > 0 && uint64(w.turn) >= s.Until.Event:
				return engine.Halt{Reason: record.ReachedUntil}, nil
			}
			w.turn, w.at, w.held = w.turn+1, 0, true
			h = engine.Halt{Reason: record.Halted, Thread: w.thread(), PC: w.run.turns[w.turn-1].pcs[0], Begins: true}
		}
		h.Break = slices.Contains(s.Breakpoints, engine.Breakpoint{Node: "n", PID: 1, Address: h.PC})
		if h.Break || h.Step || len(h.Watched) > 0 || h.Begins && (s.Turn == uint64(w.turn) || s.Begins != nil && s.Begins.TID == h.Thread.TID) {
			return h, nil
		}
	}
}

func (w *toyWorld) Turn() uint64 { return uint64(w.turn) }
func (w *toyWorld) Held() (engine.Thread, bool) {
	if !w.held {
		return engine.Thread{}, false
	}
	return w.thread(), true
}
func (w *toyWorld) WaitsFor(string, int) (string, error) { return "", nil }
func (w *toyWorld) Auxv(string, int) ([]byte, error)     { return nil, engine.ErrUnsupported }

// Stack has two functions under way, which begin somewhere among the instructions.
func (w *toyWorld) Stack(string, int, bool) (s record.ThreadStack, err error) {
	pc := w.run.turns[w.turn-1].pcs[w.at]
	for _, offset := range []uint64{pc % 20, pc % 28} {
		s.Frames = append(s.Frames, record.Frame{PC: fmt.Sprintf("%#x", pc), Function: "f", Offset: offset &^ 3})
	}
	return s, nil
}

func (w *toyWorld) Memory(string, int, uint64, int) ([]byte, error) {
	return nil, engine.ErrUnsupported
}
func (w *toyWorld) Maps(string, int) (string, error)            { return "", engine.ErrUnsupported }
func (w *toyWorld) Outcome() *record.Outcome                    { return &record.Outcome{} }
func (w *toyWorld) Threads() (list []engine.Thread, err error)  { return toyThreads, nil }
func (w *toyWorld) SetCPU(string, int, *engine.CPU) error       { return engine.ErrUnsupported }
func (w *toyWorld) SetMemory(string, int, uint64, []byte) error { return engine.ErrUnsupported }

var toyThreads = []engine.Thread{{Node: "n", PID: 1, TID: 1}, {Node: "n", PID: 1, TID: 2}, {Node: "n", PID: 1, TID: 3}}

// CPU gives the instruction that the thread executes next: for one whose turn is over, that behind the last one, which is a call of two bytes.
func (w *toyWorld) CPU(_ string, tid int) (*engine.CPU, error) {
	c := &engine.CPU{}
	for i := w.turn - 1; i >= 0; i-- {
		if t := w.run.turns[i]; t.thread == tid {
			if c.General[RIP] = t.pcs[len(t.pcs)-1] + 2; w.held && i == w.turn-1 {
				c.General[RIP] = t.pcs[w.at]
			}
			break
		}
	}
	return c, nil
}

func (w *toyWorld) Moment() (uint64, int64) {
	events := w.turn
	if w.held {
		events--
	}
	return uint64(events), int64(events)
}

func (w *toyWorld) Fork() (World, error) {
	*w.copies++
	c := *w
	return &c, nil
}

func (w *toyWorld) Bytes() int64 { return 1 << 20 }

func (w *toyWorld) Close() error {
	*w.copies--
	return nil
}

// toyPlace is where a toy world stands, comparable: 2*turn+1 between turns, and 2*turn within.
type toyPlace struct{ turn, at int }

func (w *toyWorld) place() toyPlace {
	if w.held {
		return toyPlace{2 * w.turn, w.at}
	}
	return toyPlace{2*w.turn + 1, 0}
}

func (p toyPlace) before(o toyPlace) bool {
	return p.turn < o.turn || p.turn == o.turn && p.at < o.at
}

// extend adds turns by chance.
func (r *toy) extend(by *rand.Rand) {
	for range 20 + by.IntN(200) {
		turn := toyTurn{thread: 1 + by.IntN(3)}
		for range 1 + by.IntN(25) {
			turn.pcs = append(turn.pcs, 0x1000+4*uint64(by.IntN(12)))
		}
		r.turns = append(r.turns, turn)
	}
}

// lastStop is the slow twin of Timeline.Back: it looks at each instruction of the run.
func (r *toy) lastStop(p toyPlace, s *Stops) (found toyPlace, ok bool) {
	for i, t := range r.turns {
		for at, pc := range t.pcs {
			here := toyPlace{2 * (i + 1), at}
			if wrote := (toyPlace{here.turn, at - 1}); at > 0 && wrote.before(p) && t.pcs[at-1] == toyWrites && len(s.Watchpoints) > 0 {
				found, ok = wrote, true
			}
			if here.before(p) && s.breaks(toyThreads[0], pc) {
				found, ok = here, true
			}
		}
	}
	return found, ok
}

// lastStep is the slow twin of Timeline.StepBack.
func (r *toy) lastStep(p toyPlace, tid int) (toyPlace, bool) {
	for i := len(r.turns) - 1; i >= 0; i-- {
		t := r.turns[i]
		if t.thread != tid {
			continue
		}
		for at := len(t.pcs) - 1; at >= 0; at-- {
			// The instruction was executed where the world stands behind it.
			if behind := (toyPlace{2 * (i + 1), at + 1}); !p.before(behind) && (at+1 < len(t.pcs) || p.turn > behind.turn) {
				return toyPlace{2 * (i + 1), at}, true
			}
		}
	}
	return toyPlace{}, false
}

// Whatever is done with a timeline, it stands where a search through all instructions finds the place, and keeps no more worlds than it may.
func TestTimelineAgreesWithItsTwin(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		run := &toy{}
		run.extend(r)
		copies, begins := 1, toyPlace{1, 0}
		timeline, err := New(&toyWorld{run: run, copies: &copies}, runner.Budget{Most: 4})
		if err != nil {
			t.Fatal(err)
		}
		if seed%2 == 1 { // a branch, in which the rest of the run is another one
			if _, err := timeline.GotoUntil(engine.Until{Position: record.PositionAt(1 + r.Uint64N(20))}); err != nil {
				t.Fatal(err)
			}
			for range r.IntN(30) {
				if _, err := timeline.Step(toyThreads[r.IntN(3)], nil); err != nil {
					t.Fatal(err)
				}
			}
			recorded := timeline
			if timeline, err = recorded.Branch(func(w World) error {
				of := w.(*toyWorld)
				begins, of.run = of.place(), &toy{slices.Clone(run.turns[:of.turn])}
				of.run.extend(r)
				run = of.run
				return nil
			}); err == errEnded {
				recorded.Close()
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			recorded.Close()
		}
		now := func() toyPlace { return timeline.World().(*toyWorld).place() }
		for range 60 {
			s := &Stops{}
			for range r.IntN(3) {
				s.Breakpoints = append(s.Breakpoints, engine.Breakpoint{Node: "n", PID: 1, Address: 0x1000 + 4*uint64(r.IntN(12))})
			}
			if r.IntN(2) == 0 {
				s.Watchpoints = []engine.Watchpoint{{Node: "n", PID: 1, Address: 8, Bytes: 8}}
			}
			from, at := now(), timeline.Position()
			fail := func(what string, got any) {
				t.Fatalf("seed %d, %s from %+v (%s): %v", seed, what, from, at, got)
			}
			switch r.IntN(6) {
			case 0, 1:
				stop, err := timeline.Back(s)
				want, ok := run.lastStop(from, s)
				if ok = ok && !want.before(begins); !ok {
					want = begins
				}
				if err != nil || now() != want || ok == (stop.Kind == AtBegin) {
					fail("back", fmt.Sprint(now(), " instead of ", want, stop, err))
				}
			case 2:
				th := toyThreads[r.IntN(3)]
				stop, err := timeline.StepBack(th)
				want, ok := run.lastStep(from, th.TID)
				if ok = ok && !want.before(begins); !ok {
					want = begins
				}
				if err != nil || now() != want || ok == (stop.Kind == AtBegin) {
					fail(fmt.Sprint("step back of ", th.TID), fmt.Sprint(now(), " instead of ", want, stop, err))
				}
			case 3:
				if _, err := timeline.Continue(s); err != nil {
					fail("continue", err)
				}
			case 4:
				for range r.IntN(40) {
					if _, err := timeline.Step(toyThreads[r.IntN(3)], s); err != nil {
						fail("step", err)
					}
				}
			case 5:
				if _, err := timeline.GotoUntil(engine.Until{Position: record.PositionAt(1 + r.Uint64N(uint64(len(run.turns))))}); err != nil {
					fail("goto", err)
				}
			}
			there, at := now(), timeline.Position()
			if err := timeline.Goto(at); err != nil || now() != there {
				fail("goto", fmt.Sprint(now(), " instead of ", there, err))
			}
			if most := 1 + 4 + maxNear + maxInner + 1; copies > most {
				fail("any", fmt.Sprint(copies, " worlds, more than ", most))
			}
		}
		if timeline.Close(); copies != 0 {
			t.Errorf("seed %d: %d worlds are left", seed, copies)
		}
	}
}

// Places behind calls are found in code that consists of instructions, and none in anything else.
func TestReturns(t *testing.T) {
	code := []byte{0x55, 0xe8, 1, 2, 3, 4, 0xff, 0xd0, 0x41, 0xff, 0xd4, 0x90, 0xff, 0x15, 0, 0, 0, 0, 0x5d}
	if got := returns(code); !slices.Equal(got, []uint64{6, 8, 11, 18}) {
		t.Errorf("%v", got)
	}
	for _, bad := range [][]byte{{0xe8, 1, 2}, {0x55, 0x06, 0xe8, 0, 0, 0, 0}, {0x48}} {
		if got := returns(bad); got != nil {
			t.Errorf("%x: %v", bad, got)
		}
	}
	if got := returns(bytes.Repeat([]byte{0xff, 0xd0}, 100)); len(got) != maxReturns || got[maxReturns-1] != 200 {
		t.Errorf("%v", got)
	}
}
