package director

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// RoleProbe is the progress of asking for one role of one node.
type RoleProbe struct {
	NextNs  int64 // never for roles that logs report
	Running bool
}

// roleLines are the patterns of a role that logs report; nil if no log reports it.
type roleLines struct{ begin, end *regexp.Regexp }

func compileRole(r *world.NodeRole) roleLines {
	var l roleLines
	if r.Log != "" {
		l.begin = regexp.MustCompile(r.Log)
	}
	if r.Until != "" {
		l.end = regexp.MustCompile(r.Until)
	}
	return l
}

// askRoles starts the probes of roles that are due. It begins with the warmup and ends with the chaos phase: only
// faults ask for roles.
func (d *Director) askRoles(now int64) error {
	if d.Phase != PhaseWarmup && d.Phase != PhaseChaos {
		return nil
	}
	for i := range d.RoleProbes {
		s, r := &d.RoleProbes[i], &d.spec.Faults.Roles[i]
		if s.NextNs > now || s.Running {
			continue
		}
		s.NextNs = never
		node := Checker(d.spec)
		if node < 0 {
			return fmt.Errorf("role %s: there is no client node to ask from", r.Name)
		}
		s.Running = true
		j := Job{Kind: JobRole, Node: node, Index: i, Deadline: now + probeTimeoutNs}
		if err := d.startProbe(j, r.Check, []string{"BLOODHOUND_NODE=" + r.Node}); err != nil {
			return err
		}
	}
	return nil
}

// roleAsked takes in the answer of a probe.
func (d *Director) roleAsked(j *Job, n *Notice) {
	s, r := &d.RoleProbes[j.Index], &d.spec.Faults.Roles[j.Index]
	s.Running = false
	s.NextNs = d.act.Now() + max(r.Check.IntervalNs, 1)
	d.forgetLog(n.Tag)
	d.setRole(r, n.Status == 0)
	d.act.RoleChanged(r.Node)
}

func (d *Director) setRole(r *world.NodeRole, has bool) {
	held := d.Roles[r.Node]
	at := slices.Index(held, r.Name)
	switch {
	case has && at < 0:
		d.SetRoles(r.Node, append(slices.Clone(held), r.Name))
	case !has && at >= 0:
		d.SetRoles(r.Node, slices.Delete(slices.Clone(held), at, at+1))
	}
}

// SetRoles says which roles a node has, in the order in which it took them on.
func (d *Director) SetRoles(node string, roles []string) {
	if d.Roles == nil {
		d.Roles = map[string][]string{}
	}
	d.Roles[node] = roles
}

// roleLine takes in a line of a log. It begins each role that it reports; of the others, it ends those that it matches the end
// of, and where it reports some role, those without a pattern of their end.
func (d *Director) roleLine(l *record.LogLine) {
	told, others := false, []int(nil)
	for i := range d.roles {
		r, p := &d.spec.Faults.Roles[i], &d.roles[i]
		switch {
		case r.Node != l.Node || p.begin == nil:
		case p.begin.MatchString(l.Text):
			told = true
			d.setRole(r, true)
		default:
			others = append(others, i)
		}
	}
	for _, i := range others {
		if end := d.roles[i].end; end != nil && end.MatchString(l.Text) || end == nil && told {
			d.setRole(&d.spec.Faults.Roles[i], false)
		}
	}
	if told || len(others) > 0 {
		d.act.RoleChanged(l.Node)
	}
}
