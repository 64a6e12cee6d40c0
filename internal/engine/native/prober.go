//go:build linux && amd64

package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A world has one prober: a process that performs all checks of types that come with Bloodhound, side by side. To start a
// program for each of them would cost more than all that it then does. Scripts of users are processes of their own.

// streamOf names the log lines of a probe.
func streamOf(kind jobKind) string {
	if kind == jobRole {
		return "role"
	}
	return "check"
}

// startProbe begins a check, as a job; env is for scripts.
func (w *World) startProbe(j job, c *world.Check, env []string) error {
	stream := streamOf(j.Kind)
	if len(c.Script) == 0 {
		return w.order(j, c)
	}
	argv, env := c.Script, slices.Concat(w.spec.Nodes[j.Node].Env, []string{"BLOODHOUND_PHASE=" + w.director.Phase}, env)
	if c.Type != world.Custom { // it starts the script, for one node after the other
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		argv, env = []string{kernel.Self, "driver", "probe"}, append(env, "BLOODHOUND_DRIVER="+string(text), "GOMAXPROCS=1")
	}
	_, err := w.launch(j, argv, env, stream, stream)
	return err
}

// order has the prober perform a check.
func (w *World) order(j job, c *world.Check) error {
	d := w.director
	if d.Prober == 0 {
		env := append(slices.Clone(w.spec.Nodes[j.Node].Env), "GOMAXPROCS=1")
		if _, err := w.launch(job{Kind: jobProber, Node: j.Node, Deadline: never}, []string{kernel.Self, "driver", "prober"}, env, "check", "check"); err != nil {
			return err
		}
		d.Prober = int64(len(d.Jobs))
	}
	j.Prober, j.StartNs, j.Phase = d.Prober, w.kernel.Now, d.Phase
	d.Jobs = append(d.Jobs, j)
	tag := int64(len(d.Jobs))
	d.Live = append(d.Live, int(tag-1))
	text, err := json.Marshal(world.ProbeOrder{ID: tag, Check: *c})
	if err != nil {
		return err
	}
	w.kernel.Happen(w.spec.Nodes[j.Node].Name, "", "probe", tag, string(text))
	if !w.kernel.Order(d.Jobs[d.Prober-1].Proc, append(text, '\n')) {
		return w.unmade(tag, "the prober takes no orders")
	}
	return nil
}

// answered takes in what a prober has found.
func (w *World) answered(n *kernel.Notice) error {
	d := w.director
	var a world.ProbeAnswer
	in := json.NewDecoder(bytes.NewReader(n.Text))
	in.DisallowUnknownFields()
	if err := in.Decode(&a); err != nil || in.More() {
		return fmt.Errorf("the prober writes what is no answer: %.200q", n.Text)
	}
	if a.ID < 1 || a.ID > int64(len(d.Jobs)) || d.Jobs[a.ID-1].Prober != n.Tag || a.Code < world.ProbeHolds || a.Code > world.ProbeFailed {
		return fmt.Errorf("the prober answers what it was not asked: %.200q", n.Text)
	}
	if !slices.Contains(d.Live, int(a.ID-1)) { // it came too late
		return nil
	}
	return w.probeEnded(a.ID, a.Code, a.Text, n)
}

// probeEnded ends what a prober did as if it had been a process of its own, which prints a text and exits.
func (w *World) probeEnded(tag int64, code int, text string, n *kernel.Notice) error {
	d := w.director
	d.Live = slices.DeleteFunc(d.Live, func(i int) bool { return i == int(tag-1) })
	j := d.Jobs[tag-1]
	for _, line := range strings.Split(text, "\n") {
		w.log(engine.LogLine{Position: engine.At(n.Event), TimeNs: n.TimeNs, Node: w.spec.Nodes[j.Node].Name, Stream: streamOf(j.Kind), Text: line}, tag)
	}
	w.dismiss(j.Prober)
	end := &kernel.Notice{Kind: kernel.Exited, Event: n.Event, TimeNs: n.TimeNs, Node: n.Node, Tag: tag, Status: code << 8}
	if j.Kind == jobRole {
		w.roleAsked(&j, end)
	} else {
		w.probed(&j, end)
	}
	return nil
}

// unmade ends a probe that came to no end by itself: nothing follows from it.
func (w *World) unmade(tag int64, why string) error {
	return w.probeEnded(tag, world.ProbeNotExecuted, why, &kernel.Notice{Event: w.kernel.Events, TimeNs: w.kernel.Now, Node: kernel.NodeID(w.director.Jobs[tag-1].Node)})
}

// overran ends a probe at its deadline. It has a shorter one of its own, so the prober is broken: others finish, no other begins.
func (w *World) overran(tag int64) error {
	d := w.director
	j := &d.Jobs[tag-1]
	if d.Prober == j.Prober {
		d.Prober = 0
	}
	return w.unmade(tag, "the prober had not answered when its time was over")
}

// dismiss ends a prober that takes no orders and has none left.
func (w *World) dismiss(tag int64) {
	d := w.director
	if tag == d.Prober || slices.ContainsFunc(d.Live, func(i int) bool { return d.Jobs[i].Prober == tag }) {
		return
	}
	if p := w.kernel.Procs[d.Jobs[tag-1].Proc]; p != nil {
		w.kernel.KillProc(p)
	}
}

// proberEnded deals with the end of a prober: what it was at is unmade, and the next check gets another one.
func (w *World) proberEnded(n *kernel.Notice) error {
	d := w.director
	if d.Prober == n.Tag {
		d.Prober = 0
	}
	why := fmt.Sprintf("the prober ended with exit code %d", n.Status>>8)
	if sig := n.Status & 0x7f; sig != 0 {
		why = "the prober ended by " + unix.SignalName(unix.Signal(sig))
	}
	if tail := d.LogTail[n.Tag]; len(tail) > 0 {
		why += ": " + tail[len(tail)-1]
	}
	delete(d.LogTail, n.Tag)
	for _, i := range slices.Clone(d.Live) {
		if d.Jobs[i].Prober == n.Tag {
			if err := w.unmade(int64(i+1), why); err != nil {
				return err
			}
		}
	}
	return nil
}

// proberHung ends a prober that computes without end, and all checks that it was at: one of them would have the next one do so.
func (w *World) proberHung(n *kernel.Notice) {
	d := w.director
	for _, i := range d.Live {
		if j := &d.Jobs[i]; j.Prober == n.Tag && j.Kind == jobProbe {
			d.Probes[j.Index].Hung = string(n.Text)
		}
	}
	if p := w.kernel.Procs[n.Proc]; p != nil {
		w.kernel.KillProc(p)
	}
}
