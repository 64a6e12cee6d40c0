package director

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// NodeState is how far a node is.
type NodeState struct {
	Status    Status
	Main      int64
	Launches  int
	Healthy   bool
	Fails     int // health checks that failed in a row
	StartedNs int64
	ReadyNs   int64 // when it was ready for the first time since then, 0 if it has not been
	Listening []int // the ports that the configuration names and that it listens on, as long as it is not ready
	WasReady  bool  // once in the run
	NextNs    int64 // when to start (again), or to check its health; never if not planned
	Checking  bool
	Hooks     int    // commands of post_start that are over
	Hook      int64  // the tag of the one that runs, 0 for none
	Sick      string // what the last health check that failed said
	Restarts  int
	ExitCode  int
	Losses    int   // of power
	DownBy    int   // the fault that has taken it down
	LeakBy    int   // the fault that takes its memory
	KillNs    int64 // when its memory is out, 0 for never
	StopBy    int   // the fault that has ordered it to stop, until it is down; 0 is none
	GraceNs   int64 // when it is killed if it has not stopped
	Healed    bool  // that fault is over: it starts as soon as it is down
	Step      int   // how many releases later it starts again after that fault; 0: the tape chooses
	RestoreNs int64 // when its snapshot is restored, 0 for never
	RestoreBy int   // the fault that has taken the snapshot
	Replaced  bool  // its machine was replaced, and it has not been ready since
	Up        bool  // it has come up once: see upNs
	Release   int   // which of the node's releases runs, from 1 on; 0 is its command
	Mains     int   // how often its main process was started
	Alike     int   // how often that has ended in the same way, up to now
	Life      uint64
	LifeCode  int
	Said      string // the last lines of the main process that ended last
	SaidLines []string
	EndedNs   int64  // when its main process ended by itself for the first time, 0 if it has not
	Stuck     string // why it can never come up
}

// downBy reports whether a fault has taken the node down and nothing has started it since.
func (s *NodeState) downBy(fault int) bool { return s.Status == Crashed && s.DownBy == fault }

// Status is the state of a node.
type Status uint8

const (
	Waiting Status = iota // for its dependencies
	Running
	Ended   // by itself
	Crashed // or stopped, by a fault
	Resting // waits for its restart
)

// String is a word for what a node is doing.
func (s Status) String() string {
	return [...]string{"waits for its dependencies", "runs", "has ended", "down", "waits for its restart"}[s]
}

// word names a status in records.
func (s Status) word() string {
	return [...]string{"waiting", "running", "ended", "down", "restarting"}[s]
}

// JobKind is the purpose of a program that the Director started.
type JobKind uint8

const (
	JobMain JobKind = iota + 1
	JobDriver
	JobHealth
	JobProbe
	JobRole
	JobRecovery // a driver that tries everything again after the last heal
	JobProber   // performs the probes that no script does
	JobHook     // a command of post_start
	JobOperator // the command of a fault of kind run
)

// Asks reports whether a job only asks how a node is: it is no part of what is tested.
func (k JobKind) Asks() bool {
	return k == JobHealth || k == JobProbe || k == JobRole || k == JobProber
}

// Job is a program that the Director started.
type Job struct {
	Kind     JobKind
	Node     int
	Index    int   // of the workload or property; the ID of the fault that runs a command
	Proc     int64 // 0 for what a prober does
	Prober   int64 // the tag of the prober that does it, 0 for none
	StartNs  int64
	Deadline int64 // when it is killed, never if not
	Heal     int64
	Phase    string
	Reported bool // it, or what it started, wrote to its report
}

// startNodes starts every node whose dependencies are there, also those that the others of this moment are.
func (d *Director) startNodes() error {
	for again := true; again; {
		again = false
		for i := range d.Nodes {
			n := &d.spec.Nodes[i]
			if d.Nodes[i].Status != Waiting || len(n.Command) == 0 || d.inProcess && n.Role != world.Server || !d.dependenciesMet(n) {
				continue
			}
			if err := d.startMain(i); err != nil {
				return err
			}
			again = true
		}
	}
	return nil
}

func (d *Director) dependenciesMet(n *world.Node) bool {
	for i := range n.DependsOn {
		if !d.isMet(&n.DependsOn[i]) {
			return false
		}
	}
	return true
}

