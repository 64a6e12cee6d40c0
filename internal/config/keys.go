package config

import (
	"regexp"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// nodeName is what nodes may be called: Compose's rule, and a first character that is safe in every place.
var nodeName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)

// These tables are the only list of keys. They drive reading, docs/reference/config.md and docs/schema/config.json, and a test walks them.

func oneOf(words ...string) shape   { return shape{kind: word, words: words} }
func of(fields ...field) shape      { return shape{kind: section, fields: fields} }
func listOf(item shape) shape       { return shape{kind: sequence, item: &item} }
func anyOf(alts ...shape) shape     { return shape{kind: either, alts: alts} }
func wholeFrom(least float64) shape { return shape{kind: whole, min: least} }
func namedWith(item shape) shape {
	return shape{kind: dictionary, item: &item, names: nodeName}
}

var (
	aText     = shape{kind: text}
	aFlag     = shape{kind: boolean}
	aRate     = shape{kind: rate}
	aNumber   = shape{kind: number}
	aWhole    = shape{kind: whole}
	aDuration = shape{kind: duration}
	aPositive = shape{kind: duration, min: 1}
	aMillis   = shape{kind: millis}
	aSize     = shape{kind: size}
	aSpan     = shape{kind: span}
	aPattern  = shape{kind: pattern}
	anyShape  = shape{kind: anything}
	texts     = listOf(aText)
	command   = anyOf(aText, texts) // text is split into words as a shell does it
	textOrAll = anyOf(aText, texts)
)

// bloodhoundFile is bloodhound.yaml.
var bloodhoundFile = shape{kind: section, open: true, fields: []field{
	{name: "name", shape: aText, says: "The world's name in reports.", def: "the folder's name"},
	{name: "compose", shape: textOrAll, says: "Compose files whose services are nodes too. `--compose` replaces it."},
	{name: "simulation", shape: simulation, says: "Time, and how many tapes a campaign runs."},
	{name: "nodes", shape: namedWith(service), says: "The nodes, by name, in Compose's own keys. A node that is a service of a Compose file too replaces that service's keys; `environment` and mappings are merged."},
	{name: "networks", shape: networkTable, says: "The networks, by name, in Compose's own keys. Nodes that name none are on `default`; nodes reach each other where they share one."},
	{name: "network", shape: network, says: "What links are like that `links` does not name."},
	{name: "links", shape: listOf(link), says: "Links between two nodes that differ from the rest."},
	{name: "workload", shape: workloadKeys, says: "The program that drives the servers."},
	{name: "workloads", shape: listOf(workloadKeys), says: "Several of them."},
	{name: "properties", shape: listOf(property), says: "What must hold. Crashes, panics and unexpected exits are always looked for."},
	{name: "faults", shape: faults, says: "What may go wrong. Without this key, nothing does."},
	{name: "log_patterns", shape: shape{kind: dictionary, item: &shape{kind: pattern}, names: nodeName}, verbatim: true, says: "Regular expressions that are counted over the logs of all nodes, by name. A `$` is itself here."},
	{name: "exploration", shape: exploration, says: "How tapes are searched."},
	{name: "coverage", shape: coverage, says: "Which code of the programs under test a campaign has run (docs/reference/coverage.md)."},
	{name: "output", shape: output, says: "Which files a campaign writes."},
	{name: "debug", shape: debug, says: "What is written of a trace. Nothing here changes its hash."},
}}

// composeFile is a Compose file.
var composeFile = shape{kind: section, open: true, fields: []field{
	{name: "services", shape: namedWith(composeService), says: "The nodes, in the keys of `nodes`."},
	{name: "name", shape: aText, says: "The world's name, if bloodhound.yaml gives none."},
	{name: "version", shape: aText, idle: noVersion},
	{name: "networks", shape: networkTable, says: "The networks, as in bloodhound.yaml."},
	{name: "volumes", shape: composeVolumes, says: "Named volumes."},
	{name: "secrets", shape: composeSecrets, says: "Files that services can have at /run/secrets."},
	{name: "configs", shape: composeConfigs, says: "Files that services can have."},
	{name: "include", shape: includes, says: "Compose files whose services are services of this one."},
	{name: "jobs", shape: anyShape, refused: "nothing is started by hand or by the clock here: make it a service, which others wait for by `service_completed_successfully`"},
	{name: "models", shape: anyShape, refused: noModels},
}}

var simulation = of(
	field{name: "max_time", shape: aPositive, says: "Bounds the virtual time of a run.", def: "60s"},
	field{name: "time_step", shape: aPositive, says: "How often faults with a probability are drawn, for each node or link.", def: "10ms"},
	field{name: "seeds", shape: wholeFrom(1), says: "How many tapes a campaign runs.", def: "1000"},
	field{name: "start", shape: shape{kind: date}, says: "The date at which a run starts.", def: "2025-01-01T00:00:00Z"},
	field{name: "wait_for_setup", shape: aDuration, says: "How long setup waits for a program to say, by an Antithesis SDK, that it is complete, before drivers and faults begin. If none does, the run is `unknown`. `0s` does not wait.", def: "30s, or a quarter of `max_time`, if a program has used an SDK when all servers are healthy; if none says it then, the run goes on with a warning"},
	field{name: "preempt_rate", shape: aRate, says: "How often a thread loses its priority in the middle of an epoch of its own system calls.", def: "0.05"},
	field{name: "cost", shape: of(
		field{name: "call_ns", shape: wholeFrom(1), says: "Virtual nanoseconds a system call.", def: "1000"},
		field{name: "clock_read_ns", shape: wholeFrom(1), says: "Virtual nanoseconds a clock read.", def: "50"},
		field{name: "sync_ns", shape: wholeFrom(0), says: "Virtual nanoseconds an fsync, fdatasync, sync or msync.", def: "1000000 where the power may go, else 0"},
	), says: "What virtual time charges; work between calls is free."},
	field{name: "limits", shape: of(
		field{name: "events", shape: wholeFrom(1), says: "System calls of a run.", def: "50000000"},
		field{name: "wall_time", shape: aPositive, says: "Real time of a run. A run that it ends does not repeat.", def: "10m"},
		field{name: "threads", shape: shape{kind: whole, min: 1, max: 1e6}, says: "Threads alive at once, all nodes. Beyond it programs get EAGAIN, and the report says so.", def: "2048"},
		field{name: "memory_bytes", shape: wholeFrom(1), says: "Bytes in the files of each node. Beyond it programs get ENOSPC.", def: "1 GiB"},
		field{name: "world_memory_bytes", shape: wholeFrom(1), says: "Memory of the machine that the world takes: what its processes have alone and share, the files that it has written, and what the engine keeps. Beyond it the run ends. It protects the machine; `mem_limit` of a node limits its programs.", def: "4 GiB, or three quarters of the machine's memory if that is less"},
		field{name: "spin_cpu_time", shape: aPositive, says: "CPU time of a thread without a system call. Beyond it virtual time passes while the thread computes, and the run does not repeat.", def: "2s"},
	), says: "Bounds of a run, so that it never hangs. Where a run ends by one, it is `unknown`."},
)

// Limits of a node that are written as keys of a service and under deploy. Docker takes none of memory below 6 MiB.
var (
	cpuShare    = shape{kind: number, max: 1e6}
	memoryLimit = shape{kind: size, min: 6 << 20}
	taskLimit   = shape{kind: whole, min: -1}
)

// ulimit is one limit of a node.
var ulimit = anyOf(shape{kind: whole, min: -1}, of(
	field{name: "soft", shape: shape{kind: whole, min: -1}, says: "What is in force."},
	field{name: "hard", shape: shape{kind: whole, min: -1}, says: "What a process may raise it to."},
))

