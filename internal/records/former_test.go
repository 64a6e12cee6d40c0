package records

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// formerEntry is a record of a failure as versions wrote it whose signatures were words.
func formerEntry(test ID, property, reason, signature string, run uint64) store.Entry {
	value, err := json.Marshal(map[string]any{"signature": signature, "property": property, "reason": reason, "level": Raw, "decisions": 3,
		"tape": "seed 7", "run": run, "file": store.DigestOf([]byte(reason)), "worker": "w", "code": "c", "env": "e", "at_ms": run})
	if err != nil {
		panic(err)
	}
	return store.Entry{Key: key(kindFailure, test, idOf("failure", signature)), Value: value}
}

// The same bug in a database of an earlier version and found again now is one failure: with the notes, replays and requests of then, whatever comes
// first. What no longer says what it was stays by itself, and is found by its old id.
func TestFormerFailures(t *testing.T) {
	test := TestID("kv")
	const words = "p: not linearizable: a get by client # found nothing, although the key was there"
	old := idOf("failure", words)
	now := Failure{Failure: failure.New("kv", "r", "p", failure.Signature("p", failure.Cause{Code: failure.MissingKey, Fields: []string{"get", "#"}}),
		"reworded since"), Reason: "reworded since", Level: Raw, AtMs: 50}
	const lost = "p: what no build says any more, at #"
	list := []store.Entry{
		formerEntry(test, "p", "not linearizable: a get by client http/c4 found nothing, although the key was there", words, 1),
		formerEntry(test, "p", "not linearizable: a get by client http/c7 found nothing, although the key was there", words, 2),
		(&Note{By: "ana", State: Acknowledged, AtMs: 3}).Entry(test, old),
		(&Replay{Code: "c", Env: "e", Result: Reproduced, AtMs: 4}).Entry(test, old),
		now.Entry(test),
		(&Replay{Code: "d", Env: "e", Result: Clean, AtMs: 60}).Entry(test, ID(now.ID)),
		(&Note{By: "ben", Text: "the same", AtMs: 70}).Entry(test, ID(now.ID)),
		formerEntry(test, "p", "what no build says any more, at 7", lost, 5),
		(&Note{By: "eve", Text: "alone", AtMs: 6}).Entry(test, idOf("failure", lost)),
	}
	for seed := range uint64(50) {
		v := NewView()
		r := rand.New(rand.NewPCG(seed, 1))
		for _, i := range r.Perm(len(list)) {
			v.AddEntry(list[i])
		}
		tv := v.Tests[test]
		if len(tv.Failures) != 2 {
			t.Fatalf("order %d: %d failures", seed, len(tv.Failures))
		}
		f := tv.Failures[ID(now.ID)]
		if f == nil || len(f.Files) != 3 || len(f.Notes) != 2 || len(f.Replays) != 2 || f.State() != Acknowledged || f.Signature != now.Signature {
			t.Fatalf("order %d: %+v", seed, f)
		}
		for _, name := range []string{now.ID, now.ID[:5], string(old), string(old)[:6], now.ID + "00"} {
			if got := tv.Named(name); !slices.Equal(got, []*FailureView{f}) {
				t.Errorf("%s means %v", name, got)
			}
		}
		if tv.Known(old) != ID(now.ID) {
			t.Errorf("the old id is %s now", tv.Known(old))
		}
		alone := tv.Named(string(idOf("failure", lost)))
		if len(alone) != 1 || alone[0].Signature != lost || len(alone[0].Notes) != 1 || len(alone[0].ID) != failure.Digits {
			t.Errorf("what is not known any more: %+v", alone)
		}
	}
}

// Where what varies had hidden a name, records of one old id are of two failures now. What was said of the old id is then in one place, whatever comes first.
func TestFormerFailureOfTwo(t *testing.T) {
	test := TestID("kv")
	const words = "m: step #, #, is not one of the model: x = # is false (M, line #, column #)"
	old := idOf("failure", words)
	list := []store.Entry{
		formerEntry(test, "m", "step 3, Put(k1, 2), is not one of the model: x = 1 is false (M, line 3, column 4)", words, 1),
		formerEntry(test, "m", "step 9, Get(k1, 2), is not one of the model: x = 1 is false (M, line 3, column 4)", words, 2),
		(&Note{By: "ana", AtMs: 3}).Entry(test, old),
		(&Note{By: "ben", AtMs: 4}).Entry(test, old),
	}
	var want ID
	for seed := range uint64(50) {
		v := NewView()
		for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(len(list)) {
			v.AddEntry(list[i])
		}
		tv := v.Tests[test]
		if want == "" {
			want = tv.Known(old)
		}
		notes := 0
		for _, f := range tv.Failures {
			notes += len(f.Notes)
		}
		if len(tv.Failures) != 2 || notes != 2 || tv.Known(old) != want || len(tv.Failures[want].Notes) != 2 {
			t.Fatalf("order %d: %d failures, %d notes, the old id is %s and not %s", seed, len(tv.Failures), notes, tv.Known(old), want)
		}
	}
}
