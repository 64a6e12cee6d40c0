package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a database in this process, for tests.
type Memory struct {
	mu      sync.Mutex
	order   []Entry // as they came
	has     map[Identity]bool
	era     int // how often entries were dropped, which moves the others
	blobs   map[Digest]memoryBlob
	leases  map[string]Lease
	changed chan struct{} // closed at the next change
}

type memoryBlob struct {
	bytes []byte
	at    time.Time
}

// NewMemory makes an empty database.
func NewMemory() *Memory {
	return &Memory{has: map[Identity]bool{}, blobs: map[Digest]memoryBlob{}, leases: map[string]Lease{}, changed: make(chan struct{})}
}

func (m *Memory) String() string { return "memory:" }

// Add implements Store.
func (m *Memory) Add(ctx context.Context, entries ...Entry) error {
	if err := cmp.Or(ctx.Err(), CheckEntries(entries)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range entries {
		if id := entries[i].Identity(); !m.has[id] {
			m.has[id] = true
			m.order = append(m.order, Entry{entries[i].Key, bytes.Clone(entries[i].Value)})
		}
	}
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

func (m *Memory) cursor() Cursor { return Cursor(fmt.Sprintf("%d/%d", m.era, len(m.order))) }

// behind is how many entries are before a cursor.
func (m *Memory) behind(c Cursor) int {
	var era, n int
	if _, err := fmt.Sscanf(string(c), "%d/%d", &era, &n); err != nil || era != m.era || n < 0 || n > len(m.order) {
		return 0
	}
	return n
}

// Read implements Store.
func (m *Memory) Read(ctx context.Context, prefix string, from Cursor, each func(Entry) error) (Cursor, error) {
	m.mu.Lock()
	list, next := m.order[m.behind(from):], m.cursor()
	m.mu.Unlock()
	under := Under(prefix)
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return from, err
		}
		if under(e.Key) {
			if err := each(e); err != nil {
				return from, err
			}
		}
	}
	return next, nil
}

// Wait implements Store.
func (m *Memory) Wait(ctx context.Context, _ string, from Cursor) error {
	m.mu.Lock()
	changed, here := m.changed, m.cursor() == from
	m.mu.Unlock()
	if !here {
		return ctx.Err()
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Drop implements Store.
func (m *Memory) Drop(_ context.Context, prefix string, drop func(Entry) bool) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	under := Under(prefix)
	var kept []Entry
	for _, e := range m.order {
		if under(e.Key) && drop(e) {
			delete(m.has, e.Identity())
			continue
		}
		kept = append(kept, e)
	}
	n := len(m.order) - len(kept)
	if n > 0 {
		m.order = kept
		m.era++
	}
	return n, nil
}

// Compact implements Store. Nothing is stored more than once.
func (m *Memory) Compact(ctx context.Context) (int, error) { return 0, ctx.Err() }

// PutBlob implements Store.
func (m *Memory) PutBlob(_ context.Context, b []byte) (Digest, error) {
	if err := CheckBlob(b); err != nil {
		return "", err
	}
	d := DigestOf(b)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blobs[d] = memoryBlob{bytes.Clone(b), time.Now()}
	return d, nil
}

// Blob implements Store.
func (m *Memory) Blob(_ context.Context, d Digest) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[d]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoBlob, d)
	}
	return slices.Clone(b.bytes), nil
}

// Blobs implements Store.
func (m *Memory) Blobs(_ context.Context, each func(BlobInfo) error) error {
	m.mu.Lock()
	var list []BlobInfo
	for d, b := range m.blobs {
		list = append(list, BlobInfo{d, int64(len(b.bytes)), b.at})
	}
	m.mu.Unlock()
	for _, info := range list {
		if err := each(info); err != nil {
			return err
		}
	}
	return nil
}

// DropBlob implements Store.
func (m *Memory) DropBlob(_ context.Context, d Digest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, d)
	return nil
}

// Lease implements Store.
func (m *Memory) Lease(_ context.Context, name, holder string, ttl time.Duration) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, err := m.leases[name].taken(name, holder, ttl, time.Now())
	if err == nil {
		m.leases[name] = l
	}
	return l, err
}

// Release implements Store.
func (m *Memory) Release(_ context.Context, name, holder string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leases[name] = m.leases[name].released(holder)
	return nil
}

// Close implements Store.
func (m *Memory) Close() error { return nil }
