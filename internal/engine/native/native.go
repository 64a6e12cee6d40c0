//go:build linux && amd64

package native

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Engine is the native engine.
type Engine struct{}

// New makes the native engine.
func New() *Engine { return &Engine{} }

// Defaults of world.Limits.
const (
	defaultSpinCPUMs = 2_000
	defaultBytes     = 1 << 30
	defaultMemory    = 4 << 30 // bytes
)

// minProcs is how many threads Go must be willing to run at once.
const minProcs = 4

// A collection of garbage stops the loop's thread, which waits in the kernel, and wakes others: most worlds are so small that
// this costs more than the marking. Memory that is allocated and never touched takes no room, but counts as live: so there is
// a collection once in so many bytes at least, while the memory of large worlds is bounded as ever.
const untouchedBytes = 32 << 20

var untouched = sync.OnceValue(func() []byte { return make([]byte, untouchedBytes) })

// bootNs is CLOCK_MONOTONIC of every node at world time 0: a machine that has been up for a while.
const bootNs = 1000 * int64(time.Second)

// ReferenceVariable is the environment variable that, if not empty, asks for a ptrace stop at every call that the engine
// answers: the plain and slow way, with which tests compare the other (host/notify_linux.go).
const ReferenceVariable = "BLOODHOUND_REFERENCE"

// Boot makes a world; nothing in it has run yet.
func (*Engine) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	// The loop's thread waits in the kernel without telling Go's scheduler. Others must be able to run meanwhile: the
	// watchdog above all.
	if runtime.GOMAXPROCS(0) < minProcs {
		runtime.GOMAXPROCS(minProcs)
	}
	untouched()
	w := &World{spec: spec, tape: tape.NewSource(t), options: o, real: &host.Checkpoint{Tracer: host.NewTracer()}, started: time.Now()}
	w.tape.Watch(o.Draws)
	var err error
	if broken := w.do(func() { err = w.boot() }); broken != nil {
		err = broken
	}
	if err != nil {
		w.Close()
		return nil, host.Explain(err)
	}
	return w, nil
}

// do runs f on the world's thread. After a panic, which it returns, this world does nothing any more.
func (w *World) do(f func()) error {
	if w.broken != nil {
		return w.broken
	}
	broken := w.real.Tracer.Do(func() {
		w.real.Enter()
		f()
	})
	if broken == nil {
		return nil
	}
	if w.kernel != nil {
		broken.Doing = w.kernel.Doing()
	}
	w.broken = broken
	return broken
}

func (w *World) boot() error {
	if err := host.Pin(); err != nil {
		return fmt.Errorf("cannot pin the world to one CPU: %w", err)
	}
	leaks := w.leaks()
	spin := w.spec.Limits.SpinCPUMs
	if spin == 0 {
		spin = defaultSpinCPUMs
	}
	m, err := host.NewMachine(w.real.Tracer, leaks.host, spin, os.Getenv(ReferenceVariable) != "")
	if err != nil {
		return err
	}
	m.Contrast = w.options.Contrast
	w.real.Machine = m
	if w.memoryBytes = w.spec.Limits.WorldBytes; w.memoryBytes == 0 {
		w.memoryBytes = defaultMemory
		if all := host.MachineBytes(); all > 0 {
			w.memoryBytes = min(w.memoryBytes, all/4*3)
		}
	}
	w.real.Blobs = host.NewBlobs(&w.real.Lack)
	w.connect()
	k := w.kernel
	k.Net = w.network()
	d := w.spec.DefaultLink
	k.Net.SetDefaultLink(net.Link{LatencyNs: d.LatencyNs, JitterNs: d.JitterNs, Bandwidth: d.BandwidthBytes}, net.Rates{})
	setting, err := director.Prepare(w.spec)
	if err != nil {
		return err
	}
	if err := w.direct(setting); err != nil {
		return err
	}
	w.absences = make([][]string, len(w.spec.Nodes))
	if err := w.share(w.spec.Nodes); err != nil {
		return err
	}
	for i := range w.spec.Nodes {
		if err := w.addNode(&w.spec.Nodes[i]); err != nil {
			return fmt.Errorf("node %s: %w", w.spec.Nodes[i].Name, err)
		}
	}
	for i := range w.spec.Nodes {
		if err := w.borrowNetwork(i); err != nil {
			return err
		}
	}
	for _, l := range w.spec.Links {
		a, b := w.nodeID(l.From), w.nodeID(l.To)
		if a < 0 || b < 0 {
			return fmt.Errorf("link %s-%s: no such node", l.From, l.To)
		}
		link := net.Link{LatencyNs: l.LatencyNs, JitterNs: l.JitterNs, Bandwidth: l.BandwidthBytes}
		k.Net.SetLink(net.NodeID(a), net.NodeID(b), link)
		if !l.OneWay {
			k.Net.SetLink(net.NodeID(b), net.NodeID(a), link)
		}
	}
	if w.options.Behaviour {
		w.behaviour = newBehaviour(w.spec)
		k.Watch()
	}
	return w.enclose()
}