var service = shape{kind: section, open: true, fields: []field{
	{name: "command", shape: command, says: "The program and its arguments. Text is split into words, without a shell. Paths start at `working_dir`."},
	{name: "entrypoint", shape: command, says: "Words before those of `command`."},
	{name: "build", shape: anyOf(aText, texts, of(
		field{name: "command", shape: command, says: "The program that builds, and its arguments."},
		field{name: "dir", shape: aText, says: "Where it runs.", def: "the project's folder"},
		field{name: "environment", shape: shape{kind: variables}, says: "Variables that it gets besides the user's own."},
		field{name: "context", shape: anyShape, refused: noDockerfile},
		field{name: "dockerfile", shape: anyShape, refused: noDockerfile},
		field{name: "dockerfile_inline", shape: anyShape, refused: noDockerfile},
		field{name: "args", shape: anyShape, refused: noDockerfile},
		field{name: "target", shape: anyShape, refused: noDockerfile},
	)), says: "A command that builds the project's own programs, run on this machine before the first run. Equal steps run once."},
	{name: "root", shape: aText, says: "The node's files: `host` (this machine's, which stay untouched), `none` (the project's folder and nothing else of this machine, for static programs) or a folder.", def: "host"},
	{name: "role", shape: oneOf("server", "client"), says: "Clients suffer no process, disk or clock fault; their links may.", def: "server"},
	{name: "clock", shape: of(
		field{name: "offset", shape: shape{kind: signed}, says: "How far the node's clock is ahead.", def: "0s"},
		field{name: "drift_ppm", shape: shape{kind: number, min: -100_000, max: 100_000}, says: "How much faster it runs, in parts per million.", def: "0"},
	), says: "The node's clock."},
	{name: "environment", shape: shape{kind: variables}, says: "Variables; a name without a value is taken from the environment. `PATH`, `HOME` and `HOSTNAME` are always there, and nothing else of this machine's."},
	{name: "env_file", shape: anyOf(aText, listOf(anyOf(aText, of(
		field{name: "path", shape: aText, says: "The file."},
		field{name: "required", shape: aFlag, says: "Whether it must exist.", def: "true"},
		field{name: "format", shape: oneOf("raw"), says: "`raw`: values are taken as they are."},
	)))), says: "Files of variables; `environment` wins."},
	{name: "working_dir", shape: aText, says: "Where the command starts. A folder that an image does not have is made.", def: "the project's folder; / with a `root` of its own"},
	{name: "volumes", shape: listOf(anyOf(aText, of(
		field{name: "type", shape: oneOf("bind", "volume", "tmpfs"), says: "Where its content comes from."},
		field{name: "source", shape: aText, says: "A path of this machine, or a volume's name."},
		field{name: "target", shape: aText, says: "The path in the node."},
		field{name: "read_only", shape: aFlag, says: "Refuse writes.", def: "false"},
		field{name: "bind", shape: anyShape, idle: "writes to a bind mount stay in the world"},
		field{name: "volume", shape: of(
			field{name: "nocopy", shape: aFlag, says: "It begins empty, and not with what the image has there.", def: "false"},
			field{name: "subpath", shape: aText, refused: "give the folder a volume of its own"},
			field{name: "labels", shape: anyShape, idle: forPeople},
		), says: "More about a volume."},
		field{name: "tmpfs", shape: of(
			field{name: "size", shape: shape{kind: size, min: 1}, says: "Its size.", def: "no bound"},
			field{name: "mode", shape: aText, says: "The permissions of its root, as 0o1770.", def: "0o1777"},
		), says: "More about a tmpfs."},
		field{name: "image", shape: anyShape, refused: "copy what is needed of that image into a volume, or into the node's own image"},
		field{name: "consistency", shape: aText, idle: "all mounts are consistent"},
	))), says: "Mounts: `SOURCE:TARGET[:ro]` or the long form. Named volumes begin empty, or with what the image has there; bind mounts with what this machine has, which stays as it is. Services of Compose files that have the same volume or bind the same path share it (docs/reference/compose.md); those of `nodes:` belong to their node."},
	{name: "tmpfs", shape: textOrAll, says: "Paths of empty folders that a power loss empties again, with options: `/tmp:size=64m,mode=1770,uid=1000`."},
	{name: "depends_on", shape: anyOf(texts, namedWith(of(
		field{name: "condition", shape: oneOf("service_started", "service_healthy", "service_completed_successfully"), says: "How far the other node must be.", def: "service_started"},
		field{name: "required", shape: aFlag, says: "Whether the other node must exist.", def: "true"},
		field{name: "restart", shape: aFlag, idle: "nobody restarts nodes by hand here"},
	))), says: "Nodes that start first."},
	{name: "healthcheck", shape: of(
		field{name: "test", shape: command, says: "`[CMD, program, ...]`, `[CMD-SHELL, line]`, `[NONE]`, or text for a shell."},
		field{name: "interval", shape: aPositive, says: "Time between two checks.", def: "30s"},
		field{name: "timeout", shape: aPositive, says: "Time that a check may take.", def: "30s"},
		field{name: "retries", shape: shape{kind: whole, min: 1, max: 1e6}, says: "Failures until the node is unhealthy.", def: "3"},
		field{name: "start_period", shape: aDuration, says: "Time at start in which failures do not count.", def: "0s"},
		field{name: "start_interval", shape: aPositive, says: "Time between two checks in the start period.", def: "5s"},
		field{name: "disable", shape: aFlag, says: "No check at all.", def: "false"},
	), says: "When the node is healthy."},
	{name: "restart", shape: aText, says: "`no`, `always`, `unless-stopped`, `on-failure` or `on-failure:N`. The faults `crash` and `restart` start a node again whatever this says.", def: "no"},
	{name: "hostname", shape: aText, says: "The node's own name, which resolves to it.", def: "the node's name"},
	{name: "container_name", shape: aText, says: "A further name that resolves to the node."},
	{name: "networks", shape: shape{kind: either, empty: true, alts: []shape{texts, {kind: dictionary, item: &attachment, names: nodeName}}}, says: "The networks that the node is on: a list of names, or a mapping with options.", def: "`default`; all of them for clients"},
	{name: "links", shape: texts, says: "`NODE:NAME`: a further name for another node, on this one. Implies `depends_on`."},
	{name: "extra_hosts", shape: anyOf(texts, shape{kind: dictionary, item: &textOrAll}), says: "Lines for the node's hosts file: `NAME=IP` or `NAME: IP`."},
	{name: "user", shape: aText, says: "User and group, by name or number: `U` or `U:G`.", def: "root"},
	{name: "stop_signal", shape: aText, says: "What the fault `restart` tells the main process to stop by: a name or a number. Nothing else stops a node in order.", def: "SIGTERM, or as the image says"},
	{name: "stop_grace_period", shape: aDuration, says: "How long the fault `restart` lets the main process stop; then all of the node's processes get SIGKILL.", def: "10s"},
	{name: "ports", shape: listOf(anyOf(aText, of(
		field{name: "target", shape: aText, says: "The port of the node."},
		field{name: "published", shape: aText, says: "The port of this machine that stands for it."},
		field{name: "host_ip", shape: aText, idle: "nothing of a world is reachable from this machine"},
		field{name: "protocol", shape: aText, idle: "nodes reach each other by any protocol"},
		field{name: "mode", shape: aText, idle: "there is no swarm"},
		field{name: "name", shape: aText, idle: "for people only"},
		field{name: "app_protocol", shape: aText, idle: "for people only"},
	))), says: "Information: nodes reach each other on all ports. A target or endpoint that names `localhost` means the node that publishes its port."},
	{name: "profiles", shape: texts, says: "The node exists only if `COMPOSE_PROFILES` names one of these."},
	{name: "scale", shape: shape{kind: whole, max: MaxNodes}, says: "How many nodes it is: NAME-1, NAME-2 and so on. NAME resolves to all of them, in this order, and stands for all of them in faults.", def: "1"},
	{name: "replicas", of: "scale", shape: shape{kind: whole, max: MaxNodes}},
	{name: "image", shape: aText, says: "The container image that the node's files come from, with its entrypoint, command, environment, user, working directory, healthcheck, stop signal and volumes, unless the node says otherwise. A name as registries have it, or `oci:FOLDER[:NAME]`, `docker-archive:FILE[:NAME]`, `docker-daemon:NAME`. Without effect beside `root:`."},

	{name: "annotations", shape: anyShape, idle: forPeople},
	{name: "attach", shape: anyShape, idle: "all output is collected"},
	{name: "blkio_config", shape: anyShape, idle: noCgroup},
	{name: "cap_add", shape: anyShape, idle: noPrivileges},
	{name: "cap_drop", shape: anyShape, idle: noPrivileges},
	{name: "cgroup", shape: anyShape, idle: noCgroup},
	{name: "cgroup_parent", shape: anyShape, idle: noCgroup},
	{name: "cpu_count", shape: anyShape, idle: oneCPU},
	{name: "cpu_percent", shape: anyShape, idle: oneCPU},
	{name: "cpu_period", shape: shape{kind: whole, min: 1000, max: 1e6}, says: "Microseconds.", def: "100000"},
	{name: "cpu_quota", shape: shape{kind: whole, min: -1}, says: "Its share of a CPU as microseconds of each `cpu_period`; without effect beside `cpus`. -1 is all of it."},
	{name: "cpu_rt_period", shape: anyShape, idle: oneCPU},
	{name: "cpu_rt_runtime", shape: anyShape, idle: oneCPU},
	{name: "cpu_shares", shape: anyShape, idle: oneCPU},
	{name: "cpus", shape: cpuShare, says: "Its share of a CPU: below 1, a system call costs 1/share as much virtual time. From 1 on it is one CPU, as without the key.", def: "1"},
	{name: "cpuset", shape: anyShape, idle: oneCPU},
	{name: "deploy", shape: deploy, says: "The parts of it that Compose honours without a swarm."},
	{name: "develop", shape: anyShape, idle: "nothing is watched"},
	{name: "dns", shape: anyShape, idle: oneResolver},
	{name: "dns_opt", shape: anyShape, idle: oneResolver},
	{name: "dns_search", shape: textOrAll, says: "Domains to try behind names that do not resolve."},
	{name: "domainname", shape: aText, says: "The node's domain, behind its own name in its /etc/hosts."},
	{name: "expose", shape: anyShape, idle: "nodes reach each other on all ports"},
	{name: "group_add", shape: texts, says: "Further groups of its user, by name or number."},
	{name: "init", shape: aFlag, says: "Of a node with an image: a small init is process 1, which reaps and passes signals on, and not the program itself.", def: "false"},
	{name: "ipc", shape: anyShape, idle: "nodes share nothing"},
	{name: "isolation", shape: anyShape, idle: "nodes share nothing"},
	{name: "labels", shape: anyShape, idle: forPeople},
	{name: "label_file", shape: anyShape, idle: forPeople},
	{name: "logging", shape: anyShape, idle: "all output is collected"},
	{name: "mac_address", shape: aText, says: "The Ethernet address of the node's first interface.", def: "02:42 and the IPv4 address"},
	{name: "mem_limit", shape: memoryLimit, says: "What its processes may have of memory, together: what they have touched of their own, what they share, and files in memory. Beyond it its kernel kills the largest, by SIGKILL.", def: "no bound"},
	{name: "mem_reservation", shape: anyShape, idle: "a node takes no memory from another, and so needs none reserved"},
	{name: "mem_swappiness", shape: anyShape, idle: noSwap},
	{name: "memswap_limit", shape: anyShape, idle: noSwap},
	{name: "network_mode", shape: aText, says: "In the place of `networks`. `none`: loopback alone. `bridge`: a network of the nodes that say so. `host`: every network. `service:NAME`: the network of another node, with its addresses, ports, loopback and hostname. `container:` is refused."},
	{name: "oom_kill_disable", shape: anyShape, idle: "control groups of version 2 know no such thing"},
	{name: "oom_score_adj", shape: shape{kind: whole, min: -1000, max: 1000}, says: "How much sooner its processes are killed than others where memory is out; -1000: never.", def: "0"},
	{name: "pid", shape: anyShape, idle: "nodes share nothing"},
	{name: "pids_limit", shape: taskLimit, says: "How many processes and threads it may have at once; beyond it they get EAGAIN. 0 or -1 is no bound.", def: "no bound"},
	{name: "platform", shape: anyShape, idle: "programs run on this machine's own platform"},
	{name: "privileged", shape: anyShape, idle: noPrivileges},
	{name: "pull_refresh_after", shape: anyShape, idle: "an image is pulled once; `bloodhound image pull` asks again"},
	{name: "pull_policy", shape: oneOf("missing", "if_not_present", "always", "never", "build", "daily", "weekly"), says: "`always` asks for the image each time, `never` takes it from the store alone, `build` builds it, all others pull it if the store does not have it."},
	{name: "read_only", shape: aFlag, says: "Its root is read-only (EROFS); volumes and folders in memory are not.", def: "false"},
	{name: "runtime", shape: anyShape, idle: "there is no container runtime"},
	{name: "security_opt", shape: anyShape, idle: noPrivileges},
	{name: "shm_size", shape: shape{kind: size, min: 1}, says: "The size of /dev/shm.", def: "no bound"},
	{name: "stdin_open", shape: anyShape, idle: "standard input is empty"},
	{name: "storage_opt", shape: anyShape, idle: "the disk is the engine's"},
	{name: "sysctls", shape: anyOf(texts, shape{kind: dictionary, item: &aText}), says: "Settings of its kernel, which show at /proc/sys: `NAME=VALUE` or `NAME: VALUE`, of those that a container has of its own (net.*, fs.mqueue.*, System V's, kernel.domainname). docs/reference/limits.md lists those with an effect; a note names others."},
	{name: "tty", shape: anyShape, idle: "output goes to the engine, not to a terminal"},
	{name: "ulimits", shape: shape{kind: dictionary, item: &ulimit}, says: "Limits of getrlimit(2) that its processes begin with, by Docker's names: nofile, nproc, core, memlock, stack, fsize and others. -1 is no bound."},
	{name: "userns_mode", shape: anyShape, idle: noPrivileges},
	{name: "umask", shape: anyShape, idle: "Docker's own is 0022, and so is the engine's"},
	{name: "use_api_socket", shape: anyShape, refused: "a world has no container engine; make what talks to one a node, or take it away"},
	{name: "uts", shape: anyShape, idle: "nodes share nothing"},

	{name: "configs", shape: fileUses("/NAME"), says: "Files of the Compose file's `configs`."},
	{name: "credential_spec", shape: anyShape, refused: "remove it; there is no Windows here"},
	{name: "device_cgroup_rules", shape: anyShape, refused: noDevices},
	{name: "devices", shape: anyShape, refused: noDevices},
	{name: "extends", shape: anyShape, refused: "copy the keys, or share them by an anchor: `x-base: &base` and `<<: *base`"},
	{name: "external_links", shape: anyShape, refused: "a world reaches nothing outside: make it a node"},
	{name: "gpus", shape: anyShape, refused: noDevices},
	{name: "models", shape: anyShape, refused: noModels},
	{name: "pre_start", shape: anyShape, refused: "make it a service that this one waits for by `service_completed_successfully`"},
	{name: "post_start", shape: listOf(of(
		field{name: "command", shape: command, says: "The program and its arguments."},
		field{name: "user", shape: aText, says: "User and group that it runs as.", def: "the node's"},
		field{name: "working_dir", shape: aText, says: "Where it starts.", def: "the node's"},
		field{name: "environment", shape: shape{kind: variables}, says: "Variables besides the node's."},
		field{name: "privileged", shape: aFlag, idle: noPrivileges},
	)), says: "Commands that run in the node, one after the other, when its main process has started for the first time. Nodes that depend on it wait for them, and so does setup; one that fails ends the run as `unknown`."},
	{name: "pre_stop", shape: anyShape, refused: "run it from the node's command"},
	{name: "provider", shape: anyShape, refused: "a world reaches nothing outside: make it a node"},
	{name: "secrets", shape: fileUses("/run/secrets/NAME"), says: "Files of the Compose file's `secrets`."},
	{name: "volumes_from", shape: texts, says: "`NODE` or `NODE:ro`: the volumes and bind mounts of another node, at the same places, which both share then."},
}}

