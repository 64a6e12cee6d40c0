package histories

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Tests of the checks of kinds of systems: locks, ids, copies, lists and watches.

// rounds is the number of random histories that a check is compared with its twin on.
func rounds() int {
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		return 100_000
	}
	return 4000
}

func judgeKind(kind world.CheckType, order string, ops []history.Operation) verdict.Verdict {
	p := &world.Property{Name: "p", Check: world.Check{Type: kind, Subject: world.Subject{Order: order}}}
	if kind == world.Unique {
		p.Check.Operations = []string{"next"}
	}
	return MethodOf(kind).Judge(p, ops, "")
}

// told writes a history in short words, one event and one millisecond each: "a:put/k=1" invokes put of the key k with the input 1,
// "a@g:put" does so in the group g, "a!true" is ok with the output true, "a/" failed, and "a?" has an unknown outcome.
func told(t testing.TB, text string) []history.Operation {
	t.Helper()
	var events []history.Event
	open := map[string]history.Event{}
	for i, word := range strings.Fields(text) {
		e := history.Event{Number: uint64(i + 1), TimeNs: int64(i+1) * 1e6}
		if client, rest, ok := strings.Cut(word, ":"); ok && !strings.ContainsAny(client, "!/?") {
			e.Type = history.Invoke
			e.Client, e.Group, _ = strings.Cut(client, "@")
			rest, e.Input, _ = strings.Cut(rest, "=")
			e.Op, e.Key, _ = strings.Cut(rest, "/")
			open[e.Client] = e
		} else {
			at := strings.IndexAny(word, "!/?")
			e.Client, e.Output = word[:at], word[at+1:]
			e.Type = map[byte]history.Type{'!': history.Ok, '/': history.Fail, '?': history.Info}[word[at]]
			call := open[e.Client]
			e.Op, e.Key, e.Group = call.Op, call.Key, call.Group
		}
		events = append(events, e)
	}
	ops, err := history.Pair(events)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ops
}

// Of two violations that show at one event, the same one is reported every time.
func TestSameRefutationEveryTime(t *testing.T) {
	changes := `[{"key":"j","type":"put","value":"8","revision":5},{"key":"k","type":"put","value":"9","revision":6}]`
	watch := told(t, "a:put/k=1 a!4 w:watch/*=4 w! w:observe w!"+changes)
	swaps := exchange(t, "p:send=1 p! p:send=2 p! q:send=3 q! q:send=4 q! c:poll c![2,4,1,3] c:poll c!")
	first := [2]verdict.Verdict{judgeKind(world.Watch, "", watch), judgeDelivery(AtLeastOnce, PublisherOrder, swaps)}
	for range 50 {
		again := [2]verdict.Verdict{judgeKind(world.Watch, "", watch), judgeDelivery(AtLeastOnce, PublisherOrder, swaps)}
		for i := range first {
			if first[i].Status != verdict.Violated || again[i].Reason != first[i].Reason {
				t.Fatalf("%s %q, then %s %q", first[i].Status, first[i].Reason, again[i].Status, again[i].Reason)
			}
		}
	}
}

