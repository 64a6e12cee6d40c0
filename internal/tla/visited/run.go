package visited

import (
	"encoding/binary"
	"sort"
)

// numbered is a fingerprint with its number.
type numbered struct {
	key uint64
	id  int32
}

const (
	entryBytes   = 12
	entriesAPage = 341
	pageBytes    = entriesAPage * entryBytes // a bit less than a page of a file system
	pagesAtOnce  = 64
)

// run is a list of fingerprints on the disk, in their order. firsts, in memory, are the first ones of each page.
type run struct {
	file   *file
	firsts []uint64
	count  int
	page   []byte // room for one
	number int    // of the page that is there; -1: none
}

// find gives the number of a fingerprint.
func (r *run) find(key uint64) (id int32, found bool, err error) {
	page := sort.Search(len(r.firsts), func(i int) bool { return r.firsts[i] > key }) - 1
	if page < 0 {
		return 0, false, nil
	}
	n := min(entriesAPage, r.count-page*entriesAPage)
	if page != r.number {
		r.number = -1
		if err := r.file.read(r.page[:n*entryBytes], int64(page)*pageBytes); err != nil {
			return 0, false, err
		}
		r.number = page
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(r.page[i*entryBytes:]) }
	i := sort.Search(n, func(i int) bool { return at(i) >= key })
	if i == n || at(i) != key {
		return 0, false, nil
	}
	return int32(binary.LittleEndian.Uint32(r.page[i*entryBytes+8:])), true, nil
}

// runWriter writes a run.
type runWriter struct {
	run
	disk   *Disk
	buffer []byte
}

func (d *Disk) newRun() (*runWriter, error) {
	f, err := d.file()
	if err != nil {
		return nil, err
	}
	return &runWriter{run: run{file: f, page: make([]byte, pageBytes), number: -1}, disk: d, buffer: make([]byte, 0, pagesAtOnce*pageBytes)}, nil
}

// add adds a fingerprint that is greater than those before.
func (w *runWriter) add(x numbered) error {
	if w.count%entriesAPage == 0 {
		w.firsts = append(w.firsts, x.key)
	}
	w.count++
	w.buffer = binary.LittleEndian.AppendUint64(w.buffer, x.key)
	w.buffer = binary.LittleEndian.AppendUint32(w.buffer, uint32(x.id))
	if len(w.buffer) < cap(w.buffer) {
		return nil
	}
	return w.end()
}

// end writes what was added.
func (w *runWriter) end() error {
	if w.disk.stop() {
		return ErrStopped
	}
	err := w.file.append(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

// merge makes one run of two.
func (d *Disk) merge(a, b *run) (*run, error) {
	w, err := d.newRun()
	if err != nil {
		return nil, err
	}
	x, y := a.reader(), b.reader()
	p, some := x.next()
	q, more := y.next()
	for (some || more) && err == nil {
		if some && (!more || p.key < q.key) {
			err = w.add(p)
			p, some = x.next()
		} else {
			err = w.add(q)
			q, more = y.next()
		}
	}
	for _, e := range []error{err, x.err, y.err, w.end()} {
		if e != nil {
			w.file.close()
			return nil, e
		}
	}
	return &w.run, nil
}

// runReader gives the fingerprints of a run in their order.
type runReader struct {
	run    *run
	read   int
	space  []byte // room for some pages
	buffer []byte // what of it was not given yet
	err    error
}

func (r *run) reader() *runReader { return &runReader{run: r} }

// next is the next one, if there is one more.
func (r *runReader) next() (x numbered, ok bool) {
	if r.err != nil || r.read == r.run.count {
		return x, false
	}
	if len(r.buffer) == 0 {
		const atOnce = pagesAtOnce * entriesAPage
		if r.space == nil {
			r.space = make([]byte, min(atOnce, r.run.count)*entryBytes)
		}
		r.buffer = r.space[:min(atOnce, r.run.count-r.read)*entryBytes]
		if r.err = r.run.file.read(r.buffer, int64(r.read)*entryBytes); r.err != nil {
			return x, false
		}
	}
	x = numbered{binary.LittleEndian.Uint64(r.buffer), int32(binary.LittleEndian.Uint32(r.buffer[8:]))}
	r.buffer = r.buffer[entryBytes:]
	r.read++
	return x, true
}
