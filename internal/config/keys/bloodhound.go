package keys

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

// Bloodhound is bloodhound.yaml.
var Bloodhound = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "name", Shape: aText, Says: "The world's name in reports.", Default: "the folder's name"},
	{Name: "compose", Shape: textOrAll, Says: "Compose files whose services are nodes too. `--compose` replaces it."},
	{Name: "simulation", Shape: simulation, Says: "Time, and how many tapes a campaign runs."},
	{Name: "nodes", Shape: namedWith(Service), Says: "The nodes, by name, in Compose's own keys. A node that is a service of a Compose file too replaces that service's keys; `environment` and mappings are merged."},
	{Name: "networks", Shape: networkTable, Says: "The networks, by name, in Compose's own keys. Nodes that name none are on `default`; nodes reach each other where they share one."},
	{Name: "network", Shape: network, Says: "What links are like that `links` does not name."},
	{Name: "links", Shape: listOf(link), Says: "Links between two nodes that differ from the rest."},
	{Name: "workload", Shape: WorkloadKeys, Says: "The program that drives the servers."},
	{Name: "workloads", Shape: listOf(WorkloadKeys), Says: "Several of them."},
	{Name: "properties", Shape: listOf(property), Says: "What must hold. Crashes, panics and unexpected exits are always looked for."},
	{Name: "faults", Shape: faults, Says: "What may go wrong. Without this key, nothing does."},
	{Name: "log_patterns", Shape: shape{Kind: schema.Dictionary, Item: &shape{Kind: schema.Pattern}, Names: NodeName}, Verbatim: true, Says: "Regular expressions that are counted over the logs of all nodes, by name. A `$` is itself here."},
	{Name: "exploration", Shape: exploration, Says: "How tapes are searched."},
	{Name: "coverage", Shape: coverage, Says: "Which code of the programs under test a campaign has run (docs/reference/coverage.md)."},
	{Name: "output", Shape: output, Says: "Which files a campaign writes."},
	{Name: "debug", Shape: debug, Says: "What is written of a trace. Nothing here changes its hash."},
}}

// Compose is a Compose file.
var Compose = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "services", Shape: namedWith(composeService), Says: "The nodes, in the keys of `nodes`."},
	{Name: "name", Shape: aText, Says: "The world's name, if bloodhound.yaml gives none."},
	{Name: "version", Shape: aText, Idle: NoVersion},
	{Name: "networks", Shape: networkTable, Says: "The networks, as in bloodhound.yaml."},
	{Name: "volumes", Shape: composeVolumes, Says: "Named volumes."},
	{Name: "secrets", Shape: composeSecrets, Says: "Files that services can have at /run/secrets."},
	{Name: "configs", Shape: composeConfigs, Says: "Files that services can have."},
	{Name: "include", Shape: includes, Says: "Compose files whose services are services of this one."},
	{Name: "jobs", Shape: anyShape, Refused: "nothing is started by hand or by the clock here: make it a service, which others wait for by `service_completed_successfully`"},
	{Name: "models", Shape: anyShape, Refused: noModels},
}}

var simulation = of(
	field{Name: "max_time", Shape: aPositive, Says: "Bounds the virtual time of a run.", Default: "60s"},
	field{Name: "time_step", Shape: aPositive, Says: "How often faults with a probability are drawn, for each node or link.", Default: "10ms"},
	field{Name: "seeds", Shape: wholeFrom(1), Says: "How many tapes a campaign runs.", Default: "1000"},
	field{Name: "start", Shape: shape{Kind: schema.Date}, Says: "The date at which a run starts.", Default: "2025-01-01T00:00:00Z"},
	field{Name: "wait_for_setup", Shape: aDuration, Says: "How long setup waits for a program to say, by an Antithesis SDK, that it is complete, before drivers and faults begin. If none does, the run is `unknown`. `0s` does not wait.", Default: "30s, or a quarter of `max_time`, if a program has used an SDK when all servers are healthy; if none says it then, the run goes on with a warning"},
	field{Name: "preempt_rate", Shape: aRate, Says: "How often a thread loses its priority in the middle of an epoch of its own system calls.", Default: "0.05"},
	field{Name: "cost", Shape: of(
		field{Name: "call_ns", Shape: wholeFrom(1), Says: "Virtual nanoseconds a system call.", Default: "1000"},
		field{Name: "clock_read_ns", Shape: wholeFrom(1), Says: "Virtual nanoseconds a clock read.", Default: "50"},
		field{Name: "sync_ns", Shape: wholeFrom(0), Says: "Virtual nanoseconds an fsync, fdatasync, sync or msync.", Default: "1000000 where the power may go, else 0"},
	), Says: "What virtual time charges; work between calls is free."},
	field{Name: "limits", Shape: of(
		field{Name: "events", Shape: wholeFrom(1), Says: "System calls of a run.", Default: "50000000"},
		field{Name: "wall_time", Shape: aPositive, Says: "Real time of a run. A run that it ends does not repeat.", Default: "10m"},
		field{Name: "threads", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6}, Says: "Threads alive at once, all nodes. Beyond it programs get EAGAIN, and the report says so.", Default: "2048"},
		field{Name: "memory_bytes", Shape: wholeFrom(1), Says: "Bytes in the files of each node. Beyond it programs get ENOSPC.", Default: "1 GiB"},
		field{Name: "world_memory_bytes", Shape: wholeFrom(1), Says: "Memory of the machine that the world takes: what its processes have alone and share, the files that it has written, and what the engine keeps. Beyond it the run ends. It protects the machine; `mem_limit` of a node limits its programs.", Default: "4 GiB, or three quarters of the machine's memory if that is less"},
		field{Name: "spin_cpu_time", Shape: aPositive, Says: "CPU time of a thread without a system call. Beyond it virtual time passes while the thread computes, and the run does not repeat.", Default: "2s"},
	), Says: "Bounds of a run, so that it never hangs. Where a run ends by one, it is `unknown`."},
)