// Each anomaly is found, and what a correct system may do is not one.
func TestKindsOfSystems(t *testing.T) {
	for _, c := range []struct {
		kind              world.CheckType
		name, order, text string
		want              string // "holds", the code of a violation, or part of a reason
	}{
		{world.Exclusion, "one after the other", "", "a:lock/l a! a:unlock/l a! b:lock/l b!", "holds"},
		{world.Exclusion, "both", "", "a:lock/l a! b:lock/l b!", "exclusion/held-by-two"},
		{world.Exclusion, "both, of different locks", "", "a:lock/l a! b:lock/m b! b:lock/l b!false a:lock/m a!false", "could be"},
		{world.Exclusion, "while it is released", "", "a:lock/l a! b:lock/l a:unlock/l b! a!", "holds"},
		{world.Exclusion, "refused", "", "a:lock/l a! b:lock/l b!false a:unlock/l a! b:lock/l b!", "holds"},
		{world.Exclusion, "expired", "", "a:lock/l=2ms a! b:put/x b! b:lock/l b!", "holds"},
		{world.Exclusion, "not expired", "", "a:lock/l=20ms a! b:put/x b! b:lock/l b!", "exclusion/held-by-two"},
		{world.Exclusion, "renewed", "", "a:lock/l=3ms a! a:renew/l=20ms a! b:put/x b! b:lock/l b!", "exclusion/held-by-two"},
		{world.Exclusion, "of unknown outcome", "", "a:lock/l a? b:lock/l b! a.1:lock/l a.1!false c:lock/l c!false", "could be"},
		{world.Exclusion, "released, of unknown outcome", "", "a:lock/l a! a:unlock/l a? b:lock/l b!", "holds"},
		{world.Exclusion, "revoked", "", "a:lock/l=90ms a! a:renew/l=90ms a!false b:lock/l b!", "exclusion/revoked"},
		{world.Exclusion, "gone after it expired", "", "a:lock/l=3ms a! b:put/x b! a:renew/l=3ms a!false b:lock/l b!", "holds"},
		{world.Exclusion, "tokens", "", "a:lock/l=1ms a!1 b:lock/l=1ms b!2", "holds"},
		{world.Exclusion, "a lower token", "", "a:lock/l=1ms a!2 b:lock/l=1ms b!1", "exclusion/token"},
		{world.Exclusion, "the same token", "", "a:lock/l=1ms b:lock/l=1ms a!2 b!2", "exclusion/token"},
		{world.Exclusion, "a stale holder", "", "a:lock/l=1ms a!1 b:lock/l=1ms b!2 b:use/l=2 b! a:use/l=1 a!", "exclusion/stale-holder"},
		{world.Exclusion, "a stale holder is refused", "", "a:lock/l=1ms a!1 b:lock/l=1ms b!2 b:use/l=2 b! a:use/l=1 a/", "holds"},
		{world.Exclusion, "no duration", "", "a:lock/l=soon a! b:lock/l b!", "write a duration"},
		{world.Exclusion, "nothing", "", "a:put/x a!", "no lock was acquired"},

		{world.Unique, "different", "", "a:next a!1 b:next b!2", "holds"},
		{world.Unique, "twice", "", "a:next a!1 b:next b!1", "unique/twice"},
		{world.Unique, "twice at once", "", "a:next b:next a!x b!x", "unique/twice"},
		{world.Unique, "lower", IncreasingOrder, "a:next a!2 b:next b!1", "unique/not-increasing"},
		{world.Unique, "lower, which is allowed", "", "a:next a!2 b:next b!1", "holds"},
		{world.Unique, "lower at once", IncreasingOrder, "a:next b:next a!2 b!1", "holds"},
		{world.Unique, "one", "", "a:next a!2 b:next b?", "fewer than two"},
		{world.Unique, "another operation", "", "a:get a!2 b:get b!2", "no operation"},

		{world.Prefix, "all", "", "a:commit=1 a! a:commit=2 a! b:restore b![1,2]", "holds"},
		{world.Prefix, "some", "", "a:commit=1 a! a:commit=2 a! b:restore b![1]", "holds"},
		{world.Prefix, "none", "", "a:commit=1 a! b:restore b![]", "holds"},
		{world.Prefix, "a gap", "", "a:commit=1 a! a:commit=2 a! b:restore b![2]", "prefix/gap"},
		{world.Prefix, "at once", "", "a:commit=1 c:commit=2 a! c! b:restore b![2]", "holds"},
		{world.Prefix, "after a backup", "", "a:commit=1 a! b:backup b! b:restore b![]", "prefix/old"},
		{world.Prefix, "of an unknown backup", "", "a:commit=1 a! b:backup b? c:restore c![]", "holds"},
		{world.Prefix, "committed during the backup", "", "b:backup a:commit=1 a! b! b:restore b![]", "holds"},
		{world.Prefix, "invented", "", "a:commit=1 a! b:restore b![1,9]", "prefix/invented"},
		{world.Prefix, "failed", "", "a:commit=1 a/ a:commit=2 a! b:restore b![1]", "prefix/invented"},
		{world.Prefix, "of unknown outcome", "", "a:commit=1 a? c:commit=2 c! b:restore b![1,2]", "holds"},
		{world.Prefix, "twice", "", "a:commit=1 a! b:restore b![1,1]", "prefix/twice"},
		{world.Prefix, "unreadable", "", "a:commit=1 a! b:restore b!malformed", "prefix/unreadable"},
		{world.Prefix, "apart", "", "a:commit=1 c:commit=2 a! c! b:restore b![1] b:restore b![2]", "prefix/apart"},
		{world.Prefix, "order", TotalOrder, "a:commit=1 a! a:commit=2 a! b:restore b![2,1]", "prefix/order"},
		{world.Prefix, "nothing restored", "", "a:commit=1 a!", "nothing was restored"},
		{world.Prefix, "committed twice", "", "a:commit=1 a! a:commit=1 a! b:restore b![1]", "committed twice"},

		{world.Listing, "there", "", "a:put/k1=v a! b:list/k b![\"k1\"]", "holds"},
		{world.Listing, "missing", "", "a:put/k1=v a! b:list/k b![]", "listing/missing"},
		{world.Listing, "of another prefix", "", "a:put/k1=v a! a:put/m1=v a! b:list/k b![\"k1\"]", "holds"},
		{world.Listing, "while it is written", "", "a:put/k1=v a! c:put/k2=v b:list/k b![\"k1\"] c!", "holds"},
		{world.Listing, "while it is deleted", "", "a:put/k1=v a! c:delete/k1 b:list/k b![] c! b:list/k b![]", "no name was certainly there"},
		{world.Listing, "deleted", "", "a:put/k1=v a! a:delete/k1 a! b:list/k b![\"k1\"]", "listing/not-there"},
		{world.Listing, "of a failed write", "", "a:put/k1=v a/ b:list/k b![\"k1\"]", "listing/not-there"},
		{world.Listing, "of unknown outcome", "", "a:put/k1=v a? c:put/k2=v c! b:list/k b![\"k1\",\"k2\"]", "holds"},
		{world.Listing, "before it was written", "", "b:list/k b![\"k1\"] a:put/k1=v a!", "listing/not-there"},

		{world.Watch, "all", "", `a:put/k=1 a!5 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}] w:observe w![]`, "holds"},
		{world.Watch, "missed at the end", "", `a:put/k=1 a!5 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}]` +
			` a:put/k=2 a!6 w:observe w![]`, "watch/missed"},
		{world.Watch, "not looked", "", `a:put/k=1 a!5 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}]` +
			` a:put/k=2 a!6`, "observe until nothing comes"},
		{world.Watch, "passed over", "", `a:put/k=1 a!5 a:put/k=2 a!6 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"2","revision":6}]`,
			"watch/missed"},
		{world.Watch, "of another key", "", `a:put/j=1 a!5 a:put/k=2 a!6 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"2","revision":6}]` +
			` w:observe w![]`, "holds"},
		{world.Watch, "of a pattern", "", `a:put/k1=1 a!5 a:put/k2=2 a!6 w:watch/k*=5 w! w:observe w![{"key":"k2","type":"put","value":"2","revision":6}]`,
			"watch/missed"},
		{world.Watch, "from later on", "", `a:put/k=1 a!5 a:put/k=2 a!6 w:watch/k=6 w! w:observe w![{"key":"k","type":"put","value":"2","revision":6}]` +
			` w:observe w![]`, "holds"},
		{world.Watch, "too early", "", `a:put/k=1 a!5 w:watch/k=6 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}]`, "watch/too-early"},
		{world.Watch, "back", "", `a:put/k=1 a!5 a:put/k=2 a!6 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"2","revision":6},` +
			`{"key":"k","type":"put","value":"1","revision":5}]`, "watch/unordered"},
		{world.Watch, "twice", "", `a:put/k=1 a!5 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}]` +
			` w:observe w![{"key":"k","type":"put","value":"1","revision":5}]`, "watch/not-unique"},
		{world.Watch, "split", "", `w:watch/k*=5 w! a:put/k1=1 a!5 b:put/k2=2 b!5 w:observe w![{"key":"k1","type":"put","value":"1","revision":5}]` +
			` w:observe w![{"key":"k2","type":"put","value":"2","revision":5}]`, "watch/not-atomic"},
		{world.Watch, "invented", "", `w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}]`, "watch/invented"},
		{world.Watch, "failed", "", `a:put/k=1 a/ w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}]`, "watch/invented"},
		{world.Watch, "apart", "", `a:put/k=1 a? b:put/k=2 b? v:watch/k=5 v! v:observe v![{"key":"k","type":"put","value":"1","revision":5}]` +
			` w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"2","revision":5}]`, "watch/apart"},
		{world.Watch, "at two revisions", "", `a:put/k=1 a!5 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":6}]`, "watch/apart"},
		{world.Watch, "real time", "", `a:put/k=1 a!7 b:put/k=2 b!6 w:watch/k=6 w! w:observe w![{"key":"k","type":"put","value":"2","revision":6},` +
			`{"key":"k","type":"put","value":"1","revision":7}]`, "watch/real-time"},
		{world.Watch, "resumed", "", `a:put/k=1 a!5 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}] a:put/k=2 a!6` +
			` w:watch/k=6 w! w:observe w![{"key":"k","type":"put","value":"2","revision":6}] w:observe w![]`, "holds"},
		{world.Watch, "resumed under another name", "", `a:put/k=1 a!5 w:watch/k=5 w! w:observe w![{"key":"k","type":"put","value":"1","revision":5}] w:observe w?` +
			` a:put/k=2 a!6 w.1:watch/k=6 w.1! w.1:observe w.1![{"key":"k","type":"put","value":"2","revision":6}] w.1:observe w.1![]`, "holds"},
		{world.Watch, "nothing", "", `a:put/k=1 a!5`, "nothing was watched"},
	} {
		v := judgeKind(c.kind, c.order, told(t, c.text))
		got := string(v.Status)
		if v.Status == verdict.Violated {
			got = string(v.Cause.Code)
		}
		if got != c.want && !(v.Status == verdict.Unknown && strings.Contains(v.Reason, c.want)) {
			t.Errorf("%s, %s: %s (%s), want %s; evidence %q", c.kind, c.name, got, v.Reason, c.want, v.Evidence)
		}
		if v.Status == verdict.Violated && (len(v.Evidence) == 0 || v.Event == 0) {
			t.Errorf("%s, %s: no evidence: %+v", c.kind, c.name, v)
		}
	}
}

