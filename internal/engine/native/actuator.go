//go:build linux && amd64

package native

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// actuator acts for the Director of a World.
type actuator struct{ w *World }

func (a actuator) k() *kernel.Kernel                 { return a.w.kernel }
func (a actuator) node(name string) *kernel.Node     { return a.k().Nodes[a.w.nodeID(name)] }
func (a actuator) nodeID(name string) net.NodeID     { return net.NodeID(a.w.nodeID(name)) }
func refTo(f *fault.Action) net.FaultRef             { return net.FaultRef{Kind: f.Kind, ID: f.ID} }
func (a actuator) Now() int64                        { return a.k().Now }
func (a actuator) Events() uint64                    { return a.k().Events }
func (a actuator) Deliver() error                    { return a.w.notice() }
func (a actuator) Starting(int) bool                 { return false } // healthchecks say so
func (a actuator) Ask(int, bool) (int, string, bool) { return 0, "", false }

func (a actuator) Happen(node, call string, result int64, detail string) uint64 {
	return a.k().Happen(node, "", call, result, detail)
}

func (a actuator) Alive(proc int64) bool {
	p := a.k().Procs[kernel.ProcID(proc)]
	return p != nil && !p.Zombie
}

func (a actuator) Running(node int) (tags []int64) {
	for _, id := range a.k().Nodes[node].Procs {
		if p := a.k().Procs[id]; p != nil && !p.Zombie {
			tags = append(tags, p.Tag)
		}
	}
	return tags
}

func (a actuator) Kill(proc int64) {
	if p := a.k().Procs[kernel.ProcID(proc)]; p != nil {
		linux.KillProc(a.k(), p)
	}
}

func (a actuator) KillTagged(tag int64) {
	for _, id := range slices.Sorted(maps.Keys(a.k().Procs)) {
		if p := a.k().Procs[id]; p != nil && p.Tag == tag {
			linux.KillProc(a.k(), p)
		}
	}
}

// because has what an act ends belong to a fault.
func (a actuator) because(cause net.FaultRef, act func()) {
	a.k().Cause = cause
	act()
	a.k().Cause = net.FaultRef{}
}

func (a actuator) KillNode(node int, by *fault.Action) {
	cause := net.FaultRef{}
	if by != nil {
		cause = refTo(by)
	}
	a.because(cause, func() { linux.KillNode(a.k(), kernel.NodeID(node)) })
}

func (a actuator) LosePower(node int, by *fault.Action, stream string) (err error) {
	a.because(refTo(by), func() {
		err = linux.LosePower(a.k(), kernel.NodeID(node), by.ID, func(what string, n uint64) uint64 { return a.w.tape.Choose(stream+what, n) })
	})
	return err
}

func (a actuator) TakeImage(node, number int) error {
	n := a.k().Nodes[node]
	image, e := n.FS.TakeImage(a.k().TreeEnv(n))
	if e != errno.OK {
		return fmt.Errorf("node %s: a copy of its disk: %w", n.Name, e)
	}
	if n.Images == nil {
		n.Images = map[int]*fs.Image{}
	}
	n.Images[number] = image
	return nil
}

func (a actuator) DropImage(node, number int) {
	n := a.k().Nodes[node]
	if image := n.Images[number]; image != nil {
		n.FS.FreeImage(a.k().TreeEnv(n), image)
		delete(n.Images, number)
	}
}

func (a actuator) Reimage(node int, by *fault.Action, number int) (err error) {
	n := a.k().Nodes[node]
	image := n.Images[number]
	if image == nil {
		return fmt.Errorf("node %s: this world has kept no copy of its disk; add a rule of the kind %s to the configuration", n.Name, by.Kind)
	}
	a.because(refTo(by), func() { err = linux.Reimage(a.k(), n.ID, by.ID, image) })
	return err
}

func (a actuator) Listening(node int) []int { return a.k().Net.Listening(net.NodeID(node)) }

func (a actuator) OnLoopback(node, port int) bool {
	return a.k().Net.OnLoopback(net.NodeID(node), port)
}

