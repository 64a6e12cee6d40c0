//go:build linux && amd64

package native_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Bytes that a program has left unset in the structures that it passes are no part of an event: they are what lies on a stack, by chances
// that the engine does not control.
func TestUnsetMemoryIsNoPartOfAnEvent(t *testing.T) {
	needCompiler(t)
	program := compile(t, "testdata/unset/unset.c")
	var events [2][]record.Event
	for i, fill := range []string{"0", "170"} {
		spec := aloneSpec(program)
		spec.Nodes[0].Env = append(spec.Nodes[0].Env, "FILL="+fill)
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Observe: func(e *record.Event) { events[i] = append(events[i], *e) }})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Crashes) > 0 || len(events[i]) < 30 {
			t.Fatalf("the program did not run: %+v", out.Crashes)
		}
	}
	// Beside them there is what execve and the program make of the environment.
	begun := false
	for i := range min(len(events[0]), len(events[1])) {
		a, b := events[0][i], events[1][i]
		begun = begun || a.Call == "socket"
		if begun && (a.Call != b.Call || a.Result != b.Result || a.Bytes != b.Bytes || a.Detail != b.Detail) {
			t.Errorf("with other memory around it %+v is %+v", a, b)
		}
	}
	if !begun || len(events[0]) != len(events[1]) {
		t.Errorf("%d and %d events", len(events[0]), len(events[1]))
	}
}
