package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/cause"
	"github.com/bloodhound-dst/bloodhound/internal/chart"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Explanation says why a run came to its failure: how likely that was from each moment on, the choice that made it so,
// and the nearest run without it.
type Explanation struct {
	Hash string `json:"hash"` // trace hash of the run that is explained
	cause.Result
	// Decided are the choices that were made at the jump, other than the default.
	Decided []Decided `json:"decided,omitempty"`
	// Faults lists the faults that began at the jump.
	Faults []fault.Injection `json:"faults,omitempty"`
	Pair   *Pair             `json:"pair,omitempty"`
}

// Decided is a decision with the virtual time at which it was made.
type Decided struct {
	tape.Decision
	AtNs int64 `json:"at_ns"`
	// What says what it means, if it switches a thread in the midst of its own code.
	What string `json:"what,omitempty"`
}

// Pair is a run that holds, nearest to the one that fails, and the first events in which the two differ.
type Pair struct {
	Tape tape.Tape `json:"tape"`
	Hash string    `json:"hash"`
	// Undone says that the two tapes differ in the choices of the jump alone, which have their defaults in the run that holds. Else chance
	// has made them anew, with all that follows.
	Undone bool `json:"undone"`
	// Fails and Holds are the events, as lines of a trace; one is empty where its run is over.
	Fails string `json:"fails"`
	Holds string `json:"holds"`
}

// maxExplanation bounds the points, decisions and faults of an explanation of others.
const maxExplanation = 1000

// Check reports why an explanation that others have written is none that can be shown.
func (e *Explanation) Check() error {
	if len(e.Points) > maxExplanation || len(e.Decided) > maxExplanation || len(e.Faults) > maxExplanation {
		return fmt.Errorf("it has more than %d points, decisions or faults", maxExplanation)
	}
	points := slices.Clone(e.Points)
	if e.Jump != nil {
		points = append(points, e.Jump.Before, e.Jump.After)
	}
	for _, p := range points {
		if p.Failed < 0 || p.Failed > p.Runs || !(p.Low >= 0 && p.Low <= p.High && p.High <= 1) {
			return fmt.Errorf("%d of %s from %d ns on is not a valid share, or %g to %g is not a valid interval", p.Failed,
				plural.Count(p.Runs, "run"), p.AtNs, p.Low, p.High)
		}
	}
	return nil
}

// explanationWidth is how many characters a line of the curve has.
const explanationWidth = 40

// Explained prints an explanation; replay is the command that makes the run, which stops with --at, or empty.
func Explained(e *Explanation, replay string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "how likely the failure is if everything after a moment is random again\n  %14s  %9s  %-12s\n", "moment", "failed", "95 %")
	for i := range e.Points {
		b.WriteString("  " + curveLine(&e.Points[i]) + "\n")
	}
	b.WriteString(moment(e, replay))
	return b.String()
}

