// Package world says what exists in a world: nodes, links, workload, properties and faults. It is plain data;
// what varies between two runs of one Spec is the tape.
package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Spec describes one world completely. It is stored in every failure file, so every part serialises to JSON.
type Spec struct {
	Name string `json:"name"`
	// Engine names the engine that runs it: Native, VM, Container or InProcess.
	Engine string `json:"engine,omitempty"`
	// RulesVersion is the version of the rules by which a tape makes a run of the Spec: see RulesNow.
	RulesVersion int `json:"rules_version,omitempty"`
	// Dir is the project's folder, absolute: relative paths of volumes, scripts and roots start here.
	Dir string `json:"dir"`
	// StartUnixNs is CLOCK_REALTIME at the start of a run, in nanoseconds since 1970.
	StartUnixNs int64 `json:"start_unix_ns"`
	// MaxTimeNs bounds virtual time.
	MaxTimeNs int64 `json:"max_time_ns"`
	// EndNs ends a run at this virtual time, if it is not 0, without the phases that would follow; a Cut sets it.
	EndNs int64 `json:"end_ns,omitempty"`
	// TimeStepNs is the interval at which faults with a probability per time are drawn.
	TimeStepNs int64 `json:"time_step_ns"`
	// SetupNs is how long setup waits for a program to say, by an SDK, that it is complete. 0 leaves it to the engine, which
	// waits where a program uses an SDK; a negative one does not wait.
	SetupNs int64  `json:"setup_ns,omitempty"`
	Cost    Cost   `json:"cost"`
	Limits  Limits `json:"limits"`
	Sched   Sched  `json:"sched"`

	Nodes []Node `json:"nodes"`
	// Networks are those that nodes are attached to. Without any, all nodes share one network.
	Networks    []Network  `json:"networks,omitempty"`
	DefaultLink Link       `json:"default_link"`
	Links       []Link     `json:"links,omitempty"`
	Workloads   []Workload `json:"workloads,omitempty"`
	Properties  []Property `json:"properties,omitempty"`
	// Guide follows each run in a specification and promises nothing: the states that runs reach there lead a search.
	Guide  *Mapping `json:"guide,omitempty"`
	Faults Faults   `json:"faults"`
	// Allow says how programs of all nodes may end by themselves; each has a Property.
	Allow []Allowance `json:"allow,omitempty"`
	// LogPatterns are counted over the logs of all nodes and shown in the report of a run.
	LogPatterns []LogPattern `json:"log_patterns,omitempty"`
	// Leaks re-enables sources of chance on purpose; only tests of the engine set it.
	Leaks []string `json:"leaks,omitempty"`
}

// Versions of the rules of runs. A Spec keeps its version in failure files, so that an old failure replays as it was recorded. One without a
// version has the rules before FairFaults.
const (
	// FairFaults spares a node until it has been ready once from faults that are drawn by a rate (FaultRule.FromStart).
	FairFaults = 1
	// RulesNow is the version of new Specs.
	RulesNow = FairFaults
)

// Engines.
const (
	Native    = ""          // programs of Linux
	VM        = "vm"        // whatever a Linux kernel runs, in one virtual machine
	Container = "container" // containers of Docker or Podman, in real time
	InProcess = "inproc"    // Go code of a test, which alone can run it
)

// UnderRules is the Spec as one of another version of the rules.
func (s *Spec) UnderRules(version int) *Spec {
	if s.RulesVersion == version {
		return s
	}
	other := *s
	other.RulesVersion = version
	if version < FairFaults { // which knew no ports
		other.Nodes = slices.Clone(s.Nodes)
		for i := range other.Nodes {
			other.Nodes[i].Ports = nil
		}
	}
	return &other
}

// Linked gives the question whether two nodes, by their names, share a network.
func (s *Spec) Linked() func(a, b string) bool {
	if len(s.Networks) == 0 {
		return func(a, b string) bool { return true }
	}
	on := map[string][]Attachment{}
	for i := range s.Nodes {
		on[s.Nodes[i].Name] = s.Nodes[i].Attachments
	}
	return func(a, b string) bool {
		return slices.ContainsFunc(on[a], func(x Attachment) bool {
			return slices.ContainsFunc(on[b], func(y Attachment) bool { return x.Network == y.Network })
		})
	}
}