// connect makes the kernel of the world over its real side (host.Checkpoint), and has both call the world.
func (w *World) connect() {
	m := w.real.Machine
	k := kernel.New(m, w.tape, kernel.Handles{Blobs: w.real.Blobs, VDSOs: w.real.VDSOs}, linux.NewSystem())
	w.kernel = k
	for _, b := range w.real.Bases {
		k.Handles.Bases = append(k.Handles.Bases, b)
	}
	m.Lack = &w.real.Lack
	m.LimitMemory(w.memoryBytes, w.real.Blobs)
	w.tape.Clock(func() int64 { return k.Now })
	k.Cost, k.Sched, k.Limits = w.spec.Cost, w.spec.Sched, w.spec.Limits
	k.Observe = w.options.Observe
	if w.options.Capture != nil {
		k.Capture = w.capture
	}
	k.Overdue = w.overdue
	k.Halts = w.halts
	k.Absent = w.absent
	k.Seen = w.observed
	k.DiskFault = func(c *fault.Call) fault.Harm {
		return w.director.Call(c)
	}
	k.Leaks = w.leaks().kernel
	k.Executes = w.executes
	if w.options.Moments {
		k.Acted = w.acted
	}
	if w.options.Dumps != "" {
		k.Fatal = w.fatal
	}
	if w.options.Code != nil || w.spec.Sched.Blocks > 0 {
		k.Code = w.watched
	}
	if w.options.Code != nil {
		k.Edges, k.Ending = w.edges, w.counted
	}
	m.Action = func(id machine.ThreadID, sig int) ([32]byte, bool) { return linux.Action(k, id, sig) }
	m.Barred = func(id machine.ThreadID, addr, size uint64, by machine.Access) machine.Admission {
		return linux.Barred(k, id, addr, size, by)
	}
	m.Random = func(id machine.ThreadID, b []byte) { linux.Random(k, id, b) }
	m.Made = func(id machine.ThreadID, name string, tooMuch bool) { k.MadeUnsafe(k.Threads[id], name, tooMuch) }
	m.Unproven = func(id machine.ThreadID, name string) {
		k.Unrepeatable("%s executes code next to bytes that may be the instruction %s, and Bloodhound cannot "+
			"tell whether they are", k.Proc(k.Threads[id]).Path, name)
	}
}

// direct makes the director, and has the kernel ask it about calls.
func (w *World) direct(setting *director.Setting) error {
	w.director = setting.New(w.tape, actuator{w}, &w.outcome)
	k := w.kernel
	if unknown := linux.WatchCalls(k, setting.Faults().Watches()); len(unknown) > 0 {
		return fmt.Errorf("rules inject faults at %s, where worlds never stop", strings.Join(unknown, ", "))
	}
	if setting.Faults().Asks(world.AfterReply, world.InRecovery, world.InTransfer, world.InOperation) {
		linux.WatchAll(k)
	}
	k.Moments = striker{w}
	return nil
}

// enclose puts up the walls that the machine has. From here on the world's thread, and all processes of the world, read files of the
// machine only where nodes have them.
func (w *World) enclose() error {
	var readable []string
	if w.options.Images != nil {
		readable = append(readable, w.options.Images.Files())
	}
	for _, b := range w.real.Bases {
		readable = append(readable, b.Paths()...)
	}
	slices.Sort(readable)
	_, err := host.Enclose(slices.Compact(readable))
	return err
}

func (w *World) nodeID(name string) kernel.NodeID {
	for i := range w.spec.Nodes {
		if w.spec.Nodes[i].Name == name {
			return kernel.NodeID(i)
		}
	}
	return -1
}

