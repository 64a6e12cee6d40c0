package clone

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type inner struct {
	N     int
	Names []string
	next  *node
}

type node struct {
	ID   int
	In   inner
	Kids []*node
	up   *node
	By   map[string]*node
	Raw  [2][]byte
	Flat map[[2]int]inner
	Open any
}

func tree(r *rand.Rand, depth int, up *node) *node {
	n := &node{ID: r.IntN(1000), up: up, By: map[string]*node{}, Raw: [2][]byte{{1, 2}, nil}, Flat: map[[2]int]inner{{1, 2}: {N: 3, Names: []string{"a"}}}}
	n.In = inner{N: r.IntN(10), Names: []string{"x", "y"}, next: up}
	for i := range depth {
		kid := tree(r, i, n)
		n.Kids = append(n.Kids, kid)
		n.By[string(rune('a'+i))] = kid
	}
	return n
}

func TestCopyIsEqualAndApart(t *testing.T) {
	for seed := range uint64(20) {
		was := tree(rand.New(rand.NewPCG(seed, 1)), 4, nil)
		got := Deep(was)
		if !reflect.DeepEqual(got, was) {
			t.Fatal("a copy is not equal to its original")
		}
		if s := Shared(got, was); len(s) > 0 {
			t.Fatalf("a copy shares memory with its original: %v", s)
		}
		if got.Kids[3].up != got || got.By["d"] != got.Kids[3] || got.Kids[3].In.next != got {
			t.Fatal("pointers to one object lead to several in the copy")
		}
		got.Kids[3].Flat[[2]int{1, 2}].Names[0] = "b"
		got.Raw[0][0] = 9
		if was.Kids[3].Flat[[2]int{1, 2}].Names[0] != "a" || was.Raw[0][0] != 1 {
			t.Fatal("a change to the copy changed the original")
		}
	}
}

func TestNilAndEmptyStay(t *testing.T) {
	type state struct {
		A, B []int
		C, D map[int]int
		E    *int
	}
	got := Deep(state{B: []int{}, D: map[int]int{}})
	if got.A != nil || got.B == nil || got.C != nil || got.D == nil || got.E != nil {
		t.Errorf("%#v", got)
	}
}

// Shared must see each way by which two values could reach the same memory.
func TestSharedSeesAliases(t *testing.T) {
	type part struct{ n int }
	type state struct {
		P *part
		S []int
		M map[int]*part
		D []struct{ In [1][]string }
	}
	full := func() *state {
		return &state{P: &part{1}, S: []int{1}, M: map[int]*part{7: {2}}, D: []struct{ In [1][]string }{{In: [1][]string{{"a"}}}}}
	}
	for want, alias := range map[string]func(a, b *state){
		".P":          func(a, b *state) { a.P = b.P },
		".S":          func(a, b *state) { a.S = b.S },
		".M":          func(a, b *state) { a.M = b.M },
		".M[7]":       func(a, b *state) { a.M[7] = b.M[7] },
		".D[0].In[0]": func(a, b *state) { a.D[0].In[0] = b.D[0].In[0] },
	} {
		a, b := full(), full()
		if s := Shared(a, b); len(s) > 0 {
			t.Fatalf("two apart values share %v", s)
		}
		alias(a, b)
		if s := Shared(a, b); !slices.ContainsFunc(s, func(p string) bool { return strings.HasSuffix(p, want) }) {
			t.Errorf("%s is shared and is not among %v", want, s)
		}
	}
}

func TestWhatIsNoData(t *testing.T) {
	if f := Flaws(reflect.TypeFor[node]()); len(f) != 1 || !strings.HasPrefix(f[0], "clone.node.Open is a interface") {
		t.Errorf("%v", f)
	}
	defer func() {
		if recover() == nil {
			t.Error("a value that is not data was copied")
		}
	}()
	Deep(&node{Open: 1})
}

func BenchmarkOf(b *testing.B) {
	n := tree(rand.New(rand.NewPCG(1, 1)), 10, nil)
	b.ReportAllocs()
	for b.Loop() {
		Deep(n)
	}
}
