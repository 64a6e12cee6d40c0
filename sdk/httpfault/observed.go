package httpfault

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
)

// unparsable is the body that Observed uses for answers that were not JSON. Production does not record bodies.
var unparsable = Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: "<html>"}

// Observed sets the rates of routes from what a service answered in production. from is the JSON that an
// httpcount.Counter serves, with the same operations.
//
// Lost calls become the rates Before and After, and cut bodies CutBody. Documented failures, undocumented statuses and
// bodies that are not JSON become Answers, the latter two as breaches. An Answer that a route already lists for the
// status keeps its header and body; new ones have none, except those for bodies that are not JSON. Whatever production
// has not seen gets the rate 0. Late, Twice, Slow and Delay keep their values, since the counts do not show them.
//
// The rate of each kind of fault is its share of the operation's calls, but at least 0.05. If the rates add up to more
// than 0.8, they are scaled down in proportion. Kinds are tried in order, so a rate applies to the calls that the kinds
// before it leave. A client cannot know whether a failed call was handled, so half of the share goes to Before and half
// to After, each at least 0.05.
//
// It is an error if the test sets a rate that the counts decide, or if nothing went wrong in production and the test
// sets no other rates, because then there is nothing to inject.
func Observed(from io.Reader, routes ...Route) ([]Route, error) {
	all, err := counts.Read(from)
	if err != nil {
		return nil, fmt.Errorf("httpfault: %w", err)
	}
	var list []Route
	var names []string
	playing := false
	for _, r := range routes {
		n, err := all.CountOf(r.Operation)
		if err != nil {
			return nil, fmt.Errorf("httpfault: %w", err)
		}
		if err := check(n); err != nil {
			return nil, fmt.Errorf("httpfault: %s: %w", r.Operation, err)
		}
		own := r.Rates != (sdk.Rates{Delay: r.Delay})
		var wrong bool
		if r.Answers, wrong, err = counts.Play(n, counts.Rates{Before: &r.Before, After: &r.After}, &r.CutBody, r.Answers, observed, fresh); err != nil {
			return nil, fmt.Errorf("httpfault: %s: %w", r.Operation, err)
		}
		list, names, playing = append(list, r), append(names, r.Operation), playing || own || wrong
	}
	if !playing && len(list) > 0 {
		return nil, fmt.Errorf("httpfault: %w", counts.Nothing(names))
	}
	return list, nil
}

// check reports counts that no httpcount.Counter makes.
func check(n counts.Count) error {
	for _, code := range slices.Sorted(maps.Keys(n.Failures)) {
		if s, err := strconv.Atoi(code); err == nil && s < 400 {
			return fmt.Errorf("production counted the status %s as a failure, but failures start at 400: store "+
				"the JSON of an httpcount.Counter, unchanged",
				code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(n.Breaches.Unparsable)) {
		if s, err := strconv.Atoi(code); err != nil || s < 200 || s > 299 || s == http.StatusNoContent || s == http.StatusResetContent {
			return fmt.Errorf("production counted an invalid JSON body with the status %s, but only successful "+
				"answers with a body are parsed: store the JSON of an httpcount.Counter, unchanged", code)
		}
	}
	return nil
}

func observed(a *Answer) (string, counts.Rates) {
	return strconv.Itoa(a.Status), counts.Rates{Before: &a.Before, After: &a.After, Breach: &a.Breach}
}

// fresh makes the Answer for a status that the route does not list.
func fresh(code string, noJSON bool) (a Answer, err error) {
	if noJSON {
		a = unparsable
	}
	if a.Status, err = strconv.Atoi(code); err != nil || a.Status < 200 || a.Status > 999 || strconv.Itoa(a.Status) != code {
		return a, fmt.Errorf("production counted the status %s, which no test can play: remove it from the counts", code)
	}
	return a, nil
}
