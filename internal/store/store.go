// Package store is the database in which workers and dashboards meet. It holds sets of values by key, blobs by digest, and leases.
//
// A database only grows by union: a value is in a set or not, and its bytes are its identity. So merging two databases is adding what one
// has to the other, in any order and any number of times. What would be a log elsewhere is a set here, whose values carry their writer and
// their number.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a database holds.
const (
	MaxKeyBytes   = 512
	MaxValueBytes = 1 << 20 // what is larger is a blob
	MaxBlobBytes  = 256 << 20
)

// Errors that callers handle.
var (
	// ErrReadOnly is the answer of a store that takes nothing.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrHeld is the answer for a lease that another holds.
	ErrHeld = errors.New("the lease is held by another process")
	// ErrNoBlob is the answer for a digest whose blob is not there.
	ErrNoBlob = errors.New("the store has no such blob")
	// ErrRefused is the answer of a server that does not take the user, the password or the token.
	ErrRefused = errors.New("the server refuses access")
	// ErrDamaged is the answer for a blob whose bytes are not those that were put.
	ErrDamaged = errors.New("the blob is damaged")
)

// Entry is a value of the set of a key.
type Entry struct {
	Key   string
	Value []byte
}

// Cursor is a place in the order in which a store gives its entries; "" is the beginning. It means something to the store only that gave it.
type Cursor string

// Digest is the SHA-256 of a blob's bytes, in hexadecimal digits.
type Digest string

// DigestOf computes the digest of bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// Valid reports whether a digest has the form of one.
func (d Digest) Valid() bool {
	b, err := hex.DecodeString(string(d))
	return err == nil && len(b) == sha256.Size && strings.ToLower(string(d)) == string(d)
}

// BlobInfo describes a blob in a list of blobs.
type BlobInfo struct {
	Digest    Digest    `json:"digest"`
	SizeBytes int64     `json:"size_bytes"` // as it is stored, compressed perhaps
	At        time.Time `json:"at"`         // when it was put last, by the clock of the store
}

// Store is a database. Its methods may be called by several goroutines at once, and several processes may use the same database.
type Store interface {
	// String names the database for people, without passwords.
	String() string
	// Add puts entries into their sets. When it returns nil, all of them are durable; else some may be.
	Add(ctx context.Context, entries ...Entry) error
	// Read gives the entries whose keys begin with prefix and that came behind a cursor, and returns the cursor behind them.
	// prefix may be one of AnyOf, here and below. An entry that was added before Read began is given. The same entry may be given
	// more than once, also by a later Read. A cursor that the store does not know any more is the beginning. An error of each
	// ends reading and is returned.
	Read(ctx context.Context, prefix string, from Cursor, each func(Entry) error) (Cursor, error)
	// Wait returns when there may be entries behind the cursor, and now and then although there are none.
	Wait(ctx context.Context, prefix string, from Cursor) error
	// Drop removes the entries for which drop is true, and reports how many. A union with another database may bring them back. drop may be
	// asked more than once about an entry, and answers the same each time.
	Drop(ctx context.Context, prefix string, drop func(Entry) bool) (int, error)
	// Compact removes what the database has stored more than once, such as entries that several writers have added, and reports how many.
	Compact(ctx context.Context) (int, error)

	// PutBlob stores bytes, durably, under their digest. Who names a blob in an entry puts it first.
	PutBlob(ctx context.Context, b []byte) (Digest, error)
	// Blob gives the bytes of a digest. It checks them against it: ErrDamaged.
	Blob(ctx context.Context, d Digest) ([]byte, error)
	// Blobs lists all blobs, in any order.
	Blobs(ctx context.Context, each func(BlobInfo) error) error
	// DropBlob removes a blob, if it is there.
	DropBlob(ctx context.Context, d Digest) error

	// Lease takes the lease of a name for a holder, or extends it where the holder has it, until ttl from now. ErrHeld means that
	// another holder has it. Only holders keep from doing something twice: what they write must be right in any case.
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error)
	// Release ends the lease of a name, if the holder has it.
	Release(ctx context.Context, name, holder string) error

	Close() error
}

// AnyOf makes a prefix that stands for several: keys that begin with any of them.
func AnyOf(prefixes ...string) string { return strings.Join(prefixes, anyOf) }

// anyOf divides prefixes; no key has it.
const anyOf = "\n"

