package dashboard

import (
	"cmp"
	"context"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// DatabasePage lists the contents of the database.
type DatabasePage struct {
	Store     string    `json:"store"`
	Kinds     []kindRow `json:"kinds"`
	Entries   uint64    `json:"entries"`
	Bytes     uint64    `json:"bytes"`
	Strange   int       `json:"strange"`
	Blobs     int       `json:"blobs"`
	BlobBytes int64     `json:"blob_bytes"`
	NoBlobs   string    `json:"no_blobs,omitempty"` // why they were not counted
}

// kindRow counts the entries of a kind.
type kindRow struct {
	Kind string `json:"kind"`
	records.Held
	Strange int `json:"strange,omitempty"` // that this version cannot read
}

// contents explain the kinds of records.
var contents = map[string]string{
	"test":      "tests and their configurations",
	"code":      "builds under test",
	"commit":    "commits and their parents",
	"env":       "environments: engine, system and machine",
	"worker":    "workers",
	"span":      "numbers of runs, by worker and time",
	"counted":   "totals of verdicts and faults",
	"found":     "behaviours when first reached",
	"corpus":    "runs that the search mutates",
	"distilled": "the part of a corpus that reaches everything",
	"failure":   "failures, as found and as shrunk",
	"replay":    "replays of failures",
	"page":      "pages of runs that fail",
	"explained": "explanations of failures",
	"bisected":  "commits that introduced or fixed failures",
	"note":      "notes on failures",
	"request":   "requests to workers",
	"done":      "answers to requests",
	"pause":     "pauses of all workers",
	"swept":     "removals of old records",
}

// Content explains the kind.
func (r *kindRow) Content() string { return contents[r.Kind] }

func buildDatabase(a *ask) (any, error) {
	p := &DatabasePage{Store: a.store}
	rows := map[string]kindRow{}
	for kind, h := range a.view.Held {
		rows[kind] = kindRow{kind, h, 0}
	}
	for kind, n := range a.view.Strange {
		r := rows[kind]
		r.Kind, r.Strange = kind, n
		rows[kind] = r
	}
	for _, r := range rows {
		p.Kinds = append(p.Kinds, r)
		p.Entries, p.Bytes, p.Strange = p.Entries+r.Entries, p.Bytes+r.Bytes, p.Strange+r.Strange
	}
	slices.SortFunc(p.Kinds, func(x, y kindRow) int { return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Kind, y.Kind)) })
	p.Kinds = p.Kinds[:min(len(p.Kinds), maxRows)]
	return p, nil
}

// load counts the blobs.
func (p *DatabasePage) load(ctx context.Context, s store.Store) error {
	if err := s.Blobs(ctx, func(b store.BlobInfo) error { p.Blobs++; p.BlobBytes += b.SizeBytes; return nil }); err != nil {
		p.NoBlobs = err.Error()
	}
	return nil
}
