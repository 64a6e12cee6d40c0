package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/chart"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
)

// Sizes of the drawing of a cycle.
const (
	cycleWidth  = 372
	cycleNode   = 22
	maxCycle    = 12 // transactions that are drawn
	cycleLabel  = 20 // runes of an edge's label
	cycleMargin = 62
)

// cycleView is the cycle of transactions behind a violation of isolation.
type cycleView struct {
	Drawing template.HTML
	Txns    []cycleTxn
	Edges   []string
}

type cycleTxn struct {
	Name, Client, Text string
	Call               uint64
	TimeNs             int64
}

// edgeWords say what a dependency means, in the terms of Adya.
var edgeWords = map[string]string{
	"ww":      "%s wrote %s before %s did",
	"wr":      "%s wrote %s, and %s read it",
	"rw":      "%s read %s before %s wrote it",
	"session": "%s%s came before %s on the same client",
	"time":    "%s%s had returned before %s began",
}

// cycle finds and draws the cycle behind a violation of isolation; nil if the violation is of another kind.
func (p *PageOf) cycle(ops []history.Operation) *cycleView {
	for i := range p.Spec.Properties {
		q := &p.Spec.Properties[i]
		if q.Name != p.Verdict.Property {
			continue
		}
		steps, txns := histories.Cycle(q, ops)
		if len(steps) == 0 || len(txns) < 2 || len(txns) > maxCycle {
			return nil
		}
		return newCycle(steps, txns)
	}
	return nil
}

func newCycle(steps []isolation.Dependency, txns []history.Operation) *cycleView {
	v := &cycleView{}
	for i := range txns {
		t := &txns[i]
		text := t.Output
		if text == "" {
			text = t.Input
		}
		v.Txns = append(v.Txns, cycleTxn{txnName(i), t.Client, text, t.Call, t.CallTimeNs})
	}
	for _, s := range steps {
		if s.From >= 0 && s.To >= 0 {
			v.Edges = append(v.Edges, fmt.Sprintf(edgeWords[s.Kind], txnName(s.From), s.Key, txnName(s.To)))
		}
	}
	v.Drawing = drawCycle(steps, v.Txns)
	return v
}

func txnName(i int) string { return fmt.Sprintf("T%d", i+1) }

// drawCycle draws transactions on a circle, and their dependencies as arrows with the key.
func drawCycle(steps []isolation.Dependency, txns []cycleTxn) template.HTML {
	n := len(txns)
	radius := max(58, 26*float64(n)/math.Pi)
	width := max(cycleWidth, 2*(radius+cycleMargin+cycleNode))
	height := 2 * (radius + cycleNode + 26)
	place := func(i int) (x, y float64) {
		turn := 2*math.Pi*float64(i)/float64(n) + math.Pi
		if n == 2 {
			return width/2 + math.Cos(turn)*radius*1.5, height / 2
		}
		return width/2 + math.Sin(turn)*radius*1.15, height/2 + math.Cos(turn)*radius
	}
	d := &chart.Drawing{}
	d.Add(`<svg class="cycle" viewBox="0 0 %.0f %.0f" role="img" aria-label="cycle of transactions">`, width, height)
	d.Add(`<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>`)
	pairs := map[[2]int]int{}
	for _, s := range steps {
		if s.From < 0 || s.To < 0 || s.From == s.To {
			continue
		}
		pair := [2]int{s.From, s.To}
		drawEdge(d, s, place, pairs[pair])
		pairs[pair]++
	}
	for i, t := range txns {
		x, y := place(i)
		d.Add(`<a href="#op-%d" data-event="%d">%s<circle class="txn c%d" cx="%.1f" cy="%.1f" r="%d"/>`, t.Call, t.Call, d.Title("%s, client %s: %s",
			t.Name, t.Client, t.Text), i%nodeColours, x, y, cycleNode)
		d.Text(x, y+4, "txn-name", "middle", t.Name)
		d.Add("</a>")
	}
	d.Add("</svg>")
	return template.HTML(d.String())
}

// drawEdge draws an arrow that bends to its left, which is the outside of the circle, so that the way back is another one.
func drawEdge(d *chart.Drawing, s isolation.Dependency, place func(int) (float64, float64), nth int) {
	x1, y1 := place(s.From)
	x2, y2 := place(s.To)
	dx, dy := x2-x1, y2-y1
	length := math.Hypot(dx, dy)
	ux, uy := dx/length, dy/length
	bend := 34 + 26*float64(nth)
	mx, my := (x1+x2)/2-uy*bend, (y1+y2)/2+ux*bend
	edge := func(x, y float64) (float64, float64) { // where the arrow meets the circle
		vx, vy := mx-x, my-y
		l := math.Hypot(vx, vy)
		return x + vx/l*(cycleNode+2), y + vy/l*(cycleNode+2)
	}
	ax, ay := edge(x1, y1)
	bx, by := edge(x2, y2)
	d.Add(`<path class="dependency %s" d="M%.1f %.1fQ%.1f %.1f %.1f %.1f" marker-end="url(#tip)"/>`, s.Kind, ax, ay, mx, my, bx, by)
	label := s.Kind
	if s.Key != "" {
		label += " " + Visible(s.Key, cycleLabel)
	}
	labelGap := 14 + 3.3*float64(len([]rune(label))) // a label stands in the middle of its text
	// The middle of the curve, and a little further out.
	lx, ly := 0.25*ax+0.5*mx+0.25*bx-uy*labelGap, 0.25*ay+0.5*my+0.25*by+ux*14
	d.Text(lx, ly+4, "dependency-label", "middle", label)
}
