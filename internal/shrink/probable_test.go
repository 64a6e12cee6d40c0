package shrink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Of many things a few are found that are needed, with few tries, and each of those was tried alone.
func TestLikelyThingsAreTriedFirst(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		n, few := 1+random.IntN(2000), random.IntN(5)
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i))
		}
		needed := map[string]bool{}
		for range few {
			needed[all[random.IntN(n)]] = true
		}
		p, tries, alone := needs{}, 0, map[string]bool{}
		for {
			gone := p.choose(all)
			if len(gone) == 0 {
				break
			}
			tries++
			if slices.ContainsFunc(gone, func(name string) bool { return needed[name] }) {
				p.failed(gone, all)
				if len(gone) == 1 {
					alone[gone[0]] = true
				}
				continue
			}
			left := set(gone)
			all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return left[name] })
		}
		if len(all) != len(needed) || len(alone) != len(needed) {
			t.Fatalf("seed %d: %d of %d are left, %d tried alone, want %d", seed, len(all), n, len(alone), len(needed))
		}
		if most := 20 + 24*len(needed); tries > most {
			t.Errorf("seed %d: %d tries for %d of %d things, want %d at most", seed, tries, len(needed), n, most)
		}
	}
}

// Whatever the tries say, the search for what can go ends.
func TestTriesEnd(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		n := 1 + random.IntN(300)
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i))
		}
		p := needs{}
		for tries := 0; ; tries++ {
			if tries > 20*n+100 {
				t.Fatalf("seed %d: no end after %d tries with %d things", seed, tries, n)
			}
			gone := p.choose(all)
			if len(gone) == 0 {
				break
			}
			if random.IntN(4) > 0 {
				p.failed(gone, all)
				continue
			}
			left := set(gone)
			all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return left[name] })
		}
	}
}
