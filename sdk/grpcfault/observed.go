package grpcfault

import (
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
)

// Observed sets the rates of methods from what a service answered in production. from is the JSON that a
// grpccount.Counter serves, with the same operations.
//
// Lost calls become the rates Before and After. Documented failures and undocumented codes become Answers, the latter
// as breaches. An Answer that a method already lists for the code keeps its message. Whatever production has not seen
// gets the rate 0. Late, Twice, Slow and Delay keep their values, since the counts do not show them.
//
// The rate of each kind of fault is its share of the operation's calls, but at least 0.05. If the rates add up to more
// than 0.8, they are scaled down in proportion. Kinds are tried in order, so a rate applies to the calls that the kinds
// before it leave. A client cannot know whether a failed call was handled, so half of the share goes to Before and half
// to After, each at least 0.05.
//
// It is an error if the test sets a rate that the counts decide, or if nothing went wrong in production and the test
// sets no other rates, because then there is nothing to inject.
func Observed(from io.Reader, list ...Method) ([]Method, error) {
	list = slices.Clone(list)
	return list, observe(from, len(list), func(i int) (string, *sdk.Rates, *[]Answer, bool) {
		return list[i].Operation, &list[i].Rates, &list[i].Answers, own(list[i].Rates)
	})
}

// ObservedStreams does for streams what Observed does for methods. Send and Receive keep their values.
func ObservedStreams(from io.Reader, list ...Stream) ([]Stream, error) {
	list = slices.Clone(list)
	return list, observe(from, len(list), func(i int) (string, *sdk.Rates, *[]Answer, bool) {
		s := &list[i]
		return s.Operation, &s.Rates, &s.Answers, own(s.Rates) || own(s.Send) || own(s.Receive)
	})
}

// own reports whether the test has rates of its own.
func own(r sdk.Rates) bool { return r != sdk.Rates{Delay: r.Delay} }

// observe reads counts, and sets the rates and answers of k operations. of gives those, and whether the test has rates of its own for them.
func observe(from io.Reader, k int, of func(i int) (string, *sdk.Rates, *[]Answer, bool)) error {
	all, err := counts.Read(from)
	if err != nil {
		return fmt.Errorf("grpcfault: %w", err)
	}
	var names []string
	playing := false
	for i := range k {
		operation, rates, answers, own := of(i)
		n, err := all.CountOf(operation)
		if err != nil {
			return fmt.Errorf("grpcfault: %w", err)
		}
		var wrong bool
		if *answers, wrong, err = counts.Play(n, counts.Rates{Before: &rates.Before, After: &rates.After}, nil, *answers, observed, played); err != nil {
			return fmt.Errorf("grpcfault: %s: %w", operation, err)
		}
		names, playing = append(names, operation), playing || own || wrong
	}
	if !playing && k > 0 {
		return fmt.Errorf("grpcfault: %w", counts.Nothing(names))
	}
	return nil
}

func observed(a *Answer) (string, counts.Rates) {
	return a.Code.String(), counts.Rates{Before: &a.Before, After: &a.After, Breach: &a.Breach}
}

// played is the answer of a code that the method has not.
func played(code string, unparsable bool) (Answer, error) {
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if c.String() == code && !unparsable {
			return Answer{Code: c, Message: "as in production"}, nil
		}
	}
	return Answer{}, fmt.Errorf("production counted the code %s, which gRPC does not have: store the JSON of a "+
		"grpccount.Counter", code)
}
