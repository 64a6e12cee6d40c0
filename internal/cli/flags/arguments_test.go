package flags

import (
	"testing"
)

func TestArgumentsSurviveAShell(t *testing.T) {
	f := &Set{Config: "it's.yaml"}
	if got, want := ArgumentsOf(f, []string{"my dir"}), ` 'my dir' --config 'it'\''s.yaml'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
