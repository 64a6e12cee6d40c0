//go:build linux && amd64

package native

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/fault"
	"github.com/bloodhound-dst/bloodhound/world"
)

// Phases of a run (DESIGN.md's vocabulary).
const (
	phaseSetup  = "setup"
	phaseChaos  = "chaos"
	phaseSettle = "settle"
	phaseFinal  = "final"
	phaseOver   = "over"
)

const never = int64(1<<63 - 1)

// director decides what the world around the programs does: which node starts when, when faults strike, when
// properties are probed. Its state is plain data.
type director struct {
	Phase     string
	Plan      *fault.Plan
	Nodes     []nodeState
	Jobs      []job // what was started besides main processes, by tag-1
	NextStep  int64 // of faults; never outside chaos
	ChaosEnd  int64
	SettleEnd int64
	Heals     []int64
	Healed    int64 // time of the last heal that no fault has followed, 0 if none
	Probes    []probeState
	Drivers   int // drivers that still run
	Started   bool
	Live      []int              // jobs that are not done and have a deadline
	LogTail   map[int64][]string // last lines of each process' log, by tag
	Counts    map[string]uint64
	patterns  []*regexp.Regexp
	due       int64 // nextDue, as of the last direct
}

// nodeState is how far a node is.
type nodeState struct {
	Status    status
	Main      kernel.ProcID
	Launches  int
	Healthy   bool
	Fails     int // health checks that failed in a row
	StartedNs int64
	NextNs    int64 // when to start (again), or to check its health; never if not planned
	Checking  bool
	Restarts  int
	ExitCode  int
	Losses    int // of power
}

type status uint8

const (
	waiting status = iota // for its dependencies
	running
	ended   // by itself
	crashed // by a fault
	resting // waits for its restart
)

type jobKind uint8

const (
	jobMain jobKind = iota + 1
	jobDriver
	jobHealth
	jobProbe
)

// job is a program that the director started.
type job struct {
	Kind     jobKind
	Node     int
	Index    int // of the workload or property
	Proc     kernel.ProcID
	StartNs  int64
	Deadline int64 // when it is killed, never if not
	Heal     int64
	Phase    string
}

// probeState is where the probing of one property stands.
type probeState struct {
	NextNs  int64
	Running bool
	Heal    int64 // the heal that a liveness property still has to prove; 0 none
	Proven  bool
}

// probeTimeoutNs bounds one execution of a check.
const probeTimeoutNs = int64(10e9)

func newDirector(spec *world.Spec, plan *fault.Plan) *director {
	d := &director{Phase: phaseSetup, Plan: plan, Nodes: make([]nodeState, len(spec.Nodes)), NextStep: never, ChaosEnd: never, SettleEnd: never,
		Probes: make([]probeState, len(spec.Properties)), LogTail: map[int64][]string{}, Counts: map[string]uint64{}}
	for i := range d.Probes {
		d.Probes[i].NextNs = never
	}
	for _, p := range spec.LogPatterns {
		d.patterns = append(d.patterns, regexp.MustCompile(p.Pattern))
	}
	return d
}

// nextDue is when the director next has something to do by itself.
func (d *director) nextDue() int64 {
	if !d.Started {
		return 0
	}
	due := min(d.NextStep, d.ChaosEnd, d.SettleEnd)
	if end, ok := d.Plan.NextEndNs(); ok {
		due = min(due, end)
	}
	for i := range d.Nodes {
		due = min(due, d.Nodes[i].NextNs)
	}
	for i := range d.Probes {
		if !d.Probes[i].Running { // its end decides when the next one is due
			due = min(due, d.Probes[i].NextNs)
		}
	}
	for _, i := range d.Live {
		due = min(due, d.Jobs[i].Deadline)
	}
	return due
}

