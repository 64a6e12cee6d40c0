package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Sizes of a plot.
const (
	plotWidth  = 520
	plotHeight = 190
	plotLeft   = 52
	plotRight  = 14
	plotTop    = 10
	plotBottom = 26
)

// plot is a drawing with two axes from 0 on.
type plot struct {
	Drawing
	toX, toY float64
}

func newPlot(label string, fromX, toX, toY float64, x, y func(float64) string) *plot {
	p := &plot{toX: max(toX, 1e-9), toY: NiceTop(toY)}
	p.Add(`<svg class="diagram plot" viewBox="0 0 %d %d" role="img" aria-label="%s">`, plotWidth, plotHeight, markup(label, 200))
	for _, v := range Steps(p.toY) {
		p.Add(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, plotLeft, p.y(v), plotWidth-plotRight, p.y(v))
		p.Text(plotLeft-6, p.y(v)+4, "tick", "end", y(v))
	}
	for _, v := range Steps(p.toX) {
		if v >= fromX {
			p.Text(p.x(v), plotHeight-8, "tick", "middle", x(v))
		}
	}
	return p
}

func (p *plot) x(v float64) float64 { return plotLeft + v/p.toX*(plotWidth-plotLeft-plotRight) }
func (p *plot) y(v float64) float64 {
	return plotHeight - plotBottom - v/p.toY*(plotHeight-plotTop-plotBottom)
}

func (p *plot) end() template.HTML {
	p.Add("</svg>")
	return template.HTML(p.String())
}

// Steps are about five round values up to a top.
func Steps(top float64) (list []float64) {
	step := NiceTop(top) / 5
	if top >= 1 && top <= 5 && top == math.Trunc(top) { // few things are counted whole
		step = 1
	}
	for i := 1; float64(i)*step <= top*1.0001; i++ {
		list = append(list, float64(i)*step)
	}
	return append([]float64{0}, list...)
}

// NiceTop is the round number that a value fits under.
func NiceTop(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.5, 2, 2.5, 5, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

// Short writes a number in few characters.
func Short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}

// plotView is a plot with the texts above and below it.
type plotView struct {
	Title, Note string
	Drawing     template.HTML
	Legend      []legendView
}

type legendView struct{ Class, Text string }

// curvePlot draws a count over the runs of a campaign, with a dot where a failure was found.
func curvePlot(c *explore.Curve, title, class string, value func(*explore.Point) int) plotView {
	last := c.Points[len(c.Points)-1]
	top := 0
	for i := range c.Points {
		top = max(top, value(&c.Points[i]))
	}
	p := newPlot(title+" over runs", 0, float64(last.Run), float64(top), Short, Short)
	path := fmt.Sprintf("M%.1f %.1f", p.x(0), p.y(0))
	for i := range c.Points {
		path += fmt.Sprintf("L%.1f %.1f", p.x(float64(c.Points[i].Run)), p.y(float64(value(&c.Points[i]))))
	}
	p.Add(`<path class="area %s" d="%sL%.1f %.1fz"/><path class="curve %s" d="%s"/>`, class, path, p.x(float64(last.Run)), p.y(0), class, path)
	before := 0
	for i := range c.Points {
		if now := &c.Points[i]; now.Failures > before {
			p.Add(`<circle class="dot" cx="%.1f" cy="%.1f" r="4">%s</circle>`, p.x(float64(now.Run)), p.y(float64(value(now))),
				p.Title("%s by run %d", plural.Count(now.Failures, "kind of failure"), now.Run))
			before = now.Failures
		}
	}
	v := plotView{Title: title, Drawing: p.end(), Note: fmt.Sprintf("%d after %s.", value(&last), plural.Count(last.Run, "run"))}
	if late := value(&last) - valueAt(c, last.Run/2, value); last.Run >= 10 {
		v.Note += fmt.Sprintf(" The second half of the runs added %d.", late)
	}
	if before > 0 {
		v.Legend = []legendView{{"dot", "a new kind of failure"}}
	}
	return v
}

// valueAt is a count as it was after so many runs.
func valueAt(c *explore.Curve, run uint64, value func(*explore.Point) int) (v int) {
	for i := range c.Points {
		if c.Points[i].Run <= run {
			v = value(&c.Points[i])
		}
	}
	return v
}

