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
var ulimit = anyOf(shape{Kind: schema.Whole, Min: -1}, sectionOf(
	field{Name: "soft", Shape: shape{Kind: schema.Whole, Min: -1}, Says: "Limit in force."},
	field{Name: "hard", Shape: shape{Kind: schema.Whole, Min: -1}, Says: "Highest soft limit that a process may set."},
))

var Service = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "command", Shape: command, Says: "Program and its arguments. Text is split into words without a shell. Relative paths start at `working_dir`."},
	{Name: "releases", Shape: listOf(command),
		Says: "Commands of other releases, oldest first, in place of `entrypoint` and `command`. After the fault " +
			"`restart`, the tape chooses the same or a later one; `upgrade` starts the next one. Not on the engine container."},
	{Name: "downgrade", Shape: aFlag, Says: "`true`: a restart may also start an older release.", Default: "false"},
	{Name: "replacement", Shape: command,
		Says: "Command of a machine that takes the node's place (the fault `replace`), until the node is ready. It lets the node " +
			"join a running cluster with an empty disk. With `mode: operator`, only nodes with this key are replaced.", Default: "`command`"},
	{Name: "entrypoint", Shape: command, Says: "Words before `command`."},
	{Name: "build", Shape: anyOf(aText, texts, sectionOf(
		field{Name: "command", Shape: command, Says: "Build program and its arguments."},
		field{Name: "dir", Shape: aText, Says: "Working directory of the build.", Default: "the project folder"},
		field{Name: "environment", Shape: shape{Kind: schema.Variables}, Says: "Variables in addition to the user's."},
		field{Name: "context", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "dockerfile", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "dockerfile_inline", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "args", Shape: anyShape, Refused: NoDockerfile},
		field{Name: "target", Shape: anyShape, Refused: NoDockerfile},
	)), Says: "Command that builds the programs on the host before the first run. Identical commands run once."},
	{Name: "root", Shape: aText, Says: "File system: `host` (the host's, which stays unmodified), `none` (only the project folder, for " +
		"static programs) or a folder.", Default: "host"},
	{Name: "role", Shape: oneOf("server", "client"),
		Says: "`client`: gets no process, disk or clock faults. Its links get faults.", Default: "server"},
	{Name: "clock", Shape: sectionOf(
		field{Name: "offset", Shape: shape{Kind: schema.Signed}, Says: "Time by which the clock is ahead.", Default: "0s"},
		field{Name: "drift_ppm", Shape: shape{Kind: schema.Number, Min: -100_000, Max: 100_000},
			Says: "Rate by which the clock is fast, in parts per million.", Default: "0"},
	), Says: "Clock of the node."},
	{Name: "environment", Shape: shape{Kind: schema.Variables},
		Says: "Variables. A name without a value takes it from Bloodhound's environment. A node also has `PATH`, `HOME` " +
			"and `HOSTNAME`, and no other variable of the host."},
	{Name: "env_file", Shape: anyOf(aText, listOf(anyOf(aText, sectionOf(
		field{Name: "path", Shape: aText, Says: "Path of the file."},
		field{Name: "required", Shape: aFlag, Says: "Whether the file must exist.", Default: "true"},
		field{Name: "format", Shape: oneOf("raw"), Says: "`raw`: values are literal."},
	)))), Says: "Files of variables. `environment` takes precedence."},
	{Name: "working_dir", Shape: aText, Says: "Working directory of the command. It is created if the image lacks it.",
		Default: "the project folder; `/` with an image or a `root` folder"},
	{Name: "volumes", Shape: listOf(anyOf(aText, sectionOf(
		field{Name: "type", Shape: oneOf("bind", "volume", "tmpfs"), Says: "Type of the mount."},
		field{Name: "source", Shape: aText, Says: "Path on the host, or name of a volume."},
		field{Name: "target", Shape: aText, Says: "Path in the node."},
		field{Name: "read_only", Shape: aFlag, Says: "Mounts read-only.", Default: "false"},
		field{Name: "bind", Shape: anyShape, Idle: "a bind mount is private: its writes stay in the world"},
		field{Name: "volume", Shape: sectionOf(
			field{Name: "nocopy", Shape: aFlag, Says: "`true`: starts empty, without the image's files.", Default: "false"},
			field{Name: "subpath", Shape: aText, Refused: "give the subfolder a volume of its own"},
			field{Name: "labels", Shape: anyShape, Idle: forPeople},
		), Says: "Options of a volume."},
		field{Name: "tmpfs", Shape: sectionOf(
			field{Name: "size", Shape: shape{Kind: schema.Size, Min: 1}, Says: "Size of the tmpfs.", Default: "no limit"},
			field{Name: "mode", Shape: aText, Says: "Permissions of its root folder, such as 0o1770.", Default: "0o1777"},
		), Says: "Options of a tmpfs."},
		field{Name: "image", Shape: anyShape, Refused: "copy the files that you need from that image into a volume, or into the node's own image"},
		field{Name: "consistency", Shape: aText, Idle: "all mounts are consistent"},
	))), Says: "`SOURCE:TARGET[:ro]` or a mapping. A named volume starts empty or with the image's files, a bind " +
		"mount with the host's files, which stay unmodified."},
	{Name: "tmpfs", Shape: textOrAll, Says: "Empty folders in memory, such as `/tmp:size=64m,mode=1770,uid=1000`. A power loss empties them."},
	{Name: "depends_on", Shape: anyOf(texts, namedWith(sectionOf(
		field{Name: "condition", Shape: oneOf("service_started", "service_healthy", "service_completed_successfully"),
			Says: "State that the other node must reach.", Default: "service_started"},
		field{Name: "required", Shape: aFlag, Says: "Whether the other node must exist.", Default: "true"},
		field{Name: "restart", Shape: aFlag, Idle: "a world restarts no node by hand"},
	))), Says: "Nodes that start before this one."},
	{Name: "healthcheck", Shape: sectionOf(
		field{Name: "test", Shape: command, Says: "`[CMD, program, ...]`, `[CMD-SHELL, line]`, `[NONE]`, or text for a shell."},
		field{Name: "interval", Shape: aPositive, Says: "Interval of the check.", Default: "30s"},
		field{Name: "timeout", Shape: aPositive, Says: "Timeout of one check.", Default: "30s"},
		field{Name: "retries", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6},
			Says: "Consecutive failures that make the node unhealthy.", Default: "3"},
		field{Name: "start_period", Shape: aDuration, Says: "Time after the start in which failures do not count.", Default: "0s"},
		field{Name: "start_interval", Shape: aPositive, Says: "Interval in the start period.", Default: "5s"},
		field{Name: "disable", Shape: aFlag, Says: "Turns the check off.", Default: "false"},
	), Says: "Command that checks whether the node is healthy."},
	{Name: "restart", Shape: aText, Says: "`no`, `always`, `unless-stopped`, `on-failure` or `on-failure:N`. The faults `crash` " +
		"and `restart` start a node again with every policy.", Default: "no"},
	{Name: "allow", Shape: allowances, Says: "Ways in which programs may end by design, such as `{exit: [1], while: disk_full}`. Such an end is " +
		"not a violation (docs/reference/checks.md#programs-that-stop-by-design)."},
	{Name: "hostname", Shape: aText, Says: "Host name. It resolves to the node.", Default: "the name of the node"},
	{Name: "container_name", Shape: aText, Says: "Additional name that resolves to the node."},
	{Name: "networks", Shape: shape{Kind: schema.Either, Empty: true,
		Alts: []shape{texts, {Kind: schema.Dictionary, Item: &attachment, Names: NodeName}}},
		Says: "Networks of the node: names, or a mapping with options.", Default: "`default`; for clients all networks"},
	{Name: "links", Shape: texts, Says: "`NODE:NAME`: alias for another node that only this node resolves. Implies `depends_on`."},
	{Name: "extra_hosts", Shape: anyOf(texts, shape{Kind: schema.Dictionary, Item: &textOrAll}),
		Says: "Entries for /etc/hosts: `NAME=IP` or `NAME: IP`."},
	{Name: "user", Shape: aText, Says: "User and group, by name or number: `U` or `U:G`.", Default: "root"},
	{Name: "stop_signal", Shape: aText,
		Says:    "Signal that the fault `restart` sends to the main process, by name or number.",
		Default: "the image's, else SIGTERM"},
	{Name: "stop_grace_period", Shape: aDuration,
		Says: "Time between the stop signal and SIGKILL to all processes of the node.", Default: "10s"},
	{Name: "ports", Shape: listOf(anyOf(aText, sectionOf(
		field{Name: "target", Shape: aText, Says: "Port of the node."},
		field{Name: "published", Shape: aText, Says: "Port of the host."},
		field{Name: "host_ip", Shape: aText, Idle: "the host cannot connect to a world"},
		field{Name: "protocol", Shape: aText, Idle: "nodes reach each other by every protocol"},
		field{Name: "mode", Shape: aText, Idle: "a world is not a swarm"},
		field{Name: "name", Shape: aText, Idle: "documentation only"},
		field{Name: "app_protocol", Shape: aText, Idle: "documentation only"},
	))), Says: "Not needed between nodes. `localhost` in a target or endpoint means the node that publishes its " +
		"port."},
	{Name: "profiles", Shape: texts, Says: "The node exists only if `COMPOSE_PROFILES` lists one of these."},
	{Name: "scale", Shape: shape{Kind: schema.Whole, Max: MaxNodes},
		Says:    "Number of nodes NAME-1, NAME-2 and so on. NAME means all of them.",
		Default: "1"},
	{Name: "count", Shape: shape{Kind: schema.Whole, Min: 1, Max: MaxNodes},
		Says: "Number of nodes NAME1, NAME2 and so on, with templates " +
			"(docs/reference/config/nodes.md#nodes-of-one-kind). NAME means all of them.",
		Default: "one node, NAME, without templates"},
	{Name: "replicas", SpellingOf: "scale", Shape: shape{Kind: schema.Whole, Max: MaxNodes}},
	{Name: "image", Shape: aText, Says: "Container image: a name of a registry, `oci:FOLDER[:NAME]`, `docker-archive:FILE[:NAME]` or " +
		"`docker-daemon:NAME`. Keys of the node override its settings. No effect with `root`."},

	{Name: "annotations", Shape: anyShape, Idle: forPeople},
	{Name: "attach", Shape: anyShape, Idle: "Bloodhound collects all output"},
	{Name: "blkio_config", Shape: anyShape, Idle: noCgroup},
	{Name: "cap_add", Shape: anyShape, Idle: noPrivileges},
	{Name: "cap_drop", Shape: anyShape, Idle: noPrivileges},
	{Name: "cgroup", Shape: anyShape, Idle: noCgroup},
	{Name: "cgroup_parent", Shape: anyShape, Idle: noCgroup},
	{Name: "cpu_count", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_percent", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_period", Shape: shape{Kind: schema.Whole, Min: 1000, Max: 1e6}, Says: "Length of a CPU period in microseconds.", Default: "100000"},
	{Name: "cpu_quota", Shape: shape{Kind: schema.Whole, Min: -1},
		Says: "CPU microseconds per `cpu_period`; -1 is unlimited. No effect with `cpus`."},
	{Name: "cpu_rt_period", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_rt_runtime", Shape: anyShape, Idle: oneCPU},
	{Name: "cpu_shares", Shape: anyShape, Idle: oneCPU},
	{Name: "cpus", Shape: cpuShare, Says: "Share of a CPU. Below 1, a system call costs 1/share of its virtual time.", Default: "1"},
	{Name: "cpuset", Shape: anyShape, Idle: oneCPU},
	{Name: "deploy", Shape: deploy, Says: "Settings that Compose applies without a swarm."},
	{Name: "develop", Shape: anyShape, Idle: "a world watches no files for changes"},
	{Name: "dns", Shape: anyShape, Idle: oneResolver},
	{Name: "dns_opt", Shape: anyShape, Idle: oneResolver},
	{Name: "dns_search", Shape: textOrAll, Says: "Search domains for names that do not resolve."},
	{Name: "domainname", Shape: aText, Says: "Domain of the node in its /etc/hosts."},
	{Name: "expose", Shape: anyShape, Idle: "nodes reach each other on all ports"},
	{Name: "group_add", Shape: texts, Says: "Additional groups of the user, by name or number."},
	{Name: "init", Shape: aFlag, Says: "With an image: process 1 is a small init that reaps processes and forwards signals.", Default: "false"},
	{Name: "ipc", Shape: anyShape, Idle: "nodes share no namespaces"},
	{Name: "isolation", Shape: anyShape, Idle: "nodes share no namespaces"},
	{Name: "labels", Shape: anyShape, Idle: forPeople},
	{Name: "label_file", Shape: anyShape, Idle: forPeople},
	{Name: "logging", Shape: anyShape, Idle: "Bloodhound collects all output"},
	{Name: "mac_address", Shape: aText, Says: "Ethernet address of the first interface.", Default: "02:42, then the IPv4 address"},
	{Name: "mem_limit", Shape: memoryLimit,
		Says: "Maximum memory of the node. Beyond it, its kernel kills the largest process.", Default: "no limit"},
	{Name: "mem_reservation", Shape: anyShape, Idle: "nodes do not compete for memory"},
	{Name: "mem_swappiness", Shape: anyShape, Idle: noSwap},
	{Name: "memswap_limit", Shape: anyShape, Idle: noSwap},
	{Name: "network_mode", Shape: aText,
		Says: "Replaces `networks`. `none`: loopback. `bridge`: shared by nodes with this mode. `host`: every " +
			"network. `service:NAME`: another node's network and hostname. `container:` is refused."},
	{Name: "oom_kill_disable", Shape: anyShape, Idle: "control groups of version 2 have no such setting"},
	{Name: "oom_score_adj", Shape: shape{Kind: schema.Whole, Min: -1000, Max: 1000},
		Says: "A higher value is killed earlier when memory runs out; -1000 never.", Default: "0"},
	{Name: "pid", Shape: anyShape, Idle: "nodes share no namespaces"},
	{Name: "pids_limit", Shape: taskLimit,
		Says: "Maximum number of processes and threads. Beyond it, programs get EAGAIN. 0 and -1 are unlimited.", Default: "no limit"},
	{Name: "platform", Shape: anyShape, Idle: "programs run on the platform of the host"},
	{Name: "privileged", Shape: anyShape, Idle: noPrivileges},
	{Name: "pull_refresh_after", Shape: anyShape, Idle: "an image is pulled once; `bloodhound image pull` pulls it again"},
	{Name: "pull_policy", Shape: oneOf("missing", "if_not_present", "always", "never", "build", "daily", "weekly"),
		Says: "`always`: pulls each time. `never`: uses only the store. `build`: builds. Others (`missing`, " +
			"`if_not_present`, `daily`, `weekly`): pulls if the store lacks the image."},
	{Name: "read_only", Shape: aFlag, Says: "Makes the root file system read-only (EROFS). Volumes and folders in memory stay writable.", Default: "false"},
	{Name: "runtime", Shape: anyShape, Idle: "a world has no container runtime"},
	{Name: "security_opt", Shape: anyShape, Idle: noPrivileges},
	{Name: "shm_size", Shape: shape{Kind: schema.Size, Min: 1}, Says: "Size of /dev/shm.", Default: "no limit"},
	{Name: "stdin_open", Shape: anyShape, Idle: "standard input is empty"},
	{Name: "storage_opt", Shape: anyShape, Idle: "the engine simulates the disk"},
	{Name: "sysctls", Shape: anyOf(texts, shape{Kind: schema.Dictionary, Item: &aText}),
		Says: "Kernel settings: net.*, fs.mqueue.*, System V IPC or kernel.domainname. docs/reference/limits.md " +
			"lists those with an effect."},
	{Name: "tty", Shape: anyShape, Idle: "output goes to the engine, not to a terminal"},
	{Name: "ulimits", Shape: shape{Kind: schema.Dictionary, Item: &ulimit},
		Says: "Resource limits by Docker's names: nofile, nproc, core, memlock, stack, fsize and others. -1 is " +
			"unlimited."},
	{Name: "userns_mode", Shape: anyShape, Idle: noPrivileges},
	{Name: "umask", Shape: anyShape, Idle: "the umask is 0022, as in Docker"},
	{Name: "use_api_socket", Shape: anyShape, Refused: "a world has no container engine; remove the key"},
	{Name: "uts", Shape: anyShape, Idle: "nodes share no namespaces"},

	{Name: "configs", Shape: fileUses("/NAME"), Says: "Files from the Compose file's `configs`."},
	{Name: "credential_spec", Shape: anyShape, Refused: "remove it; worlds run Linux only"},
	{Name: "device_cgroup_rules", Shape: anyShape, Refused: noDevices},
	{Name: "devices", Shape: anyShape, Refused: noDevices},
	{Name: "extends", Shape: anyShape, Refused: "copy the keys, or share them by an anchor: `x-base: &base` and `<<: *base`"},
	{Name: "external_links", Shape: anyShape, Refused: "a world has no connection to the outside: make it a node"},
	{Name: "gpus", Shape: anyShape, Refused: noDevices},
	{Name: "models", Shape: anyShape, Refused: noModels},
	{Name: "pre_start", Shape: anyShape, Refused: "make it a service that this one waits for with `service_completed_successfully`"},
	{Name: "post_start", Shape: listOf(sectionOf(
		field{Name: "command", Shape: command, Says: "Program and its arguments."},
		field{Name: "user", Shape: aText, Says: "User and group of the command.", Default: "the node's"},
		field{Name: "working_dir", Shape: aText, Says: "Working directory of the command.", Default: "the node's"},
		field{Name: "environment", Shape: shape{Kind: schema.Variables}, Says: "Variables in addition to the node's."},
		field{Name: "privileged", Shape: aFlag, Idle: noPrivileges},
	)), Says: "Commands that run in the node once, after its main process first started. Others wait for them. If " +
		"one fails, the run is `unknown`."},
	{Name: "pre_stop", Shape: anyShape, Refused: "run it from the command of the node"},
	{Name: "provider", Shape: anyShape, Refused: "a world has no connection to the outside: make it a node"},
	{Name: "secrets", Shape: fileUses("/run/secrets/NAME"), Says: "Files from the Compose file's `secrets`."},
	{Name: "volumes_from", Shape: texts,
		Says: "`NODE` or `NODE:ro`: mounts the volumes of another node at the same paths. Both nodes share them."},
}}

