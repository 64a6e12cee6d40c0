//go:build linux && amd64

package native

import (
	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// acted records what a program under test has done by a call: the first of its files is what the call is about.
func (w *World) acted(t *kernel.Thread, a *kernel.Acted) {
	if !w.underTest(t) {
		return
	}
	p := w.kernel.Proc(t)
	m := moments.Moment{Class: moments.Class{Program: moments.Program(p.Path, p.Argv), Act: a.Act, Call: a.Call}}
	switch {
	case a.Act == moments.Reply:
		if w.spec.Nodes[a.Peer].Role != world.Client {
			m.Act = moments.Answer
		}
		m.File = a.Said
	case len(a.Files) > 0:
		m.Path, m.File = a.Files[0], moments.Template(a.Files[0])
	}
	w.record(t, &m)
}

// reported takes in what a driver has written about operations, and records those that begin.
func (w *World) reported(n *director.Notice) {
	known := len(w.outcome.History)
	w.director.Reported(n)
	if w.director.Plan.Asks(world.InOperation) {
		for i := range w.kernel.Nodes { // faults may wait for calls of nodes that have not made one since
			w.kernel.Nodes[i].Between = w.kernel.Nodes[i].Between || w.director.Plan.Opened(w.spec.Nodes[i].Name)
		}
	}
	if !w.options.Moments {
		return
	}
	for _, e := range w.outcome.History[known:] {
		node := w.director.OperatedOn(&e)
		if e.Type != history.Invoke || len(node) == 0 {
			continue
		}
		m := moments.Moment{Class: moments.Class{Act: moments.Operation, File: moments.Template(e.Op)}}
		w.recordOn(node[0], &m)
	}
}

// starts records the start of a program under test.
func (w *World) starts(t *kernel.Thread, path string) {
	if !w.options.Moments || !w.underTest(t) {
		return
	}
	m := moments.Moment{Class: moments.Class{Program: moments.Program(path, nil), Act: moments.Start}, Path: path}
	m.File = moments.Template(path)
	w.record(t, &m)
}

// record completes a moment of a thread.
func (w *World) record(t *kernel.Thread, m *moments.Moment) { w.recordOn(int(t.Node), m) }

func (w *World) recordOn(node int, m *moments.Moment) {
	k := w.kernel
	m.Node, m.Event, m.TimeNs = k.Nodes[node].Name, k.Events, k.Now
	m.Phase, m.InChaos = w.director.PhaseOf(node)
	if w.outcome.Moments == nil {
		w.outcome.Moments = &moments.Record{}
	}
	w.outcome.Moments.Add(m)
}
