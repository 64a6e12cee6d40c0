package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Layered is a database in front of a shared one. What is added is durable when the local one has it; the shared one gets it as soon as it can be
// reached. What is read is the union. Where the shared one is away, Layered goes on with the local one, and Trouble says why.
type Layered struct {
	local, shared Store
	mark          string // file with the cursor up to which the shared database has what the local one has; "" is none
	stop          context.CancelFunc
	stopped       sync.WaitGroup
	poke          chan struct{}

	pushing sync.Mutex // held while something is copied
	sent    map[Digest]bool
	holder  string // of the lease by which one of the processes of a local database copies
	epoch   uint64 // of the lease when the mark was read

	mu      sync.Mutex
	pending []Entry   // that the local database could not take
	given   int       // how many of these the shared one has
	unsent  error     // why the last copy to the shared database failed
	unread  error     // why the last question to it failed
	askFrom time.Time // before then the shared database is not asked: it was away, and it took long to learn that
	owed    error     // of the local database
	pushed  Cursor
}

// retryEvery is how long Layered waits before it tries again to reach a database that failed.
const retryEvery = time.Second

// maxPending bounds what Layered holds in memory while the local database is full, in bytes.
const maxPending = 64 << 20

// NewLayered begins to copy what a local database has to a shared one. mark is a file that remembers how far this came.
func NewLayered(local, shared Store, mark string) *Layered {
	ctx, stop := context.WithCancel(context.Background())
	l := &Layered{local: local, shared: shared, mark: mark, stop: stop, poke: make(chan struct{}, 1), sent: map[Digest]bool{}, holder: rand.Text()}
	l.readMark()
	l.stopped.Go(func() { l.copy(ctx) })
	return l
}

// readMark takes in how far another process has copied.
func (l *Layered) readMark() {
	if l.mark == "" {
		return
	}
	if b, err := os.ReadFile(l.mark); err == nil {
		l.mu.Lock()
		l.pushed = Cursor(b)
		l.mu.Unlock()
	}
}

// A process that copies holds a lease for so long; others look after so long whether it still does.
const (
	pushLease = 10 * time.Second
	pushLook  = 5 * time.Second
)

// copies reports whether this process is the one of those with the same local database that copies. Where that cannot be known it is, too: what is
// copied twice does no harm.
func (l *Layered) copies(ctx context.Context) bool {
	l.mu.Lock()
	alone := l.mark == "" || len(l.pending) > 0
	l.mu.Unlock()
	if alone {
		return true
	}
	lease, err := l.local.Lease(ctx, "copy to "+filepath.Base(l.mark), l.holder, pushLease)
	if err == nil && lease.Epoch != l.epoch {
		l.epoch = lease.Epoch
		l.readMark()
	}
	return !errors.Is(err, ErrHeld)
}

func (l *Layered) String() string { return l.shared.String() + " through " + l.local.String() }

// Trouble says why the local database does not take what was added, and why the shared one is away; nil where it is not
// so.
func (l *Layered) Trouble() (local, shared error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed, cmp.Or(l.unsent, l.unread)
}

// Shared names the shared database.
func (l *Layered) Shared() string { return l.shared.String() }

// Refused asks the shared database whether it takes the user: ErrRefused. That it cannot be reached is no refusal.
func (l *Layered) Refused(ctx context.Context) error {
	if err := l.ask(ctx, func() error { return l.shared.Release(ctx, "access", l.holder) }); errors.Is(err, ErrRefused) {
		return err
	}
	return nil
}

// Add implements Store.
func (l *Layered) Add(ctx context.Context, entries ...Entry) error {
	if err := cmp.Or(ctx.Err(), CheckEntries(entries)); err != nil {
		return err
	}
	l.mu.Lock()
	held := len(l.pending) > 0
	l.mu.Unlock()
	var err error
	if !held {
		err = l.local.Add(ctx, entries...)
	}
	if held || err != nil {
		if err := l.hold(err, entries); err != nil {
			return err
		}
	}
	select {
	case l.poke <- struct{}{}:
	default:
	}
	return nil
}

// hold keeps entries in memory until the local database takes them.
func (l *Layered) hold(why error, entries []Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := 0
	for i := range l.pending {
		size += len(l.pending[i].Key) + len(l.pending[i].Value)
	}
	if size > maxPending {
		return l.owed
	}
	if why != nil {
		l.owed = why
	}
	l.pending = append(l.pending, entries...)
	return nil
}

// copy brings what the local database has to the shared one.
func (l *Layered) copy(ctx context.Context) {
	for ctx.Err() == nil {
		var later <-chan time.Time
		if l.copies(ctx) {
			err := l.push(ctx)
			l.mu.Lock()
			if err != nil || len(l.pending) > 0 {
				later = time.After(retryEvery)
			}
			l.mu.Unlock()
		} else {
			later = time.After(pushLook)
		}
		select {
		case <-ctx.Done():
		case <-later:
		case <-l.poke:
		}
	}
}

