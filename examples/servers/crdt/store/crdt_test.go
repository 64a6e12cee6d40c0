package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// values are all that random histories of three replicas have made of one key.
func values(rnd *rand.Rand, merge Merge) []Value {
	ids := []string{"a", "b", "c"}
	var replicas []*Replica
	for _, id := range ids {
		replicas = append(replicas, NewReplica(id, ids, merge))
	}
	all := []Value{{}}
	for now := range int64(20) {
		r := replicas[rnd.IntN(3)]
		var v Value
		var err error
		switch rnd.IntN(3) {
		case 0:
			v, err = r.Add(now, "k", rnd.Int64N(9)-4)
		case 1:
			v, err = r.Set(now, "k", fmt.Sprint("v", now))
		case 2:
			v, _, _ = r.Join("", "k", replicas[rnd.IntN(3)].Get("k"))
		}
		if err == nil {
			r.Put("k", v)
			all = append(all, v)
		}
	}
	return all
}

// TestMergeIsALattice: the order in which values meet does not matter, nor how often they do.
func TestMergeIsALattice(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		all := values(rnd, Both)
		m := Both.merge
		for range 200 {
			a, b, c := all[rnd.IntN(len(all))], all[rnd.IntN(len(all))], all[rnd.IntN(len(all))]
			if !m(a, b).equal(m(b, a)) || !m(a, a).equal(a) || !m(a, m(b, c)).equal(m(m(a, b), c)) {
				t.Fatalf("seed %d: %+v, %+v, %+v", seed, a, b, c)
			}
		}
	}
}

// TestNothingIsLost: three replicas write at random, speak to each other at random, and have all writes in the end; a merge
// that keeps the newest type does not.
func TestNothingIsLost(t *testing.T) {
	lost := map[Merge]int{}
	for _, merge := range []Merge{Both, Newest} {
		for seed := range uint64(300) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			ids := []string{"a", "b", "c"}
			replicas := map[string]*Replica{}
			for _, id := range ids {
				peers := slices.DeleteFunc(slices.Clone(ids), func(o string) bool { return o == id })
				replicas[id] = NewReplica(id, peers, merge)
			}
			speak := func(from, to string, fails bool) {
				keys := replicas[from].Unsent(to)
				if fails {
					replicas[from].Failed(to, keys)
					return
				}
				for _, k := range keys {
					replicas[to].Join(from, k, replicas[from].Get(k))
				}
			}
			sum, value := int64(0), ""
			for now := range int64(30) {
				r := replicas[ids[rnd.IntN(3)]]
				switch rnd.IntN(4) {
				case 0:
					if v, err := r.Add(now, "k", now); err == nil {
						r.Put("k", v)
						sum += now
					}
				case 1:
					if v, err := r.Set(now, "k", fmt.Sprint(now)); err == nil {
						r.Put("k", v)
						value = fmt.Sprint(now)
					}
				default:
					speak(r.ID, ids[rnd.IntN(3)], rnd.IntN(2) == 0)
				}
			}
			for range 3 {
				for _, from := range ids {
					for _, to := range ids {
						speak(from, to, false)
					}
				}
			}
			v := replicas["a"].Get("k")
			for _, id := range ids {
				if !replicas[id].Get("k").equal(v) {
					t.Fatalf("%s, seed %d: a has %+v, %s has %+v", merge, seed, v, id, replicas[id].Get("k"))
				}
			}
			if sum > 0 && (v.Counter == nil || v.Counter.sum() != sum) || value != "" && (v.Register == nil || v.Register.Value != value) {
				lost[merge]++
			}
		}
	}
	t.Logf("writes lost in 300 lives: %v", lost)
	if lost[Both] > 0 || lost[Newest] == 0 {
		t.Errorf("writes lost: %v", lost)
	}
}

func TestTypes(t *testing.T) {
	r := NewReplica("a", nil, Both)
	v, err := r.Add(1, "k", 5)
	if err != nil {
		t.Fatal(err)
	}
	r.Put("k", v)
	if _, err := r.Set(2, "k", "x"); err != ErrType {
		t.Errorf("a register where a counter is: %v", err)
	}
	other := Value{Register: &Register{Value: "x", Stamp: Stamp{Ns: 3, Replica: "b"}}}
	if v, news, dropped := r.Join("b", "k", other); !news || dropped != "" || v.Counter.sum() != 5 || v.Register.Value != "x" {
		t.Errorf("%+v, dropped %q", v, dropped)
	}
	bug := NewReplica("a", nil, Newest)
	bug.Put("k", v)
	if v, _, dropped := bug.Join("b", "k", other); dropped != "counter" || v.Counter != nil {
		t.Errorf("%+v, dropped %q", v, dropped)
	}
}
