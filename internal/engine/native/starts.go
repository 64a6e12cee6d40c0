//go:build linux && amd64

package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A run ends when a server can never come up (docs/reference/checks.md, "Servers that never come up").
const (
	// alikeLives is how often a main process must have ended in the same way, one time after the other.
	alikeLives = 5
	// upNs is how long the main process of a node without a healthcheck must run for the node to have come up.
	upNs = 1e9
)

// again tells whether a restart policy starts a node however often it ends.
func again(r *world.Restart) bool {
	switch r.Mode {
	case world.RestartAlways, world.RestartUnlessStopped:
		return true
	}
	return r.Mode == world.RestartOnFailure && r.MaxRetries == 0
}

// born begins the life of a main process, if its end may tell whether the node can ever come up.
func (w *World) born(i int, p *kernel.Proc) {
	s, n := &w.director.Nodes[i], &w.spec.Nodes[i]
	w.kernel.Nodes[i].Life = kernel.Life{}
	if !s.Up && n.Role == world.Server && again(&n.Restart) && !w.shares(n) {
		w.kernel.Nodes[i].Life.Tag = p.Tag
	}
}

// shares tells whether other nodes see a volume or the network of a node: they may leave there what it needs.
func (w *World) shares(n *world.Node) bool {
	return n.NetworkOf != "" || slices.ContainsFunc(n.Volumes, func(v world.Volume) bool { return v.Shared }) ||
		slices.ContainsFunc(w.spec.Nodes, func(o world.Node) bool { return o.NetworkOf == n.Name })
}

// lived takes in the end of a main process by itself.
func (w *World) lived(n *kernel.Notice, i, code int) {
	s, spec, life := &w.director.Nodes[i], &w.spec.Nodes[i], &w.kernel.Nodes[i].Life
	s.Said = lastWords(w.director.LogTail[n.Tag])
	s.Up = s.Up || spec.Health == nil && n.TimeNs-s.StartedNs >= upNs
	switch {
	case s.Up || life.Tag != n.Tag || life.Open || w.company(i):
		s.Alike = 0
	case s.Alike > 0 && life.Sum == s.Life && code == s.LifeCode:
		s.Alike++
	default:
		s.Alike = 1
	}
	s.Life, s.LifeCode = life.Sum, code
	life.Tag = 0
	if s.Alike < alikeLives || spec.Health == nil && code == 0 && !w.waitedFor(spec.Name) || !w.undisturbed() {
		return
	}
	w.director.Stuck = true
	s.Stuck = fmt.Sprintf("%s never comes up: its main process %s has ended %d times in the same way, with exit code %d%s, and has seen nothing of other nodes that could change; mend its command, or what it needs on this node",
		spec.Name, n.Program, s.Alike, code, w.besides(saying(s.Said), i))
}

// company tells whether processes run on a node that are neither of its main process nor checks: they may leave what it needs.
func (w *World) company(i int) bool {
	return slices.ContainsFunc(w.kernel.Nodes[i].Procs, func(id kernel.ProcID) bool {
		p := w.kernel.Procs[id]
		return p != nil && !p.Zombie && p.Tag != 0 && !w.director.Jobs[p.Tag-1].Kind.asks()
	})
}

// waitedFor tells whether setup waits for a node because of others.
func (w *World) waitedFor(name string) bool {
	return w.director.Phase == phaseSetup && slices.ContainsFunc(w.spec.Nodes, func(n world.Node) bool {
		return slices.ContainsFunc(n.DependsOn, func(d world.Dependency) bool { return d.Node == name && d.Condition != world.Started })
	})
}

// undisturbed tells whether no fault has struck and none can.
func (w *World) undisturbed() bool {
	d := w.director
	return d.Phase == phaseSetup || len(d.Plan.Rules) == 0 || d.Plan.Calm
}