// Prefixes are those for which a prefix stands.
func Prefixes(prefix string) []string { return strings.Split(prefix, anyOf) }

// Under gives what reports whether a key begins with a prefix.
func Under(prefix string) func(key string) bool {
	list := Prefixes(prefix)
	return func(key string) bool {
		for _, p := range list {
			if strings.HasPrefix(key, p) {
				return true
			}
		}
		return false
	}
}

// Lease is a claim on a piece of work.
type Lease struct {
	Name   string `json:"name"`
	Holder string `json:"holder"`
	// Epoch grows each time that the holder changes.
	Epoch   uint64    `json:"epoch"`
	Expires time.Time `json:"expires"` // by the clock of the store
}

// Held is the error for others than the holder: ErrHeld.
func (l Lease) Held() error {
	return fmt.Errorf("%w: %s has %s until %s", ErrHeld, l.Holder, l.Name, l.Expires.UTC().Format(time.RFC3339))
}

// taken decides about a lease as it stands (zero if there is none): it is pure, for stores that have no such decision of their own.
func (l Lease) taken(name, holder string, ttl time.Duration, now time.Time) (Lease, error) {
	if l.Holder != holder && l.Holder != "" && now.Before(l.Expires) {
		return l, l.Held()
	}
	next := Lease{Name: name, Holder: holder, Epoch: l.Epoch, Expires: now.Add(ttl)}
	if l.Holder != holder || !now.Before(l.Expires) {
		next.Epoch++
	}
	return next, nil
}

// released is the lease after a holder gave it up, which changes nothing where another has it.
func (l Lease) released(holder string) Lease {
	if l.Holder == holder {
		l.Holder, l.Expires = "", time.Time{}
	}
	return l
}

// Check reports what makes an entry one that no store takes.
func (e *Entry) Check() error {
	switch {
	case e.Key == "" || len(e.Key) > MaxKeyBytes:
		return fmt.Errorf("store: a key has 1 to %d bytes, but this one has %d", MaxKeyBytes, len(e.Key))
	case !utf8.ValidString(e.Key) || strings.ContainsFunc(e.Key, unicode.IsControl):
		return fmt.Errorf("store: the key %q has characters that are not allowed in keys", e.Key)
	case len(e.Value) > MaxValueBytes:
		return fmt.Errorf("store: a value of %s has %d bytes; the limit is %d, and larger values must be blobs", e.Key, len(e.Value), MaxValueBytes)
	}
	return nil
}

