package keys

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
)

// Bloodhound is bloodhound.yaml.
var Bloodhound = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "name", Shape: aText, Says: "Name of the world in reports.", Default: "the name of the folder"},
	{Name: "compose", Shape: anyOf(aText, texts, anyShape),
		Says: "Compose files, or a mapping with the contents of one. Each service is a node. The flag `--compose` replaces this key."},
	{Name: "engine", Shape: oneOf("native", "vm", "container", "auto"),
		Says: "Engine that runs the world. `auto` takes the first of them that can. The flag `--engine` replaces this key.", Default: "native"},
	{Name: "simulation", Shape: simulation, Says: "Virtual time, its costs, limits, and the number of runs of a campaign."},
	{Name: "nodes", Shape: namedWith(Service),
		Says: "Nodes by name, with the keys of a Compose service. A node with the name of a service of a Compose file replaces " +
			"that service's keys; `environment` and mappings are merged."},
	{Name: "networks", Shape: networkTable,
		Says: "Networks by name, with the keys of Compose networks. A node that lists no network joins `default`. Two nodes can " +
			"connect if they share a network."},
	{Name: "network", Shape: network, Says: "Defaults for links that `links` does not list."},
	{Name: "links", Shape: listOf(link), Says: "Links with settings of their own."},
	{Name: "workload", Shape: WorkloadKeys, Says: "Workload that sends operations to the servers."},
	{Name: "workloads", Shape: listOf(WorkloadKeys), Says: "Several workloads."},
	{Name: "properties", Shape: listOf(property),
		Says: "Properties that every run must satisfy. Bloodhound checks for crashes, panics and unexpected exits without a property."},
	{Name: "faults", Shape: faults, Says: "Faults to inject. Without this key, `explore`, `test` and workers of a fleet use the " +
		"preset `harsh`, and other verbs inject none."},
	{Name: "log_patterns", Shape: shape{Kind: schema.Dictionary, Item: &shape{Kind: schema.Pattern}, Names: NodeName},
		Verbatim: true, Says: "Regular expressions by name. Bloodhound counts the lines of all nodes' logs that match. A `$` needs no escape here."},
	{Name: "exploration", Shape: exploration, Says: "How a campaign picks its tapes."},
	{Name: "coverage", Shape: coverage, Says: "Measures which code of the programs under test a campaign executes (docs/reference/coverage.md)."},
	{Name: "output", Shape: output, Says: "Files that a campaign writes."},
	{Name: "debug", Shape: debug, Says: "Filters for written traces. No key here changes a trace hash."},
}}

// Compose is a Compose file.
var Compose = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "services", Shape: namedWith(composeService), Says: "Services. Each is a node and takes the keys of `nodes`."},
	{Name: "name", Shape: aText, Says: "Name of the world, if bloodhound.yaml sets none."},
	{Name: "version", Shape: aText, Idle: NoVersion},
	{Name: "networks", Shape: networkTable, Says: "Networks, as in bloodhound.yaml."},
	{Name: "volumes", Shape: composeVolumes, Says: "Named volumes."},
	{Name: "secrets", Shape: composeSecrets, Says: "Files that services can mount at /run/secrets."},
	{Name: "configs", Shape: composeConfigs, Says: "Files that services can mount."},
	{Name: "include", Shape: includes, Says: "Compose files to include. Their services are added to this file's services."},
	{Name: "jobs", Shape: anyShape, Refused: "a world starts no job by hand or by schedule: make it a service that others wait " +
		"for with `service_completed_successfully`"},
	{Name: "models", Shape: anyShape, Refused: noModels},
}}

