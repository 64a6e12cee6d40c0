package httpfault

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/sdk/httpcount"
)

// Least is the smallest rate of what Observed has read, however rare it is in production: of 100 runs that make one call each, and the first of which has no fault, a fault with this rate
// happens in at least one with a probability of 99 %, if no other fault takes the call.
const Least = 0.05

// unparsable is the answer that Observed gives in place of a body that was not JSON. Bodies are not recorded in production.
var unparsable = Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: "<html>"}

// Observed gives routes the rates of what a service answered in production. counts is the JSON that an httpcount.Counter serves, whose operations are those of the routes.
//
// Lost calls become the rates Before and After, and cut bodies CutBody. Documented failures, undocumented statuses and bodies that are not JSON become Answers, the latter two as
// breaches. An answer that a route has with the same status keeps its header and body; others have none, but for bodies that are not JSON. What production has not seen gets the rate 0.
// Late, Twice, Slow and Delay, which counts do not show, stay.
//
// A rate is the share of the operation's calls, but at least Least. A client cannot know whether a call that failed was handled: half of the share is Before, half After, each
// at least Least.
func Observed(counts io.Reader, routes ...Route) ([]Route, error) {
	all, err := httpcount.Read(counts)
	if err != nil {
		return nil, err
	}
	var list []Route
	for _, r := range routes {
		n, ok := all.Operations[r.Operation]
		switch {
		case !ok:
			return nil, fmt.Errorf("httpfault: production did not count the operation %q, but %s: correct the Operation of the route, or add it to the httpcount.Counter",
				r.Operation, strings.Join(slices.Sorted(maps.Keys(all.Operations)), ", "))
		case n.Calls == 0:
			return nil, fmt.Errorf("httpfault: production made no call of %s, so there are no rates: count for longer, or leave the route out", r.Operation)
		}
		r, err := r.observed(n)
		if err != nil {
			return nil, fmt.Errorf("httpfault: %s: %w", r.Operation, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// observed is the route with the rates of n.
func (r Route) observed(n httpcount.Count) (Route, error) {
	rate := func(k uint64, parts float64) float64 {
		if k == 0 {
			return 0
		}
		return max(Least, float64(k)/float64(n.Calls)/parts)
	}
	r.Before, r.After, r.CutBody = rate(n.Lost, 2), rate(n.Lost, 2), rate(n.Breaches.Cut, 1)
	r.Answers = slices.Clone(r.Answers)
	for i := range r.Answers {
		r.Answers[i].Before, r.Answers[i].After = 0, 0
	}
	for _, class := range []struct {
		counts map[int]uint64
		answer Answer
		breach bool
	}{{n.Failures, Answer{}, false}, {n.Breaches.Statuses, Answer{}, true}, {n.Breaches.Unparsable, unparsable, true}} {
		for _, status := range slices.Sorted(maps.Keys(class.counts)) {
			if class.counts[status] == 0 {
				continue
			}
			if status < 200 {
				return r, fmt.Errorf("production counted the status %d, which no test can play: take it out of the counts", status)
			}
			i := slices.IndexFunc(r.Answers, func(a Answer) bool { return a.Status == status })
			if i < 0 {
				i = len(r.Answers)
				a := class.answer
				a.Status, a.Breach = status, class.breach
				r.Answers = append(r.Answers, a)
			}
			a := &r.Answers[i]
			if a.Breach != class.breach {
				in := map[bool]string{false: "documented", true: "a breach"}
				return r, fmt.Errorf("the status %d is %s in the route and %s in production: let both have the same contract", status, in[a.Breach], in[class.breach])
			}
			if slices.ContainsFunc(r.Answers[i+1:], func(a Answer) bool { return a.Status == status }) {
				return r, fmt.Errorf("the route has two answers %d, and production only counts statuses: leave one", status)
			}
			a.Before, a.After = rate(class.counts[status], 2), rate(class.counts[status], 2)
		}
	}
	return r, nil
}
