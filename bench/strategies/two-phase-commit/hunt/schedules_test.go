package main

import (
	"testing"

	commit "github.com/bloodhound-dst/bloodhound/bench/strategies/two-phase-commit"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/sim"
)

// Schedules that are enumerated from the model lead the world where random ones seldom come: the coordinator loses its decision, and decides otherwise.
func TestSchedulesOfTheModel(t *testing.T) {
	m, err := commit.Specification("")
	if err != nil {
		t.Fatal(err)
	}
	v := commit.Variant{Bug: commit.Unsynced, Model: m, Rare: true}
	most := 0
	ctx := inprocess.WithSchedules(t.Context(), func(e inprocess.Engine) ([][]tape.Edit, error) {
		list, err := schedules(e)
		most = len(list)
		return list, err
	})
	r, err := sim.Campaign{Strategy: "enumerated", Runs: 2000, Dir: t.TempDir(), ShrinkRuns: -1}.Run(ctx, "commit", v.World)
	if err != nil {
		t.Fatal(err)
	}
	if most < 200 || len(r.Failures) != 1 {
		t.Errorf("%d schedules, %d failures:\n%s", most, len(r.Failures), r.Text())
	}
}
