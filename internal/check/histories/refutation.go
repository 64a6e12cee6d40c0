package histories

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// refutation is a violation, with the operations that show it.
type refutation struct {
	event    uint64
	timeNs   int64
	claim    failure.Claim
	evidence []string
}

// refutationAt returns a violation that shows when an operation returns.
func refutationAt(o *history.Operation, claim failure.Claim, evidence ...string) *refutation {
	return &refutation{event: o.Return, timeNs: o.ReturnTimeNs, claim: claim, evidence: evidence}
}

// earlier returns the refutation that shows first: a if both show at one event. Either may be nil.
func earlier(a, b *refutation) *refutation {
	if a == nil || b != nil && b.event < a.event {
		return b
	}
	return a
}

// violate enters the refutation into a verdict.
func (r *refutation) violate(v *verdict.Verdict) {
	v.Violate(r.event, r.timeNs, r.claim)
	v.Evidence = r.evidence
}

// lineOf describes an operation as evidence: what it did, and what came of it.
func lineOf(o *history.Operation, what string) string {
	return describe(*o, strings.TrimSpace(what), false)
}
