package check

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// unfounded takes back the violation of a recovery where nothing has ever worked, and no fault is to blame: a server that cannot start at all, or that
// nobody can reach, has nothing to recover from.
func unfounded(p *world.Property, v Verdict, out *record.Outcome) Verdict {
	if v.Status != Violated || p.Check.Type != world.RecoveryCheck || anyWorked(p, out) {
		return v
	}
	faulty := slices.ContainsFunc(out.Ledger.Entries, func(e fault.Entry) bool { return e.Observed > 0 })
	alone := slices.ContainsFunc(out.NeverReady, func(n record.NotUp) bool { return n.Unprovoked })
	if faulty && !alone {
		return v
	}
	why := "no operation has ever succeeded, and no fault was the cause, so there was nothing to recover from"
	if words := NeverReady(out); words != "" {
		why += "; " + words
	}
	return verdict.Undecided(p, "%s", why)
}

// anyWorked reports whether an operation of a run has succeeded, or a job that the property declares.
func anyWorked(p *world.Property, out *record.Outcome) bool {
	return slices.ContainsFunc(out.History, func(e history.Event) bool { return e.Type == history.Ok }) ||
		slices.ContainsFunc(out.Jobs, func(j record.JobSighting) bool { return j.Property == p.Name && j.What == world.JobDone })
}

// NeverReady says which servers were never ready in a run, and why, or nothing.
func NeverReady(out *record.Outcome) string {
	var list []string
	for _, n := range out.NeverReady {
		list = append(list, n.Node+" was never ready: "+n.Why)
	}
	return strings.Join(list, "; ")
}