// randomOps is a random history of a few clients. choose makes an operation, and answer its output.
func randomOps(r *rand.Rand, clients []string, most int, choose func(client string) (op, key, input string),
	answer func(e *history.Event)) []history.Operation {
	open := map[string]history.Event{}
	names := map[string]string{}
	lives := map[string]int{}
	var events []history.Event
	add := func(e history.Event) {
		e.Number = uint64(len(events) + 1)
		e.TimeNs = int64(e.Number) * 1e6
		events = append(events, e)
	}
	for begun := 0; begun < most || len(open) > 0; {
		c := clients[r.IntN(len(clients))]
		if e, ok := open[c]; ok {
			delete(open, c)
			e.Type = history.Ok
			switch r.IntN(12) {
			case 0:
				e.Type = history.Info
				lives[c]++
				names[c] = fmt.Sprintf("%s.%d", c, lives[c])
			case 1:
				e.Type = history.Fail
			default:
				answer(&e)
			}
			add(e)
			continue
		}
		if begun >= most {
			continue
		}
		begun++
		if names[c] == "" {
			names[c] = c
		}
		e := history.Event{Client: names[c], Type: history.Invoke}
		e.Op, e.Key, e.Input = choose(c)
		open[c] = e
		add(e)
	}
	ops, err := history.Pair(events)
	if err != nil {
		panic(err)
	}
	return ops
}