const (
	forPeople    = "for people only"
	noCgroup     = "memory and devices are not limited by node"
	noSwap       = "nodes have no swap space"
	noPrivileges = "a program in a world can do no harm to this machine, whatever its privileges"
	oneCPU       = "every node sees one CPU, and its work costs no virtual time"
	oneResolver  = "names are resolved inside the world"
	noVersion    = "Compose files need no version"
	noModels     = "a world reaches nothing outside: make what answers a node"
	noDockerfile = "Dockerfiles belong into Compose files: here, give `build:` a command that builds the program on this machine, such as `build: go build -o bin/app ./cmd/app`, and `command:` what it made"
)

// maxValueBytes bounds the values that drivers write.
const maxValueBytes = 128 << 10

// linkFields are shared by network, for all links, and links, for one.
var linkFields = []field{
	{name: "latency", shape: aDuration, says: "Time that a packet takes.", def: "500us"},
	{name: "latency_ms", of: "latency", equal: true, shape: aMillis},
	{name: "jitter", shape: aDuration, says: "Up to this much more, drawn for each packet.", def: "100us"},
	{name: "jitter_ms", of: "jitter", equal: true, shape: aMillis},
	{name: "bandwidth_bytes", shape: aWhole, says: "Bytes a second; 0 is unlimited.", def: "0"},
}