// lastWords are the last lines of a log that are not blank.
func lastWords(tail []string) string {
	var words []string
	for _, line := range slices.Backward(tail) {
		if line = strings.TrimSpace(line); line != "" && len(words) < wordsShown {
			words = append(words, line[:min(len(line), wordBytes)])
		}
	}
	slices.Reverse(words)
	return strings.Join(words, " / ")
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

// stuck says why a node can never come up whatever else happens, or nothing.
func (w *World) stuck(i int) string {
	s, n := &w.director.Nodes[i], &w.spec.Nodes[i]
	if s.Status != waiting {
		return s.Stuck
	}
	for k := range n.DependsOn {
		dep := &n.DependsOn[k]
		on := w.nodeID(dep.Node)
		if w.met(dep) {
			continue
		}
		switch by := &w.director.Nodes[on]; {
		case by.Stuck != "":
			return by.Stuck
		case len(w.spec.Nodes[on].Command) == 0:
			return fmt.Sprintf("%s never starts: it depends on %s, which has no command to run; give it one", n.Name, dep.Node)
		case by.Status == ended && dep.Condition != world.Started:
			return n.Name + " " + w.unstarted(n) + saying(by.Said)
		}
	}
	return ""
}

// unstartable ends a run in which a server can never come up. Exits of that server are the reason, and no findings.
func (w *World) unstartable() string {
	d := w.director
	var why []string
	for i := range d.Nodes {
		s := &d.Nodes[i]
		if s.Stuck != "" {
			w.outcome.Crashes = slices.DeleteFunc(w.outcome.Crashes, func(c engine.Crash) bool { return c.Node == w.spec.Nodes[i].Name && c.Kind == "exit" })
		}
		if text := w.stuck(i); text != "" && (s.Stuck != "" || d.Phase == phaseSetup && w.awaited(i)) && !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	return strings.Join(why, "; ")
}

// neverUp names the servers that have ended for good before their healthchecks succeeded.
func (w *World) neverUp() (list []string) {
	for i := range w.spec.Nodes {
		n, s := &w.spec.Nodes[i], &w.director.Nodes[i]
		if n.Role == world.Server && n.Health != nil && s.Status == ended && !s.Up && w.outcome.ReadyNs > 0 && !w.isStep(n.Name) {
			list = append(list, fmt.Sprintf("%s never came up: its main process ended with exit code %d before its healthcheck succeeded%s", n.Name, s.ExitCode, w.besides(saying(s.Said), i)))
		}
	}
	return list
}

// vanished deals with a main process that cannot start again, since the world has changed its program: for a shell, that is an
// end with exit code 127, or 126.
func (w *World) vanished(i int, argv []string, err error) (handled bool) {
	var start *kernel.StartError
	s, n := &w.director.Nodes[i], &w.spec.Nodes[i]
	if s.Mains == 0 || !errors.As(err, &start) || start.Errno == unix.ETXTBSY {
		return false
	}
	if file := argv[0]; n.Image == nil && strings.Contains(file, "/") {
		if !filepath.IsAbs(file) {
			file = filepath.Join(n.WorkingDir, file)
		}
		if _, err := os.Stat(file); err != nil { // somebody has taken it from the machine meanwhile
			return false
		}
	}
	code := 127
	if start.Errno != unix.ENOENT {
		code = 126
	}
	said := "cannot start again: " + start.Error()
	s.Status, s.ExitCode, s.Healthy, s.NextNs, s.Said = ended, code, false, never, said
	event := w.kernel.Happen(n.Name, "", "start", int64(-start.Errno), argv[0])
	w.addCrash(engine.Crash{Position: engine.At(event), TimeNs: w.kernel.Now, Node: n.Name, Program: argv[0], ExitCode: code, Kind: "exit", Lines: []string{said}})
	if !s.Up && n.Role == world.Server && w.undisturbed() {
		w.director.Stuck = true
		s.Stuck = fmt.Sprintf("%s never comes up: %s; the world itself has removed or changed its program", n.Name, said)
	}
	return true
}
