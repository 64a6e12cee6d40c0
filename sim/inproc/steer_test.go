package inproc

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// What is steered happens, whatever the chance of the rest.
func TestSteer(t *testing.T) {
	seen := map[string][]string{}
	list := []inprocess.Choice{{}, {From: "n2", To: "n1"}, {From: "n3", To: "n2", Messages: 2}, {From: "n3", To: "n2", Messages: 99}, {Crash: "n1"}}
	for name, c := range map[string]struct {
		s    Schedule
		want []string
	}{
		"channels":  {Schedule{Steps: 30, Messages: 3}, []string{"Deliver(n1, 1 from n2)", "Deliver(n2, 2 from n3)", "Deliver(n2, 1 from n3)", "Crash(n1)"}},
		"mailboxes": {Schedule{Steps: 30, Messages: 3, Mailboxes: true}, []string{"Deliver(n1, 1)", "Deliver(n2, 2)", "Deliver(n2, 3)", "Crash(n1)"}},
	} {
		e := mustNew(t, gossips(c.s, seen, "crash rate 20% for 20ms..50ms", "drop rate 20%"))
		edits, err := e.Quiet().Steer(list)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			_, story := played(t, e, tape.Tape{Seed: seed, Edits: edits})
			steps := strings.Split(story, " . ")
			for i, want := range c.want {
				if i >= len(steps) || steps[i] != want {
					t.Fatalf("%s, seed %d: step %d is not %s: %s", name, seed, i, want, story)
				}
			}
		}
	}
	e := mustNew(t, gossips(Schedule{Steps: 30}, seen, "crash on n1 rate 1%", "crash on n2 at send rate 1%"))
	for says, c := range map[string]inprocess.Choice{`no node "n9"`: {From: "n1", To: "n9"}, `no node ""`: {To: "n1"},
		"no rule of the world lets n2 crash at a step": {Crash: "n2"}} {
		if _, err := e.Steer([]inprocess.Choice{c}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	e = mustNew(t, func(w *World) { w.Process("a", func(*Process) {}) })
	if _, err := e.Steer(nil); err == nil || !strings.Contains(err.Error(), "set Settings.Schedule") {
		t.Error(err)
	}
}
