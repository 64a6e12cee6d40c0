package redisfault

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
)

// Observed sets the rates of f from what a server answered in production. from is the JSON that a rediscount.Counter
// serves, with the operations of f.Commands.
//
// Lost commands, pipelines and transactions become the rates Before and After. Documented errors of commands,
// undocumented ones, and replies of another type become Answers, the latter two as breaches. An Answer that f already
// lists for the code keeps its message. Whatever production has not seen gets the rate 0. Dial, Connection, Late,
// Twice, Slow and Delay keep their values, since the counts do not show them, as do Pipeline and Transaction if
// production used none.
//
// The rate of each kind of fault is its share of the operation's calls, but at least 0.05. If the rates add up to more
// than 0.8, they are scaled down in proportion. Kinds are tried in order, so a rate applies to the calls that the kinds
// before it leave. A client cannot know whether a failed command was executed, so half of the share goes to Before and
// half to After, each at least 0.05.
//
// It is an error if the test sets a rate that the counts decide, or if nothing went wrong in production and the test
// sets no other rates, because then there is nothing to inject.
func Observed(from io.Reader, f Faults) (Faults, error) {
	all, err := counts.Read(from)
	if err != nil {
		return Faults{}, fmt.Errorf("redisfault: %w", err)
	}
	f.Commands = slices.Clone(f.Commands)
	var names []string
	playing := own(f.Pipeline) || own(f.Transaction) || own(f.Dial) || own(f.Connection)
	play := func(operation string, n counts.Count, r *sdk.Rates, answers []Answer) ([]Answer, error) {
		playing = playing || own(*r)
		answers, wrong, err := counts.Play(n, counts.Rates{Before: &r.Before, After: &r.After}, nil, answers, observed, fresh)
		if err != nil {
			return nil, fmt.Errorf("redisfault: %s: %w", operation, err)
		}
		names, playing = append(names, operation), playing || wrong
		return answers, nil
	}
	for i := range f.Commands {
		c := &f.Commands[i]
		n, err := all.CountOf(c.Operation)
		if err != nil {
			return Faults{}, fmt.Errorf("redisfault: %w", err)
		}
		if c.Answers, err = play(c.Operation, n, &c.Rates, c.Answers); err != nil {
			return Faults{}, err
		}
	}
	for i, r := range []*sdk.Rates{&f.Pipeline, &f.Transaction} {
		operation := []string{"pipeline", "transaction"}[i]
		n := all.Operations[operation]
		if n.Calls == 0 {
			continue
		}
		if answers, err := play(operation, n, r, nil); err != nil {
			return Faults{}, err
		} else if len(answers) > 0 {
			return Faults{}, fmt.Errorf("redisfault: production counted answers of %s, which can only be lost as "+
				"a whole: store the JSON of a rediscount.Counter, unchanged", operation)
		}
	}
	if !playing && len(names) > 0 {
		return Faults{}, fmt.Errorf("redisfault: %w", counts.Nothing(names))
	}
	return f, nil
}

// own reports whether the test has rates of its own.
func own(r sdk.Rates) bool { return r != sdk.Rates{Delay: r.Delay} }

func observed(a *Answer) (string, counts.Rates) {
	code := strings.ToUpper(a.name())
	if a.Mistyped {
		code = a.name()
	}
	return code, counts.Rates{Before: &a.Before, After: &a.After, Breach: &a.Breach}
}

// fresh makes the Answer for a code that the command does not list.
func fresh(code string, mistyped bool) (Answer, error) {
	if mistyped {
		return Answer{Message: "redis: can't parse the reply, as in production", Mistyped: true}, nil
	}
	a := Answer{Message: code + " as in production"}
	if a.name() == "" {
		return a, fmt.Errorf("production counted the error %s, whose code has lower-case letters, so no test can "+
			"play it: remove it from the counts", code)
	}
	return a, nil
}
