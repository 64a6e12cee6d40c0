//go:build linux && amd64

package native

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

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
	Hooks     int    // commands of post_start that are over
	Hook      int64  // the tag of the one that runs, 0 for none
	Sick      string // what the last health check that failed said
	Restarts  int
	ExitCode  int
	Losses    int   // of power
	DownBy    int   // the fault that has taken it down
	KillNs    int64 // when its memory is out, 0 for never
	StopBy    int   // the fault that has told it to stop, until it is down; 0 is none
	GraceNs   int64 // when it is killed if it has not stopped
	Healed    bool  // that fault is over: it starts as soon as it is down
	Up        bool  // it has come up once: see upNs
	Mains     int   // how often its main process was started
	Alike     int   // how often that has ended in the same way, up to now
	Life      uint64
	LifeCode  int
	Said      string // the last line of the main process that ended last
	Stuck     string // why it can never come up
	// Absent are names that its programs have looked for in vain in folders that begin empty.
	Absent []string
}

// downBy tells whether a fault has taken the node down and nothing has started it since.
func (s *nodeState) downBy(fault int) bool { return s.Status == crashed && s.DownBy == fault }

type status uint8

const (
	waiting status = iota // for its dependencies
	running
	ended   // by itself
	crashed // or stopped, by a fault
	resting // waits for its restart
)

type jobKind uint8

const (
	jobMain jobKind = iota + 1
	jobDriver
	jobHealth
	jobProbe
	jobRole
	jobRecovery // a driver that tries everything again after the last heal
	jobProber   // performs the probes that no script does
	jobHook     // a command of post_start
)

// asks tells whether a job only asks how a node is: it is no part of what is tested.
func (k jobKind) asks() bool {
	return k == jobHealth || k == jobProbe || k == jobRole || k == jobProber
}

// job is a program that the director started.
type job struct {
	Kind     jobKind
	Node     int
	Index    int           // of the workload or property
	Proc     kernel.ProcID // 0 for what a prober does
	Prober   int64         // the tag of the prober that does it, 0 for none
	StartNs  int64
	Deadline int64 // when it is killed, never if not
	Heal     int64
	Phase    string
	Reported bool // it, or what it started, wrote to its report
}

// startNodes starts every node whose dependencies are there, also those that the others of this moment are.
func (w *World) startNodes() error {
	d := w.director
	for again := true; again; {
		again = false
		for i := range d.Nodes {
			n := &w.spec.Nodes[i]
			if d.Nodes[i].Status != waiting || len(n.Command) == 0 || !w.dependenciesMet(n) {
				continue
			}
			if err := w.startMain(i); err != nil {
				return err
			}
			again = true
		}
	}
	return nil
}

func (w *World) dependenciesMet(n *world.Node) bool {
	for i := range n.DependsOn {
		if !w.met(&n.DependsOn[i]) {
			return false
		}
	}
	return true
}

func (w *World) met(dep *world.Dependency) bool {
	id := w.nodeID(dep.Node)
	if id < 0 {
		return true
	}
	s := &w.director.Nodes[id]
	if dep.Condition != world.Completed && w.hooking(int(id)) {
		return false
	}
	switch dep.Condition {
	case world.Healthy:
		return s.Healthy
	case world.Completed:
		return s.Status == ended && s.ExitCode == 0
	}
	return s.Launches > 0
}