func (a actuator) AwaitReady(node int, on bool) { a.k().Nodes[node].AwaitsReady = on }

func (a actuator) PowerOn(node int) { linux.PowerOn(a.k(), kernel.NodeID(node)) }

func (a actuator) Stop(node int, by *fault.Action, signal int) {
	linux.Stop(a.k(), kernel.NodeID(node), refTo(by), signal)
}

func (a actuator) Stopping(node int) director.Stopping {
	s := a.k().Nodes[node].Stopping
	return director.Stopping{ID: s.Cause.ID, Signal: s.Signal, Taken: s.Taken}
}

func (a actuator) Stopped(node int) {
	n := a.k().Nodes[node]
	a.because(n.Stopping.Cause, func() { linux.KillNode(a.k(), n.ID) })
	n.Stopping = kernel.Stopping{}
}

func (a actuator) Pause(node, id int) { linux.Pause(a.k(), kernel.NodeID(node), id) }

func (a actuator) Resume(node, _ int) (late bool) {
	linux.Pause(a.k(), kernel.NodeID(node), 0)
	return linux.Late(a.k(), kernel.NodeID(node))
}

func (a actuator) Leak(node, id int, fromNs, toNs int64) {
	a.k().Nodes[node].Leak = kernel.Leak{Fault: id, FromNs: fromNs, ToNs: toNs}
}

func (a actuator) EndLeak(node int) { a.k().Nodes[node].Leak = kernel.Leak{} }

func (a actuator) KillLargest(node, id int) (killed director.Killed, ok bool) {
	a.because(net.FaultRef{Kind: fault.OOM, ID: id}, func() {
		var p linux.Killed
		p, ok = linux.KillLargest(a.k(), kernel.NodeID(node), id)
		killed = director.Killed{PID: p.PID, Program: p.Program, Bytes: p.Bytes}
	})
	return killed, ok
}

func (a actuator) Restarts(node, id int) {
	linux.Restarts(a.k(), kernel.NodeID(node), net.FaultRef{Kind: fault.OOM, ID: id})
}

func (a actuator) Block(c fault.Direction, id int) {
	a.k().Net.SetBlocked(a.nodeID(c.From), a.nodeID(c.To), id != 0, id)
}

func (a actuator) Clog(c fault.Direction, id int) {
	a.k().Net.SetClog(linux.NetEnv(a.k()), a.nodeID(c.From), a.nodeID(c.To), id)
}

func (a actuator) Slow(c fault.Direction, on *fault.Action) {
	a.k().Net.SetSlow(linux.NetEnv(a.k()), a.nodeID(c.From), a.nodeID(c.To),
		net.Slow{LatencyNs: on.Slow.LatencyNs, JitterNs: on.Slow.JitterNs, Bandwidth: on.Slow.Bandwidth,
			FaultID: on.ID, SinceNs: on.StartNs})
}

func (a actuator) Reset(c fault.Direction, by *fault.Action) int {
	return a.k().Net.Reset(linux.NetEnv(a.k()), a.nodeID(c.From), a.nodeID(c.To), refTo(by))
}

func (a actuator) Names(node string, id int, silent bool) {
	a.k().Net.SetNames(a.nodeID(node), net.Names{FaultID: id, Silent: silent})
}

func (a actuator) Pressure(node string, id int, sinceNs int64) {
	a.node(node).Pressure = kernel.Pressure{Fault: id, SinceNs: sinceNs}
}

func (a actuator) FDLimit(node string, id int, sinceNs int64) {
	a.node(node).FDLimit = kernel.FDLimit{Fault: id, SinceNs: sinceNs}
}

func (a actuator) FillDisk(node string, id int)    { linux.FillDisk(a.k(), a.node(node), id) }
func (a actuator) Disk(node string, s fault.Speed) { a.node(node).Disk = s }
func (a actuator) SlowDisk(node string, id int, ns int64) {
	a.node(node).Slow = kernel.Slow{Ns: ns, Fault: id}
}
func (a actuator) Clock(f *fault.Action) {
	a.k().SetClock(a.node(f.Node).ID, f.Kind, f.ID, f.Amount)
}
func (a actuator) RightClock(f *fault.Action) { a.k().RightClock(a.node(f.Node).ID, f.ID) }