// asksForMemory reports whether faults affect calls that ask for memory, or at them.
func asksForMemory(f *world.Faults) bool {
	return f.Injects(fault.MemoryPressure) ||
		slices.ContainsFunc(f.Rules, func(r world.FaultRule) bool { return slices.ContainsFunc(r.At, linux.Growing) })
}

// network is the network of a world, without its nodes.
func (w *World) network() *net.State {
	s := net.New(net.Config{})
	for _, n := range w.spec.Networks {
		s.AddNetwork(net.NetworkConfig{Name: n.Name, FullName: n.FullName, IPv4: n.IPv4, IPv6: n.IPv6,
			Gateway4: n.Gateway4, Gateway6: n.Gateway6, Internal: n.Internal})
	}
	return s
}

// borrowNetwork gives a node the network of another, if it asks for it. Its own place in the network stays empty.
func (w *World) borrowNetwork(i int) error {
	of := kernel.NodeID(i)
	for range w.spec.Nodes { // that one may have borrowed it itself
		name := w.spec.Nodes[of].NetworkOf
		if name == "" {
			break
		}
		if of = w.nodeID(name); of < 0 {
			return fmt.Errorf("node %s shares the network of %s, which does not exist", w.spec.Nodes[i].Name, name)
		}
	}
	if int(of) == i {
		return nil
	}
	k := w.kernel
	node := k.Nodes[i]
	node.Net, node.BorrowsNet, k.Nodes[of].LendsNet = net.NodeID(of), true, true
	return w.nameFiles(node)
}

// addNode makes one machine: its vDSO, its tree, its place in the network.
func (w *World) addNode(n *world.Node) error {
	vdso, err := host.NewVDSO()
	if err != nil {
		return err
	}
	k := w.kernel
	vdso.Accounted = n.Bounds.MemoryBytes > 0
	vdso.StopsGrowth = vdso.Accounted || n.Role == world.Server && w.spec.Faults.Enabled && asksForMemory(&w.spec.Faults)
	w.real.VDSOs = append(w.real.VDSOs, vdso)
	k.Handles.VDSOs = w.real.VDSOs
	node := &kernel.Node{
		ID: kernel.NodeID(len(k.Nodes)), Name: n.Name, Hostname: n.Hostname, DomainName: n.DomainName, BootSysctls: n.Sysctls, Driver: n.Role != world.Server,
		OffsetNs: w.spec.StartUnixNs + n.Clock.OffsetNs, DriftPPB: n.Clock.DriftPPB, BootNs: bootNs, FIFOs: map[fs.InodeID]int64{},
		Init: n.Init, Tasks: n.Bounds.Tasks, CPUPPM: n.Bounds.CPUPPM,
		Memory: kernel.Memory{LimitBytes: n.Bounds.MemoryBytes},
	}
	tuning, err := linux.Tune(node, n.Sysctls)
	if err != nil {
		return err
	}
	names := append([]string{n.Hostname, n.Name}, n.Aliases...)
	var extra []string
	for _, h := range n.ExtraHosts {
		extra = append(extra, h.IP+" "+h.Name)
	}
	var nics []net.NICConfig
	for _, a := range n.Attachments {
		nics = append(nics, net.NICConfig{Network: a.Network, Name: a.Interface, IPv4: a.IPv4, IPv6: a.IPv6, MAC: a.MAC, Aliases: a.Aliases, Unnamed: a.Unnamed,
			Priority: a.GatewayPriority})
	}
	node.Net = k.Net.AddNode(net.NodeConfig{Name: n.Name, IPv4: n.IPv4, IPv6: n.IPv6, NICs: nics, Hostnames: names, ExtraHosts: extra,
		Domain: n.DomainName, Search: n.SearchDomains, Tuning: tuning,
		ByDNS: w.director != nil && w.director.Plan.Aims(fault.DNSFail, n.Name)})
	leaks := w.leaks()
	leaks.spoil(k, node)
	node.TrueOffsetNs, node.TrueDriftPPB = node.OffsetNs, node.DriftPPB
	k.Nodes = append(k.Nodes, node)
	return w.furnishNode(node, n)
}

// Close ends the world. None of its files and processes is left behind. Where that fails, it panics: the processes end with this
// one, and with nothing less.
func (w *World) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	broken := w.real.Tracer.Do(func() {
		w.real.Enter()
		w.real.Close()
	})
	w.real.Tracer.End()
	if broken != nil {
		panic(broken)
	}
	return nil
}
