package inproc

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// layout holds the parts that all runs of a Spec share and that are computed once: names of streams, places of nodes,
// the resolved rules of faults.
type layout struct {
	spec    *world.Spec
	index   map[string]int32
	nodes   []nodeLayout
	links   []linkLayout // from * nodes + to
	setting *director.Setting
	at      bool // rules inject at calls
	disk    bool // rules inject into calls on disks
}

// nodeLayout has names of a node's streams, and that of its main process.
type nodeLayout struct{ thread, random, choice, quiet, turn string }

type linkLayout struct {
	latencyNs, jitterNs                              int64
	jitter, drop, delay, duplicate, reorder, corrupt string // streams
}

// layoutOf resolves a Spec, or remembers having done so.
func (e *worldEngine) layoutOf(spec *world.Spec) (*layout, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.laid != nil && e.laid.spec == spec {
		return e.laid, nil
	}
	setting, err := director.Prepare(spec)
	if err != nil {
		return nil, err
	}
	setting.Whole = e.schedule != nil
	l := &layout{spec: spec, index: map[string]int32{}, setting: setting}
	for i := range spec.Faults.Rules {
		r := &spec.Faults.Rules[i]
		if r.RatePPM == 0 || !spec.Faults.Enabled {
			continue
		}
		if err := possible(r); err != nil && fault.Known(r.Kind) {
			return nil, fmt.Errorf("fault %s: %w", r.Kind, err)
		}
		onCall := fault.Known(r.Kind) && fault.RowOf(r.Kind).Place == fault.OnCall
		l.at = l.at || len(r.At) > 0 && !onCall
		l.disk = l.disk || onCall
	}
	for i := range spec.Nodes {
		name := spec.Nodes[i].Name
		l.index[name] = int32(i)
		l.nodes = append(l.nodes, nodeLayout{name + "/0", "random/" + name, "choice/" + name, "sched/quiet/" + name, "sched/turn/" + name})
	}
	for i := range spec.Nodes {
		for j := range spec.Nodes {
			way := "net/" + spec.Nodes[i].Name + "->" + spec.Nodes[j].Name + "/"
			d := &spec.DefaultLink
			for k := range spec.Links {
				o := &spec.Links[k]
				a, b := spec.Nodes[i].Name, spec.Nodes[j].Name
				if o.From == a && o.To == b || !o.OneWay && o.From == b && o.To == a {
					d = o
				}
			}
			l.links = append(l.links, linkLayout{latencyNs: d.LatencyNs, jitterNs: d.JitterNs,
				jitter: way + "latency", drop: way + "drop", delay: way + "delay", duplicate: way + "duplicate",
				reorder: way + "reorder", corrupt: way + "corrupt"})
		}
	}
	e.laid = l
	return l, nil
}
