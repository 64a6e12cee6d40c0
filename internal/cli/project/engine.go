package project

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// EngineFor makes the engine that runs a Spec. Tests put the fake one in its place.
var EngineFor = engines.For

// EngineLacks says why this machine cannot run a world by an engine. Tests replace it.
var EngineLacks = engines.Lacks

// MovesOn reports whether --engine auto gives a project to the engine vm when a program leaves for a call that the engine native refuses.
func (p *Project) MovesOn() bool {
	return p.auto && p.Spec.Engine == world.Native
}

// MoveOn gives the project to the engine vm after such a run, where that can run here. It says so, or what is missing.
func (p *Project) MoveOn(a *console.App, r *record.Refusal) bool {
	if r == nil || !p.MovesOn() {
		return false
	}
	if lacks := EngineLacks(p.Spec, world.VM); lacks != "" {
		a.Note("%s, and the program ended because of it, so the run proves nothing. The engine vm, which supports the call, cannot run here: %s", r, lacks)
		return false
	}
	a.Note("%s, and the program ended because of it: engine auto continues with vm, which supports the call, for %s", r, record.VMCost)
	p.Spec.Engine = world.VM
	p.Arguments = strings.ReplaceAll(p.Arguments, " --engine "+engines.Auto, " --engine "+world.VM)
	return true
}

// RefusalOf is the refused call that made a run unknown; nil where the run shows a violation, or no program left for one.
func RefusalOf(s *explore.Summary) *record.Refusal {
	if len(explore.Violated(s.Verdicts)) > 0 {
		return nil
	}
	return explore.Refusal(s.Verdicts)
}