// push copies once.
func (l *Layered) push(ctx context.Context) error {
	l.pushing.Lock()
	defer l.pushing.Unlock()
	err := l.pushAll(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil || ctx.Err() == nil {
		l.unsent = err
	}
	return err
}

func (l *Layered) pushAll(ctx context.Context) error {
	l.mu.Lock()
	pending, from := slices.Clone(l.pending), l.pushed
	l.mu.Unlock()
	if len(pending) > 0 {
		err := l.local.Add(ctx, pending...)
		l.mu.Lock()
		if l.owed = err; err == nil {
			l.pending, l.given = slices.Delete(l.pending, 0, len(pending)), 0
		}
		l.mu.Unlock()
		if err != nil { // the shared one may take what the local one cannot
			if err := l.shared.Add(ctx, pending...); err != nil {
				return err
			}
			l.mu.Lock()
			l.given = len(pending)
			l.mu.Unlock()
		}
	}
	if err := l.pushBlobs(ctx); err != nil {
		return err
	}
	adds := Bundler{To: l.shared}
	next, err := l.local.Read(ctx, "", from, func(e Entry) error { return adds.Add(ctx, e) })
	if err == nil {
		err = adds.Flush(ctx)
	}
	if err != nil || next == from {
		return err
	}
	l.mu.Lock()
	l.pushed = next
	l.mu.Unlock()
	if l.mark != "" {
		if err := writeWhole(l.mark, []byte(next)); err != nil { // the shared database has all; the next process copies it again
			l.mu.Lock()
			l.owed = cmp.Or(l.owed, err)
			l.mu.Unlock()
		}
	}
	return nil
}

// pushBlobs copies the blobs that the shared database lacks. It asks for a list of those only once.
func (l *Layered) pushBlobs(ctx context.Context) error {
	var missing []Digest
	if err := l.local.Blobs(ctx, func(i BlobInfo) error {
		if !l.sent[i.Digest] {
			missing = append(missing, i.Digest)
		}
		return nil
	}); err != nil || len(missing) == 0 {
		return err
	}
	if len(l.sent) == 0 {
		if err := l.shared.Blobs(ctx, func(i BlobInfo) error { l.sent[i.Digest] = true; return nil }); err != nil {
			return err
		}
	}
	for _, d := range missing {
		if l.sent[d] {
			continue
		}
		if err := copyBlob(ctx, l.shared, l.local, d); err != nil {
			return err
		}
		l.sent[d] = true
	}
	return nil
}

// both is a Cursor of a Layered.
type both struct{ Local, Shared Cursor }

func bothOf(c Cursor) (b both) {
	if json.Unmarshal([]byte(c), &b) != nil {
		return both{}
	}
	return b
}

func (b both) cursor() Cursor {
	text, err := json.Marshal(b)
	if err != nil {
		panic("store: " + err.Error()) // two strings
	}
	return Cursor(text)
}

// waitShare is how much of its time a caller waits at most for a shared database that does not answer: one part of so many.
const waitShare = 10

// errAway stands for the error that the shared database gave a short while ago.
var errAway = errors.New("store: the shared database does not answer")

// ask calls the shared database, unless that cost too much time just now.
func (l *Layered) ask(ctx context.Context, call func() error) error {
	began := time.Now()
	l.mu.Lock()
	wait := began.Before(l.askFrom)
	l.mu.Unlock()
	if wait {
		return errAway
	}
	err := call()
	if ctx.Err() != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unread = nil
	if err != nil && !errors.Is(err, ErrHeld) {
		l.unread = err
		l.askFrom = time.Now().Add((waitShare - 1) * time.Since(began))
	}
	return err
}

// Read implements Store.
func (l *Layered) Read(ctx context.Context, prefix string, from Cursor, each func(Entry) error) (Cursor, error) {
	at := bothOf(from)
	var own error // of each, which no database has caused
	mine := func(e Entry) error {
		own = each(e)
		return own
	}
	var err error
	if at.Local, err = l.local.Read(ctx, prefix, at.Local, mine); err != nil {
		return from, err
	}
	l.ask(ctx, func() error {
		next, err := l.shared.Read(ctx, prefix, at.Shared, mine)
		if err == nil {
			at.Shared = next
		}
		if own != nil {
			return nil
		}
		return err
	})
	if own != nil || ctx.Err() != nil {
		return from, errors.Join(own, ctx.Err())
	}
	return at.cursor(), nil
}

// Wait implements Store.
func (l *Layered) Wait(ctx context.Context, prefix string, from Cursor) error {
	at := bothOf(from)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 2)
	go func() { done <- l.local.Wait(ctx, prefix, at.Local) }()
	go func() {
		err := l.shared.Wait(ctx, prefix, at.Shared)
		if err != nil && ctx.Err() == nil { // it is away
			select {
			case <-ctx.Done():
			case <-time.After(retryEvery):
			}
			err = nil
		}
		done <- err
	}()
	err := <-done
	cancel()
	<-done
	return err
}

