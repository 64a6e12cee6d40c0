package fs

import "slices"

// pages counts the allocated pages.
func (in *Inode) pages() int64 {
	n := int64(0)
	for _, x := range in.Extents {
		n += x.To - x.From
	}
	return n
}

// first finds the first extent that ends behind a page.
func (in *Inode) first(page int64) int {
	i, _ := slices.BinarySearchFunc(in.Extents, page, func(x Extent, page int64) int {
		if x.To <= page {
			return -1
		}
		return 1
	})
	return i
}

// allocate adds pages [from, to) and reports how many are new.
func (in *Inode) allocate(from, to int64) int64 {
	if from >= to {
		return 0
	}
	i := in.first(from)
	if i > 0 && in.Extents[i-1].To == from {
		i--
	}
	merged := Extent{from, to}
	j, had := i, int64(0)
	for ; j < len(in.Extents) && in.Extents[j].From <= to; j++ {
		x := in.Extents[j]
		had += max(0, min(x.To, to)-max(x.From, from))
		merged.From, merged.To = min(merged.From, x.From), max(merged.To, x.To)
	}
	if j == i+1 && in.Extents[i] == merged {
		return 0
	}
	in.Extents = slices.Replace(in.Extents, i, j, merged)
	return to - from - had
}

// release takes pages [from, to) away and reports how many there were.
func (in *Inode) release(from, to int64) int64 {
	gone := int64(0)
	var kept []Extent
	i := in.first(from)
	j := i
	for ; j < len(in.Extents) && in.Extents[j].From < to; j++ {
		x := in.Extents[j]
		gone += min(x.To, to) - max(x.From, from)
		if x.From < from {
			kept = append(kept, Extent{x.From, from})
		}
		if x.To > to {
			kept = append(kept, Extent{to, x.To})
		}
	}
	in.Extents = slices.Replace(in.Extents, i, j, kept...)
	return gone
}

// affordable returns up to which page a write of [from, to) can go if at most free pages may be added.
func (in *Inode) affordable(from, to, free int64) int64 {
	at := from
	for i := in.first(from); at < to; i++ {
		next := to // where the hole at at ends
		if i < len(in.Extents) {
			next = min(to, in.Extents[i].From)
		}
		if next > at {
			if next-at > free {
				return at + max(free, 0)
			}
			free -= next - at
		}
		if i >= len(in.Extents) {
			return to
		}
		at = max(next, in.Extents[i].To)
	}
	return to
}

// data finds the first data at or behind an offset, -1 if there is none (lseek(2): SEEK_DATA).
func (in *Inode) data(off int64) int64 {
	if in.Layer != NoLayer || in.Mapped {
		return off
	}
	i := in.first(off / pageBytes)
	if i == len(in.Extents) {
		return -1
	}
	return max(off, in.Extents[i].From*pageBytes)
}

// hole finds the first hole at or behind an offset; the end of the file is one.
func (in *Inode) hole(off int64) int64 {
	if in.Layer != NoLayer || in.Mapped {
		return in.Size
	}
	i := in.first(off / pageBytes)
	if i < len(in.Extents) && in.Extents[i].From <= off/pageBytes {
		off = in.Extents[i].To * pageBytes
	}
	return min(off, in.Size)
}
