package redisfault

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/counts"
)

// Observed gives faults the rates of what a server answered in production. from is the JSON that a rediscount.Counter serves, whose operations are those of f.Commands.
//
// Lost commands, pipelines and transactions become the rates Before and After. Documented errors of commands, undocumented ones, and replies of another type become Answers, the latter two
// as breaches. An answer that f has with the same code keeps its message. What production has not seen gets the rate 0. Dial, Connection, Late, Twice, Slow and Delay, which counts do not
// show, stay, as do Pipeline and Transaction where production made none.
//
// A rate is the share of the operation's calls, but at least 0.05. A client cannot know whether a command that failed was executed: half of the share is Before, half After, each at
// least 0.05.
func Observed(from io.Reader, f Faults) (Faults, error) {
	all, err := counts.Read(from)
	if err != nil {
		return Faults{}, fmt.Errorf("redisfault: %w", err)
	}
	f.Commands = slices.Clone(f.Commands)
	for i := range f.Commands {
		c := &f.Commands[i]
		n, err := all.Of(c.Operation)
		if err != nil {
			return Faults{}, fmt.Errorf("redisfault: %w", err)
		}
		c.Before, c.After = n.Half(n.Lost), n.Half(n.Lost)
		if c.Answers, err = counts.Answers(n, c.Answers, observed, fresh); err != nil {
			return Faults{}, fmt.Errorf("redisfault: %s: %w", c.Operation, err)
		}
	}
	if n := all.Operations["pipeline"]; n.Calls > 0 {
		f.Pipeline.Before, f.Pipeline.After = n.Half(n.Lost), n.Half(n.Lost)
	}
	if n := all.Operations["transaction"]; n.Calls > 0 {
		f.Transaction.Before, f.Transaction.After = n.Half(n.Lost), n.Half(n.Lost)
	}
	return f, nil
}

func observed(a *Answer) (string, counts.Rates) {
	code := strings.ToUpper(a.name())
	if a.Mistyped {
		code = a.name()
	}
	return code, counts.Rates{Before: &a.Before, After: &a.After, Breach: &a.Breach}
}

// fresh is the answer of a code that the command has not.
func fresh(code string, mistyped bool) (Answer, error) {
	if mistyped {
		return Answer{Message: "redis: can't parse the reply, as in production", Mistyped: true}, nil
	}
	a := Answer{Message: code + " as in production"}
	if a.name() == "" {
		return a, fmt.Errorf("production counted the error %s, whose code has small letters, so that no test can play it: take it out of the counts", code)
	}
	return a, nil
}
