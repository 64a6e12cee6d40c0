package sqlfault

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/sqlcalls"
)

// Observed sets the rates of f from what a database answered in production. from is the JSON that a sqlcount.Counter
// serves.
//
// For each operation that was counted, lost calls become its rates Before and After, documented failures become
// Answers, and undocumented ones become Answers that are breaches, named by their codes. answer makes the Answers that
// f does not list: it sets Err, and Aborts if the error ends transactions. Answers that production has not seen get the
// rate 0. BadConn, Late, Twice, Slow and Delay keep their values, since the counts do not show them, as do operations
// that were not counted.
//
// The rate of each kind of fault is its share of the operation's calls, but at least 0.05. If the rates add up to more
// than 0.8, they are scaled down in proportion. Kinds are tried in order, so a rate applies to the calls that the kinds
// before it leave. A client cannot know whether a failed call was done, so half of the share goes to Before and half to
// After, each at least 0.05. Clear operations that the test does not call, such as f.Ping: the test fails if one of
// their faults never happens.
//
// It is an error if the test sets a rate that the counts decide, or if nothing went wrong in production and the test
// sets no other rates, because then there is nothing to inject.
func Observed(from io.Reader, f Faults, answer func(code string) Answer) (Faults, error) {
	all, err := counts.Read(from)
	if err != nil {
		return Faults{}, fmt.Errorf("sqlfault: %w", err)
	}
	rates := f.rates()
	var calls uint64
	var names []string
	playing := f.BadConn != 0
	for _, r := range rates {
		playing = playing || *r != sdk.Rates{Delay: r.Delay}
	}
	for _, name := range slices.Sorted(maps.Keys(all.Operations)) {
		o, n := sqlcalls.ByName(name), all.Operations[name]
		if calls += n.Calls; o < 0 {
			return Faults{}, fmt.Errorf("sqlfault: production counted the operation %q, but those of databases are %v: store the JSON of a sqlcount.Counter",
				name, sqlcalls.Names)
		}
		rest := slices.DeleteFunc(slices.Clone(f.Answers), func(a Answer) bool { return a.Operation == name })
		mine := slices.DeleteFunc(slices.Clone(f.Answers), func(a Answer) bool { return a.Operation != name })
		mine, wrong, err := counts.Play(n, counts.Rates{Before: &rates[o].Before, After: &rates[o].After}, nil, mine, observed,
			func(code string, unparsable bool) (Answer, error) {
				a := answer(code)
				a.Operation, a.Name, a.Breach = name, code, false
				if a.Err == nil || unparsable || !slices.Contains(sqlcalls.Answering, o) {
					return a, fmt.Errorf("production counted the error %s, which no test can play: let answer return its Err, or remove it from the counts",
						code)
				}
				return a, nil
			})
		if err != nil {
			return Faults{}, fmt.Errorf("sqlfault: %s: %w", name, err)
		}
		f.Answers = append(rest, mine...)
		if playing = playing || wrong; n.Calls > 0 {
			names = append(names, name)
		}
	}
	if calls == 0 {
		return Faults{}, errors.New("sqlfault: production made no call, so there are no rates: count for longer")
	}
	for _, a := range f.Answers {
		playing = playing || a.Before != 0 || a.After != 0
	}
	if !playing {
		return Faults{}, fmt.Errorf("sqlfault: %w", counts.Nothing(names))
	}
	return f, nil
}

func observed(a *Answer) (string, counts.Rates) {
	return a.Name, counts.Rates{Before: &a.Before, After: &a.After, Breach: &a.Breach}
}
