package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Waiting are the system calls that wait for the disk, so that something can happen during them.
var Waiting = []string{"fsync", "fdatasync", "sync", "syncfs", "msync"}

// betweenCalls are the numbers of calls of a node after which a fault between two calls begins, counted from the end of the first.
// They grow, so that windows of a few calls and of many are hit alike; a fault begins as the second call is entered at the latest.
var betweenCalls = [...]int{1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597}

// recoveryCalls are the numbers of calls of a node, counted from its start, after which a fault in its recovery begins: the start of a
// program makes some hundred.
var recoveryCalls = [len(betweenCalls)]int{10, 30, 60, 100, 150, 200, 300, 400, 600, 800, 1200, 2000, 3000, 5000, 8000, 12000}

// duringParts is how many moments of a waiting call a fault chooses from.
const duringParts = 16

// operationCall stands for a call in what is said of operations.
const operationCall = "operation"

// Count is how often a target has met what a rule with a range of numbers asks for.
type Count struct {
	Met   uint64
	Drawn uint64 // at the first time: whether, how and at which number it injects
}

// Pending is an injection that was drawn and has not begun.
type Pending struct {
	ID     int // unique in a run, from 1 on
	Rule   int // its place in Plan.Rules
	Target int // its place among the rule's
	Draw   uint64
	Node   string // whose program has made the call
	Call   string
	File   string
	// Left counts the calls that the node makes before a fault between two calls or in its recovery begins; 0 for others.
	Left int
}

// WrongMoment says what is wrong with the moment and the number of a rule, or nothing. at and then are its calls.
func WrongMoment(row *Row, moment world.Moment, at, then []string, nth uint64) string {
	name := momentWords[moment]
	switch onCalls := len(at) > 0 || moment.Alone(); {
	case !moment.Alone() && moment != world.Entering && len(at) == 0, moment == world.Between && len(then) == 0:
		return fmt.Sprintf("%q needs system calls", name)
	case onCalls && row.Place == OnPacket:
		return "it affects packets, not system calls"
	case moment != world.Entering && row.Place == OnCall:
		return fmt.Sprintf("it is injected into calls themselves; use %q instead of %q", "at", name)
	case nth > 0 && !onCalls && row.Place != OnCall:
		return `"nth" counts system calls; list some with at, during, after or between`
	}
	for _, call := range at {
		if moment == world.During && !slices.Contains(Waiting, call) {
			return fmt.Sprintf("%s does not wait for the disk, so nothing can happen during it; calls that wait are %s", call, strings.Join(Waiting, ", "))
		}
	}
	return ""
}

// momentKey is the part of a stream's name that says at which calls a rule draws.
func (r *Rule) momentKey() (key string) {
	switch calls := strings.Join(r.At, "+"); {
	case !r.onCalls():
	case r.Moment == world.Entering:
		key = "@" + calls
	case r.Moment.Alone():
		key = "@" + string(r.Moment)
	default:
		key = "@" + string(r.Moment) + "-" + calls
		if r.Moment == world.Between {
			key += "-" + strings.Join(r.Then, "+")
		}
	}
	if r.NthTo > 0 {
		key += "-nth"
	}
	return key
}

// places counts the moments that a draw chooses from: parts of a wait, calls between two calls, numbers of a call.
func (r *Rule) places() uint64 { return r.delays() * r.numbers() }

func (r *Rule) delays() uint64 {
	switch r.Moment {
	case world.During:
		return duringParts
	case world.Between, world.InRecovery, world.InOperation:
		return uint64(len(betweenCalls))
	}
	return 1
}

// numbers counts the numbers of a call that a rule chooses from; 1 if it asks for none.
func (r *Rule) numbers() uint64 { return r.NthTo - r.NthFrom + 1 }

// delay is which of its delays a rule has drawn for a target, and number which of its numbers.
func (r *Rule) delay(t *Target, v uint64) uint64 {
	return (v - 1) / DurationSteps / r.shapes(t) % r.delays()
}

func (r *Rule) number(t *Target, v uint64) uint64 {
	return (v - 1) / DurationSteps / r.shapes(t) / r.delays()
}