// Rates gives the network what packets suffer, and nodes whether calls on their disks do.
func (a actuator) Rates() {
	nodes := a.w.spec.Nodes
	for i := range nodes {
		a.k().Nodes[i].Harmed = a.w.director.Plan.Calls(nodes[i].Name)
		linux.SyncsFail(a.k(), a.k().Nodes[i], a.w.director.Plan.Calls(nodes[i].Name, fault.FsyncFail))
		a.k().Nodes[i].ReadsHarmed = a.w.director.Plan.Calls(nodes[i].Name, fault.ReadFail, fault.ReadCorrupt)
		a.k().Nodes[i].OpensHarmed = a.w.director.Plan.Calls(nodes[i].Name, fault.OpenFail)
		for j := range nodes {
			if i == j {
				continue
			}
			r := a.w.director.Packet(nodes[i].Name, nodes[j].Name)
			drop, corrupt, delay, duplicate, reorder := &r[fault.DropRate], &r[fault.CorruptRate], &r[fault.DelayRate],
				&r[fault.DuplicateRate], &r[fault.ReorderRate]
			a.k().Net.SetRates(net.NodeID(i), net.NodeID(j),
				net.Rates{DropPPM: drop.PPM, CorruptPPM: corrupt.PPM, DelayPPM: delay.PPM, DelayMinNs: delay.MinNs, DelayMaxNs: delay.MaxNs,
					DuplicatePPM: duplicate.PPM, ReorderPPM: reorder.PPM, ReorderMinNs: reorder.MinNs, ReorderMaxNs: reorder.MaxNs,
					DropRule: drop.Rule, CorruptRule: corrupt.Rule, DelayRule: delay.Rule, DuplicateRule: duplicate.Rule, ReorderRule: reorder.Rule})
		}
	}
}

func (a actuator) Order(proc int64, line []byte) bool {
	return linux.Order(a.k(), kernel.ProcID(proc), line)
}

func (a actuator) Watch(node int, tag int64) {
	l := &a.k().Nodes[node].Life
	if tag != 0 {
		*l = kernel.Life{}
	}
	l.Tag = tag
}

func (a actuator) Life(node int) director.Life {
	l := &a.k().Nodes[node].Life
	return director.Life{Tag: l.Tag, Sum: l.Sum, Open: l.Open}
}

func (a actuator) Hidden(node int) string { return a.w.hidden(node) }

func (a actuator) Dump(proc int64, signal int) *record.Dump {
	return a.w.dumps.takeDump(kernel.ProcID(proc), signal)
}

func (a actuator) Injected(f *fault.Action) {
	a.struck(f)
	a.w.injected(*f)
}

func (a actuator) Undone(f *fault.Action) { a.struck(f) }

// struck keeps the changes of files around the begin or end of a fault of one node.
func (a actuator) struck(f *fault.Action) {
	if f.Node != "" {
		a.node(f.Node).Changes.Strike()
	}
}

// Received is the last event at which a driver on a node read bytes from a connection to another node.
func (a actuator) Received(node int) uint64 { return a.k().Nodes[node].Received }

func (a actuator) RoleChanged(node string) { a.w.roleChanged(node) }

func (a actuator) Logged(l record.LogLine) {
	if a.w.options.Log != nil {
		a.w.options.Log(l)
	}
}

// ownSlackNs is the timer slack of our own drivers and probes, which need not be as punctual as a program under test: their
// runtime naps for microseconds all the time, and each nap costs the run a stop.
const ownSlackNs = 1e6

// maxCheckOutput bounds what is read of one run of a check, a healthcheck or a question for a role.
const maxCheckOutput = 256 << 10

