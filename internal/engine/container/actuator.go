package container

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/hand"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// actuator acts for the Director of a World.
type actuator struct {
	director.Unable
	director.Blind
	*World
}

func (w *World) actuator() actuator {
	return actuator{Unable: director.Unable{Engine: capabilities.Engine}, World: w}
}

var _ director.Actuator = actuator{}

// stopping is a node that was signalled to stop.
type stopping = director.Stopping

// rated are the faults per packet of a direction, as keepers have them.
type rated = fault.Rates

func (a actuator) Now() int64     { return a.now() }
func (a actuator) Events() uint64 { return a.events }
func (a actuator) Deliver() error { _, err := a.deliver(); return err }

// Listening asks the keeper of the node's network.
func (a actuator) Listening(node int) []int {
	n := a.nodes[node]
	answer, err := n.lender().hand.order(&hand.Order{Listening: true})
	if err != nil {
		a.director.Warn(fmt.Sprintf("cannot determine the ports that node %s listens on: %v", n.spec.Name, err))
		return nil
	}
	return answer.Ports
}

func (a actuator) Undone(*fault.Action) {}
func (a actuator) RoleChanged(string)   {}
func (a actuator) PowerOn(int)          {}

func (a actuator) Happen(node, call string, result int64, detail string) uint64 {
	return a.event(a.now(), node, call, result, detail)
}

func (a actuator) Logged(l record.LogLine) {
	if a.options.Log != nil {
		a.options.Log(l)
	}
	if n := a.named(l.Node); n != nil && n.filledBy != 0 && fullDisk.MatchString(l.Text) {
		a.director.Observed(fault.DiskFull, n.filledBy, 0)
	}
}

// fullDisk is how programs and the C library put ENOSPC.
var fullDisk = regexp.MustCompile(`(?i)no space left|ENOSPC|disk (is )?full`)

// fail keeps an error that ends the run.
func (w *World) fail(err error) {
	if err != nil && w.failure == nil {
		w.failure = err
	}
}

// Launch starts a program.
func (a actuator) Launch(l *director.Launch) (int64, error) {
	var p *proc
	var err error
	if l.Kind == director.JobMain {
		n := a.nodes[l.Node]
		if p, err = a.startMain(l); err == nil && n.downBy != 0 {
			// The program finds what the one that was ended has left.
			a.director.Plan.Ledger.Observed(n.downBy, a.events+1)
			n.downBy = 0
		}
	} else {
		p, err = a.startGuest(l)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot start %s: %w", strings.Join(l.Argv, " "), err)
	}
	return p.id, nil
}

func (a actuator) Alive(proc int64) bool { return a.procs[proc] != nil }

func (a actuator) Running(node int) (tags []int64) {
	for _, p := range a.procs {
		if p.node.id == node {
			tags = append(tags, p.tag)
		}
	}
	slices.Sort(tags)
	return tags
}

func (a actuator) Kill(proc int64) {
	if p := a.procs[proc]; p != nil && p.main {
		a.fail(a.signal(p.node, "KILL"))
	} else if p != nil {
		p.kill()
	}
}

func (a actuator) KillTagged(tag int64) {
	for id, p := range a.procs {
		if p.tag == tag {
			a.Kill(id)
		}
	}
}

// signal sends a signal to the main process of a node. That it has ended meanwhile is no error.
func (w *World) signal(n *node, signal string) error {
	if n.proc == nil {
		return nil
	}
	err := w.client.Call(w.ctx, http.MethodPost, "/containers/"+n.main+"/kill", url.Values{"signal": {signal}}, nil, nil)
	if _, refused := err.(*docker.Error); refused {
		return nil
	}
	return err
}

// KillNode kills the container of a node with all that runs in it. The end of its main process has done so already.
func (a actuator) KillNode(node int, by *fault.Action) {
	n := a.nodes[node]
	if by == nil {
		return
	}
	n.downBy = by.ID
	for _, p := range a.procs {
		if p.node == n && p.kind != director.JobDriver {
			p.byFault = true
		}
	}
	a.fail(a.signal(n, "KILL"))
}

func (a actuator) Stop(node int, by *fault.Action, signal int) {
	n := a.nodes[node]
	n.stopping, n.downBy = stopping{ID: by.ID, Signal: signal}, by.ID
	a.fail(a.signal(n, strconv.Itoa(signal)))
}