var exploration = of(
	field{Name: "strategy", Shape: oneOf("random", "coverage-guided", "bfs", "dfs", "swarm", "pct"), Says: "How the next tape is found (docs/reference/exploration.md).", Default: "random"},
	field{Name: "seed", Shape: shape{Kind: schema.Unsigned}, Says: "The campaign's seed.", Default: "1"},
	field{Name: "parallel_workers", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096}, Says: "Worlds at once.", Default: "one a CPU"},
	field{Name: "workers", SpellingOf: "parallel_workers", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096}},
	field{Name: "timeout", Shape: aPositive, Says: "Real time of a campaign.", Default: "no bound"},
	field{Name: "max_depth", Shape: wholeFrom(1), Says: "`bfs` and `dfs`: how many edits of the base tape a tape has at most.", Default: "2"},
	field{Name: "max_states", Shape: wholeFrom(1), Says: "`bfs` and `dfs`: how many tapes are played at most.", Default: "no bound"},
	field{Name: "streams", Shape: texts, Says: "`bfs` and `dfs`: edit draws of these streams alone, such as `fault/**`.", Default: "faults, packets, disks and preemptions"},
	field{Name: "feedback_delay", Shape: shape{Kind: schema.Whole, Min: 1, Max: 4096}, Says: "How many runs may be under way when the tape of the next is picked: strategies other than `random` pick the tape of run i by the results of the runs up to i minus this number. More workers than that are idle.", Default: "8"},
	field{Name: "corpus", Shape: aText, Says: "`coverage-guided`: begin with the runs of the corpus in this folder."},
	field{Name: "prioritize_coverage", Shape: aFlag, Says: "`coverage-guided`: change runs that reached what is rare, and none because they came close to a violation."},
	field{Name: "prioritize_near_violation", Shape: aFlag, Says: "`coverage-guided`: change most often runs that came close to a violation. Both together: both in turn, as without them."},
)

var output = of(
	field{Name: "dir", Shape: aText, Says: "The folder for the files below.", Default: ".bloodhound"},
	field{Name: "save_violation_traces", Shape: aFlag, Says: "Write the trace of each failure.", Default: "false"},
	field{Name: "save_interesting_seeds", Shape: aFlag, Says: "Write the seeds of failures.", Default: "false"},
	field{Name: "summary_report", Shape: aFlag, Says: "Write the summary of a campaign.", Default: "false"},
	field{Name: "coverage_format", Shape: oneOf("html", "json", "text", "lcov"), Says: "Find out which code a campaign runs, as `coverage.enabled`, and write it in this format.", Default: "html"},
)

var coverage = of(
	field{Name: "enabled", Shape: aFlag, Says: "Find out which blocks of programs are run, and write a report of it.", Default: "true if `output.coverage_format` or another key here is set"},
	field{Name: "binaries", Shape: texts, Says: "Programs and libraries by name, or by path in the world if there is a slash, with `*` and `?`; a `!` in front leaves one out.", Default: "the programs of servers, but for shells and tools of the system"},
	field{Name: "threshold", Shape: aText, Says: "The least share of their blocks, such as 80%. A campaign that covers less is `unknown`."},
)

var traceLevel = shape{Kind: schema.Word, Words: []string{"off", "error", "warn", "info", "debug", "trace"},
	Spellings: map[string]string{"none": "off", "quiet": "off", "minimal": "warn", "warning": "warn", "normal": "info", "verbose": "debug", "full": "trace", "all": "trace"}}

var debug = of(
	field{Name: "trace_level", Shape: traceLevel, Says: "How much of a trace is written: nothing; crashes; also faults and ends of processes; also all of network, disk and processes; `debug` and `trace`: everything. Other spellings: `none` and `quiet` for `off`, `minimal` and `warning` for `warn`, `normal` for `info`, `verbose` for `debug`, `full` and `all` for `trace`.", Default: "trace"},
	field{Name: "trace_events", Shape: texts, Says: "Only these: network_send, network_recv, disk_write, disk_read, disk_sync, process_start, process_exit, process_crash, fault, or names of system calls."},
	field{Name: "trace_file", Shape: aText, Says: "Write the trace of a run here."},
	field{Name: "gdb_enabled", Shape: aFlag, Idle: "there is no debugger yet"},
	field{Name: "gdb_port", Shape: shape{Kind: schema.Whole, Min: 1, Max: 65535}, Idle: "there is no debugger yet"},
	field{Name: "snapshot_interval", Shape: anyOf(aText), Idle: "worlds are not copied yet; replay runs from the start"},
)