var network = of(linkFields...)

const noDriver = "all networks are made of the world's own links"

// networkTable is Compose's table of networks.
var networkTable = shape{kind: dictionary, names: nodeName, empty: true, item: &shape{kind: section, open: true, empty: true, fields: []field{
	{name: "name", shape: aText, says: "What Docker calls it. Names of nodes may end with it, or with the network's own: `web.front`.", def: "the world's name, _ and the network's"},
	{name: "internal", shape: aFlag, says: "It has no route to elsewhere: what is not on it is unreachable at once.", def: "false"},
	{name: "enable_ipv4", shape: aFlag, says: "Nodes on it have IPv4 addresses.", def: "true"},
	{name: "enable_ipv6", shape: aFlag, says: "Nodes on it have IPv6 addresses.", def: "false"},
	{name: "ipam", shape: shape{kind: section, open: true, empty: true, fields: []field{
		{name: "config", shape: shape{kind: sequence, empty: true, item: &shape{kind: section, open: true, fields: []field{
			{name: "subnet", shape: aText, says: "Its addresses, such as 172.28.0.0/16.", def: "10.77.N.0/24"},
			{name: "gateway", shape: aText, says: "The address that no node gets, to which the default route leads.", def: "the first one"},
			{name: "ip_range", shape: aText, says: "The part from which nodes get addresses that ask for none.", def: "the subnet"},
			{name: "aux_addresses", shape: shape{kind: dictionary, item: &aText}, says: "Addresses that no node gets, by name."},
		}}}, says: "One subnet of IPv4, and one of IPv6."},
		{name: "driver", shape: aText, idle: noDriver},
		{name: "options", shape: anyShape, idle: noDriver},
	}}, says: "Its addresses."},
	{name: "external", shape: anyOf(aFlag, of(field{name: "name", shape: aText, says: "What Docker calls it."})), says: "The network exists already. In a world it does not: it gets one of that name."},
	{name: "driver", shape: aText, idle: noDriver},
	{name: "driver_opts", shape: anyShape, idle: noDriver},
	{name: "attachable", shape: anyShape, idle: "nobody attaches anything by hand here"},
	{name: "labels", shape: anyShape, idle: forPeople},
}}}

// attachment is what a node says of a network that it is on.
var attachment = shape{kind: section, open: true, empty: true, fields: []field{
	{name: "aliases", shape: shape{kind: sequence, item: &aText, empty: true}, says: "Further names that resolve to the node, on this network. Several nodes may share one: it resolves to all of them, in their order."},
	{name: "use_service_name_alias", shape: aFlag, says: "false: the node's own name, hostname and service do not resolve to it on this network; its `container_name` and aliases do.", def: "true"},
	{name: "ipv4_address", shape: aText, says: "Its address, on a network with a `subnet`.", def: "the next free one"},
	{name: "ipv6_address", shape: aText, says: "Its IPv6 address, on a network with a `subnet` of IPv6.", def: "the next free one"},
	{name: "link_local_ips", shape: anyShape, idle: "an interface has one address of each family"},
	{name: "mac_address", shape: aText, says: "The interface's Ethernet address.", def: "02:42 and the IPv4 address"},
	{name: "interface_name", shape: aText, says: "The interface's name.", def: "eth0, eth1 and so on"},
	{name: "priority", shape: shape{kind: whole, min: -1e9, max: 1e9}, says: "Interfaces are made in the order of their networks' priority, the highest first, then of their names.", def: "0"},
	{name: "gw_priority", shape: shape{kind: whole, min: -1e9, max: 1e9}, says: "The highest has the default route, and is asked first for names.", def: "0"},
	{name: "driver_opts", shape: anyShape, idle: noDriver},
}}

var link = of(append([]field{
	{name: "between", shape: texts, says: "Two nodes."},
	{name: "one_way", shape: aFlag, says: "Only from the first to the second.", def: "false"},
}, linkFields...)...)

