package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/chart"
	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// growthOver draws curves of features over runs.
func growthOver(curves []curve, logarithmic bool) template.HTML {
	top, most := 1, uint64(1)
	for _, c := range curves {
		for _, g := range c.Points {
			top, most = max(top, g.Features), max(most, g.Runs)
		}
	}
	x := func(g *records.Grown) float64 { return float64(g.Runs) }
	across := chart.Exactly(float64(most), chart.Short)
	if logarithmic {
		x = func(g *records.Grown) float64 { return math.Log10(math.Max(float64(g.Runs), 1)) }
		across = chart.Powers(0, math.Log10(float64(most)))
	}
	c := chart.New("features over runs", across.Named("runs"), chart.FromZero(float64(top), chart.Short))
	draw(c, curves, x)
	return c.End()
}

// growthIn draws the same over time.
func growthIn(curves []curve) template.HTML {
	top := 1
	from, to := int64(math.MaxInt64), int64(0)
	for _, c := range curves {
		for _, g := range c.Points {
			top, from, to = max(top, g.Features), min(from, g.AtMs), max(to, g.AtMs)
		}
	}
	if from >= to {
		from = to - 1
	}
	c := chart.New("features over time", chart.Times(from, to).Named("time, UTC"), chart.FromZero(float64(top), chart.Short))
	draw(c, curves, func(g *records.Grown) float64 { return float64(g.AtMs) })
	return c.End()
}

// draw draws the first curve above all others, which are of older codes.
func draw(c *chart.Chart, list []curve, x func(*records.Grown) float64) {
	for i := len(list) - 1; i >= 0; i-- {
		path := ""
		for k := range list[i].Points {
			g := &list[i].Points[k]
			at, up := c.X(x(g)), c.Y(float64(g.Features))
			if k == 0 {
				path = fmt.Sprintf("M%.1f %.1f", at, up)
			} else {
				path += fmt.Sprintf("H%.1fV%.1f", at, up)
			}
		}
		class := "c0"
		if i > 0 {
			class = "old"
		}
		if path != "" {
			c.Add(`<path class="curve %s" d="%s">%s</path>`, class, path, c.Title("%s", list[i].Code.Name))
		}
	}
}

// calibrationPlot draws bounds against what followed, both as powers of ten: a dot above the line is a bound that did not hold.
func calibrationPlot(list []records.Calibrated) template.HTML {
	low := -1.0
	for _, p := range list {
		low = math.Min(low, math.Floor(math.Log10(math.Min(p.Bound, 1/float64(max(p.Next, 1))))))
	}
	c := chart.New("bound of the risk, and the later result", chart.Powers(low, 0).Named("bound"), chart.Powers(low, 0))
	c.Add(`<line class="even" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, c.X(low), c.Y(low), c.X(0), c.Y(0))
	for _, p := range list {
		share := float64(p.News) / float64(max(p.Next, 1))
		class, up := "dot held", low
		if p.News > 0 {
			up = math.Max(math.Log10(share), low)
		}
		if share > p.Bound {
			class = "dot"
		}
		c.Add(`<circle class="%s" cx="%.1f" cy="%.1f" r="4">%s</circle>`, class, c.X(math.Log10(p.Bound)), c.Y(up),
			c.Title("after %s runs at most 1 in %.0f; then %d of %s runs showed something new", grouped(p.Runs), 1/p.Bound, p.News, grouped(p.Next)))
	}
	return c.End()
}

// Sizes of a row of bars, which the page stretches to its width.
const (
	barsWidth = 1000
	barHeight = 22
)

// barsOf draws the tests that a worker ran over time.
func barsOf(p *WorkersPage, worker int) template.HTML {
	w := &p.Workers[worker]
	x := func(ms int64) float64 {
		return float64(ms-p.FromMs) / float64(p.ToMs-p.FromMs) * barsWidth
	}
	var d chart.Drawing
	d.Add(`<svg class="bars" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img">%s`, barsWidth, barHeight, d.Title("tests that %s ran", w.Name))
	for _, b := range w.Bars {
		d.Add(`<rect class="work %s" x="%.1f" y="4" width="%.1f" height="%d">%s</rect>`, colourOf(b.Test), x(b.FromMs),
			math.Max(x(min(b.ToMs, p.ToMs))-x(b.FromMs), 1.5), barHeight-8,
			d.Title("%s: %s to %s UTC", p.Tests[b.Test].Name, clock(b.FromMs), clock(b.ToMs)))
	}
	if w.EndedMs >= p.FromMs && w.EndedMs <= p.ToMs {
		d.Add(`<line class="ended" x1="%.1f" y1="1" x2="%.1f" y2="%d">%s</line>`, x(w.EndedMs), x(w.EndedMs), barHeight-1,
			d.Title("ended: %s", w.Reason))
	}
	d.Add("</svg>")
	return template.HTML(d.String())
}

// colourOf is the class of a test's colour, of which Style has so many.
func colourOf(test int) string { return fmt.Sprintf("c%d", test%8) }

// clock writes a time, in milliseconds since 1970, in UTC.
func clock(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05")
}
