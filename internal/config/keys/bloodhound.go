package keys

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
)

// Bloodhound is bloodhound.yaml.
var Bloodhound = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "name", Shape: aText, Says: "Name of the world in reports.", Default: "the name of the folder"},
	{Name: "compose", Shape: anyOf(aText, texts, anyShape),
		Says: "Compose files, or a mapping with the contents of one. Each service is a node. `--compose` replaces " +
			"this key."},
	{Name: "engine", Shape: oneOf("native", "vm", "container", "auto"),
		Says: "Engine that runs the world. `auto` takes the first that can. `--engine` replaces this key.", Default: "native"},
	{Name: "simulation", Shape: simulation, Says: "Virtual time, costs, limits, and the number of runs."},
	{Name: "nodes", Shape: namedWith(Service),
		Says: "Nodes by name, with the keys of a Compose service. They replace keys of a Compose service with the " +
			"same name."},
	{Name: "networks", Shape: networkTable,
		Says: "Networks by name, with the keys of Compose networks."},
	{Name: "network", Shape: network, Says: "Latency, jitter and bandwidth of all links."},
	{Name: "links", Shape: listOf(link), Says: "Links with their own settings."},
	{Name: "workload", Shape: WorkloadKeys, Says: "Operations that clients send to the servers."},
	{Name: "workloads", Shape: listOf(WorkloadKeys), Says: "Several workloads."},
	{Name: "properties", Shape: listOf(property),
		Says: "What must hold in every run. Crashes, panics and unexpected exits are violations without a property."},
	{Name: "faults", Shape: faults, Says: "Faults to inject. Without this key, campaigns use the preset `harsh` and other commands inject none."},
	{Name: "log_patterns", Shape: shape{Kind: schema.Dictionary, Item: &shape{Kind: schema.Pattern}, Names: NodeName},
		Verbatim: true, Says: "Regular expressions by name. Bloodhound counts the matching lines in the logs of all nodes. A `$` " +
			"needs no escape."},
	{Name: "exploration", Shape: exploration, Says: "How a campaign chooses its tapes."},
	{Name: "coverage", Shape: coverage, Says: "Measures the code coverage of the programs under test (docs/reference/coverage.md)."},
	{Name: "output", Shape: output, Says: "Files that a campaign writes."},
	{Name: "debug", Shape: debug, Says: "Filters for written traces."},
}}

// Compose is a Compose file.
var Compose = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "services", Shape: namedWith(composeService), Says: "Services. Each is a node and has the keys of `nodes`."},
	{Name: "name", Shape: aText, Says: "Name of the world, unless bloodhound.yaml sets one."},
	{Name: "version", Shape: aText, Idle: NoVersion},
	{Name: "networks", Shape: networkTable, Says: "Networks, as in bloodhound.yaml."},
	{Name: "volumes", Shape: composeVolumes, Says: "Named volumes."},
	{Name: "secrets", Shape: composeSecrets, Says: "Files that services can mount at /run/secrets."},
	{Name: "configs", Shape: composeConfigs, Says: "Files that services can mount."},
	{Name: "include", Shape: includes, Says: "More Compose files whose services join this file's services."},
	{Name: "jobs", Shape: anyShape, Refused: "a world starts no job by hand or by schedule: make it a service that others wait " +
		"for with `service_completed_successfully`"},
	{Name: "models", Shape: anyShape, Refused: noModels},
}}

