//go:build linux && amd64

package native

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
)

// told takes in a line that an SDK wrote.
func (w *World) told(n *kernel.Notice) {
	if n.Stream != "" && !json.Valid(n.Text) {
		if r := &w.outcome.SDK; r.Cut == 0 { // the others are as this one, and a run has one warning of them
			w.outcome.Warnings = append(w.outcome.Warnings, fmt.Sprintf("%s on %s did not finish a line for its SDK, so what it told of is lost: %.60q",
				n.Program, w.kernel.Nodes[n.Node].Name, n.Text))
		}
		w.outcome.SDK.Cut++
		return
	}
	r := &w.outcome.SDK
	before, declared := len(r.Events), r.Setup
	at := sdk.Sighting{Event: n.Event, TimeNs: n.TimeNs, Node: w.kernel.Nodes[n.Node].Name, Program: n.Program, PID: n.PID}
	handling := w.spec.Faults.Handling
	passes := make([]uint64, len(handling))
	for i, h := range handling {
		passes[i] = r.Passes(h.Assertion)
	}
	r.Take(n.Text, at)
	for i, h := range handling {
		if h.Assertion != "" && r.Passes(h.Assertion) > passes[i] {
			w.director.Plan.Ledger.Handled(fault.Kind(h.Kind))
		}
	}
	for _, e := range r.Events[before:] { // it is a line of the program's log like others
		w.log(engine.LogLine{Position: engine.At(e.Event), TimeNs: e.TimeNs, Node: e.Node, Stream: "sdk", Text: strings.TrimSpace(e.Name + " " + e.Details)}, n.Tag)
	}
	if declared == nil && r.Setup != nil && w.director.Phase != phaseSetup {
		r.Late = true
		w.outcome.Warnings = append(w.outcome.Warnings, fmt.Sprintf("%s on %s said that its setup is complete when drivers and faults had begun; "+
			"`simulation: {wait_for_setup: 60s}` waits for it", n.Program, at.Node))
	}
}

// autoSetupNs is how long setup waits for a program that uses an SDK to say that it is complete, unless the Spec says.
const autoSetupNs = int64(30e9)

// awaitsSetup reports whether a program is still to say that its setup is complete.
func (w *World) awaitsSetup(now int64) bool {
	d, r := w.director, &w.outcome.SDK
	patience := w.spec.SetupNs
	if patience == 0 && r.Lines > 0 {
		patience = min(autoSetupNs, w.spec.MaxTimeNs/4)
	}
	if r.Setup != nil || patience <= 0 {
		return false
	}
	if d.SetupEnd == never {
		d.SetupEnd = now + patience
	}
	if now < d.SetupEnd {
		return true
	}
	r.Late = true
	w.outcome.Warnings = append(w.outcome.Warnings, fmt.Sprintf("no program said within %g s that its setup is complete; "+
		"`simulation: {wait_for_setup: 0s}` does not wait", float64(patience)/1e9))
	return false
}
