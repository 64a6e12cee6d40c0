package director

import (
	"cmp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Signals of Linux.
const (
	sigIll  = 4
	sigTrap = 5
	sigAbrt = 6
	sigBus  = 7
	sigFpe  = 8
	sigKill = 9
	sigSegv = 11
	sigTerm = 15
	sigSys  = 31
)

// stop begins an orderly restart: the main process of a node is signalled to stop. A node on which none runs is down already.
func (d *Director) stop(i int, a *fault.Action) {
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	alone := s.Status != Running
	sig := cmp.Or(world.SignalNumber(n.StopSignal), sigTerm)
	s.StopBy, s.GraceNs, s.Healed = a.ID, d.act.Now()+n.StopGraceNs, false
	d.act.Stop(i, a, sig)
	switch {
	case alone:
		d.fail(d.down(i, "stopped"))
	case sig == sigKill:
		d.fail(d.down(i, "killed"))
	}
}

// obeyed deals with the end of a main process that was signalled to stop.
func (d *Director) obeyed(n *Notice, j *Job) error {
	d.crash(n, j, true)
	if d.act.Stopping(j.Node).Signal != n.Status&0x7f { // else the program that took the signal has died of the signal all the same
		d.sawStop(j.Node)
	}
	return d.down(j.Node, "stopped")
}

// overstayed kills what has not stopped in its grace period.
func (d *Director) overstayed(i int) error {
	d.sawStop(i)
	return d.down(i, "killed")
}

// sawStop records that a program has taken the signal to stop.
func (d *Director) sawStop(i int) {
	if s := d.act.Stopping(i); s.Taken != 0 {
		d.Plan.Ledger.Observed(s.ID, s.Taken)
	}
}

// down ends what still runs on a node that was signalled to stop. The node starts again with the end of the fault.
func (d *Director) down(i int, how string) error {
	s, name := &d.Nodes[i], d.spec.Nodes[i].Name
	d.act.Happen("", how, int64(s.StopBy), name)
	s.Status, s.Healthy, s.NextNs, s.DownBy, s.StopBy = Crashed, false, never, s.StopBy, 0
	d.act.Stopped(i)
	d.forgetRoles(name)
	d.Plan.Down(s.DownBy, d.act.Now())
	d.Due = 0 // its end is to be waited for
	d.probeSoon()
	d.upgrade(i)
	if !s.Healed {
		return nil
	}
	if len(d.spec.Nodes[i].Command) > 0 {
		if err := d.startMain(i); err != nil {
			return err
		}
	}
	if d.Phase == PhaseChaos && len(d.Plan.Active) == 0 && !d.stopping() && (!d.Plan.On || !d.Plan.Harms()) {
		d.heal(d.act.Now())
	}
	return nil
}

// upgrade chooses the release with which a node that was stopped starts again: 0 is the one that it had.
func (d *Director) upgrade(i int) {
	n, s := &d.spec.Nodes[i], &d.Nodes[i]
	if s.Step != 0 {
		s.Release, s.Step = s.Release+s.Step, 0
		d.act.Happen(n.Name, "release", int64(s.Release), "")
		return
	}
	var others []int
	for r := range len(n.Releases) + 1 {
		if r > s.Release || n.Downgrade && r < s.Release {
			others = append(others, r)
		}
	}
	if len(others) == 0 {
		return
	}
	if v := d.tape.Choose("release/"+n.Name, uint64(len(others))+1); v > 0 {
		s.Release = others[v-1]
		d.act.Happen(n.Name, "release", int64(s.Release), "")
	}
}

// stopping reports whether a node was signalled to stop and has not stopped yet.
func (d *Director) stopping() bool {
	return slices.ContainsFunc(d.Nodes, func(s NodeState) bool { return s.StopBy != 0 })
}

// toldToEnd reports whether a process has ended as its node was ordered to: by the very signal, or by itself after it took it.
func (d *Director) toldToEnd(n *Notice) bool {
	s := d.act.Stopping(n.Node)
	sig := n.Status & 0x7f
	return s.ID != 0 && (sig == s.Signal || sig == 0 && s.Taken != 0)
}
