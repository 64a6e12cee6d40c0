package fault

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// ruleOf finds the rule and the target of which a stream has the draws.
func (p *Plan) ruleOf(stream string) (*Rule, *Target) {
	for i := range p.Rules {
		r := &p.Rules[i]
		for t := range r.Targets {
			if r.Targets[t].Stream == stream {
				return r, &r.Targets[t]
			}
		}
	}
	return nil, nil
}

// Opportunity is the number of the opportunity at which an injection was drawn, from 0 on: a time step, or a call, reply or message
// that its rule asks for.
func (p *Plan) Opportunity(d tape.Decision) int64 {
	if r, t := p.ruleOf(d.Stream); r != nil && r.NthTo > 0 && d.Value > 0 {
		return int64(r.NthFrom + r.number(t, d.Value))
	}
	return int64(d.Index)
}

// Shift moves an injection by some opportunities, to later ones if by is above 0. It reports false where its rule has none.
func (p *Plan) Shift(d tape.Decision, by int64) (tape.Decision, bool) {
	r, t := p.ruleOf(d.Stream)
	if r == nil || r.NthTo == 0 || d.Value == 0 {
		to := int64(d.Index) + by
		d.Index = uint64(max(to, 0))
		return d, to >= 0
	}
	// The number of the call is the highest part of what is drawn.
	number := int64(r.number(t, d.Value)) + by
	if number < 0 || uint64(number) >= r.numbers() {
		return d, false
	}
	d.Value += uint64(by * int64(DurationSteps*r.shapes(t)*r.delays())) // wraps around for a negative one
	return d, true
}

// Severity orders the kinds of faults by how likely one of them alone shows a bug: 0 is that of what loses data or fails at disks, 1 that of what
// ends programs, 2 that of what cuts them off or stops them, and 3 that of the rest.
func (p *Plan) Severity(d tape.Decision) int {
	r, _ := p.ruleOf(d.Stream)
	if r == nil {
		return 0 // of calls on the disk
	}
	switch row := &Table[r.Row]; {
	case row.Ends == Unplugged || row.Restores() || row.Place == OnDisk || row.Place == OnCall:
		return 0
	case row.Place == OnLink || r.Kind == Pause:
		return 2
	case row.Place == OnNode:
		return 1
	}
	return 3
}

// LossStreams is the beginning of the names of the streams that decide what the n-th power loss of a node, from 1 on, leaves on its disk.
func LossStreams(node string, n int) string { return fmt.Sprintf("disk/%s/%d/", node, n) }

// LossOf is the LossStreams of which a stream is one, or empty if it is not about the disk of that node after a power loss.
func LossOf(stream, node string) string {
	rest, ok := strings.CutPrefix(stream, "disk/"+node+"/")
	number, _, more := strings.Cut(rest, "/")
	if n, err := strconv.Atoi(number); ok && more && err == nil {
		return LossStreams(node, n)
	}
	return ""
}

// LosesPower is the node whose power an injection cuts, or empty.
func (p *Plan) LosesPower(d tape.Decision) string {
	if r, t := p.ruleOf(d.Stream); r != nil && r.Kind == PowerLoss {
		return t.A
	}
	return ""
}

// AtMoments reports whether an injection was drawn at something that programs did, and not at a time step.
func (p *Plan) AtMoments(d tape.Decision) bool {
	r, _ := p.ruleOf(d.Stream)
	return r != nil && r.onCalls()
}