const noDriver = "the engine simulates all networks"

// networkTable is Compose's table of networks.
var networkTable = shape{Kind: schema.Dictionary, Names: NodeName, Empty: true, Item: &shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
	{Name: "name", Shape: aText, Says: "Full name of the network. `web.front` resolves with the full or the short name.",
		Default: "the name of the world, `_`, the name of the network"},
	{Name: "internal", Shape: aFlag, Says: "`true`: no default route. Other addresses are unreachable at once.", Default: "false"},
	{Name: "enable_ipv4", Shape: aFlag, Says: "Gives nodes IPv4 addresses.", Default: "true"},
	{Name: "enable_ipv6", Shape: aFlag, Says: "Gives nodes IPv6 addresses.", Default: "false"},
	{Name: "ipam", Shape: shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
		{Name: "config", Shape: shape{Kind: schema.Sequence, Empty: true, Item: &shape{Kind: schema.Section, Open: true, Fields: []field{
			{Name: "subnet", Shape: aText, Says: "Subnet, such as 172.28.0.0/16.", Default: "10.77.N.0/24"},
			{Name: "gateway", Shape: aText, Says: "Address of the default route. No node gets it.", Default: "the first address"},
			{Name: "ip_range", Shape: aText, Says: "Range for nodes without a fixed address.", Default: "the subnet"},
			{Name: "aux_addresses", Shape: shape{Kind: schema.Dictionary, Item: &aText}, Says: "Reserved addresses by name. No node gets them."},
		}}}, Says: "At most one IPv4 and one IPv6 subnet."},
		{Name: "driver", Shape: aText, Idle: noDriver},
		{Name: "options", Shape: anyShape, Idle: noDriver},
	}}, Says: "Address management."},
	{Name: "external", Shape: anyOf(aFlag, sectionOf(field{Name: "name", Shape: aText, Says: "Full name of the network."})),
		Says: "In Compose, a network that already exists. A world creates it."},
	{Name: "driver", Shape: aText, Idle: noDriver},
	{Name: "driver_opts", Shape: anyShape, Idle: noDriver},
	{Name: "attachable", Shape: anyShape, Idle: "a world attaches no node by hand"},
	{Name: "labels", Shape: anyShape, Idle: forPeople},
}}}

