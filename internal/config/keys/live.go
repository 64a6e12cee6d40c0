package keys

import "github.com/bloodhound-dst/bloodhound/internal/config/schema"

// Live is live.yaml.
var Live = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "store", Shape: aText, Says: "Store for findings and effort (docs/reference/store.md).", Default: "findings are printed, and not stored"},
	{Name: "checkpoint_every", Shape: aPositive, Says: "Time from one checkpoint of a handler to the next.", Default: "60s"},
	{Name: "budget", Shape: of(
		field{Name: "explore", Shape: aPositive, Says: "Maximum time that one checkpoint is explored.", Default: "20s"},
		field{Name: "paths", Shape: wholeFrom(1), Says: "Maximum number of paths of one checkpoint.", Default: "10000"},
		field{Name: "path_time", Shape: aPositive, Says: "Maximum time of one path.", Default: "2s"},
		field{Name: "cpus", Shape: shape{Kind: schema.Number, Min: 0.01, Max: 1024},
			Says: "CPUs that exploring uses on average, explorers and solver together.", Default: "0.25"},
		field{Name: "cpu_list", Shape: listOf(shape{Kind: schema.Whole, Max: 1023}),
			Says:    "Numbers of the CPUs on which copies and solver run.",
			Default: "of copies those of their process, of the solver those that it was started on"},
		field{Name: "memory_bytes", Shape: wholeFrom(1 << 20),
			Says: "Memory that a copy may have beyond that of its process, and memory of the solver.", Default: "512 MiB"},
		field{Name: "cgroup", Shape: aText,
			Says:    "Folder of an existing control group (cgroups(7)), which copies and solver join.",
			Default: "none; copies and solver run when a CPU has nothing else to do (SCHED_IDLE), and wait so that they use no more than `cpus`"},
	), Says: "Bounds of what exploring costs the machine."},
	{Name: "nodes", Shape: namedWith(of(
		field{Name: "socket", Shape: aText, Says: "Socket at which the process listens: its `BLOODHOUND_LIVE_SOCKET`."},
		field{Name: "restore", Shape: command,
			Says: "Command that starts the program in another process, which takes a snapshot of the state of the one at `socket` " +
				"and is explored in its place. The program gives and takes snapshots.", Default: "none; copies are made of the process itself"},
		field{Name: "bird", Shape: of(
			field{Name: "control", Shape: aText, Says: "BIRD's control socket (its option -s), at which copies are asked for routes."},
			field{Name: "pid_file", Shape: aText, Says: "File with the number of BIRD's process (its option -P).",
				Default: "the process that listens at `control`"},
			field{Name: "pid", Shape: wholeFrom(1), Says: "Number of BIRD's process, in place of `pid_file`."},
			field{Name: "config", Shape: aText, Says: "BIRD's configuration, whose constants say what is tried.",
				Default: "the file that BIRD was started with"},
			field{Name: "anycast", Shape: texts, Says: "Prefixes that may have several origins, such as `192.0.2.0/24 le 32`.", Default: "none"},
		), Says: "A running BIRD 2, in place of `socket`. Its sessions with other ASes are the handlers, by the names of their protocols."},
		field{Name: "handlers", Shape: texts, Says: "Names of the handlers to explore.", Default: "all"},
	)), Says: "Processes to explore, by name."},
}}
