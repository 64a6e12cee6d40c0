package vm

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// actuator acts for the Director of a World.
type actuator struct {
	director.Unable
	director.Blind
	w *World
}

func (w *World) actuator() actuator {
	return actuator{Unable: director.Unable{Engine: capabilities.Engine}, w: w}
}

var _ director.Actuator = actuator{}

// Paths that every node has.
const (
	selfPath   = "/dev/bloodhound/bloodhound"
	stopPath   = "/dev/bloodhound/stop-faults"
	reportPath = "/dev/bloodhound/report"
	sdkDir     = "/dev/bloodhound"
	sdkPath    = sdkDir + "/sdk.jsonl"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (a actuator) nodeID(name string) int {
	return slices.IndexFunc(a.w.spec.Nodes, func(n world.Node) bool { return n.Name == name })
}

// do adds an act to those that the next exchange sends.
func (a actuator) do(x wire.Act) { a.w.Acts = append(a.w.Acts, x) }

// call has the guest do something at once, and gives the result.
func (a actuator) call(x wire.Act) (wire.Result, error) {
	a.do(x)
	results, err := a.w.exchange(a.w.NowNs)
	if err == nil && len(results) == 0 {
		err = fmt.Errorf("the virtual machine did not report the outcome of %s", x.Kind)
	}
	if err != nil {
		if a.w.failure == nil {
			a.w.failure = err
		}
		return wire.Result{}, err
	}
	return results[0], nil
}

func (a actuator) Now() int64             { return a.w.NowNs }
func (a actuator) Events() uint64         { return a.w.Events }
func (a actuator) Injected(*fault.Action) {}
func (a actuator) Undone(*fault.Action)   {}
func (a actuator) RoleChanged(string)     {}

func (a actuator) Logged(l record.LogLine) {
	if a.w.options.Log != nil {
		a.w.options.Log(l)
	}
}

func (a actuator) Happen(node, call string, result int64, detail string) uint64 {
	return a.w.happen(record.Event{Node: node, Call: call, Result: result, Detail: detail})
}

// Deliver gives the director what has come with results of acts. What the guest has not reported yet comes with its next turn.
func (a actuator) Deliver() error {
	for len(a.w.Notices) > 0 {
		n := a.w.Notices[0]
		a.w.Notices = a.w.Notices[1:]
		if err := a.w.notice(&n); err != nil {
			return err
		}
	}
	return nil
}

func (a actuator) Alive(proc int64) bool { return proc > 0 && !a.w.Procs[proc-1].Over }

func (a actuator) Running(node int) (tags []int64) {
	for _, p := range a.w.Procs {
		if p.Node == node && !p.Over {
			tags = append(tags, p.Tag)
		}
	}
	return tags
}

func (a actuator) Kill(proc int64) {
	if a.Alive(proc) {
		a.do(wire.Act{Kind: wire.DoKill, Proc: proc})
	}
}

func (a actuator) KillTagged(tag int64) { a.do(wire.Act{Kind: wire.DoKillTag, Tag: tag}) }

// Listening asks the guest's kernel.
func (a actuator) Listening(node int) []int {
	r, err := a.call(wire.Act{Kind: wire.DoPorts, Node: node})
	if err == nil && r.Error != "" {
		err = fmt.Errorf("cannot read the ports of %s: %s", a.w.spec.Nodes[node].Name, r.Error)
	}
	if err != nil && a.w.failure == nil {
		a.w.failure = err
	}
	return r.Ports
}

// endBy has the programs of a node end by a fault, and reports whether there are any.
func (a actuator) endBy(node int, by *fault.Action) (any bool) {
	for i := range a.w.Procs {
		if p := &a.w.Procs[i]; p.Node == node && !p.Over {
			any = true
			if by != nil && p.ByFault == 0 {
				p.ByFault = by.ID
			}
		}
	}
	if any && by != nil {
		a.w.Nodes[node].DownBy, a.w.Nodes[node].DownKind = by.ID, by.Kind
	}
	return any
}

func (a actuator) KillNode(node int, by *fault.Action) {
	a.endBy(node, by)
	a.do(wire.Act{Kind: wire.DoClear, Node: node})
}

// LosePower ends the programs of a node, and loses what its disk has not written. The tape decides whether the journal's running transaction is
// part of that.
func (a actuator) LosePower(node int, by *fault.Action, stream string) error {
	a.endBy(node, by)
	r, err := a.call(wire.Act{Kind: wire.DoCut, Node: node, On: a.w.tape.Choose(stream+"journal", 2) == 1})
	if err == nil && r.Error != "" {
		err = fmt.Errorf("cannot cut the power of %s: %s", a.w.spec.Nodes[node].Name, r.Error)
	}
	return err
}

func (a actuator) PowerOn(node int) {
	r, err := a.call(wire.Act{Kind: wire.DoRestore, Node: node})
	if err == nil && r.Error != "" {
		err = fmt.Errorf("cannot restore the power of %s: %s", a.w.spec.Nodes[node].Name, r.Error)
	}
	if err != nil && a.w.failure == nil {
		a.w.failure = err
	}
}

func (a actuator) Stop(node int, by *fault.Action, signal int) {
	w := a.w
	w.Nodes[node].Stopping = director.Stopping{ID: by.ID, Signal: signal}
	if main := w.director.Nodes[node].Main; w.director.Nodes[node].Status == director.Running && a.Alive(main) {
		w.Nodes[node].DownBy, w.Nodes[node].DownKind = by.ID, by.Kind
		a.do(wire.Act{Kind: wire.DoSignal, Proc: main, Signal: signal})
	}
}

func (a actuator) Stopping(node int) director.Stopping { return a.w.Nodes[node].Stopping }

func (a actuator) Stopped(node int) {
	s := &a.w.Nodes[node]
	a.endBy(node, &fault.Action{ID: s.Stopping.ID, Kind: fault.Restart})
	a.do(wire.Act{Kind: wire.DoClear, Node: node})
	s.Stopping = director.Stopping{}
}

func (a actuator) Pause(node, id int) {
	a.w.Nodes[node].Paused = id
	a.do(wire.Act{Kind: wire.DoPause, Node: node})
}

func (a actuator) Resume(node, _ int) (late bool) {
	a.w.Nodes[node].Paused = 0
	a.do(wire.Act{Kind: wire.DoResume, Node: node})
	return len(a.Running(node)) > 0
}

func (a actuator) Leak(node, id int, _, _ int64) { a.w.Nodes[node].LeakBy = id }
func (a actuator) EndLeak(node int)              { a.w.Nodes[node].LeakBy = 0 }

func (a actuator) KillLargest(node, id int) (killed director.Killed, ok bool) {
	r, err := a.call(wire.Act{Kind: wire.DoSpill, Node: node})
	if err != nil || r.PID == 0 {
		return killed, false
	}
	if p := &a.w.Procs[r.Count-1]; p.ByFault == 0 {
		p.ByFault = id
	}
	a.w.Nodes[node].DownBy, a.w.Nodes[node].DownKind = id, fault.OOM
	for i := 0; i < 100 && a.Alive(int64(r.Count)); i++ { // its end is reported soon
		if _, err := a.w.exchange(a.w.NowNs + 1e6); err != nil {
			a.w.failure = err
			return killed, false
		}
		if a.Deliver() != nil {
			break
		}
	}
	return director.Killed{PID: r.PID, Program: r.Program, Bytes: r.Bytes}, true
}

func (a actuator) Restarts(int, int) {}

// link changes a direction.
func (a actuator) link(c fault.Direction, change func(l *wire.Link)) {
	w := a.w
	from, to := a.nodeID(c.From), a.nodeID(c.To)
	k := [2]int{from, to}
	l, ok := w.Links[k]
	if !ok {
		l = w.plain(from, to)
	}
	change(&l)
	w.Links[k] = l
	a.do(wire.Act{Kind: wire.DoLink, Link: &l})
}

// plain is a direction without faults.
func (w *World) plain(from, to int) wire.Link {
	d := w.spec.DefaultLink
	for _, l := range w.spec.Links {
		a, b := w.actuator().nodeID(l.From), w.actuator().nodeID(l.To)
		if a == from && b == to || !l.OneWay && a == to && b == from {
			d = l
		}
	}
	return wire.Link{From: from, To: to, LatencyNs: d.LatencyNs, JitterNs: d.JitterNs, Bandwidth: d.BandwidthBytes}
}

func (a actuator) lies(id int, k world.FaultKind) {
	if id == 0 {
		return
	}
	if a.w.Cuts == nil {
		a.w.Cuts = map[int]world.FaultKind{}
	}
	a.w.Cuts[id] = k
}

func (a actuator) Block(c fault.Direction, id int) {
	a.lies(id, fault.Partition)
	a.link(c, func(l *wire.Link) { l.Blocked = id })
}

func (a actuator) Clog(c fault.Direction, id int) {
	a.lies(id, fault.Clog)
	a.link(c, func(l *wire.Link) { l.Clogged = id })
}

func (a actuator) Slow(c fault.Direction, on *fault.Action) {
	a.lies(on.ID, fault.SlowLink)
	a.link(c, func(l *wire.Link) {
		p := a.w.plain(l.From, l.To)
		l.LatencyNs, l.JitterNs, l.Bandwidth, l.Slow = p.LatencyNs, p.JitterNs, p.Bandwidth, on.ID
		if on.ID != 0 {
			l.LatencyNs += on.Slow.LatencyNs
			l.JitterNs += on.Slow.JitterNs
			if on.Slow.Bandwidth > 0 && (l.Bandwidth == 0 || on.Slow.Bandwidth < l.Bandwidth) {
				l.Bandwidth = on.Slow.Bandwidth
			}
		}
	})
}

// countFault records that a packet met a fault.
func (w *World) countFault(n *wire.Notice) {
	if k, ok := w.Cuts[n.Fault]; ok {
		w.director.Observed(k, n.Fault, 0)
		for _, end := range []int{n.Node, n.To} {
			if w.spec.Nodes[end].Role != world.Server {
				w.director.Feel(end, k, n.Fault)
			}
		}
	}
}

func (a actuator) Reset(c fault.Direction, by *fault.Action) int {
	from, to := a.nodeID(c.From), a.nodeID(c.To)
	r, err := a.call(wire.Act{Kind: wire.DoReset, Node: from, To: to, Ends: []int{from}})
	if err != nil || r.Error != "" {
		if r.Error != "" && a.w.failure == nil {
			a.w.failure = fmt.Errorf("cannot end connections in the virtual machine: %s", r.Error)
		}
		return 0
	}
	if r.Count > 0 {
		a.lies(by.ID, fault.Reset)
		a.w.director.Observed(fault.Reset, by.ID, 0)
	}
	return r.Count
}

func (a actuator) FillDisk(node string, id int) {
	i := a.nodeID(node)
	r, err := a.call(wire.Act{Kind: wire.DoFill, Node: i, On: id != 0})
	if err == nil && r.Error != "" {
		a.w.failure = fmt.Errorf("cannot fill the disk of %s: %s", node, r.Error)
	}
}

// Rates has the guest ask about packets of directions on which faults per packet lie.
func (a actuator) Rates() {
	w := a.w
	for i := range w.spec.Nodes {
		for k := range w.spec.Nodes {
			if i == k {
				continue
			}
			c := fault.Direction{From: w.spec.Nodes[i].Name, To: w.spec.Nodes[k].Name}
			r := w.director.Packet(c.From, c.To)
			at := [2]int{i, k}
			ask := slices.ContainsFunc(r[:], func(r fault.Rate) bool { return r.PPM > 0 })
			if w.Rates == nil {
				w.Rates = map[[2]int]fault.Rates{}
			}
			if had := w.Links[at].Ask; had != ask {
				a.link(c, func(l *wire.Link) { l.Ask = ask })
			}
			w.Rates[at] = r
		}
	}
}

// Steps of what draws of a packet choose among.
const (
	delaySteps = 64
	flips      = 8 * 64
)

// packet decides what becomes of a packet.
func (w *World) packet(p wire.PacketRequest) (f wire.Fate) {
	from, to := w.spec.Nodes[p.From].Name, w.spec.Nodes[p.To].Name
	r := w.Rates[[2]int{p.From, p.To}]
	w.NowNs = max(w.NowNs, p.NowNs)
	draw := func(kind world.FaultKind, rate int, n uint64) uint64 {
		if r[rate].PPM == 0 {
			return 0
		}
		v := w.tape.Rare(fmt.Sprintf("net/%s->%s/%s", from, to, kind), n, r[rate].PPM)
		if v > 0 {
			w.director.Plan.Ledger.DeliveredPacket(kind, r[rate].Rule)
			w.director.Plan.Ledger.ObservedPacket(kind, r[rate].Rule, w.Events+1)
		}
		return v
	}
	late := func(rate int, v uint64) int64 {
		if v == 0 {
			return 0
		}
		return r[rate].MinNs + (r[rate].MaxNs-r[rate].MinNs)*int64(v-1)/(delaySteps-1)
	}
	f.Lost = draw(fault.Drop, fault.DropRate, 2) == 1
	if !p.Datagram {
		f.Lost = draw(fault.Corrupt, fault.CorruptRate, 2) == 1 || f.Lost
	} else {
		f.Bit = int(draw(fault.Corrupt, fault.CorruptRate, 1+flips))
	}
	f.DelayNs = late(fault.DelayRate, draw(fault.Delay, fault.DelayRate, 1+delaySteps))
	if p.Datagram {
		f.Copies = int(draw(fault.Duplicate, fault.DuplicateRate, 2))
		f.DelayNs += late(fault.ReorderRate, draw(fault.Reorder, fault.ReorderRate, 1+delaySteps))
	}
	return f
}

func (a actuator) Order(proc int64, line []byte) bool {
	if !a.Alive(proc) {
		return false
	}
	a.do(wire.Act{Kind: wire.DoOrder, Proc: proc, Bytes: line})
	return true
}

// Launch starts a program with the user and the working directory of l.As, which is the node but for them.
func (a actuator) Launch(l *director.Launch) (int64, error) {
	w := a.w
	dir := l.As.WorkingDir
	if dir == "" {
		dir = "/"
	}
	argv, env := l.Argv, l.Env
	if l.Own {
		argv = append([]string{selfPath}, argv...)
	}
	if l.Kind == director.JobDriver || l.Kind == director.JobRecovery {
		env = append(slices.Clone(env), "BLOODHOUND_REPORT="+reportPath)
	}
	number := int64(len(w.Procs) + 1)
	name := fmt.Sprintf("%s/%d", w.spec.Nodes[l.Node].Name, l.Number)
	start := &wire.Start{Proc: number, Tag: l.Tag, Node: l.Node, Argv: argv, Env: environment(l.As, env), Dir: dir,
		User: l.As.User, Groups: l.As.Groups, Stdout: l.Stdout, Stderr: l.Stderr,
		Ordered: l.Ordered, Main: l.Kind == director.JobMain, OOMAdj: l.As.Bounds.OOMScoreAdj}
	for _, r := range l.As.Bounds.Rlimits {
		start.Rlimits = append(start.Rlimits, wire.Rlimit{Resource: slices.Index(world.RlimitNames, r.Name), Soft: r.Soft, Hard: r.Hard})
	}
	w.Procs = append(w.Procs, process{Node: l.Node, Tag: l.Tag, Name: name})
	a.Happen(w.spec.Nodes[l.Node].Name, "start", number, strings.Join(argv, " "))
	r, err := a.call(wire.Act{Kind: wire.DoStart, Start: start})
	if err != nil {
		return 0, err
	}
	if r.Error != "" {
		w.Procs[number-1].Over = true
		return 0, fmt.Errorf("cannot start %s: %w", strings.Join(argv, " "), startError(l.As, argv[0], &r))
	}
	if s := &w.Nodes[l.Node]; l.Kind == director.JobMain && s.DownBy != 0 {
		w.director.Observed(s.DownKind, s.DownBy, 0) // the program that starts again finds what the fault has left
		s.DownBy = 0
	}
	return number, nil
}

// startError makes an error of a program's start the Director's.
func startError(n *world.Node, file string, r *wire.Result) error {
	e := &director.StartError{Text: r.Error, Errno: r.Errno, Missing: r.Errno == int(unix.ENOENT), Busy: r.Errno == int(unix.ETXTBSY)}
	if n.Image == nil && strings.Contains(file, "/") {
		if !filepath.IsAbs(file) {
			file = filepath.Join(n.WorkingDir, file)
		}
		_, err := os.Stat(file)
		e.Foreign = err != nil
	}
	return e
}

// environment adds what every program has, where the node does not say otherwise.
func environment(n *world.Node, env []string) []string {
	out := slices.Clone(env)
	for _, kv := range []string{"PATH=" + defaultPath, "HOME=/root", "HOSTNAME=" + n.Hostname, "TZ=UTC", "ANTITHESIS_SDK_LOCAL_OUTPUT=" + sdkPath,
		"ANTITHESIS_OUTPUT_DIR=" + sdkDir, "ANTITHESIS_STOP_FAULTS=" + path.Clean(stopPath)} {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}
