package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ByDesign says how a configuration allows the end of a program that lacked something, if the verdict is about one;
// nothing otherwise.
func ByDesign(spec *world.Spec, v *check.Verdict) []string {
	p := v.Proposal
	if p == nil {
		return nil
	}
	lines := []string{
		fmt.Sprintf("%s ended during %s, or shortly after. If it stops then by design, add to node %s:",
			p.Node, world.FaultNames(p.Kinds), p.Node),
		"    " + p.Line,
	}
	staysDown := func(n world.Node) bool {
		return n.Name == p.Node && (n.Restart.Mode == world.RestartNo || n.Restart.Mode == "")
	}
	if spec != nil && slices.ContainsFunc(spec.Nodes, staysDown) {
		lines = append(lines, "    restart: on-failure", "Without the second line it stays down after such an end.")
	}
	return lines
}

// designStory prints how to allow the end that the violation is about.
func designStory(b *strings.Builder, s *StoryOf) {
	lines := ByDesign(s.Spec, &s.Verdict)
	if len(lines) == 0 {
		return
	}
	b.WriteString("\nby design?\n")
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", clip(line))
	}
}
