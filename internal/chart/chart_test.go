package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func texts(a Axis) string {
	var list []string
	for _, t := range a.Ticks {
		list = append(list, t.Text)
	}
	return strings.Join(list, " ")
}

func TestAxes(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli()
	for name, test := range map[string]struct {
		axis Axis
		to   float64
		want string
	}{
		"nothing":   {FromZero(0, Short), 1, "0 1"},
		"few":       {FromZero(3, Short), 5, "0 1 2 3 4 5"},
		"many":      {FromZero(123456, Short), 150000, "0 30k 60k"},
		"exactly":   {Exactly(40, Short), 40, "0 10 20 30 40"},
		"powers":    {Powers(-5, 1), 1, "1e-5 1e-4 0.001 0.01 0.1 1 10"},
		"a minute":  {Times(noon, noon+60_000), float64(noon + 60_000), "12:00:15 12:00:30 12:00:45"},
		"an hour":   {Times(noon, noon+3_600_000), float64(noon + 3_600_000), "12:15 12:30 12:45"},
		"two weeks": {Times(noon, noon+14*86_400_000), float64(noon + 14*86_400_000), "Mar 5 Mar 12"},
	} {
		if got := texts(test.axis); test.axis.To != test.to || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: to %v, ticks %q", name, test.axis.To, got)
		}
	}
}

// Whatever a program writes, the drawing is well-formed, and its text is text.
func TestHostileText(t *testing.T) {
	hostile := "</svg><script>alert(1)</script>\x1b[31m&\x00" + strings.Repeat("x", 1000)
	c := New(hostile, Exactly(1, Short), FromZero(1, func(float64) string { return hostile }))
	c.Add("<g>%s</g>", c.Title("%s", hostile))
	c.Text(c.X(0.5), c.Y(0.5), "label", "end", hostile)
	drawn := string(c.End())
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "script" {
			t.Error("a script is an element")
		}
	}
	if strings.Contains(drawn, "\x1b") || strings.Contains(drawn, strings.Repeat("x", titleRunes)) {
		t.Error("control characters or long text are in the drawing")
	}
}

// The ends of both axes lie at the edges of the plot, and a value twice as large twice as far.
func TestPlaces(t *testing.T) {
	c := New("", Axis{From: 10, To: 30}, Axis{From: 0, To: 0})
	if c.X(10) != left || c.X(30) != width-right || c.X(20) != (left+width-right)/2.0 || c.Y(0) != height-bottom {
		t.Error(fmt.Sprint(c.X(10), c.X(20), c.X(30), c.Y(0)))
	}
}

// A horizontal axis shows its name, and marks every second tick, which narrow screens leave out.
func TestNameOfAnAxis(t *testing.T) {
	c := New("", Exactly(40, Short).Named("runs"), FromZero(1, Short))
	if drawn := string(c.End()); !strings.Contains(drawn, ">runs</text>") || strings.Count(drawn, `"tick spare"`) != 2 {
		t.Error(drawn)
	}
}
