package dashboard

import (
	"cmp"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// WorkersPage lists the workers and their present tests.
type WorkersPage struct {
	Workers  []workerRow    `json:"workers"` // the one that was seen last first
	Left     int            `json:"left_out,omitempty"`
	Alive    int            `json:"alive"`
	Tests    []testRef      `json:"tests"`
	Range    string         `json:"range"`
	FromMs   int64          `json:"from_ms"` // of the bars
	ToMs     int64          `json:"to_ms"`
	Requests []requestRow   `json:"requests"`
	Pause    *records.Pause `json:"pause,omitempty"` // if workers rest
	Search   string         `json:"search,omitempty"`
}

// HasBars reports whether there is time to draw bars over.
func (p *WorkersPage) HasBars() bool { return p.ToMs > p.FromMs }

// Times are the beginning, the middle and the end of the bars.
func (p *WorkersPage) Times() []string {
	return []string{clock(p.FromMs), clock((p.FromMs + p.ToMs) / 2), clock(p.ToMs) + " UTC"}
}

// workerRow is a worker with its bar.
type workerRow struct {
	workerRef
	*records.Worker
	Alive   bool   `json:"alive"`
	Paused  bool   `json:"paused"` // alive, and at rest as people ask for
	FirstMs int64  `json:"first_ms,omitempty"`
	LastMs  int64  `json:"last_ms,omitempty"`
	Runs    uint64 `json:"runs"`
	Bars    []bar  `json:"bars"`
}

// bar is a time in which a worker ran a test.
type bar struct {
	FromMs int64 `json:"from_ms"`
	ToMs   int64 `json:"to_ms"`
	Test   int   `json:"test"` // index in Tests
}

// Bounds of the page.
const (
	maxWorkers = 100
	barSlots   = 480 // a bar is as wide as one of so many parts of the range, at least
)

// silentAfter is how long after its last record a worker is taken to be gone. Workers write a record a minute, at least.
const silentAfter = 3 * time.Minute

// ranges of the bars; one that is not here is all of the time.
var ranges = map[string]time.Duration{"1h": time.Hour, "1d": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}

// working counts the workers that are alive.
func (a *ask) working() (n int) {
	seen := map[records.ID]int64{}
	for id := range a.view.Workers {
		seen[id] = 0
	}
	for _, t := range a.view.Tests {
		for _, e := range t.Efforts {
			for id, s := range e.Shares {
				seen[id] = max(seen[id], s.LastMs)
			}
		}
	}
	for id, at := range seen {
		n += btoi(a.alive(id, at))
	}
	return n
}

// alive reports whether a worker, which was seen last at a time, goes on.
func (a *ask) alive(id records.ID, lastMs int64) bool {
	w := a.view.Workers[id]
	if w != nil {
		lastMs = max(lastMs, w.StartedMs, w.SeenMs)
	}
	return (w == nil || w.EndedMs == 0) && a.now.UnixMilli()-lastMs < silentAfter.Milliseconds()
}

func buildWorkers(a *ask) (any, error) {
	v := a.view
	p := &WorkersPage{Range: a.query.Get("range"), Search: a.query.Get("q"), Tests: refsOf(v)}
	rows := map[records.ID]*workerRow{}
	row := func(id records.ID) *workerRow {
		if rows[id] == nil {
			rows[id] = &workerRow{workerRef: workerOf(v, id), Worker: v.Workers[id]}
			if rows[id].Worker == nil {
				rows[id].Worker = &records.Worker{}
			}
		}
		return rows[id]
	}
	for id := range v.Workers {
		row(id)
	}
	for _, t := range v.Tests {
		for _, e := range t.Efforts {
			for id, s := range e.Shares {
				r := row(id)
				r.Runs += s.Runs
				r.LastMs = max(r.LastMs, s.LastMs)
				if r.FirstMs == 0 || s.FirstMs < r.FirstMs {
					r.FirstMs = s.FirstMs
				}
			}
		}
	}
	for id, r := range rows {
		r.Alive = a.alive(id, r.LastMs)
		r.Paused = r.Alive && v.Paused()
		if r.Alive {
			p.Alive++
		}
		labels := []string{r.Name, string(id), r.Bloodhound}
		for k, l := range r.Labels {
			labels = append(labels, k+"="+l)
		}
		if matches(p.Search, labels...) {
			p.Workers = append(p.Workers, *r)
		}
	}
	slices.SortFunc(p.Workers, func(x, y workerRow) int {
		return cmp.Or(-cmp.Compare(btoi(x.Alive), btoi(y.Alive)), cmp.Compare(y.LastMs, x.LastMs), cmp.Compare(x.ID, y.ID))
	})
	if n := len(p.Workers); n > maxWorkers {
		p.Workers, p.Left = p.Workers[:maxWorkers], n-maxWorkers
	}
	p.bars(v)
	if v.Paused() {
		p.Pause = v.Pause
	}
	p.Requests = requestsOf(v, func(*records.RequestView) bool { return true })
	return p, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bars fills in the bars of the rows that are shown.
func (p *WorkersPage) bars(v *records.View) {
	at := map[records.ID]int{}
	for i := range p.Workers {
		w := &p.Workers[i]
		at[w.ID] = i
		if w.LastMs > 0 {
			p.ToMs = max(p.ToMs, w.LastMs)
			if p.FromMs == 0 || w.FirstMs < p.FromMs {
				p.FromMs = w.FirstMs
			}
		}
	}
	if d, known := ranges[p.Range]; known {
		p.FromMs = max(p.FromMs, p.ToMs-d.Milliseconds())
	} else {
		p.Range = "all"
	}
	if !p.HasBars() {
		return
	}
	// Each part of the range has the test that took most of it.
	width := max((p.ToMs-p.FromMs+barSlots-1)/barSlots, 1)
	took := make([][barSlots]map[int]int64, len(p.Workers))
	for i, ref := range p.Tests {
		for _, e := range v.Tests[ref.ID].Efforts {
			for s := range e.Spans {
				w, shown := at[s.Worker]
				if !shown || s.AtMs < p.FromMs {
					continue
				}
				from := max(s.AtMs-max(s.Ms, 1), p.FromMs)
				for from < s.AtMs {
					slot := min((from-p.FromMs)/width, barSlots-1)
					end := min(p.FromMs+(slot+1)*width, s.AtMs)
					if slot == barSlots-1 {
						end = s.AtMs
					}
					if took[w][slot] == nil {
						took[w][slot] = map[int]int64{}
					}
					took[w][slot][i] += end - from
					from = end
				}
			}
		}
	}
	for w := range took {
		for slot, tests := range took[w] {
			if tests == nil {
				continue
			}
			most := -1
			for i, ms := range tests {
				if most < 0 || ms > tests[most] || ms == tests[most] && i < most {
					most = i
				}
			}
			from := p.FromMs + int64(slot)*width
			bars := &p.Workers[w].Bars
			if n := len(*bars); n > 0 && (*bars)[n-1].Test == most && (*bars)[n-1].ToMs == from {
				(*bars)[n-1].ToMs = from + width
			} else {
				*bars = append(*bars, bar{from, from + width, most})
			}
		}
	}
}