// agree compares a check with its twin on random histories.
func agree(t *testing.T, kind world.CheckType, order string, random func(*rand.Rand) []history.Operation, legal func([]history.Operation) bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, uint64(len(kind))))
	count := map[bool]int{}
	for i := range rounds() {
		ops := random(r)
		v, want := judgeKind(kind, order, ops), legal(ops)
		count[want]++
		if (v.Status == verdict.Violated) == !want {
			continue
		}
		var lines []string
		for _, o := range ops {
			lines = append(lines, fmt.Sprintf("%d..%d %s %s/%s %s -> %s %s", o.Call, int64(o.Return), o.Client, o.Op, o.Key, o.Input, o.Type, o.Output))
		}
		t.Fatalf("%s, round %d: the check says %s (%s), the twin legal=%v\n%s", kind, i, v.Status, v.Reason, want, strings.Join(lines, "\n"))
	}
	if count[true] < rounds()/20 || count[false] < rounds()/20 {
		t.Errorf("%s: %v", kind, count)
	}
}

// The slow twin of exclusion looks at each moment who holds the lock.
func TestExclusionAgreesWithTheSlowTwin(t *testing.T) {
	agree(t, world.Exclusion, "", func(r *rand.Rand) []history.Operation {
		return randomOps(r, []string{"a", "b", "c"}, 3+r.IntN(6), func(string) (string, string, string) {
			lease := []string{"", "1ms", "2ms", "4ms", "9ms"}[r.IntN(5)]
			switch r.IntN(5) {
			case 0, 1:
				return "acquire", "l", lease
			case 2:
				return "renew", "l", lease
			default:
				return "release", "l", ""
			}
		}, func(e *history.Event) {
			if e.Op != "release" && r.IntN(2) == 0 {
				e.Output = "false"
			}
		})
	}, func(ops []history.Operation) bool {
		holds := func(who string, at int64) bool {
			for _, o := range ops {
				if holder(o.Client) != who || o.Type != history.Ok || o.Output == "false" || o.Op == "release" || o.ReturnTimeNs > at {
					continue
				}
				if lease, err := time.ParseDuration(o.Input); err == nil && at >= o.CallTimeNs+lease.Nanoseconds() {
					continue
				}
				given := false
				for _, x := range ops {
					given = given || holder(x.Client) == who && x.Op != "renew" && x.CallTimeNs > o.CallTimeNs && x.CallTimeNs <= at
				}
				if !given {
					return true
				}
			}
			return false
		}
		for at := int64(0); at < 60e6; at += 5e5 {
			holders := 0
			for _, who := range []string{"a", "b", "c"} {
				if holds(who, at) {
					holders++
				}
			}
			if holders > 1 {
				return false
			}
		}
		for _, o := range ops { // a lease that is kept is not revoked
			if o.Op == "renew" && o.Type == history.Ok && o.Output == "false" && keptThroughout(ops, o) {
				return false
			}
		}
		return true
	})
}

