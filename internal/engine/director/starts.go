package director

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A run ends when a server can never come up (docs/reference/checks.md, "Servers that never come up").
const (
	// alikeLives is how often a main process must have ended in the same way, one time after the other.
	alikeLives = 5
	// upNs is how long the main process of a node without a healthcheck must run for the node to have come up.
	upNs = 1e9
)

// again reports whether a restart policy starts a node however often it ends.
func again(r *world.Restart) bool {
	switch r.Mode {
	case world.RestartAlways, world.RestartUnlessStopped:
		return true
	}
	return r.Mode == world.RestartOnFailure && r.MaxRetries == 0
}

// born begins the life of a main process, if its end may show whether the node can ever come up.
func (d *Director) born(i int, tag int64) {
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	if s.Up || n.Role != world.Server || !again(&n.Restart) || d.shares(n) {
		tag = 0
	}
	d.act.Watch(i, tag)
}

// shares reports whether other nodes see a volume or the network of a node: they may leave there what it needs.
func (d *Director) shares(n *world.Node) bool {
	return n.NetworkOf != "" || slices.ContainsFunc(n.Volumes, func(v world.Volume) bool { return v.Shared }) ||
		slices.ContainsFunc(d.spec.Nodes, func(o world.Node) bool { return o.NetworkOf == n.Name })
}

// lived takes in the end of a main process by itself.
func (d *Director) lived(n *Notice, i, code int) {
	s, spec, life := &d.Nodes[i], &d.spec.Nodes[i], d.act.Life(i)
	if s.EndedNs == 0 {
		s.EndedNs = n.TimeNs
	}
	s.SaidLines = lastLines(d.LogTail[n.Tag])
	s.Said = strings.Join(s.SaidLines, " / ")
	s.Up = s.Up || spec.Health == nil && n.TimeNs-s.StartedNs >= upNs
	switch {
	case s.Up || life.Tag != n.Tag || life.Open || d.company(i):
		s.Alike = 0
	case s.Alike > 0 && life.Sum == s.Life && code == s.LifeCode:
		s.Alike++
	default:
		s.Alike = 1
	}
	s.Life, s.LifeCode = life.Sum, code
	d.act.Watch(i, 0)
	if s.Alike < alikeLives || spec.Health == nil && code == 0 && !d.waitedFor(spec.Name) || !d.undisturbed() {
		return
	}
	d.Stuck = true
	if r := n.Refusal; r != nil {
		s.Stuck = fmt.Sprintf("%s never comes up: its main process %s has ended %d times in the same way, with exit code %d, after %s; %s",
			spec.Name, n.Program, s.Alike, code, r, record.RefusalRemedy())
		return
	}
	s.Stuck = fmt.Sprintf("%s never comes up: its main process %s has ended %d times in the same way, with exit "+
		"code %d%s, and nothing that it has seen of other nodes can change; fix its command, or its environment on this node",
		spec.Name, n.Program, s.Alike, code, d.besides(saying(s.Said), i))
}

// company reports whether processes run on a node that are neither of its main process nor checks: they may leave what it needs.
func (d *Director) company(i int) bool {
	return slices.ContainsFunc(d.act.Running(i), func(tag int64) bool { return tag != 0 && !d.Jobs[tag-1].Kind.Asks() })
}

// waitedFor reports whether setup waits for a node because of others.
func (d *Director) waitedFor(name string) bool {
	return d.Phase == PhaseSetup && slices.ContainsFunc(d.spec.Nodes, func(n world.Node) bool {
		return slices.ContainsFunc(n.DependsOn, func(d world.Dependency) bool { return d.Node == name && d.Condition != world.Started })
	})
}

// undisturbed reports whether no fault has been injected and none can be.
func (d *Director) undisturbed() bool {
	return d.Phase == PhaseSetup || len(d.Plan.Rules) == 0 || d.Plan.Calm
}