var workloadKeys = of(
	field{name: "name", shape: aText, says: "Its name in reports.", def: "the driver's name"},
	field{name: "driver", shape: oneOf(driverNames...), says: "`http`, `redis`, `sql` and `etcd` are built in; `command` is any program that reports operations; `composer` runs an Antithesis test template."},
	field{name: "node", shape: aText, says: "The client node that it runs on.", def: "a node `load` of its own"},
	field{name: "command", shape: command, says: "driver `command`: the program and its arguments; also under `config`."},
	field{name: "config", shape: of(
		field{name: "target", shape: textOrAll, says: "http, etcd: the server's URL, or several. sql: `postgres://user:password@host:port/name` or `mysql://`."},
		field{name: "master", shape: aText, says: "redis: the server's URL, `redis://host:port`."},
		field{name: "replicas", shape: texts, says: "redis: URLs of further servers."},
		field{name: "command", shape: command, says: "command: the program and its arguments."},
		field{name: "template", shape: aText, says: "composer: a test template, or a folder of them of which each tape takes one: a folder of the project, which the node sees at /opt/antithesis/test/v1, or an absolute path in the node.", def: "/opt/antithesis/test/v1"},
		field{name: "qps", shape: aNumber, says: "Operations a second of virtual time, all clients together; 0: each client goes on as soon as it has its answer.", def: "0"},
		field{name: "operations_per_second", of: "qps", equal: true, shape: aNumber},
		field{name: "duration", shape: aPositive, says: "How long it runs.", def: "half of max_time, less if faults.settle needs it"},
		field{name: "duration_seconds", of: "duration", equal: true, shape: shape{kind: seconds, min: 1}},
		field{name: "clients", shape: shape{kind: whole, min: 1, max: 10_000}, says: "Clients, each with one operation in flight. composer: how many parallel drivers may run at once; each tape takes a number up to this.", def: "4"},
		field{name: "max_operations", shape: wholeFrom(1), says: "Ends it after this many operations.", def: "no bound"},
		field{name: "timeout", shape: aPositive, says: "Time that an operation may take.", def: "1s"},
		field{name: "timeout_ms", of: "timeout", shape: shape{kind: millis, min: 1}},
		field{name: "operations", shape: listOf(of(
			field{name: "type", shape: oneOf("put", "get", "delete", "SET", "GET", "INCR", "DEL", "cas", "txn", "range_put", "lease_put", "compact"), says: "http: put, get, delete; redis: SET, GET, INCR, DEL; sql: put, get, delete, cas, txn; etcd: put, get, delete, cas, range_put, lease_put, compact."},
			field{name: "weight", shape: shape{kind: whole, max: 1e6}, says: "Its share of all operations.", def: "1"},
			field{name: "key_pattern", shape: aText, says: "Text with `{random}`, `{random:a-b}`, `{seq}`, `{seq:a-b}`, `{zipf:a-b}`, `{client}`, `{uuid}`.", def: "key-{random:0-9}; txn: txn-{random:0-4}"},
			field{name: "value_size", shape: anyOf(shape{kind: whole, max: maxValueBytes}, listOf(shape{kind: whole, max: maxValueBytes})), says: "Bytes of the values written; no value is shorter than what makes it unique. `[a, b]`: from a to b, every second one at a boundary (a, b, powers of two, one less and one more), and then short values may repeat.", def: "that length"},
			field{name: "path", shape: aText, says: "http: the path below the target's own, with `{key}`.", def: "/kv/{key}"},
		)), says: "The mix.", def: "one read for each write"},
		field{name: "dictionary", shape: of(
			field{name: "probability", shape: aRate, says: "How often a key, or what is behind a value, is a special one.", def: "0.05"},
			field{name: "file", shape: aText, says: "More of them, one a line: a text, or a JSON string such as `\"a\\u0000\"`, and `\"ab\"*100` for a hundred of them. Empty lines and those that begin with `#` are left out."},
			field{name: "only_file", shape: aFlag, says: "Take none but those of the file.", def: "false"},
		), says: "Special keys and values: `~tmp`, texts around path limits, Unicode that is not what it looks like, very long ones. Each tape takes a few of them. Without this key there are none."},
		field{name: "environment", shape: shape{kind: variables}, says: "command, composer: variables for the program or the commands."},
		field{name: "options", shape: of(
			field{name: "spread", shape: oneOf("first", "round-robin", "client", "hash", "failover"), says: "Which of several servers an operation goes to.", def: "http, etcd: round-robin, redis, sql: first"},
			field{name: "fail_status", shape: aText, says: "http: statuses that prove that nothing was done, such as `409, 503`."},
			field{name: "put_method", shape: oneOf("PUT", "POST"), says: "http: how values are written.", def: "PUT"},
			field{name: "trim_space", shape: aFlag, says: "http: take blanks at the ends off values that were read.", def: "false"},
			field{name: "sentinels", shape: aText, says: "redis: `host:port, ...` of sentinels that are asked for the master."},
			field{name: "isolation", shape: oneOf("serializable", "repeatable-read", "read-committed", "read-uncommitted", "default"), says: "sql: the isolation level of txn.", def: "serializable"},
			field{name: "model", shape: oneOf("list-append", "rw-register"), says: "sql: what txn does: append to lists, or write registers.", def: "list-append"},
			field{name: "serializable", shape: aFlag, says: "etcd: reads that any member answers from what it has.", def: "false"},
			field{name: "back", shape: wholeFrom(0), says: "etcd: how many revisions before the latest range_put reads.", def: "10"},
			field{name: "master_name", shape: aText, says: "redis: the master's name there."},
		), says: "Further options of the drivers; docs/reference/workloads.md explains them."},
	), says: "Its parameters."},
)

