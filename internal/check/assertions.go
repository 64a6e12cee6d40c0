package check

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
)

// What may be wrong with an assertion: the node, and the place of the assertion.
var (
	assertedFalse     = failure.Declare("assertion/false")
	assertedUnreached = failure.Declare("assertion/reached")
)

// assertions judges the assertions that programs carry (see package sdk): those that must be true whenever they are
// evaluated, or must not be reached.
func assertions(r *sdk.Record) []Verdict {
	var verdicts []Verdict
	for i := range r.Assertions {
		a := &r.Assertions[i]
		if sometimes(a) || a.Pending() != "" {
			continue // judged by wanted
		}
		v := asserted(a)
		if at := a.Violated(); at != nil {
			code, what := assertedFalse, "its condition was false"
			if a.Type == sdk.Reachability {
				code, what = assertedUnreached, "it was reached"
			}
			v.Violate(at.Event, at.TimeNs, code.Cause(at.Node, a.Location.String()).Claim("%s on %s at %s", what, at.Node, orNowhere(a.Location)))
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s (event %d) %s: %s, pid %d, at %s", verdict.Seconds(at.TimeNs), at.Event, at.Node,
				at.Program, at.PID, orNowhere(a.Location)))
			if at.Details != "" {
				v.Evidence = append(v.Evidence, "details "+at.Details)
			}
			if a.Pass != nil && a.Pass != at {
				v.Evidence = append(v.Evidence, fmt.Sprintf("it was first true at %s (event %d) on %s",
					verdict.Seconds(a.Pass.TimeNs), a.Pass.Event, a.Pass.Node))
			}
		}
		verdicts = append(verdicts, v)
	}
	if r.Unread > 0 {
		v := Verdict{Property: "assertions of programs can be read", Kind: "safety", Status: Unknown}
		v.Reason = fmt.Sprintf("%d lines could not be read; the first is from %s", r.Unread, r.FirstUnread)
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// wanted judges the assertions that must be reached, or be true, in some run. That they were in this one holds however it
// ended.
func wanted(r *sdk.Record) []Verdict {
	var verdicts []Verdict
	for i := range r.Assertions {
		a := &r.Assertions[i]
		v := asserted(a)
		switch reason := a.Pending(); {
		case reason != "":
			v.Status, v.Reason = NotYet, fmt.Sprintf("%s: %s", reason, orNowhere(a.Location))
		case !sometimes(a):
			continue // judged by assertions
		case a.Hits == 0 || a.Type == sdk.Sometimes && a.Pass == nil:
			continue // it need not be
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func asserted(a *sdk.Assertion) Verdict {
	v := Verdict{Property: a.Wants() + ": " + a.Message, Kind: "safety", Status: Holds}
	if sometimes(a) {
		v.Kind = "sometimes"
	}
	return v
}

// sometimes reports an assertion that one evaluation proves.
func sometimes(a *sdk.Assertion) bool {
	return a.Type == sdk.Sometimes || a.Type == sdk.Reachability && a.MustHit
}

func orNowhere(l sdk.Location) string {
	if text := l.String(); text != "" {
		return text
	}
	return "an unknown place"
}
