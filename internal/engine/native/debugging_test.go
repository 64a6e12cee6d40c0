//go:build linux && amd64

package native

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// debugOf is a debugger's hold of a world.
func debugOf(t *testing.T, w engine.World) engine.Debugging {
	t.Helper()
	d, err := engine.Debug(w)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// runTo runs a world to stops.
func runTo(t *testing.T, d engine.Debugging, s engine.Stops) engine.Halt {
	t.Helper()
	h, err := d.Run(&s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// debuggedBusy boots a busy world for a debugger. want is its run without one.
func debuggedBusy(t *testing.T, reference string) (spec *world.Spec, want *record.Outcome, w engine.World, d engine.Debugging) {
	t.Helper()
	t.Setenv(ReferenceVariable, reference)
	spec = busy()
	want = play(t, spec, engine.Options{}, nil, nil)
	w, err := New().Boot(spec, tape.Tape{Seed: 7}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return spec, want, w, debugOf(t, w)
}

// A debugger that stops a thread at the beginnings of turns, steps it there, sets breakpoints where it has been, and copies the world in the
// midst of turns, changes nothing: the world and its copies end as a run without a debugger does.
//
//ci:series
func TestADebuggerChangesNothing(t *testing.T) {
	for _, reference := range []string{"", "yes"} {
		t.Run("reference "+reference, func(t *testing.T) {
			spec, want, w, d := debuggedBusy(t, reference)
			r := rand.New(rand.NewPCG(5, 6))
			turn, steps, breaks, copies := uint64(1), 0, 0, 0
			for range 30 {
				h := runTo(t, d, engine.Stops{Turn: turn})
				if h.Reason != record.Halted {
					break
				}
				if !h.Begins {
					t.Fatalf("%+v", h)
				}
				var b []engine.Breakpoint
				for range r.IntN(300) {
					h = runTo(t, d, engine.Stops{Step: true})
					if steps++; h.Over {
						break
					}
					if r.IntN(20) == 0 {
						b = append(b, engine.Breakpoint{Node: h.Thread.Node, PID: h.Thread.PID, Address: h.PC})
					}
				}
				if copies < 3 {
					copies++
					c, err := w.Fork(spec, tape.Tape{Seed: 7}, engine.Options{})
					if err != nil {
						t.Fatal(err)
					}
					got := end(t, c)
					if got.StrictHash != want.StrictHash {
						t.Errorf("a copy in turn %d ends with %s at event %d and not with %s at %d", turn, got.Hash, got.Events, want.Hash, want.Events)
					}
					c.Close()
				}
				for range 20 {
					if h = runTo(t, d, engine.Stops{Breakpoints: b, Turn: turn + 50}); h.Break {
						breaks++
					}
					if h.Reason != record.Halted || h.Begins && !h.Break {
						break
					}
				}
				turn = d.Turn()
				turn += 1 + r.Uint64N(400)
			}
			got := end(t, w)
			if got.StrictHash != want.StrictHash {
				t.Errorf("a debugged run ends with %s at event %d, others with %s at %d: %s", got.Hash, got.Events, want.Hash, want.Events, got.Repeat.Reason)
			}
			t.Logf("%d events, %d turns at most, %d steps, %d stops at breakpoints, %d copies", want.Events, turn, steps, breaks, copies)
		})
	}
}

// A debugger that writes chance into registers and memory spoils the copy that it writes to, and neither the engine nor the world that was copied.
//
//ci:series
func TestADebuggerWritesChance(t *testing.T) {
	rounds := 5
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		rounds = 15
	}
	for _, reference := range []string{"", "yes"} {
		t.Run("reference "+reference, func(t *testing.T) {
			spec, want, w, d := debuggedBusy(t, reference)
			r := rand.New(rand.NewPCG(7, 8))
			registers, refused, bytes, other := 0, 0, 0, 0
			for range rounds {
				if h := runTo(t, d, engine.Stops{Turn: d.Turn() + 1 + r.Uint64N(40)}); h.Reason != record.Halted {
					break
				}
				if r.IntN(3) == 0 { // where no thread is held
					runTo(t, d, engine.Stops{Step: true})
					if event, _ := w.Moment(); event > 0 {
						runTo(t, d, engine.Stops{Until: engine.Until{Position: record.PositionAt(event + 1)}})
					}
				}
				c, err := w.Fork(spec, tape.Tape{Seed: 7}, engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				x := debugOf(t, c)
				threads, err := x.Threads()
				if err != nil {
					t.Fatal(err)
				}
				for range 1 + r.IntN(12) {
					th := threads[r.IntN(len(threads))]
					if held, ok := x.Held(); ok && r.IntN(2) == 0 {
						th = held
					}
					cpu, err := x.CPU(th.Node, th.TID)
					if err != nil {
						t.Fatal(err)
					}
					values := []uint64{0, 1, r.Uint64(), r.Uint64N(1 << 47), 1<<47 - 4096, 0x7ffffa100000, 0x7ffffa010000,
						^uint64(0), 0xfffffffffffff800, 59, cpu.General[16], cpu.General[19]}
					before := cpu.General
					cpu.General[r.IntN(27)] = values[r.IntN(len(values))]
					if n := len(cpu.Extended); r.IntN(3) == 0 && n > 512 {
						cpu.Extended[r.IntN(n)] = byte(r.Uint32())
					}
					if err := x.SetCPU(th.Node, th.TID, cpu); err == nil {
						registers++
						after, err := x.CPU(th.Node, th.TID)
						if err != nil || after.General != cpu.General {
							t.Errorf("registers %x were set to %x and are %x: %v", before, cpu.General, after, err)
						}
					} else {
						refused++
					}
					b := make([]byte, 1+r.IntN(64))
					for i := range b {
						b[i] = byte(r.Uint32())
					}
					at := append(values, before[19]-uint64(r.IntN(256)), before[r.IntN(15)])[r.IntN(len(values)+2)]
					if err := x.SetMemory(th.Node, th.PID, at, b); err == nil {
						bytes++
						if got, err := x.Memory(th.Node, th.PID, at, len(b)); err != nil || string(got) != string(b) {
							t.Errorf("%x was written to %#x, where %x is: %v", b, at, got, err)
						}
					}
				}
				if got := end(t, c); got.StrictHash != want.StrictHash {
					other++
				}
				c.Close()
			}
			if got := end(t, w); got.StrictHash != want.StrictHash {
				t.Errorf("the world whose copies were written to ends with %s at event %d, others with %s at %d", got.Hash, got.Events, want.Hash, want.Events)
			}
			if registers == 0 || refused == 0 || bytes == 0 || other == 0 {
				t.Error("nothing was written, or nothing came of it")
			}
			t.Logf("%d writes to registers, %d refused, %d to memory; %d copies were other runs", registers, refused, bytes, other)
		})
	}
}