// Cost sets how far virtual time advances per call, in nanoseconds. CPU work between two calls is free.
type Cost struct {
	CallNs      int64 `json:"call_ns"`           // per system call
	ClockReadNs int64 `json:"clock_read_ns"`     // per clock read or rdtsc
	SyncNs      int64 `json:"sync_ns,omitempty"` // per fsync and its kin
}

// Limits are named verdicts when reached, never hangs. 0 means the engine's default.
type Limits struct {
	Events      uint64 `json:"events,omitempty"`       // intercepted calls of a run
	WallMs      int64  `json:"wall_ms,omitempty"`      // real time of a run
	Threads     int    `json:"threads,omitempty"`      // threads alive at once, all nodes
	MemoryBytes int64  `json:"memory_bytes,omitempty"` // bytes in the files of each node
	SpinCPUMs   int64  `json:"spin_cpu_ms,omitempty"`  // CPU time of one thread without a system call
	// WorldBytes is the memory of the machine that the world takes: its processes, what they share, and the files that it has written.
	WorldBytes int64 `json:"world_bytes,omitempty"`
}

// Sched shapes the scheduler's draws.
type Sched struct {
	// PreemptPPM is the chance, in parts per million and per epoch of a thread (a number of its own system
	// calls), that the thread's priority changes in the middle of that epoch.
	PreemptPPM uint64 `json:"preempt_ppm"`
	// Blocks is how many blocks of the programs under test are watched at a time, at which a thread may be switched. 0 is none.
	Blocks int `json:"blocks,omitempty"`
	// SwitchPPM is the chance, in parts per million, that a thread which comes to such a block is switched there.
	SwitchPPM uint64 `json:"switch_ppm,omitempty"`
	// CPUs is how many CPUs programs see; 0 is 1. One thread runs at a time, however many there are.
	CPUs int `json:"cpus,omitempty"`
}

const (
	// HostRoot as Node.Root means the machine's own files, which stay as they are.
	HostRoot = "host"
	// NoRoot means a tree with nothing of the machine: what a run does is then the same on each.
	NoRoot = "none"
)

// HasMachineFiles reports whether the files of the machine lie underneath the node's tree.
func (n *Node) HasMachineFiles() bool { return n.Image == nil && (n.Root == HostRoot || n.Root == "") }

// Role of a node. Clients suffer no process, disk or clock fault; their links may.
type Role string

const (
	Server Role = "server"
	Client Role = "client"
	// Checker is a client that probes run on: no fault of any kind touches it or its links.
	Checker Role = "checker"
)

// Node is one machine with one main process.
type Node struct {
	Name     string   `json:"name"`
	Role     Role     `json:"role"`
	Hostname string   `json:"hostname"`
	Aliases  []string `json:"aliases,omitempty"` // further names that resolve to this node
	// IPv4 and IPv6 are the node's addresses on the one network, or those of its first attachment that has one.
	IPv4 string `json:"ipv4"`
	IPv6 string `json:"ipv6,omitempty"`
	// Attachments are the node's interfaces, in their order, where the Spec has Networks. Without any, it has loopback alone.
	Attachments []Attachment `json:"attachments,omitempty"`
	// NetworkOf is the node whose network it has in the place of one of its own: its interfaces, addresses, ports and loopback.
	NetworkOf  string `json:"network_of,omitempty"`
	DomainName string `json:"domain_name,omitempty"`
	// SearchDomains are put behind names that do not resolve.
	SearchDomains []string `json:"search_domains,omitempty"`
	// Root is HostRoot, NoRoot or an absolute folder. An Image goes before it.
	Root      string     `json:"root"`
	Image     *Image     `json:"image,omitempty"`
	Command   []string   `json:"command"`
	Releases  [][]string `json:"releases,omitempty"`  // commands of later releases of the program, the oldest first, of which a restart may bring one
	Downgrade bool       `json:"downgrade,omitempty"` // or an older one
	// Replacement is the command with which the node starts after the fault replace, until it is ready; without one it is Command.
	Replacement []string     `json:"replacement,omitempty"`
	Env         []string     `json:"env,omitempty"` // NAME=value, in order
	WorkingDir  string       `json:"working_dir"`
	User        string       `json:"user,omitempty"` // name, uid, name:group or uid:gid; empty is root
	Volumes     []Volume     `json:"volumes,omitempty"`
	ExtraHosts  []Host       `json:"extra_hosts,omitempty"`
	DependsOn   []Dependency `json:"depends_on,omitempty"`
	Health      *Healthcheck `json:"health,omitempty"`
	// Ports are the TCP ports that the configuration names for the node. One without a healthcheck is ready when it listens on all of them.
	Ports       []int       `json:"ports,omitempty"`
	PostStart   []Hook      `json:"post_start,omitempty"` // run once, in this order, when the main process has started for the first time
	Restart     Restart     `json:"restart"`
	StopSignal  string      `json:"stop_signal,omitempty"`   // the signal by which the fault restart stops the main process; empty is SIGTERM
	StopGraceNs int64       `json:"stop_grace_ns,omitempty"` // and how long it has for that
	Clock       Clock       `json:"clock"`
	Bounds      Bounds      `json:"bounds,omitzero"`
	Init        Init        `json:"init,omitempty"`
	ReadOnly    bool        `json:"read_only,omitempty"` // nothing but volumes and folders in memory can be written
	Allow       []Allowance `json:"allow,omitempty"`     // how its programs may end by themselves
	Groups      []string    `json:"groups,omitempty"`    // further groups of User, by name or number
	Sysctls     []Sysctl    `json:"sysctls,omitempty"`   // settings of its kernel, in order of names
}