// loadPlots draws the rate and the latency of operations over virtual time.
func loadPlots(l *explore.Load) []plotView {
	buckets := l.Buckets
	for len(buckets) > 0 && buckets[len(buckets)-1].Ok+buckets[len(buckets)-1].Fail+buckets[len(buckets)-1].Info == 0 {
		buckets = buckets[:len(buckets)-1]
	}
	if len(buckets) == 0 {
		return nil
	}
	width := float64(l.BucketNs) / 1e9
	end := width * float64(len(buckets))
	perSecond := func(n uint64) float64 { return float64(n) / width / float64(max(l.Runs, 1)) }
	top, slowest := 0.0, int64(0)
	for i := range buckets {
		b := &buckets[i]
		top = max(top, perSecond(b.Ok+b.Fail+b.Info))
		slowest = max(slowest, b.Quantile(0.99))
	}
	seconds := func(v float64) string { return Short(v) + " s" }
	p := newPlot("operations per virtual second", 0, end, top, seconds, Short)
	for i := range buckets {
		b, sum := &buckets[i], 0.0
		for _, part := range []struct {
			class string
			n     uint64
		}{{"bar-ok", b.Ok}, {"bar-fail", b.Fail}, {"bar-info", b.Info}} {
			if part.n == 0 {
				continue
			}
			rate := perSecond(part.n)
			p.Add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f">%s</rect>`, part.class, p.x(float64(i)*width),
				p.y(sum+rate), max(p.x(width)-p.x(0)-0.6, 0.8), max(p.y(sum)-p.y(sum+rate), 0.5),
				p.Title("%s to %s: %d ok, %d fail, %d info in all runs", seconds(float64(i)*width), seconds(float64(i+1)*width), b.Ok, b.Fail, b.Info))
			sum += rate
		}
	}
	list := []plotView{{Title: "Operations per second", Note: "By when they were invoked, mean of all runs.", Drawing: p.end(),
		Legend: []legendView{{"bar-ok", "ok"}, {"bar-fail", "fail"}, {"bar-info", "info or never returned"}}}}
	if slowest == 0 {
		return list
	}
	p = newLogPlot(end, float64(slowest)/1e6, seconds)
	for _, q := range []struct {
		class string
		share float64
	}{{"c0", 0.5}, {"c3", 0.99}} {
		var points []string
		for i := range buckets {
			if ns := buckets[i].Quantile(q.share); ns > 0 {
				points = append(points, fmt.Sprintf("%.1f %.1f", p.x((float64(i)+0.5)*width), p.logY(float64(ns)/1e6)))
			}
		}
		d := ""
		for i, at := range points {
			d += map[bool]string{true: "M", false: "L"}[i == 0] + at
		}
		p.Add(`<path class="curve %s" d="%s"/>`, q.class, d)
	}
	return append(list, plotView{Title: "Latency of operations", Note: "Of those that were ok, in virtual time, by when they were invoked.", Drawing: p.end(),
		Legend: []legendView{{"c0", "median"}, {"c3", "99 % took no longer"}}})
}

// newLogPlot has latencies in milliseconds, on a scale of powers of ten.
func newLogPlot(toX, topMs float64, x func(float64) string) *plot {
	p := &plot{toX: toX, toY: math.Ceil(math.Log10(max(topMs, 1))) + 3} // from a microsecond on
	p.Add(`<svg class="diagram plot" viewBox="0 0 %d %d" role="img" aria-label="latency of operations over virtual time">`, plotWidth, plotHeight)
	for e := -3; float64(e) <= p.toY-3; e++ {
		at := p.y(float64(e + 3))
		p.Add(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, plotLeft, at, plotWidth-plotRight, at)
		p.Text(plotLeft-6, at+4, "tick", "end", powerOfTen(e))
	}
	for _, v := range Steps(toX) {
		p.Text(p.x(v), plotHeight-8, "tick", "middle", x(v))
	}
	return p
}

func (p *plot) logY(ms float64) float64 {
	return p.y(min(max(math.Log10(max(ms, 1e-3))+3, 0), p.toY))
}

// powerOfTen names 10^e milliseconds.
func powerOfTen(e int) string {
	names := []string{"1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"}
	if i := e + 3; i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("10^%d ms", e)
}

// plots are those of a campaign, as far as its data is known.
func (c *CampaignOf) plots() (list []plotView) {
	t := c.Totals
	if n := len(t.Curve.Points); n > 1 {
		last := &t.Curve.Points[n-1]
		if slices.ContainsFunc(t.Curve.Points, func(p explore.Point) bool { return p.Behaviours > 0 }) {
			list = append(list, curvePlot(&t.Curve, "Behaviours", "c0", func(p *explore.Point) int { return p.Behaviours }))
		}
		if last.Code > 0 {
			list = append(list, curvePlot(&t.Curve, "Blocks of code that ran", "c1", func(p *explore.Point) int { return p.Code }))
		}
		if last.Failures > 1 {
			list = append(list, curvePlot(&t.Curve, "Kinds of failures", "c5", func(p *explore.Point) int { return p.Failures }))
		}
	}
	return append(list, loadPlots(&t.Load)...)
}
