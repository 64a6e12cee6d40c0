package cli

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// engineFor makes the engine that runs a Spec. Tests of this package put the fake one in its place.
var engineFor = engines.For

// engineLacks says why this machine cannot run a world by an engine. Tests of this package replace it.
var engineLacks = engines.Lacks

// movesOn reports whether --engine auto gives a project to the engine vm when a program leaves for a call that the engine native refuses.
func (p *project) movesOn() bool {
	return p.auto && p.spec.Engine == world.Native
}

// moveOn gives the project to the engine vm after such a run, where that can run here. It says so, or what is missing.
func (p *project) moveOn(a *app, r *record.Refusal) bool {
	if r == nil || !p.movesOn() {
		return false
	}
	if lacks := engineLacks(p.spec, world.VM); lacks != "" {
		a.note("%s, and a program that left for it proves nothing. The engine vm, which runs that call, cannot run this world here: %s", r, lacks)
		return false
	}
	a.note("%s, and a program left for it: engine auto moves on to vm, which runs that call, for %s", r, record.VMCost)
	p.spec.Engine = world.VM
	p.arguments = strings.ReplaceAll(p.arguments, " --engine "+engines.Auto, " --engine "+world.VM)
	return true
}

// refusalOf is the refused call that made a run unknown; nil where the run shows a violation, or no program left for one.
func refusalOf(s *explore.Summary) *record.Refusal {
	if len(explore.Violated(s.Verdicts)) > 0 {
		return nil
	}
	return explore.Refusal(s.Verdicts)
}
