package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// replicas are groups of nodes under test that run the same program.
func replicas(spec *world.Spec) (groups [][]string) {
	of := loglines.Groups(spec)
	at := map[string]int{}
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		if n.Role != world.Server {
			continue
		}
		k, known := at[of[n.Name]]
		if !known {
			k, groups = len(groups), append(groups, nil)
			at[of[n.Name]] = k
		}
		groups[k] = append(groups[k], n.Name)
	}
	return slices.DeleteFunc(groups, func(g []string) bool { return len(g) < 2 })
}

// maxParting bounds the lines about where replicas part.
const maxParting = 4

// replicasStory prints where replicas differ first: in their answers, and in lines of logs that one of them alone has written.
func replicasStory(b *strings.Builder, s *StoryOf) {
	var lines []string // each begins with its time, which is aligned
	if text := answersPart(s); text != "" {
		lines = append(lines, text)
	}
	for _, group := range replicas(s.Spec) {
		lines = append(lines, logsPart(s, group)...)
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		return
	}
	b.WriteString("\nwhere replicas differ first\n")
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// answersPart says when replicas gave different answers for the first time, if the property compares them.
func answersPart(s *StoryOf) string {
	compares := slices.ContainsFunc(s.Spec.Properties, func(p world.Property) bool {
		return p.Name == s.Verdict.Property && p.Check.Type == world.Agreement
	})
	if !compares {
		return ""
	}
	var same *record.Probe
	for i := range s.Outcome.Probes {
		p := &s.Outcome.Probes[i]
		if p.Property != s.Verdict.Property {
			continue
		}
		switch p.ExitCode {
		case world.ProbeHolds:
			same = p
		case world.ProbeViolated:
			text := fmt.Sprintf("%14s  their answers: %s", Seconds(p.EndNs), clip(strings.ReplaceAll(strings.TrimSpace(p.Output), "\n", "; ")))
			if same != nil {
				text += fmt.Sprintf(" (the same until %s)", Seconds(same.EndNs))
			}
			return text
		}
	}
	return ""
}

// logsPart are the first lines before the violation that one replica alone has written, and no other run has. Lines that other runs
// have say less: which replica leads, for example, differs from run to run.
func logsPart(s *StoryOf, group []string) (list []string) {
	if s.Background == nil || s.Background.Logs.Runs == 0 {
		return nil
	}
	wrote := map[string]map[string]bool{} // by template
	for i := range s.Outcome.Log {
		l := &s.Outcome.Log[i]
		if !slices.Contains(group, l.Node) {
			continue
		}
		t := loglines.Template(l.Text)
		if wrote[t] == nil {
			wrote[t] = map[string]bool{}
		}
		wrote[t][l.Node] = true
	}
	wanted := func(l *record.LogLine) bool {
		return slices.Contains(group, l.Node) && (s.Verdict.Event == 0 || l.Event <= s.Verdict.Event) && len(wrote[loglines.Template(l.Text)]) == 1
	}
	unusual := s.Background.Logs.Unusual(s.Spec, s.Outcome.Log, wanted)
	unusual = slices.DeleteFunc(unusual, func(u loglines.Unusual) bool { return u.Runs > 0 })
	slices.SortFunc(unusual, func(a, b loglines.Unusual) int { return a.Line - b.Line })
	for _, u := range unusual[:min(len(unusual), maxParting)] {
		l := &s.Outcome.Log[u.Line]
		others := slices.DeleteFunc(slices.Clone(group), func(n string) bool { return n == l.Node })
		list = append(list, fmt.Sprintf("%14s  only %s, and not %s, logs: %s", Seconds(l.TimeNs), l.Node, strings.Join(others, ", "), clip(l.Text)))
	}
	return list
}
