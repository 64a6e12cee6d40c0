package redisfault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/redisfault"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client also prints what it returns
	m.Run()
}

// connect is a client, without a connection yet. It tries nothing again by itself, unless retries says so.
func connect(t testing.TB, url string, retries int) *redis.Client {
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.DialerRetries = retries, 1
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func empty(r *sdk.Run, c *redis.Client) {
	if err := c.FlushAll(r.Context()).Err(); err != nil {
		r.Fatalf("FLUSHALL: %v", err)
	}
}

// count is how often the command of a key took effect.
func count(r *sdk.Run, c *redis.Client, key string) int {
	n, err := c.Get(context.Background(), key).Int()
	if err != nil && err != redis.Nil {
		r.Fatalf("GET %s: %v", key, err)
	}
	return n
}

// Each command that fails has had the effect that its fault says, alone, in a pipeline and in a transaction: a million calls in the long form.
func TestEffectsAreThoseOfTheFaults(t *testing.T) {
	calls := 3_000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		calls = 1_000_000
	}
	rates := sdk.Rates{Before: 0.05, After: 0.05, Late: 0.02, Twice: 0.05, Slow: 0.01, Delay: time.Millisecond}
	server := storetest.Redis(t, "appendonly no")
	plain := connect(t, server.URL, -1)
	sdk.Campaign{Runs: 2}.Test(t, func(r *sdk.Run) {
		empty(r, plain)
		client := connect(t, server.URL, -1)
		client.AddHook(redisfault.Hook("cache", r,
			redisfault.Faults{Pipeline: rates, Transaction: rates, Commands: []redisfault.Command{{Names: []string{"incr"}, Operation: "incr", Rates: rates,
				Answers: []redisfault.Answer{{Message: "LOADING Redis is loading the dataset in memory", Before: 0.03},
					{Message: "WRONG indeed", Before: 0.02, After: 0.02, Breach: true}}}}}))
		type effect struct{ least, most int }
		want := map[string]effect{}
		for i := range calls {
			key := fmt.Sprint("key ", i)
			var err error
			var list []redis.Cmder
			twice := func(p redis.Pipeliner) error {
				p.Incr(r.Context(), key)
				p.Incr(r.Context(), key)
				return nil
			}
			switch i % 3 {
			case 0:
				one := client.Incr(r.Context(), key)
				err, list = one.Err(), []redis.Cmder{one}
			case 1:
				list, err = client.Pipelined(r.Context(), twice)
			case 2:
				list, err = client.TxPipelined(r.Context(), twice)
			}
			e := effect{1, 2} // what was done twice, and succeeded, has no error
			switch kind := sdk.Kind(err); {
			case err != nil && kind == "", redis.HasErrorPrefix(err, "LOADING") != strings.Contains(kind, "incr_loading_"):
				r.Fatalf("an error that no fault made: %v (%s)", err, kind)
			case strings.HasSuffix(kind, "_before"):
				e = effect{}
			case err != nil:
				e.most = 1
			}
			for _, c := range list {
				if (c.Err() == nil) != (err == nil) || err != nil && c.(*redis.IntCmd).Val() != 0 {
					r.Errorf("the error is %v, and that of a command %v, with %s", err, c.Err(), c)
				}
			}
			want[key] = effect{e.least * len(list), e.most * len(list)}
		}
		r.Quiet()
		for key, e := range want {
			if n := count(r, plain, key); n < e.least || n > e.most {
				r.Errorf("%s took effect %d times, not %d to %d", key, n, e.least, e.most)
			}
		}
	})
}

// What the client does to set up its connections is no call of the program: it has no faults, and takes no draws.
func TestSetUpOfConnections(t *testing.T) {
	server := storetest.Redis(t, "appendonly no")
	sdk.Campaign{Runs: 2}.Test(t, func(r *sdk.Run) {
		always := sdk.Rates{Before: 1}
		client := connect(t, server.URL, -1)
		client.AddHook(redisfault.Hook("cache", r, redisfault.Faults{Pipeline: always, Commands: []redisfault.Command{
			{Operation: "other", Rates: always},
			{Names: []string{"incr"}, Operation: "incr", Rates: sdk.Rates{Slow: 1, Delay: time.Millisecond}},
		}}))
		if err := client.Incr(r.Context(), "key").Err(); err != nil {
			r.Errorf("the first command of a connection: %v", err)
		}
		// Their rates are 1, so they fail in each run that has faults.
		if err := client.Get(r.Context(), "key").Err(); err != nil && sdk.Kind(err) != "cache_other_before" {
			r.Errorf("another command: %v", err)
		}
		_, err := client.Pipelined(r.Context(), func(p redis.Pipeliner) error { p.Incr(r.Context(), "key"); return nil })
		if err != nil && (sdk.Kind(err) != "cache_pipeline_before" || !errors.Is(err, io.ErrUnexpectedEOF)) {
			r.Errorf("a pipeline: %v", err)
		}
	})
}

