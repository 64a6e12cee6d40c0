package search

import (
	"path"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sequences are pairs of faults of which the second meets what the first has left behind. Sources: a failed write or fsync, and
// then a crash, "Can Applications Recover from fsync Failures?" (Rebello et al., USENIX ATC 2020); faults in recovery, "Simple
// Testing Can Prevent Most Critical Failures" (Yuan et al., OSDI 2014); faults of what a partition has divided, "An Analysis of
// Network-Partitioning Failures in Cloud Systems" (Alquraan et al., OSDI 2018); a lease that a clock or a pause outlasts,
// "Leases" (Gray and Cheriton, SOSP 1989).
var sequences = [][2]world.FaultKind{
	{fault.FsyncFail, fault.PowerLoss}, {fault.FsyncFail, fault.Crash}, {fault.WriteFail, fault.Crash},
	{fault.PartialWrite, fault.Crash}, {fault.DiskFull, fault.Crash}, {fault.DiskFull, fault.PowerLoss},
	{fault.OpenFail, fault.Crash}, {fault.OpenFail, fault.PowerLoss}, {fault.FDLimit, fault.Crash}, {fault.FDLimit, fault.PowerLoss},
	{fault.Crash, fault.Crash}, {fault.PowerLoss, fault.PowerLoss}, {fault.Crash, fault.DiskFull}, {fault.Crash, fault.FsyncFail},
	{fault.Crash, fault.Partition},
	{fault.Partition, fault.Crash}, {fault.Partition, fault.PowerLoss}, {fault.Partition, fault.Partition},
	{fault.Partition, fault.ClockJump}, {fault.Pause, fault.ClockJump}, {fault.Pause, fault.Crash},
	// What operators begin and a fault interrupts.
	{fault.Run, fault.Crash}, {fault.Run, fault.PowerLoss}, {fault.Run, fault.Partition}, {fault.Run, fault.Run},
	{fault.Replace, fault.Crash}, {fault.Replace, fault.Partition}, {fault.Crash, fault.Replace},
	{fault.Upgrade, fault.Crash}, {fault.Upgrade, fault.Downgrade}, {fault.Rollback, fault.Crash},
}

// sequence injects two faults, one soon after the other has begun or ended, most often on the same node. Of the sequences whose
// kinds the world has, each is equally likely.
func sequence(m *draft, _ *Entry) bool {
	of := func(kind world.FaultKind) func(*dimension) bool {
		return func(g *dimension) bool { return g.rule > 0 && g.kind == kind }
	}
	has := func(ok func(*dimension) bool) bool { return len(m.fitting(ok)) > 0 }
	var list [][2]world.FaultKind
	for _, s := range sequences {
		if has(of(s[0])) && has(of(s[1])) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return false
	}
	s := list[m.dice.below(len(list))]
	first := m.pick(m.dice, of(s[0]))
	second := m.pick(m.dice, of(s[1]))
	if same := func(g *dimension) bool { return of(s[1])(g) && touches(g.stream, first.stream) }; has(same) && m.dice.chance(70) {
		second = m.pick(m.dice, same)
	}
	i, v := uint64(m.dice.below(int(first.end))), m.value(first)
	m.inject(first, i, v)
	m.inject(second, m.soonAfter(first, i, v, second), m.value(second))
	return true
}

// soonAfter is a draw of another dimension soon after a fault has begun, or ended. Calls are taken to be even over the time steps of a run.
func (m *draft) soonAfter(g *dimension, i, v uint64, o *dimension) uint64 {
	if !g.steps || !o.steps {
		return min(i*o.end/g.end+uint64(m.dice.below(int(o.end/nearSteps)+1)), o.end-1)
	}
	if m.dice.chance(50) {
		i += m.span(g, v)
	}
	return min(i+uint64(m.dice.below(nearSteps)), o.end-1)
}

// touches reports whether the targets of two streams, nodes or links, have a node in common.
func touches(a, b string) bool {
	a, b = path.Base(a), path.Base(b)
	return strings.Contains(a, b) || strings.Contains(b, a)
}
