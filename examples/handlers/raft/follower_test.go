package follower

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live"
)

// budget is how long a search takes: a few seconds, or what bench/live says.
func budget() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("HANDLER_TIME")); err == nil {
		return d
	}
	return 10 * time.Second
}

// tried are the inputs of a search, for TestReplay, which measures what they cover.
var tried []Input

func TestStep(t *testing.T) {
	if name := os.Getenv("HANDLER_INPUTS"); name != "" {
		t.Cleanup(func() {
			data, err := json.Marshal(tried)
			if err == nil {
				err = os.WriteFile(name, data, 0o666)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	live.Explore(t, live.Handler{Time: budget(), Paths: 1 << 30, Run: func() {
		in := Example
		live.Symbolic("type", &in.Type)
		live.Symbolic("from", &in.From)
		live.Symbolic("term", &in.Term)
		live.Symbolic("logterm", &in.LogTerm)
		live.Symbolic("index", &in.Index)
		live.Symbolic("commit", &in.Commit)
		live.Symbolic("entry", &in.Entry)
		live.Symbolic("entryterm", &in.EntryTerm)
		tried = append(tried, in)
		live.Check("commits only what the leader confirmed", Step(&in))
	}})
}

// TestReplay gives the handler the inputs of a search.
func TestReplay(t *testing.T) {
	data, err := os.ReadFile(os.Getenv("HANDLER_INPUTS"))
	if err != nil || json.Unmarshal(data, &tried) != nil {
		t.Skip("bench/live runs this")
	}
	for i := range tried {
		Step(&tried[i])
	}
}

// The same by random inputs, each of which has some fields of the example, for as long.
func TestRandom(t *testing.T) {
	if os.Getenv("HANDLER_TIME") == "" {
		t.Skip("bench/live runs this")
	}
	r := rand.New(rand.NewPCG(1, 2))
	begun, tries := time.Now(), 0
	for time.Since(begun) < budget() {
		in := Example
		for _, p := range []*uint64{&in.Type, &in.From, &in.Term, &in.LogTerm, &in.Index, &in.Commit, &in.EntryTerm} {
			switch r.IntN(3) {
			case 0:
				*p = r.Uint64() >> r.IntN(64)
			case 1:
				*p = r.Uint64N(32)
			}
		}
		in.Entry = r.IntN(2) == 0
		tries++
		if !Step(&in) {
			t.Fatalf("found: %+v after %d tries and %.1f s", in, tries, time.Since(begun).Seconds())
		}
	}
	t.Logf("not found in %d tries", tries)
}

func FuzzStep(f *testing.F) {
	f.Add(Example.Type, Example.From, Example.Term, Example.LogTerm, Example.Index, Example.Commit, Example.Entry, Example.EntryTerm)
	f.Fuzz(func(t *testing.T, typ, from, term, logTerm, index, commit uint64, entry bool, entryTerm uint64) {
		if !Step(&Input{typ, from, term, logTerm, index, commit, entry, entryTerm}) {
			t.Fatal("commits more than the leader confirmed")
		}
	})
}
