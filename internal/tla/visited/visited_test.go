package visited

import (
	"math/rand/v2"
	"testing"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Fingerprints have the numbers that a map gives them, also where their places in the table are the same.
func TestFingerprintsAreNumbered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var f Fingerprints
	ids := map[uint64]int32{}
	if _, ok := f.Find(0); ok {
		t.Error("an empty set has 0")
	}
	for range 30_000 {
		key := r.Uint64N(20_000)
		if r.IntN(2) == 0 {
			key <<= 32 // the same place for all
		}
		if key>>32 > 200 {
			continue
		}
		want, known := ids[key]
		if found, ok := f.Find(key); ok != known || ok && found != want {
			t.Fatalf("%d is found as %d, %t, and not as %d, %t", key, found, ok, want, known)
		}
		if !known {
			want = int32(len(ids))
			ids[key] = want
		}
		if id, isNew := f.Add(key); id != want || isNew == known {
			t.Fatalf("%d gets %d, new: %t, and not %d", key, id, isNew, want)
		}
		if got, err := f.Key(want); got != key || err != nil {
			t.Fatalf("number %d is %d, %v, and not %d", want, got, err, key)
		}
	}
}

// A queue gives back what was put into it, while more is put.
func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, width := range []int{1, 3} {
		var q Queue
		s := make([]value.Value, width)
		for put, taken := 0, 0; taken < 2000; {
			if put == taken || put < 2000 && r.IntN(5) < 3 {
				for i := range s {
					s[i] = value.Int(put*width + i)
				}
				q.Put(s)
				put++
				continue
			}
			for i, v := range q.TakeState(taken) {
				if v != value.Value(value.Int(taken*width+i)) {
					t.Fatalf("state %d has %v in place %d", taken, v, i)
				}
			}
			taken++
		}
	}
}