var simulation = of(
	field{Name: "max_time", Shape: aPositive, Says: "Maximum virtual time of a run.", Default: "60s"},
	field{Name: "time_step", Shape: aPositive, Says: "Interval at which faults with a probability are drawn, for each node or link.", Default: "10ms"},
	field{Name: "seeds", Shape: wholeFrom(1), Says: "Number of runs of a campaign, each with a tape of its own.", Default: "1000"},
	field{Name: "start", Shape: shape{Kind: schema.Date}, Says: "Date and time at which a run starts.", Default: "2025-01-01T00:00:00Z"},
	field{Name: "wait_for_setup", Shape: aDuration,
		Says: "Time that setup waits for a program to report completion through an Antithesis SDK, before drivers and faults " +
			"start. If none reports it in time, the run is `unknown`. `0s` does not wait.",
		Default: "30s, or a quarter of `max_time` if that is less, if a program has used an SDK by the time all servers are " +
			"healthy. If none reports completion then, the run continues with a warning"},
	field{Name: "preempt_rate", Shape: aRate,
		Says: "Probability, per epoch of its own system calls, that a thread loses its priority at one of them.", Default: "0.05"},
	field{Name: "cpus", Shape: shape{Kind: schema.Whole, Min: 1, Max: 32},
		Says: "Number of CPUs that programs see. One thread of the world runs at a time, however many there are.", Default: "1, or 4 with `switches.blocks`"},
	field{Name: "switches", Shape: of(
		field{Name: "blocks", Shape: shape{Kind: schema.Whole, Min: 0, Max: 4096},
			Says: "Number of blocks of the programs under test that are watched at a time. A thread may be switched at them, in " +
				"the midst of its own code. 0 is none: threads are switched at system calls.", Default: "0"},
		field{Name: "rate", Shape: aRate, Says: "Probability that a thread is switched when it comes to a watched block; half of " +
			"it, twice or eight times of it in sets of different sizes.", Default: "0.04"},
	), Says: "Switches of threads between two system calls (docs/reference/exploration.md)."},
	field{Name: "cost", Shape: of(
		field{Name: "call_ns", Shape: wholeFrom(1), Says: "Virtual nanoseconds per system call.", Default: "1000"},
		field{Name: "clock_read_ns", Shape: wholeFrom(1), Says: "Virtual nanoseconds per clock read.", Default: "50"},
		field{Name: "sync_ns", Shape: wholeFrom(0), Says: "Virtual nanoseconds per fsync, fdatasync, sync or msync.",
			Default: "1000000 with power loss faults, else 0"},
	), Says: "Virtual time that operations cost. Computation between system calls costs none."},
	field{Name: "limits", Shape: of(
		field{Name: "events", Shape: wholeFrom(1), Says: "Maximum number of system calls of a run.", Default: "50000000"},
		field{Name: "wall_time", Shape: aPositive, Says: "Maximum real time of a run. A run that reaches it is not reproducible.", Default: "10m"},
		field{Name: "threads", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6},
			Says: "Maximum number of threads of all nodes at one time. Beyond it, programs get EAGAIN, and the report records it.", Default: "2048"},
		field{Name: "memory_bytes", Shape: wholeFrom(1), Says: "Maximum bytes in the files of one node. Beyond it, programs get ENOSPC.", Default: "1 GiB"},
		field{Name: "world_memory_bytes", Shape: wholeFrom(1),
			Says: "Maximum memory of the host that a world uses: resident memory of its processes, files that it has written, and " +
				"state of the engine. Beyond it, the run ends. It protects the host; `mem_limit` of a node limits the node's programs.",
			Default: "4 GiB, or three quarters of the host's memory if that is less"},
		field{Name: "spin_cpu_time", Shape: aPositive,
			Says: "Maximum CPU time of a thread between two system calls. Beyond it, virtual time passes while the thread " +
				"computes, and the run is not reproducible.", Default: "2s"},
	), Says: "Limits of a run, so that it never hangs. A run that ends at one is `unknown`, unless the key says otherwise."},
)