// keptThroughout reports whether one answer lets a client hold the lock during a renewal.
func keptThroughout(ops []history.Operation, renewal history.Operation) bool {
	for _, o := range ops {
		if holder(o.Client) != holder(renewal.Client) || o.Type != history.Ok || o.Output == "false" || o.Op == "release" || o.Return > renewal.Call {
			continue
		}
		if lease, err := time.ParseDuration(o.Input); err == nil && renewal.ReturnTimeNs >= o.CallTimeNs+lease.Nanoseconds() {
			continue
		}
		given := false
		for _, x := range ops {
			given = given || holder(x.Client) == holder(o.Client) && x.Op != "renew" && x.Call > o.Call && x.Call < renewal.Return
		}
		if !given {
			return true
		}
	}
	return false
}

func TestUniqueAgreesWithTheSlowTwin(t *testing.T) {
	for _, order := range []string{"", IncreasingOrder} {
		next := 0
		agree(t, world.Unique, order, func(r *rand.Rand) []history.Operation {
			next = 0
			return randomOps(r, []string{"a", "b", "c"}, 2+r.IntN(6), func(string) (string, string, string) { return "next", "k", "" },
				func(e *history.Event) {
					next++
					e.Output = strconv.Itoa(next + r.IntN(6)/5*(r.IntN(5)-2))
				})
		}, func(ops []history.Operation) bool {
			for i, x := range ops {
				for _, y := range ops[i+1:] {
					if x.Type != history.Ok || y.Type != history.Ok {
						continue
					}
					a, _ := strconv.Atoi(x.Output)
					b, _ := strconv.Atoi(y.Output)
					if a == b || order != "" && (x.Return < y.Call && a > b || y.Return < x.Call && b > a) {
						return false
					}
				}
			}
			return true
		})
	}
}

