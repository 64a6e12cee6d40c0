package check

import "github.com/bloodhound-dst/bloodhound/internal/check/verdict"

// Verdict and its parts have the names of this package for all that have to do with runs.
type (
	Verdict  = verdict.Verdict
	Status   = verdict.Status
	Proposal = verdict.Proposal
)

// Statuses of a Verdict.
const (
	Holds    = verdict.Holds
	Violated = verdict.Violated
	Unknown  = verdict.Unknown
	NotYet   = verdict.NotYet
)