// Drop implements Store.
func (l *Layered) Drop(ctx context.Context, prefix string, drop func(Entry) bool) (int, error) {
	l.pushing.Lock()
	defer l.pushing.Unlock()
	dropped := map[Identity]bool{}
	each := func(e Entry) bool {
		if !drop(e) {
			return false
		}
		dropped[e.Identity()] = true
		return true
	}
	for _, s := range []Store{l.local, l.shared} {
		if _, err := s.Drop(ctx, prefix, each); err != nil {
			return len(dropped), err
		}
	}
	return len(dropped), nil
}

// Compact implements Store.
func (l *Layered) Compact(ctx context.Context) (int, error) {
	l.pushing.Lock()
	defer l.pushing.Unlock()
	mine, err := l.local.Compact(ctx)
	if err != nil {
		return mine, err
	}
	theirs, err := l.shared.Compact(ctx)
	return mine + theirs, err
}

// Check checks both databases.
func (l *Layered) Check(ctx context.Context, report func(what, damage string)) error {
	for _, s := range []Store{l.local, l.shared} {
		if err := Check(ctx, s, func(what, damage string) { report(s.String()+": "+what, damage) }); err != nil {
			return err
		}
	}
	return nil
}

// Damages lists those of both databases.
func (l *Layered) Damages() (list []Damage) {
	for _, s := range []Store{l.local, l.shared} {
		for _, d := range Damages(s) {
			list = append(list, Damage{s.String() + ": " + d.What, d.Damage})
		}
	}
	return list
}

// PutBlob implements Store.
func (l *Layered) PutBlob(ctx context.Context, b []byte) (Digest, error) {
	d, err := l.local.PutBlob(ctx, b)
	if err != nil { // the local one is full, say
		return l.shared.PutBlob(ctx, b)
	}
	return d, nil
}

// Blob implements Store.
func (l *Layered) Blob(ctx context.Context, d Digest) ([]byte, error) {
	b, err := l.local.Blob(ctx, d)
	if errors.Is(err, ErrNoBlob) {
		return l.shared.Blob(ctx, d)
	}
	return b, err
}

// Blobs implements Store.
func (l *Layered) Blobs(ctx context.Context, each func(BlobInfo) error) error {
	given := map[Digest]bool{}
	if err := l.local.Blobs(ctx, func(i BlobInfo) error {
		given[i.Digest] = true
		return each(i)
	}); err != nil {
		return err
	}
	return l.shared.Blobs(ctx, func(i BlobInfo) error {
		if given[i.Digest] {
			return nil
		}
		return each(i)
	})
}

// DropBlob implements Store.
func (l *Layered) DropBlob(ctx context.Context, d Digest) error {
	return errors.Join(l.local.DropBlob(ctx, d), l.shared.DropBlob(ctx, d))
}

// Lease implements Store. It is the shared database's: while that is away, the local one's word must do, and a piece of work may be done twice.
func (l *Layered) Lease(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error) {
	var lease Lease
	err := l.ask(ctx, func() (err error) {
		lease, err = l.shared.Lease(ctx, name, holder, ttl)
		return err
	})
	if err == nil || errors.Is(err, ErrHeld) || ctx.Err() != nil {
		return lease, err
	}
	return l.local.Lease(ctx, name, holder, ttl)
}

// Release implements Store.
func (l *Layered) Release(ctx context.Context, name, holder string) error {
	return errors.Join(l.local.Release(ctx, name, holder), l.ask(ctx, func() error { return l.shared.Release(ctx, name, holder) }))
}

// ErrLocal is the answer of Flush where the shared database has all, and the local one does not take what it lacks.
var ErrLocal = errors.New("the local store could not store some records")

// Flush copies all that was added to the shared database, and brings what the local one lacks to that.
func (l *Layered) Flush(ctx context.Context) error {
	for {
		err := l.push(ctx)
		l.mu.Lock()
		owed, given, why := len(l.pending), l.given, l.owed
		l.mu.Unlock()
		if err != nil || owed == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			if owed == given {
				return fmt.Errorf("%w: %w", ErrLocal, why)
			}
			return ctx.Err()
		case <-time.After(retryEvery):
		}
	}
}

// Close implements Store. What the shared database lacks then, it gets when the local one is used again with the same mark.
func (l *Layered) Close() error {
	l.stop()
	l.stopped.Wait()
	if l.mark != "" {
		l.local.Release(context.Background(), "copy to "+filepath.Base(l.mark), l.holder)
	}
	return errors.Join(l.local.Close(), l.shared.Close())
}
