package histories

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// IncreasingOrder judges that an id is higher than all ids that were given before the request for it.
const IncreasingOrder = "increasing"

// What may be wrong with ids.
var (
	givenTwice = failure.Declare("unique/twice") // the operation
	notHigher  = failure.Declare("unique/not-increasing")
)

// uniqueIDs judges that the outputs of operations differ: ids, sequence numbers, allocated addresses.
func uniqueIDs(p *world.Property, ops []history.Operation) verdict.Verdict {
	v := verdict.New(p)
	left := newLeftOut()
	there := map[string]bool{}
	first := map[string]*history.Operation{}
	byKey := map[string][]*history.Operation{}
	given := 0
	for i := range ops {
		o := &ops[i]
		there[o.Op] = true
		chosen := slices.ContainsFunc(p.Check.Operations, func(name string) bool { return strings.EqualFold(name, o.Op) })
		if !chosen || o.Type != history.Ok || o.Output == "" || !left.chooses(&p.Check, o) {
			continue
		}
		given++
		byKey[o.Key] = append(byKey[o.Key], o)
		before := first[o.Output]
		if before == nil {
			first[o.Output] = o
			continue
		}
		a, b := before, o
		if a.Return > b.Return {
			a, b = b, a
		}
		if v.Status == verdict.Violated && v.Event <= b.Return {
			continue
		}
		v.Violate(b.Return, b.ReturnTimeNs, givenTwice.Cause(o.Op).Claim("%s gave %s to client %s and to client %s", o.Op,
			verdict.Shorten(o.Output), a.Client, b.Client))
		v.Evidence = []string{lineOf(a, a.Op+" -> "+verdict.Shorten(a.Output)), lineOf(b, b.Op+" -> "+verdict.Shorten(b.Output))}
	}
	v.LeftOut = left.lines()
	if v.Status == verdict.Violated {
		return v
	}
	if p.Check.Order == IncreasingOrder {
		var worst *refutation
		for _, list := range byKey {
			c := notIncreasing(list, notHigher, func(o *history.Operation) (int64, bool) { return token(o.Output) }, false)
			worst = earlier(worst, c)
		}
		if worst != nil {
			worst.violate(&v)
			return v
		}
	}
	unseen := Unseen(p.Check.Operations, there)
	switch reason := cmp.Or(unseen, left.unjudged(&p.Check, len(byKey))); {
	case reason != "":
		v.Reason = reason
	case given < 2:
		v.Idle, v.Reason = true, "fewer than two ids were given"
	default:
		v.Status = verdict.Holds
	}
	return v
}
