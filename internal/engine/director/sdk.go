package director

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
)

// Told takes in a line that an SDK wrote.
func (d *Director) Told(n *Notice) {
	if n.Stream != "" && !json.Valid(n.Text) {
		if r := &d.out.SDK; r.Truncated == 0 { // the others are as this one, and a run has one warning of them
			d.out.Warnings = append(d.out.Warnings, fmt.Sprintf("%s on %s did not finish a line for its SDK, so its message is lost: %.60q",
				n.Program, d.spec.Nodes[n.Node].Name, n.Text))
		}
		d.out.SDK.Truncated++
		return
	}
	r := &d.out.SDK
	before, declared := len(r.Events), r.Setup
	at := sdk.Sighting{Event: n.Event, TimeNs: n.TimeNs, Node: d.spec.Nodes[n.Node].Name, Program: n.Program, PID: n.PID}
	handling := d.spec.Faults.Handling
	passes := make([]uint64, len(handling))
	for i, h := range handling {
		passes[i] = r.Passes(h.Assertion)
	}
	r.MergeLine(n.Text, at)
	for i, h := range handling {
		if h.Assertion != "" && r.Passes(h.Assertion) > passes[i] {
			d.Plan.Ledger.Handled(h.Kind)
		}
	}
	for _, e := range r.Events[before:] { // it is a line of the program's log like others
		d.Log(record.LogLine{Position: record.PositionAt(e.Event), TimeNs: e.TimeNs, Node: e.Node, Stream: "sdk",
			Text: strings.TrimSpace(e.Name + " " + e.Details)}, n.Tag)
	}
	if declared == nil && r.Setup != nil && d.Phase != PhaseSetup {
		r.Late = true
		d.out.Warnings = append(d.out.Warnings, fmt.Sprintf("%s on %s reported that its setup is complete after "+
			"drivers and faults had begun; set `simulation: {wait_for_setup: 60s}` to wait for it", n.Program, at.Node))
	}
}

// autoSetupNs is how long setup waits for a program that uses an SDK to say that it is complete, unless the Spec says.
const autoSetupNs = int64(30e9)

// awaitsSetup reports whether a program is still to say that its setup is complete.
func (d *Director) awaitsSetup(now int64) bool {
	r := &d.out.SDK
	patience := d.spec.SetupNs
	if patience == 0 && r.Lines > 0 {
		patience = min(autoSetupNs, d.spec.MaxTimeNs/4)
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
	d.out.Warnings = append(d.out.Warnings, fmt.Sprintf("no program reported within %g s that its setup is "+
		"complete; set `simulation: {wait_for_setup: 0s}` not to wait", float64(patience)/1e9))
	return false
}
