package histories

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func workloadVerdict(t *testing.T, model, edn string, limits WorkloadLimits) verdict.Verdict {
	t.Helper()
	var events []history.Event
	if err := formats.ReadEDN(strings.NewReader(edn), false, func(e *history.Event) error {
		events = append(events, *e)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return Paired(&world.Property{Name: model, Check: world.Check{Type: world.Isolation, Subject: world.Subject{Model: model}}}, events,
		func(p *world.Property, ops []history.Operation) verdict.Verdict { return Workload(p, limits, ops) })
}

func TestWorkloads(t *testing.T) {
	// reads are reads that succeeded, one after the other.
	reads := func(values ...string) string {
		var b strings.Builder
		for _, v := range values {
			fmt.Fprintf(&b, "{:type :invoke :f :read :process 0} {:type :ok :f :read :process 0 :value %s}\n", v)
		}
		return b.String()
	}
	did := func(f, value string) string {
		return fmt.Sprintf("{:type :invoke :f %s :process 9 :value %s} {:type :ok :f %s :process 9 :value %s}\n", f, value, f, value)
	}
	for _, c := range []struct {
		model, edn string
		limits     WorkloadLimits
		want       verdict.Status
		reason     string
	}{
		{Bank, reads("{0 10, 1 0}", "{1 4, 0 6}"), WorkloadLimits{}, verdict.Holds, ""},
		{Bank, reads("{0 10, 1 0}", "{1 5, 0 6}"), WorkloadLimits{}, verdict.Violated, "add up to 11, not to 10"},
		{Bank, reads("{0 10}"), WorkloadLimits{Total: big.NewInt(9)}, verdict.Violated, "add up to 10, not to 9"},
		{Bank, reads("{0 10}"), WorkloadLimits{Negative: true}, verdict.Unknown, "no read"},
		{Bank, reads("{0 10}"), WorkloadLimits{}, verdict.Unknown, "no read"},
		{Bank, reads("{0 10}"), WorkloadLimits{Total: big.NewInt(10)}, verdict.Holds, ""},
		{Bank, reads("{0 10, 1 0}", "{0 11, 1 -1}"), WorkloadLimits{}, verdict.Violated, "below zero"},
		{Bank, reads("{0 10, 1 0}", "{0 11, 1 -1}"), WorkloadLimits{Negative: true}, verdict.Holds, ""},
		{Bank, reads("{0 10, 1 0}", "{0 10}"), WorkloadLimits{}, verdict.Violated, "accounts"},
		{Bank, reads("{0 10, 1 nil}"), WorkloadLimits{}, verdict.Violated, "no balance"},
		{Bank, reads("{0 10}", "[10]"), WorkloadLimits{}, verdict.Unknown, "not a map"},
		{Bank, reads("{0 10}", "{0 1.5}"), WorkloadLimits{}, verdict.Unknown, "not an integer"},
		{Bank, reads("{0 10}", "nil"), WorkloadLimits{}, verdict.Unknown, "not a map"},
		{Bank, did(":transfer", "{:from 0 :to 1 :amount 1}"), WorkloadLimits{}, verdict.Unknown, "no read"},
		{LongFork, reads("[[:r 0 1] [:r 1 nil]]", "[[:r 1 1] [:r 0 1]]"), WorkloadLimits{}, verdict.Holds, ""},
		{LongFork, reads("[[:r 0 1] [:r 1 nil]]", "[[:r 1 1] [:r 0 nil]]"), WorkloadLimits{}, verdict.Violated, "long fork"},
		{LongFork, reads("[[:r 0 1] [:r 1 nil]]", "[[:r 1 1] [:r 2 nil]]"), WorkloadLimits{}, verdict.Unknown, "no read"},
		{LongFork, reads("[[:r 0 1] [:r 1 nil]]"), WorkloadLimits{GroupSize: 3}, verdict.Unknown, "--group-size"},
		{LongFork, reads("[[:r 0 1]]", "[[:r 0 2]]"), WorkloadLimits{}, verdict.Unknown, "two values"},
		{LongFork, did(":write", "[[:w 0 1]]") + did(":write", "[[:w 0 2]]"), WorkloadLimits{}, verdict.Unknown, "written twice"},
		{LongFork, did(":write", "[[:w 0 1]]") + reads("[[:r 0 3]]", "[[:r 0 3]]"), WorkloadLimits{}, verdict.Unknown, "was written"},
		{LongFork, reads("7"), WorkloadLimits{}, verdict.Unknown, "not a list of accesses"},
		{SetFull, did(":add", "1") + reads("[1]"), WorkloadLimits{}, verdict.Holds, ""},
		{SetFull, did(":add", "1") + reads("[]", "[1]"), WorkloadLimits{}, verdict.Holds, ""},
		{SetFull, did(":add", "1") + reads("[1]", "[]"), WorkloadLimits{}, verdict.Violated, "lost"},
		{SetFull, did(":add", "1") + reads("[]"), WorkloadLimits{}, verdict.Violated, "lost"},
		{SetFull, did(":add", "1") + reads("[1 1]"), WorkloadLimits{}, verdict.Violated, "twice"},
		{SetFull, did(":add", "1") + reads("[1 9]"), WorkloadLimits{}, verdict.Violated, "never added"},
		{SetFull, did(":add", "1") + reads("[1 2]") + did(":add", "2"), WorkloadLimits{}, verdict.Violated, "never added"},
		{SetFull, did(":add", "1") + "{:type :invoke :f :add :process 8 :value 2} {:type :fail :f :add :process 8 :value 2}" +
			reads("[1 2]"), WorkloadLimits{}, verdict.Violated, "never added"},
		{SetFull, did(":add", "1") + "{:type :invoke :f :add :process 8 :value 2} {:type :info :f :add :process 8 :value 2}" +
			reads("[1]", "[1 2]"), WorkloadLimits{}, verdict.Holds, ""},
		{SetFull, did(":add", "1"), WorkloadLimits{}, verdict.Unknown, "no read"},
		{SetFull, did(":add", "1") + reads("{:a 1}"), WorkloadLimits{}, verdict.Unknown, "not a list"},
		{Comments, did(":write", "1") + did(":write", "2") + reads("#{1}", "#{1 2}"), WorkloadLimits{}, verdict.Holds, ""},
		{Comments, did(":write", "1") + did(":write", "2") + reads("#{2}"), WorkloadLimits{}, verdict.Violated, "2, but not 1"},
		{Comments, did(":write", "1") + did(":write", "1"), WorkloadLimits{}, verdict.Unknown, "twice"},
		{Sequential, reads("[7 [nil nil]]", "[7 [nil 1]]", "[7 [2 1]]"), WorkloadLimits{}, verdict.Holds, ""},
		{Sequential, reads("[7 [2 nil]]"), WorkloadLimits{}, verdict.Violated, "before it"},
		{Sequential, reads("[7 [nil nil]]"), WorkloadLimits{}, verdict.Unknown, "no read"},
		{Sequential, reads("7"), WorkloadLimits{}, verdict.Unknown, "not a pair"},
	} {
		v := workloadVerdict(t, c.model, c.edn, c.limits)
		if v.Status != c.want || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%s: %s, %s; want %s, %s\n%s", c.model, v.Status, v.Reason, c.want, c.reason, c.edn)
		}
	}
}

// An account that a read has twice has no balance that could be believed.
func TestBankWithAnAccountTwice(t *testing.T) {
	read := history.Operation{Type: history.Ok, Op: "read", Output: `{"0":4,"0":10}`}
	if w := bank([]history.Operation{read}, WorkloadLimits{Total: big.NewInt(10)}); !strings.Contains(w.open, `"0" stands twice`) {
		t.Errorf("%+v", w)
	}
}

// TestLongForkAgreesWithTheSlowTwin: a fork is two reads of the same keys of which neither saw all that the other one did.
func TestLongForkAgreesWithTheSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	count := map[bool]int{}
	for range 3000 {
		var events []history.Event
		var all [][]bool
		seen := make([]bool, 4)
		for range 2 + r.IntN(6) {
			if r.IntN(3) > 0 {
				seen[r.IntN(len(seen))] = true
			}
			got := slices.Clone(seen)
			if k := r.IntN(len(got)); r.IntN(8) == 0 {
				got[k] = !got[k]
			}
			all = append(all, got)
			var rows [][]any
			for k, there := range got {
				rows = append(rows, []any{"r", k, map[bool]any{true: 1}[there]})
			}
			text, _ := json.Marshal(rows)
			n := uint64(len(events))
			events = append(events, history.Event{Number: n, Client: "a", Type: history.Invoke, Op: "read"},
				history.Event{Number: n + 1, Client: "a", Type: history.Ok, Op: "read", Output: string(text)})
		}
		fork := false
		for _, x := range all {
			for _, y := range all {
				more, less := false, false
				for k := range x {
					more, less = more || x[k] && !y[k], less || y[k] && !x[k]
				}
				fork = fork || more && less
			}
		}
		v := Paired(&world.Property{Check: world.Check{Subject: world.Subject{Model: LongFork}}}, events,
			func(p *world.Property, ops []history.Operation) verdict.Verdict {
				return Workload(p, WorkloadLimits{}, ops)
			})
		if (v.Status == verdict.Violated) != fork {
			t.Fatalf("%s, want a fork: %v of %v", v.Status, fork, all)
		}
		count[fork]++
	}
	if count[true] < 300 || count[false] < 300 {
		t.Error(count)
	}
}
