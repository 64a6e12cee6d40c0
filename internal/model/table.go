package model

// table finds values by 64-bit hashes. It is one array without pointers, where Go's maps take several looks at memory for each of theirs.
type table[V any] struct {
	slots []slot[V]
	used  int
}

type slot[V any] struct {
	key   uint64 // 0: empty
	value V
}

// leastSlots is how many slots there are at first.
const leastSlots = 1 << 10

// find gives the value of a hash, or nil. It is valid until the next call of add.
func (t *table[V]) find(key uint64) *V {
	if len(t.slots) == 0 {
		return nil
	}
	if s := t.slot(key); s.key != 0 {
		return &s.value
	}
	return nil
}

// add gives the value of a hash, which is zero if there was none.
func (t *table[V]) add(key uint64) *V {
	if 2*t.used >= len(t.slots) {
		before := t.slots
		t.slots = make([]slot[V], max(2*len(before), leastSlots))
		for i := range before {
			if before[i].key != 0 {
				*t.slot(before[i].key) = before[i]
			}
		}
	}
	s := t.slot(key)
	if s.key == 0 {
		s.key = max(key, 1)
		t.used++
	}
	return &s.value
}

// slot is the index at which a hash is, or would be.
func (t *table[V]) slot(key uint64) *slot[V] {
	key = max(key, 1)
	mask := uint64(len(t.slots) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// empty takes all out.
func (t *table[V]) empty() {
	clear(t.slots)
	t.used = 0
}
