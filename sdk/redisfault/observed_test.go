package redisfault_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/redisfault"
	"github.com/bloodhound-dst/bloodhound/sdk/redisfault/rediscount"
)

// reserve is a program whose server documents the error LOADING. Where naive, it takes every other error of the server for a reservation.
func reserve(c *redis.Client, seat string, naive bool) (reserved bool) {
	err := c.Incr(context.Background(), seat).Err()
	if err == nil {
		return true
	}
	_, answered := errors.AsType[redis.Error](err)
	return naive && answered && !redis.HasErrorPrefix(err, "LOADING ")
}

// What a real server breached in production, rarely, happens in a test, and finds the program that fails on it. One that does not
// fail on it holds, and meets all kinds.
func TestProductionsBreachesArePlayed(t *testing.T) {
	server := storetest.Redis(t, "appendonly no", "rename-command decr olddecr", "rename-command echo decr") // DECR answers text
	plain := connect(t, server.URL, -1)
	counter := rediscount.New(rediscount.Operation{Name: "reserve", Commands: []string{"incr", "decr"}, Codes: []string{"LOADING"}})
	production := connect(t, server.URL, -1)
	production.AddHook(counter.Hook())
	for i := range 200 {
		reserve(production, fmt.Sprint("seat ", i), true)
	}
	if err := plain.LPush(t.Context(), "list", "x").Err(); err != nil {
		t.Fatal(err)
	}
	reserve(production, "list", true)
	production.Decr(t.Context(), "seat 1")
	text, err := json.Marshal(counter)
	if want := `"reserve":{"calls":202,"lost":0,"failures":{},"breaches":{"codes":{"WRONGTYPE":1},"unparsable":{"reply":1}}}`; err != nil ||
		!strings.Contains(string(text), want) {
		t.Fatalf("%s, %v\nhas not %s", text, err, want)
	}
	faults, err := redisfault.Observed(bytes.NewReader(text),
		redisfault.Faults{Commands: []redisfault.Command{{Names: []string{"incr", "decr"}, Operation: "reserve"}}})
	if err != nil {
		t.Fatal(err)
	}

	for _, naive := range []bool{true, false} {
		t.Run(fmt.Sprintf("naive=%v", naive), func(t *testing.T) {
			t.Chdir(t.TempDir()) // where the failure is stored
			text, ok := sdk.Campaign{Runs: 100}.Search(t, func(r *sdk.Run) {
				empty(r, plain)
				client := connect(t, server.URL, -1)
				defer client.Close()
				client.AddHook(redisfault.Hook("cache", r, faults))
				for _, seat := range []string{"ann", "bob"} {
					if reserve(client, seat, naive) && count(r, plain, seat) == 0 {
						r.Errorf("%s is taken for reserved, and is not", seat)
					}
				}
				r.Quiet()
			})
			if naive && (ok || !strings.Contains(text, "fault cache_reserve_breach_wrongtype_before at call ") || !strings.Contains(text, " to 1\n")) {
				t.Errorf("the failure reads:\n%s", text)
			}
			kinds := []string{"wrongtype_after", "wrongtype_before", "reply_after", "reply_before"}
			if !naive && (!ok || slices.ContainsFunc(kinds, func(k string) bool { return !strings.Contains(text, "\ncache_reserve_breach_"+k) })) {
				t.Errorf("the program that is right: %s", text)
			}
		})
	}
}

// Rates give each kind its share of the calls, with a lower bound. Pipelines that production did not make stay.
func TestObserved(t *testing.T) {
	f, err := redisfault.Observed(strings.NewReader(`{"operations": {"write": {"calls": 1000, "lost": 400, "failures": {"LOADING": 1}, "breaches": {"codes": {"OOM": 3}, "unparsable": {"reply": 2}}}, "transaction": {"calls": 10, "lost": 4}}}`),
		redisfault.Faults{Commands: []redisfault.Command{{Operation: "write", Rates: sdk.Rates{Slow: 0.1},
			Answers: []redisfault.Answer{{Message: "LOADING later"}, {Message: "BUSY"}}}},
			Pipeline: sdk.Rates{Before: 0.7}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{[{[] write {0.2 0.25 0 0 0.1 0s} [{LOADING later 0.083 0.091 false false} {BUSY 0 0 false false} {OOM as in production 0.1 0.111 true false} {redis: can't parse the reply, as in production 0.125 0.143 true true}]}] {0.7 0 0 0 0 0s} {0.2 0.25 0 0 0 0s} {0 0 0 0 0 0s} {0 0 0 0 0 0s}}`
	answers := f.Commands[0].Answers
	for i, a := range answers {
		answers[i].Before, answers[i].After = math.Round(1000*a.Before)/1000, math.Round(1000*a.After)/1000
	}
	if text := fmt.Sprint(f); text != want {
		t.Errorf("the faults are\n%s, not\n%s", text, want)
	}
}

// Counts that do not fit the faults are errors with a remedy.
func TestObservedRefuses(t *testing.T) {
	const counts = `{"operations": {"write": {"calls": 9, "breaches": {"codes": {"OOM": 1}}}, "odd": {"calls": 9, "breaches": {"codes": {"oom": 1}}}, "read": {}}}`
	for _, c := range []struct {
		counts  string
		command redisfault.Command
		want    string
	}{
		{counts, redisfault.Command{Operation: "list"}, `counted no operation "list", only odd, read, write: correct the name`},
		{counts, redisfault.Command{Operation: "read"}, "no call of read, so there are no rates: count for longer"},
		{counts, redisfault.Command{Operation: "odd"}, "odd: production counted the error oom, whose code has lower-case letters"},
		{counts, redisfault.Command{Operation: "write", Answers: []redisfault.Answer{{Message: "OOM full"}}},
			"write: the answer OOM is documented in the test and a breach in production: give both"},
		{counts, redisfault.Command{Operation: "write", Rates: sdk.Rates{Before: 1.5}},
			"redisfault: write: the test sets Before to 1.5, but the counts decide it"},
		{`{"operations": {"write": {"calls": 9}, "pipeline": {"calls": 9}}}`, redisfault.Command{Operation: "write"},
			"nothing go wrong with write, pipeline, so there is nothing to play"},
		{`{"operations": {"write": {"calls": 9}, "pipeline": {"calls": 9, "failures": {"OOM": 1}}}}`,
			redisfault.Command{Operation: "write"}, "answers of pipeline, which can only be lost as a whole: store"},
		{counts[:50], redisfault.Command{Operation: "write"}, "cut off at byte 50; store the JSON"},
	} {
		if f, err := redisfault.Observed(strings.NewReader(c.counts),
			redisfault.Faults{Commands: []redisfault.Command{c.command}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v", c.command, f, err)
		}
	}
}
