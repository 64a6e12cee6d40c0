package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a database in a folder. Each process that adds to it appends to a segment of its own, so that there is no lock, and copying the files
// of one folder into another merges the two.
//
//	log/NAME.seg          entries (see segment.go)
//	blob/ab/DIGEST.zst    blobs, compressed
//	lease/NAME            leases, changed under a lock
//	bloodhound-store      the version of all this (see version.go)
//	.gitignore            of everything
type Dir struct {
	path string

	mu      sync.Mutex
	segment *os.File // of this process; nil until it adds something
	size    int64    // of its whole frames
	number  int
	name    string // of this process in segments

	packer *Packer

	found   sync.Mutex
	damages map[string]string // of segments by name, as they were read last
}

// maxSegmentBytes is the size from which on a process begins another segment.
const maxSegmentBytes = 16 << 20

const (
	logFolder   = "log"
	blobFolder  = "blob"
	leaseFolder = "lease"
	segmentEnd  = ".seg"
	blobEnd     = ".zst"
)

// OpenDir opens the database in a folder, which is made if it is missing. ErrVersion: a later program wrote it.
func OpenDir(path string) (*Dir, error) {
	if _, err := readVersion(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(path, logFolder)); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		if err := writeVersion(path, len(upgrades)); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{logFolder, blobFolder, leaseFolder} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o777); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
	}
	ignore := filepath.Join(path, ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o666); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
	}
	d := &Dir{path: path, name: strings.ToLower(rand.Text()[:16]), packer: NewPacker(), damages: map[string]string{}}
	return d, nil
}

func (d *Dir) String() string { return d.path }

// Path is the folder.
func (d *Dir) Path() string { return d.path }

