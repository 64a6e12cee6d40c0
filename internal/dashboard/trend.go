package dashboard

import (
	"fmt"
	"html/template"

	"github.com/bloodhound-dst/bloodhound/internal/chart"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// trend counts the runs of a test from its first to its last one, in equal parts of that time.
type trend struct {
	FromMs int64       `json:"from_ms"`
	ToMs   int64       `json:"to_ms"`
	Parts  []trendPart `json:"parts"`
}

// trendPart counts the runs that ended in a part of the time.
type trendPart struct {
	Runs     uint64 `json:"runs"`
	Violated uint64 `json:"violated"`
}

// trendParts is how many parts a trend has.
const trendParts = 24

// trendOf counts the runs of search and holdout on all codes; nil if a test has no runs.
func trendOf(t *records.TestView) *trend {
	var r *trend
	for _, e := range t.Efforts {
		for _, s := range e.Shares {
			if r == nil {
				r = &trend{FromMs: s.FirstMs, ToMs: s.LastMs, Parts: make([]trendPart, trendParts)}
			}
			r.FromMs, r.ToMs = min(r.FromMs, s.FirstMs), max(r.ToMs, s.LastMs)
		}
	}
	if r == nil {
		return nil
	}
	for _, e := range t.Efforts {
		for s := range e.Spans {
			if s.Phase == records.Search || s.Phase == records.Holdout {
				p := &r.Parts[r.part(s.AtMs)]
				p.Runs += s.Runs
				p.Violated += s.Violated
			}
		}
	}
	return r
}

// part is the index of the part with a time.
func (r *trend) part(atMs int64) int {
	i := int(float64(atMs-r.FromMs) / float64(max(r.ToMs-r.FromMs, 1)) * trendParts)
	return max(0, min(i, trendParts-1))
}

// Sizes of a sparkline.
const (
	sparkWidth  = 120
	sparkHeight = 24
	leastRed    = 3 // of the part of a bar that stands for runs which failed
)

// sparkline draws a bar for each part of a trend, with the runs that failed in red at its bottom.
func sparkline(r *trend) template.HTML {
	if r == nil {
		return `<span class="soft">no runs yet</span>`
	}
	var most, runs, violated uint64 = 1, 0, 0
	for _, p := range r.Parts {
		most, runs, violated = max(most, p.Runs), runs+p.Runs, violated+p.Violated
	}
	var d chart.Drawing
	d.Add(`<svg class="spark" viewBox="0 0 %d %d" role="img">%s`, sparkWidth, sparkHeight,
		d.Title("%s to %s UTC: %s, %s of them failed", clock(r.FromMs), clock(r.ToMs), plural.Count(runs, "run"), grouped(violated)))
	step := float64(sparkWidth) / float64(len(r.Parts))
	for i, p := range r.Parts {
		height := float64(sparkHeight) * float64(p.Runs) / float64(most)
		red := 0.0
		if p.Violated > 0 {
			red = max(leastRed, float64(sparkHeight)*float64(p.Violated)/float64(most))
		}
		for _, bar := range []struct {
			class  string
			height float64
		}{{"runs", height}, {"failed", min(red, sparkHeight)}} {
			if bar.height > 0 {
				fmt.Fprintf(&d, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`,
					bar.class, float64(i)*step, sparkHeight-bar.height, step-1, bar.height)
			}
		}
	}
	d.Add("</svg>")
	return template.HTML(d.String())
}
