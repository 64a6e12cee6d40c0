package cli

import (
	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// manual makes the manual of a command that may also be used wrongly or fail.
func manual(prints string, exits []program.Exit, examples ...string) program.Manual {
	at := 0
	for at < len(exits) && exits[at].Code < exitcode.Usage {
		at++
	}
	all := append([]program.Exit{}, exits[:at]...)
	if len(exits) == 0 {
		all = append(all, holds("done"))
	}
	if at == len(exits) || exits[at].Code != exitcode.Usage {
		all = append(all, wrongUsage)
	}
	for ; at < len(exits) && exits[at].Code <= exitcode.Engine; at++ {
		all = append(all, exits[at])
	}
	if all[len(all)-1].Code != exitcode.Engine {
		all = append(all, engineFailed)
	}
	return program.Manual{Examples: examples, Prints: prints, Exits: append(all, exits[at:]...)}
}

var (
	wrongUsage   = program.Exit{Code: exitcode.Usage, When: "the command or the configuration is wrong"}
	engineFailed = program.Exit{Code: exitcode.Engine, When: "the engine or the machine failed"}
)

func holds(when string) program.Exit    { return program.Exit{Code: exitcode.Holds, When: when} }
func violated(when string) program.Exit { return program.Exit{Code: exitcode.Violated, When: when} }
func wrong(when string) program.Exit    { return program.Exit{Code: exitcode.Usage, When: when} }
func failed(when string) program.Exit   { return program.Exit{Code: exitcode.Engine, When: when} }
func notReproducible(when string) program.Exit {
	return program.Exit{Code: exitcode.NotReproducible, When: when}
}
func unknown(when string) program.Exit { return program.Exit{Code: exitcode.Unknown, When: when} }

// Sentences that several manuals share.
const (
	onScreen   = "Prints one screen: the verdict, the story of the first violation, numbers, and the commands to run next. `-v` prints everything."
	inDocument = "`--json` prints one JSON document instead."
)

// manuals document the commands, by their path.
var manuals = map[string]program.Manual{
	"run": manual(onScreen, []program.Exit{
		holds("all properties hold"),
		violated("a property is violated, and a second run of the seed was the same"),
		notReproducible("the run is not reproducible"),
		unknown("no verdict; the reason is printed. A run with `--until` always ends with this code"),
	}, "bloodhound run", "bloodhound run --seed 7 --logs", "bloodhound run examples/quickstart --trace run.trace"),
	"explore": manual(onScreen, []program.Exit{
		holds("all properties hold in all runs"),
		violated("a property is violated, and a second run of the seed was the same"),
		notReproducible("a run is not reproducible, or a violation did not replay"),
		unknown("no verdict; the reason is printed: interrupted, too little evidence, a fault that had no effect on any program, " +
			"or coverage below the threshold"),
	}, "bloodhound explore", "bloodhound explore --mode harsh --timeout 10m", "bloodhound explore --compose docker-compose.yml --seeds 200"),
	"test": manual("Prints the result of each committed failure, then the same screen as explore. "+inDocument, []program.Exit{
		holds("all properties hold in all runs, and no committed failure occurs again"),
		violated("a property is violated, or a committed failure occurs again"),
		notReproducible("a run is not reproducible, or a violation did not replay"),
		unknown("no verdict; the reason is printed, for example that a committed failure is stale"),
	}, "bloodhound test --budget 10m --comment comment.md", "bloodhound test --seeds 100 --junit junit.xml"),
	"sweep": manual("Prints each class of moments, each finding with the rule in `faults.rules` that causes it, and the verdict. "+inDocument, []program.Exit{
		holds("the system recovers at every moment tried"),
		violated("a finding was confirmed by replay, or the run violates a property even without faults"),
		notReproducible("the run without faults is not reproducible, or there were findings and none could be replayed"),
		unknown("not all moments were tried, or there are none"),
	}, "bloodhound sweep", "bloodhound sweep --kind power_loss --per-class 8"),
	"verify": manual("Prints the hash of each run and, if two runs differ, the first differing "+
		"event as it was in each of them. "+inDocument, []program.Exit{
		holds("all runs are equal, even if they violate a property"),
		notReproducible("two runs differ"),
		unknown("interrupted"),
	}, "bloodhound verify", "bloodhound verify --seed 7 --runs 10"),
	"vm fault":  manual("", nil, "bloodhound vm fault 'crash on n1 for 2s'"),
	"vm pause":  manual("", nil, "bloodhound vm pause"),
	"vm resume": manual("", nil, "bloodhound vm resume"),
	"vm status": manual("", nil, "bloodhound vm status"),

	"replay": manual(onScreen+" With `--at`, `--ps` and similar flags, it prints only the requested state.", []program.Exit{
		holds("with `--at` and similar flags: the run is the same as the stored one; with `--all`: " +
			"no failure occurs again. Without these flags, replay never ends with 0"),
		violated("the violation occurs again, in the stored run or in a changed but reproducible run; with `--all`: a failure occurs again"),
		notReproducible("the run is not reproducible, or differs from the stored one for no known " +
			"reason; with `--all`: this holds for at least one run"),
		unknown("the run has changed and no longer fails (stale), or it is the same and the checks now give another verdict; " +
			"with `--all`: a replay is inconclusive, or a file cannot be read"),
	}, "bloodhound replay e4bbcad0e9dc", "bloodhound replay e4bbcad0e9dc --at violation --ps --logs", "bloodhound replay --all --code ../patched"),
	"list": manual("Prints a table of failures with age and state, and a table of tests. "+inDocument, []program.Exit{
		holds("the list is printed, even if it is empty"),
		wrong("the folder or a file in it cannot be read"),
	}, "bloodhound list", "bloodhound list examples/quickstart --json"),
	"report": manual("Prints the path of the page.", []program.Exit{
		holds("the page was written"),
		unknown("the run no longer shows the violation"),
	}, "bloodhound report e4bbcad0e9dc --open", "bloodhound report e4bbcad0e9dc --html failure.html --markdown issue.md"),
	"shrink": manual("Prints the smallest run and the command that replays it. "+inDocument, []program.Exit{
		holds("the run is minimal: if any single decision is removed, it no longer fails"),
		notReproducible("the run is not reproducible"),
		unknown("a limit was reached first, or the run no longer fails"),
	}, "bloodhound shrink e4bbcad0e9dc", "bloodhound shrink e4bbcad0e9dc --shrink-cpu 10m"),
	"explain": manual("Prints the probability of failure over time, the moment of no return, and "+
		"the decision made there. "+inDocument, []program.Exit{
		holds("the moment of no return was found"),
		notReproducible("the run is not reproducible"),
		unknown("no moment of no return was found, or --runs or --time ran out"),
	}, "bloodhound explain e4bbcad0e9dc", "bloodhound explain e4bbcad0e9dc examples/quickstart --time 30s"),
	"bisect": manual("Prints the commit. "+inDocument, []program.Exit{
		holds("one commit is the answer"),
		unknown("several commits are left, because those between them show nothing"),
	}, "bloodhound bisect e4bbcad0e9dc --good v1.4.0", "bloodhound bisect e4bbcad0e9dc examples/quickstart --good HEAD~20"),
	"debug": manual("", []program.Exit{
		holds("the session ended"),
		notReproducible("the run was replayed to its end and differed from the stored one"),
	}, "bloodhound debug e4bbcad0e9dc", "bloodhound debug e4bbcad0e9dc --at 'fault 1' --gdb-port 1234"),

	"check": manual("Prints the verdict of each property. "+inDocument, []program.Exit{
		holds("all properties hold"),
		violated("a property is violated"),
		wrong("the command or the configuration is wrong, or the file cannot be read"),
		unknown("no verdict; the reason is printed"),
	}, "bloodhound check history.edn --model register", "bloodhound check e4bbcad0e9dc"),
	"model check": manual("Prints what TLC prints: states, the counterexample, the verdict. "+inDocument, []program.Exit{
		holds("no error"),
		violated("a behaviour breaks a property"),
		wrong("the specification or its configuration is wrong"),
		failed("the machine failed, or TLC did"),
		notReproducible("TLC (`--tlc`) has a different answer"),
		unknown("not all states were seen, a property cannot be judged, or there was nothing to check"),
	}, "bloodhound model check Raft.tla"),
	"model trace": manual("Prints the verdict and, if the log is refused, the first line that no behaviour gets past. "+inDocument, []program.Exit{
		holds("the log is accepted"),
		violated("the log is refused, or a property is violated"),
		wrong("the specification, its configuration or the log is wrong"),
		unknown("a limit was reached, or the end of the log is unknown"),
	}, "bloodhound model trace RaftTrace.tla log.ndjson"),
	"model propose": manual("Prints the mapping, followed by comments about how far it carries.", []program.Exit{
		holds("each action has a rule, and the mapped events are steps of the specification"),
		violated("a mapped event is not a step of the specification"),
		wrong("the specification, its configuration or the command is wrong, or the log has no lines"),
		unknown("an action has no rule, nothing was mapped, or the lines cannot be followed"),
	}, "bloodhound model propose Raft.tla --world ."),

	"worker": manual("Prints progress to standard error, and a summary when it ends. "+inDocument, []program.Exit{
		holds("this build has no known failure; also when a signal ended the worker"),
		violated("this build has a known failure"),
		wrong("the command or the configuration is wrong, or the store refuses the user or the token"),
		failed("no run was possible, or the store lacks some results at the end"),
		unknown("a canary did not fail"),
	}, "bloodhound worker . --store dir:store --for 1h"),
	"dashboard": manual("Prints the address of the pages.", []program.Exit{
		holds("a signal ended it, or the pages are written"),
		failed("the address cannot be listened on, or the machine failed"),
	}, "bloodhound dashboard --store dir:store", "bloodhound dashboard --export pages"),
	"db compare": manual("Prints Markdown. "+inDocument, []program.Exit{
		holds("no failure is new"),
		violated("a failure is new"),
		wrong("the command is wrong, or a revision is unknown"),
		unknown("a test did not run on one of the two commits, or no test ran"),
	}, "bloodhound db compare --store dir:store --base v1.4.0"),
	"db continue": manual("", nil, "bloodhound db continue --store dir:store"),
	"db export":   database("bloodhound db export --store dir:store", "the database is damaged, or the store failed"),
	"db fsck":     database("bloodhound db fsck --store dir:store", "something is damaged, or the store failed"),
	"db gc":       database("bloodhound db gc --store dir:store", "the database is damaged, or the store failed"),
	"db import":   database("bloodhound db import --store dir:store records.jsonl", "the store failed"),
	"db merge":    database("bloodhound db merge dir:one dir:two dir:all", "a database is damaged, or a store failed"),
	"db pause":    manual("", nil, "bloodhound db pause --store dir:store"),
	"db stat":     database("bloodhound db stat --store dir:store", "the store failed"),
	"db upgrade":  database("bloodhound db upgrade --store dir:store", "the store failed"),

	"image gc":          manual("", nil, "bloodhound image gc"),
	"image ls":          manual("", nil, "bloodhound image ls"),
	"image pull-kernel": manual("", nil, "bloodhound image pull-kernel"),
	"image pull": manual("", []program.Exit{holds("all images are in the store"), unknown("interrupted; the next pull continues")},
		"bloodhound image pull redis:7"),

	"build": manual("", []program.Exit{holds("all programs are built"), wrong("a `build:` command failed, or the configuration is wrong")},
		"bloodhound build", "bloodhound build /srv/project"),
	"config": manual("Prints the configuration to standard output, and notes to standard error.", []program.Exit{
		holds("the configuration is valid"), wrong("it has a mistake; the message shows the line"),
	}, "bloodhound config", "bloodhound config --compose docker-compose.yml"),
	"doctor": manual("Prints one line for each check, and what to do about those that fail. "+inDocument, []program.Exit{
		holds("Bloodhound can run here; with PROGRAM: every system call that it made is supported"),
		violated("PROGRAM crashed, or its exit code is not 0"),
		failed("the engine cannot run worlds here"),
		notReproducible("the run of PROGRAM is not reproducible"),
		unknown("a system call of PROGRAM was refused"),
	}, "bloodhound doctor", "bloodhound doctor ./server --port 8080"),
	"docs":        manual("", nil, "bloodhound docs", "bloodhound docs faults"),
	"docs search": manual("", nil, "bloodhound docs search power loss"),
	"import": manual("Prints the imported records, the omitted ones, and the name of the "+
		"written configuration.", nil, "bloodhound import incident.jsonl"),
	"init": manual("Prints the new file, and the parts that you should review.", nil,
		"bloodhound init", "bloodhound init --from docker-compose.yml", "bloodhound init --template raft raft-test"),
	"live":   {Examples: []string{"bloodhound live --once", "bloodhound live test ./internal/parser --run TestParse"}},
	"schema": manual("", nil, "bloodhound schema"),
}

// database makes the manual of a command for databases, which ends with code 3 for a reason.
func database(example, damaged string) program.Manual {
	return manual("", []program.Exit{holds("done"), failed(damaged), unknown("interrupted; the same command continues")}, example)
}

// flagGroups are the purposes of flags, in the order in which help lists them. Flags without a group come last.
var flagGroups = []program.FlagGroup{
	{Title: "Common", Names: []string{"seed", "seeds", "timeout", "mode", "config", "compose", "workers", "keep-going", "verbose", "json"}},
	{Title: "World", Names: []string{"engine", "async-vm", "base-image", "kernel", "initrd", "qemu"}},
	{Title: "Run", Names: []string{"boot-seed", "tape", "until", "runs", "original", "update"}},
	{Title: "Search", Names: []string{"budget", "strategy", "max-depth", "corpus", "full-length", "from-boot",
		"around", "kind", "per-class", "cpu", "time"}},
	{Title: "Shrinking", Names: []string{"no-shrink", "shrink-cpu", "shrink-runs", "shrink-time"}},
	{Title: "Memory", Names: []string{"snapshots", "snapshot-memory", "memory"}},
	{Title: "Looking inside", Names: []string{"at", "ps", "sockets", "files", "fds", "ls", "cat", "tar", "core", "output", "logs", "reached",
		"process", "drivers", "listen", "gdb-port", "delve", "launch-json"}},
	{Title: "Code", Names: []string{"coverage", "coverage-threshold", "since", "code", "good", "bad", "base", "all"}},
	{Title: "Output", Names: []string{"html", "open", "markdown", "comment", "junit", "sarif", "trace", "trace-format", "pcap"}},
}
