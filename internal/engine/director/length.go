package director

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// drawLength draws how much of its full length the run has.
func (d *Director) drawLength() {
	step := max(d.spec.TimeStepNs, 1)
	l := world.Length{
		ChaosNs: int64(d.tape.Given(world.ChaosStream, world.LengthValues)) * step,
		CalmNs:  int64(d.tape.Given(world.CalmStream, world.LengthValues)) * step,
	}
	for _, stream := range d.tape.Named(world.OperationsPrefix) {
		if k := d.tape.Given(stream, world.LengthValues); k > 0 {
			l.Skip = append(l.Skip, world.Skip{Client: strings.TrimPrefix(stream, world.OperationsPrefix), From: int(k - 1)})
		}
	}
	d.Length = l
}

// workload is the i-th one of the run, which leaves out what a Cut and the run's length take away.
func (d *Director) workload(i int) *world.Workload {
	l := d.spec.Workloads[i]
	l.Skip = slices.Concat(l.Skip, d.Length.Skip)
	return &l
}
