package symmetry

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// TestGroup compares the group of some permutations with all that products of twelve of them make, at random. A fingerprint under
// the group must be that of each state that a permutation makes of a state.
func TestGroup(t *testing.T) {
	var models []*value.Model
	for i := range 4 {
		models = append(models, value.ModelValue(fmt.Sprintf("m%d", i)))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		var generators []map[*value.Model]value.Value
		for range 1 + r.IntN(2) {
			way := map[*value.Model]value.Value{}
			for from, to := range r.Perm(len(models)) {
				way[models[from]] = models[to]
			}
			generators = append(generators, way)
		}
		group := GroupOf(generators, func() {})
		var all []map[*value.Model]value.Value
		for i := range group.Len() {
			all = append(all, group.Way(i))
		}
		var want, got []string
		image := func(way map[*value.Model]value.Value) string {
			s := ""
			for _, m := range models {
				s += value.Renamed(m, way).String() + " "
			}
			return s
		}
		var products func(way map[*value.Model]value.Value, left int)
		products = func(way map[*value.Model]value.Value, left int) {
			want = append(want, image(way))
			if left == 0 {
				return
			}
			for _, g := range generators {
				next := map[*value.Model]value.Value{}
				for _, m := range models {
					next[m] = value.Renamed(value.Renamed(m, way), g)
				}
				products(next, left-1)
			}
		}
		products(map[*value.Model]value.Value{}, 12)
		got = append(got, image(nil))
		for _, way := range all {
			got = append(got, image(way))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("case %d: the group of %v has %d members, and not %d", n, generators, len(got), len(want))
		}
		state := []value.Value{models[r.IntN(4)], value.NewSet([]value.Value{models[r.IntN(4)], models[r.IntN(4)]}), value.Int(r.IntN(3))}
		least := value.NewRenaming(group.Ways(), func() {}).Least(state)
		for _, way := range all {
			var other []value.Value
			for _, v := range state {
				other = append(other, value.Renamed(v, way))
			}
			if fp := value.NewRenaming(group.Ways(), func() {}).Least(other); fp != least {
				t.Fatalf("case %d: %v and %v have two fingerprints under %v", n, state, other, all)
			}
		}
	}
}
