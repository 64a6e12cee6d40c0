package dashboard

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// CorpusPage is the corpus of a test.
type CorpusPage struct {
	Test    testRef    `json:"test"`
	Tests   []testRef  `json:"tests"`
	Entries []keptRow  `json:"entries"` // the latest first
	All     int        `json:"all"`     // that match
	From    int        `json:"from"`
	Origins []namedSum `json:"strategies"`
	Search  string     `json:"search,omitempty"`
	// Distilled says which entries later workers play; nil if all.
	Distilled *distilledRow `json:"distilled,omitempty"`
}

// distilledRow sums a records.Distilled up.
type distilledRow struct {
	Of       int       `json:"of"`
	Kept     int       `json:"kept"`
	Features int       `json:"features"` // that Kept reaches
	AtMs     int64     `json:"at_ms"`
	Code     codeRef   `json:"code"`
	Worker   workerRef `json:"worker"`
}

// keptRow is an entry with where it came from.
type keptRow struct {
	Name     string    `json:"name"`
	Strategy string    `json:"strategy"`
	Parent   string    `json:"parent,omitempty"`
	Mate     string    `json:"mate,omitempty"`
	Mutation string    `json:"mutation,omitempty"`
	Why      string    `json:"why"`
	Run      uint64    `json:"run"`
	Edits    int       `json:"edits"`
	AtMs     int64     `json:"at_ms"`
	Worker   workerRef `json:"worker"`
	Code     codeRef   `json:"code"`
	Children int       `json:"children"`          // entries that were made from it
	Dropped  bool      `json:"dropped,omitempty"` // others reach all that it does
	Tape     string    `json:"tape"`
}

// namedSum counts entries by a name.
type namedSum struct {
	Name string `json:"name"`
	N    int    `json:"entries"`
}

// corpusRows is how many entries a page shows, and an export all together.
const corpusRows = 100

// maxTapeBytes bounds the text of a tape on a page.
const maxTapeBytes = 8 << 10

func buildCorpus(a *ask) (any, error) {
	t, err := a.test("test")
	if err != nil {
		return nil, err
	}
	p := &CorpusPage{Test: refOf(t), Tests: refsOf(a.view), From: a.number("from"), Search: a.query.Get("q")}
	var d *records.Distilled
	if codes := a.view.CodesOf(t); len(codes) > 0 {
		d = t.DistilledFor(codes[0])
	}
	if d != nil {
		p.Distilled = &distilledRow{len(d.Of), len(d.Kept), d.Features, d.AtMs, codeOf(a.view, d.Code), workerOf(a.view, d.Worker)}
	}
	children, strategies := map[string]int{}, map[string]int{}
	var all []keptRow
	for _, k := range t.Corpus {
		row := keptRow{Name: k.Name, AtMs: k.AtMs, Worker: workerOf(a.view, k.Worker), Code: codeOf(a.view, k.Code), Dropped: d.Dropped(k.Name)}
		var e search.Entry
		if json.Unmarshal(k.Search, &e) == nil {
			o := &e.Origin
			row.Strategy, row.Parent, row.Mate, row.Mutation, row.Why, row.Run, row.Edits = o.Strategy, o.Parent, o.Mate,
				o.Mutation, e.Why, e.Run, len(e.Tape.Edits)
			row.Tape = tape.Format(e.Tape)
			row.Tape = row.Tape[:min(len(row.Tape), maxTapeBytes)]
		}
		children[row.Parent]++
		if row.Mate != row.Parent {
			children[row.Mate]++
		}
		strategies[row.Strategy]++
		if matches(p.Search, row.Name, row.Strategy, row.Mutation, row.Why, row.Parent, row.Worker.Name) {
			all = append(all, row)
		}
	}
	slices.SortFunc(all, func(x, y keptRow) int { return cmp.Or(cmp.Compare(y.AtMs, x.AtMs), cmp.Compare(x.Name, y.Name)) })
	p.All = len(all)
	p.From = min(p.From, p.All) / corpusRows * corpusRows
	p.Entries = all[p.From:min(p.From+corpusRows, p.All)]
	for i := range p.Entries {
		p.Entries[i].Children = children[p.Entries[i].Name]
	}
	for name, n := range strategies {
		p.Origins = append(p.Origins, namedSum{cmp.Or(name, "unknown"), n})
	}
	slices.SortFunc(p.Origins, func(x, y namedSum) int { return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Name, y.Name)) })
	return p, nil
}

// Later is where the page behind this one begins; 0 if there is none.
func (p *CorpusPage) Later() int {
	if p.From+corpusRows < p.All {
		return p.From + corpusRows
	}
	return 0
}

// Earlier is where the page before this one begins.
func (p *CorpusPage) Earlier() int { return max(p.From-corpusRows, 0) }
