//go:build linux && amd64

package native

import (
	"errors"
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// strike ends and starts faults.
func (w *World) strike(now int64) error {
	d := w.director
	if ended := d.Plan.Ended(now); len(ended) > 0 {
		if err := w.undo(ended); err != nil {
			return err
		}
		if len(d.Plan.Active) == 0 && !d.Plan.Harms() && !d.stopping() {
			w.healed(now)
		}
	}
	if d.NextStep > now {
		return nil
	}
	d.NextStep = now + max(w.spec.TimeStepNs, 1)
	m := w.moment()
	if d.Plan.Changes() {
		w.setRates()
	}
	if err := w.deliver(d.Plan.Step(w.tape, &m)); err != nil {
		return err
	}
	return w.notice()
}

// moment is what conditions of faults can ask about now.
func (w *World) moment() fault.Moment {
	d := w.director
	return fault.Moment{NowNs: w.kernel.Now, Event: w.kernel.Events, Operations: d.Operations, Logs: d.Counts, Roles: d.Roles, Conditions: d.conditions}
}

// entering strikes as a program of a node is about to make a system call, before the call has any effect.
func (w *World) entering(node kernel.NodeID, call string, files []string) {
	d := w.director
	m := w.moment()
	actions := d.Plan.Enter(w.tape, &m, w.spec.Nodes[node].Name, call, files...)
	if len(actions) == 0 {
		return
	}
	if err := w.deliver(actions); err != nil && w.failure == nil {
		w.failure = err
	}
	d.due = 0 // the ends of what has begun are to be waited for
}

// deliver performs strikes.
func (w *World) deliver(actions []fault.Action) error {
	d := w.director
	if d.Plan.Broken != "" {
		return errors.New(d.Plan.Broken)
	}
	reset := false
	for _, a := range actions {
		if a.Kind == fault.Reset {
			reset = w.reset(a) || reset
			continue
		}
		d.unheal()
		event := w.kernel.Happen("", "", string(a.Kind), int64(a.ID), a.Target)
		d.Plan.Ledger.Begun(&a, event)
		d.Plan.Ledger.Delivered(&a)
		w.struck(a)
		w.probeSoon()
		switch a.Kind {
		case fault.Partition, fault.Clog, fault.SlowLink:
			w.setLinks(a)
		case fault.Crash, fault.PowerLoss, fault.TornWrite:
			i := int(w.nodeID(a.Node))
			s := &d.Nodes[i]
			s.Status, s.Healthy, s.NextNs, s.DownBy = crashed, false, never, a.ID
			w.kernel.Cause = net.FaultRef{Kind: a.Kind, ID: a.ID}
			if a.Kind == fault.Crash {
				w.kernel.KillNode(kernel.NodeID(i))
			} else if err := w.losePower(a); err != nil {
				return err
			}
			w.kernel.Cause = net.FaultRef{}
			delete(d.Roles, a.Node)
			w.roleChanged(a.Node)
		case fault.Restart:
			if err := w.stop(a); err != nil {
				return err
			}
		case fault.Pause:
			w.kernel.Pause(w.nodeID(a.Node), a.ID)
		case fault.DNSFail:
			w.kernel.Net.SetNames(net.NodeID(w.nodeID(a.Node)), net.Names{FaultID: a.ID, Silent: a.Silent})
		case fault.ClockSkew, fault.ClockJump, fault.ClockDrift:
			w.kernel.SetClock(w.nodeID(a.Node), a.Kind, a.ID, a.Amount)
		case fault.MemoryPressure:
			w.kernel.Nodes[w.nodeID(a.Node)].Pressure = kernel.Pressure{Fault: a.ID, SinceNs: a.StartNs}
		case fault.OOM:
			w.leak(a)
		case fault.DiskFull:
			w.kernel.Nodes[w.nodeID(a.Node)].FS.Full = a.ID
		case fault.SlowDisk:
			w.kernel.Nodes[w.nodeID(a.Node)].Slow = kernel.Slow{Ns: a.Amount, Fault: a.ID}
		}
	}
	if reset && len(d.Plan.Active) == 0 && !d.Plan.Harms() && !d.stopping() {
		w.healed(w.kernel.Now)
	}
	return nil
}

// reset ends the connections of a strike, if there are any: else nothing was delivered.
func (w *World) reset(a fault.Action) bool {
	n := 0
	for _, c := range a.Cuts {
		n += w.kernel.Net.Reset(w.kernel.NetEnv(), net.NodeID(w.nodeID(c.From)), net.NodeID(w.nodeID(c.To)), net.FaultRef{Kind: a.Kind, ID: a.ID})
	}
	if n == 0 {
		return false
	}
	w.director.Plan.Ledger.Begun(&a, w.kernel.Happen("", "", string(a.Kind), int64(a.ID), a.Target))
	w.director.Plan.Ledger.Delivered(&a)
	w.struck(a)
	return true
}

// losePower draws what a node's disk has kept, from a stream for each thing that may be lost.
func (w *World) losePower(a fault.Action) error {
	id := w.nodeID(a.Node)
	s := &w.director.Nodes[id]
	s.Losses++
	stream := fmt.Sprintf("disk/%s/%d/", a.Node, s.Losses)
	return w.kernel.LosePower(id, a.ID, func(what string, n uint64) uint64 { return w.tape.Choose(stream+what, n) })
}

// undo ends strikes whose time is over.
func (w *World) undo(actions []fault.Action) error {
	d := w.director
	for _, a := range actions {
		w.kernel.Happen("", "", "end "+string(a.Kind), int64(a.ID), a.Target)
		w.probeSoon()
		switch a.Kind {
		case fault.Partition, fault.Clog, fault.SlowLink:
			w.setLinks(a)
		case fault.Crash, fault.PowerLoss, fault.TornWrite, fault.Restart:
			i := int(w.nodeID(a.Node))
			if a.Kind == fault.PowerLoss || a.Kind == fault.TornWrite {
				w.kernel.PowerOn(kernel.NodeID(i))
			}
			if d.Nodes[i].StopBy == a.ID {
				d.Nodes[i].Healed = true
			}
			if d.Nodes[i].downBy(a.ID) && len(w.spec.Nodes[i].Command) > 0 {
				if err := w.startMain(i); err != nil {
					return err
				}
			}
		case fault.DNSFail:
			w.kernel.Net.SetNames(net.NodeID(w.nodeID(a.Node)), net.Names{})
		case fault.ClockSkew, fault.ClockJump, fault.ClockDrift:
			w.kernel.RightClock(w.nodeID(a.Node), a.ID)
		case fault.MemoryPressure:
			w.kernel.Nodes[w.nodeID(a.Node)].Pressure = kernel.Pressure{}
		case fault.OOM:
			if err := w.endLeak(a); err != nil {
				return err
			}
		case fault.DiskFull:
			w.kernel.Nodes[w.nodeID(a.Node)].FS.Full = 0
		case fault.SlowDisk:
			w.kernel.Nodes[w.nodeID(a.Node)].Slow = kernel.Slow{}
		case fault.Pause:
			id := w.nodeID(a.Node)
			w.kernel.Pause(id, 0)
			if w.kernel.Late(id) { // what it does next would have been done earlier: its clock shows it
				d.Plan.Ledger.Observed(a.ID, w.kernel.Events+1)
			}
		}
	}
	return nil
}

// setLinks tells the network what lies on each direction that a strike concerns, after it has begun or ended.
func (w *World) setLinks(a fault.Action) {
	n := w.kernel.Net
	for _, c := range a.Cuts {
		from, to := net.NodeID(w.nodeID(c.From)), net.NodeID(w.nodeID(c.To))
		now := w.director.Plan.Lies(a.Kind, c.From, c.To)
		switch a.Kind {
		case fault.Partition:
			n.SetBlocked(from, to, now.ID != 0, now.ID)
		case fault.Clog:
			n.SetClog(w.kernel.NetEnv(), from, to, now.ID)
		case fault.SlowLink:
			n.SetSlow(w.kernel.NetEnv(), from, to, net.Slow{LatencyNs: now.Slow.LatencyNs, JitterNs: now.Slow.JitterNs, Bandwidth: now.Slow.Bandwidth,
				FaultID: now.ID, SinceNs: now.StartNs})
		}
	}
}

func (w *World) healed(now int64) {
	d := w.director
	d.Heals = append(d.Heals, now)
	d.Healed = now
	w.awaitLife(now)
}

// unheal makes the last heal void, as a fault strikes: the next one is what counts.
func (d *director) unheal() {
	d.Healed = 0
	for i := range d.Probes {
		d.Probes[i].Heal = 0
	}
}

// setRates tells the network which packets suffer, and the nodes whether calls on their disks do.
func (w *World) setRates() {
	m := w.moment()
	for i := range w.spec.Nodes {
		w.kernel.Nodes[i].Harmed = w.director.Plan.Calls(w.spec.Nodes[i].Name)
		for j := range w.spec.Nodes {
			if i == j {
				continue
			}
			r := w.director.Plan.Packet(&m, w.spec.Nodes[i].Name, w.spec.Nodes[j].Name)
			w.kernel.Net.SetRates(net.NodeID(i), net.NodeID(j), netRates(&r))
		}
	}
}

// netRates are the rates of a direction as the network has them.
func netRates(r *fault.Rates) net.Rates {
	drop, corrupt, delay, duplicate, reorder := &r[fault.DropRate], &r[fault.CorruptRate], &r[fault.DelayRate], &r[fault.DuplicateRate], &r[fault.ReorderRate]
	return net.Rates{DropPPM: drop.PPM, CorruptPPM: corrupt.PPM, DelayPPM: delay.PPM, DelayMinNs: delay.MinNs, DelayMaxNs: delay.MaxNs,
		DuplicatePPM: duplicate.PPM, ReorderPPM: reorder.PPM, ReorderMinNs: reorder.MinNs, ReorderMaxNs: reorder.MaxNs,
		DropRule: drop.Rule, CorruptRule: corrupt.Rule, DelayRule: delay.Rule, DuplicateRule: duplicate.Rule, ReorderRule: reorder.Rule}
}
