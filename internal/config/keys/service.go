package keys

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

// Limits of a node that are written as keys of a service and under deploy. Docker takes none of memory below 6 MiB.
var (
	cpuShare    = shape{Kind: schema.Number, Max: 1e6}
	memoryLimit = shape{Kind: schema.Size, Min: 6 << 20}
	taskLimit   = shape{Kind: schema.Whole, Min: -1}
)

// ulimit is one limit of a node.
var ulimit = anyOf(shape{Kind: schema.Whole, Min: -1}, of(
	field{Name: "soft", Shape: shape{Kind: schema.Whole, Min: -1}, Says: "What is in force."},
	field{Name: "hard", Shape: shape{Kind: schema.Whole, Min: -1}, Says: "What a process may raise it to."},
))

var Service = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "command", Shape: command, Says: "The program and its arguments. Text is split into words, without a shell. Paths start at `working_dir`."},
	{Name: "entrypoint", Shape: command, Says: "Words before those of `command`."},
	{Name: "build", Shape: anyOf(aText, texts, of(
		field{Name: "command", Shape: command, Says: "The program that builds, and its arguments."},
		field{Name: "dir", Shape: aText, Says: "Where it runs.", Default: "the project's folder"},
		field{Name: "environment", Shape: shape{Kind: schema.Variables}, Says: "Variables that it gets besides the user's own."},
		field{Name: "context", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "dockerfile", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "dockerfile_inline", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "args", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "target", Shape: anyShape, Refused: NoDockerfile},
	)), Says: "A command that builds the project's own programs, run on this machine before the first run. Equal steps run once."},
	{Name: "root", Shape: aText, Says: "The node's files: `host` (this machine's, which stay untouched), `none` (the project's folder and nothing else of this machine, for static programs) or a folder.", Default: "host"},
	{Name: "role", Shape: oneOf("server", "client"), Says: "Clients suffer no process, disk or clock fault; their links may.", Default: "server"},
	{Name: "clock", Shape: of(
		field{Name: "offset", Shape: shape{Kind: schema.Signed}, Says: "How far the node's clock is ahead.", Default: "0s"},
		field{Name: "drift_ppm", Shape: shape{Kind: schema.Number, Min: -100_000, Max: 100_000}, Says: "How much faster it runs, in parts per million.", Default: "0"},
	), Says: "The node's clock."},
	{Name: "environment", Shape: shape{Kind: schema.Variables}, Says: "Variables; a name without a value is taken from the environment. `PATH`, `HOME` and `HOSTNAME` are always there, and nothing else of this machine's."},
	{Name: "env_file", Shape: anyOf(aText, listOf(anyOf(aText, of(
		field{Name: "path", Shape: aText, Says: "The file."},
		field{Name: "required", Shape: aFlag, Says: "Whether it must exist.", Default: "true"},
		field{Name: "format", Shape: oneOf("raw"), Says: "`raw`: values are taken as they are."},
	)))), Says: "Files of variables; `environment` wins."},
	{Name: "working_dir", Shape: aText, Says: "Where the command starts. A folder that an image does not have is made.", Default: "the project's folder; / with a `root` of its own"},
	{Name: "volumes", Shape: listOf(anyOf(aText, of(
		field{Name: "type", Shape: oneOf("bind", "volume", "tmpfs"), Says: "Where its content comes from."},
		field{Name: "source", Shape: aText, Says: "A path of this machine, or a volume's name."},
		field{Name: "target", Shape: aText, Says: "The path in the node."},
		field{Name: "read_only", Shape: aFlag, Says: "Refuse writes.", Default: "false"},
		field{Name: "bind", Shape: anyShape, Idle: "writes to a bind mount stay in the world"},
		field{Name: "volume", Shape: of(
			field{Name: "nocopy", Shape: aFlag, Says: "It begins empty, and not with what the image has there.", Default: "false"},
			field{Name: "subpath", Shape: aText, Refused: "give the folder a volume of its own"},
			field{Name: "labels", Shape: anyShape, Idle: forPeople},
		), Says: "More about a volume."},
		field{Name: "tmpfs", Shape: of(
			field{Name: "size", Shape: shape{Kind: schema.Size, Min: 1}, Says: "Its size.", Default: "no bound"},
			field{Name: "mode", Shape: aText, Says: "The permissions of its root, as 0o1770.", Default: "0o1777"},
		), Says: "More about a tmpfs."},
		field{Name: "image", Shape: anyShape, Refused: "copy what is needed of that image into a volume, or into the node's own image"},
		field{Name: "consistency", Shape: aText, Idle: "all mounts are consistent"},
	))), Says: "Mounts: `SOURCE:TARGET[:ro]` or the long form. Named volumes begin empty, or with what the image has there; bind mounts with what this machine has, which stays as it is. Services of Compose files that have the same volume or bind the same path share it (docs/reference/compose.md); those of `nodes:` belong to their node."},
	{Name: "tmpfs", Shape: textOrAll, Says: "Paths of empty folders that a power loss empties again, with options: `/tmp:size=64m,mode=1770,uid=1000`."},
	{Name: "depends_on", Shape: anyOf(texts, namedWith(of(
		field{Name: "condition", Shape: oneOf("service_started", "service_healthy", "service_completed_successfully"), Says: "How far the other node must be.", Default: "service_started"},
		field{Name: "required", Shape: aFlag, Says: "Whether the other node must exist.", Default: "true"},
		field{Name: "restart", Shape: aFlag, Idle: "nobody restarts nodes by hand here"},
	))), Says: "Nodes that start first."},
	{Name: "healthcheck", Shape: of(
		field{Name: "test", Shape: command, Says: "`[CMD, program, ...]`, `[CMD-SHELL, line]`, `[NONE]`, or text for a shell."},
		field{Name: "interval", Shape: aPositive, Says: "Time between two checks.", Default: "30s"},
		field{Name: "timeout", Shape: aPositive, Says: "Time that a check may take.", Default: "30s"},
		field{Name: "retries", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6}, Says: "Failures until the node is unhealthy.", Default: "3"},
		field{Name: "start_period", Shape: aDuration, Says: "Time at start in which failures do not count.", Default: "0s"},
		field{Name: "start_interval", Shape: aPositive, Says: "Time between two checks in the start period.", Default: "5s"},
		field{Name: "disable", Shape: aFlag, Says: "No check at all.", Default: "false"},
	), Says: "When the node is healthy."},
	{Name: "restart", Shape: aText, Says: "`no`, `always`, `unless-stopped`, `on-failure` or `on-failure:N`. The faults `crash` and `restart` start a node again whatever this says.", Default: "no"},
	{Name: "hostname", Shape: aText, Says: "The node's own name, which resolves to it.", Default: "the node's name"},
	{Name: "container_name", Shape: aText, Says: "A further name that resolves to the node."},
	{Name: "networks", Shape: shape{Kind: schema.Either, Empty: true, Alts: []shape{texts, {Kind: schema.Dictionary, Item: &attachment, Names: NodeName}}}, Says: "The networks that the node is on: a list of names, or a mapping with options.", Default: "`default`; all of them for clients"},
	{Name: "links", Shape: texts, Says: "`NODE:NAME`: a further name for another node, on this one. Implies `depends_on`."},
	{Name: "extra_hosts", Shape: anyOf(texts, shape{Kind: schema.Dictionary, Item: &textOrAll}), Says: "Lines for the node's hosts file: `NAME=IP` or `NAME: IP`."},
	{Name: "user", Shape: aText, Says: "User and group, by name or number: `U` or `U:G`.", Default: "root"},
	{Name: "stop_signal", Shape: aText, Says: "What the fault `restart` tells the main process to stop by: a name or a number. Nothing else stops a node in order.", Default: "SIGTERM, or as the image says"},
	{Name: "stop_grace_period", Shape: aDuration, Says: "How long the fault `restart` lets the main process stop; then all of the node's processes get SIGKILL.", Default: "10s"},
	{Name: "ports", Shape: listOf(anyOf(aText, of(
		field{Name: "target", Shape: aText, Says: "The port of the node."},
		field{Name: "published", Shape: aText, Says: "The port of this machine that stands for it."},
		field{Name: "host_ip", Shape: aText, Idle: "nothing of a world is reachable from this machine"},
		field{Name: "protocol", Shape: aText, Idle: "nodes reach each other by any protocol"},
		field{Name: "mode", Shape: aText, Idle: "there is no swarm"},
		field{Name: "name", Shape: aText, Idle: "for people only"},
		field{Name: "app_protocol", Shape: aText, Idle: "for people only"},
	))), Says: "Information: nodes reach each other on all ports. A target or endpoint that names `localhost` means the node that publishes its port."},
	{Name: "profiles", Shape: texts, Says: "The node exists only if `COMPOSE_PROFILES` names one of these."},
	{Name: "scale", Shape: shape{Kind: schema.Whole, Max: MaxNodes}, Says: "How many nodes it is: NAME-1, NAME-2 and so on. NAME resolves to all of them, in this order, and stands for all of them in faults.", Default: "1"},
	{Name: "replicas", SpellingOf: "scale", Shape: shape{Kind: schema.Whole, Max: MaxNodes}},
	{Name: "image", Shape: aText, Says: "The container image that the node's files come from, with its entrypoint, command, environment, user, working directory, healthcheck, stop signal and volumes, unless the node says otherwise. A name as registries have it, or `oci:FOLDER[:NAME]`, `docker-archive:FILE[:NAME]`, `docker-daemon:NAME`. Without effect beside `root:`."},

	{Name: "annotations", Shape: anyShape, Idle: forPeople},
	{Name: "attach", Shape: anyShape, Idle: "all output is collected"},
	{Name: "blkio_config", Shape: anyShape, Idle: noCgroup},
	{Name: "cap_add", Shape: anyShape, Idle: noPrivileges},
	{Name: "cap_drop", Shape: anyShape, Idle: noPrivileges},
	{Name: "cgroup", Shape: anyShape, Idle: noCgroup},
	{Name: "cgroup_parent", Shape: anyShape, Idle: noCgroup},
	{Name: "cpu_count", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_percent", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_period", Shape: shape{Kind: schema.Whole, Min: 1000, Max: 1e6}, Says: "Microseconds.", Default: "100000"},
	{Name: "cpu_quota", Shape: shape{Kind: schema.Whole, Min: -1}, Says: "Its share of a CPU as microseconds of each `cpu_period`; without effect beside `cpus`. -1 is all of it."},
	{Name: "cpu_rt_period", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_rt_runtime", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_shares", Shape: anyShape, Idle: oneCPU},
	{Name: "cpus", Shape: cpuShare, Says: "Its share of a CPU: below 1, a system call costs 1/share as much virtual time. From 1 on it is one CPU, as without the key.", Default: "1"},
	{Name: "cpuset", Shape: anyShape, Idle: oneCPU},
	{Name: "deploy", Shape: deploy, Says: "The parts of it that Compose honours without a swarm."},
	{Name: "develop", Shape: anyShape, Idle: "nothing is watched"},
	{Name: "dns", Shape: anyShape, Idle: oneResolver},
	{Name: "dns_opt", Shape: anyShape, Idle: oneResolver},
	{Name: "dns_search", Shape: textOrAll, Says: "Domains to try behind names that do not resolve."},
	{Name: "domainname", Shape: aText, Says: "The node's domain, behind its own name in its /etc/hosts."},
	{Name: "expose", Shape: anyShape, Idle: "nodes reach each other on all ports"},
	{Name: "group_add", Shape: texts, Says: "Further groups of its user, by name or number."},
	{Name: "init", Shape: aFlag, Says: "Of a node with an image: a small init is process 1, which reaps and passes signals on, and not the program itself.", Default: "false"},
	{Name: "ipc", Shape: anyShape, Idle: "nodes share nothing"},
	{Name: "isolation", Shape: anyShape, Idle: "nodes share nothing"},
	{Name: "labels", Shape: anyShape, Idle: forPeople},
	{Name: "label_file", Shape: anyShape, Idle: forPeople},
	{Name: "logging", Shape: anyShape, Idle: "all output is collected"},
	{Name: "mac_address", Shape: aText, Says: "The Ethernet address of the node's first interface.", Default: "02:42 and the IPv4 address"},
	{Name: "mem_limit", Shape: memoryLimit, Says: "What its processes may have of memory, together: what they have touched of their own, what they share, and files in memory. Beyond it its kernel kills the largest, by SIGKILL.", Default: "no bound"},
	{Name: "mem_reservation", Shape: anyShape, Idle: "a node takes no memory from another, and so needs none reserved"},
	{Name: "mem_swappiness", Shape: anyShape, Idle: noSwap},
	{Name: "memswap_limit", Shape: anyShape, Idle: noSwap},
	{Name: "network_mode", Shape: aText, Says: "In the place of `networks`. `none`: loopback alone. `bridge`: a network of the nodes that say so. `host`: every network. `service:NAME`: the network of another node, with its addresses, ports, loopback and hostname. `container:` is refused."},
	{Name: "oom_kill_disable", Shape: anyShape, Idle: "control groups of version 2 know no such thing"},
	{Name: "oom_score_adj", Shape: shape{Kind: schema.Whole, Min: -1000, Max: 1000}, Says: "How much sooner its processes are killed than others where memory is out; -1000: never.", Default: "0"},
	{Name: "pid", Shape: anyShape, Idle: "nodes share nothing"},
	{Name: "pids_limit", Shape: taskLimit, Says: "How many processes and threads it may have at once; beyond it they get EAGAIN. 0 or -1 is no bound.", Default: "no bound"},
	{Name: "platform", Shape: anyShape, Idle: "programs run on this machine's own platform"},
	{Name: "privileged", Shape: anyShape, Idle: noPrivileges},
	{Name: "pull_refresh_after", Shape: anyShape, Idle: "an image is pulled once; `bloodhound image pull` asks again"},
	{Name: "pull_policy", Shape: oneOf("missing", "if_not_present", "always", "never", "build", "daily", "weekly"), Says: "`always` asks for the image each time, `never` takes it from the store alone, `build` builds it, all others pull it if the store does not have it."},
	{Name: "read_only", Shape: aFlag, Says: "Its root is read-only (EROFS); volumes and folders in memory are not.", Default: "false"},
	{Name: "runtime", Shape: anyShape, Idle: "there is no container runtime"},
	{Name: "security_opt", Shape: anyShape, Idle: noPrivileges},
	{Name: "shm_size", Shape: shape{Kind: schema.Size, Min: 1}, Says: "The size of /dev/shm.", Default: "no bound"},
	{Name: "stdin_open", Shape: anyShape, Idle: "standard input is empty"},
	{Name: "storage_opt", Shape: anyShape, Idle: "the disk is the engine's"},
	{Name: "sysctls", Shape: anyOf(texts, shape{Kind: schema.Dictionary, Item: &aText}), Says: "Settings of its kernel, which show at /proc/sys: `NAME=VALUE` or `NAME: VALUE`, of those that a container has of its own (net.*, fs.mqueue.*, System V's, kernel.domainname). docs/reference/limits.md lists those with an effect; a note names others."},
	{Name: "tty", Shape: anyShape, Idle: "output goes to the engine, not to a terminal"},
	{Name: "ulimits", Shape: shape{Kind: schema.Dictionary, Item: &ulimit}, Says: "Limits of getrlimit(2) that its processes begin with, by Docker's names: nofile, nproc, core, memlock, stack, fsize and others. -1 is no bound."},
	{Name: "userns_mode", Shape: anyShape, Idle: noPrivileges},
	{Name: "umask", Shape: anyShape, Idle: "Docker's own is 0022, and so is the engine's"},
	{Name: "use_api_socket", Shape: anyShape, Refused: "a world has no container engine; make what talks to one a node, or take it away"},
	{Name: "uts", Shape: anyShape, Idle: "nodes share nothing"},

	{Name: "configs", Shape: fileUses("/NAME"), Says: "Files of the Compose file's `configs`."},
	{Name: "credential_spec", Shape: anyShape, Refused: "remove it; there is no Windows here"},
	{Name: "device_cgroup_rules", Shape: anyShape, Refused: noDevices},
	{Name: "devices", Shape: anyShape, Refused: noDevices},
	{Name: "extends", Shape: anyShape, Refused: "copy the keys, or share them by an anchor: `x-base: &base` and `<<: *base`"},
	{Name: "external_links", Shape: anyShape, Refused: "a world reaches nothing outside: make it a node"},
	{Name: "gpus", Shape: anyShape, Refused: noDevices},
	{Name: "models", Shape: anyShape, Refused: noModels},
	{Name: "pre_start", Shape: anyShape, Refused: "make it a service that this one waits for by `service_completed_successfully`"},
	{Name: "post_start", Shape: listOf(of(
		field{Name: "command", Shape: command, Says: "The program and its arguments."},
		field{Name: "user", Shape: aText, Says: "User and group that it runs as.", Default: "the node's"},
		field{Name: "working_dir", Shape: aText, Says: "Where it starts.", Default: "the node's"},
		field{Name: "environment", Shape: shape{Kind: schema.Variables}, Says: "Variables besides the node's."},
		field{Name: "privileged", Shape: aFlag, Idle: noPrivileges},
	)), Says: "Commands that run in the node, one after the other, when its main process has started for the first time. Nodes that depend on it wait for them, and so does setup; one that fails ends the run as `unknown`."},
	{Name: "pre_stop", Shape: anyShape, Refused: "run it from the node's command"},
	{Name: "provider", Shape: anyShape, Refused: "a world reaches nothing outside: make it a node"},
	{Name: "secrets", Shape: fileUses("/run/secrets/NAME"), Says: "Files of the Compose file's `secrets`."},
	{Name: "volumes_from", Shape: texts, Says: "`NODE` or `NODE:ro`: the volumes and bind mounts of another node, at the same places, which both share then."},
}}