var property = of(
	field{name: "name", shape: aText, says: "Its name in reports; each has its own."},
	field{name: "kind", shape: oneOf("safety", "liveness", "invariant", "progress", "recovery"), says: "safety and invariant: it is never broken; an expression of kind invariant is true at every event. liveness: it holds within `timeout` after the start and after each heal. progress, recovery: those of the checks of these names."},
	field{name: "description", shape: aText, says: "For the story of a violation."},
	field{name: "timeout", shape: aPositive, says: "liveness, recovery: how long it may take after the start and after each heal.", def: "30s"},
	field{name: "timeout_ms", of: "timeout", shape: shape{kind: millis, min: 1}},
	field{name: "check", shape: of(
		field{name: "type", shape: oneOf(checkTypes...), says: "How it is judged."},
		field{name: "operations", shape: texts, says: "linearizability, monotonic: the operations whose results are judged. progress, recovery: those that are looked at.", def: "all; monotonic: get and read"},
		field{name: "model", shape: oneOf(models...), says: "linearizability: what a key is like: register, cas-register, key-value (or kv), set, queue, lock, counter, append-list. isolation: list-append or rw-register. durability: register, key-value, set, append-list.", def: "kv; isolation: list-append"},
		field{name: "level", shape: oneOf(levels...), says: "isolation: what transactions must not see of each other.", def: "serializable"},
		field{name: "endpoint", shape: aText, says: "http: a URL, or a path on the first http workload's server. redis: `redis://host:port`. sql: `postgres://user:password@host:port/name` or `mysql://...`. agreement: one of these, with `{node}` for the node."},
		field{name: "command", shape: command, says: "redis, agreement of redis: the command.", def: "redis: PING"},
		field{name: "query", shape: aText, says: "sql, agreement of sql: the statement."},
		field{name: "body", shape: aText, says: "http, agreement of http: what is sent, by POST.", def: "nothing, by GET"},
		field{name: "expect", shape: anyOf(aText, of(
			field{name: "status", shape: shape{kind: whole, min: 100, max: 599}, says: "http: the status.", def: "200"},
			field{name: "body", shape: aText, says: "http: the whole body, without white space around it."},
		)), says: "redis: the reply. sql: the rows, with `|` between columns. http, agreement of http: a mapping.", def: "PONG for PING"},
		field{name: "script", shape: command, says: "custom: a program and its arguments, run on a client node; exit code 0 says that it holds, 1 that it does not. agreement: a program that prints the answer of `{node}`."},
		field{name: "nodes", shape: texts, says: "agreement: the nodes that are asked.", def: "all servers that stay"},
		field{name: "pattern", shape: aPattern, verbatim: true, says: "agreement: a regular expression; its groups, or what it matches, must be the same.", def: "the whole answer"},
		field{name: "unanswered", shape: oneOf("violated", "unknown"), says: "agreement: what it is when a node does not answer after all faults are over.", def: "violated"},
		field{name: "condition", shape: aText, verbatim: true, says: "expression: an expression over the whole history. invariant: one that is true at every event (docs/reference/checks.md)."},
		field{name: "interval", shape: aPositive, says: "http, redis, sql, custom: how often it runs.", def: "1s"},
		field{name: "failures", shape: shape{kind: whole, min: 1, max: 1e6}, says: "progress: so many failures in a row of one kind of operation, key or job are a violation.", def: "no bound"},
		field{name: "hang", shape: aPositive, says: "progress: an operation or job that is under way for so long is a violation.", def: "no bound"},
		field{name: "grace", shape: aDuration, says: "progress: so long after each fault, and after the start, failures and time do not count.", def: "0s"},
		field{name: "during_faults", shape: aFlag, says: "progress: true counts what happens while a fault lasts, too.", def: "false"},
		field{name: "keys", shape: shape{kind: whole, min: 1, max: 1000}, says: "recovery: how many keys, drawn from all that were used, are tried after the last heal.", def: "10"},
		field{name: "jobs", shape: of(
			field{name: "start", shape: aPattern, verbatim: true, says: "A job begins. The first group of the pattern is the job's id; without a group there is one job."},
			field{name: "done", shape: aPattern, verbatim: true, says: "It has ended well."},
			field{name: "failed", shape: aPattern, verbatim: true, says: "It has failed."},
			field{name: "across_nodes", shape: aFlag, says: "true: one id is one job, whichever node writes it.", def: "false: each node has jobs of its own"},
		), says: "progress, recovery: jobs, by what programs write about them in their logs or as events of an Antithesis SDK."},
		field{name: "spec", shape: aText, says: "model: the file of a specification in TLA+ (docs/reference/model.md)."},
		field{name: "config", shape: aText, says: "model: its configuration file.", def: "that of the same name"},
		field{name: "library", shape: texts, says: "model: folders of further modules."},
		field{name: "view", shape: aText, says: "model: an operator of the specification without arguments: what of its states a search tells apart.", def: "all of a state"},
		field{name: "lines", shape: aPattern, verbatim: true, says: "model: the lines of the servers' logs that are events.", def: "all"},
		field{name: "left_out", shape: shape{kind: number, max: 1}, says: "model: the share of the events that may be ignored or not modelled before the verdict is unknown.", def: "0.05"},
		field{name: "events", shape: listOf(of(
			field{name: "log", shape: aPattern, verbatim: true, says: "Lines of logs that match it. Its named groups stand in arguments by their names, as texts."},
			field{name: "crash", shape: aFlag, says: "true: a fault takes a node down, or its program breaks."},
			field{name: "restart", shape: aFlag, says: "true: a node starts again after such a fault."},
			field{name: "operation", shape: aPattern, verbatim: true, says: "Events of the history whose operation's name matches it."},
			field{name: "outcome", shape: oneOf("invoke", "ok", "fail", "info"), says: "operation: only those.", def: "all"},
			field{name: "node", shape: aPattern, verbatim: true, says: "Only of nodes whose whole names match it.", def: "all"},
			field{name: "action", shape: aText, says: "The step that the event is: an operator of the specification."},
			field{name: "args", shape: listOf(aText), verbatim: true, says: "Its arguments, as expressions over `node`, `line`, the groups of `log`, and of operations `client`, `op`, `key`, `input`, `output`, `outcome`, `found`. `int(x)` is a number, `name(x)` a model value."},
			field{name: "ignore", shape: aText, says: "Instead of an action: why the event is no step."},
			field{name: "shows", shape: listOf(of(
				field{name: "operator", shape: aText, says: "An operator of the specification."},
				field{name: "args", shape: listOf(aText), verbatim: true, says: "Its arguments."},
				field{name: "is", shape: aText, verbatim: true, says: "What it must be."},
			)), says: "What the specification must show after the step."},
		)), says: "model: which events are which steps. The first that matches decides; what none matches is counted as not modelled."},
	), says: "The check."},
)

// The words of checks.
var (
	checkTypes = []string{"linearizability", "isolation", "expression", "invariant", "monotonic", "durability", "model", "http", "redis", "sql", "custom", "agreement", "progress", "recovery"}
	models     = []string{"register", "kv", "key-value", "cas-register", "set", "queue", "lock", "counter", "append-list", "list-append", "rw-register"}
	levels     = []string{"read-committed", "read-atomic", "causal", "snapshot-isolation", "strong-session-snapshot-isolation", "serializable", "strong-session-serializable", "strict-serializable"}
	// registersOnly are the levels that are not judged over lists.
	registersOnly = []string{"read-atomic", "causal", "strong-session-snapshot-isolation", "strong-session-serializable"}
	// modelsOf are the models of the checks that have any; the first is the default.
	modelsOf = map[world.CheckType][]string{
		world.Linearizability: {"kv", "register", "cas-register", "key-value", "set", "queue", "lock", "counter", "append-list"},
		world.Isolation:       {"list-append", "rw-register"},
		world.Durability:      {"kv", "register", "key-value", "set", "append-list"},
	}
)

