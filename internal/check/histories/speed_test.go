package histories

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
)

// legalHistory makes a history of a correct map: each operation takes effect somewhere between invoke and completion,
// and some outcomes stay unknown.
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
		if v := History(property("put", "get"), events); v.Status != verdict.Holds {
			t.Errorf("%d ppm info: %s %s", infoPPM, v.Status, v.Reason)
		}
		// One acknowledged write of the last ones gets lost.
		for i := len(events) - 1; ; i-- {
			if e := &events[i]; e.Op == "get" && e.Type == history.Ok && e.Found {
				e.Output = "1"
				break
			}
		}
		if v := History(property("put", "get"), events); v.Status != verdict.Violated {
			t.Errorf("%d ppm info: %s %s", infoPPM, v.Status, v.Reason)
		}
	}
}

func BenchmarkLinearizability(b *testing.B) {
	events := legalHistory(30_000, 20, 10, 5_000)
	for b.Loop() {
		History(property("put", "get"), events)
	}
}

// longHistory makes a history of 50 clients of a correct object, with one key or several.
func longHistory(model string, count, keys int) []history.Event {
	const clients = 50
	r := rand.New(rand.NewPCG(3, 3))
	type flight struct {
		e    history.Event
		done bool
	}
	flights := make([]*flight, clients)
	lists := map[string][]string{}
	var out []history.Event
	report := func(e history.Event) {
		e.Number = uint64(len(out) + 1)
		e.TimeNs = int64(e.Number) * 1000
		out = append(out, e)
	}
	for started, open := 0, 0; started < count || open > 0; {
		c := r.IntN(clients)
		f := flights[c]
		switch {
		case f == nil && started < count:
			f = &flight{e: history.Event{Client: fmt.Sprint("c", c), Type: history.Invoke, Key: fmt.Sprint("k", r.IntN(keys)), Input: fmt.Sprint(started)}}
			first, second := "put", "get"
			switch model {
			case "set":
				first, second = "add", []string{"contains", "remove"}[r.IntN(2)]
				f.e.Input = fmt.Sprint(r.IntN(count / 4))
			case "queue":
				first, second = "enqueue", "dequeue"
			case "append-list":
				first, second = "append", "read"
			case "counter":
				first, second = "incr", "read"
				f.e.Input = ""
			case "lock":
				first, second = "acquire", "acquire"
				if f.e.Input = ""; slices.Contains(lists[f.e.Key], f.e.Client) {
					first, second = "release", "release"
				}
			case "cas-register":
				// Most swaps expect what is there as they begin, and many fail since it is not when they take effect.
				first, second = "cas", "get"
				if held := lists[f.e.Key]; len(held) == 0 {
					first, second = "put", "put"
				} else {
					f.e.Expect = held[0]
				}
			}
			if f.e.Op = first; r.IntN(2) == 0 && (model != "append-list" || r.IntN(50) == 0) {
				if f.e.Op = second; model != "set" && second != "put" {
					f.e.Input, f.e.Expect = "", ""
				}
			}
			started++
			open++
			flights[c] = f
			report(f.e)
		case f == nil:
		case f.e.Op == "acquire" && !f.done && len(lists[f.e.Key]) > 0 && started < count && r.IntN(100) > 0:
			// It waits for the lock, mostly.
		case !f.done:
			f.done = true
			list := lists[f.e.Key]
			switch f.e.Op {
			case "put":
				lists[f.e.Key] = []string{f.e.Input}
			case "get":
				if f.e.Found = len(list) > 0; f.e.Found {
					f.e.Output = list[0]
				}
			case "enqueue", "append":
				lists[f.e.Key] = append(list, f.e.Input)
			case "dequeue":
				if f.e.Found = len(list) > 0; f.e.Found {
					f.e.Output, lists[f.e.Key] = list[0], list[1:]
				}
			case "read":
				f.e.Output = "[" + strings.Join(list, ",") + "]"
				if model == "counter" {
					f.e.Output = fmt.Sprint(len(list))
				}
			case "incr":
				lists[f.e.Key] = append(list, "")
				f.e.Output = fmt.Sprint(len(list) + 1)
			case "acquire":
				if f.e.Output = fmt.Sprint(len(list) == 0); len(list) == 0 {
					lists[f.e.Key] = []string{f.e.Client}
				}
			case "release":
				lists[f.e.Key] = nil
			case "cas":
				if f.e.Output = fmt.Sprint(list[0] == f.e.Expect); list[0] == f.e.Expect {
					lists[f.e.Key] = []string{f.e.Input}
				}
			default:
				e := f.e.Key + "/" + f.e.Input
				in := len(lists[e]) > 0
				switch f.e.Op {
				case "add":
					lists[e] = []string{"x"}
					f.e.Output = fmt.Sprint(!in)
				case "remove":
					lists[e] = nil
					f.e.Output = fmt.Sprint(in)
				default:
					f.e.Output = fmt.Sprint(in)
				}
			}
		default:
			f.e.Type = history.Ok
			report(f.e)
			flights[c] = nil
			open--
		}
	}
	return out
}

var longHistories = []struct {
	model string
	count int
	keys  int
}{{"register", 100_000, 1}, {"key-value", 100_000, 100}, {"set", 100_000, 1}, {"queue", 100_000, 1}, {"append-list", 100_000, 20},
	{"counter", 100_000, 1}, {"lock", 100_000, 1}, {"cas-register", 100_000, 1}}

// TestManyOperations: thousands of operations of 50 clients get a verdict, whether they are right or wrong.
func TestManyOperations(t *testing.T) {
	for _, c := range longHistories {
		p := property()
		p.Check.Model = c.model
		events := longHistory(c.model, c.count/8, c.keys)
		if v := History(p, events); v.Status != verdict.Holds {
			t.Errorf("%s: %s %s", c.model, v.Status, v.Reason)
		}
		// Towards the end a client sees what was there at the beginning.
		for i := len(events) - 1; ; i-- {
			e := &events[i]
			if e.Type != history.Ok || e.Output == "" || c.model == "lock" && e.Output == "true" {
				continue
			}
			switch {
			case c.model == "set" && e.Op == "contains":
				e.Output = fmt.Sprint(e.Output != "true")
			case c.model == "append-list" && e.Op == "read":
				e.Output = "[]"
			case c.model == "lock" && e.Op == "acquire":
				e.Output = "true"
			case e.Op == "get" || e.Op == "dequeue" || c.model == "counter" && e.Op == "read":
				e.Output = "1"
			default:
				continue
			}
			break
		}
		if v := History(p, events); v.Status != verdict.Violated || v.Event < 1000 || len(v.Evidence) == 0 {
			t.Errorf("%s: %s %s", c.model, v.Status, v.Reason)
		}
	}
}

// userTime returns the CPU time of this process in user mode: on a busy machine it says more than the time on the wall.
func userTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}

func BenchmarkHundredThousand(b *testing.B) {
	for _, c := range longHistories {
		b.Run(c.model, func(b *testing.B) {
			p := property()
			p.Check.Model = c.model
			events := longHistory(c.model, c.count, c.keys)
			before := userTime(b)
			for b.Loop() {
				if v := History(p, events); v.Status != verdict.Holds {
					b.Fatal(v.Reason)
				}
			}
			b.ReportMetric((userTime(b)-before).Seconds()/float64(b.N), "user-s/op")
		})
	}
}
