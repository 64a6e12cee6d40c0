// Package visited holds what a search remembers of states: the fingerprints of all, and those whose successors it has not looked for.
package visited

import "github.com/bloodhound-dst/bloodhound/tla/value"

// Fingerprints numbers 64-bit fingerprints in the order in which they come.
type Fingerprints struct {
	Keys  []uint64
	table []int32 // an open hash table of the numbers, each one higher; 0: nothing
}

// place is where a fingerprint is in the table, or would.
func (f *Fingerprints) place(key uint64) uint64 {
	mask := uint64(len(f.table) - 1)
	i := key & mask
	for f.table[i] != 0 && f.Keys[f.table[i]-1] != key {
		i = (i + 1) & mask
	}
	return i
}

// Add gives a fingerprint its number, and reports whether it is new.
func (f *Fingerprints) Add(key uint64) (id int32, isNew bool) {
	if 2*len(f.Keys) >= len(f.table) {
		f.table = make([]int32, max(1024, 2*len(f.table)))
		for i, k := range f.Keys {
			f.table[f.place(k)] = int32(i + 1)
		}
	}
	i := f.place(key)
	if id := f.table[i]; id != 0 {
		return id - 1, false
	}
	f.Keys = append(f.Keys, key)
	f.table[i] = int32(len(f.Keys))
	return int32(len(f.Keys) - 1), true
}

// Find is the number of a fingerprint, if it has one.
func (f *Fingerprints) Find(key uint64) (id int32, ok bool) {
	if len(f.Keys) == 0 {
		return 0, false
	}
	id = f.table[f.place(key)] - 1
	return id, id >= 0
}

// Queue holds states from when they are found until their successors are looked for. They lie many together, and each takes no more than its values.
type Queue struct {
	blocks [][]value.Value
	count  int // of all that were put
	width  int // of a state
}

// inBlock is how many states lie together.
const inBlock = 1 << 8

// Put adds a copy of a state, which gets the next number from 0 on.
func (q *Queue) Put(s []value.Value) {
	if q.count%inBlock == 0 {
		q.width = len(s)
		q.blocks = append(q.blocks, make([]value.Value, 0, inBlock*q.width))
	}
	last := len(q.blocks) - 1
	q.blocks[last] = append(q.blocks[last], s...)
	q.count++
}

// Take gives the state with a number. They are taken in their order, each once.
func (q *Queue) Take(number int) []value.Value {
	block := q.blocks[number/inBlock]
	if number%inBlock == inBlock-1 {
		q.blocks[number/inBlock] = nil
	}
	at := number % inBlock * q.width
	return block[at : at+q.width : at+q.width]
}