func (d *Director) isMet(dep *world.Dependency) bool {
	id := d.nodeID(dep.Node)
	if id < 0 {
		return true
	}
	s := &d.Nodes[id]
	if dep.Condition != world.Completed && d.hooking(id) {
		return false
	}
	switch dep.Condition {
	case world.Healthy:
		return s.Healthy
	case world.Completed:
		return s.Status == Ended && s.ExitCode == 0
	}
	return s.Launches > 0
}

func (d *Director) startMain(i int) error {
	n, s := &d.spec.Nodes[i], &d.Nodes[i]
	command := n.Command
	if s.Release > 0 {
		command = n.Releases[s.Release-1]
	}
	if s.Replaced && len(n.Replacement) > 0 {
		command = n.Replacement
	}
	tag, err := d.launchAs(&Launch{As: n, Argv: command, Env: n.Env, Stdout: "stdout", Stderr: "stderr", KeepDisk: d.keepsDisk(i)},
		Job{Kind: JobMain, Node: i, Deadline: never})
	if err != nil && d.vanished(i, command, err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Mains++
	d.born(i, tag)
	defer d.settleFelt()
	s.Status, s.Main, s.StartedNs, s.Fails = Running, d.Jobs[tag-1].Proc, d.act.Now(), 0
	s.Healthy = n.Health == nil
	d.upAgain(i)
	d.awaitReady(i)
	s.NextNs = never
	if n.Health != nil {
		s.NextNs = d.act.Now() + firstCheck(n.Health)
	}
	return d.startHook(i)
}

// hooking reports whether a node that runs has commands of post_start that are not over.
func (d *Director) hooking(i int) bool {
	s := &d.Nodes[i]
	return s.Status == Running && s.Hooks < len(d.spec.Nodes[i].PostStart)
}

// startHook starts the next command of a node's post_start, if there is one.
func (d *Director) startHook(i int) error {
	s := &d.Nodes[i]
	if !d.hooking(i) || s.Hook != 0 {
		return nil
	}
	as, h := d.spec.Nodes[i], &d.spec.Nodes[i].PostStart[s.Hooks]
	as.User, as.WorkingDir = cmp.Or(h.User, as.User), cmp.Or(h.WorkingDir, as.WorkingDir)
	tag, err := d.launch(&as, Job{Kind: JobHook, Node: i, Index: s.Hooks, Deadline: never}, h.Command, h.Env, "post_start", "post_start")
	var start *StartError
	if errors.As(err, &start) {
		d.hookFailed(i, "could not start: "+start.Error())
		return nil
	}
	if err != nil {
		return err
	}
	s.Hook = tag
	return nil
}

// hookFailed keeps that a node can never come up, since the command of its post_start that is next fails.
func (d *Director) hookFailed(i int, how string) {
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	d.Stuck = true
	s.Stuck = fmt.Sprintf("%s never comes up: %s of its post_start %s", n.Name, n.PostStart[s.Hooks].Command[0], how)
}

// hooked takes in the end of a command of post_start. One that a fault or the end of its node has ended begins again with the node.
func (d *Director) hooked(n *Notice, j *Job) error {
	s := &d.Nodes[j.Node]
	tail := d.LogTail[n.Tag]
	d.forgetLog(n.Tag)
	if s.Hook != n.Tag {
		return nil
	}
	s.Hook = 0
	switch {
	case n.ByFault || s.Status != Running:
		return nil
	case n.Status != 0:
		d.hookFailed(j.Node, "ended with "+sickness(n.Status, tail))
		return nil
	}
	s.Hooks++
	if err := d.startHook(j.Node); err != nil {
		return err
	}
	return d.startNodes()
}

func firstCheck(h *world.Healthcheck) int64 {
	if h.StartPeriodNs > 0 && h.StartIntervalNs > 0 {
		return h.StartIntervalNs
	}
	return max(h.IntervalNs, 1)
}

// launch starts a program as a job, with the user and the working directory of as, which is the job's node but for them.
func (d *Director) launch(as *world.Node, j Job, argv, env []string, stdout, stderr string) (tag int64, err error) {
	return d.launchAs(&Launch{As: as, Argv: argv, Env: env, Stdout: stdout, Stderr: stderr}, j)
}

func (d *Director) launchAs(l *Launch, j Job) (tag int64, err error) {
	s := &d.Nodes[j.Node]
	j.StartNs, j.Phase = d.act.Now(), d.Phase
	d.Jobs = append(d.Jobs, j)
	tag = int64(len(d.Jobs))
	l.Node, l.Kind, l.Tag, l.Number = j.Node, j.Kind, tag, s.Launches
	proc, err := d.act.Launch(l)
	if err != nil {
		return 0, fmt.Errorf("node %s: %w", d.spec.Nodes[j.Node].Name, err)
	}
	s.Launches++
	d.Jobs[tag-1].Proc = proc
	if j.Deadline != never {
		d.Live = append(d.Live, int(tag-1))
	}
	return tag, nil
}

func (d *Director) checkHealth(i int) error {
	s, h := &d.Nodes[i], d.spec.Nodes[i].Health
	if s.Checking {
		return nil
	}
	timeout := h.TimeoutNs
	if timeout <= 0 {
		timeout = probeTimeoutNs
	}
	s.Checking = true
	_, err := d.launch(&d.spec.Nodes[i], Job{Kind: JobHealth, Node: i, Deadline: d.act.Now() + timeout}, h.Command,
		d.spec.Nodes[i].Env, "healthcheck", "healthcheck")
	return err
}

func (d *Director) healthChecked(i int, n *Notice) error {
	s, h := &d.Nodes[i], d.spec.Nodes[i].Health
	tail := d.LogTail[n.Tag]
	d.forgetLog(n.Tag)
	s.Checking = false
	if s.Status != Running {
		return nil
	}
	interval := max(h.IntervalNs, 1)
	s.Sick = ""
	if n.Status == 0 {
		s.Fails, s.Healthy, s.Up = 0, true, true
		d.becameReady(i, d.act.Now())
	} else {
		s.Sick = sickness(n.Status, tail)
		s.Fails++
		if d.act.Now()-s.StartedNs >= h.StartPeriodNs && s.Fails >= max(h.Retries, 1) {
			s.Healthy = false
		}
	}
	if !s.Healthy && h.StartIntervalNs > 0 && d.act.Now()-s.StartedNs < h.StartPeriodNs {
		interval = h.StartIntervalNs
	}
	s.NextNs = d.act.Now() + interval
	return d.startNodes()
}

// sickness reports how a health check failed: its wait status, and the last line that it said.
func sickness(wait int, tail []string) string {
	how := fmt.Sprintf("exit code %d", wait>>8)
	switch sig := wait & 0x7f; sig {
	case 0:
	case sigKill:
		how = "its timeout"
	default:
		how = world.SignalName(sig)
	}
	if len(tail) > 0 {
		how += ": " + tail[len(tail)-1]
	}
	return how
}

// awaited reports whether setup waits for a node.
func (d *Director) awaited(i int) bool {
	n, s := &d.spec.Nodes[i], &d.Nodes[i]
	return len(n.Command) > 0 && n.Role == world.Server && (!s.Healthy || d.hooking(i)) && s.Status != Ended
}

// unready names what setup waits for.
func (d *Director) unready() string {
	var all []string
	for i := range d.spec.Nodes {
		n, s := &d.spec.Nodes[i], &d.Nodes[i]
		switch {
		case !d.awaited(i):
		case s.Status == Waiting:
			all = append(all, n.Name+" "+d.unstarted(n))
		case d.hooking(i):
			all = append(all, fmt.Sprintf("%s had not ended %s of its post_start", n.Name, n.PostStart[s.Hooks].Command[0]))
		case s.Sick != "":
			all = append(all, n.Name+" was not healthy, its last healthcheck ended with "+s.Sick)
		case s.Status == Resting:
			all = append(all, fmt.Sprintf("%s had ended with exit code %d%s and was to start again", n.Name, s.ExitCode, saying(s.Said)))
		default:
			all = append(all, n.Name+" was not healthy, no healthcheck of it ended")
		}
	}
	return strings.Join(all, "; ")
}

// unstarted reports why a node has not started: the first of its dependencies that can never be met, or else all that are not yet.
func (d *Director) unstarted(n *world.Node) string {
	var missing []string
	for i := range n.DependsOn {
		dep := &n.DependsOn[i]
		if d.isMet(dep) {
			continue
		}
		switch s := &d.Nodes[d.nodeID(dep.Node)]; {
		case dep.Condition == world.Completed && s.Status == Ended:
			return fmt.Sprintf("never starts: it depends on %s to complete successfully, and %s ended with exit code %d", dep.Node, dep.Node, s.ExitCode)
		case dep.Condition == world.Healthy && s.Status == Ended:
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

// ownStartNs is how long setup waits for programs of Bloodhound's own, which are started when all servers are up: they need a few ms.
const ownStartNs = 20e6

// awaitsOwn starts the drivers that come with Bloodhound, and the prober, and reports whether setup waits for them. They then wait for
// orders, so that all runs whose setup is the same can begin behind their start.
func (d *Director) awaitsOwn(now int64) (bool, error) {
	if d.OwnReadyNs == 0 {
		d.OwnReadyNs = now
		if started, err := d.startOwn(); err != nil {
			return true, err
		} else if started {
			d.OwnReadyNs += min(ownStartNs, d.spec.MaxTimeNs/100)
		}
	}
	d.SetupLook = d.OwnReadyNs
	return now < d.OwnReadyNs, nil
}

func (d *Director) startOwn() (started bool, err error) {
	if d.inProcess {
		return false, nil
	}
	d.Waiting = make([]int64, len(d.spec.Workloads))
	for i := range d.spec.Workloads {
		if l := d.spec.Workloads[i]; l.Driver != "command" { // a copy: what it skips comes with its order
			l.Skip = nil
			if d.Waiting[i], err = d.startDriver(JobDriver, i, &l); err != nil {
				return started, err
			}
			started = true
		}
	}
	if node := Checker(d.spec); node >= 0 && d.asksProber() {
		started = true
		err = d.startProber(node)
	}
	return started, err
}

// beginWorkload has the drivers begin. In a world in process they are the clients.
func (d *Director) beginWorkload() error {
	if d.inProcess {
		for i := range d.spec.Nodes {
			if n := &d.spec.Nodes[i]; n.Role != world.Server && len(n.Command) > 0 {
				d.Drivers++
				if _, err := d.launch(n, Job{Kind: JobDriver, Node: i, Deadline: never}, n.Command, n.Env, "stdout", "stderr"); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i := range d.spec.Workloads {
		l := d.workload(i)
		if l.Driver == "command" {
			if _, err := d.startDriver(JobDriver, i, l); err != nil {
				return err
			}
			continue
		}
		if l.Driver == "composer" && d.act.Alive(d.Jobs[d.Waiting[i]-1].Proc) { // its first command runs without faults, if it has one
			d.Quiet.hold(d.Waiting[i])
		}
		if err := d.orderDriver(d.Waiting[i], l); err != nil {
			return err
		}
	}
	d.Waiting = nil
	return nil
}

// orderDriver has a driver that comes with Bloodhound begin. One that has ended takes no order, and its end is known.
func (d *Director) orderDriver(tag int64, l *world.Workload) error {
	text, err := json.Marshal(world.DriverOrder{Skip: l.Skip, Schedule: l.Schedule})
	if err != nil {
		return err
	}
	j := &d.Jobs[tag-1]
	d.act.Happen(d.spec.Nodes[j.Node].Name, "begin", tag, string(text))
	d.act.Order(j.Proc, append(text, '\n'))
	return nil
}

// startDriver starts the driver of the i-th workload, as l says. One that comes with Bloodhound waits for its order to begin.
func (d *Director) startDriver(kind JobKind, i int, l *world.Workload) (tag int64, err error) {
	node := d.nodeID(l.Node)
	argv, env := l.Command, slices.Clone(l.Env)
	if l.Driver == "command" && len(l.Skip) > 0 {
		skip, err := json.Marshal(l.Skip)
		if err != nil {
			return 0, err
		}
		env = append(env, "BLOODHOUND_SKIP="+string(skip))
	}
	own := l.Driver != "command"
	if own {
		begins := *l
		begins.Schedule = nil // its order has it: an environment is bounded
		text, err := json.Marshal(&begins)
		if err != nil {
			return 0, err
		}
		argv = []string{"driver", l.Driver}
		env = append(env, "BLOODHOUND_DRIVER="+string(text), "GOMAXPROCS=1", "GOGC=400")
	}
	n := &d.spec.Nodes[node]
	if tag, err = d.launchAs(&Launch{As: n, Own: own, Ordered: own || l.Announces, Argv: argv, Env: slices.Concat(n.Env, env),
		Stdout: "stdout", Stderr: "stderr"}, Job{Kind: kind, Node: node, Index: i, Deadline: never}); err != nil {
		return 0, err
	}
	d.Drivers++
	if kind == JobDriver {
		d.announced(tag, i)
	}
	return tag, nil
}

// Exited deals with the end of a process.
func (d *Director) Exited(n *Notice) error {
	if n.Tag == 0 {
		return nil
	}
	j := &d.Jobs[n.Tag-1]
	if j.Proc != n.Proc {
		d.crash(n, j, false) // a descendant: only a fatal signal matters
		return nil
	}
	d.Live = slices.DeleteFunc(d.Live, func(i int) bool { return i == int(n.Tag-1) })
	switch j.Kind {
	case JobMain:
		return d.mainEnded(n, j)
	case JobDriver:
		l := &d.spec.Workloads[j.Index]
		end := record.DriverEnd{Workload: l.Name, TimeNs: n.TimeNs, ExitCode: n.Status >> 8, Silent: l.Driver == "command" && !j.Reported}
		if sig := n.Status & 0x7f; sig != 0 {
			end.Signal = world.SignalName(sig)
		}
		if tail := d.LogTail[n.Tag]; n.Status != 0 && len(tail) > 0 {
			end.Said = tail[len(tail)-1]
		}
		end.Hidden = d.act.Hidden(j.Node)
		d.DriverEnded(n.Tag, end)
	case JobRecovery:
		d.Drivers--
		if n.Status != 0 {
			d.out.Warnings = append(d.out.Warnings, "the driver that tries everything again after the last heal failed")
		}
	case JobHealth:
		return d.healthChecked(j.Node, n)
	case JobHook:
		d.crash(n, j, false)
		return d.hooked(n, j)
	case JobOperator:
		d.crash(n, j, false)
		d.commandEnded(n, j)
	case JobProbe:
		d.probed(j, n, nil)
	case JobRole:
		d.roleAsked(j, n)
	case JobProber:
		return d.proberEnded(n)
	}
	return nil
}

// DriverEnded deals with the end of a driver.
func (d *Director) DriverEnded(tag int64, end record.DriverEnd) {
	d.Drivers--
	d.Quiet.release(tag)
	for i := range d.Announcers {
		if a := &d.Announcers[i]; a.Tag == tag {
			a.Over = true
		}
	}
	d.out.Drivers = append(d.out.Drivers, end)
	d.Due = 0
}

func (d *Director) mainEnded(n *Notice, j *Job) error {
	s, spec := &d.Nodes[j.Node], &d.spec.Nodes[j.Node]
	if s.Main == n.Proc {
		d.ranLong(j.Node, n.TimeNs)
	}
	if s.StopBy != 0 && s.Main == n.Proc {
		return d.obeyed(n, j)
	}
	if n.ByFault || s.Status == Crashed || s.Main != n.Proc {
		return nil
	}
	code := n.Status >> 8
	if sig := n.Status & 0x7f; sig != 0 {
		code = 128 + sig
	}
	s.Status, s.ExitCode, s.Healthy, s.NextNs = Ended, code, false, never
	d.forgetRoles(spec.Name)
	if spec.Image != nil || spec.Init != world.OwnInit { // a container's first process takes all others with it (pid_namespaces(7))
		d.act.KillNode(j.Node, nil)
	}
	d.probeSoon()
	d.crash(n, j, true)
	d.lived(n, j.Node, code)
	d.restarts(j.Node, code)
	return d.startNodes()
}

// restarts plans the next start of a node whose main process has ended with an exit code, if its policy wants one.
func (d *Director) restarts(i, code int) bool {
	s, policy := &d.Nodes[i], &d.spec.Nodes[i].Restart
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
	s.Status, s.NextNs = Resting, d.act.Now()+min(delay, int64(60e9))
	return true
}