// drawForTarget draws for a target at an opportunity, and returns 0 if the rule does not inject. A rule that asks for a
// number draws at the first opportunity alone.
func (r *Rule) drawForTarget(src Chooser, t int) uint64 {
	target := &r.Targets[t]
	if r.NthTo == 0 {
		return r.drawOnce(src, target)
	}
	c := &r.Counts[t]
	if c.Met == 0 {
		c.Drawn = r.drawOnce(src, target)
	}
	if c.Met++; c.Drawn > 0 && c.Met == r.NthFrom+r.number(target, c.Drawn) {
		return c.Drawn
	}
	return 0
}

// forget makes a rule that asks for numbers count from the start.
func (r *Rule) forget() {
	if r.NthTo > 0 {
		r.Counts = make([]Count, len(r.Targets))
	}
}

// concerns reports whether a target is about what a node does, or, if peer is not empty, about what is between the two.
func (t *Target) concerns(node, peer string) bool {
	switch {
	case peer != "" && t.B != "":
		return t.A == node && t.B == peer || !t.OneWay && t.A == peer && t.B == node
	case peer != "" && t.concerns(peer, ""):
		return true
	}
	return t.A == node || t.B == node || slices.Contains(t.Members, node)
}

// act is something that a program of a node does.
type act struct {
	moment     world.Moment
	node, peer string
	call       string
	files      []string // what the call is about, the new name first: it meets one injection of a rule, whichever of them that names
}

// meeting visits the targets of rules for which an act is an opportunity.
func (p *Plan) meeting(a *act, visit func(i, t int, file string)) {
	if !p.On {
		return
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.Masked || r.Moment != a.moment || !r.onCalls() || Table[r.Row].Place == OnCall {
			continue
		}
		file, ok := r.meets(a.call, a.files)
		if !ok {
			continue
		}
		for t := range r.Targets {
			if r.Targets[t].concerns(a.node, a.peer) {
				visit(i, t, file)
			}
		}
	}
}

// strike draws the injections that begin at an act.
func (p *Plan) strike(src Chooser, m *Moment, a *act) (started []Action) {
	p.meeting(a, func(i, t int, file string) {
		started = append(started, p.draw(src, &p.Rules[i], t, m, a.call, file)...)
	})
	return started
}

// await draws the injections that wait for calls of the node: at is their number for each delay.
func (p *Plan) await(src Chooser, m *Moment, a *act, at []int) {
	p.meeting(a, func(i, t int, file string) {
		r := &p.Rules[i]
		v := r.drawForTarget(src, t)
		opened := slices.ContainsFunc(p.Pending, func(w Pending) bool { return w.Rule == i && w.Target == t && w.Node == a.node })
		if v > 0 && !opened && p.may(r, t, m, a.call, file) {
			p.wait(Pending{Rule: i, Target: t, Draw: v, Node: a.node, Call: a.call, File: file, Left: at[r.delay(&r.Targets[t], v)]})
		}
	})
}

// Enter gives the injections that begin as a program of a node enters a system call.
func (p *Plan) Enter(src Chooser, m *Moment, node, call string, files ...string) []Action {
	started := p.strike(src, m, &act{moment: world.Entering, node: node, call: call, files: files})
	return append(started, p.due(m, node, func(w *Pending) bool {
		r := &p.Rules[w.Rule]
		return r.Moment == world.Between &&
			slices.ContainsFunc(append(slices.Clone(files), ""), func(f string) bool { return matches(r.Then, r.ThenPath, call, f) })
	})...)
}

// Return gives the injections that begin when a system call of a program has had its effect, and opens what is between it and
// another one.
func (p *Plan) Return(src Chooser, m *Moment, node, call string, files ...string) []Action {
	p.await(src, m, &act{moment: world.Between, node: node, call: call, files: files}, betweenCalls[:])
	return p.strike(src, m, &act{moment: world.AfterCall, node: node, call: call, files: files})
}

// Reply gives the injections that begin once the first bytes of an answer to a client have left a node.
func (p *Plan) Reply(src Chooser, m *Moment, node string) []Action {
	return p.strike(src, m, &act{moment: world.AfterReply, node: node})
}

// Transfer gives the injections that begin while much is on its way from one server to another.
func (p *Plan) Transfer(src Chooser, m *Moment, from, to string) []Action {
	return p.strike(src, m, &act{moment: world.InTransfer, node: from, peer: to})
}

// Recover draws the injections that wait for calls of a node that is about to start again.
func (p *Plan) Recover(src Chooser, m *Moment, node string) {
	p.await(src, m, &act{moment: world.InRecovery, node: node}, recoveryCalls[:])
}