func (w *World) startMain(i int) error {
	d, n := w.director, &w.spec.Nodes[i]
	s := &d.Nodes[i]
	if s.Launches == 0 {
		if err := w.inheritVolumes(i); err != nil {
			return err
		}
	}
	p, err := w.launch(job{Kind: jobMain, Node: i, Deadline: never}, n.Command, n.Env, "stdout", "stderr")
	if err != nil && w.vanished(i, n.Command, err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Mains++
	w.born(i, p)
	defer w.settleFelt()
	s.Status, s.Main, s.StartedNs, s.Fails = running, p.ID, w.kernel.Now, 0
	s.Healthy = n.Health == nil
	s.NextNs = never
	if n.Health != nil {
		s.NextNs = w.kernel.Now + firstCheck(n.Health)
	}
	return w.startHook(i)
}

// hooking tells whether a node that runs has commands of post_start that are not over.
func (w *World) hooking(i int) bool {
	s := &w.director.Nodes[i]
	return s.Status == running && s.Hooks < len(w.spec.Nodes[i].PostStart)
}

// startHook starts the next command of a node's post_start, if there is one.
func (w *World) startHook(i int) error {
	s := &w.director.Nodes[i]
	if !w.hooking(i) || s.Hook != 0 {
		return nil
	}
	as, h := w.spec.Nodes[i], &w.spec.Nodes[i].PostStart[s.Hooks]
	as.User, as.WorkingDir = cmp.Or(h.User, as.User), cmp.Or(h.WorkingDir, as.WorkingDir)
	p, err := w.launchAs(&as, job{Kind: jobHook, Node: i, Index: s.Hooks, Deadline: never}, h.Command, h.Env, "post_start", "post_start")
	var start *kernel.StartError
	if errors.As(err, &start) {
		w.hookFailed(i, "could not start: "+start.Error())
		return nil
	}
	if err != nil {
		return err
	}
	s.Hook = p.Tag
	return nil
}

// hookFailed keeps that a node can never come up, since the command of its post_start that is next fails.
func (w *World) hookFailed(i int, how string) {
	s, n := &w.director.Nodes[i], &w.spec.Nodes[i]
	w.director.Stuck = true
	s.Stuck = fmt.Sprintf("%s never comes up: %s of its post_start %s", n.Name, n.PostStart[s.Hooks].Command[0], how)
}

// hooked takes in the end of a command of post_start. One that a fault or the end of its node has ended begins again with the node.
func (w *World) hooked(n *kernel.Notice, j *job) error {
	s := &w.director.Nodes[j.Node]
	tail := w.director.LogTail[n.Tag]
	delete(w.director.LogTail, n.Tag)
	if s.Hook != n.Tag {
		return nil
	}
	s.Hook = 0
	switch {
	case n.ByFault || s.Status != running:
		return nil
	case n.Status != 0:
		w.hookFailed(j.Node, "ended with "+sickness(n.Status, tail))
		return nil
	}
	s.Hooks++
	if err := w.startHook(j.Node); err != nil {
		return err
	}
	return w.startNodes()
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
	return w.launchAs(&w.spec.Nodes[j.Node], j, argv, env, stdout, stderr)
}

// launchAs starts a program with the user and the working directory of n, which is the job's node but for them.
func (w *World) launchAs(n *world.Node, j job, argv, env []string, stdout, stderr string) (*kernel.Proc, error) {
	d := w.director
	s := &d.Nodes[j.Node]
	j.StartNs, j.Phase = w.kernel.Now, d.Phase
	d.Jobs = append(d.Jobs, j)
	tag := int64(len(d.Jobs))
	cred, err := w.credentials(kernel.NodeID(j.Node), n)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	dir := n.WorkingDir
	if dir == "" {
		dir = "/"
	}
	l := kernel.Launch{Node: kernel.NodeID(j.Node), Name: fmt.Sprint(s.Launches), Argv: argv, Env: w.environment(n, env),
		Dir: dir, User: cred, Tag: tag, Stdout: stdout, Stderr: stderr, Bounded: j.Kind == jobProbe || j.Kind == jobProber, Ordered: j.Kind == jobProber, OOMAdj: n.Bounds.OOMScoreAdj, Main: j.Kind == jobMain, Rlimits: n.Bounds.Rlimits}
	if j.Kind.asks() {
		l.MostOutput = maxCheckOutput
	}
	if argv[0] == kernel.Self {
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
	all := []string{"PATH=" + defaultPath, "HOME=/root", "HOSTNAME=" + n.Hostname, "TZ=UTC",
		// A program that binds its functions as they are first called has the dynamic linker stop at each.
		"LD_BIND_NOW=1",
		"ANTITHESIS_SDK_LOCAL_OUTPUT=" + kernel.SDKPath, "ANTITHESIS_OUTPUT_DIR=" + kernel.SDKDir}
	if w.options.Self != "" {
		all = append(all, "ANTITHESIS_STOP_FAULTS="+kernel.StopFaults)
	}
	for _, kv := range all {
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

func (w *World) healthChecked(i int, n *kernel.Notice) error {
	s, h := &w.director.Nodes[i], w.spec.Nodes[i].Health
	tail := w.director.LogTail[n.Tag]
	delete(w.director.LogTail, n.Tag)
	s.Checking = false
	if s.Status != running {
		return nil
	}
	interval := max(h.IntervalNs, 1)
	s.Sick = ""
	if n.Status == 0 {
		s.Fails, s.Healthy, s.Up = 0, true, true
	} else {
		s.Sick = sickness(n.Status, tail)
		s.Fails++
		if w.kernel.Now-s.StartedNs >= h.StartPeriodNs && s.Fails >= max(h.Retries, 1) {
			s.Healthy = false
		}
	}
	if !s.Healthy && h.StartIntervalNs > 0 && w.kernel.Now-s.StartedNs < h.StartPeriodNs {
		interval = h.StartIntervalNs
	}
	s.NextNs = w.kernel.Now + interval
	return w.startNodes()
}

// sickness tells how a health check failed: its wait status, and the last line that it said.
func sickness(wait int, tail []string) string {
	how := fmt.Sprintf("exit code %d", wait>>8)
	switch sig := unix.Signal(wait & 0x7f); sig {
	case 0:
	case unix.SIGKILL:
		how = "its timeout"
	default:
		how = unix.SignalName(sig)
	}
	if len(tail) > 0 {
		how += ": " + tail[len(tail)-1]
	}
	return how
}

// awaited tells whether setup waits for a node.
func (w *World) awaited(i int) bool {
	n, s := &w.spec.Nodes[i], &w.director.Nodes[i]
	return len(n.Command) > 0 && n.Role == world.Server && (!s.Healthy || w.hooking(i)) && s.Status != ended
}

// unready names what setup waits for.
func (w *World) unready() string {
	var all []string
	for i := range w.spec.Nodes {
		n, s := &w.spec.Nodes[i], &w.director.Nodes[i]
		switch {
		case !w.awaited(i):
		case s.Status == waiting:
			all = append(all, n.Name+" "+w.unstarted(n))
		case w.hooking(i):
			all = append(all, fmt.Sprintf("%s had not ended %s of its post_start", n.Name, n.PostStart[s.Hooks].Command[0]))
		case s.Sick != "":
			all = append(all, n.Name+" was not healthy, its last healthcheck ended with "+s.Sick)
		case s.Status == resting:
			all = append(all, fmt.Sprintf("%s had ended with exit code %d%s and was to start again", n.Name, s.ExitCode, saying(s.Said)))
		default:
			all = append(all, n.Name+" was not healthy, no healthcheck of it ended")
		}
	}
	return strings.Join(all, "; ")
}

// unstarted tells why a node has not started: the first of its dependencies that can never be met, or else all that are not yet.
func (w *World) unstarted(n *world.Node) string {
	var missing []string
	for i := range n.DependsOn {
		dep := &n.DependsOn[i]
		if w.met(dep) {
			continue
		}
		switch s := &w.director.Nodes[w.nodeID(dep.Node)]; {
		case dep.Condition == world.Completed && s.Status == ended:
			return fmt.Sprintf("never starts: it depends on %s to complete successfully, and %s ended with exit code %d", dep.Node, dep.Node, s.ExitCode)
		case dep.Condition == world.Healthy && s.Status == ended:
			return fmt.Sprintf("never starts: it depends on %s to be healthy, and %s ended with exit code %d", dep.Node, dep.Node, s.ExitCode)
		case dep.Condition == world.Completed && s.Restarts > 0:
			missing = append(missing, fmt.Sprintf("%s to complete successfully, which last ended with exit code %d and is started again", dep.Node, s.ExitCode))
		case dep.Condition == world.Completed:
			missing = append(missing, dep.Node+" to complete")
		case dep.Condition == world.Healthy:
			missing = append(missing, dep.Node+" to be healthy")
		default:
			missing = append(missing, dep.Node+" to start")
		}
	}
	return "waited for " + strings.Join(missing, " and for ")
}

// startDrivers begins the workload.
func (w *World) startDrivers() error {
	for i := range w.spec.Workloads {
		l := &w.spec.Workloads[i]
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if err := w.startDriver(jobDriver, i, l, string(text)); err != nil {
			return err
		}
		if l.Driver == "composer" { // its first command runs without faults, if it has one
			w.director.Quiet.hold(int64(len(w.director.Jobs)))
		}
	}
	return nil
}

// startDriver starts the driver of the i-th workload; text is what one that comes with Bloodhound is to do.
func (w *World) startDriver(kind jobKind, i int, l *world.Workload, text string) error {
	node := w.nodeID(l.Node)
	argv, env := l.Command, slices.Clone(l.Env)
	if l.Driver == "command" && len(l.Skip) > 0 {
		skip, err := json.Marshal(l.Skip)
		if err != nil {
			return err
		}
		env = append(env, "BLOODHOUND_SKIP="+string(skip))
	}
	if l.Driver != "command" {
		argv = []string{kernel.Self, "driver", l.Driver}
		env = append(env, "BLOODHOUND_DRIVER="+text, "GOMAXPROCS=1", "GOGC=400")
	}
	env = append(env, "BLOODHOUND_REPORT="+kernel.ReportPath)
	if _, err := w.launch(job{Kind: kind, Node: int(node), Index: i, Deadline: never}, argv, append(slices.Clone(w.spec.Nodes[node].Env), env...), "stdout", "stderr"); err != nil {
		return err
	}
	w.director.Drivers++
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
		d.Quiet.release(n.Tag)
		l := &w.spec.Workloads[j.Index]
		end := engine.DriverEnd{Workload: l.Name, TimeNs: n.TimeNs, ExitCode: n.Status >> 8, Silent: l.Driver == "command" && !j.Reported}
		if sig := n.Status & 0x7f; sig != 0 {
			end.Signal = unix.SignalName(unix.Signal(sig))
		}
		if tail := d.LogTail[n.Tag]; n.Status != 0 && len(tail) > 0 {
			end.Said = tail[len(tail)-1]
		}
		end.Hidden = w.hidden(j.Node)
		w.outcome.Drivers = append(w.outcome.Drivers, end)
	case jobRecovery:
		d.Drivers--
		if n.Status != 0 {
			w.outcome.Warnings = append(w.outcome.Warnings, "the driver that tries everything again after the last heal failed")
		}
	case jobHealth:
		return w.healthChecked(j.Node, n)
	case jobHook:
		w.crash(n, j, false)
		return w.hooked(n, j)
	case jobProbe:
		w.probed(j, n)
	case jobRole:
		w.roleAsked(j, n)
	case jobProber:
		return w.proberEnded(n)
	}
	return nil
}

func (w *World) mainEnded(n *kernel.Notice, j *job) error {
	d := w.director
	s, spec := &d.Nodes[j.Node], &w.spec.Nodes[j.Node]
	if s.StopBy != 0 && s.Main == n.Proc {
		return w.obeyed(n, j)
	}
	if n.ByFault || s.Status == crashed || s.Main != n.Proc {
		return nil
	}
	code := n.Status >> 8
	if sig := n.Status & 0x7f; sig != 0 {
		code = 128 + sig
	}
	s.Status, s.ExitCode, s.Healthy, s.NextNs = ended, code, false, never
	delete(d.Roles, spec.Name)
	w.roleChanged(spec.Name)
	if spec.Image != nil || spec.Init != world.OwnInit { // a container's first process takes all others with it (pid_namespaces(7))
		w.kernel.KillNode(kernel.NodeID(j.Node))
	}
	w.probeSoon()
	w.crash(n, j, true)
	w.lived(n, j.Node, code)
	w.restarts(j.Node, code)
	return w.startNodes()
}

// restarts plans the next start of a node whose main process has ended with an exit code, if its policy wants one.
func (w *World) restarts(i, code int) bool {
	s, policy := &w.director.Nodes[i], &w.spec.Nodes[i].Restart
	switch policy.Mode {
	case world.RestartAlways, world.RestartUnlessStopped:
	case world.RestartOnFailure:
		if code == 0 || policy.MaxRetries > 0 && s.Restarts >= policy.MaxRetries {
			return false
		}
	default:
		return false
	}
	s.Restarts++
	delay := max(policy.DelayNs, int64(100e6)) << min(s.Restarts-1, 9) // Docker doubles from 100 ms to a minute
	s.Status, s.NextNs = resting, w.kernel.Now+min(delay, int64(60e9))
	return true
}
