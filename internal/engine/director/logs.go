package director

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Limits of what an outcome keeps.
const (
	maxLogLines = 20_000
	maxLogBytes = 64 << 20
	crashLines  = 40
	// panicLines are the first lines of a report of a panic: what went wrong, and the thread in which it did. Those of other threads follow.
	panicLines = 20
	// panicEndsNs is how soon a program ends after such a report, in virtual time. One that goes on has recovered.
	panicEndsNs = 1_000_000_000
	maxCrashes  = 1_000
)

// What languages print when a program breaks.
var (
	panicLine     = regexp.MustCompile(`^(panic: |fatal error: |thread '.*' panicked at |Exception in thread "|\*\*\* stack smashing detected|terminate called |free\(\): |malloc\(\): |double free)`)
	sanitizerLine = regexp.MustCompile(`(ERROR: (Address|Leak|Memory)Sanitizer|WARNING: (Thread|Memory)Sanitizer|WARNING: DATA RACE|:\d+: runtime error: )`)
)

// sanitized reports whether a line is a sanitizer's report. Looking for the words first is a hundred times as fast.
func sanitized(line string) bool {
	for _, word := range []string{"Sanitizer", "DATA RACE", "runtime error: "} {
		if strings.Contains(line, word) {
			return sanitizerLine.MatchString(line)
		}
	}
	return false
}

// Log takes in one line of output of a job, or of none.
func (d *Director) Log(l record.LogLine, tag int64) {
	if d.LogBytes += len(l.Text); len(d.out.Log) < maxLogLines && d.LogBytes <= maxLogBytes {
		d.out.Log = append(d.out.Log, l)
	} else {
		if d.out.LogLost == 0 {
			d.out.Warnings = append(d.out.Warnings, logFull)
		}
		d.out.LogLost++
	}
	d.act.Logged(l)
	if tag != 0 {
		if d.LogTail == nil {
			d.LogTail = map[int64][]string{}
		}
		tail := append(d.LogTail[tag], l.Text)
		d.LogTail[tag] = tail[max(0, len(tail)-crashLines):]
		d.reportOfPanic(&l, tag)
	}
	for i, p := range d.patterns {
		if name := d.spec.LogPatterns[i].Name; p.MatchString(l.Text) {
			d.Counts[name]++
			for _, h := range d.spec.Faults.Handling {
				if h.Log == name {
					d.Plan.Ledger.Handled(h.Kind)
				}
			}
		}
	}
	d.roleLine(&l)
	d.jobLine(&l)
	if d.spec.Nodes[d.nodeID(l.Node)].Role == world.Server && sanitized(l.Text) {
		d.addCrash(record.Crash{Position: record.PositionAt(l.Event), TimeNs: l.TimeNs, Node: l.Node, Kind: "sanitizer", Lines: []string{l.Text}})
	}
}

var logFull = fmt.Sprintf("the log of this run exceeds the limit of %d lines and %d MiB of text; only the first "+
	"lines are shown",
	maxLogLines, maxLogBytes>>20)

// PanicReport is the beginning of what a language prints when a program breaks.
type PanicReport struct {
	TimeNs int64
	Lines  []string
}

// reportOfPanic keeps the beginning of a report of a panic, which may have more lines than are kept of the end of a log.
func (d *Director) reportOfPanic(l *record.LogLine, tag int64) {
	if panicLine.MatchString(l.Text) {
		if d.Panics == nil {
			d.Panics = map[int64]PanicReport{}
		}
		d.Panics[tag] = PanicReport{l.TimeNs, []string{l.Text}}
	} else if r, begun := d.Panics[tag]; begun && len(r.Lines) < panicLines {
		r.Lines = append(r.Lines, l.Text)
		d.Panics[tag] = r
	}
}

// lastLog returns the last output of a process that has ended: the beginning of its panic report, if there is one, and
// its last lines.
func (d *Director) lastLog(n *Notice) (lines []string, panicked bool) {
	tail := d.LogTail[n.Tag]
	r, begun := d.Panics[n.Tag]
	if !begun || n.TimeNs-r.TimeNs > panicEndsNs {
		return tail, slices.ContainsFunc(tail, panicLine.MatchString)
	}
	if slices.Contains(tail, r.Lines[0]) || len(tail) < crashLines {
		return tail, true
	}
	const between = "..."
	lines = append(slices.Clone(r.Lines), between)
	return append(lines, tail[len(lines):]...), true
}

// forgetLog drops what is kept of the log of a process that has ended.
func (d *Director) forgetLog(tag int64) {
	delete(d.LogTail, tag)
	delete(d.Panics, tag)
}

// crash decides whether the end of a process is a failure of the program.
func (d *Director) crash(n *Notice, j *Job, main bool) {
	if n.ByFault || j.Kind.Asks() {
		return
	}
	node := &d.spec.Nodes[j.Node]
	told := d.toldToEnd(n)
	lines, panicked := d.lastLog(n)
	c := record.Crash{Position: record.PositionAt(n.Event), TimeNs: n.TimeNs, Node: node.Name, Program: n.Program,
		PID: n.PID, ExitCode: n.Status >> 8, Lines: lines,
		Main: main, During: d.during(node.Name, n.TimeNs), Refusal: n.Refusal}
	if sig := n.Status & 0x7f; sig != 0 {
		c.Dump = d.act.Dump(n.Proc, sig)
	}
	if told && n.Status&0x7f != 0 {
		return
	}
	switch sig := n.Status & 0x7f; sig {
	case 0:
		if !main {
			return
		}
		if panicked {
			c.Kind = "panic"
		}
		switch {
		case c.ExitCode == 0:
			if c.Kind == "" && !told && node.Role == world.Server && !d.isStep(node.Name) {
				d.out.Warnings = append(d.out.Warnings, node.Name+": "+n.Program+" ended by itself with exit code 0")
			}
			return
		case c.Kind == "" && told:
			return
		case c.Kind == "":
			c.Kind = "exit"
		}
	case sigSegv, sigBus, sigFpe, sigIll, sigAbrt, sigTrap, sigSys:
		c.Kind, c.Signal = "crash", world.SignalName(sig)
	default:
		if !main {
			return
		}
		c.Kind, c.Signal = "exit", world.SignalName(sig)
	}
	d.addCrash(c)
}

// isStep reports whether other nodes wait for this one to complete.
func (d *Director) isStep(name string) bool {
	for i := range d.spec.Nodes {
		for _, dep := range d.spec.Nodes[i].DependsOn {
			if dep.Node == name && dep.Condition == world.Completed {
				return true
			}
		}
	}
	return false
}

func (d *Director) addCrash(c record.Crash) {
	if len(d.out.Crashes) < maxCrashes {
		d.out.Crashes = append(d.out.Crashes, c)
	}
}