const noDriver = "all networks are made of the world's own links"

// networkTable is Compose's table of networks.
var networkTable = shape{Kind: schema.Dictionary, Names: NodeName, Empty: true, Item: &shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
	{Name: "name", Shape: aText, Says: "What Docker calls it. Names of nodes may end with it, or with the network's own: `web.front`.", Default: "the world's name, _ and the network's"},
	{Name: "internal", Shape: aFlag, Says: "It has no route to elsewhere: what is not on it is unreachable at once.", Default: "false"},
	{Name: "enable_ipv4", Shape: aFlag, Says: "Nodes on it have IPv4 addresses.", Default: "true"},
	{Name: "enable_ipv6", Shape: aFlag, Says: "Nodes on it have IPv6 addresses.", Default: "false"},
	{Name: "ipam", Shape: shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
		{Name: "config", Shape: shape{Kind: schema.Sequence, Empty: true, Item: &shape{Kind: schema.Section, Open: true, Fields: []field{
			{Name: "subnet", Shape: aText, Says: "Its addresses, such as 172.28.0.0/16.", Default: "10.77.N.0/24"},
			{Name: "gateway", Shape: aText, Says: "The address that no node gets, to which the default route leads.", Default: "the first one"},
			{Name: "ip_range", Shape: aText, Says: "The part from which nodes get addresses that ask for none.", Default: "the subnet"},
			{Name: "aux_addresses", Shape: shape{Kind: schema.Dictionary, Item: &aText}, Says: "Addresses that no node gets, by name."},
		}}}, Says: "One subnet of IPv4, and one of IPv6."},
		{Name: "driver", Shape: aText, Idle: noDriver},
		{Name: "options", Shape: anyShape, Idle: noDriver},
	}}, Says: "Its addresses."},
	{Name: "external", Shape: anyOf(aFlag, of(field{Name: "name", Shape: aText, Says: "What Docker calls it."})), Says: "The network exists already. In a world it does not: it gets one of that name."},
	{Name: "driver", Shape: aText, Idle: noDriver},
	{Name: "driver_opts", Shape: anyShape, Idle: noDriver},
	{Name: "attachable", Shape: anyShape, Idle: "nobody attaches anything by hand here"},
	{Name: "labels", Shape: anyShape, Idle: forPeople},
}}}

