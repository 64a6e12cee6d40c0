package rediscount_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
	"github.com/bloodhound-dst/bloodhound/sdk/redisfault/rediscount"
)

// reply is an error that a server answers.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func new() *rediscount.Counter {
	return rediscount.New(rediscount.Operation{Name: "write", Commands: []string{"set", "incr"}, Codes: []string{"LOADING"}},
		rediscount.Operation{Name: "other"})
}

// read is one operation of what a counter writes, in one line.
func read(t *testing.T, counter *rediscount.Counter, operation string) string {
	t.Helper()
	text, err := json.Marshal(counter)
	if err != nil {
		t.Fatal(err)
	}
	all, err := counts.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	n := all.Operations[operation]
	return fmt.Sprint(n.Calls, n.Lost, n.Failures, n.Breaches.Codes, n.Breaches.Unparsable)
}

var (
	number   = func() error { _, err := strconv.Atoi("abc"); return err }()
	mistyped = errors.New(`redis: can't parse int reply: "$3"`)
)

// Each reply is counted as what it is, and passes as it came.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "1 0 map[] map[] map[]"},
		{redis.Nil, "1 0 map[] map[] map[]"},
		{reply("LOADING later"), "1 0 map[LOADING:1] map[] map[]"},
		{fmt.Errorf("tried: %w", reply("LOADING later")), "1 0 map[LOADING:1] map[] map[]"},
		{reply("WRONGTYPE of key"), "1 0 map[] map[WRONGTYPE:1] map[]"},
		{reply("user_script:1: no"), "1 0 map[] map[OTHER:1] map[]"},
		{mistyped, "1 0 map[] map[] map[reply:1]"},
		{number, "1 0 map[] map[] map[reply:1]"},
		{io.EOF, "1 1 map[] map[] map[]"},
		{context.DeadlineExceeded, "1 1 map[] map[] map[]"},
		{redis.ErrClosed, "0 0 map[] map[] map[]"},
	} {
		counter := new()
		process := counter.Hook().ProcessHook(func(context.Context, redis.Cmder) error { return c.err })
		if err := process(t.Context(), redis.NewIntCmd(t.Context(), "incr", "x")); err != c.err {
			t.Errorf("the program sees %v, not %v", err, c.err)
		}
		if got := read(t, counter, "write"); got != c.want {
			t.Errorf("%v is counted as %s, not %s", c.err, got, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	counter := new()
	counter.Hook().ProcessHook(func(context.Context, redis.Cmder) error { return io.EOF })(ctx, redis.NewIntCmd(ctx, "incr", "x"))
	if got := read(t, counter, "write"); got != "0 0 map[] map[] map[]" {
		t.Errorf("a command that the program cancels is counted as %s", got)
	}
}

// Commands of a pipeline that the server has answered count for their operations, and the pipeline is a call of its own.
func TestPipelines(t *testing.T) {
	for _, c := range []struct {
		names                            string
		errs                             []error
		write, other, pipeline, transact string
	}{
		{"set get incr", []error{nil, redis.Nil, reply("OOM full")}, "2 0 map[] map[OOM:1] map[]", "1 0 map[] map[] map[]", "1 0", "0 0"},
		{"set get incr", []error{nil, io.EOF, io.EOF}, "1 0 map[] map[] map[]", "0 0 map[] map[] map[]", "1 1", "0 0"},
		{"incr get set", []error{mistyped, mistyped, mistyped}, "1 0 map[] map[] map[reply:1]", "0 0 map[] map[] map[]", "1 0", "0 0"},
		{"multi set get exec", []error{nil, nil, reply("WRONGTYPE x"), nil}, "1 0 map[] map[] map[]", "1 0 map[] map[WRONGTYPE:1] map[]", "0 0", "1 0"},
		{"multi set exec", []error{redis.TxFailedErr, redis.TxFailedErr, redis.TxFailedErr}, "1 0 map[] map[] map[]", "0 0 map[] map[] map[]", "0 0", "1 0"},
		{"multi set exec", []error{io.EOF, io.EOF, io.EOF}, "0 0 map[] map[] map[]", "0 0 map[] map[] map[]", "0 0", "1 1"},
	} {
		var list []redis.Cmder
		for _, name := range strings.Fields(c.names) {
			list = append(list, redis.NewCmd(t.Context(), name))
		}
		counter := new()
		counter.Hook().ProcessPipelineHook(func(_ context.Context, list []redis.Cmder) error {
			for i, cmd := range list {
				cmd.SetErr(c.errs[i])
			}
			return c.errs[0]
		})(t.Context(), list)
		got := []string{read(t, counter, "write"), read(t, counter, "other"), read(t, counter, "pipeline")[:3], read(t, counter, "transaction")[:3]}
		if fmt.Sprint(got) != fmt.Sprint([]string{c.write, c.other, c.pipeline, c.transact}) {
			t.Errorf("%s with %v is counted as %q", c.names, c.errs, got)
		}
	}
}

// Commands at the same time all count.
func TestManyAtOnce(t *testing.T) {
	counter := new()
	process := counter.Hook().ProcessHook(func(context.Context, redis.Cmder) error { return reply("OOM full") })
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 1000 {
				process(t.Context(), redis.NewIntCmd(t.Context(), "incr", "x"))
			}
		})
	}
	calls.Wait()
	if got := read(t, counter, "write"); got != "4000 0 map[] map[OOM:4000] map[]" {
		t.Errorf("the counts are %s", got)
	}
}

// Operations that cannot be are refused.
func TestRefused(t *testing.T) {
	for want, list := range map[string][]rediscount.Operation{
		"has no name":                                    {{}},
		"are named pipeline":                             {{Name: "pipeline"}},
		"is not a command in lower":                      {{Name: "a", Commands: []string{"GET"}}},
		"or it is there twice":                           {{Name: "a", Commands: []string{"get"}}, {Name: "b", Commands: []string{"get"}}},
		"is the second operation for all other commands": {{Name: "a"}, {Name: "b"}},
		"is not a code":                                  {{Name: "a", Codes: []string{"two words"}}},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), want) {
					t.Errorf("not %q, but %v", want, p)
				}
			}()
			rediscount.New(list...)
		}()
	}
}

func BenchmarkOff(b *testing.B) {
	plain := func(context.Context, redis.Cmder) error { return nil }
	for name, process := range map[string]redis.ProcessHook{"plain": plain, "wrapped": new().Hook().ProcessHook(plain)} {
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

// A program in production does not get the flags of package testing, nor faults.
func TestNoTestingInProduction(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for pkg := range strings.Lines(string(out)) {
		if pkg = strings.TrimSpace(pkg); pkg == "testing" || strings.HasSuffix(pkg, "/sdk") {
			t.Errorf("rediscount imports %s", pkg)
		}
	}
}