// Add implements Store.
func (d *Dir) Add(ctx context.Context, entries ...Entry) error {
	if err := cmp.Or(ctx.Err(), CheckEntries(entries)); err != nil || len(entries) == 0 {
		return err
	}
	var b []byte
	for i := range entries {
		b = AppendFrame(b, &entries[i])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.append(b); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// append writes frames durably. After an error the segment ends where it did before, if that can be had, and the next frames go to another:
// a reader that has seen the end that was cut off would take an equally long one for the same.
func (d *Dir) append(b []byte) error {
	if d.segment != nil && d.size+int64(len(b)) > maxSegmentBytes {
		d.end()
	}
	if d.segment == nil {
		if err := d.createSegment(); err != nil {
			return err
		}
	}
	_, err := d.segment.WriteAt(b, d.size)
	if err == nil {
		err = d.segment.Sync()
	}
	if err == nil {
		d.size += int64(len(b))
		return nil
	}
	if d.size == int64(len(segmentMagic)) {
		os.Remove(d.segment.Name())
	} else {
		d.segment.Truncate(d.size)
	}
	d.end()
	return err
}

// createSegment makes a segment.
func (d *Dir) createSegment() error {
	folder := filepath.Join(d.path, logFolder)
	name := filepath.Join(folder, fmt.Sprintf("%s-%06d%s", d.name, d.number, segmentEnd))
	d.number++
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	// The lock tells others that a writer lives.
	if err = unix.Flock(int(f.Fd()), unix.LOCK_SH); err == nil {
		_, err = f.WriteString(segmentMagic)
	}
	if err == nil {
		err = syncFolder(folder)
	}
	if err != nil {
		f.Close()
		os.Remove(name)
		return err
	}
	d.segment, d.size = f, int64(len(segmentMagic))
	return nil
}

func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// segments lists the sizes of segments by name.
func (d *Dir) segments() (map[string]int64, error) {
	list, err := os.ReadDir(filepath.Join(d.path, logFolder))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	sizes := make(map[string]int64, len(list))
	for _, f := range list {
		if !strings.HasSuffix(f.Name(), segmentEnd) {
			continue
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped by another process
		}
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		sizes[f.Name()] = info.Size()
	}
	return sizes, nil
}

// place is how far a segment was read, and how large it was then: a write that was cut short may follow its entries.
type place struct {
	At   int64 `json:"at"`
	Size int64 `json:"size"`
}

// places is a Cursor of a Dir, by segment.
func places(c Cursor) map[string]place {
	at := map[string]place{}
	if json.Unmarshal([]byte(c), &at) != nil {
		return map[string]place{}
	}
	return at
}

// readAhead is how many segments are read while the caller takes the entries of others.
const readAhead = 4

// part is the part of a segment that was read.
type part struct {
	at      int64
	entries []Entry
	err     error
}

// Read implements Store. Behind damage in a segment nothing of it is read; Damages has it then.
func (d *Dir) Read(ctx context.Context, prefix string, from Cursor, each func(Entry) error) (Cursor, error) {
	sizes, err := d.segments()
	if err != nil {
		return from, err
	}
	d.forget(sizes)
	before, next := places(from), make(map[string]place, len(sizes))
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		next[name] = place{before[name].At, sizes[name]}
		if sizes[name] != before[name].Size {
			changed = append(changed, name)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	parts := d.readParts(ctx, prefix, changed, next)
	for _, name := range changed {
		var p part
		select {
		case one := <-parts:
			p = <-one // its reader ends with ctx, too
		case <-ctx.Done():
			p.err = ctx.Err()
		}
		if p.err != nil {
			return from, p.err
		}
		for _, e := range p.entries {
			if err := each(e); err != nil {
				return from, err
			}
		}
		next[name] = place{p.at, sizes[name]}
	}
	b, err := json.Marshal(next)
	return Cursor(b), err
}

// readParts reads segments from places on, a few at a time, and gives them in their order.
func (d *Dir) readParts(ctx context.Context, prefix string, names []string, from map[string]place) <-chan chan part {
	at := make([]int64, len(names))
	for i, name := range names {
		at[i] = from[name].At
	}
	under := Under(prefix)
	parts := make(chan chan part, readAhead)
	go func() {
		for i, name := range names {
			one := make(chan part, 1)
			select {
			case parts <- one:
			case <-ctx.Done():
				return
			}
			go func() {
				var p part
				p.at, _, p.err = d.scan(name, at[i], func(e Entry) error {
					if under(e.Key) {
						p.entries = append(p.entries, e)
					}
					return ctx.Err()
				})
				one <- p
			}()
		}
	}()
	return parts
}

// scan gives the entries of a segment from a place on, and returns the place behind them.
func (d *Dir) scan(name string, from int64, each func(Entry) error) (at int64, damage, err error) {
	defer func() {
		if err == nil {
			d.note(name, at, damage)
		}
	}()
	f, err := os.Open(filepath.Join(d.path, logFolder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return from, nil, nil // dropped by another process
	}
	if err != nil {
		return from, nil, fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return from, nil, fmt.Errorf("store: %w", err)
	}
	b := make([]byte, max(info.Size()-from, 0))
	n, err := f.ReadAt(b, from)
	if err != nil && err != io.EOF {
		return from, nil, fmt.Errorf("store: %w", err)
	}
	b = b[:n]
	if from == 0 {
		if !bytes.HasPrefix(b, []byte(segmentMagic)) {
			if len(b) < len(segmentMagic) && strings.HasPrefix(segmentMagic, string(b)) {
				return 0, nil, nil
			}
			if version, later := laterSegment(b); later {
				return 0, nil, fmt.Errorf("store: %w", errLater(filepath.Join(d.path, logFolder, name), version, segmentVersion))
			}
			return 0, errors.New("it is not a segment"), nil
		}
		b, from = b[len(segmentMagic):], int64(len(segmentMagic))
	}
	whole, damage, err := Frames(b, each)
	return from + int64(whole), damage, err
}

// note remembers the damage of a segment, or that it has none.
func (d *Dir) note(name string, at int64, damage error) {
	d.found.Lock()
	defer d.found.Unlock()
	delete(d.damages, name)
	if damage != nil {
		d.damages[name] = fmt.Sprintf("after byte %d: %v; the entries before it can be read", at, damage)
	}
}

// forget leaves out the damage of segments that are gone.
func (d *Dir) forget(sizes map[string]int64) {
	d.found.Lock()
	defer d.found.Unlock()
	maps.DeleteFunc(d.damages, func(name, _ string) bool { _, there := sizes[name]; return !there })
}

// Damages lists the segments that were found damaged.
func (d *Dir) Damages() (list []Damage) {
	d.found.Lock()
	defer d.found.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.damages)) {
		list = append(list, Damage{filepath.Join(logFolder, name), d.damages[name]})
	}
	return list
}

// pollEvery is how often a folder is looked at for changes, and waitMost how long Wait waits for one.
const (
	pollEvery = 200 * time.Millisecond
	waitMost  = 10 * time.Second
)

// Wait implements Store.
func (d *Dir) Wait(ctx context.Context, _ string, from Cursor) error {
	at := places(from)
	until := time.Now().Add(waitMost)
	for time.Now().Before(until) {
		sizes, err := d.segments()
		if err != nil {
			return err
		}
		for name, size := range sizes {
			if size != at[name].Size {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// Compact implements Store. It drops all but the first of equal entries: Drop asks once about each.
func (d *Dir) Compact(ctx context.Context) (int, error) {
	seen := map[Identity]bool{}
	return d.Drop(ctx, "", func(e Entry) bool {
		id := e.Identity()
		had := seen[id]
		seen[id] = true
		return had
	})
}

// Drop implements Store. It moves what remains of a segment that loses something into one of this process. A segment to which another
// process appends stays as it is. Two processes that did so at once could each take an entry for the one that the other leaves.
func (d *Dir) Drop(ctx context.Context, prefix string, drop func(Entry) bool) (int, error) {
	unlock, err := lockFile(filepath.Join(d.path, logFolder, ".lock"))
	if err != nil {
		return 0, err
	}
	defer unlock()
	d.mu.Lock()
	d.end()
	d.mu.Unlock()
	sizes, err := d.segments()
	if err != nil {
		return 0, err
	}
	under, dropped := Under(prefix), 0
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		n, err := d.dropOf(ctx, name, func(e Entry) bool { return under(e.Key) && drop(e) })
		dropped += n
		if err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

func (d *Dir) dropOf(ctx context.Context, name string, drop func(Entry) bool) (int, error) {
	file := filepath.Join(d.path, logFolder, name)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return 0, nil // its writer lives
	}
	var kept []Entry
	n := 0
	_, damage, err := d.scan(name, 0, func(e Entry) error {
		if drop(e) {
			n++
		} else {
			kept = append(kept, e)
		}
		return ctx.Err()
	})
	if err != nil || n == 0 || damage != nil {
		return 0, err
	}
	for part := range Bundles(kept) {
		if err := d.Add(ctx, part...); err != nil {
			return 0, err
		}
	}
	if err := os.Remove(file); err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	return n, nil
}

// beforeRename is where a test ends the process, while a file is written but has no name yet.
var beforeRename = func(name string) {}

// writeWhole makes a file that is there as a whole or not at all, and durable.
func writeWhole(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	beforeRename(name)
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(name))
	}
	return err
}

func (d *Dir) blobFile(digest Digest) string {
	return filepath.Join(d.path, blobFolder, string(digest[:2]), string(digest)+blobEnd)
}

// PutBlob implements Store.
func (d *Dir) PutBlob(_ context.Context, b []byte) (Digest, error) {
	if err := CheckBlob(b); err != nil {
		return "", err
	}
	digest := DigestOf(b)
	file := d.blobFile(digest)
	// A blob that is put again is as young as a new one.
	if now := time.Now(); os.Chtimes(file, now, now) == nil {
		return digest, nil
	}
	err := os.MkdirAll(filepath.Dir(file), 0o777)
	if err == nil {
		err = writeWhole(file, d.packer.Pack(b))
	}
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return digest, nil
}

// Blob implements Store.
func (d *Dir) Blob(_ context.Context, digest Digest) ([]byte, error) {
	if !digest.Valid() {
		return nil, fmt.Errorf("%w: %q is not a digest", ErrNoBlob, digest)
	}
	packed, err := os.ReadFile(d.blobFile(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoBlob, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return d.packer.Unpack(digest, packed)
}

// Blobs implements Store. Sizes are those of the files.
func (d *Dir) Blobs(ctx context.Context, each func(BlobInfo) error) error {
	files, err := filepath.Glob(filepath.Join(d.path, blobFolder, "*", "*"+blobEnd))
	if err != nil {
		return err
	}
	for _, file := range files {
		digest := Digest(strings.TrimSuffix(filepath.Base(file), blobEnd))
		info, err := os.Stat(file)
		if err != nil || !digest.Valid() {
			continue
		}
		if err := cmp.Or(ctx.Err(), each(BlobInfo{digest, info.Size(), info.ModTime()})); err != nil {
			return err
		}
	}
	return nil
}

// DropBlob implements Store.
func (d *Dir) DropBlob(_ context.Context, digest Digest) error {
	if !digest.Valid() {
		return nil
	}
	if err := os.Remove(d.blobFile(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// lockFile takes the lock of a file, which is made if it is missing.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("store: lock of %s: %w", name, err)
	}
	return func() { f.Close() }, nil
}

// changeLease changes a lease under a lock that all processes of the machine, and by most network file systems others, respect.
func (d *Dir) changeLease(name string, change func(Lease) (Lease, error)) (Lease, error) {
	folder := filepath.Join(d.path, leaseFolder)
	unlock, err := lockFile(filepath.Join(folder, ".lock"))
	if err != nil {
		return Lease{}, err
	}
	defer unlock()
	file := filepath.Join(folder, string(DigestOf([]byte(name)))[:32])
	var l Lease
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l = Lease{} // it was cut short by a crash of the machine
	}
	next, err := change(l)
	if err != nil {
		return next, err
	}
	// A crash of the machine may lose a lease; its work is then done twice, which is allowed.
	if b, err = json.Marshal(next); err == nil {
		err = os.WriteFile(file+".new", b, 0o666)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return Lease{}, fmt.Errorf("store: %w", err)
	}
	return next, nil
}

// Lease implements Store.
func (d *Dir) Lease(_ context.Context, name, holder string, ttl time.Duration) (Lease, error) {
	return d.changeLease(name, func(l Lease) (Lease, error) { return l.taken(name, holder, ttl, time.Now()) })
}

// Release implements Store.
func (d *Dir) Release(_ context.Context, name, holder string) error {
	_, err := d.changeLease(name, func(l Lease) (Lease, error) { return l.released(holder), nil })
	return err
}

// Check reads all of the database, and reports each damage.
func (d *Dir) Check(ctx context.Context, report func(what, damage string)) error {
	sizes, err := d.segments()
	if err != nil {
		return err
	}
	d.forget(sizes)
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if _, _, err := d.scan(name, 0, func(Entry) error { return ctx.Err() }); err != nil {
			return err
		}
	}
	for _, x := range d.Damages() {
		report(x.What, x.Damage)
	}
	return checkBlobs(ctx, d, func(digest Digest) string {
		return filepath.Join(blobFolder, string(digest[:2]), string(digest)+blobEnd)
	}, report)
}

// Close implements Store.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
	return nil
}

// end ends the segment of this process, if there is one.
func (d *Dir) end() {
	if d.segment != nil {
		d.segment.Close()
		d.segment = nil
	}
}

// copySegments copies the segments of another folder that are missing here, or longer there, and returns how many entries those have.
func (d *Dir) copySegments(ctx context.Context, from *Dir) (entries int, err error) {
	have, err := d.segments()
	if err != nil {
		return 0, err
	}
	theirs, err := from.segments()
	if err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if theirs[name] <= have[name] {
			if _, _, err := from.scan(name, 0, func(Entry) error { return ctx.Err() }); err != nil { // which may be damaged
				return entries, err
			}
			continue
		}
		mine := int64(0)
		if have[name] > 0 {
			if mine, _, err = d.scan(name, 0, func(Entry) error { return nil }); err != nil {
				return entries, err
			}
		}
		b := []byte(segmentMagic)
		at, _, err := from.scan(name, 0, func(e Entry) error {
			b = AppendFrame(b, &e)
			entries++
			return ctx.Err()
		})
		if err != nil {
			return entries, err
		}
		if at <= mine || at <= int64(len(segmentMagic)) {
			continue
		}
		if err := writeWhole(filepath.Join(d.path, logFolder, name), b); err != nil {
			return entries, fmt.Errorf("store: %w", err)
		}
	}
	return entries, nil
}
