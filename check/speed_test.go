package check

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/history"
)

// legalHistory is what clients saw of a correct map: each operation takes effect somewhere between invoke and
// completion, and some outcomes stay unknown.
func legalHistory(count, clients, keys int, infoPPM uint64) []history.Event {
	r := rand.New(rand.NewPCG(9, 9))
	type flight struct {
		e    history.Event
		done bool
	}
	flights := make([]*flight, clients)
	generation := make([]int, clients)
	store := map[string]string{}
	var out []history.Event
	for started := 0; started < count; {
		c := r.IntN(clients)
		f := flights[c]
		switch {
		case f == nil:
			f = &flight{e: history.Event{Client: fmt.Sprintf("c%d.%d", c, generation[c]), Type: history.Invoke, Op: "get", Key: fmt.Sprint(r.IntN(keys))}}
			if r.IntN(2) == 0 {
				f.e.Op, f.e.Input = "put", fmt.Sprint(started)
			}
			started++
			flights[c] = f
		case !f.done:
			f.done = true
			if f.e.Op == "put" {
				store[f.e.Key] = f.e.Input
			} else {
				f.e.Output, f.e.Found = store[f.e.Key], store[f.e.Key] != ""
			}
			continue
		default:
			f.e.Type = history.Ok
			if r.Uint64N(1_000_000) < infoPPM {
				f.e.Type, f.e.Output, f.e.Found = history.Info, "", false
				generation[c]++
			}
			flights[c] = nil
		}
		f.e.Number = uint64(len(out) + 1)
		out = append(out, f.e)
	}
	return out
}

// TestLongHistories are of the size that five virtual minutes at 100 operations a second give.
func TestLongHistories(t *testing.T) {
	for _, infoPPM := range []uint64{0, 20_000} {
		events := legalHistory(30_000, 20, 10, infoPPM)
		if v := linearizable(property("put", "get"), events); v.Status != engine.Holds {
			t.Errorf("%d ppm info: %s %s", infoPPM, v.Status, v.Reason)
		}
		// One acknowledged write of the last ones gets lost.
		for i := len(events) - 1; ; i-- {
			if e := &events[i]; e.Op == "get" && e.Type == history.Ok && e.Found {
				e.Output = "1"
				break
			}
		}
		if v := linearizable(property("put", "get"), events); v.Status != engine.Violated {
			t.Errorf("%d ppm info: %s %s", infoPPM, v.Status, v.Reason)
		}
	}
}

func BenchmarkLinearizability(b *testing.B) {
	events := legalHistory(30_000, 20, 10, 5_000)
	for b.Loop() {
		linearizable(property("put", "get"), events)
	}
}
