//go:build linux && amd64

package host

import (
	"hash/maphash"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// A program that has made code is searched for instructions of chance at its end: all that it may execute. Its files were searched as it
// mapped them, with all that their tables say. Without those tables some of their bytes look like such instructions and are none. So
// pages that still are as their files have them are not searched again.

// searchedMap is a map of a file whose code was searched.
type searchedMap struct {
	from, to uint64
	file     string // as a line of maps tells it: device, inode and name
	offset   uint64 // of from in that file
}

// maxSearchedMaps bounds the maps that are known in one address space.
const maxSearchedMaps = 4096

// searched notes that a map of a file was searched except for a rest, and digests the pages that the engine has touched.
func (m *Machine) searched(t *thread, addr, size, offset uint64, rest []machine.Span) {
	c := m.placesOf(t)
	c.files = slices.DeleteFunc(c.files, func(f searchedMap) bool { return f.from < addr+size && f.to > addr })
	text := lineAt(t.realMaps(), addr)
	line, ok := machine.ParseMap(text)
	if !ok || line.Shared || line.Offset-line.Start != offset-addr {
		return
	}
	from := addr
	for _, r := range append(slices.Clone(rest), machine.Span{From: addr + size}) {
		if from < r.From && len(c.files) < maxSearchedMaps {
			c.files = append(c.files, searchedMap{from, r.From, fileOf(text), offset + from - addr})
		}
		from = r.To
	}
	if c.pages == nil {
		c.pages = map[uint64]uint64{}
	}
	for page := range c.touchedPages(addr, addr+size) {
		if sum, ok := t.pageSum(page); ok {
			c.pages[page] = sum
		}
	}
}

// touchedPages are the pages of a range in which the engine has set breakpoints, or which it watches.
func (c *chancePlaces) touchedPages(from, to uint64) map[uint64]bool {
	pages := map[uint64]bool{}
	for at := range c.at {
		if page := pageDown(at); page >= pageDown(from) && page < to {
			pages[page] = true
		}
	}
	for _, s := range c.suspects {
		if s.from >= pageDown(from) && s.from < to {
			pages[s.from] = true
		}
	}
	return pages
}

// pageSeed seeds the digests of pages, which never leave this process.
var pageSeed = maphash.MakeSeed()

// pageSum digests the program's content of a page, without breakpoints.
func (t *thread) pageSum(page uint64) (uint64, bool) {
	var b [pageSize]byte
	if t.see(page, b[:]) != len(b) {
		return 0, false
	}
	t.traps.restored(page, b[:])
	t.unbroken(page, b[:])
	t.chance.restored(page, b[:])
	return maphash.Bytes(pageSeed, b[:]), true
}

// asSearched reports whether a page still is as it was when its file was searched. line is that of the maps around it.
func (t *thread) asSearched(line *machine.RealMap, file string, page uint64, state dump.Page) bool {
	if t.chance == nil || line.Shared || line.Writable {
		return false
	}
	known := slices.ContainsFunc(t.chance.files, func(f searchedMap) bool {
		return page >= f.from && page < f.to && f.file == file && line.Offset-line.Start == f.offset-f.from
	})
	if !known || state == dump.OfFile {
		return known
	}
	was, ok := t.chance.pages[page]
	sum, read := t.pageSum(page)
	return ok && read && was == sum
}
