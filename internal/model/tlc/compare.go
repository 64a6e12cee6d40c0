package tlc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// Compare reports how TLC's answer differs from that of a check of all states. What is left aside is no part of the answer: how often states were found again,
// which depends on how conditions are evaluated.
func (o *Opinion) Compare(r *tla.Report) (differences, aside []string) {
	ours, theirs := shown(r), o.Violations
	switch {
	case len(ours) == 0 && len(theirs) == 0:
		if o.Distinct != r.Distinct {
			differences = append(differences, fmt.Sprintf("TLC found %s, but this check %d", plural.Count(o.Distinct, "distinct state"), r.Distinct))
		}
		if o.Depth != r.Depth {
			differences = append(differences, fmt.Sprintf("the longest of the shortest behaviours has %s in TLC, but %d here",
				plural.Count(o.Depth, "state"), r.Depth))
		}
		if o.Generated != r.Generated {
			aside = append(aside, fmt.Sprintf("TLC generated %s, but this check %d", plural.Count(o.Generated, "state"), r.Generated))
		}
		return differences, aside
	case len(ours) == 0 && len(r.Unchecked) > 0:
		return nil, []string{"TLC found a violation, " + Names(theirs) + ", but this check has not checked all properties"}
	case len(ours) == 0:
		return []string{"TLC found a violation, " + Names(theirs) + ", and this check none"}, nil
	case len(theirs) == 0:
		return []string{"this check found a violation, " + Names(ours) + ", and TLC none"}, nil
	}
	for _, v := range ours {
		if !slices.ContainsFunc(theirs, func(w Violation) bool { return agree(v, w) }) {
			differences = append(differences, fmt.Sprintf("this check found the violation %s, but TLC %s", Names([]Violation{v}), Names(theirs)))
		}
	}
	if len(differences) == 0 && len(ours) == 1 && len(theirs) == 1 && shortest(ours[0].Kind) && theirs[0].States > 0 && ours[0].States != theirs[0].States {
		differences = append(differences, fmt.Sprintf("the shortest counterexample has %s in TLC, but %d here",
			plural.Count(theirs[0].States, "state"), ours[0].States))
	}
	for _, w := range theirs {
		if len(ours) > 1 && !slices.ContainsFunc(ours, func(v Violation) bool { return agree(v, w) }) {
			differences = append(differences, fmt.Sprintf("TLC found the violation %s, but this check %s", Names([]Violation{w}), Names(ours)))
		}
	}
	return differences, nil
}

// shown are the kinds and names that a report has, each once.
func shown(r *tla.Report) (list []Violation) {
	for _, v := range r.Violations {
		if !slices.ContainsFunc(list, func(w Violation) bool { return w.Kind == v.Kind && w.Name == v.Name }) {
			list = append(list, Violation{v.Kind, v.Name, len(v.Trace)})
		}
	}
	return list
}

// agree reports whether two violations are of the same kind and name. TLC names invariants and properties of steps; those of initial states and assumptions it
// names by a part of them or by their place, and others not at all in some versions.
func agree(ours, theirs Violation) bool {
	if ours.Kind != theirs.Kind {
		return false
	}
	named := ours.Kind == tla.InvariantViolated || ours.Kind == tla.TemporalViolated
	return !named || ours.Name == theirs.Name || theirs.Name == ""
}

// shortest reports whether the counterexample of a kind is a shortest one.
func shortest(kind tla.Kind) bool {
	return kind == tla.InvariantViolated || kind == tla.StepViolated || kind == tla.Deadlocked
}

// Names are the kinds and names of violations, as a text.
func Names(list []Violation) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, strings.TrimSpace(string(v.Kind)+" "+v.Name))
	}
	return strings.Join(parts, ", ")
}
