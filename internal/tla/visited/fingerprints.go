// Package visited holds what a search remembers of states: the fingerprints of all, and those whose successors it has not looked for. Both go to a disk
// where memory has no room for them.
package visited

import (
	"cmp"
	"math"
	"slices"
)

// Fingerprints numbers 64-bit fingerprints in the order in which they come.
type Fingerprints struct {
	keys  Column[uint64]
	table []int32 // an open hash table of the numbers of those in memory, each one higher; 0: nothing
	// most is how many are in memory at once; 0: all.
	most int
	disk *Disk
	runs []*run // on the disk, the older and longer ones first
	err  error
}

// MostNumbered is how many fingerprints have a number.
const MostNumbered = math.MaxInt32

// Limit has fingerprints go to a disk when there are more than most in memory.
func (f *Fingerprints) Limit(most int, d *Disk) { f.most, f.disk = max(most, leastInMemory), d }

// leastInMemory is how many fingerprints are in memory before they go to the disk.
const leastInMemory = 1 << 8

// Err says why fingerprints could not be written or read; then what Add and Find answer is not to be used.
func (f *Fingerprints) Err() error { return f.err }

// Len counts the fingerprints.
func (f *Fingerprints) Len() int { return f.keys.Len() }

// Spilled reports whether some are on the disk.
func (f *Fingerprints) Spilled() bool { return f.runs != nil }

// Key is the fingerprint with a number.
func (f *Fingerprints) Key(id int32) (uint64, error) { return f.keys.NumberAt(int(id)) }

// place is where a fingerprint is in the table, or would.
func (f *Fingerprints) place(key uint64) uint64 {
	mask := uint64(len(f.table) - 1)
	i := key & mask
	for f.table[i] != 0 && f.keys.tail[f.table[i]-1] != key {
		i = (i + 1) & mask
	}
	return i
}

// Add gives a fingerprint its number, and reports whether it is new.
func (f *Fingerprints) Add(key uint64) (id int32, isNew bool) {
	if 2*len(f.keys.tail) >= len(f.table) {
		f.grow()
	}
	i := f.place(key)
	if n := f.table[i]; n != 0 {
		return int32(f.keys.before) + n - 1, false
	}
	if f.runs != nil {
		if id, found := f.findOnDisk(key); found {
			return id, false
		}
	}
	f.keys.Append(key)
	f.table[i] = int32(len(f.keys.tail))
	return int32(f.keys.Len() - 1), true
}

// grow makes room for more fingerprints in memory.
func (f *Fingerprints) grow() {
	if f.most > 0 && len(f.keys.tail) >= f.most && f.err == nil {
		f.Spill()
		return
	}
	f.table = make([]int32, max(1024, 2*len(f.table)))
	for i, k := range f.keys.tail {
		f.table[f.place(k)] = int32(i + 1)
	}
}

// Find is the number of a fingerprint, if it has one.
func (f *Fingerprints) Find(key uint64) (id int32, ok bool) {
	if len(f.keys.tail) > 0 {
		if n := f.table[f.place(key)]; n != 0 {
			return int32(f.keys.before) + n - 1, true
		}
	}
	if f.runs != nil {
		return f.findOnDisk(key)
	}
	return 0, false
}

func (f *Fingerprints) findOnDisk(key uint64) (int32, bool) {
	for i := len(f.runs) - 1; i >= 0 && f.err == nil; i-- {
		id, found, err := f.runs[i].find(key)
		if f.err = err; found {
			return id, true
		}
	}
	return 0, false
}

// Spill moves the fingerprints in memory to the disk, as a sorted run. Runs of like length are merged, so that there are few.
func (f *Fingerprints) Spill() {
	n := len(f.keys.tail)
	if f.err != nil || n == 0 {
		return
	}
	list := make([]numbered, n)
	for i, key := range f.keys.tail {
		list[i] = numbered{key, int32(f.keys.before + i)}
	}
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.key, b.key) })
	if f.err = f.keys.Spill(f.disk); f.err != nil {
		return
	}
	clear(f.table)
	w, err := f.disk.newRun()
	for i := 0; i < n && err == nil; i++ {
		err = w.add(list[i])
	}
	if err == nil {
		err = w.end()
	}
	if f.err = err; err != nil {
		return
	}
	f.runs = append(f.runs, &w.run)
	for k := len(f.runs); k > 1 && f.runs[k-2].count <= 2*f.runs[k-1].count && f.err == nil; k = len(f.runs) {
		f.merge()
	}
}

// merge makes one run of the last two.
func (f *Fingerprints) merge() {
	k := len(f.runs)
	merged, err := f.disk.merge(f.runs[k-2], f.runs[k-1])
	if f.err = err; err != nil {
		return
	}
	f.runs[k-2].file.close()
	f.runs[k-1].file.close()
	f.runs = append(f.runs[:k-2], merged)
}

// Closest is the smallest distance between two fingerprints; 0 if there are not two.
func (f *Fingerprints) Closest() uint64 {
	closest := uint64(math.MaxUint64)
	if f.Len() < 2 {
		return 0
	}
	if f.runs == nil {
		sorted := slices.Sorted(slices.Values(f.keys.tail))
		for i, key := range sorted[1:] {
			closest = min(closest, key-sorted[i])
		}
		return closest
	}
	f.Spill()
	for len(f.runs) > 1 && f.err == nil {
		f.merge()
	}
	if f.err != nil {
		return 0
	}
	r := f.runs[0].reader()
	for before := uint64(0); ; {
		x, ok := r.next()
		if !ok {
			f.err = r.err
			return closest
		}
		if r.read > 1 {
			closest = min(closest, x.key-before)
		}
		before = x.key
	}
}
