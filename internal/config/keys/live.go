package keys

import "github.com/bloodhound-dst/bloodhound/internal/config/schema"

// Live is live.yaml.
var Live = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "store", Shape: aText, Says: "Store for findings and effort (docs/reference/store.md).", Default: "findings are printed, and not stored"},
	{Name: "checkpoint_every", Shape: aPositive, Says: "Interval between checkpoints of a handler.", Default: "60s"},
	{Name: "budget", Shape: sectionOf(
		field{Name: "explore", Shape: aPositive, Says: "Maximum time to explore one checkpoint.", Default: "20s"},
		field{Name: "paths", Shape: wholeFrom(1), Says: "Maximum number of paths of a checkpoint.", Default: "10000"},
		field{Name: "path_time", Shape: aPositive, Says: "Maximum time of a path.", Default: "2s"},
		field{Name: "cpus", Shape: shape{Kind: schema.Number, Min: 0.01, Max: 1024},
			Says: "Average number of CPUs for explorers and solver together.", Default: "0.25"},
		field{Name: "cpu_list", Shape: listOf(shape{Kind: schema.Whole, Max: 1023}),
			Says:    "CPU numbers for copies and the solver.",
			Default: "a copy's process's CPUs; for the solver, the CPUs it was started on"},
		field{Name: "memory_bytes", Shape: wholeFrom(1 << 20),
			Says: "Memory that a copy may use beyond its process, and memory of the solver.", Default: "512 MiB"},
		field{Name: "cgroup", Shape: aText,
			Says:    "Folder of an existing control group (cgroups(7)) for copies and the solver.",
			Default: "none; copies and solver run when a CPU has nothing else to do (SCHED_IDLE), and wait so that they use no more than `cpus`"},
	), Says: "Limits on the cost of exploring."},
	{Name: "nodes", Shape: namedWith(sectionOf(
		field{Name: "socket", Shape: aText, Says: "The process's `BLOODHOUND_LIVE_SOCKET`."},
		field{Name: "restore", Shape: command,
			Says: "Command that starts the program in another process. It loads a snapshot from `socket` and is " +
				"explored instead. The program must implement snapshots.", Default: "none; copies are made of the process itself"},
		field{Name: "bird", Shape: sectionOf(
			field{Name: "control", Shape: aText, Says: "BIRD's control socket (option -s)."},
			field{Name: "pid_file", Shape: aText, Says: "File with BIRD's process number (option -P).",
				Default: "the process that listens at `control`"},
			field{Name: "pid", Shape: wholeFrom(1), Says: "BIRD's process number, instead of `pid_file`."},
			field{Name: "config", Shape: aText, Says: "BIRD's configuration. Its constants determine the announcements to try.",
				Default: "the file that BIRD was started with"},
			field{Name: "anycast", Shape: texts, Says: "Prefixes that may have several origins, such as `192.0.2.0/24 le 32`.", Default: "none"},
		), Says: "A running BIRD 2, instead of `socket`. Its sessions with other ASes are the handlers, named after " +
			"their protocols."},
		field{Name: "handlers", Shape: texts, Says: "Names of the handlers to explore.", Default: "all"},
	)), Says: "Processes to explore, by name."},
}}