// The slow twin of prefix tries all orders of the commits.
func TestPrefixAgreesWithTheSlowTwin(t *testing.T) {
	for _, order := range []string{"", TotalOrder} {
		var sent []string
		agree(t, world.Prefix, order, func(r *rand.Rand) []history.Operation {
			sent = nil
			return randomOps(r, []string{"a", "b", "c"}, 3+r.IntN(5), func(string) (string, string, string) {
				switch r.IntN(5) {
				case 0, 1:
					sent = append(sent, strconv.Itoa(len(sent)))
					return "commit", "d", sent[len(sent)-1]
				case 2:
					return "backup", "d", ""
				}
				return "restore", "d", ""
			}, func(e *history.Event) {
				if e.Op != "restore" {
					return
				}
				list := slices.Clone(sent[:r.IntN(len(sent)+1)])
				if len(list) > 1 && r.IntN(6) == 0 {
					i := r.IntN(len(list) - 1)
					list[i], list[i+1] = list[i+1], list[i]
				}
				if len(list) > 0 && r.IntN(8) == 0 {
					list = slices.Delete(list, 0, 1)
				}
				text, _ := json.Marshal(append([]string{}, list...))
				e.Output = string(text)
			})
		}, func(ops []history.Operation) bool { return orderOfCommits(ops, order == TotalOrder, nil) })
	}
}

// orderOfCommits reports whether an order of the commits that goes on from some of them explains all copies.
func orderOfCommits(ops []history.Operation, ordered bool, chosen []history.Operation) bool {
	if explains(ops, ordered, chosen) {
		return true
	}
	for _, c := range ops {
		if c.Op != "commit" || c.Type == history.Fail || slices.ContainsFunc(chosen, func(x history.Operation) bool { return x.Call == c.Call }) {
			continue
		}
		if slices.ContainsFunc(chosen, func(x history.Operation) bool { return c.Return < x.Call }) {
			continue // it was done before one that is earlier in the order
		}
		if orderOfCommits(ops, ordered, append(slices.Clone(chosen), c)) {
			return true
		}
	}
	return false
}

// explains reports whether each copy is a prefix of an order that has all acknowledged commits.
func explains(ops []history.Operation, ordered bool, chosen []history.Operation) bool {
	for _, c := range ops {
		if c.Op == "commit" && c.Type == history.Ok && !slices.ContainsFunc(chosen, func(x history.Operation) bool { return x.Call == c.Call }) {
			return false
		}
	}
	for _, r := range ops {
		if r.Op != "restore" || r.Type != history.Ok {
			continue
		}
		values := received(&r, receiveBatch)
		if len(values) > len(chosen) {
			return false
		}
		for i, x := range chosen[:len(values)] {
			if x.Call > r.Return || ordered && values[i] != x.Input || !slices.Contains(values, x.Input) {
				return false
			}
		}
		for _, b := range ops { // what a confirmed backup has is in it
			if b.Op != "backup" || b.Type != history.Ok || b.Return > r.Call {
				continue
			}
			for _, c := range chosen[len(values):] {
				if c.Type == history.Ok && c.Return < b.Call {
					return false
				}
			}
		}
	}
	return true
}

