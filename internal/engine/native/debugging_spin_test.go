//go:build linux && amd64

package native_test

import (
	"debug/elf"
	"os"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Threads that wait or compute without a system call do so under a debugger, too, with a breakpoint in their program and single steps on the way.
//
//ci:series
func TestADebuggerLetsThreadsSpin(t *testing.T) {
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	eachProgram(t, "spinloops", func(t *testing.T, name, source string) {
		if !soak && name != "wait" && name != "clock" && name != "loops" { // the others take long by themselves
			return
		}
		program := compile(t, source)
		f, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		spec := aloneSpec(program)
		spec.MaxTimeNs = 60e9
		_, want := run(t, spec, 1)
		w, err := native.New().Boot(spec, tape.Tape{Seed: 1}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		d, err := engine.Debug(w)
		if err != nil {
			t.Fatal(err)
		}
		const programAt, pid = 0x555555554000, 10
		s := engine.Stops{Breakpoints: []engine.Breakpoint{{Node: "n1", PID: pid, Address: programAt + f.Entry}}}
		breaks := 0
		for turn := uint64(1); ; turn = d.Turn()*3/2 + 10 {
			s.Turn = turn
			h, err := d.Run(&s)
			if err != nil {
				t.Fatal(err)
			}
			if h.Reason != record.Halted {
				break
			}
			if h.Break {
				breaks++
			}
			for range 20 {
				if h, err = d.Run(&engine.Stops{Step: true}); err != nil {
					t.Fatal(err)
				}
				if !h.Step {
					break
				}
			}
		}
		if got := w.Outcome(); got.StrictHash != want.StrictHash || !got.Repeat.Reproducible || breaks != 1 {
			t.Errorf("with a debugger the run ends with %s at event %d (%s), without with %s at event %d; %d stops at the breakpoint",
				got.Hash, got.Events, got.Repeat.Reason, want.Hash, want.Events, breaks)
		}
	})
}