// Init says what process 1 of a node is.
type Init string

const (
	// OwnInit is the init of a machine, which reaps orphans; the main process is one of many.
	OwnInit Init = ""
	// MainInit is the main process itself, as in a container: no signal without a handler ends it from inside
	// (pid_namespaces(7)), and orphans are its children.
	MainInit Init = "main"
	// SmallInit is the small init that Docker puts before the main process on demand: it reaps, and passes signals on.
	SmallInit Init = "small"
)

// Bounds limit the resources of a container's node. 0 is no bound.
type Bounds struct {
	// MemoryBytes bounds the memory of its processes together; beyond it the node's kernel kills the largest.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// OOMScoreAdj is the score with which its processes begin (proc_pid_oom_score_adj(5)).
	OOMScoreAdj int `json:"oom_score_adj,omitempty"`
	// Tasks is how many processes and threads it may have at once; beyond it programs get EAGAIN.
	Tasks int `json:"tasks,omitempty"`
	// CPUPPM is its share of a CPU, in parts per million: virtual time for a call grows as it shrinks.
	CPUPPM int64 `json:"cpu_ppm,omitempty"`
	// ShmBytes is the size of /dev/shm.
	ShmBytes int64 `json:"shm_bytes,omitempty"`
	// Rlimits are the limits with which its processes begin.
	Rlimits []Rlimit `json:"rlimits,omitempty"`
}