// The slow twin of listing tries all orders of the writes of each name, and all moments of each list.
func TestListingAgreesWithTheSlowTwin(t *testing.T) {
	agree(t, world.Listing, "", func(r *rand.Rand) []history.Operation {
		return randomOps(r, []string{"a", "b", "c"}, 3+r.IntN(5), func(string) (string, string, string) {
			key := []string{"k1", "k2"}[r.IntN(2)]
			switch r.IntN(5) {
			case 0, 1:
				return "put", key, "v"
			case 2:
				return "delete", key, ""
			}
			return "list", "k", ""
		}, func(e *history.Event) {
			if e.Op == "list" {
				e.Output = []string{`[]`, `["k1"]`, `["k2"]`, `["k1","k2"]`}[r.IntN(4)]
			}
		})
	}, func(ops []history.Operation) bool {
		for _, l := range ops {
			if l.Op != "list" || l.Type != history.Ok {
				continue
			}
			for _, name := range []string{"k1", "k2"} {
				var writes []history.Operation
				for _, o := range ops {
					if o.Key == name && o.Type != history.Fail {
						writes = append(writes, o)
					}
				}
				if !mayBe(writes, l, slices.Contains(received(&l, receiveBatch), name), false, nil) {
					return false
				}
			}
		}
		return true
	})
}

// mayBe reports whether a name can have been there, or not, at a moment of a list: whether the list has a place in an order of
// the writes.
func mayBe(left []history.Operation, l history.Operation, want, now bool, done []history.Operation) bool {
	fits := now == want
	for _, w := range left {
		fits = fits && w.Return > l.Call // what had returned before the list is before it
	}
	for _, w := range done {
		fits = fits && w.Call < l.Return
	}
	if fits {
		return true
	}
	for i, w := range left {
		after := append(slices.Clone(left[:i]), left[i+1:]...)
		if !slices.ContainsFunc(after, func(x history.Operation) bool { return x.Return < w.Call }) &&
			mayBe(after, l, want, w.Op == "put", append(slices.Clone(done), w)) {
			return true
		}
	}
	return false
}

// The slow twin of watch tries all logs: a revision for each write, or none for one that was not acknowledged.
func TestWatchAgreesWithTheSlowTwin(t *testing.T) {
	agree(t, world.Watch, "", randomWatches, func(ops []history.Operation) bool {
		watches := map[string]bool{}
		for _, o := range ops {
			watches[o.Client] = watches[o.Client] || o.Op == "watch" && o.Type != history.Fail
			if o.Op == "observe" && o.Type != history.Fail && !watches[o.Client] {
				return true // nothing is judged
			}
		}
		var writes []history.Operation
		for _, o := range ops {
			if o.Op == "put" && o.Type != history.Fail {
				writes = append(writes, o)
			}
		}
		return aLogExplains(ops, writes, nil)
	})
}

// randomWatches is a history of a store that applies writes when they are called or when they return, and of watches that make mistakes now
// and then.
func randomWatches(r *rand.Rand) []history.Operation {
	var log []change
	revision, written := int64(5), 0
	next := map[string]int64{} // by watcher
	apply := func(key, value string) int64 {
		c := change{key, "put", value, revision}
		log = append(log, c)
		if r.IntN(8) > 0 {
			revision++
		}
		return c.Revision
	}
	at := func(value string) (int64, bool) {
		for _, c := range log {
			if c.Value == value {
				return c.Revision, true
			}
		}
		return 0, false
	}
	return randomOps(r, []string{"a", "b", "v", "w"}, 4+r.IntN(7), func(client string) (string, string, string) {
		if client == "a" || client == "b" {
			written++
			key, value := []string{"k1", "k2"}[r.IntN(2)], strconv.Itoa(written)
			if r.IntN(3) == 0 {
				apply(key, value)
			}
			return "put", key, value
		}
		if next[client] == 0 || r.IntN(5) == 0 {
			next[client] = 5 + int64(r.IntN(3))
			return "watch", []string{"k1", "k*"}[r.IntN(2)], strconv.FormatInt(next[client], 10)
		}
		return "observe", "", ""
	}, func(e *history.Event) {
		switch e.Op {
		case "put":
			done, ok := at(e.Input)
			if !ok {
				done = apply(e.Key, e.Input)
			}
			if r.IntN(25) == 0 {
				done += int64(r.IntN(3)) - 1
			}
			e.Output = strconv.FormatInt(done, 10)
		case "observe":
			who := holder(e.Client)
			list := []change{}
			for _, c := range log {
				if c.Revision >= next[who] && r.IntN(12) > 0 {
					list = append(list, c)
				}
			}
			if len(list) > 1 && r.IntN(10) == 0 {
				list = list[:len(list)-1]
			}
			if len(list) > 0 && r.IntN(15) > 0 {
				next[who] = list[len(list)-1].Revision + 1
			}
			text, _ := json.Marshal(list)
			e.Output = string(text)
		}
	})
}

