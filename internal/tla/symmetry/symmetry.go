// Package symmetry makes the group of permutations of model values that SYMMETRY generates.
package symmetry

import "github.com/bloodhound-dst/bloodhound/tla/value"

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

// Group is a group of permutations of model values, without the one that moves nothing.
type Group struct {
	models []*value.Model
	// images has, for each permutation, the number of the image of each of the models.
	images []uint16
}

// GroupOf has all that some permutations make one after the other. It calls tick every so many of them, which may panic.
func GroupOf(list []map[*value.Model]value.Value, tick func()) *Group {
	g := &Group{}
	numbers := map[*value.Model]uint16{}
	number := func(m *value.Model) {
		if _, known := numbers[m]; !known {
			numbers[m] = uint16(len(g.models))
			g.models = append(g.models, m)
		}
	}
	for _, way := range list {
		for from, to := range way {
			number(from)
			if m, ok := to.(*value.Model); ok {
				number(m)
			}
		}
	}
	known := map[string]bool{}
	var generators [][]uint16
	for _, way := range list {
		image := g.identity()
		for from, to := range way {
			if m, ok := to.(*value.Model); ok {
				image[numbers[from]] = numbers[m]
			}
		}
		if !known[key(image)] {
			generators = append(generators, image)
			known = g.close(generators, tick)
		}
	}
	return g
}

func (g *Group) identity() []uint16 {
	image := make([]uint16, len(g.models))
	for i := range image {
		image[i] = uint16(i)
	}
	return image
}

func key(image []uint16) string {
	text := make([]byte, 0, 2*len(image))
	for _, n := range image {
		text = append(text, byte(n), byte(n>>8))
	}
	return string(text)
}

// close makes the group of all products of generators, and gives the keys of its members.
func (g *Group) close(generators [][]uint16, tick func()) map[string]bool {
	n := len(g.models)
	first := g.identity()
	known := map[string]bool{key(first): true}
	all := first
	product := make([]uint16, n)
	for at := 0; at < len(all); at += n {
		if at/n%(1<<12) == 0 {
			tick()
		}
		for _, generator := range generators {
			for i, image := range all[at : at+n] {
				product[i] = generator[image]
			}
			if k := key(product); !known[k] {
				known[k] = true
				all = append(all, product...)
			}
		}
	}
	g.images = all[n:]
	return known
}

// Len counts the permutations.
func (g *Group) Len() int {
	if len(g.models) == 0 {
		return 0
	}
	return len(g.images) / len(g.models)
}

// Way is one of the permutations.
func (g *Group) Way(k int) map[*value.Model]value.Value {
	way := map[*value.Model]value.Value{}
	n := len(g.models)
	for i, image := range g.images[k*n : (k+1)*n] {
		way[g.models[i]] = g.models[image]
	}
	return way
}

// Ways are all permutations, for fingerprints.
func (g *Group) Ways() *value.Ways {
	n := len(g.models)
	return value.NewWays(g.models, g.Len(), func(way, model int) int { return int(g.images[way*n+model]) })
}

// Generators are two permutations that make all of some model values: they exchange two, and turn all.
func Generators(members []value.Value) []map[*value.Model]value.Value {
	if len(members) < 2 {
		return nil
	}
	exchange, turn := map[*value.Model]value.Value{}, map[*value.Model]value.Value{}
	for i, v := range members {
		m, ok := v.(*value.Model)
		if !ok {
			value.Fail("SYMMETRY needs permutations of model values, and not of %s", value.Short(v))
		}
		turn[m] = members[(i+1)%len(members)]
		if i < 2 {
			exchange[m] = members[1-i]
		}
	}
	return []map[*value.Model]value.Value{exchange, turn}
}
