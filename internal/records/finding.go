package records

import "slices"

// Finding classifies a failure for people who work on the newest code of its test.
type Finding string

// Findings.
const (
	NewFinding      Finding = "new"      // it shows in the newest code, and in none before
	OngoingFinding  Finding = "ongoing"  // it shows in the newest code, or in the last one on which it was tried, and did so before
	RareFinding     Finding = "rare"     // one of both that was found once only, in RareRuns of the newest code or more
	UnclearFinding  Finding = "unclear"  // Unclear
	ResolvedFinding Finding = "resolved" // Fixed
)

// Findings lists all, in the order in which people want to see them.
var Findings = []Finding{NewFinding, OngoingFinding, RareFinding, UnclearFinding, ResolvedFinding}

// RareRuns is in how many runs a rare failure was found once.
const RareRuns = 10_000

// CodesOf lists the codes on which anything was done for a test, the newest first.
func (v *View) CodesOf(t *TestView) []ID {
	tried := map[ID]bool{}
	for p := range t.Efforts {
		tried[p.Code] = true
	}
	for _, f := range t.Failures {
		for p := range f.Matrix() {
			tried[p.Code] = true
		}
	}
	return slices.DeleteFunc(v.CodesByAge(), func(c ID) bool { return !tried[c] })
}

// LastBehind is the newest code that follows another on its line of development; empty if that is the last one.
func (v *View) LastBehind(code ID) ID {
	for _, c := range v.CodesByAge() {
		switch {
		case c == code:
			return "" // what is older does not follow it
		case v.Codes[code] != nil && v.Codes[c].Line == v.Codes[code].Line && v.Codes[c].Dirty == "" && v.Follows(c, code):
			return c
		}
	}
	return ""
}

// Finding says what a failure of a test means; newest is the first of CodesOf.
func (v *View) Finding(t *TestView, f *FailureView, newest ID) Finding {
	switch v.Standing(f) {
	case Fixed:
		return ResolvedFinding
	case Unclear:
		return UnclearFinding
	}
	there, before := false, false
	for p, c := range f.Matrix() {
		there = there || c.Result == Reproduced && p.Code == newest
		before = before || c.Result == Reproduced && p.Code != newest
	}
	runs := uint64(0)
	for p, e := range t.Efforts {
		if p.Code == newest {
			runs += e.Searched()
		}
	}
	found := 0
	for _, x := range f.Files {
		if x.Code == newest && x.Level == Raw {
			found++
		}
	}
	switch {
	case found == 1 && runs >= RareRuns:
		return RareFinding
	case there && !before:
		return NewFinding
	}
	return OngoingFinding
}

// FaultlessOn reports whether the run without faults on a code shows the failure.
func (f *FailureView) FaultlessOn(code ID) bool {
	return slices.ContainsFunc(f.Files, func(x *Failure) bool { return x.Faultless && x.Code == code })
}

// Searched are the runs that could find something: those of the search and of the holdout.
func (e *Effort) Searched() (n uint64) {
	for _, phase := range []string{Search, Holdout} {
		if s := e.Phases[phase]; s != nil {
			n += s.Runs
		}
	}
	return n
}