var simulation = sectionOf(
	field{Name: "max_time", Shape: aPositive, Says: "Maximum virtual time of a run.", Default: "60s"},
	field{Name: "time_step", Shape: aPositive, Says: "How often faults with a probability are drawn, for each node or link.", Default: "10ms"},
	field{Name: "seeds", Shape: wholeFrom(1), Says: "Number of runs of a campaign, each with its own tape.", Default: "1000"},
	field{Name: "start", Shape: shape{Kind: schema.Date}, Says: "Date and time at which a run starts.", Default: "2025-01-01T00:00:00Z"},
	field{Name: "wait_for_setup", Shape: aDuration,
		Says: "How long setup waits for a program to report completion through an Antithesis SDK. After that the " +
			"run is `unknown`. `0s` does not wait.",
		Default: "if a program uses an SDK: 30s, or a quarter of `max_time` if that is less; exceeding it gives a warning instead of `unknown`"},
	field{Name: "preempt_rate", Shape: aRate,
		Says: "Probability that a thread loses its priority at one of its system calls, once per epoch of its " +
			"calls.", Default: "0.05"},
	field{Name: "cpus", Shape: shape{Kind: schema.Whole, Min: 1, Max: 32},
		Says: "Number of CPUs that programs see. Only one thread of the world runs at a time.", Default: "1, or 4 with `switches.blocks`"},
	field{Name: "switches", Shape: sectionOf(
		field{Name: "blocks", Shape: shape{Kind: schema.Whole, Min: 0, Max: 4096},
			Says: "Number of code blocks watched at a time, at which threads may be switched. 0: only at system calls.", Default: "0"},
		field{Name: "rate", Shape: aRate, Says: "Probability of a switch at a watched block. Some sets of blocks use half, twice or eight " +
			"times it.", Default: "0.04"},
	), Says: "Switches of threads between two system calls (docs/reference/exploration.md)."},
	field{Name: "cost", Shape: sectionOf(
		field{Name: "call_ns", Shape: wholeFrom(1), Says: "Virtual nanoseconds per system call.", Default: "1000"},
		field{Name: "clock_read_ns", Shape: wholeFrom(1), Says: "Virtual nanoseconds per clock read.", Default: "50"},
		field{Name: "sync_ns", Shape: wholeFrom(0), Says: "Virtual nanoseconds per fsync, fdatasync, sync or msync.",
			Default: "1000000 with power loss faults, else 0"},
	), Says: "Virtual time that operations cost."},
	field{Name: "limits", Shape: sectionOf(
		field{Name: "events", Shape: wholeFrom(1), Says: "Maximum number of system calls of a run.", Default: "50000000"},
		field{Name: "wall_time", Shape: aPositive, Says: "Maximum real time of a run. A run that reaches it is not reproducible.", Default: "10m"},
		field{Name: "threads", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6},
			Says: "Maximum number of threads of all nodes. Beyond it, programs get EAGAIN and the report has a warning.", Default: "2048"},
		field{Name: "memory_bytes", Shape: wholeFrom(1), Says: "Maximum size of all files of one node. Beyond it, programs get ENOSPC.", Default: "1 GiB"},
		field{Name: "world_memory_bytes", Shape: wholeFrom(1),
			Says:    "Maximum host memory of a world: processes, written files and engine state. Beyond it, the run ends.",
			Default: "4 GiB, at most three quarters of the host's memory"},
		field{Name: "spin_cpu_time", Shape: aPositive,
			Says: "Maximum CPU time of a thread between two system calls. Beyond it, virtual time passes anyway and " +
				"the run is not reproducible.", Default: "2s"},
	), Says: "Limits of a run. A run that reaches one is `unknown`, unless the key says otherwise."},
)

