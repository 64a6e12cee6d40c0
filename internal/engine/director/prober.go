package director

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A world has one prober: a process that performs all checks of types that come with Bloodhound, side by side. To start a
// program for each of them would cost more than all that it then does. Scripts of users are processes of their own.

// streamOf names the log lines of a probe.
func streamOf(kind JobKind) string {
	if kind == JobRole {
		return "role"
	}
	return "check"
}

// startProbe begins a check, as a job; env is for scripts.
func (d *Director) startProbe(j Job, c *world.Check, env []string) error {
	stream := streamOf(j.Kind)
	if len(c.Script) == 0 {
		return d.order(j, c)
	}
	l := &Launch{As: &d.spec.Nodes[j.Node], Argv: c.Script,
		Env: slices.Concat(d.spec.Nodes[j.Node].Env, []string{"BLOODHOUND_PHASE=" + d.Phase}, env), Stdout: stream, Stderr: stream}
	if c.Type.Kind().AsksNodes { // it starts the script, for one node after the other
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		l.Own, l.Argv, l.Env = true, []string{"driver", "probe"}, append(l.Env, "BLOODHOUND_DRIVER="+string(text), "GOMAXPROCS=1")
	}
	_, err := d.launchAs(l, j)
	return err
}

// order has the prober perform a check.
func (d *Director) order(j Job, c *world.Check) error {
	if d.Prober == 0 {
		if err := d.startProber(j.Node); err != nil {
			return err
		}
	}
	j.Prober, j.StartNs, j.Phase = d.Prober, d.act.Now(), d.Phase
	d.Jobs = append(d.Jobs, j)
	tag := int64(len(d.Jobs))
	d.Live = append(d.Live, int(tag-1))
	text, err := json.Marshal(world.ProbeOrder{ID: tag, Check: c.Probe()})
	if err != nil {
		return err
	}
	d.act.Happen(d.spec.Nodes[j.Node].Name, "probe", tag, string(text))
	if !d.act.Order(d.Jobs[d.Prober-1].Proc, append(text, '\n')) {
		return d.unmade(tag, "the prober takes no orders")
	}
	return nil
}

// asksProber reports whether there are checks that the prober performs.
func (d *Director) asksProber() bool {
	unscripted := func(c *world.Check) bool { return c != nil && len(c.Script) == 0 }
	return slices.ContainsFunc(d.spec.Properties, func(p world.Property) bool { return probes(&p) && unscripted(&p.Check) }) ||
		slices.ContainsFunc(d.spec.Faults.Roles, func(r world.NodeRole) bool { return unscripted(r.Check) })
}

func (d *Director) startProber(node int) (err error) {
	n := &d.spec.Nodes[node]
	d.Prober, err = d.launchAs(&Launch{As: n, Own: true, Ordered: true, Argv: []string{"driver", "prober"},
		Env: slices.Concat(n.Env, []string{"GOMAXPROCS=1"}), Stdout: "check", Stderr: "check"},
		Job{Kind: JobProber, Node: node, Deadline: never})
	return err
}

// Answered takes in what a prober has found.
func (d *Director) Answered(n *Notice) error {
	if d.Jobs[n.Tag-1].Kind != JobProber { // a driver that writes to its standard input
		return nil
	}
	var a world.ProbeAnswer
	in := json.NewDecoder(bytes.NewReader(n.Text))
	in.DisallowUnknownFields()
	if err := in.Decode(&a); err != nil || in.More() {
		return fmt.Errorf("the prober wrote something that is not an answer: %.200q", n.Text)
	}
	if a.ID < 1 || a.ID > int64(len(d.Jobs)) || d.Jobs[a.ID-1].Prober != n.Tag || a.Code < world.ProbeHolds || a.Code > world.ProbeFailed {
		return fmt.Errorf("the prober answered a question that was not asked: %.200q", n.Text)
	}
	if !slices.Contains(d.Live, int(a.ID-1)) { // it came too late
		return nil
	}
	return d.probeEnded(&a, n)
}

// probeEnded ends what a prober did as if it had been a process of its own, which prints a text and exits.
func (d *Director) probeEnded(a *world.ProbeAnswer, n *Notice) error {
	tag := a.ID
	d.Live = slices.DeleteFunc(d.Live, func(i int) bool { return i == int(tag-1) })
	j := d.Jobs[tag-1]
	for _, line := range strings.Split(a.Text, "\n") {
		d.Log(record.LogLine{Position: record.PositionAt(n.Event), TimeNs: n.TimeNs, Node: d.spec.Nodes[j.Node].Name,
			Stream: streamOf(j.Kind), Text: line}, tag)
	}
	d.dismiss(j.Prober)
	end := &Notice{Event: n.Event, TimeNs: n.TimeNs, Node: n.Node, Tag: tag, Status: a.Code << 8}
	if j.Kind == JobRole {
		d.roleAsked(&j, end)
	} else {
		d.probed(&j, end, a.Scrapes)
	}
	return nil
}

// unmade ends a probe that came to no end by itself: nothing follows from it.
func (d *Director) unmade(tag int64, why string) error {
	return d.probeEnded(&world.ProbeAnswer{ID: tag, Code: world.ProbeNotExecuted, Text: why},
		&Notice{Event: d.act.Events(), TimeNs: d.act.Now(), Node: int(d.Jobs[tag-1].Node)})
}

// overran ends a probe at its deadline. It has a shorter one of its own, so the prober is broken: others finish, no other begins.
func (d *Director) overran(tag int64) error {
	j := &d.Jobs[tag-1]
	if d.Prober == j.Prober {
		d.Prober = 0
	}
	return d.unmade(tag, "the prober had not answered when its time was over")
}

// dismiss ends a prober that takes no orders and has none left.
func (d *Director) dismiss(tag int64) {
	if tag == d.Prober || slices.ContainsFunc(d.Live, func(i int) bool { return d.Jobs[i].Prober == tag }) {
		return
	}
	d.act.Kill(d.Jobs[tag-1].Proc)
}

// proberEnded deals with the end of a prober: what it was at is unmade, and the next check gets another one.
func (d *Director) proberEnded(n *Notice) error {
	if d.Prober == n.Tag {
		d.Prober = 0
	}
	why := fmt.Sprintf("the prober ended with exit code %d", n.Status>>8)
	if sig := n.Status & 0x7f; sig != 0 {
		why = "the prober ended by " + world.SignalName(sig)
	}
	if tail := d.LogTail[n.Tag]; len(tail) > 0 {
		why += ": " + tail[len(tail)-1]
	}
	d.forgetLog(n.Tag)
	for _, i := range slices.Clone(d.Live) {
		if d.Jobs[i].Prober == n.Tag {
			if err := d.unmade(int64(i+1), why); err != nil {
				return err
			}
		}
	}
	return nil
}

// proberHung ends a prober that computes without end, and all checks that it was at: one of them would have the next one do so.
func (d *Director) proberHung(n *Notice) {
	for _, i := range d.Live {
		if j := &d.Jobs[i]; j.Prober == n.Tag && j.Kind == JobProbe {
			d.Probes[j.Index].Hung = string(n.Text)
		}
	}
	d.act.Kill(n.Proc)
}
