//go:build linux && amd64

package native

import (
	"math/rand/v2"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
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

// A debugger that stops a thread at the beginnings of turns, steps it there, sets breakpoints where it has been, and copies the world in the
// midst of turns, changes nothing: the world and its copies end as a run without a debugger does.
func TestADebuggerChangesNothing(t *testing.T) {
	for _, reference := range []string{"", "yes"} {
		t.Run("reference "+reference, func(t *testing.T) {
			t.Setenv(ReferenceVariable, reference)
			spec := busy()
			want := play(t, spec, engine.Options{}, nil, nil)
			w, err := New().Boot(spec, tape.Tape{Seed: 7}, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			d := debugOf(t, w)
			r := rand.New(rand.NewPCG(5, 6))
			turn, steps, breaks, copies := uint64(1), 0, 0, 0
			for range 30 {
				h := runTo(t, d, engine.Stops{Turn: turn})
				if h.Reason != engine.Halted {
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
					if h.Reason != engine.Halted || h.Begins && !h.Break {
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
