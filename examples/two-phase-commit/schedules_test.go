package commit

import (
	"context"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Schedules that are enumerated from the model lead the world where random ones seldom come: the coordinator loses its decision, and decides otherwise.
func TestSchedulesOfTheModel(t *testing.T) {
	m, err := Specification("")
	if err != nil {
		t.Fatal(err)
	}
	v := Variant{Bug: Unsynced, Model: m, Rare: true}
	most := 0
	c := sim.Campaign{Strategy: "enumerated", Runs: 2000, Dir: t.TempDir(), ShrinkRuns: -1, Schedules: func(e *inproc.Engine) ([][]tape.Edit, error) {
		list, err := Schedules(m, e)
		most = len(list)
		return list, err
	}}
	r, err := c.Run(context.Background(), "commit", v.World)
	if err != nil {
		t.Fatal(err)
	}
	if most < 200 || len(r.Failures) != 1 {
		t.Errorf("%d schedules, %d failures:\n%s", most, len(r.Failures), r.Text())
	}
}
