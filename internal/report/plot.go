package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/chart"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

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
	p := chart.New(title+" over runs", chart.Exactly(float64(last.Run), chart.Short).Named("runs"), chart.FromZero(float64(top), chart.Short))
	path := fmt.Sprintf("M%.1f %.1f", p.X(0), p.Y(0))
	for i := range c.Points {
		path += fmt.Sprintf("L%.1f %.1f", p.X(float64(c.Points[i].Run)), p.Y(float64(value(&c.Points[i]))))
	}
	p.Add(`<path class="area %s" d="%sL%.1f %.1fz"/><path class="curve %s" d="%s"/>`, class, path, p.X(float64(last.Run)), p.Y(0), class, path)
	before := 0
	for i := range c.Points {
		if now := &c.Points[i]; now.Failures > before {
			p.Add(`<circle class="dot" cx="%.1f" cy="%.1f" r="4">%s</circle>`, p.X(float64(now.Run)), p.Y(float64(value(now))),
				p.Title("%s by run %d", plural.Count(now.Failures, "failure"), now.Run))
			before = now.Failures
		}
	}
	v := plotView{Title: title, Drawing: p.End(), Note: fmt.Sprintf("%d after %s.", value(&last), plural.Count(last.Run, "run"))}
	if late := value(&last) - valueAt(c, last.Run/2, value); last.Run >= 10 {
		v.Note += fmt.Sprintf(" The second half of the runs added %d.", late)
	}
	if before > 0 {
		v.Legend = []legendView{{"dot", "a new failure"}}
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
	seconds := func(v float64) string { return chart.Short(v) + " s" }
	p := chart.New("operations per virtual second", chart.Exactly(end, seconds).Named("virtual time"), chart.FromZero(top, chart.Short))
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
			p.Add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f">%s</rect>`, part.class, p.X(float64(i)*width),
				p.Y(sum+rate), max(p.X(width)-p.X(0)-0.6, 0.8), max(p.Y(sum)-p.Y(sum+rate), 0.5),
				p.Title("%s to %s: %d ok, %d fail, %d info in all runs", seconds(float64(i)*width), seconds(float64(i+1)*width), b.Ok, b.Fail, b.Info))
			sum += rate
		}
	}
	list := []plotView{{Title: "Operations per second", Note: "By time of invocation, averaged over all runs.", Drawing: p.End(),
		Legend: []legendView{{"bar-ok", "ok"}, {"bar-fail", "fail"}, {"bar-info", "info or never returned"}}}}
	if slowest == 0 {
		return list
	}
	p = chart.New("latency of operations over virtual time", chart.Exactly(end, seconds).Named("virtual time"), latencyAxis(float64(slowest)/1e6))
	for _, q := range []struct {
		class string
		share float64
	}{{"c0", 0.5}, {"c3", 0.99}} {
		var points []string
		for i := range buckets {
			if ns := buckets[i].Quantile(q.share); ns > 0 {
				points = append(points, fmt.Sprintf("%.1f %.1f", p.X((float64(i)+0.5)*width), p.Y(math.Log10(max(float64(ns)/1e6, fastestMs)))))
			}
		}
		d := ""
		for i, at := range points {
			d += map[bool]string{true: "M", false: "L"}[i == 0] + at
		}
		p.Add(`<path class="curve %s" d="%s"/>`, q.class, d)
	}
	return append(list, plotView{Title: "Latency of operations", Note: "Of operations that were ok, in virtual time, by time of invocation.", Drawing: p.End(),
		Legend: []legendView{{"c0", "median"}, {"c3", "99th percentile"}}})
}

// fastestMs is where an axis of latencies begins.
const fastestMs = 1e-3

// latencyAxis has latencies from fastestMs to a top, in milliseconds, on a scale of powers of ten.
func latencyAxis(topMs float64) chart.Axis {
	a := chart.Axis{From: math.Log10(fastestMs), To: math.Ceil(math.Log10(max(topMs, 1)))}
	for e := int(a.From); float64(e) <= a.To; e++ {
		a.Ticks = append(a.Ticks, chart.Tick{At: float64(e), Text: powerOfTen(e)})
	}
	return a
}

// powerOfTen names 10^e milliseconds.
func powerOfTen(e int) string {
	names := []string{"1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"}
	if i := e + 3; i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("10^%d ms", e)
}

// plots returns the plots of a campaign, as far as it has data.
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
			list = append(list, curvePlot(&t.Curve, "Failures", "c5", func(p *explore.Point) int { return p.Failures }))
		}
	}
	return append(list, loadPlots(&t.Load)...)
}
