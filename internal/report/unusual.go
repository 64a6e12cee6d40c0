package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// unusualLine is a line of a log that few other runs have.
type unusualLine struct {
	loglines.Unusual
	*record.LogLine
	more int // further lines of the same message
}

// unusualLines are the lines of programs under test, up to the violation, that few other runs of the campaign have, the rarest first.
func unusualLines(s *StoryOf) (list []unusualLine) {
	if s.Background == nil || s.Background.Logs.Runs == 0 {
		return nil
	}
	clients := map[string]bool{}
	for i := range s.Spec.Nodes {
		clients[s.Spec.Nodes[i].Name] = s.Spec.Nodes[i].Role != world.Server
	}
	log := s.Outcome.Log
	wanted := func(l *record.LogLine) bool {
		return !clients[l.Node] && strings.TrimSpace(l.Text) != "" && (s.Verdict.Event == 0 || l.Event <= s.Verdict.Event)
	}
	for _, u := range s.Background.Logs.Unusual(s.Spec, log, wanted) {
		line := unusualLine{u, &log[u.Line], 0}
		if k := slices.IndexFunc(list, line.follows); k >= 0 {
			list[k].more++
			continue
		}
		if len(list) < StoryUnusual {
			list = append(list, line)
		}
	}
	return list
}

// follows reports whether a line belongs to a message that begins with another one: as many runs have it, and it was written at the same time.
func (u unusualLine) follows(first unusualLine) bool {
	return u.Node == first.Node && u.Runs == first.Runs && u.TimeNs >= first.TimeNs && u.TimeNs-first.TimeNs <= oneMessageNs && u.Line > first.Line
}

// oneMessageNs is how long the writing of a message of several lines takes, in virtual time.
const oneMessageNs = 100_000

// unusualStory prints them.
func unusualStory(b *strings.Builder, s *StoryOf, list []unusualLine) {
	if len(list) == 0 {
		return
	}
	logs := &s.Background.Logs
	fmt.Fprintf(b, "\nunusual lines of logs, compared with %s of this world in which all properties hold\n", plural.Count(logs.Runs, "run"))
	for _, u := range list {
		how := "in no other run"
		switch {
		case u.Runs > 0:
			how = fmt.Sprintf("in %d of them", u.Runs)
		case logs.Full:
			how = "in few of them, if any"
		}
		if u.Times > 1 {
			how += fmt.Sprintf("; here %s", plural.Count(u.Times, "time"))
		}
		if u.more > 0 {
			how += fmt.Sprintf("; and %s after it", plural.Count(u.more, "line"))
		}
		fmt.Fprintf(b, "  %14s  %-10s %s  (%s)\n", Seconds(u.TimeNs), u.Node, clip(u.Text), how)
	}
}