// lastLines are the last lines of a log that are not blank.
func lastLines(tail []string) (lines []string) {
	for _, line := range slices.Backward(tail) {
		if line = strings.TrimSpace(line); line != "" && len(lines) < wordsShown {
			lines = append(lines, line[:min(len(line), wordBytes)])
		}
	}
	slices.Reverse(lines)
	return lines
}

// Bounds of what is shown of the output of a node that does not come up.
const (
	wordsShown = 3
	wordBytes  = 200
)

func saying(words string) string {
	if words == "" {
		return " and no output"
	}
	return fmt.Sprintf(" (its last output: %q)", words)
}

// besides adds to a reason what programs of a node have looked for without success.
func (d *Director) besides(reason string, node int) string {
	hidden := d.act.Hidden(node)
	if reason == "" || hidden == "" {
		return reason + hidden
	}
	return reason + "; " + hidden
}

// stuck says why a node can never come up whatever else happens, or nothing.
func (d *Director) stuck(i int) string {
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	if s.Status != Waiting {
		return s.Stuck
	}
	for k := range n.DependsOn {
		dep := &n.DependsOn[k]
		on := d.nodeID(dep.Node)
		if d.isMet(dep) {
			continue
		}
		switch by := &d.Nodes[on]; {
		case by.Stuck != "":
			return by.Stuck
		case len(d.spec.Nodes[on].Command) == 0:
			return fmt.Sprintf("%s never starts: it depends on %s, which has no command to run; give it one", n.Name, dep.Node)
		case by.Status == Ended && dep.Condition != world.Started:
			return n.Name + " " + d.unstarted(n) + saying(by.Said)
		}
	}
	return ""
}

// unstartable ends a run in which a server can never come up. Exits of that server are the reason, and no findings. Those for a refused call
// stay: they are no findings anyhow, and say what was refused.
func (d *Director) unstartable() string {
	var why []string
	for i := range d.Nodes {
		s := &d.Nodes[i]
		if s.Stuck != "" {
			d.out.Crashes = slices.DeleteFunc(d.out.Crashes, func(c record.Crash) bool {
				return c.Node == d.spec.Nodes[i].Name && c.Kind == "exit" && c.Refusal == nil
			})
		}
		if text := d.stuck(i); text != "" && (s.Stuck != "" || d.Phase == PhaseSetup && d.awaited(i)) && !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	return strings.Join(why, "; ")
}

// NeverUp names the servers that have ended for good before their healthchecks succeeded.
func (d *Director) NeverUp() (list []string) {
	for i := range d.spec.Nodes {
		n, s := &d.spec.Nodes[i], &d.Nodes[i]
		if n.Role == world.Server && n.Health != nil && s.Status == Ended && !s.Up && d.out.ReadyNs > 0 && !d.isStep(n.Name) {
			list = append(list, fmt.Sprintf("%s never came up: its main process ended with exit code %d before its healthcheck succeeded%s",
				n.Name, s.ExitCode, d.besides(saying(s.Said), i)))
		}
	}
	return list
}

// vanished deals with a main process that cannot start again, since the world has changed its program: for a shell, that is an
// end with exit code 127, or 126.
func (d *Director) vanished(i int, argv []string, err error) (handled bool) {
	var start *StartError
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	if s.Mains == 0 || !errors.As(err, &start) || start.Busy || start.Foreign {
		return false
	}
	code := 126
	if start.Missing {
		code = 127
	}
	said := "cannot start again: " + start.Error()
	s.Status, s.ExitCode, s.Healthy, s.NextNs, s.Said = Ended, code, false, never, said
	event := d.act.Happen(n.Name, "start", int64(-start.Errno), argv[0])
	d.addCrash(record.Crash{Position: record.PositionAt(event), TimeNs: d.act.Now(), Node: n.Name, Program: argv[0], ExitCode: code,
		Kind: "exit", Lines: []string{said}})
	if !s.Up && n.Role == world.Server && d.undisturbed() {
		d.Stuck = true
		s.Stuck = fmt.Sprintf("%s never comes up: %s; the world itself has removed or changed its program", n.Name, said)
	}
	return true
}
