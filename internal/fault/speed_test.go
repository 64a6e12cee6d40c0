package fault

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The speeds of disks are drawn by run and now and then by server; a tape without draws has none, and a speed that is named is that of all.
func TestDisksHaveSpeeds(t *testing.T) {
	seen, mixed := map[string]int{}, 0
	for seed := range uint64(500) {
		p := mustPlan(t, threeNodes(world.FaultRule{Kind: "crash", RatePPM: 1}))
		disks := p.Disks(tape.NewSource(tape.Tape{Seed: seed}), world.DrawnSpeed)
		if len(disks) != 3 {
			t.Fatalf("%+v", disks)
		}
		seen[disks[0].Name]++
		if disks[0] != disks[1] || disks[0] != disks[2] {
			mixed++
		}
	}
	for _, name := range append([]string{""}, SpeedNames[:4]...) {
		if seen[name] < 50 {
			t.Errorf("%q is drawn %d of 500 times", name, seen[name])
		}
	}
	if mixed < 100 || mixed > 400 {
		t.Errorf("%d of 500 worlds have disks that differ", mixed)
	}
	for _, c := range []struct {
		tape tape.Tape
		calm bool
		name string
		want string
	}{
		{tape.Replay(1, nil), false, world.DrawnSpeed, ""}, {tape.Tape{Seed: 7}, true, world.DrawnSpeed, ""},
		{tape.Replay(1, nil), false, "hdd", "hdd"}, {tape.Tape{}, true, "hdd", "hdd"},
	} {
		p := mustPlan(t, threeNodes(world.FaultRule{Kind: "crash", RatePPM: 1}))
		p.Calm = c.calm
		for _, d := range p.Disks(tape.NewSource(c.tape), c.name) {
			if d.Name != c.want {
				t.Errorf("%+v: %+v", c, d)
			}
		}
	}
	for i, s := range Speeds {
		if Between(s.SyncLeastNs, s.SyncMostNs, 0) != s.SyncLeastNs ||
			Between(s.SyncLeastNs, s.SyncMostNs, SpeedSteps-1) != s.SyncMostNs || Between(0, s.ReadMostNs, 0) != 0 {
			t.Errorf("%s does not take between its least and its most", s.Name)
		}
		if i > 0 && (s.SyncLeastNs <= Speeds[i-1].SyncLeastNs || s.SyncMostNs <= Speeds[i-1].SyncMostNs) {
			t.Errorf("%s is not slower than %s", s.Name, Speeds[i-1].Name)
		}
	}
}
