package value

// Renaming computes fingerprints of values under permutations of model values. It remembers the fingerprints of values
// that it has seen, since successive states share most of them. It is not safe for concurrent use.
type Renaming struct {
	ways  int
	names map[*Model][]uint64 // what stands for a model value in each way, by its fingerprint
	known map[Value][]uint64  // of values by their address; nil: nothing in it is renamed
	most  int                 // of known
	sum   []uint64
	tick  func() // is called periodically, and may panic
	done  int    // of ways, since then
}

// Ways holds permutations of model values. It is safe for concurrent use.
type Ways struct {
	count int
	names map[*Model][]uint64
}

// NewWays makes count permutations of models. image returns the index of the model that replaces a model in a
// permutation.
func NewWays(models []*Model, count int, image func(way, model int) int) *Ways {
	w := &Ways{count, map[*Model][]uint64{}}
	for i, m := range models {
		names := make([]uint64, count)
		for way := range names {
			names[way] = models[image(way, i)].hash
		}
		w.names[m] = names
	}
	return w
}

// Bounds of the remembered fingerprints.
const (
	mostKnown        = 1 << 17
	mostFingerprints = 1 << 24
)

// ticksEvery is how many ways lie between two calls of a Renaming's tick.
const ticksEvery = 1 << 15

// NewRenaming makes a Renaming for some permutations. It calls tick periodically.
func NewRenaming(ways *Ways, tick func()) *Renaming {
	most := min(mostKnown, mostFingerprints/max(ways.count, 1))
	return &Renaming{ways: ways.count, names: ways.names, known: map[Value][]uint64{}, most: max(most, 8), sum: make([]uint64, ways.count), tick: tick}
}

// Least returns the least Hash of the values, over the identity and all permutations.
func (r *Renaming) Least(values []Value) uint64 {
	plain := uint64(len(values))
	for i := range r.sum {
		r.sum[i] = plain
	}
	for _, v := range values {
		fp := v.Fingerprint()
		plain = mix(plain, fp)
		r.add(r.fingerprints(v), fp, mix)
	}
	for _, h := range r.sum {
		plain = min(plain, h)
	}
	return plain
}

// add takes a part of a value into the fingerprints of each way.
func (r *Renaming) add(part []uint64, plain uint64, how func(h, fp uint64) uint64) {
	for i := range r.sum {
		if part != nil {
			plain = part[i]
		}
		r.sum[i] = how(r.sum[i], plain)
	}
}

// fingerprints returns the fingerprints of a value in each way, or nil if all equal the fingerprint of the value itself.
func (r *Renaming) fingerprints(v Value) []uint64 {
	switch x := v.(type) {
	case *Model:
		return r.names[x]
	case *Tuple, *Record, *Set, *Function:
		if hashes, ok := r.known[v]; ok {
			return hashes
		}
		hashes := r.composite(v)
		if len(r.known) >= r.most {
			clear(r.known)
		}
		r.known[v] = hashes
		return hashes
	case *Infinite:
	case Lazy:
		return r.fingerprints(Explicit(x))
	case Applicable:
		return r.fingerprints(x.Spelled())
	}
	return nil
}

func (r *Renaming) composite(v Value) []uint64 {
	var parts, keys [][]uint64
	some := false
	look := func(items []Value) [][]uint64 {
		list := make([][]uint64, len(items))
		for i, item := range items {
			list[i] = r.fingerprints(item)
			some = some || list[i] != nil
		}
		return list
	}
	switch x := v.(type) {
	case *Tuple:
		parts = look(x.Items)
	case *Record:
		parts = look(x.Values)
	case *Set:
		parts = look(x.Items)
	case *Function:
		keys, parts = look(x.Domain.Items), look(x.Values)
	}
	if !some {
		return nil
	}
	if r.done += r.ways; r.done > ticksEvery {
		r.done = 0
		r.tick()
	}
	hashes := make([]uint64, r.ways)
	at := func(list [][]uint64, items []Value, i, way int) uint64 {
		if list[i] != nil {
			return list[i][way]
		}
		return items[i].Fingerprint()
	}
	for way := range hashes {
		h := uint64(0)
		switch x := v.(type) {
		case *Tuple:
			h = mix(seedTuple, uint64(len(x.Items)))
			for i := range x.Items {
				h = mix(h, at(parts, x.Items, i, way))
			}
		case *Record:
			h = seedPairs
			for i, n := range x.Names {
				h = mix(mix(h, n.hash), at(parts, x.Values, i, way))
			}
		case *Set:
			h = seedSet
			for i := range x.Items {
				h += memberHash(at(parts, x.Items, i, way))
			}
		case *Function:
			h = seedPairs
			for i := range x.Values {
				h += pairHash(at(keys, x.Domain.Items, i, way), at(parts, x.Values, i, way))
			}
		}
		hashes[way] = h
	}
	return hashes
}