// attachment lists the options that a node sets for one of its networks.
var attachment = shape{Kind: schema.Section, Open: true, Empty: true, Fields: []field{
	{Name: "aliases", Shape: shape{Kind: schema.Sequence, Item: &aText, Empty: true},
		Says: "Additional names on this network. An alias of several nodes resolves to all of them in order."},
	{Name: "use_service_name_alias", Shape: aFlag,
		Says: "`false`: name, hostname and service do not resolve on this network. `container_name` and aliases do.", Default: "true"},
	{Name: "ipv4_address", Shape: aText, Says: "Fixed IPv4 address. The network needs a `subnet`.", Default: "the next free address"},
	{Name: "ipv6_address", Shape: aText, Says: "Fixed IPv6 address. The network needs an IPv6 `subnet`.", Default: "the next free address"},
	{Name: "link_local_ips", Shape: anyShape, Idle: "an interface has one address per family"},
	{Name: "mac_address", Shape: aText, Says: "Ethernet address of the interface.", Default: "02:42, then the IPv4 address"},
	{Name: "interface_name", Shape: aText, Says: "Name of the interface.", Default: "eth0, eth1 and so on"},
	{Name: "priority", Shape: shape{Kind: schema.Whole, Min: -1e9, Max: 1e9},
		Says: "Order of the interfaces: highest first, then by network name.", Default: "0"},
	{Name: "gw_priority", Shape: shape{Kind: schema.Whole, Min: -1e9, Max: 1e9},
		Says: "The network with the highest value has the default route and resolves names first.", Default: "0"},
	{Name: "driver_opts", Shape: anyShape, Idle: noDriver},
}}
