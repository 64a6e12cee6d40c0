package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// Sizes of a chart.
const (
	chartWidth  = 520
	chartHeight = 220
	chartLeft   = 52
	chartRight  = 14
	chartTop    = 12
	chartBottom = 28
)

// chart is a drawing with two axes; x and y are in the scale of the axes, which for a logarithmic one is that of logarithms.
type chart struct {
	report.Drawing
	fromX, toX, fromY, toY float64
}

// tick is a place on an axis with its text.
type tick struct {
	at   float64
	text string
}

func newChart(label string, fromX, toX, fromY, toY float64, across, up []tick) *chart {
	c := &chart{fromX: fromX, toX: math.Max(toX, fromX+1e-9), fromY: fromY, toY: math.Max(toY, fromY+1e-9)}
	c.Add(`<svg class="diagram plot" viewBox="0 0 %d %d" role="img">%s`, chartWidth, chartHeight, c.Title("%s", label))
	for _, t := range up {
		c.Add(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, chartLeft, c.y(t.at), chartWidth-chartRight, c.y(t.at))
		c.Text(chartLeft-6, c.y(t.at)+4, "tick", "end", t.text)
	}
	for _, t := range across {
		c.Text(c.x(t.at), chartHeight-10, "tick", "middle", t.text)
	}
	return c
}

func (c *chart) x(v float64) float64 {
	return chartLeft + (v-c.fromX)/(c.toX-c.fromX)*(chartWidth-chartLeft-chartRight)
}

func (c *chart) y(v float64) float64 {
	return chartHeight - chartBottom - (v-c.fromY)/(c.toY-c.fromY)*(chartHeight-chartTop-chartBottom)
}

func (c *chart) end() template.HTML {
	c.Add("</svg>")
	return template.HTML(c.String())
}

// numbers are ticks from 0 to a top.
func numbers(top float64) (list []tick) {
	for _, v := range report.Steps(top) {
		list = append(list, tick{v, report.Short(v)})
	}
	return list
}

// powers are ticks at powers of ten, by their logarithms.
func powers(from, to float64) (list []tick) {
	for e := math.Ceil(from); e <= to; e++ {
		text := report.Short(math.Pow(10, e))
		if e < -3 {
			text = fmt.Sprintf("1e%.0f", e)
		}
		list = append(list, tick{e, text})
	}
	return list
}

// timeSteps are between the ticks of an axis of time.
var timeSteps = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour, 84 * 24 * time.Hour}

// times are a few ticks between two times, in milliseconds.
func times(from, to int64) (list []tick) {
	const most = 5
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if (to-from)/s.Milliseconds() < most {
			step = s
			break
		}
	}
	format := "15:04"
	switch {
	case step < time.Minute:
		format = "15:04:05"
	case step >= 24*time.Hour:
		format = "Jan 2"
	case to-from > 24*time.Hour.Milliseconds():
		format = "Jan 2 15:04"
	}
	for at := (from/step.Milliseconds() + 1) * step.Milliseconds(); at < to && len(list) <= 2*most; at += step.Milliseconds() {
		list = append(list, tick{float64(at), time.UnixMilli(at).UTC().Format(format)})
	}
	return list
}

// growthOver draws curves of features over runs.
func growthOver(curves []curve, logarithmic bool) template.HTML {
	top, most := 1, uint64(1)
	for _, c := range curves {
		for _, g := range c.Points {
			top, most = max(top, g.Features), max(most, g.Runs)
		}
	}
	x := func(g *records.Grown) float64 { return float64(g.Runs) }
	toX, across := float64(most), numbers(float64(most))
	if logarithmic {
		x = func(g *records.Grown) float64 { return math.Log10(math.Max(float64(g.Runs), 1)) }
		toX = math.Log10(float64(most))
		across = powers(0, toX)
	}
	c := newChart("features over runs", 0, toX, 0, report.NiceTop(float64(top)), across, numbers(report.NiceTop(float64(top))))
	c.curves(curves, x)
	return c.end()
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
	c := newChart("features over time", float64(from), float64(to), 0, report.NiceTop(float64(top)), times(from, to), numbers(report.NiceTop(float64(top))))
	c.curves(curves, func(g *records.Grown) float64 { return float64(g.AtMs) })
	return c.end()
}

// curves draws the first curve above all others, which are of older codes.
func (c *chart) curves(list []curve, x func(*records.Grown) float64) {
	for i := len(list) - 1; i >= 0; i-- {
		path := ""
		for k := range list[i].Points {
			g := &list[i].Points[k]
			at, up := c.x(x(g)), c.y(float64(g.Features))
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
	c := newChart("bound of the risk, and what followed", low, 0, low, 0, powers(low, 0), powers(low, 0))
	c.Add(`<line class="even" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, c.x(low), c.y(low), c.x(0), c.y(0))
	for _, p := range list {
		share := float64(p.News) / float64(max(p.Next, 1))
		class, up := "dot held", low
		if p.News > 0 {
			up = math.Max(math.Log10(share), low)
		}
		if share > p.Bound {
			class = "dot"
		}
		c.Add(`<circle class="%s" cx="%.1f" cy="%.1f" r="4">%s</circle>`, class, c.x(math.Log10(p.Bound)), c.y(up),
			c.Title("after %s runs at most 1 in %.0f; then %d of %s runs showed something new", grouped(p.Runs), 1/p.Bound, p.News, grouped(p.Next)))
	}
	return c.end()
}

// Sizes of the drawing of workers.
const (
	barsWidth  = 1160
	barsGutter = 190
	barHeight  = 18
)

// barsOf draws a row for each worker, with the tests that it ran over time.
func barsOf(p *WorkersPage) template.HTML {
	if p.ToMs <= p.FromMs {
		return ""
	}
	var d report.Drawing
	bottom := 24 + len(p.Workers)*barHeight
	d.Add(`<svg class="diagram" viewBox="0 0 %d %d" role="img">%s`, barsWidth, bottom+4, d.Title("what workers ran"))
	x := func(ms int64) float64 {
		return barsGutter + float64(ms-p.FromMs)/float64(p.ToMs-p.FromMs)*(barsWidth-barsGutter-10)
	}
	for _, t := range times(p.FromMs, p.ToMs) {
		d.Add(`<line class="grid" x1="%.1f" y1="18" x2="%.1f" y2="%d"/>`, x(int64(t.at)), x(int64(t.at)), bottom)
		d.Text(x(int64(t.at)), 12, "tick", "middle", t.text)
	}
	for i := range p.Workers {
		w := &p.Workers[i]
		top := float64(22 + i*barHeight)
		d.Text(barsGutter-8, top+11, "label", "end", report.Visible(w.Name, 24))
		for _, b := range w.Bars {
			d.Add(`<rect class="work %s" x="%.1f" y="%.1f" width="%.1f" height="%d">%s</rect>`, colourOf(b.Test), x(b.FromMs),
				top, math.Max(x(min(b.ToMs, p.ToMs))-x(b.FromMs), 1.5), barHeight-5,
				d.Title("%s: %s until %s", p.Tests[b.Test].Name, clock(b.FromMs), clock(b.ToMs)))
		}
		if w.EndedMs >= p.FromMs && w.EndedMs <= p.ToMs {
			d.Add(`<line class="ended" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f">%s</line>`, x(w.EndedMs), top-1, x(w.EndedMs),
				top+barHeight-4, d.Title("ended: %s", w.Reason))
		}
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
