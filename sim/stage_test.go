package sim

import (
	"runtime"
	"testing"
)

func TestAStageIsUsedAgainUntilACallEndsIt(t *testing.T) {
	var s stages
	var first *stage
	for i := range 3 {
		called := false
		s.do(func() { called = true })
		if !called || len(s.idle) != 1 || first != nil && s.idle[0] != first {
			t.Fatalf("call %d: called %v, on stages %v", i, called, s.idle)
		}
		first = s.idle[0]
	}
	s.do(runtime.Goexit)
	if len(s.idle) != 0 {
		t.Fatal("a goroutine that has ended is kept")
	}
	s.do(func() { s.do(func() {}) })
	if len(s.idle) != 2 {
		t.Fatalf("%d goroutines after a call within a call", len(s.idle))
	}
	kept := s.idle
	s.close()
	for _, g := range kept {
		if _, runs := <-g.done; runs {
			t.Error("a goroutine runs on")
		}
	}
}
