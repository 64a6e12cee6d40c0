package campaign

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// campaignLine is the progress line of a campaign, the most important first.
type campaignLine struct {
	runs    uint64 // the campaign's bounds; 0 is none
	timeout time.Duration
	last    explore.Point // when something new was shown last
	news    string
	newsAt  time.Duration

	mu    sync.Mutex
	first explore.FirstRun // how far the first run has come, as long as none has ended
	known []console.Part   // of the runs that have ended
	at    time.Duration    // when the last of them ended
}

// underWay takes in how far a run has come.
func (l *campaignLine) underWay(u *explore.FirstRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = *u
}

// finished takes in that a run has ended.
func (l *campaignLine) finished(t *explore.Totals, elapsed time.Duration) {
	parts := l.parts(t, elapsed)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.at = parts, elapsed
}

// longRun is how long no run has ended before a line says so.
const longRun = 5 * time.Second

// now is the line of a campaign at any time.
func (l *campaignLine) now(elapsed time.Duration) []console.Part {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch u := &l.first; {
	case l.known != nil && elapsed-l.at < longRun:
		return l.known
	case l.known != nil:
		return append(slices.Clone(l.known[:2]), console.Part{Text: "the last run ended " + (elapsed - l.at).Round(time.Second).String() + " ago"})
	case u.Events == 0:
		return []console.Part{{Text: "starting the system", Colour: console.Bold}, {Text: elapsed.Round(time.Second).String()}}
	case u.Baseline:
		return append([]console.Part{{Text: "baseline run (without faults)", Colour: console.Bold}}, far(u, elapsed)...)
	default:
		return append([]console.Part{{Text: "first run", Colour: console.Bold}}, far(u, elapsed)...)
	}
}

func far(u *explore.FirstRun, elapsed time.Duration) []console.Part {
	return []console.Part{{Text: plural.Count(u.Events, "event")}, {Text: report.Seconds(u.VirtualNs) + " of virtual time"},
		{Text: elapsed.Round(time.Second).String()}}
}

// newsStay is how long a progress line shows what is new.
const newsStay = 3 * time.Second

func (l *campaignLine) parts(t *explore.Totals, elapsed time.Duration) []console.Part {
	of := ""
	if l.runs > 0 {
		of = fmt.Sprintf(" of %d", l.runs)
	}
	failures := console.Part{Text: "no failure", Colour: console.Green}
	if n := len(t.Failures); n > 0 {
		failures = console.Part{Text: plural.Count(n, "failure"), Colour: console.Red}
	}
	parts := []console.Part{{Text: fmt.Sprintf("%d%s runs", t.Runs, of), Colour: console.Bold}, failures}
	if left := l.left(elapsed); left > 0 {
		parts = append(parts, console.Part{Text: left.String() + " left"})
	}
	if news := l.fresh(t, elapsed); news != "" {
		parts = append(parts, console.Part{Text: "new: " + news, Colour: console.Green})
	}
	parts = append(parts, console.Part{Text: report.Rate(float64(t.Runs), max(int64(elapsed), 1e6)) + " runs/s"},
		console.Part{Text: time.Duration(t.VirtualNs).Round(time.Second).String() + " of virtual time", Colour: console.Grey},
		console.Part{Text: t.Search.String(), Colour: console.Grey})
	if t.LostRuns > 0 {
		parts = slices.Insert(parts, 2, console.Part{Text: fmt.Sprintf("%d lost", t.LostRuns), Colour: console.Red})
	}
	return parts
}

// left is how much of the campaign's time is left, 0 if it has no bound.
func (l *campaignLine) left(elapsed time.Duration) time.Duration {
	left := max(l.timeout-elapsed, 0)
	if left > 10*time.Minute {
		return left.Round(time.Minute)
	}
	return left.Round(time.Second)
}

// fresh says what runs have reached since the last call: new failures, behaviours and blocks of code. Without news it
// repeats the last ones for a while (newsStay), and then returns nothing.
func (l *campaignLine) fresh(t *explore.Totals, elapsed time.Duration) string {
	n := len(t.Curve.Points)
	if n == 0 {
		return ""
	}
	now := t.Curve.Points[n-1]
	now.Behaviours = max(now.Behaviours, t.Search.Features)
	var news []string
	for _, x := range []struct {
		more int
		one  string
	}{{now.Failures - l.last.Failures, "kind of failure"}, {now.Behaviours - l.last.Behaviours, "behaviour"}, {now.Code - l.last.Code, "block of code"}} {
		if x.more > 0 {
			news = append(news, plural.Count(x.more, x.one))
		}
	}
	l.last = now
	if len(news) > 0 {
		l.news, l.newsAt = strings.Join(news, " and "), elapsed
	} else if elapsed-l.newsAt > newsStay {
		l.news = ""
	}
	return l.news
}