// A client that tries again by itself increments twice what was incremented, after a lost answer. One that does not returns the error.
func TestConnections(t *testing.T) {
	server := storetest.Redis(t, "appendonly no")
	plain := connect(t, server.URL, -1)
	calls := func(retries int, check func(r *sdk.Run, n int, err error)) func(*sdk.Run) {
		return func(r *sdk.Run) {
			empty(r, plain)
			client := connect(t, server.URL, retries)
			lost := sdk.Rates{Before: 0.1, After: 0.1}
			client.AddHook(redisfault.Hook("cache", r, redisfault.Faults{Connection: lost, Dial: lost}))
			for i := range 10 {
				key := fmt.Sprint("key ", i)
				err := client.Incr(r.Context(), key).Err()
				check(r, count(r, plain, key), err)
			}
		}
	}
	sdk.Campaign{Runs: 20}.Test(t, calls(-1, func(r *sdk.Run, n int, err error) {
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || n > 1 || err == nil && n != 1 {
			r.Errorf("an increment took effect %d times, with the error %v", n, err)
		}
	}))
	t.Chdir(t.TempDir()) // where the failure is stored
	text, ok := sdk.Campaign{Runs: 20}.Search(t, calls(3, func(r *sdk.Run, n int, err error) {
		if n > 1 {
			r.Errorf("an increment took effect %d times", n)
		}
	}))
	if ok || !strings.Contains(text, "took effect 2 times") || strings.Count("\n"+text, "\nfault cache_connection_after") != 1 {
		t.Errorf("a client that tries again: %s", text)
	}
}

// What cannot be is refused.
func TestRefused(t *testing.T) {
	of := func(c ...redisfault.Command) redisfault.Faults { return redisfault.Faults{Commands: c} }
	for want, f := range map[string]redisfault.Faults{
		"need an Operation":         of(redisfault.Command{}),
		"must begin with a code":    of(redisfault.Command{Operation: "a", Answers: []redisfault.Answer{{Message: "no"}}}),
		"is not a command in lower": of(redisfault.Command{Operation: "a", Names: []string{"GET"}}),
		"or it is there twice":      of(redisfault.Command{Operation: "a", Names: []string{"get", "get"}}),
		"stand for all others":      of(redisfault.Command{Operation: "a"}, redisfault.Command{Operation: "b"}),
		"cannot be late":            {Connection: sdk.Rates{Late: 0.1}},
		"is not between":            {Pipeline: sdk.Rates{Late: 1.1}},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), want) {
					t.Errorf("not %q, but %v", want, p)
				}
			}()
			redisfault.Hook("cache", nil, f)
		}()
	}
}

func BenchmarkOff(b *testing.B) {
	plain := func(context.Context, redis.Cmder) error { return nil }
	wrapped := redisfault.Hook("cache", nil, redisfault.Faults{Commands: []redisfault.Command{{Names: []string{"get"}, Operation: "get"}}}).ProcessHook(plain)
	for name, process := range map[string]redis.ProcessHook{"plain": plain, "wrapped": wrapped} {
		b.Run(name, func(b *testing.B) {
			cmd := redis.NewStringCmd(b.Context(), "get", "x")
			for b.Loop() {
				if err := process(b.Context(), cmd); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A mistake in the use of the package is the failure of the test, in one line with the place of the call.
func TestMistakes(t *testing.T) {
	text, ok := sdk.Campaign{Runs: 2}.Search(t, func(r *sdk.Run) {
		redisfault.Hook("cache", r, redisfault.Faults{Commands: []redisfault.Command{{Names: []string{"get"}}}})
	})
	place, says, _ := strings.Cut(text, ": ")
	if ok || !strings.HasPrefix(place, "redisfault_test.go:") || strings.Contains(text, "\n") ||
		!strings.HasPrefix(says, "redisfault: the commands [get] of cache need an Operation") {
		t.Errorf("%v, %s", ok, text)
	}
}