var exploration = of(
	field{Name: "strategy", Shape: shape{Kind: schema.Word, Words: search.Names, Open: true},
		Says: "Search strategy (docs/reference/exploration.md), which may be followed by a guide and words " +
			"(docs/reference/guides.md), such as `coverage-guided:state`.", Default: search.Default},
	field{Name: "seed", Shape: shape{Kind: schema.Unsigned}, Says: "Seed of the campaign.", Default: "1"},
	field{Name: "parallel_workers", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096}, Says: "Number of parallel runs.", Default: "one per CPU"},
	field{Name: "workers", SpellingOf: "parallel_workers", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096}},
	field{Name: "timeout", Shape: aPositive, Says: "Maximum real time of a campaign.", Default: "no limit"},
	field{Name: "max_depth", Shape: wholeFrom(1), Says: "`bfs` and `dfs`: maximum number of edits of the base tape.", Default: "2"},
	field{Name: "max_states", Shape: wholeFrom(1), Says: "`bfs` and `dfs`: maximum number of tapes.", Default: "no limit"},
	field{Name: "streams", Shape: texts, Says: "`bfs` and `dfs`: edit only draws of these streams, such as `fault/**`.",
		Default: "faults, packets, disks, preemptions and switches"},
	field{Name: "feedback_delay", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096},
		Says: "Number of runs that may be in progress when a tape is picked. Strategies other than `random` pick the tape of run " +
			"i from the results of the runs up to i minus this number. Additional workers are idle.", Default: "8, of `swarm` 32"},
	field{Name: "length", Shape: shape{Kind: schema.Word, Words: Lengths},
		Says: "`swarm`: `vary` also plays short runs, in which clients do less and faults end sooner, where these can be judged; " +
			"`full` gives all runs their full length (docs/reference/exploration.md#lengths-of-runs).", Default: "vary"},
	field{Name: "snapshots", Shape: of(
		field{Name: "max", Shape: wholeFrom(0), Says: "Maximum number of snapshots of a worker. 0: all runs begin at their boot.", Default: "24"},
		field{Name: "memory_bytes", Shape: wholeFrom(0),
			Says:    "Maximum memory that the snapshots of a worker have together. 0: all runs begin at their boot.",
			Default: "a quarter of the host's memory, divided by the number of workers"},
	), Says: "Bounds of snapshots (docs/reference/exploration.md). The least useful one is dropped first."},
	field{Name: "guide", Shape: of(mappingKeys("")...),
		Says: "Model in which runs are followed, to lead a search. It promises nothing: a run that leaves it is no violation " +
			"(docs/reference/guides.md#programs)."},
	field{Name: "corpus", Shape: aText, Says: "`coverage-guided`: start with the corpus in this folder."},
	field{Name: "prioritize_coverage", Shape: aFlag,
		Says: "`coverage-guided`: mutate runs that reached rare features, and ignore how close they came to a violation."},
	field{Name: "prioritize_near_violation", Shape: aFlag,
		Says: "`coverage-guided`: prefer to mutate runs that came close to a violation. With both keys, the search alternates, as with neither."},
)

var output = of(
	field{Name: "dir", Shape: aText, Says: "Folder for the files below.", Default: ".bloodhound"},
	field{Name: "save_violation_traces", Shape: aFlag, Says: "Writes the trace of each failure.", Default: "false"},
	field{Name: "save_interesting_seeds", Shape: aFlag, Says: "Writes the seeds of failures.", Default: "false"},
	field{Name: "summary_report", Shape: aFlag, Says: "Writes the summary of a campaign.", Default: "false"},
	field{Name: "coverage_format", Shape: oneOf("html", "json", "text", "lcov"),
		Says: "Measures coverage, as `coverage.enabled`, and writes it in this format.", Default: "html"},
)

var coverage = of(
	field{Name: "enabled", Shape: aFlag, Says: "Measures which blocks of programs are executed, and writes a report.",
		Default: "true if `output.coverage_format` or another key here is set"},
	field{Name: "binaries", Shape: texts,
		Says:    "Programs and libraries by name, or by path in the world if there is a slash. `*` and `?` are wildcards. A leading `!` excludes.",
		Default: "the programs of servers, without shells and system tools"},
	field{Name: "threshold", Shape: aText, Says: "Minimum share of covered blocks, such as 80%. A campaign below it is `unknown`."},
)

var traceLevel = shape{Kind: schema.Word, Words: []string{"off", "error", "warn", "info", "debug", "trace"},
	Spellings: map[string]string{"none": "off", "quiet": "off", "minimal": "warn", "warning": "warn", "normal": "info",
		"verbose": "debug", "full": "trace", "all": "trace"}}

var debug = of(
	field{Name: "trace_level", Shape: traceLevel,
		Says: "Level of written traces. `off`: nothing. `error`: crashes. `warn`: also faults and ends of processes. `info`: also " +
			"network, disk and processes. `debug` and `trace`: all events. Other spellings: `none` and `quiet` for `off`, " +
			"`minimal` and `warning` for `warn`, `normal` for `info`, `verbose` for `debug`, `full` and `all` for `trace`.", Default: "trace"},
	field{Name: "trace_events", Shape: texts,
		Says: "Writes only these events: network_send, network_recv, disk_write, disk_read, disk_sync, process_start, " +
			"process_exit, process_crash, fault, or names of system calls."},
	field{Name: "trace_file", Shape: aText, Says: "File for the trace of a run."},
	field{Name: "gdb_enabled", Shape: aFlag, Idle: "`bloodhound debug` serves gdb for any run, at the address of `--listen`"},
	field{Name: "gdb_port", Shape: shape{Kind: schema.Whole, Min: 1, Max: 65535},
		Idle: "`bloodhound debug` serves gdb for any run, at the address of `--listen`"},
	field{Name: "snapshot_interval", Shape: anyOf(aText),
		Idle: "a campaign takes snapshots where they pay (`exploration.snapshots`), and a replay starts from the beginning"},
)
