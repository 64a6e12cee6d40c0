package grpcfault_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/grpcfault"
	"github.com/bloodhound-dst/bloodhound/sdk/grpcfault/grpccount"
)

// charge is a program that pays by a service whose contract has the code ResourceExhausted. Where naive, it takes AlreadyExists
// for a payment that was made before.
func charge(client pb.TestServiceClient, order string, naive bool) (paid bool) {
	_, err := client.UnaryCall(context.Background(), &pb.SimpleRequest{Payload: payload(order)})
	return err == nil || naive && status.Code(err) == codes.AlreadyExists
}

// refuse has a server answer these orders by codes.
func refuse(refused map[string]codes.Code) grpc.ServerOption {
	return grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if code := refused[string(req.(*pb.SimpleRequest).Payload.Body)]; code != codes.OK {
			return nil, status.Error(code, "no")
		}
		return handle(ctx, req)
	})
}

// What a real server breached in production, rarely, happens in a test, and finds the program that fails on it. One that does not
// fail on it holds, and meets all kinds.
func TestProductionsBreachesArePlayed(t *testing.T) {
	counter := grpccount.New(grpccount.Operation{Name: "charge", Method: "/grpc.testing.TestService/UnaryCall", Codes: []codes.Code{codes.ResourceExhausted}})
	_, client := serve(t, []grpc.ServerOption{refuse(map[string]codes.Code{"order 10": codes.ResourceExhausted,
		"order 20": codes.AlreadyExists, "order 30": codes.Unavailable})},
		grpc.WithUnaryInterceptor(counter.UnaryClient()))
	for i := range 200 {
		charge(client, fmt.Sprint("order ", i), true)
	}
	text, err := json.Marshal(counter)
	if want := `{"operations":{"charge":{"calls":200,"lost":1,"failures":{"ResourceExhausted":1},"breaches":{"codes":{"AlreadyExists":1}}}}}`; err != nil ||
		string(text) != want {
		t.Fatalf("%s, %v\nnot %s", text, err, want)
	}
	methods, err := grpcfault.Observed(bytes.NewReader(text), grpcfault.Method{Name: "/grpc.testing.TestService/UnaryCall", Operation: "charge"})
	if err != nil {
		t.Fatal(err)
	}

	for _, naive := range []bool{true, false} {
		t.Run(fmt.Sprintf("naive=%v", naive), func(t *testing.T) {
			t.Chdir(t.TempDir()) // where the failure is stored
			text, ok := sdk.Campaign{Runs: 100}.Search(t, func(r *sdk.Run) {
				c, client := serve(r, nil, grpc.WithUnaryInterceptor(grpcfault.UnaryClient("pay", r, methods...)))
				for _, order := range []string{"ann", "bob"} {
					if charge(client, order, naive) && c.effectsOf(order) == 0 {
						r.Errorf("%s is taken for paid, and is not", order)
					}
				}
				r.Quiet()
			})
			if naive && (ok || !strings.Contains(text, "fault pay_charge_breach_alreadyexists_before at call ") || !strings.Contains(text, " to 1\n")) {
				t.Errorf("the failure reads:\n%s", text)
			}
			if naive {
				return
			}
			for _, kind := range []string{"resourceexhausted_after", "resourceexhausted_before", "after", "before",
				"breach_alreadyexists_after", "breach_alreadyexists_before"} {
				if !ok || !strings.Contains(text, "\npay_charge_"+kind) {
					t.Errorf("the program that is right, without %s: %s", kind, text)
				}
			}
		})
	}
}

// Rates give each kind its share of the calls, with a lower bound.
func TestObserved(t *testing.T) {
	counts := `{"operations": {"charge": {"calls": 1000, "lost": 400, "failures": {"ResourceExhausted": 1}, "breaches": {"codes": {"DataLoss": 100}}}}}`
	answers := []grpcfault.Answer{{Code: codes.ResourceExhausted, Message: "later"}, {Code: codes.Aborted}}
	methods, err := grpcfault.Observed(strings.NewReader(counts),
		grpcfault.Method{Name: "*", Operation: "charge", Rates: sdk.Rates{Slow: 0.1}, Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	streams, err := grpcfault.ObservedStreams(strings.NewReader(counts),
		grpcfault.Stream{Name: "*", Operation: "charge", Send: sdk.Rates{Before: 0.1}, Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	const want = "[{ResourceExhausted later 0.08333333333333333 0.09090909090909091 false} {Aborted  0 0 false} {DataLoss as in " +
		"production 0.1 0.11111111111111112 true}]"
	if got := fmt.Sprint(methods); got != "[{* charge {0.2 0.25 0 0 0.1 0s} "+want+"}]" {
		t.Errorf("the methods are %s", got)
	}
	if got := fmt.Sprint(streams); got != "[{* charge {0.2 0.25 0 0 0 0s} {0.1 0 0 0 0 0s} {0 0 0 0 0 0s} "+want+"}]" {
		t.Errorf("the streams are %s", got)
	}
	if len(answers) != 2 || answers[0].Before != 0 {
		t.Error("the answers of the caller changed")
	}
}

// Counts that do not fit the methods are errors with a remedy.
func TestObservedRefuses(t *testing.T) {
	const counts = `{"operations": {"charge": {"calls": 9, "breaches": {"codes": {"DataLoss": 1}}}, "odd": {"calls": 9, "failures": {"503": 1}}, "refund": {}}}`
	for _, c := range []struct {
		counts string
		method grpcfault.Method
		want   string
	}{
		{counts, grpcfault.Method{Operation: "list"}, `counted no operation "list", only charge, odd, refund: correct the name`},
		{counts, grpcfault.Method{Operation: "refund"}, "no call of refund, so there are no rates: count for longer"},
		{counts, grpcfault.Method{Operation: "odd"}, "odd: production counted the code 503, which gRPC does not have: store the JSON of a grpccount.Counter"},
		{counts, grpcfault.Method{Operation: "charge", Answers: []grpcfault.Answer{{Code: codes.DataLoss}}},
			"charge: the answer DataLoss is documented in the test and a breach in production: give both"},
		{counts, grpcfault.Method{Operation: "charge", Rates: sdk.Rates{Before: 1.5}},
			"grpcfault: charge: the test sets Before to 1.5, but the counts decide it"},
		{`{"operations": {"charge": {"calls": 9, "breaches": {"cut": 1}}}}`, grpcfault.Method{Operation: "charge"},
			"counted 1 cut answer, which only HTTP has: store"},
		{`{"operations": {"charge": {"calls": 9}}}`, grpcfault.Method{Operation: "charge"}, "nothing go wrong with charge, so there is nothing to play"},
		{counts[:50], grpcfault.Method{Operation: "charge"}, "cut off at byte 50; store the JSON"},
	} {
		if methods, err := grpcfault.Observed(strings.NewReader(c.counts), c.method); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v", c.method, methods, err)
		}
	}
}