func (a actuator) Stopping(node int) director.Stopping { return a.nodes[node].stopping }

func (a actuator) Stopped(node int) {
	n := a.nodes[node]
	if n.proc != nil {
		n.proc.byFault = true
		a.fail(a.signal(n, "KILL"))
	}
	n.stopping = stopping{}
}

func (a actuator) Pause(node, id int) {
	n := a.nodes[node]
	if n.proc == nil {
		return
	}
	n.arrived = a.packets(n)
	n.paused = a.freeze(n, "pause") == nil
}

// Resume lets the processes of a node continue. Packets that came meanwhile are answered late.
func (a actuator) Resume(node, _ int) (late bool) {
	n := a.nodes[node]
	if !n.paused {
		return false
	}
	n.paused = false
	late = a.packets(n) > n.arrived
	a.fail(a.freeze(n, "unpause"))
	return late
}

// freeze pauses the container of a node, or lets it go on.
func (w *World) freeze(n *node, verb string) error {
	err := w.client.Call(w.ctx, http.MethodPost, "/containers/"+n.main+"/"+verb, nil, nil, nil)
	if _, refused := err.(*docker.Error); refused && verb == "unpause" {
		return nil // it has ended
	}
	return err
}

// packets counts what has arrived at a node.
func (w *World) packets(n *node) int64 {
	answer, err := n.hand.order(&hand.Order{Arrived: true})
	if err != nil {
		w.fail(err)
		return 0
	}
	return answer.Count
}

// ordered has the hand of a node follow an order, and returns what it has counted.
func (w *World) ordered(n *node, o *hand.Order) int64 {
	answer, err := n.hand.order(o)
	if err != nil {
		w.fail(fmt.Errorf("node %s: %w", n.spec.Name, err))
		return 0
	}
	return answer.Count
}

// ends are the nodes at the ends of a direction whose networks are theirs, or none if both have one network.
func (w *World) ends(c fault.Direction) (from, to *node, ok bool) {
	from, to = w.named(c.From).lender(), w.named(c.To).lender()
	return from, to, from != to
}

// undo ends the fault that a node suffers under a key, if there is one, and counts the packets that it met.
func (a actuator) undo(n *node, key string, order *hand.Order) {
	if was := n.faults[key]; was != 0 {
		a.recordObserved(was, a.ordered(n, order))
	}
	delete(n.faults, key)
}

// Block loses what comes from a node at the other end, where no program notices that it was sent.
func (a actuator) Block(c fault.Direction, id int) {
	from, to, ok := a.ends(c)
	if !ok {
		return
	}
	key := "cut/" + from.spec.Name
	a.undo(to, key, &hand.Order{Regain: key})
	if id != 0 {
		to.faults[key] = id
		a.ordered(to, &hand.Order{Lose: &hand.Lose{Key: key, From: from.ips, PPM: 1e6}})
	}
}

func (a actuator) Slow(c fault.Direction, on *fault.Action) {
	from, to, ok := a.ends(c)
	if !ok {
		return
	}
	key := "slow/" + to.spec.Name
	a.undo(from, key, &hand.Order{Unshape: key})
	if on.ID != 0 {
		from.faults[key] = on.ID
		s := &on.Slow
		a.ordered(from, &hand.Order{Shape: &hand.Shape{Key: key, To: to.ips, PPM: 1e6, LatencyNs: s.LatencyNs + s.JitterNs/2,
			JitterNs: s.JitterNs / 2, Bandwidth: s.Bandwidth}})
	}
}

func (a actuator) Reset(c fault.Direction, _ *fault.Action) int {
	from, to, ok := a.ends(c)
	if !ok {
		return 0
	}
	n := a.ordered(to, &hand.Order{Reset: from.ips})
	a.resets += n
	return int(n)
}

// Injected comes after the acts of a fault that is over at once: the programs at both ends of a connection that was reset get an error.
func (a actuator) Injected(f *fault.Action) {
	if f.Kind == fault.Reset {
		a.recordObserved(f.ID, a.resets)
		a.resets = 0
	}
}

func (a actuator) Names(name string, id int, silent bool) {
	n := a.named(name).lender()
	const key = "names"
	way := hand.NamesRight
	switch {
	case id != 0 && silent:
		way = hand.NamesSilent
	case id != 0:
		way = hand.NamesFail
	}
	a.recordObserved(n.faults[key], a.ordered(n, &hand.Order{Names: way}))
	n.faults[key] = id
}

