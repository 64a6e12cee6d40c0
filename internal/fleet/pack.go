package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// PackAfter is how old spans are when they are packed.
const PackAfter = 24 * time.Hour

// maxPacking bounds the single spans that are in memory at once, which are some 500 bytes each.
const maxPacking = 1 << 19

// Packed counts what packing did.
type Packed struct {
	Spans  int `json:"packed_spans"` // entries that were dropped, packs among them
	Packs  int `json:"packs"`        // that were added
	Counts int `json:"dropped_counts"`
}

// Pack packs the spans of a database that ended before a time, and drops counts and signs of life for which later ones stand; dry
// only counts. It may be cut short, and several may do it at once.
func Pack(ctx context.Context, s store.Store, before time.Time, dry bool) (Packed, error) {
	p, err := packEntries(ctx, s, before, dry)
	if !dry && p.Spans+p.Counts > 0 {
		err = errors.Join(err, s.Add(ctx, (&records.Swept{AtMs: now()}).Entry()))
	}
	return p, err
}

func packEntries(ctx context.Context, s store.Store, before time.Time, dry bool) (p Packed, err error) {
	if p, err = packSpans(ctx, s, before, dry); err != nil {
		return p, err
	}
	var old records.Superseded
	if _, err = s.Read(ctx, records.SupersededPrefix, "", func(e store.Entry) error { old.AddEntry(e); return nil }); err != nil {
		return p, err
	}
	if dry {
		_, err = s.Read(ctx, records.SupersededPrefix, "", func(e store.Entry) error {
			if old.Is(e) {
				p.Counts++
			}
			return nil
		})
		return p, err
	}
	p.Counts, err = s.Drop(ctx, records.SupersededPrefix, old.Is)
	return p, err
}

func packSpans(ctx context.Context, s store.Store, before time.Time, dry bool) (p Packed, err error) {
	for {
		packer := records.Packer{BeforeMs: before.UnixMilli()}
		_, err := s.Read(ctx, records.SpanPrefix, "", func(e store.Entry) error {
			if packer.AddEntry(e); packer.Singles >= maxPacking {
				return errFull
			}
			return nil
		})
		full := errors.Is(err, errFull)
		if err != nil && !full {
			return p, err
		}
		add, drop := packer.Packs()
		if p.Packs += len(add); dry {
			p.Spans += len(drop)
			return p, nil
		}
		for part := range store.Bundles(add) {
			if err := s.Add(ctx, part...); err != nil {
				return p, err
			}
		}
		n, err := s.Drop(ctx, records.SpanPrefix, func(e store.Entry) bool { return drop[e.Identity()] })
		p.Spans += n
		if err != nil || !full || n == 0 { // what is left may be in segments whose writers live
			return p, err
		}
	}
}

// errFull ends reading when enough is in memory.
var errFull = errors.New("enough for once")

// One worker packs the spans of a store once in packEvery; the first one tries when it is packFirst old, and packTime bounds how long it does.
const (
	packEvery = 24 * time.Hour
	packFirst = 10 * time.Minute
	packTime  = 10 * time.Minute
	packLook  = time.Hour
)

// pack packs the spans of the store, if nobody has today: the lease stays taken.
func (w *Worker) pack(ctx context.Context) {
	if time.Since(w.began) < packFirst || time.Since(w.packed) < packLook || w.view.Paused() {
		return
	}
	w.packed = time.Now()
	if _, err := w.Store.Lease(ctx, "pack spans", rand.Text(), packEvery); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.left(packTime))
	defer cancel()
	if p, err := Pack(ctx, w.Store, time.Now().Add(-PackAfter), false); err == nil && p.Spans > 0 {
		w.note(fmt.Sprintf("packed %s of spans into %d", plural.Count(p.Spans, "entry"), p.Packs))
	}
}