// attachment is what a node says of a network that it is on.
var attachment = shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
	{Name: "aliases", Shape: shape{Kind: schema.Sequence, Item: &aText, Empty: true}, Says: "Further names that resolve to the node, on this network. Several nodes may share one: it resolves to all of them, in their order."},
	{Name: "use_service_name_alias", Shape: aFlag, Says: "false: the node's own name, hostname and service do not resolve to it on this network; its `container_name` and aliases do.", Default: "true"},
	{Name: "ipv4_address", Shape: aText, Says: "Its address, on a network with a `subnet`.", Default: "the next free one"},
	{Name: "ipv6_address", Shape: aText, Says: "Its IPv6 address, on a network with a `subnet` of IPv6.", Default: "the next free one"},
	{Name: "link_local_ips", Shape: anyShape, Idle: "an interface has one address of each family"},
	{Name: "mac_address", Shape: aText, Says: "The interface's Ethernet address.", Default: "02:42 and the IPv4 address"},
	{Name: "interface_name", Shape: aText, Says: "The interface's name.", Default: "eth0, eth1 and so on"},
	{Name: "priority", Shape: shape{Kind: schema.Whole, Min: -1e9, Max: 1e9}, Says: "Interfaces are made in the order of their networks' priority, the highest first, then of their names.", Default: "0"},
	{Name: "gw_priority", Shape: shape{Kind: schema.Whole, Min: -1e9, Max: 1e9}, Says: "The highest has the default route, and is asked first for names.", Default: "0"},
	{Name: "driver_opts", Shape: anyShape, Idle: noDriver},
}}
