package inproc

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

type linked struct {
	name string
	next *linked
	tags map[string][]int
	any  any
}

// Digests are of values: they know no address and no order of a map, and distinguish what differs anywhere.
func TestDigestsAreOfValues(t *testing.T) {
	make1 := func() *linked {
		l := &linked{name: "a", tags: map[string][]int{}, any: [2]float64{1, 2}}
		for i := range 20 {
			l.tags[string(rune('a'+(i*7)%20))] = []int{(i * 7) % 20}
		}
		l.next = &linked{name: "b", any: l.name}
		return l
	}
	a, b := make1(), make1()
	if digestOf(a) != digestOf(b) {
		t.Error("equal values have two digests")
	}
	for name, change := range map[string]func(l *linked){
		"a text": func(l *linked) { l.next.name = "c" }, "a map": func(l *linked) { l.tags["a"][0]++ }, "a key": func(l *linked) { delete(l.tags, "a") },
		"a type": func(l *linked) { l.any = [2]float32{1, 2} }, "nil": func(l *linked) { l.next.any = nil },
		"a length": func(l *linked) { l.tags["b"] = append(l.tags["b"], 0) },
	} {
		c := make1()
		change(c)
		if digestOf(c) == digestOf(a) {
			t.Errorf("%s makes no difference", name)
		}
	}
	seen := map[uint64]any{}
	for _, v := range []any{nil, 0, 1, int64(1), uint8(1), "", "1", []byte{}, []byte("1"), []int{1}, [1]int{1}, map[int]int{1: 1},
		true, false, 1.0, (*int)(nil), struct{}{}, []any{nil}, []any{[]any{nil}}} {
		if other, ok := seen[digestOf(v)]; ok {
			t.Errorf("%T %v and %T %v have one digest", v, v, other, other)
		}
		seen[digestOf(v)] = v
	}
	// A ring has an end.
	ring := &linked{name: "ring"}
	ring.next, ring.any = ring, ring
	digestOf(ring)
}

// Clocks compute as numbers without bounds do.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		x, num, den := r.Int64N(1<<59), 500_000_000+r.Int64N(1e9), 500_000_000+r.Int64N(1e9)
		want := new(big.Int).Mul(big.NewInt(x), big.NewInt(num))
		want.Div(want, big.NewInt(den))
		if got := scale(x, num, den); want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%d * %d / %d is %s, and not %d", x, num, den, want, got)
		}
	}
}

// The queue gives what is due in the order of times, and of arrival where times are equal.
func TestQueueIsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var q queue
	var last due
	for n := 0; n > 0 || q.seq < 5000; {
		if n > 0 && (q.seq >= 5000 || r.IntN(2) == 0) {
			first := q.heap[0]
			for i := range q.heap {
				if q.heap[i].before(&first) {
					t.Fatal("the first is not the first")
				}
			}
			if last = first; q.pop() != first.what {
				t.Fatal("another one than the first came")
			}
			n--
			continue
		}
		q.push(int64(last.at)+r.Int64N(50), q.fresh())
		n++
	}
}
