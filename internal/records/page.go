package records

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Page refers to a report page of a failure's run, with its story, space-time diagram and logs, so that people can see
// it where nobody can repeat the run.
type Page struct {
	Of     store.Digest `json:"of"`   // the failure's file whose run it shows
	File   store.Digest `json:"file"` // the blob with the page, of at most MaxPageBytes
	Worker ID           `json:"worker"`
	Code   ID           `json:"code"`
	Env    ID           `json:"env"`
	AtMs   int64        `json:"at_ms"`
}

// MaxPageBytes bounds a page. A report page bounds each of its parts, and is far smaller.
const MaxPageBytes = 8 << 20

// Explained is from which moment on a run of a failure was likely to fail.
type Explained struct {
	Hash   string `json:"hash"` // trace hash of the run
	Worker ID     `json:"worker"`
	Code   ID     `json:"code"`
	Env    ID     `json:"env"`
	AtMs   int64  `json:"at_ms"`
	// Explanation is the report.Explanation.
	Explanation json.RawMessage `json:"explanation"`
}

// Entry gives what a store takes.
func (p *Page) Entry(test, failure ID) store.Entry { return entry(key(kindPage, test, failure), p) }

// Entry gives what a store takes.
func (e *Explained) Entry(test, failure ID) store.Entry {
	return entry(key(kindExplained, test, failure), e)
}

// Page is the latest page of the run of a failure's file; nil if there is none.
func (f *FailureView) Page(of store.Digest) (latest *Page) {
	for _, p := range f.Pages {
		if p.Of == of && (latest == nil || cmp.Or(cmp.Compare(p.AtMs, latest.AtMs), cmp.Compare(p.File, latest.File),
			cmp.Compare(p.Worker, latest.Worker)) > 0) {
			latest = p
		}
	}
	return latest
}

// Explanation is the latest one of a failure: of a run with a trace hash, or else of another run of it; nil if there is none.
func (f *FailureView) Explanation(hash string) *Explained {
	if len(f.Explained) == 0 {
		return nil
	}
	return slices.MaxFunc(f.Explained, func(a, b *Explained) int {
		return cmp.Or(trueLast(a.Hash == hash, b.Hash == hash), cmp.Compare(a.AtMs, b.AtMs), compareJSON(a, b))
	})
}

// trueLast orders what is not so before what is.
func trueLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