var exploration = sectionOf(
	field{Name: "strategy", Shape: shape{Kind: schema.Word, Words: search.Names, Open: true},
		Says: "Search strategy (docs/reference/exploration.md), optionally with a guide such as " +
			"`coverage-guided:state` (docs/reference/guides.md).", Default: search.Default},
	field{Name: "seed", Shape: shape{Kind: schema.Unsigned}, Says: "Seed of the campaign.", Default: "1"},
	field{Name: "parallel_workers", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096}, Says: "Number of parallel runs.", Default: "one per CPU"},
	field{Name: "workers", SpellingOf: "parallel_workers", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096}},
	field{Name: "timeout", Shape: aPositive, Says: "Maximum real time of a campaign.", Default: "no limit"},
	field{Name: "max_depth", Shape: wholeFrom(1), Says: "`bfs`, `dfs`: maximum number of edits of the base tape.", Default: "2"},
	field{Name: "max_states", Shape: wholeFrom(1), Says: "`bfs`, `dfs`: maximum number of tapes.", Default: "no limit"},
	field{Name: "streams", Shape: texts, Says: "`bfs`, `dfs`: edit only draws of these streams, such as `fault/**`.",
		Default: "faults, packets, disks, preemptions and switches"},
	field{Name: "feedback_delay", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096},
		Says: "Maximum number of runs in progress when a tape is chosen. Except with `random`, tape i depends on " +
			"the results up to run i minus this number. More workers than this are idle.", Default: "8, of `swarm` 32"},
	field{Name: "length", Shape: shape{Kind: schema.Word, Words: Lengths},
		Says: "`swarm`: `vary` also plays shorter runs where they can be judged. `full` gives all runs their full " +
			"length.", Default: "vary"},
	field{Name: "snapshots", Shape: sectionOf(
		field{Name: "max", Shape: wholeFrom(0), Says: "Maximum number of snapshots per worker. 0 starts all runs at boot.", Default: "24"},
		field{Name: "memory_bytes", Shape: wholeFrom(0),
			Says:    "Maximum memory of a worker's snapshots. 0 starts all runs at boot.",
			Default: "a quarter of the host's memory, divided by the number of workers"},
	), Says: "Limits of snapshots. The least useful one is dropped first."},
	field{Name: "guide", Shape: sectionOf(mappingKeys("")...),
		Says: "TLA+ model that leads the search. A run that leaves the model is not a violation " +
			"(docs/reference/guides.md#programs)."},
	field{Name: "corpus", Shape: aText, Says: "`coverage-guided`: start with the corpus in this folder."},
	field{Name: "prioritize_coverage", Shape: aFlag,
		Says: "`coverage-guided`: mutate runs that reached rare features, ignoring how close they came to a " +
			"violation."},
	field{Name: "prioritize_near_violation", Shape: aFlag,
		Says: "`coverage-guided`: prefer runs that came close to a violation. With both keys or neither, the search " +
			"alternates."},
)

var output = sectionOf(
	field{Name: "dir", Shape: aText, Says: "Folder for these files.", Default: ".bloodhound"},
	field{Name: "save_violation_traces", Shape: aFlag, Says: "Writes the trace of each failure.", Default: "false"},
	field{Name: "save_interesting_seeds", Shape: aFlag, Says: "Writes the seeds of failures.", Default: "false"},
	field{Name: "summary_report", Shape: aFlag, Says: "Writes the summary of a campaign.", Default: "false"},
	field{Name: "coverage_format", Shape: oneOf("html", "json", "text", "lcov"),
		Says: "Measures coverage, as `coverage.enabled`, and writes it in this format.", Default: "html"},
)

var coverage = sectionOf(
	field{Name: "enabled", Shape: aFlag, Says: "Measures which blocks of programs are executed, and writes a report.",
		Default: "true if `output.coverage_format` or another key here is set"},
	field{Name: "binaries", Shape: texts,
		Says:    "Programs and libraries, by name or path in the world. `*`, `?` and a leading `!` work.",
		Default: "the programs of servers, without shells and system tools"},
	field{Name: "threshold", Shape: aText, Says: "Minimum share of covered blocks, such as 80%. A campaign below it is `unknown`."},
)

var traceLevel = shape{Kind: schema.Word, Words: []string{"off", "error", "warn", "info", "debug", "trace"},
	Spellings: map[string]string{"none": "off", "quiet": "off", "minimal": "warn", "warning": "warn", "normal": "info",
		"verbose": "debug", "full": "trace", "all": "trace"}}

var debug = sectionOf(
	field{Name: "trace_level", Shape: traceLevel,
		Says: "`off`, `none`, `quiet`: nothing. `error`: crashes. `warn`, `warning`, `minimal`: also faults and " +
			"ends of processes. `info`, `normal`: also network, disk and processes. `debug`, `verbose`, `trace`, " +
			"`full`, `all`: everything.", Default: "trace"},
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
