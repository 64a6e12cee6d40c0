//go:build linux && amd64

package native

import (
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What languages print when a program breaks.
var (
	panicLine     = regexp.MustCompile(`^(panic: |fatal error: |thread '.*' panicked at |Exception in thread "|\*\*\* stack smashing detected|terminate called |free\(\): |malloc\(\): |double free)`)
	sanitizerLine = regexp.MustCompile(`(ERROR: (Address|Leak|Memory)Sanitizer|WARNING: (Thread|Memory)Sanitizer|WARNING: DATA RACE|:\d+: runtime error: )`)
)

// sanitized tells whether a line is a sanitizer's report. Looking for the words first is a hundred times as fast.
func sanitized(line string) bool {
	for _, word := range []string{"Sanitizer", "DATA RACE", "runtime error: "} {
		if strings.Contains(line, word) {
			return sanitizerLine.MatchString(line)
		}
	}
	return false
}

// log takes in one line of output.
func (w *World) log(l engine.LogLine, tag int64) {
	d := w.director
	if d.LogBytes += len(l.Text); len(w.outcome.Log) < maxLogLines && d.LogBytes <= maxLogBytes {
		w.outcome.Log = append(w.outcome.Log, l)
	} else {
		if w.outcome.LogLost == 0 {
			w.outcome.Warnings = append(w.outcome.Warnings, logFull)
		}
		w.outcome.LogLost++
	}
	if w.options.Log != nil {
		w.options.Log(l)
	}
	tail := append(d.LogTail[tag], l.Text)
	d.LogTail[tag] = tail[max(0, len(tail)-crashLines):]
	for i, p := range d.patterns {
		if name := w.spec.LogPatterns[i].Name; p.MatchString(l.Text) {
			d.Counts[name]++
			for _, h := range w.spec.Faults.Handling {
				if h.Log == name {
					d.Plan.Ledger.Handled(fault.Kind(h.Kind))
				}
			}
		}
	}
	w.roleLine(&l)
	w.jobLine(&l)
	if !w.kernel.Nodes[w.nodeID(l.Node)].Driver && sanitized(l.Text) {
		w.addCrash(engine.Crash{Position: engine.At(l.Event), TimeNs: l.TimeNs, Node: l.Node, Kind: "sanitizer", Lines: []string{l.Text}})
	}
}

const logFull = "the log of this run is longer than what is kept; the first lines are shown"

// crash decides whether the end of a process is a failure of the program.
func (w *World) crash(n *kernel.Notice, j *job, main bool) {
	if n.ByFault || j.Kind.asks() {
		return
	}
	node := &w.spec.Nodes[j.Node]
	told := w.toldToEnd(n)
	c := engine.Crash{Position: engine.At(n.Event), TimeNs: n.TimeNs, Node: node.Name, Program: n.Program, PID: n.PID, ExitCode: n.Status >> 8, Lines: w.director.LogTail[n.Tag]}
	if sig := n.Status & 0x7f; sig != 0 {
		c.Dump = w.dumps.take(n.Proc, sig)
	}
	if told && n.Status&0x7f != 0 {
		return
	}
	switch sig := unix.Signal(n.Status & 0x7f); sig {
	case 0:
		if !main {
			return
		}
		for _, line := range c.Lines {
			if panicLine.MatchString(line) {
				c.Kind = "panic"
			}
		}
		switch {
		case c.ExitCode == 0:
			if c.Kind == "" && !told && node.Role == world.Server && !w.isStep(node.Name) {
				w.outcome.Warnings = append(w.outcome.Warnings, node.Name+": "+n.Program+" ended by itself with exit code 0")
			}
			return
		case c.Kind == "" && told:
			return
		case c.Kind == "":
			c.Kind = "exit"
		}
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS:
		c.Kind, c.Signal = "crash", unix.SignalName(sig)
	default:
		if !main {
			return
		}
		c.Kind, c.Signal = "exit", unix.SignalName(sig)
	}
	w.addCrash(c)
}

// isStep tells whether other nodes wait for this one to complete.
func (w *World) isStep(name string) bool {
	for i := range w.spec.Nodes {
		for _, dep := range w.spec.Nodes[i].DependsOn {
			if dep.Node == name && dep.Condition == world.Completed {
				return true
			}
		}
	}
	return false
}

func (w *World) addCrash(c engine.Crash) {
	if len(w.outcome.Crashes) < maxCrashes {
		w.outcome.Crashes = append(w.outcome.Crashes, c)
	}
}