// Operate draws the injections that wait for calls of a node on which a driver has begun an operation of a kind.
func (p *Plan) Operate(src Chooser, m *Moment, node, operation string) {
	p.await(src, m, &act{moment: world.InOperation, node: node, call: operationCall, files: []string{operation}}, betweenCalls[:])
}

// CountCall counts a call of a node for whose calls an injection waits, and gives those that begin at it.
func (p *Plan) CountCall(m *Moment, node string) []Action {
	return p.due(m, node, func(w *Pending) bool {
		w.Left--
		return w.Left <= 0
	})
}

// Opened reports whether an injection waits for calls of a node.
func (p *Plan) Opened(node string) bool {
	return slices.ContainsFunc(p.Pending, func(w Pending) bool { return w.Node == node && w.Left > 0 })
}

// Wait draws the injection that begins while a call waits for the disk, as its ID for Strike, and the part of the wait that passes before:
// part of duringParts+1. The ID 0 is none. A call meets one injection, the earliest.
func (p *Plan) Wait(src Chooser, m *Moment, node, call string, files ...string) (id int, part, of int64) {
	var first Pending
	p.meeting(&act{moment: world.During, node: node, call: call, files: files}, func(i, t int, file string) {
		r := &p.Rules[i]
		v := r.drawForTarget(src, t)
		if v == 0 || !p.may(r, t, m, call, file) {
			return
		}
		if at := int64(r.delay(&r.Targets[t], v)) + 1; part == 0 || at < part {
			part, first = at, Pending{Rule: i, Target: t, Draw: v, Node: node, Call: call, File: file}
		}
	})
	if part == 0 {
		return 0, 0, duringParts + 1
	}
	return p.wait(first), part, duringParts + 1
}

// Strike gives the injection of an ID, whose moment has come; none if it cannot begin any more.
func (p *Plan) Strike(m *Moment, id int) []Action {
	i := slices.IndexFunc(p.Pending, func(w Pending) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	w := p.Pending[i]
	p.Pending = slices.Delete(p.Pending, i, i+1)
	return p.release(w, m)
}

func (p *Plan) wait(w Pending) int {
	p.LastTurn++
	w.ID = p.LastTurn
	p.Pending = append(p.Pending, w)
	return w.ID
}

// due begins the injections that wait for calls of a node and for which over holds.
func (p *Plan) due(m *Moment, node string, over func(*Pending) bool) (started []Action) {
	var come []Pending
	left := p.Pending[:0]
	for _, w := range p.Pending {
		if w.Node == node && w.Left > 0 && over(&w) {
			come = append(come, w)
		} else {
			left = append(left, w)
		}
	}
	p.Pending = left
	for _, w := range come {
		started = append(started, p.release(w, m)...)
	}
	return started
}

func (p *Plan) release(w Pending, m *Moment) []Action {
	if r := &p.Rules[w.Rule]; p.may(r, w.Target, m, w.Call, w.File) {
		p.Ledger.countHit(r, w.Call, w.File)
		return p.inject(r, w.Target, w.Draw, m)
	}
	return nil
}

// Watch is a system call at which rules may inject, and when.
type Watch struct {
	Call                     string
	Entered, Waits, Returned bool
}

// Watches lists the system calls at which rules may inject, by name.
func (p *Plan) Watches() (list []Watch) {
	see := func(calls []string, note func(*Watch)) {
		for _, call := range calls {
			i, ok := slices.BinarySearchFunc(list, call, func(w Watch, name string) int { return strings.Compare(w.Call, name) })
			if !ok {
				list = slices.Insert(list, i, Watch{Call: call})
			}
			note(&list[i])
		}
	}
	entered, waits, returned := func(w *Watch) { w.Entered = true }, func(w *Watch) { w.Waits = true }, func(w *Watch) { w.Returned = true }
	for i := range p.Rules {
		r := &p.Rules[i]
		switch {
		case Table[r.Row].Place == OnCall:
		case r.Moment == world.Entering:
			see(r.At, entered)
		case r.Moment == world.During:
			see(r.At, waits)
		default:
			see(r.At, returned)
			see(r.Then, entered)
		}
	}
	return list
}

// Asks reports whether a rule has one of some moments.
func (p *Plan) Asks(moments ...world.Moment) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return slices.Contains(moments, r.Moment) })
}