// Rlimit is a limit of getrlimit(2), by the name that Docker has for it, such as nofile. Unlimited is no bound.
type Rlimit struct {
	Name string `json:"name"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// Unlimited is RLIM_INFINITY.
const Unlimited = ^uint64(0)

// RlimitNames are the limits of getrlimit(2) that can be set, in the order of their numbers on Linux.
var RlimitNames = []string{"cpu", "fsize", "data", "stack", "core", "rss", "nproc", "nofile", "memlock", "as", "locks",
	"sigpending", "msgqueue", "nice", "rtprio", "rttime"}

// Network is a network of a world. Packets pass between nodes that share one.
type Network struct {
	Name string `json:"name"`
	// FullName is Docker's name for it. Names of nodes may end with either: web.front, web.shop_front.
	FullName string `json:"full_name,omitempty"`
	// Subnets, such as 10.77.1.0/24. An empty one: the network lacks this family.
	IPv4 string `json:"ipv4,omitempty"`
	IPv6 string `json:"ipv6,omitempty"`
	// Gateways are addresses that no node has.
	Gateway4 string `json:"gateway4,omitempty"`
	Gateway6 string `json:"gateway6,omitempty"`
	// Internal: it has no route to anywhere else.
	Internal bool `json:"internal,omitempty"`
}

// Attachment is an interface of a node.
type Attachment struct {
	Network   string   `json:"network"`
	Interface string   `json:"interface"` // its name, such as eth0
	IPv4      string   `json:"ipv4,omitempty"`
	IPv6      string   `json:"ipv6,omitempty"`
	MAC       string   `json:"mac,omitempty"`     // empty: made of the address
	Aliases   []string `json:"aliases,omitempty"` // names that resolve to the node on this network
	// Unnamed: the node's other names do not hold on this network.
	Unnamed bool `json:"unnamed,omitempty"`
	// GatewayPriority picks the interface of the default route, and the network that is asked first for a name: the highest
	// wins, then a network that is not internal, then the one whose FullName comes first.
	GatewayPriority int64 `json:"gateway_priority,omitempty"`
}

// Image is the container image that a node's files come from.
type Image struct {
	Name string `json:"name"` // as it was asked for
	ID   string `json:"id"`   // digest of its configuration, sha256:...: what the image is
}

// Clock is how a node sees time: real = start + offset + world time * (1 + drift).
type Clock struct {
	OffsetNs int64 `json:"offset_ns,omitempty"`
	DriftPPB int64 `json:"drift_ppb,omitempty"`
}

// Host is one line of a hosts file.
type Host struct {
	Name string `json:"name"`
	IP   string `json:"ip"`
}

// VolumeKind says where the content of a Volume comes from.
type VolumeKind string

const (
	Bind  VolumeKind = "bind"   // a folder or file of the project; writes stay in the world
	Tmpfs VolumeKind = "tmpfs"  // empty, lost at power loss
	Named VolumeKind = "volume" // empty at start, survives restarts
	File  VolumeKind = "file"   // one read-only file, whose content is here
)

// Volume is something mounted into a node's tree.
type Volume struct {
	Kind     VolumeKind `json:"kind"`
	Source   string     `json:"source,omitempty"` // absolute host path (bind) or the volume's name
	Target   string     `json:"target"`           // absolute path in the node
	ReadOnly bool       `json:"read_only,omitempty"`
	// Content has the bytes of a File. It is part of the Spec, and so of every failure's file, even where it should be
	// secret.
	Content []byte `json:"content,omitempty"`
	// Mode (the permissions), UID and GID are those of a File or of a Tmpfs's root. Mode 0 is 0444 and 01777.
	Mode uint32 `json:"mode,omitempty"`
	UID  int    `json:"uid,omitempty"`
	GID  int    `json:"gid,omitempty"`
	// SizeBytes bounds a Tmpfs; 0 does not.
	SizeBytes int64 `json:"size_bytes,omitempty"`
	// NoCopy has a Named one begin empty, also where an image has something.
	NoCopy bool `json:"no_copy,omitempty"`
	// Shared says that all nodes that have a volume of this Kind and Source so see one: what one writes, the others see. It lies
	// on no node's disk.
	Shared bool `json:"shared,omitempty"`
	// From is the node whose Named volume of this Source it begins with, as that one has left it: it has completed when this
	// node starts.
	From string `json:"from,omitempty"`
}

// Condition of a dependency, with Compose's words.
type Condition string

const (
	Started   Condition = "service_started"
	Healthy   Condition = "service_healthy"
	Completed Condition = "service_completed_successfully"
)

// Dependency delays the start of a node until another one is so far.
type Dependency struct {
	Node      string    `json:"node"`
	Condition Condition `json:"condition"`
	Required  bool      `json:"required"`
}

// Healthcheck runs a command in the node; exit code 0 means healthy.
type Healthcheck struct {
	Command         []string `json:"command"`
	IntervalNs      int64    `json:"interval_ns"`
	TimeoutNs       int64    `json:"timeout_ns"`
	StartPeriodNs   int64    `json:"start_period_ns"`
	StartIntervalNs int64    `json:"start_interval_ns"`
	Retries         int      `json:"retries"`
}

// Hook is a command that runs in a node beside its main process.
type Hook struct {
	Command    []string `json:"command"`
	Env        []string `json:"env,omitempty"`         // the whole environment, NAME=value, in order
	WorkingDir string   `json:"working_dir,omitempty"` // empty is the node's
	User       string   `json:"user,omitempty"`        // empty is the node's
}

// RestartMode says what happens when a node's main process ends.
type RestartMode string

const (
	RestartNo            RestartMode = "no"
	RestartAlways        RestartMode = "always"
	RestartOnFailure     RestartMode = "on-failure"
	RestartUnlessStopped RestartMode = "unless-stopped"
)

// Restart is a node's restart policy.
type Restart struct {
	Mode       RestartMode `json:"mode"`
	MaxRetries int         `json:"max_retries,omitempty"` // on-failure only; 0 is no bound
	DelayNs    int64       `json:"delay_ns"`
}

// Link is the connection between two nodes, one-way when OneWay is set, else both ways with the same numbers.
type Link struct {
	From      string `json:"from,omitempty"`
	To        string `json:"to,omitempty"`
	OneWay    bool   `json:"one_way,omitempty"`
	LatencyNs int64  `json:"latency_ns"`
	JitterNs  int64  `json:"jitter_ns"`
	// Bandwidth in bytes a virtual second; 0 is unlimited.
	BandwidthBytes int64 `json:"bandwidth_bytes,omitempty"`
}

// Workload is a driver: a program on a client node that performs operations and reports them.
type Workload struct {
	Name   string `json:"name"`
	Driver string `json:"driver"` // http, redis, command, composer
	Node   string `json:"node"`   // the client node on which it runs
	// Clients is the number of concurrent clients, each with one operation in flight.
	Clients int `json:"clients"`
	// RatePerS is the open-loop rate of operations a virtual second, all clients together; 0 is closed-loop.
	RatePerS   float64 `json:"rate_per_s,omitempty"`
	DurationNs int64   `json:"duration_ns"`
	// Operations bounds the number of operations; 0 means that only DurationNs does.
	Operations int         `json:"operations,omitempty"`
	Targets    []string    `json:"targets,omitempty"` // http: base URLs; redis: redis://host:port, first is the master
	Mix        []Operation `json:"mix,omitempty"`
	Command    []string    `json:"command,omitempty"` // driver command
	Env        []string    `json:"env,omitempty"`
	// Announces says that the driver command reports where it is: faults begin when it is ready, and end when it is done, and it reads back when
	// it is told to, by world.CheckLine. ReadyNs is how long faults wait for it.
	Announces bool  `json:"announces,omitempty"`
	ReadyNs   int64 `json:"ready_ns,omitempty"`
	TimeoutNs int64 `json:"timeout_ns,omitempty"` // per operation
	// SpecialPPM is the chance, in parts per million, that a key or a value is special: one of Dictionary, whose lines
	// Special reads.
	SpecialPPM uint64            `json:"special_ppm,omitempty"`
	Dictionary []string          `json:"dictionary,omitempty"`
	Options    map[string]string `json:"options,omitempty"`
	// Schedule has the operations, each at its time, in the place of a rate and a Mix; in the order of their times.
	Schedule []Scheduled `json:"schedule,omitempty"`
	// Once ends it when each operation of the mix has succeeded once; they are tried in turn.
	Once bool   `json:"once,omitempty"`
	Skip []Skip `json:"skip,omitempty"` // operations that clients leave out; a Cut sets it
}

// Scheduled is an operation of a schedule: what a line of its file is.
type Scheduled struct {
	AtMs   float64 `json:"at_ms"` // after the start of the workload
	Client int     `json:"client"`
	Op     string  `json:"op"`
	Key    string  `json:"key"`
	Value  string  `json:"value,omitempty"`
}

// Operation is one kind of operation in a workload's mix.
type Operation struct {
	Kind           string `json:"kind"` // put, get, delete; SET, GET, INCR
	Weight         int    `json:"weight"`
	KeyPattern     string `json:"key_pattern"`
	ValueSizeBytes int    `json:"value_size_bytes,omitempty"`
	// MaxValueBytes, if it is not 0, makes sizes vary from ValueSizeBytes to it.
	MaxValueBytes int    `json:"max_value_bytes,omitempty"`
	Path          string `json:"path,omitempty"` // http: path template with {key}
}

// Recorded is the name of an operation in histories: ways to write that checks need not distinguish are one.
func (o *Operation) Recorded() string {
	switch o.Kind {
	case "range_put", "lease_put":
		return "put"
	}
	return o.Kind
}

// Mapping says which steps of a TLA+ specification the events of a run are. Events are the lines of the servers' logs that match
// Lines, crashes and restarts of servers, and, if one of the rules is about them, operations of the history, events that servers
// reported by an SDK, and results of probes. The first rule that matches an event decides; an event that none matches is counted
// as not modelled.
type Mapping struct {
	Spec    string      `json:"spec"`   // a file
	Config  string      `json:"config"` // a file
	Library []string    `json:"library,omitempty"`
	View    string      `json:"view,omitempty"`  // an operator of the specification: the part of a state that a search distinguishes; empty is the whole state
	Lines   string      `json:"lines,omitempty"` // a regular expression; empty is all lines
	LeftOut float64     `json:"left_out"`        // the share of events that may be ignored or not modelled
	Rules   []ModelRule `json:"rules"`
}

// Unplace forgets where rules of mappings are written.
func (s *Spec) Unplace() {
	unplace := func(m *Mapping) {
		for i := 0; m != nil && i < len(m.Rules); i++ {
			m.Rules[i].At = ""
		}
	}
	unplace(s.Guide)
	for i := range s.Properties {
		unplace(s.Properties[i].Check.Mapping)
	}
}

// Place names a rule and where it is written.
func (m *Mapping) Place(rule int) string {
	r := &m.Rules[rule]
	text := fmt.Sprintf("events[%d] (%s)", rule, r)
	if r.At != "" {
		text = r.At + ", " + text
	}
	return text
}

// ModelRule is about events of one kind: of Log, SDK, Probe, Crash, Restart and Operation one is set. They become steps of Action, or are ignored for a reason.
// Arguments are expressions over what the event has.
type ModelRule struct {
	At        string   `json:"at,omitempty"`        // where the rule is written, as file:line
	Log       string   `json:"log,omitempty"`       // a regular expression for lines of logs, whose named groups arguments can use
	SDK       string   `json:"sdk,omitempty"`       // the same, for the name of an event, a blank and its details
	Probe     string   `json:"probe,omitempty"`     // the same, for the name of a property, a blank and what a probe of it returned
	Crash     bool     `json:"crash,omitempty"`     // a node is taken down by a fault, or its program breaks
	Restart   bool     `json:"restart,omitempty"`   // it starts again after the fault
	Operation string   `json:"operation,omitempty"` // a regular expression for the name of an operation
	Outcome   string   `json:"outcome,omitempty"`   // of the operation: invoke, ok, fail or info; of the probe: ok or fail
	Node      string   `json:"node,omitempty"`      // a regular expression for the whole name of the node; empty is all nodes
	Action    string   `json:"action,omitempty"`
	Args      []string `json:"args,omitempty"`
	Ignore    string   `json:"ignore,omitempty"`
	Shows     []Shown  `json:"shows,omitempty"`
	// Optional: a campaign in which the rule matches nothing says nothing about the rule. Rules about crashes and restarts are
	// optional, since faults decide whether there are any.
	Optional bool `json:"optional,omitempty"`
}

// String says which events the rule is about.
func (r *ModelRule) String() string {
	text := ""
	switch {
	case r.Log != "":
		text = "log: '" + r.Log + "'"
	case r.SDK != "":
		text = "sdk: '" + r.SDK + "'"
	case r.Probe != "":
		text = "probe: '" + r.Probe + "'"
	case r.Crash:
		text = "crash"
	case r.Restart:
		text = "restart"
	default:
		text = "operation: '" + r.Operation + "'"
	}
	if r.Outcome != "" {
		text += " " + r.Outcome
	}
	if r.Node != "" {
		text += " of " + r.Node
	}
	return text
}

// Shown states the value that an operator of the specification must have after the step.
type Shown struct {
	Operator string   `json:"operator"`
	Args     []string `json:"args,omitempty"`
	Is       string   `json:"is"`
}

// Jobs declares jobs by what programs write about them: regular expressions over the lines of their logs and the events of
// an Antithesis SDK, written as the event's name, a blank and its details. The first group is the job's id; a pattern
// without a group speaks of one job. Failed may be empty.
type Jobs struct {
	Start  string `json:"start,omitempty"`
	Done   string `json:"done,omitempty"`
	Failed string `json:"failed,omitempty"`
	// AcrossNodes: one id is one job, wherever it is written; otherwise each node has jobs of its own.
	AcrossNodes bool `json:"across_nodes,omitempty"`
}

// What a line says of a job.
type JobStep string

const (
	JobStart  JobStep = "start"
	JobDone   JobStep = "done"
	JobFailed JobStep = "failed"
)

// RecoveryClients is in the names of the clients that try everything again after the last heal, after the workload's name.
const RecoveryClients = "/recovery/"

// IsRecovery separates the clients that try everything again after the last heal from those of the workload.
func IsRecovery(client string) bool { return strings.Contains(client, RecoveryClients) }

// Faults sets which faults a world injects, when, and how often. Rates are parts per million: packets for Drop, Delay,
// Duplicate, Reorder and Corrupt, calls for disk faults, time steps for the others.
type Faults struct {
	Enabled bool   `json:"enabled"`
	Mode    string `json:"mode,omitempty"` // the preset: calm, moderate, chaos
	// Swarm has each tape turn off a random subset of the kinds (never all), so that combinations differ between runs
	// (Groce et al., Swarm Testing, ISSTA 2012).
	Swarm bool `json:"swarm,omitempty"`
	// Roles define the roles of nodes for conditions of rules, and Handling the reactions that programs must show to
	// faults.
	Roles    []NodeRole `json:"roles,omitempty"`
	Handling []Handling `json:"handling,omitempty"`
	// StartNs is the length of the warmup phase, in which the workload runs without faults, and StopNs the end of the
	// chaos phase that follows it, both counted from the end of setup; StopNs 0 is the workload's end.
	StartNs int64 `json:"start_ns,omitempty"`
	StopNs  int64 `json:"stop_ns,omitempty"`
	// SettleNs is how long the world runs on after the heal before final checks.
	SettleNs int64       `json:"settle_ns,omitempty"`
	Rules    []FaultRule `json:"rules,omitempty"`
	// DiskProfile says what the nodes' file systems promise about what was not synchronised: ext4-ordered (also empty) or
	// posix-minimal.
	DiskProfile string `json:"disk_profile,omitempty"`
	// DiskSpeed says how long calls on the servers' disks take: one of the speeds of package fault, DrawnSpeed, or nothing: then
	// synchronisations take Cost.SyncNs, and all else no time.
	DiskSpeed string `json:"disk_speed,omitempty"`
	// Require makes a campaign unknown when one of these kinds was never observed.
	Require []FaultKind `json:"require,omitempty"`
}

// Harsh is the preset that has the tape choose the speeds of disks, and DiskSpeedKey names them in the mistakes of a Spec.
const (
	Harsh        = "harsh"
	DiskSpeedKey = "disk speed"
)

// DrawnSpeed as Faults.DiskSpeed has the tape choose the speed of each server's disk.
const DrawnSpeed = "drawn"

// Injects reports whether a rule gives a kind a rate above 0.
func (f *Faults) Injects(kind FaultKind) bool {
	return slices.ContainsFunc(f.Rules, func(r FaultRule) bool { return r.Kind == kind && r.RatePPM > 0 })
}

// FaultKind is the word by which configurations name a kind of fault, such as crash. Package fault has the table of them.
type FaultKind string

// FaultNames lists kinds for people.
func FaultNames(kinds []FaultKind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}

// FaultRule is one kind of fault with its rate and shape.
//
// The order of the fields is that of the JSON of stored Specs, on which digests depend.
type FaultRule struct {
	Kind    FaultKind `json:"kind"`
	Text    string    `json:"text,omitempty"` // the sentence that the user wrote, if it is one
	RatePPM uint64    `json:"rate_ppm"`
	// MinNs and MaxNs bound the duration (partition, clog, slow link, pause, downtime after a crash) or the delay.
	MinNs int64 `json:"min_ns,omitempty"`
	MaxNs int64 `json:"max_ns,omitempty"`
	// Least and Most bound the fault's strength, for kinds that have an amount besides a duration: how much longer a call
	// on a slow disk takes, in ns; how far a clock is off, in ns, or its drift, in parts per billion, either way.
	Least int64 `json:"least,omitempty"`
	Most  int64 `json:"most,omitempty"`
	// Targets are node names, or links as "a->b" or "a-b"; empty is all that the kind applies to.
	Targets []string `json:"targets,omitempty"`
	LinkEffect
	// Max bounds how often the rule injects in one run; 0 is no bound.
	Max int `json:"max,omitempty"`
	// FromStart has a rule that draws by a rate also affect nodes that have not been ready yet, from FairFaults on. Rules with
	// NthTo, the moment InRecovery or a rate of 1 do so anyway.
	FromStart bool `json:"from_start,omitempty"`
	// ByUser distinguishes a rule that the user wrote from one that a preset added.
	ByUser bool `json:"by_user,omitempty"`
	// Derived marks a rule that a campaign has derived from the moments of its run without faults. It is off unless a tape turns it on.
	Derived bool `json:"derived,omitempty"`
	// When is a condition on the moment and the target (package fault has the language); empty is always true.
	When string `json:"when,omitempty"`
	Trigger
	// Command of a rule of the kind run: the program, and its arguments.
	Command []string `json:"command,omitempty"`
}

// LinkEffect shapes faults of links.
type LinkEffect struct {
	OneWay bool `json:"one_way,omitempty"`
	// Shape says how a partition cuts: nodes, links (empty is both), or, of a group of servers, halves, bridge or ring.
	Shape string `json:"shape,omitempty"`
	// LatencyNs, JitterNs and BandwidthBytes (a second; 0 is unlimited) define a slow link; all 0 is a default.
	LatencyNs      int64 `json:"latency_ns,omitempty"`
	JitterNs       int64 `json:"jitter_ns,omitempty"`
	BandwidthBytes int64 `json:"bandwidth_bytes,omitempty"`
}

// Trigger says at which acts of programs a rule injects. A rule without one draws once a time step.
type Trigger struct {
	// At names system calls: the rule draws, and injects, where a program of the target makes one of them, and not once a
	// time step. Path bounds that to calls on files: a pattern as of path.Match, of the last element if it has no slash.
	At   []string `json:"at,omitempty"`
	Path string   `json:"path,omitempty"`
	// Moment says when that is; empty is as the program enters the call.
	Moment Moment `json:"moment,omitempty"`
	// Then and ThenPath are the calls that end what Between began.
	Then     []string `json:"then,omitempty"`
	ThenPath string   `json:"then_path,omitempty"`
	// NthFrom and NthTo bound the number of the one call, counted from 1 in a run's chaos phase for each target, at which the
	// rule injects; 0 is each call.
	NthFrom uint64 `json:"nth_from,omitempty"`
	NthTo   uint64 `json:"nth_to,omitempty"`
}

// Moment is when a FaultRule injects, if not at time steps.
type Moment string

const (
	Entering   Moment = ""        // as a program enters one of the calls of At, before the call has any effect
	During     Moment = "during"  // while one of the calls of At waits for the disk
	AfterCall  Moment = "after"   // once one of the calls of At had its effect, before the program runs on
	AfterReply Moment = "reply"   // once the first bytes of an answer to a client have left the target
	Between    Moment = "between" // after one of the calls of At had its effect, and before one of Then has any
	// InRecovery is soon after the target has started again after a fault, and InTransfer while much is on its way from one server to another.
	InRecovery Moment = "recovery"
	InTransfer Moment = "transfer"
	// InOperation is soon after a driver has begun an operation of the kind Path on the target.
	InOperation Moment = "operation"
)

// Alone reports whether a moment names no calls.
func (m Moment) Alone() bool {
	return m == AfterReply || m == InRecovery || m == InTransfer || m == InOperation
}

// OnCalls reports whether the rule injects at what programs do, and not at time steps.
func (r *FaultRule) OnCalls() bool { return len(r.At) > 0 || r.Moment.Alone() }

// NodeRole is something that a node is at times, such as a leader. Conditions of fault rules ask for it. A Check that
// passes says that the node has the role; without one, lines of its log show it: the role begins with one that matches Log
// and ends with one that matches Until, or when the node's programs end. Without Until it ends also with a line that begins
// another such role and not this one.
type NodeRole struct {
	Name  string `json:"name"`
	Node  string `json:"node"`
	Check *Check `json:"check,omitempty"`
	Log   string `json:"log,omitempty"`
	Until string `json:"until,omitempty"`
}

// Handling ties a kind of fault to what shows that a program dealt with it: a line that matches a log pattern of the
// Spec, or an assertion of that name that was reached, after an injection of the kind.
type Handling struct {
	Kind      FaultKind `json:"kind"`
	Log       string    `json:"log,omitempty"`       // the name of a log pattern
	Assertion string    `json:"assertion,omitempty"` // the message of a sometimes- or reachable-assertion
}

// LogPattern is a regular expression counted over logs.
type LogPattern struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
}

// Moved is a Spec whose project lies in another folder: every text that begins with the old folder gets the new one.
func (s *Spec) Moved(dir string) (*Spec, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	quote := func(s string) []byte {
		q, _ := json.Marshal(s)
		return q[:len(q)-1] // without its closing quote
	}
	old, now := quote(s.Dir), quote(dir)
	b = bytes.ReplaceAll(b, append(bytes.Clone(old), '"'), append(bytes.Clone(now), '"'))
	b = bytes.ReplaceAll(b, append(bytes.Clone(old), '/'), append(bytes.Clone(now), '/'))
	out := new(Spec)
	return out, json.Unmarshal(b, out)
}