// recordObserved marks a fault as observed if it affected packets of programs.
func (w *World) recordObserved(id int, packets int64) {
	if id != 0 && packets > 0 {
		w.director.Plan.Ledger.Observed(id, w.events+1)
	}
}

func (a actuator) FillDisk(name string, id int) {
	n := a.named(name)
	n.filledBy = id
	if len(n.fillers) == 0 {
		return
	}
	o := &hand.Order{Fill: n.fillers}
	if id == 0 {
		o = &hand.Order{Empty: n.fillers}
	}
	a.ordered(n, o)
}

// Rates has keepers do to packets what the rules say now.
func (a actuator) Rates() {
	if !a.perPacket() {
		return
	}
	for _, from := range a.nodes {
		for _, to := range a.nodes {
			if from.lender() == to.lender() {
				continue
			}
			now := a.director.Packet(from.spec.Name, to.spec.Name)
			way := from.spec.Name + ">" + to.spec.Name
			was := a.rates[way]
			if was == now {
				continue
			}
			a.rates[way] = now
			for k := range packetKinds {
				a.rate(from, to, k, &was[k], &now[k])
			}
		}
	}
}

// perPacket reports whether there are rules about packets.
func (w *World) perPacket() bool {
	f := &w.spec.Faults
	return f.Enabled && fault.Has(f, func(r *fault.Row) bool { return r.Place == fault.OnPacket })
}

// packetKinds are the kinds per packet, by their places in fault.Rates, that keepers deliver.
var packetKinds = map[int]world.FaultKind{fault.DropRate: fault.Drop, fault.CorruptRate: fault.Corrupt, fault.DelayRate: fault.Delay,
	fault.DuplicateRate: fault.Duplicate}

func (w *World) rate(from, to *node, k int, was, now *fault.Rate) {
	if *was == *now {
		return
	}
	kind := packetKinds[k]
	if k == fault.DropRate {
		key := "drop/" + from.spec.Name
		if was.PPM > 0 {
			w.counted(kind, was.Rule, w.ordered(to.lender(), &hand.Order{Regain: key}))
		}
		if now.PPM > 0 {
			w.ordered(to.lender(), &hand.Order{Lose: &hand.Lose{Key: key, From: from.lender().ips, PPM: now.PPM}})
		}
		return
	}
	key := string(kind) + "/" + to.spec.Name
	if was.PPM > 0 {
		w.counted(kind, was.Rule, w.ordered(from.lender(), &hand.Order{Unshape: key}))
	}
	if now.PPM > 0 {
		s := &hand.Shape{Key: key, To: to.lender().ips, PPM: now.PPM, Duplicate: k == fault.DuplicateRate, Corrupt: k == fault.CorruptRate}
		if k == fault.DelayRate {
			s.LatencyNs, s.JitterNs = (now.MinNs+now.MaxNs)/2, (now.MaxNs-now.MinNs)/2
		}
		w.ordered(from.lender(), &hand.Order{Shape: s})
	}
}

// counted takes in how many packets a rule has met.
func (w *World) counted(k world.FaultKind, rule int, packets int64) {
	for range packets {
		w.director.Plan.Ledger.DeliveredPacket(k, rule)
		w.director.Plan.Ledger.ObservedPacket(k, rule, w.events)
	}
}

func (a actuator) Order(proc int64, line []byte) bool {
	p := a.procs[proc]
	return p != nil && p.order(line)
}

// reporter finds the driver that has written a record: clients have the name of its workload.
func (w *World) reporter(text string) (node int, tag int64) {
	var record struct{ Client string }
	json.Unmarshal([]byte(text), &record)
	workload, _, _ := strings.Cut(record.Client, "/")
	i := slices.IndexFunc(w.spec.Workloads, func(l world.Workload) bool { return l.Name == workload })
	if i < 0 {
		i = slices.IndexFunc(w.spec.Workloads, func(l world.Workload) bool { return l.Driver == "command" || l.Driver == "composer" })
	}
	if i < 0 {
		return max(director.Checker(w.spec), 0), 0
	}
	n := w.named(w.spec.Workloads[i].Node)
	for _, p := range w.procs {
		if p.node == n && p.kind == director.JobDriver && w.director.Jobs[p.tag-1].Index == i {
			tag = p.tag
		}
	}
	return n.id, tag
}
