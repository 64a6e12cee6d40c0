// Package symmetry makes the group of permutations of model values that SYMMETRY generates.
package symmetry

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Permutations are the members of a set of functions from model values to model values, without the one that moves nothing.
func Permutations(v value.Value) []map[*value.Model]value.Value {
	var list []map[*value.Model]value.Value
	value.Each(v, func(f value.Value) bool {
		m := map[*value.Model]value.Value{}
		moves := false
		value.Each(value.Domain(f), func(x value.Value) bool {
			from, ok := x.(*value.Model)
			if !ok {
				value.Fail("SYMMETRY needs permutations of model values, and not of %s", value.Short(x))
			}
			to := value.Apply(f, x)
			m[from] = to
			moves = moves || to != value.Value(from)
			return true
		})
		if moves {
			list = append(list, m)
		}
		return true
	})
	return list
}

// Group has all that the permutations make one after the other, without the one that moves nothing.
func Group(list []map[*value.Model]value.Value) []map[*value.Model]value.Value {
	key := func(m map[*value.Model]value.Value) string {
		var moved []string
		for from, to := range m {
			if to != value.Value(from) {
				moved = append(moved, from.Name+">"+to.String())
			}
		}
		slices.Sort(moved)
		return strings.Join(moved, " ")
	}
	known := map[string]bool{"": true}
	var all []map[*value.Model]value.Value
	for at, more := 0, list; ; at++ {
		for _, m := range more {
			if k := key(m); !known[k] {
				known[k] = true
				all = append(all, m)
			}
		}
		if at == len(all) {
			return all
		}
		more = nil
		for _, m := range list {
			product := map[*value.Model]value.Value{}
			for from, to := range all[at] {
				product[from] = value.Renamed(to, m)
			}
			for from, to := range m {
				if _, ok := product[from]; !ok {
					product[from] = to
				}
			}
			more = append(more, product)
		}
	}
}