var faults = of(
	field{name: "enabled", shape: aFlag, says: "false: nothing goes wrong.", def: "true"},
	field{name: "mode", shape: oneOf("calm", "moderate", "chaos"), says: "A preset; keys that are written win over it."},
	field{name: "swarm", shape: aFlag, says: "Each tape goes without a random subset of the kinds, so that combinations differ.", def: "true with `mode`, else false"},
	field{name: "warmup", shape: aDuration, says: "How long the workload runs before they begin.", def: "0s"},
	field{name: "start", of: "warmup", equal: true, shape: aDuration},
	field{name: "stop", shape: aPositive, says: "When they end, counted from the end of setup.", def: "with the workload"},
	field{name: "settle", shape: aPositive, says: "How long the world runs on after the last heal before final checks.", def: "10s, or the longest liveness timeout if max_time leaves room"},
	field{name: "require_observed", shape: anyOf(aFlag, listOf(oneOf(kinds...))), says: "A campaign in which these kinds were never observed is `unknown`; true means all, also those of a preset.", def: "the kinds that are written"},
	field{name: "network", shape: of(
		field{name: "enabled", shape: aFlag, says: "false: no fault of this group.", def: "true"},
		field{name: "drop_rate", shape: aRate, says: "Packets lost: a retransmission delay on TCP, a loss on UDP."},
		field{name: "delay_rate", shape: aRate, says: "Packets delayed.", def: "1 with `delay_ms`"},
		field{name: "delay_ms", shape: aMillis, says: "How long.", def: "50"},
		field{name: "delay_jitter_ms", shape: aMillis, says: "Up to this much more or less.", def: "half of `delay_ms` if that is not given, else 0"},
		field{name: "partition_probability", shape: aRate, says: "For each node and link in each `time_step`."},
		field{name: "partition_duration_ms", shape: aSpan, says: "How long.", def: "[1000, 5000]"},
		field{name: "partition_shapes", shape: listOf(oneOf(fault.PartitionShapes...)), says: "What a partition looks like: `nodes` and `links` cut off single ones; `halves`, `bridge` and `ring` part all servers (docs/reference/faults.md).", def: "[nodes, links]"},
		field{name: "clog_probability", shape: aRate, says: "Packets wait until it is over, and none is lost: for each node and link in each `time_step`."},
		field{name: "clog_duration_ms", shape: aSpan, says: "How long.", def: "[1000, 5000]"},
		field{name: "slow_link_probability", shape: aRate, says: "Packets take longer, and fewer get through: for each node and link in each `time_step`."},
		field{name: "slow_link_duration_ms", shape: aSpan, says: "How long.", def: "[1000, 5000]"},
		field{name: "slow_link_latency_ms", shape: aMillis, says: "Added to the link's latency.", def: "100"},
		field{name: "slow_link_jitter_ms", shape: aMillis, says: "Up to this much more, drawn for each packet.", def: "50"},
		field{name: "slow_link_bandwidth_bytes", shape: aWhole, says: "What is left of the bandwidth, in bytes a second; 0 is all.", def: "125000"},
		field{name: "reset_probability", shape: aRate, says: "Connections end by RST, which both ends see or one: for each node and link in each `time_step`."},
		field{name: "dns_fail_probability", shape: aRate, says: "A node gets no answers about names, or failures: for each server in each `time_step`. The names of other nodes then come from the resolver, and not from /etc/hosts."},
		field{name: "dns_fail_duration_ms", shape: aSpan, says: "How long.", def: "[1000, 5000]"},
		field{name: "duplicate_rate", shape: aRate, says: "Datagrams that arrive twice."},
		field{name: "reorder_rate", shape: aRate, says: "Datagrams that are overtaken."},
		field{name: "reorder_ms", shape: aSpan, says: "By how much.", def: "[1, 20]"},
		field{name: "corrupt_rate", shape: aRate, says: "Packets with a wrong bit: TCP's checksum finds it, and they are lost; a datagram arrives with it."},
		field{name: "corruption_rate", of: "corrupt_rate", shape: aRate},
	), says: "Rates are by packet, probabilities by node or link and `time_step`."},
	field{name: "disk", shape: of(
		field{name: "enabled", shape: aFlag, says: "false: no fault of this group.", def: "true"},
		field{name: "profile", shape: oneOf("ext4-ordered", "posix-minimal"), says: "What a disk promises about what was not synchronised when the power goes (docs/reference/faults.md).", def: "ext4-ordered"},
		field{name: "write_fail_rate", shape: aRate, says: "Writes that fail with EIO."},
		field{name: "read_fail_rate", shape: aRate, says: "Reads that fail with EIO, of files that the node has written."},
		field{name: "partial_write_rate", shape: aRate, says: "Writes that take fewer bytes than they are given, and say so."},
		field{name: "fsync_fail_rate", shape: aRate, says: "fsyncs and fdatasyncs that fail with EIO once; what they should have written counts as written then, and is lost with the power."},
		field{name: "torn_write_rate", shape: aRate, says: "Writes at which the power goes, so that the disk has some of their sectors. Like a power loss in all else."},
		field{name: "torn_write_duration_ms", shape: aSpan, says: "How long the node is down.", def: "[500, 3000]"},
		field{name: "read_corrupt_rate", shape: aRate, says: "Reads that find a bit of the file flipped, of files that the node has written. It stays so until it is written again."},
		field{name: "read_corruption_rate", of: "read_corrupt_rate", shape: aRate},
		field{name: "full_probability", shape: aRate, says: "A disk has no room left for a while, for each server in each `time_step`."},
		field{name: "full_duration_ms", shape: aSpan, says: "How long.", def: "[500, 5000]"},
		field{name: "slow_probability", shape: aRate, says: "A disk is slow for a while, for each server in each `time_step`."},
		field{name: "slow_duration_ms", shape: aSpan, says: "How long.", def: "[500, 5000]"},
		field{name: "slow_ms", shape: aSpan, says: "How much longer each read, write and fsync takes meanwhile.", def: "[5, 100]"},
	), says: "Rates are by call, probabilities by server and `time_step`."},
	field{name: "process", shape: of(
		field{name: "enabled", shape: aFlag, says: "false: no fault of this group.", def: "true"},
		field{name: "crash_probability", shape: aRate, says: "kill -9 of all of a node's processes, and a start later, for each server in each `time_step`."},
		field{name: "crash_duration_ms", shape: aSpan, says: "How long the node is down.", def: "[500, 3000]"},
		field{name: "power_loss_probability", shape: aRate, says: "A crash that also takes what the node's disk has not made durable, for each server in each `time_step`."},
		field{name: "power_loss_duration_ms", shape: aSpan, says: "How long the node is down.", def: "[500, 3000]"},
		field{name: "restart_probability", shape: aRate, says: "An orderly restart: the main process gets `stop_signal`, and what runs on after `stop_grace_period` gets SIGKILL; a start later. For each server in each `time_step`."},
		field{name: "restart_duration_ms", shape: aSpan, says: "How long the node is down, once its processes have ended.", def: "[500, 3000]"},
		field{name: "pause_probability", shape: aRate, says: "A node stands still, for each server in each `time_step`."},
		field{name: "pause_duration_ms", shape: aSpan, says: "How long.", def: "[100, 2000]"},
		field{name: "memory_pressure_probability", shape: aRate, says: "A node gives its programs no more memory for a while (ENOMEM), for each server in each `time_step`."},
		field{name: "memory_pressure_duration_ms", shape: aSpan, says: "How long.", def: "[100, 2000]"},
		field{name: "oom_probability", shape: aRate, says: "A node's memory runs out, and its kernel kills the largest process, for each server in each `time_step`."},
		field{name: "oom_duration_ms", shape: aSpan, says: "How long: the memory shrinks in the first half. At the end the node starts again, if its main process was killed and `restart` says nothing else.", def: "[1000, 5000]"},
	), says: "Probabilities are by server and `time_step`."},
	field{name: "clock", shape: of(
		field{name: "enabled", shape: aFlag, says: "false: no fault of this group.", def: "true"},
		field{name: "skew_probability", shape: aRate, says: "A node's date is wrong for a while, for each server in each `time_step`. A fixed offset and drift are `clock` of a node."},
		field{name: "skew_ms", shape: aSpan, says: "How far, ahead or behind.", def: "[100, 5000]"},
		field{name: "skew_duration_ms", shape: aSpan, says: "How long.", def: "[1000, 10000]"},
		field{name: "jump_probability", shape: aRate, says: "A node's date jumps and stays wrong until the heal, for each server in each `time_step`."},
		field{name: "jump_ms", shape: aSpan, says: "How far, ahead or behind.", def: "[1000, 60000]"},
		field{name: "drift_probability", shape: aRate, says: "A node's clocks run at another rate for a while, for each server in each `time_step`."},
		field{name: "drift_ppm", shape: aSpan, says: "How much faster or slower, in parts per million; at most 500000.", def: "[1000, 100000]"},
		field{name: "drift_duration_ms", shape: aSpan, says: "How long.", def: "[1000, 10000]"},
	), says: "Probabilities are by server and `time_step`."},
	field{name: "rules", shape: listOf(anyOf(aText, of(
		field{name: "kind", shape: oneOf(kinds...), says: "The kind of fault. Kinds of rules win over those of `mode`."},
		field{name: "rate", shape: aRate, says: "By packet, call, or target and `time_step`, as the kind has it."},
		field{name: "probability", of: "rate", equal: true, shape: aRate},
		field{name: "targets", shape: textOrAll, says: "Nodes, or links as `a-b` and `a->b`.", def: "all that the kind applies to"},
		field{name: "duration_ms", shape: aSpan, says: "How long it lasts, or a delay takes."},
		field{name: "amount_ms", shape: aSpan, says: "slow_disk: how much longer each call takes. clock_skew, clock_jump: how far."},
		field{name: "amount_ppm", shape: aSpan, says: "clock_drift: how much faster or slower."},
		field{name: "shape", shape: oneOf(fault.PartitionShapes...), says: "partition: what it looks like; of halves, bridge and ring `targets` are the servers that are parted.", def: "nodes and links"},
		field{name: "one_way", shape: aFlag, says: "partition, clog, slow_link: one direction only. reset: only one end of a connection sees it.", def: "false"},
		field{name: "latency_ms", shape: aMillis, says: "slow_link: added to the link's latency.", def: "100"},
		field{name: "jitter_ms", shape: aMillis, says: "slow_link: up to this much more, drawn for each packet.", def: "50"},
		field{name: "bandwidth_bytes", shape: aWhole, says: "slow_link: what is left of the bandwidth, in bytes a second; 0 is all.", def: "125000"},
		field{name: "max", shape: shape{kind: whole, max: 1e6}, says: "How often it strikes in a run; 0 is no bound.", def: "0"},
		field{name: "at", shape: textOrAll, says: "System calls: it strikes as a program of the target enters one of them, and the rate is by such call."},
		field{name: "path", shape: aText, says: "Only at calls on files whose name matches, such as `*.wal`."},
		field{name: "after", shape: aDuration, says: "Not before so much of the chaos phase is over.", def: "0s"},
		field{name: "after_event", shape: aWhole, says: "Not before this event of the run.", def: "0"},
		field{name: "while", shape: aText, says: "Only nodes that have this role (`roles`)."},
		field{name: "when", shape: aText, verbatim: true, says: "Only while this condition is true (docs/reference/faults.md)."},
	))), says: "Faults one by one: as sentences, such as `crash on n1 at fsync while leader max 1`, or as mappings (docs/reference/faults.md)."},
	field{name: "roles", shape: namedWith(of(
		field{name: "log", shape: shape{kind: pattern}, verbatim: true, says: "The node has the role from a line of its log that matches."},
		field{name: "until", shape: shape{kind: pattern}, verbatim: true, says: "... until one that matches this, or its programs end; without it, also until one that tells another role and not this."},
		field{name: "script", shape: command, says: "A program that is run on the checker's node, with `{node}` for the node's name; exit code 0 says that it has the role."},
		field{name: "endpoint", shape: aText, says: "A URL with `{node}`, `http://...` or `redis://...`, that is asked instead."},
		field{name: "command", shape: command, says: "redis: the command.", def: "PING"},
		field{name: "expect", shape: anyOf(aText, of(
			field{name: "status", shape: shape{kind: whole, min: 100, max: 599}, says: "http: the status.", def: "200"},
			field{name: "body", shape: aText, says: "http: the whole body, without white space around it."},
		)), says: "redis: the reply that says so. http: a mapping."},
		field{name: "interval", shape: aPositive, says: "How often it is asked.", def: "1s"},
	)), says: "What nodes are at times, such as `leader`; rules ask for it by `while` and `when`."},
	field{name: "handling", shape: shape{kind: dictionary, item: &handlingKeys}, says: "What shows that programs dealt with a kind of fault. A campaign in which the kind was observed and this never was, is `unknown`."},
)

