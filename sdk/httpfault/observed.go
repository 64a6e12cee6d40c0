package httpfault

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/counts"
)

// unparsable is the answer that Observed gives in place of a body that was not JSON. Bodies are not recorded in production.
var unparsable = Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: "<html>"}

// Observed gives routes the rates of what a service answered in production. from is the JSON that an httpcount.Counter serves, whose operations are those of the routes.
//
// Lost calls become the rates Before and After, and cut bodies CutBody. Documented failures, undocumented statuses and bodies that are not JSON become Answers, the latter two as
// breaches. An answer that a route has with the same status keeps its header and body; others have none, but for bodies that are not JSON. What production has not seen gets the rate 0.
// Late, Twice, Slow and Delay, which counts do not show, stay.
//
// A rate is the share of the operation's calls, but at least 0.05. A client cannot know whether a call that failed was handled: half of the share is Before, half After, each
// at least 0.05.
func Observed(from io.Reader, routes ...Route) ([]Route, error) {
	all, err := counts.Read(from)
	if err != nil {
		return nil, fmt.Errorf("httpfault: %w", err)
	}
	var list []Route
	for _, r := range routes {
		n, err := all.Of(r.Operation)
		if err != nil {
			return nil, fmt.Errorf("httpfault: %w", err)
		}
		r.Before, r.After, r.CutBody = n.Half(n.Lost), n.Half(n.Lost), n.Rate(n.Breaches.Cut)
		if r.Answers, err = counts.Answers(n, r.Answers, observed, fresh); err != nil {
			return nil, fmt.Errorf("httpfault: %s: %w", r.Operation, err)
		}
		list = append(list, r)
	}
	return list, nil
}

func observed(a *Answer) (string, counts.Rates) {
	return strconv.Itoa(a.Status), counts.Rates{Before: &a.Before, After: &a.After, Breach: &a.Breach}
}

// fresh is the answer of a status that the route has not.
func fresh(code string, noJSON bool) (a Answer, err error) {
	if noJSON {
		a = unparsable
	}
	if a.Status, err = strconv.Atoi(code); err != nil || a.Status < 200 || a.Status > 999 || strconv.Itoa(a.Status) != code {
		return a, fmt.Errorf("production counted the status %s, which no test can play: take it out of the counts", code)
	}
	return a, nil
}
