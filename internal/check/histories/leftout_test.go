package histories

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"
)

func TestKeyMatches(t *testing.T) {
	for _, c := range []struct {
		patterns, key string
		want          bool
	}{
		{"", "k", true}, {"k", "k", true}, {"k", "kk", false}, {"k*", "kk", true}, {"*", "", true}, {"*", "a/b", true}, {"a/*", "a/b/c", true},
		{"?", "é", true}, {"?", "ab", false}, {"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXbYbZ", false}, {"*b", "ab", true}, {"*b", "aba", false},
		{"!k", "k", false}, {"!k", "j", true}, {"a* !ab*", "ac", true}, {"a* !ab*", "abc", false}, {"a* b*", "b", true},
		{"!a* b*", "c", false}, {"[k]", "k", false},
	} {
		if got := KeyMatches(strings.Fields(c.patterns), c.key); got != c.want {
			t.Errorf("%q matches %q: %v", c.patterns, c.key, got)
		}
	}
}

// TestKeysThatCannotBeJudged: keys without a model are left out, each with its reason; what is left is judged.
func TestKeysThatCannotBeJudged(t *testing.T) {
	const good, bad = "a:put=1 a! b:get b!1 ", "a:put=1 a! b:get b!2 "
	for _, c := range []struct {
		name, model      string
		operations, keys string
		short            string
		want             string // holds, violated, or part of the reason why it is unknown
		leftOut          string
	}{
		{name: "a second type", short: good + "a:rpush(l)=1 a! b:lrange(l) b![1]", want: "holds",
			leftOut: `key "l" with 2 operations: operation "rpush" has no model`},
		{name: "two keys of it", short: good + "a:rpush(l)=1 a! a:rpush(m)=1 a!", want: "holds",
			leftOut: `2 keys: "l", "m" with 2 operations: operation "rpush" has no model`},
		{name: "a violation beside it", short: bad + "a:rpush(l)=1 a!", want: "violated", leftOut: `key "l" with 1 operation: operation "rpush" has no model`},
		{name: "a violation on it", short: good + "a:put(l)=1 a! a:rename(l) a! b:get(l) b!2", want: "holds",
			leftOut: `key "l" with 3 operations: operation "rename" has no model`},
		{name: "nothing else", short: "a:put=1 a! a:rename a! b:get b!1", want: `operation "rename" has no model, and it may have changed key "k" at event 3`},
		{name: "of all keys", short: good + "a:flushall() a!",
			want: `operation "flushall" has no model, and no key: it may have changed key "k" at event 5; if it changes no key that is to be judged, list the operations to judge in ` + "`operations`"},
		{name: "it failed", short: good + "a:rename a/", want: "holds"},
		{name: "the user says that it changes nothing", operations: "put,get", short: good + "a:touch a! a:flushall() a!", want: "holds",
			leftOut: "1 operation \"flushall\", which `operations` does not select; 1 operation \"touch\", which `operations` does not select"},
		{name: "a key of lists", short: good + `a:append(l)=1 a! b:get(l) b!["1"]`, want: "holds",
			leftOut: "key \"l\" with 2 operations: it holds a list, which needs `model: append-list`"},
		{name: "a result that cannot be", short: good + "a:cas(l)=1>2 a!maybe", want: "holds",
			leftOut: `key "l" with 1 operation: operation "cas" has an impossible input or result`},
		{name: "results that cannot be", short: "a:cas=1>2 a!maybe", want: `broken history: cas "k"`},
		{name: "a chosen key cannot be judged", keys: "*", short: good + "a:rpush(l)=1 a!",
			want: "has no model, and it may have changed key \"l\" at event 5; `keys` selects that key"},
		{name: "a violation beside a chosen key that cannot be judged", keys: "*", short: bad + "a:rpush(l)=1 a!",
			want: "violated", leftOut: `key "l" with 1 operation: operation "rpush" has no model`},
		{name: "a key that is not chosen", keys: "k", short: good + "a:rpush(l)=1 a! a:put(m)=1 a! b:get(m) b!2", want: "holds",
			leftOut: "2 keys: \"l\", \"m\" with 3 operations, which `keys` does not select"},
		{name: "no such key", keys: "x*", short: good, want: `no key matches x*; there were key "k"`},
		{name: "a transaction", short: good + `a:put(j)=1 a! a:txn()=[["append","j",1]] a! b:get(j) b!1`, want: "holds",
			leftOut: `key "j" with 2 operations: operation "txn" has no model`},
		{name: "registers beside a set", model: "set", short: "a:add=1 a! b:read b![1] a:put(r)=1 a! b:get(r) b!1", want: "holds",
			leftOut: `key "r" with 2 operations: operation "put" is not supported by a set`},
		{name: "registers that are only read beside a set", model: "set", short: "a:add=1 a! b:read b![1] b:get(r) b!x",
			want: "holds", leftOut: `key "r" with 1 operation: operation "get" has an impossible input or result`},
		{name: "a chosen set", model: "set", keys: "k", short: "a:add=1 a! b:read b![1] a:add(j)=1 a! b:read(j) b![2]",
			want: "holds", leftOut: "key \"j\" with 2 operations, which `keys` does not select"},
		{name: "a violation of a set beside registers", model: "set", short: "a:add=1 a! b:read b![2] a:put(r)=1 a!",
			want: "violated", leftOut: `key "r" with 1 operation: operation "put" is not supported by a set`},
		{name: "a set of which nothing can be judged", model: "set", short: "a:put(r)=1 a! b:get(r) b!1", want: `operation "put" is not supported by a set`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := property()
			p.Check.Model = c.model
			if c.operations != "" {
				p.Check.Operations = strings.Split(c.operations, ",")
			}
			if c.keys != "" {
				p.Check.KeyPatterns = strings.Fields(c.keys)
			}
			v := History(p, historytest.Events(t, c.short))
			if status := string(v.Status); status != c.want && (v.Status != verdict.Unknown || !strings.Contains(v.Reason, c.want)) {
				t.Fatalf("%s: %s; want %s", v.Status, v.Reason, c.want)
			}
			if got := strings.Join(v.LeftOut, "; "); v.Status != verdict.Unknown && got != c.leftOut {
				t.Fatalf("left out:\n%s\nwant\n%s", got, c.leftOut)
			}
		})
	}
}

