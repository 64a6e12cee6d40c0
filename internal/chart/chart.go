// Package chart draws charts as SVG for the pages of reports and of the dashboard. Colours and fonts are the pages' own.
package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/printable"
)

// Bounds of texts in a drawing, in characters.
const (
	labelRunes = 90
	titleRunes = 400
)

// Drawing builds an SVG.
type Drawing struct{ strings.Builder }

// Add adds an element, formatted as fmt.Printf does. Text of a program under test goes into it by Text and Title alone.
func (d *Drawing) Add(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// Text puts a text of the world into the drawing.
func (d *Drawing) Text(x, y float64, class, anchor, text string) {
	d.Add(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, escaped(text, labelRunes))
}

// Title returns the element that names the one around it when the pointer is over that.
func (d *Drawing) Title(format string, args ...any) string {
	return "<title>" + escaped(fmt.Sprintf(format, args...), titleRunes) + "</title>"
}

func escaped(text string, runes int) string { return html.EscapeString(printable.Line(text, runes)) }

// Sizes of a chart.
const (
	width  = 520
	height = 216
	left   = 52
	right  = 14
	top    = 12
	bottom = 44
)

// Axis is the range of one axis with its ticks. On a logarithmic axis all are logarithms.
type Axis struct {
	Name     string // below a horizontal axis; may be empty
	From, To float64
	Ticks    []Tick
}

// Named is the axis with a name.
func (a Axis) Named(name string) Axis {
	a.Name = name
	return a
}

// Tick is a place on an axis with its text.
type Tick struct {
	At   float64
	Text string
}

// Chart is a drawing with two axes.
type Chart struct {
	Drawing
	across, up Axis
}

// New begins a chart. The label is read out to people who do not see it.
func New(label string, across, up Axis) *Chart {
	across.To, up.To = math.Max(across.To, across.From+1e-9), math.Max(up.To, up.From+1e-9)
	c := &Chart{across: across, up: up}
	c.Add(`<svg class="diagram plot" viewBox="0 0 %d %d" role="img">%s`, width, height, c.Title("%s", label))
	for _, t := range up.Ticks {
		c.Add(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, left, c.Y(t.At), width-right, c.Y(t.At))
		c.Text(left-6, c.Y(t.At)+4, "tick", "end", t.Text)
	}
	for i, t := range across.Ticks {
		class := "tick"
		if i%2 == 1 {
			class = "tick spare" // a narrow screen has no room for it
		}
		c.Text(c.X(t.At), height-26, class, "middle", t.Text)
	}
	if across.Name != "" {
		c.Text(width-right, height-8, "tick", "end", across.Name)
	}
	return c
}

// X is the place of a value on the horizontal axis, in units of the drawing, and Y that on the vertical one.
func (c *Chart) X(v float64) float64 {
	return left + (v-c.across.From)/(c.across.To-c.across.From)*(width-left-right)
}

// Y is the place of a value on the vertical axis, in units of the drawing.
func (c *Chart) Y(v float64) float64 {
	return height - bottom - (v-c.up.From)/(c.up.To-c.up.From)*(height-top-bottom)
}

// End closes the drawing and returns it.
func (c *Chart) End() template.HTML {
	c.Add("</svg>")
	return template.HTML(c.String())
}

// FromZero is an axis from 0 to a round number above a value, whose ticks a function writes.
func FromZero(largest float64, text func(float64) string) Axis {
	return Axis{To: roundUp(largest), Ticks: ticks(roundUp(largest), text)}
}

// Exactly is an axis from 0 to a value, whose ticks a function writes.
func Exactly(largest float64, text func(float64) string) Axis {
	return Axis{To: largest, Ticks: ticks(largest, text)}
}

// ticks are about five round values from 0 to a top.
func ticks(top float64, text func(float64) string) []Tick {
	step := roundUp(top) / 5
	if top >= 1 && top <= 5 && top == math.Trunc(top) { // few things are counted whole
		step = 1
	}
	list := []Tick{{0, text(0)}}
	for i := 1; float64(i)*step <= top*1.0001; i++ {
		list = append(list, Tick{float64(i) * step, text(float64(i) * step)})
	}
	return list
}

// roundUp returns the round number that a value fits under.
func roundUp(v float64) float64 {
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

// Powers is a logarithmic axis between two logarithms to base 10, with a tick at each power of ten.
func Powers(from, to float64) Axis {
	a := Axis{From: from, To: to}
	for e := math.Ceil(from); e <= to; e++ {
		text := Short(math.Pow(10, e))
		if e < -3 {
			text = fmt.Sprintf("1e%.0f", e)
		}
		a.Ticks = append(a.Ticks, Tick{e, text})
	}
	return a
}

// timeSteps lie between the ticks of an axis of time.
var timeSteps = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour, 84 * 24 * time.Hour}

// Times is an axis between two times, in milliseconds since 1970, with a few ticks in UTC.
func Times(fromMs, toMs int64) Axis {
	const most = 5
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if (toMs-fromMs)/s.Milliseconds() < most {
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
	case toMs-fromMs > 24*time.Hour.Milliseconds():
		format = "Jan 2 15:04"
	}
	a := Axis{From: float64(fromMs), To: float64(toMs)}
	for at := (fromMs/step.Milliseconds() + 1) * step.Milliseconds(); at < toMs && len(a.Ticks) <= 2*most; at += step.Milliseconds() {
		a.Ticks = append(a.Ticks, Tick{float64(at), time.UnixMilli(at).UTC().Format(format)})
	}
	return a
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