// CheckEntries reports what makes one of some entries one that no store takes.
func CheckEntries(entries []Entry) error {
	for i := range entries {
		if err := entries[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// CheckBlob reports what makes bytes a blob that no store takes.
func CheckBlob(b []byte) error {
	if len(b) > MaxBlobBytes {
		return fmt.Errorf("store: a blob has %d bytes; the limit is %d", len(b), MaxBlobBytes)
	}
	return nil
}

// Watch gives all entries whose keys begin with prefix, and then those that come, until ctx ends or each fails. After all that were there,
// and after each bundle of later ones, it calls caught, if it is not nil.
func Watch(ctx context.Context, s Store, prefix string, from Cursor, each func(Entry) error, caught func(Cursor) error) error {
	for {
		next, err := s.Read(ctx, prefix, from, each)
		if err != nil {
			return err
		}
		if from = next; caught != nil {
			if err := caught(from); err != nil {
				return err
			}
		}
		if err := s.Wait(ctx, prefix, from); err != nil {
			return err
		}
	}
}

// Entries are added in bundles of so many, or so many bytes.
const (
	bundleEntries = 512
	bundleBytes   = 4 << 20
)

// Bundler adds entries to a store in bundles: as many at once as a store takes well.
type Bundler struct {
	To     Store
	Added  int // entries that To has taken
	bundle []Entry
	size   int
}

// Add takes in an entry, and adds the bundle to the store when it is full.
func (b *Bundler) Add(ctx context.Context, e Entry) error {
	b.bundle, b.size = append(b.bundle, e), b.size+len(e.Key)+len(e.Value)
	if len(b.bundle) < bundleEntries && b.size < bundleBytes {
		return nil
	}
	return b.Flush(ctx)
}

// Flush adds what was taken in and not yet added.
func (b *Bundler) Flush(ctx context.Context) error {
	if len(b.bundle) == 0 {
		return nil
	}
	err := b.To.Add(ctx, b.bundle...)
	if err == nil {
		b.Added += len(b.bundle)
	}
	b.bundle, b.size = nil, 0
	return err
}

// Bundles divides entries into bundles that a store takes at once.
func Bundles(entries []Entry) iter.Seq[[]Entry] {
	return func(yield func([]Entry) bool) {
		from, size := 0, 0
		for i := range entries {
			size += len(entries[i].Key) + len(entries[i].Value)
			if i+1-from >= bundleEntries || size >= bundleBytes || i+1 == len(entries) {
				if !yield(entries[from : i+1]) {
					return
				}
				from, size = i+1, 0
			}
		}
	}
}

// checker is a store that has more to check than what it gives.
type checker interface {
	Check(ctx context.Context, report func(what, damage string)) error
}

// Check reads all of a database, and reports what is damaged and how.
func Check(ctx context.Context, s Store, report func(what, damage string)) error {
	if c, ok := s.(checker); ok {
		return c.Check(ctx, report)
	}
	if _, err := s.Read(ctx, "", "", func(e Entry) error {
		if err := e.Check(); err != nil {
			report(e.Key, err.Error())
		}
		return nil
	}); err != nil {
		return err
	}
	return checkBlobs(ctx, s, func(d Digest) string { return "blob " + string(d) }, report)
}

// checkBlobs reads all blobs; name is how a damaged one is called.
func checkBlobs(ctx context.Context, s Store, name func(Digest) string, report func(what, damage string)) error {
	return s.Blobs(ctx, func(info BlobInfo) error {
		_, err := s.Blob(ctx, info.Digest)
		if errors.Is(err, ErrDamaged) {
			report(name(info.Digest), err.Error())
			return nil
		}
		if errors.Is(err, ErrNoBlob) {
			return nil // dropped since it was listed
		}
		return err
	})
}

// Damage is a part of a database that cannot be read.
type Damage struct {
	What   string `json:"what"` // a file of a folder, a blob, a key
	Damage string `json:"damage"`
}

// damaged is a store that knows of damage.
type damaged interface{ Damages() []Damage }

// Damages lists what reading a database has found damaged, in what it read last. A store gives what it can read without an error: who needs all of it asks for
// these, too.
func Damages(s Store) []Damage {
	if d, ok := s.(damaged); ok {
		return d.Damages()
	}
	return nil
}

// Merged counts what a merge has added.
type Merged struct {
	Entries int `json:"entries"`
	Blobs   int `json:"blobs"`
}

// Merge adds the entries and blobs of a database to another that the other lacks. Blobs come first, so that no entry names a blob that is not
// there.
func Merge(ctx context.Context, to, from Store) (m Merged, err error) {
	had := map[Digest]bool{}
	if err := to.Blobs(ctx, func(i BlobInfo) error { had[i.Digest] = true; return nil }); err != nil {
		return m, err
	}
	err = from.Blobs(ctx, func(i BlobInfo) error {
		if had[i.Digest] {
			return nil
		}
		m.Blobs++
		return copyBlob(ctx, to, from, i.Digest)
	})
	if err != nil {
		return m, err
	}
	if a, ok := to.(*Dir); ok {
		if b, ok := from.(*Dir); ok {
			m.Entries, err = a.copySegments(ctx, b)
			return m, err
		}
	}
	has := map[Identity]bool{}
	if _, err = to.Read(ctx, "", "", func(e Entry) error { has[e.Identity()] = true; return nil }); err != nil {
		return m, err
	}
	adds := Bundler{To: to}
	_, err = from.Read(ctx, "", "", func(e Entry) error {
		id := e.Identity()
		if has[id] {
			return nil
		}
		has[id] = true
		return adds.Add(ctx, e)
	})
	if err == nil {
		err = adds.Flush(ctx)
	}
	m.Entries = adds.Added
	return m, err
}

func copyBlob(ctx context.Context, to, from Store, d Digest) error {
	b, err := from.Blob(ctx, d)
	if err == nil {
		_, err = to.PutBlob(ctx, b)
	}
	return err
}

// Identity is a digest of an entry: equal entries have equal ones.
type Identity [sha256.Size]byte

// Identity computes that of an entry.
func (e *Entry) Identity() (id Identity) {
	h := sha256.New()
	h.Write([]byte(e.Key))
	h.Write([]byte{0}) // which no key has
	h.Write(e.Value)
	h.Sum(id[:0])
	return id
}
