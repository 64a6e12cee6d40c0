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
		field{Name: "cpus", Shape: shape{Kind: schema.Number, Min: 0.01, Max: 1024}, Says: "CPUs that exploring uses on average, explorers and solver together.", Default: "0.25"},
		field{Name: "cpu_list", Shape: listOf(shape{Kind: schema.Whole, Max: 1023}), Says: "Numbers of the CPUs on which copies and solver run.", Default: "of copies those of their process, of the solver those that it was started on"},
		field{Name: "memory_bytes", Shape: wholeFrom(1 << 20), Says: "Memory that a copy may have beyond that of its process, and memory of the solver.", Default: "512 MiB"},
		field{Name: "cgroup", Shape: aText, Says: "Folder of an existing control group (cgroups(7)), which copies and solver join.", Default: "none; copies and solver run when a CPU has nothing else to do (SCHED_IDLE), and wait so that they use no more than `cpus`"},
	), Says: "Bounds of what exploring costs the machine."},
	{Name: "nodes", Shape: namedWith(of(
		field{Name: "socket", Shape: aText, Says: "Socket at which the process listens: its `BLOODHOUND_LIVE_SOCKET`."},
		field{Name: "restore", Shape: command, Says: "Command that starts the program in another process, which takes a snapshot of the state of the one at `socket` and is explored in its place. The program gives and takes snapshots.", Default: "none; copies are made of the process itself"},
		field{Name: "handlers", Shape: texts, Says: "Names of the handlers to explore.", Default: "all"},
	)), Says: "Processes to explore, by name."},
}}