// TestLeavingOutAgainstBruteForce: of random histories with operations that have no model, what is judged is judged as if the
// rest had not been there, and each key that is not judged is named.
func TestLeavingOutAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	counts := map[verdict.Status]int{}
	for n := range 3000 {
		var list []history.Event
		open := map[string]history.Event{}
		clients := []string{"a", "b", "c"}
		for number := uint64(1); number <= 14; number++ {
			at := r.IntN(len(clients))
			client := clients[at]
			e, busy := open[client]
			e.Number, e.Client = number, client
			if busy {
				e.Type = []history.Type{history.Ok, history.Ok, history.Ok, history.Info, history.Fail}[r.IntN(5)]
				if e.Type == history.Ok && e.Op == "get" && r.IntN(4) > 0 {
					e.Found, e.Output = true, fmt.Sprint(r.IntN(3))
				}
				delete(open, client)
				if e.Type == history.Info {
					clients[at] += "."
				}
			} else {
				e.Type, e.Op, e.Key = history.Invoke, []string{"put", "put", "get", "get", "get"}[r.IntN(5)], []string{"x", "y", "z"}[r.IntN(3)]
				if e.Op == "put" {
					e.Input = fmt.Sprint(r.IntN(3))
				}
				if r.IntN(12) == 0 {
					e.Op, e.Input = "rename", ""
					if r.IntN(8) == 0 {
						e.Key = ""
					}
				}
				open[client] = e
			}
			list = append(list, e)
		}
		ops, err := history.Pair(list)
		if err != nil {
			t.Fatal(err)
		}
		spoilt := map[string]bool{}
		for _, o := range ops {
			spoilt[o.Key] = spoilt[o.Key] || o.Op == "rename" && o.Type != history.Fail
		}
		judgeable := slices.DeleteFunc(slices.Clone(ops), func(o history.Operation) bool { return o.Op == "rename" || spoilt[o.Key] || spoilt[""] })
		v := Operations(property(), ops)
		counts[v.Status]++
		legal := slowly(judgeable, map[string]string{})
		if v.Status == verdict.Holds && (!legal || len(judgeable) == 0) || (v.Status == verdict.Violated) == legal {
			t.Fatalf("history %d: %s %s, and brute force %v:\n%+v", n, v.Status, v.Reason, legal, ops)
		}
		text := strings.Join(v.LeftOut, "\n")
		for key := range spoilt {
			if v.Status == verdict.Holds && spoilt[key] && !strings.Contains(text, fmt.Sprintf("%q", key)) {
				t.Fatalf("history %d holds and does not name key %q:\n%s\n%+v", n, key, text, ops)
			}
		}
	}
	if counts[verdict.Holds] < 50 || counts[verdict.Violated] < 300 || counts[verdict.Unknown] < 300 {
		t.Fatalf("too few of a status: %v", counts)
	}
}
