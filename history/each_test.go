package history

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// A Pairing that keeps no operation gives those of Pair, with their places, or its error.
func TestPairingEach(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	failed := 0
	for range 5000 {
		var events []Event
		open := map[string]bool{}
		for number := range r.IntN(30) {
			e := Event{Number: uint64(number), TimeNs: int64(number) * 10, Client: fmt.Sprint("c", r.IntN(4)), Type: Invoke,
				Op: "put", Key: "k", Input: fmt.Sprint(number)}
			if open[e.Client] != (r.IntN(40) == 0) {
				e.Type, e.Input, e.Output = []Type{Ok, Ok, Ok, Fail, Info}[r.IntN(5)], "", "out"
			}
			if r.IntN(200) == 0 {
				e.Type, e.Error = Broken, "torn"
			}
			if open[e.Client] = e.Type == Invoke; e.Type == Info && r.IntN(20) > 0 {
				e.Type = Ok // mostly, a client goes on
			}
			events = append(events, e)
		}
		want, wantErr := Pair(events)
		got := make([]Operation, len(want))
		count := 0
		p := NewPairingEach(func(number int, o *Operation) {
			if number < len(got) {
				got[number] = *o
			}
			count++
		})
		for i := range events {
			p.Add(&events[i])
		}
		none, err := p.Operations()
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || len(none) > 0 {
			t.Fatalf("%+v: %v, want %v", events, err, wantErr)
		}
		if err != nil {
			failed++
			continue
		}
		if count != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v became %+v, want %+v", events, got, want)
		}
	}
	if failed < 500 || failed > 4500 {
		t.Errorf("%d of 5000 had an error", failed)
	}
}