// direct does everything that is due.
func (w *World) direct() error {
	d, now := w.director, w.kernel.Now
	if !d.Started {
		d.Started = true
		for i := range d.Nodes {
			d.Nodes[i].NextNs = never
		}
		if err := w.startNodes(); err != nil {
			return err
		}
	}
	for _, i := range d.Live {
		if j := &d.Jobs[i]; j.Deadline <= now {
			if p := w.kernel.Procs[j.Proc]; p != nil {
				w.kernel.KillProc(p)
			}
		}
	}
	if err := w.notice(); err != nil {
		return err
	}
	for i := range d.Nodes {
		if d.Nodes[i].NextNs > now {
			continue
		}
		d.Nodes[i].NextNs = never
		var err error
		switch d.Nodes[i].Status {
		case resting:
			err = w.startMain(i)
		case running:
			err = w.checkHealth(i)
		}
		if err != nil {
			return err
		}
	}
	if err := w.strike(now); err != nil {
		return err
	}
	if err := w.probe(now); err != nil {
		return err
	}
	for {
		phase := d.Phase
		if err := w.turnPhase(now); err != nil {
			return err
		}
		if d.Phase == phase {
			d.due = d.nextDue()
			return nil
		}
	}
}

// startNodes starts every node whose dependencies are there.
func (w *World) startNodes() error {
	d := w.director
	for i := range d.Nodes {
		n := &w.spec.Nodes[i]
		if d.Nodes[i].Status != waiting || len(n.Command) == 0 || !w.dependenciesMet(n) {
			continue
		}
		if err := w.startMain(i); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) dependenciesMet(n *world.Node) bool {
	for _, dep := range n.DependsOn {
		id := w.nodeID(dep.Node)
		if id < 0 {
			continue
		}
		s := &w.director.Nodes[id]
		switch dep.Condition {
		case world.Healthy:
			if !s.Healthy {
				return false
			}
		case world.Completed:
			if s.Status != ended || s.ExitCode != 0 {
				return false
			}
		default:
			if s.Launches == 0 {
				return false
			}
		}
	}
	return true
}

func (w *World) startMain(i int) error {
	d, n := w.director, &w.spec.Nodes[i]
	s := &d.Nodes[i]
	p, err := w.launch(job{Kind: jobMain, Node: i, Deadline: never}, n.Command, n.Env, "stdout", "stderr")
	if err != nil {
		return err
	}
	s.Status, s.Main, s.StartedNs, s.Fails = running, p.ID, w.kernel.Now, 0
	s.Healthy = n.Health == nil
	s.NextNs = never
	if n.Health != nil {
		s.NextNs = w.kernel.Now + firstCheck(n.Health)
	}
	return nil
}

func firstCheck(h *world.Healthcheck) int64 {
	if h.StartPeriodNs > 0 && h.StartIntervalNs > 0 {
		return h.StartIntervalNs
	}
	return max(h.IntervalNs, 1)
}

// ownSlackNs is the timer slack of our own drivers and probes, which need not be as punctual as a program under test: their
// runtime naps for microseconds all the time, and each nap costs the run a stop.
const ownSlackNs = 1e6

// launch starts a program on a node as a job.
func (w *World) launch(j job, argv, env []string, stdout, stderr string) (*kernel.Proc, error) {
	d, n := w.director, &w.spec.Nodes[j.Node]
	s := &d.Nodes[j.Node]
	j.StartNs, j.Phase = w.kernel.Now, d.Phase
	d.Jobs = append(d.Jobs, j)
	tag := int64(len(d.Jobs))
	cred, err := w.credentials(kernel.NodeID(j.Node), n.User)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	dir := n.WorkingDir
	if dir == "" {
		dir = "/"
	}
	l := kernel.Launch{Node: kernel.NodeID(j.Node), Name: fmt.Sprint(s.Launches), Argv: argv, Env: w.environment(n, env),
		Dir: dir, User: cred, Tag: tag, Stdout: stdout, Stderr: stderr}
	if argv[0] == w.options.Self {
		l.SlackNs = ownSlackNs
	}
	p, err := w.kernel.Start(l)
	if err != nil {
		return nil, fmt.Errorf("node %s: cannot start %s: %w", n.Name, strings.Join(argv, " "), err)
	}
	s.Launches++
	d.Jobs[tag-1].Proc = p.ID
	if j.Deadline != never {
		d.Live = append(d.Live, int(tag-1))
	}
	return p, nil
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment adds what every program has, where the node does not say otherwise.
func (w *World) environment(n *world.Node, env []string) []string {
	out := slices.Clone(env)
	for _, kv := range []string{"PATH=" + defaultPath, "HOME=/root", "HOSTNAME=" + n.Hostname, "TZ=UTC"} {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}

func (w *World) checkHealth(i int) error {
	s, h := &w.director.Nodes[i], w.spec.Nodes[i].Health
	if s.Checking {
		return nil
	}
	timeout := h.TimeoutNs
	if timeout <= 0 {
		timeout = probeTimeoutNs
	}
	s.Checking = true
	_, err := w.launch(job{Kind: jobHealth, Node: i, Deadline: w.kernel.Now + timeout}, h.Command, w.spec.Nodes[i].Env, "healthcheck", "healthcheck")
	return err
}

func (w *World) healthChecked(i int, ok bool) error {
	s, h := &w.director.Nodes[i], w.spec.Nodes[i].Health
	s.Checking = false
	if s.Status != running {
		return nil
	}
	interval := max(h.IntervalNs, 1)
	if ok {
		s.Fails, s.Healthy = 0, true
	} else if s.Fails++; w.kernel.Now-s.StartedNs >= h.StartPeriodNs && s.Fails >= max(h.Retries, 1) {
		s.Healthy = false
	}
	if !s.Healthy && h.StartIntervalNs > 0 && w.kernel.Now-s.StartedNs < h.StartPeriodNs {
		interval = h.StartIntervalNs
	}
	s.NextNs = w.kernel.Now + interval
	return w.startNodes()
}

// startDrivers begins the workload.
func (w *World) startDrivers() error {
	for i := range w.spec.Workloads {
		l := &w.spec.Workloads[i]
		node := w.nodeID(l.Node)
		argv, env := l.Command, slices.Clone(l.Env)
		if l.Driver != "command" {
			argv = []string{w.options.Self, "driver", l.Driver}
			text, err := json.Marshal(l)
			if err != nil {
				return err
			}
			env = append(env, "BLOODHOUND_DRIVER="+string(text), "GOMAXPROCS=1", "GOGC=400")
		}
		env = append(env, "BLOODHOUND_REPORT="+kernel.ReportPath)
		if _, err := w.launch(job{Kind: jobDriver, Node: int(node), Index: i, Deadline: never}, argv, append(slices.Clone(w.spec.Nodes[node].Env), env...), "stdout", "stderr"); err != nil {
			return err
		}
		w.director.Drivers++
	}
	return nil
}

// exited deals with the end of a process.
func (w *World) exited(n *kernel.Notice) error {
	d := w.director
	if n.Tag == 0 {
		return nil
	}
	j := &d.Jobs[n.Tag-1]
	if j.Proc != n.Proc {
		w.crash(n, j, false) // a descendant: only a fatal signal matters
		return nil
	}
	d.Live = slices.DeleteFunc(d.Live, func(i int) bool { return i == int(n.Tag-1) })
	switch j.Kind {
	case jobMain:
		return w.mainEnded(n, j)
	case jobDriver:
		d.Drivers--
		end := engine.DriverEnd{Workload: w.spec.Workloads[j.Index].Name, TimeNs: n.TimeNs, ExitCode: n.Status >> 8}
		if sig := n.Status & 0x7f; sig != 0 {
			end.Signal = unix.SignalName(unix.Signal(sig))
		}
		w.outcome.Drivers = append(w.outcome.Drivers, end)
	case jobHealth:
		return w.healthChecked(j.Node, n.Status == 0)
	case jobProbe:
		w.probed(j, n)
	}
	return nil
}

func (w *World) mainEnded(n *kernel.Notice, j *job) error {
	d := w.director
	s, spec := &d.Nodes[j.Node], &w.spec.Nodes[j.Node]
	if n.ByFault || s.Status == crashed || s.Main != n.Proc {
		return nil
	}
	code := n.Status >> 8
	if sig := n.Status & 0x7f; sig != 0 {
		code = 128 + sig
	}
	s.Status, s.ExitCode, s.Healthy, s.NextNs = ended, code, false, never
	again := false
	switch spec.Restart.Mode {
	case world.RestartAlways, world.RestartUnlessStopped:
		again = true
	case world.RestartOnFailure:
		again = code != 0 && (spec.Restart.MaxRetries == 0 || s.Restarts < spec.Restart.MaxRetries)
	}
	w.crash(n, j, true)
	if again {
		s.Restarts++
		delay := max(spec.Restart.DelayNs, int64(100e6)) << min(s.Restarts-1, 9) // Docker doubles from 100 ms to a minute
		s.Status, s.NextNs = resting, w.kernel.Now+min(delay, int64(60e9))
	}
	return w.startNodes()
}

// strike ends and starts faults.
func (w *World) strike(now int64) error {
	d := w.director
	if ended := d.Plan.Ended(now); len(ended) > 0 {
		if err := w.undo(ended); err != nil {
			return err
		}
		if len(d.Plan.Active) == 0 && !w.packetFaults() {
			w.healed(now)
		}
	}
	if d.NextStep > now {
		return nil
	}
	d.NextStep = now + max(w.spec.TimeStepNs, 1)
	for _, a := range d.Plan.Step(w.tape, now) {
		d.Healed = 0
		for i := range d.Probes { // the next heal is what counts now
			d.Probes[i].Heal = 0
		}
		event := w.kernel.Happen("", "", string(a.Kind), int64(a.ID), a.Target)
		d.Plan.Ledger.Delivered(a, event)
		switch a.Kind {
		case fault.Partition:
			for _, c := range a.Cuts {
				w.kernel.Net.SetBlocked(net.NodeID(w.nodeID(c.From)), net.NodeID(w.nodeID(c.To)), true, a.ID)
			}
		case fault.Crash, fault.PowerLoss:
			i := int(w.nodeID(a.Node))
			s := &d.Nodes[i]
			s.Status, s.Healthy, s.NextNs = crashed, false, never
			w.kernel.Cause = net.FaultRef{Kind: a.Kind, ID: a.ID}
			if a.Kind == fault.PowerLoss {
				if err := w.losePower(a); err != nil {
					return err
				}
			} else {
				w.kernel.KillNode(kernel.NodeID(i))
			}
			w.kernel.Cause = net.FaultRef{}
			if err := w.notice(); err != nil {
				return err
			}
		case fault.Pause:
			w.kernel.Pause(w.nodeID(a.Node), a.ID)
		}
	}
	return nil
}

// losePower draws what a node's disk has kept, from a stream for each thing that may be lost.
func (w *World) losePower(a fault.Action) error {
	id := w.nodeID(a.Node)
	s := &w.director.Nodes[id]
	s.Losses++
	stream := fmt.Sprintf("disk/%s/%d/", a.Node, s.Losses)
	return w.kernel.LosePower(id, a.ID, func(what string, n uint64) uint64 { return w.tape.Choose(stream+what, n) })
}

// undo ends strikes whose time is over.
func (w *World) undo(actions []fault.Action) error {
	d := w.director
	for _, a := range actions {
		w.kernel.Happen("", "", "end "+string(a.Kind), int64(a.ID), a.Target)
		switch a.Kind {
		case fault.Partition:
			for _, c := range a.Cuts {
				id := d.Plan.Blocked(c.From, c.To)
				w.kernel.Net.SetBlocked(net.NodeID(w.nodeID(c.From)), net.NodeID(w.nodeID(c.To)), id != 0, id)
			}
		case fault.Crash, fault.PowerLoss:
			i := int(w.nodeID(a.Node))
			if a.Kind == fault.PowerLoss {
				w.kernel.PowerOn(kernel.NodeID(i))
			}
			if d.Nodes[i].Status == crashed && len(w.spec.Nodes[i].Command) > 0 {
				if err := w.startMain(i); err != nil {
					return err
				}
			}
		case fault.Pause:
			id := w.nodeID(a.Node)
			w.kernel.Pause(id, 0)
			if w.kernel.Late(id) { // what it does next would have been done earlier: its clock shows it
				d.Plan.Ledger.Observed(a.ID, w.kernel.Events+1)
			}
		}
	}
	return nil
}

// packetFaults reports whether packets suffer throughout the chaos phase: then nothing is healed before its end.
func (w *World) packetFaults() bool {
	return slices.ContainsFunc(w.director.Plan.Rules, func(r fault.Rule) bool { return fault.PerPacket(r.Kind) })
}

func (w *World) healed(now int64) {
	d := w.director
	d.Heals = append(d.Heals, now)
	d.Healed = now
	for i := range w.spec.Properties {
		if p := &w.spec.Properties[i]; probes(p) && p.Kind == world.Liveness {
			d.Probes[i].Heal, d.Probes[i].Proven, d.Probes[i].NextNs = now, false, now
		}
	}
}

func probes(p *world.Property) bool {
	switch p.Check.Type {
	case world.HTTPCheck, world.RedisCheck, world.Custom:
		return true
	}
	return false
}

// setRates tells the network which packets suffer.
func (w *World) setRates() {
	for i := range w.spec.Nodes {
		for j := range w.spec.Nodes {
			if i == j {
				continue
			}
			r := w.director.Plan.Packet(w.spec.Nodes[i].Name, w.spec.Nodes[j].Name)
			w.kernel.Net.SetRates(net.NodeID(i), net.NodeID(j), net.Rates{DropPPM: r.DropPPM, DelayPPM: r.DelayPPM, DelayMinNs: r.DelayMinNs, DelayMaxNs: r.DelayMaxNs,
				DuplicatePPM: r.DuplicatePPM, ReorderPPM: r.ReorderPPM, ReorderMinNs: r.ReorderMinNs, ReorderMaxNs: r.ReorderMaxNs})
		}
	}
}

// turnPhase goes on to the next phase when the present one is over.
func (w *World) turnPhase(now int64) error {
	d, f := w.director, &w.spec.Faults
	switch d.Phase {
	case phaseSetup:
		for i := range d.Nodes {
			if s := &d.Nodes[i]; len(w.spec.Nodes[i].Command) > 0 && w.spec.Nodes[i].Role == world.Server && !s.Healthy && s.Status != ended {
				return nil
			}
		}
		w.enter(phaseChaos)
		d.ChaosEnd = w.spec.MaxTimeNs - max(f.SettleNs, w.patience()) - min(int64(1e9), w.spec.MaxTimeNs/10)
		d.ChaosEnd = max(d.ChaosEnd, now+(w.spec.MaxTimeNs-now)/2) // where time is short, half of it
		if f.StopNs > 0 {
			d.ChaosEnd = min(d.ChaosEnd, now+f.StopNs)
		}
		d.ChaosEnd = max(d.ChaosEnd, now+1)
		d.Plan.Begin()
		d.NextStep = now + f.StartNs
		if len(d.Plan.Rules) == 0 {
			d.NextStep = never
		}
		w.setRates()
		for i := range w.spec.Properties {
			if p := &w.spec.Properties[i]; probes(p) && p.Kind != world.Liveness {
				d.Probes[i].NextNs = now
			}
		}
		return w.startDrivers()
	case phaseChaos:
		if now < d.ChaosEnd && (d.Drivers > 0 || len(w.spec.Workloads) == 0 && !d.allEnded()) {
			return nil
		}
		d.ChaosEnd, d.NextStep = never, never
		active := d.Plan.Heal(now)
		if err := w.undo(active); err != nil {
			return err
		}
		hurt := len(active) > 0 || w.packetFaults()
		w.setRates()
		w.enter(phaseSettle)
		if hurt || d.Healed == 0 { // else the last heal still counts
			w.healed(now)
		}
		d.SettleEnd = now + max(f.SettleNs, 1)
	case phaseSettle:
		if now < d.SettleEnd {
			return nil
		}
		for i := range d.Probes { // liveness has its whole timeout
			p := &w.spec.Properties[i]
			if d.Probes[i].Heal != 0 && !d.Probes[i].Proven && now < d.Probes[i].Heal+timeoutOf(p) {
				d.SettleEnd = d.Probes[i].Heal + timeoutOf(p)
				return nil
			}
		}
		if d.Drivers > 0 && now < w.spec.MaxTimeNs-int64(1e9) {
			d.SettleEnd = min(now+int64(1e9), w.spec.MaxTimeNs-int64(1e9))
			return nil
		}
		d.SettleEnd = never
		w.enter(phaseFinal)
		for i := range w.spec.Properties {
			if p := &w.spec.Properties[i]; probes(p) && p.Kind != world.Liveness {
				d.Probes[i].NextNs = now
			}
		}
		return w.probe(now)
	case phaseFinal:
		for i := range d.Probes {
			if d.Probes[i].Running || d.Probes[i].NextNs != never {
				return nil
			}
		}
		w.enter(phaseOver)
	}
	return nil
}

// allEnded reports whether every main process is over for good: then there is nothing to wait for.
func (d *director) allEnded() bool {
	for i := range d.Nodes {
		if s := &d.Nodes[i]; s.Launches > 0 && s.Status != ended {
			return false
		}
	}
	return true
}

func (w *World) enter(phase string) {
	w.director.Phase = phase
	w.kernel.Happen("", "", "phase", 0, phase)
}

// patience is how long the slowest liveness property may take after the last heal.
func (w *World) patience() int64 {
	longest := int64(0)
	for i := range w.spec.Properties {
		if p := &w.spec.Properties[i]; probes(p) && p.Kind == world.Liveness {
			longest = max(longest, timeoutOf(p))
		}
	}
	return longest
}

func timeoutOf(p *world.Property) int64 {
	if p.TimeoutNs > 0 {
		return p.TimeoutNs
	}
	return int64(30e9)
}

// probe starts the checks that are due.
func (w *World) probe(now int64) error {
	d := w.director
	for i := range d.Probes {
		s, p := &d.Probes[i], &w.spec.Properties[i]
		if s.NextNs > now || s.Running {
			continue
		}
		s.NextNs = never
		if p.Kind == world.Liveness && (s.Heal == 0 || s.Proven) {
			continue
		}
		node := w.checker()
		if node < 0 {
			return fmt.Errorf("property %s: there is no client node to run its check on", p.Name)
		}
		argv, env := p.Check.Script, slices.Clone(w.spec.Nodes[node].Env)
		if p.Check.Type != world.Custom {
			argv = []string{w.options.Self, "driver", "probe"}
			text, err := json.Marshal(p.Check)
			if err != nil {
				return err
			}
			env = append(env, "BLOODHOUND_DRIVER="+string(text), "GOMAXPROCS=1")
		}
		env = append(env, "BLOODHOUND_PHASE="+d.Phase)
		s.Running = true
		if _, err := w.launch(job{Kind: jobProbe, Node: node, Index: i, Deadline: now + probeTimeoutNs, Heal: s.Heal}, argv, env, "check", "check"); err != nil {
			return err
		}
	}
	return nil
}

// checker is the node that probes run on: a client that no fault touches.
func (w *World) checker() int {
	found := -1
	for i := range w.spec.Nodes {
		if w.spec.Nodes[i].Role == world.Checker {
			return i
		}
		if w.spec.Nodes[i].Role == world.Client && found < 0 {
			found = i
		}
	}
	return found
}

// probed takes in the result of a check.
func (w *World) probed(j *job, n *kernel.Notice) {
	d := w.director
	s, p := &d.Probes[j.Index], &w.spec.Properties[j.Index]
	s.Running = false
	code := n.Status >> 8
	if n.Status&0x7f != 0 {
		code = 128 + n.Status&0x7f
	}
	w.outcome.Probes = append(w.outcome.Probes, engine.Probe{Property: p.Name, Phase: j.Phase, Event: n.Event, StartNs: j.StartNs, EndNs: n.TimeNs,
		AfterHealNs: j.Heal, ExitCode: code, Output: strings.Join(d.LogTail[n.Tag], "\n")})
	delete(d.LogTail, n.Tag)
	interval := p.Check.IntervalNs
	if interval <= 0 {
		interval = int64(1e9)
	}
	switch {
	case p.Kind == world.Liveness:
		if code == 0 && j.Heal == s.Heal {
			s.Proven = true
		}
		if s.Heal != 0 && !s.Proven {
			s.NextNs = w.kernel.Now + interval
			if d.Phase == phaseFinal {
				s.NextNs = never
			}
		}
	case d.Phase == phaseChaos || d.Phase == phaseSettle:
		s.NextNs = w.kernel.Now + interval
	case d.Phase == phaseFinal && j.Phase != phaseFinal:
		s.NextNs = w.kernel.Now
	}
}