// Launch starts a program with the user and the working directory of l.As, which is the node but for them.
func (a actuator) Launch(l *director.Launch) (int64, error) {
	w := a.w
	if l.Kind == director.JobMain {
		w.kernel.Nodes[l.Node].Between = w.director.Plan.Opened(w.spec.Nodes[l.Node].Name) // a fault may wait for its recovery
	}
	if l.Kind == director.JobMain && l.Number == 0 {
		if err := w.inheritVolumes(l.Node); err != nil {
			return 0, err
		}
	}
	if l.KeepDisk {
		if err := a.TakeImage(l.Node, director.EmptyDisk); err != nil {
			return 0, err
		}
	}
	cred, err := w.credentials(kernel.NodeID(l.Node), l.As)
	if err != nil {
		return 0, err
	}
	dir := l.As.WorkingDir
	if dir == "" {
		dir = "/"
	}
	argv, env := l.Argv, l.Env
	if l.Own {
		argv = append([]string{linux.Self}, argv...)
	}
	if l.Kind == director.JobDriver || l.Kind == director.JobRecovery {
		env = append(slices.Clone(env), "BLOODHOUND_REPORT="+linux.ReportPath)
	}
	start := linux.Launch{Node: kernel.NodeID(l.Node), Name: fmt.Sprint(l.Number), Argv: argv, Env: w.environment(l.As, env),
		Dir: dir, User: cred, Tag: l.Tag, Stdout: l.Stdout, Stderr: l.Stderr,
		Bounded: l.Kind == director.JobProbe || l.Kind == director.JobProber || l.Kind == director.JobOperator,
		Ordered: l.Ordered, Answers: l.Own, OOMAdj: l.As.Bounds.OOMScoreAdj, Main: l.Kind == director.JobMain, Rlimits: l.As.Bounds.Rlimits}
	if l.Kind.Asks() {
		start.MostOutput = maxCheckOutput
	}
	if l.Own {
		start.SlackNs = ownSlackNs
	}
	p, err := linux.Start(w.kernel, start)
	if err != nil {
		return 0, fmt.Errorf("cannot start %s: %w", strings.Join(argv, " "), w.startError(l.As, argv[0], err))
	}
	return int64(p.ID), nil
}

// startError makes an error of a program's start the Director's.
func (w *World) startError(n *world.Node, file string, err error) error {
	var start *linux.StartError
	if !errors.As(err, &start) {
		return err
	}
	e := &director.StartError{Text: start.Error(), Errno: int(start.Errno), Missing: start.Errno == unix.ENOENT, Busy: start.Errno == unix.ETXTBSY}
	if n.Image == nil && strings.Contains(file, "/") {
		if !filepath.IsAbs(file) {
			file = filepath.Join(n.WorkingDir, file)
		}
		_, err := os.Stat(file)
		e.Foreign = err != nil
	}
	return e
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment adds what every program has, where the node does not say otherwise.
func (w *World) environment(n *world.Node, env []string) []string {
	out := slices.Clone(env)
	all := []string{"PATH=" + defaultPath, "HOME=/root", "HOSTNAME=" + n.Hostname, "TZ=UTC",
		// A program that binds its functions as they are first called has the dynamic linker stop at each.
		"LD_BIND_NOW=1",
		"ANTITHESIS_SDK_LOCAL_OUTPUT=" + linux.SDKPath, "ANTITHESIS_OUTPUT_DIR=" + linux.SDKDir}
	if w.options.Driver != "" {
		all = append(all, "ANTITHESIS_STOP_FAULTS="+linux.StopFaults)
	}
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}

// noticeOf is a notice of the kernel as the Director takes it.
func noticeOf(n *kernel.Notice) *director.Notice {
	return &director.Notice{Event: n.Event, TimeNs: n.TimeNs, Node: int(n.Node), Proc: int64(n.Proc), PID: n.PID,
		Program: n.Program, Tag: n.Tag, Status: n.Status,
		ByFault: n.ByFault, Stream: n.Stream, Text: n.Text, Refusal: n.Refusal}
}