var handlingKeys = of(
	field{name: "log", shape: aText, says: "The name of a log pattern."},
	field{name: "assertion", shape: aText, says: "The message of a sometimes- or reachable-assertion."},
)

var exploration = of(
	field{name: "strategy", shape: oneOf("random", "coverage-guided", "bfs", "dfs", "swarm", "pct"), says: "How the next tape is found (docs/reference/exploration.md).", def: "random"},
	field{name: "seed", shape: shape{kind: unsigned}, says: "The campaign's seed.", def: "1"},
	field{name: "parallel_workers", shape: shape{kind: whole, min: 1, max: 4096}, says: "Worlds at once.", def: "one a CPU"},
	field{name: "workers", of: "parallel_workers", shape: shape{kind: whole, min: 1, max: 4096}},
	field{name: "timeout", shape: aPositive, says: "Real time of a campaign.", def: "no bound"},
	field{name: "max_depth", shape: wholeFrom(1), says: "`bfs` and `dfs`: how many edits of the base tape a tape has at most.", def: "2"},
	field{name: "max_states", shape: wholeFrom(1), says: "`bfs` and `dfs`: how many tapes are played at most.", def: "no bound"},
	field{name: "streams", shape: texts, says: "`bfs` and `dfs`: edit draws of these streams alone, such as `fault/**`.", def: "faults, packets, disks and preemptions"},
	field{name: "feedback_delay", shape: shape{kind: whole, min: 1, max: 4096}, says: "How many runs may be under way when the tape of the next is picked: strategies other than `random` pick the tape of run i by the results of the runs up to i minus this number. More workers than that are idle.", def: "8"},
	field{name: "corpus", shape: aText, says: "`coverage-guided`: begin with the runs of the corpus in this folder."},
	field{name: "prioritize_coverage", shape: aFlag, says: "`coverage-guided`: change runs that reached what is rare, and none because they came close to a violation."},
	field{name: "prioritize_near_violation", shape: aFlag, says: "`coverage-guided`: change most often runs that came close to a violation. Both together: both in turn, as without them."},
)

var output = of(
	field{name: "dir", shape: aText, says: "The folder for the files below.", def: ".bloodhound"},
	field{name: "save_violation_traces", shape: aFlag, says: "Write the trace of each failure.", def: "false"},
	field{name: "save_interesting_seeds", shape: aFlag, says: "Write the seeds of failures.", def: "false"},
	field{name: "summary_report", shape: aFlag, says: "Write the summary of a campaign.", def: "false"},
	field{name: "coverage_format", shape: oneOf("html", "json", "text", "lcov"), says: "Find out which code a campaign runs, as `coverage.enabled`, and write it in this format.", def: "html"},
)

var coverage = of(
	field{name: "enabled", shape: aFlag, says: "Find out which blocks of programs are run, and write a report of it.", def: "true if `output.coverage_format` or another key here is set"},
	field{name: "binaries", shape: texts, says: "Programs and libraries by name, or by path in the world if there is a slash, with `*` and `?`; a `!` in front leaves one out.", def: "the programs of servers, but for shells and tools of the system"},
	field{name: "threshold", shape: aText, says: "The least share of their blocks, such as 80%. A campaign that covers less is `unknown`."},
)

var traceLevel = shape{kind: word, words: []string{"off", "error", "warn", "info", "debug", "trace"},
	spellings: map[string]string{"none": "off", "quiet": "off", "minimal": "warn", "warning": "warn", "normal": "info", "verbose": "debug", "full": "trace", "all": "trace"}}

var debug = of(
	field{name: "trace_level", shape: traceLevel, says: "How much of a trace is written: nothing; crashes; also faults and ends of processes; also all of network, disk and processes; `debug` and `trace`: everything. Other spellings: `none` and `quiet` for `off`, `minimal` and `warning` for `warn`, `normal` for `info`, `verbose` for `debug`, `full` and `all` for `trace`.", def: "trace"},
	field{name: "trace_events", shape: texts, says: "Only these: network_send, network_recv, disk_write, disk_read, disk_sync, process_start, process_exit, process_crash, fault, or names of system calls."},
	field{name: "trace_file", shape: aText, says: "Write the trace of a run here."},
	field{name: "gdb_enabled", shape: aFlag, idle: "there is no debugger yet"},
	field{name: "gdb_port", shape: shape{kind: whole, min: 1, max: 65535}, idle: "there is no debugger yet"},
	field{name: "snapshot_interval", shape: anyOf(aText), idle: "worlds are not copied yet; replay runs from the start"},
)

// kinds are the words for kinds of faults.
var kinds = func() (words []string) {
	for _, k := range fault.Kinds {
		words = append(words, string(k))
	}
	return words
}()