// aLogExplains reports whether the changes of some writes, and of the others, make a log that explains all watches.
func aLogExplains(ops, left []history.Operation, log []change) bool {
	if len(left) == 0 {
		return logExplains(ops, log)
	}
	o := left[0]
	if o.Type == history.Ok {
		revision, _ := strconv.ParseInt(o.Output, 10, 64)
		return aLogExplains(ops, left[1:], append(slices.Clone(log), change{o.Key, "put", o.Input, revision}))
	}
	if aLogExplains(ops, left[1:], log) {
		return true
	}
	for revision := int64(3); revision < 20; revision++ {
		c := change{o.Key, "put", o.Input, revision}
		seen := slices.ContainsFunc(ops, func(x history.Operation) bool {
			return x.Op == "observe" && strings.Contains(x.Output, fmt.Sprintf(`"value":%q`, o.Input))
		})
		if seen && aLogExplains(ops, left[1:], append(slices.Clone(log), c)) {
			return true
		}
	}
	return false
}

func logExplains(ops []history.Operation, log []change) bool {
	writeOf := func(value string) *history.Operation {
		for i := range ops {
			if ops[i].Op == "put" && ops[i].Input == value && ops[i].Type != history.Fail {
				return &ops[i]
			}
		}
		return nil
	}
	doneAt := map[string]uint64{} // by value, the earliest event at which a write is known to be done
	for _, c := range log {
		doneAt[c.Value] = history.Pending
		if o := writeOf(c.Value); o.Type == history.Ok {
			doneAt[c.Value] = o.Return
		}
	}
	type session struct {
		start   *history.Operation
		seen    []change
		split   bool
		last    *history.Operation
		invalid bool
	}
	sessions := map[string]*session{}
	all := []*session{}
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Op == "watch" && o.Type != history.Fail:
			s := &session{start: o}
			sessions[o.Client] = s
			all = append(all, s)
		case o.Op == "observe" && o.Type == history.Ok:
			s := sessions[o.Client]
			var list []change
			if json.Unmarshal([]byte(o.Output), &list) != nil {
				return false
			}
			for k, c := range list {
				if !slices.Contains(log, c) || writeOf(c.Value).Call > o.Return {
					return false
				}
				if k == 0 && len(s.seen) > 0 && s.seen[len(s.seen)-1].Revision == c.Revision {
					return false // split
				}
				doneAt[c.Value] = min(doneAt[c.Value], o.Return)
			}
			s.seen = append(s.seen, list...)
			s.last = nil
			if len(list) == 0 {
				s.last = o
			}
		}
	}
	for i, x := range log {
		for k, y := range log {
			if i != k && (x.Key == y.Key && x.Revision == y.Revision || doneAt[x.Value] < writeOf(y.Value).Call && x.Revision >= y.Revision) {
				return false
			}
		}
	}
	for _, s := range all {
		from, _ := strconv.ParseInt(s.start.Input, 10, 64)
		covers := func(c change) bool { return KeyMatches([]string{s.start.Key}, c.Key) && c.Revision >= from }
		for i, c := range s.seen {
			if c.Revision < from || i > 0 && c.Revision < s.seen[i-1].Revision || slices.Contains(s.seen[:i], c) {
				return false
			}
		}
		for _, c := range log {
			if !covers(c) || slices.Contains(s.seen, c) {
				continue
			}
			o := writeOf(c.Value)
			if len(s.seen) > 0 && c.Revision <= s.seen[len(s.seen)-1].Revision {
				return false
			}
			if s.last != nil && s.start.Type == history.Ok && o.Type == history.Ok && o.Return < s.last.Call {
				return false
			}
		}
	}
	return true
}