// moment is the part of an explanation after its curve.
func moment(e *Explanation, replay string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  (%s", plural.Count(e.Runs, "run"))
	if e.Ended != "" {
		fmt.Fprintf(&b, "; %s before the last", e.Ended)
	}
	b.WriteString(")\n\n")
	j := e.Jump
	switch {
	case j == nil && e.Ended != "":
		b.WriteString("no moment of no return was found yet: raise --runs or --time\n")
		return b.String()
	case j == nil && len(e.Points) > 0 && e.Points[0].Share() > 0.5:
		b.WriteString("no moment of no return: the failure was likely from the start, whatever is decided later\n")
		return b.String()
	case j == nil:
		b.WriteString("no moment of no return: the failure did not become more likely at any moment\n")
		return b.String()
	}
	name := "moment of no return"
	if !j.Clear {
		name = "the largest step, which may be due to chance"
	}
	fmt.Fprintf(&b, "%s: %s\n", name, Seconds(j.Before.AtNs))
	fmt.Fprintf(&b, "  replayed to just before it, then random  %s\n", odds(&j.Before))
	fmt.Fprintf(&b, "  replayed to just after it, then random   %s\n", odds(&j.After))
	if len(e.Decided) == 0 {
		fmt.Fprintf(&b, "  no decision before %s was special; after it the failure could not be avoided\n", Seconds(j.After.AtNs))
	}
	for _, d := range e.Decided {
		if d.What == "" && beginsFault(e.Faults, d) {
			continue // the fault's own line says it in words
		}
		what := cmp.Or(d.What, packetWords(d), fmt.Sprintf("%s: draw %d is %d of %d", d.Stream, d.Index, d.Value, d.N))
		fmt.Fprintf(&b, "  %14s  %s\n", Seconds(d.AtNs), clip(what))
	}
	for _, f := range e.Faults {
		fmt.Fprintf(&b, "  %14s  %s %s begins\n", Seconds(f.StartNs), f.Kind, f.Target)
	}
	if replay != "" {
		fmt.Fprintf(&b, "  stop there: %s --at %s\n", replay, Seconds(j.Before.AtNs))
	}
	if p := e.Pair; p != nil {
		what := "with new random choices after this moment, a run holds"
		if p.Undone {
			what = "without this one decision, the run holds"
		}
		fmt.Fprintf(&b, "\nnearest run that holds: %s (trace hash %s); the first event that differs\n  fails  %s\n  holds  %s\n", what,
			p.Hash, orElse(clip(p.Fails), "(the run is over)"), orElse(clip(p.Holds), "(the run is over)"))
	}
	return b.String()
}

// packetStream matches the streams of decisions about a packet of a TCP connection: net/CLIENT>SERVER:PORT/NUMBER/c2s/drop.
var packetStream = regexp.MustCompile(`^net/([^>/]+)>([^/]+)/\d+/(c2s|s2c)/(drop|delay|corrupt)$`)

// packetWords says what a decision did to a packet, or returns "" for other decisions. TCP sends a lost packet again.
func packetWords(d Decided) string {
	m := packetStream.FindStringSubmatch(d.Stream)
	if m == nil {
		return ""
	}
	from, to := m[1], m[2]
	if m[3] == "s2c" {
		from, to = to, from
	}
	fate := map[string]string{"drop": "is lost and sent again later", "delay": "is delayed", "corrupt": "is damaged, so it is sent again later"}
	return fmt.Sprintf("a packet from %s to %s %s", from, to, fate[m[4]])
}

// beginsFault reports whether a decision injected a fault that begins at its time.
func beginsFault(faults []fault.Injection, d Decided) bool {
	return strings.HasPrefix(d.Stream, "fault/") &&
		slices.ContainsFunc(faults, func(f fault.Injection) bool { return f.StartNs == d.AtNs })
}

func curveLine(p *cause.Point) string {
	bar := []byte(strings.Repeat(" ", explanationWidth))
	at := func(share float64) int { return int(math.Round(share * (explanationWidth - 1))) }
	for i := at(p.Low); i <= at(p.High); i++ {
		bar[i] = '-'
	}
	bar[at(p.Share())] = '#'
	return strings.TrimRight(fmt.Sprintf("%14s  %9s  %-12s |%s", Seconds(p.AtNs), fmt.Sprintf("%d of %d", p.Failed, p.Runs), interval(p), bar), " ")
}

func interval(p *cause.Point) string {
	return fmt.Sprintf("%.0f to %.0f %%", 100*p.Low, 100*p.High)
}

func odds(p *cause.Point) string {
	return fmt.Sprintf("%d of %s %s (%s)", p.Failed, plural.Count(p.Runs, "run"), plural.Verb(p.Failed, "fails", "fail"), interval(p))
}

// ExplanationPlot draws the curve with its intervals.
func ExplanationPlot(e *Explanation) template.HTML {
	if len(e.Points) == 0 {
		return ""
	}
	last := float64(e.Points[len(e.Points)-1].AtNs) / 1e9
	p := chart.New("how likely the failure was, from each time on",
		chart.Exactly(last, func(v float64) string { return chart.Short(v) + "s" }).Named("virtual time"),
		chart.FromZero(1, func(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }))
	path := ""
	for i := range e.Points {
		q := &e.Points[i]
		x := p.X(float64(q.AtNs) / 1e9)
		p.Add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, p.Y(q.Low), x, p.Y(q.High))
		p.Add(`<circle class="dot" cx="%.1f" cy="%.1f" r="3">%s</circle>`, x, p.Y(q.Share()), p.Title("%s: %s", Seconds(q.AtNs), odds(q)))
		path += map[bool]string{true: "M", false: "L"}[i == 0] + fmt.Sprintf("%.1f %.1f", x, p.Y(q.Share()))
	}
	p.Add(`<path class="curve c0" d="%s"/>`, path)
	return p.End()
}

// ExplanationText is the paragraph about an explanation with the figures behind it, as on the page of a failure.
func ExplanationText(e *Explanation) (template.HTML, error) {
	var b strings.Builder
	err := pageTemplate().ExecuteTemplate(&b, "cause", e)
	return template.HTML(b.String()), err
}
