package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// examples are commands that people type, by the path of their verb.
var examples = map[string][]string{
	"bisect":      {"bloodhound bisect e4bbcad0e9dc --good v1.4.0", "bloodhound bisect e4bbcad0e9dc examples/quickstart --good HEAD~20"},
	"build":       {"bloodhound build", "bloodhound build /srv/project"},
	"check":       {"bloodhound check history.edn --model register", "bloodhound check e4bbcad0e9dc"},
	"config":      {"bloodhound config", "bloodhound config --compose docker-compose.yml"},
	"dashboard":   {"bloodhound dashboard --store dir:store", "bloodhound dashboard --export pages"},
	"db compare":  {"bloodhound db compare --store dir:store --base v1.4.0"},
	"db continue": {"bloodhound db continue --store dir:store"},
	"db export":   {"bloodhound db export --store dir:store"},
	"db fsck":     {"bloodhound db fsck --store dir:store"},
	"db gc":       {"bloodhound db gc --store dir:store"},
	"db import":   {"bloodhound db import --store dir:store records.jsonl"},
	"db merge":    {"bloodhound db merge dir:one dir:two dir:all"},
	"db pause":    {"bloodhound db pause --store dir:store"},
	"db stat":     {"bloodhound db stat --store dir:store"},
	"db upgrade":  {"bloodhound db upgrade --store dir:store"},
	"debug":       {"bloodhound debug e4bbcad0e9dc", "bloodhound debug e4bbcad0e9dc --at 'fault 1' --gdb-port 1234"},
	"doctor":      {"bloodhound doctor", "bloodhound doctor ./server --port 8080"},
	"docs":        {"bloodhound docs", "bloodhound docs faults"},
	"docs search": {"bloodhound docs search power loss"},
	"explain":     {"bloodhound explain e4bbcad0e9dc", "bloodhound explain e4bbcad0e9dc examples/quickstart --time 30s"},
	"explore": {"bloodhound explore", "bloodhound explore --mode harsh --timeout 10m",
		"bloodhound explore --compose docker-compose.yml --seeds 200"},
	"image gc":             {"bloodhound image gc"},
	"image ls":             {"bloodhound image ls"},
	"image pull-kernel":    {"bloodhound image pull-kernel"},
	"live federate audit":  {"bloodhound live federate audit answers.log --of transit"},
	"live federate check":  {"bloodhound live federate check --from transit --prefix 192.0.2.0/24 --path '65001 65002'"},
	"live federate key":    {"bloodhound live federate key domain.key"},
	"live federate origin": {"bloodhound live federate origin --prefix 192.0.2.0/24 --asn 65001"},
	"image pull":           {"bloodhound image pull redis:7"},
	"import":               {"bloodhound import incident.jsonl"},
	"init":                 {"bloodhound init", "bloodhound init --from docker-compose.yml", "bloodhound init --template raft raft-test"},
	"list":                 {"bloodhound list", "bloodhound list examples/quickstart --json"},
	"live build":           {"bloodhound live build ./cmd/server -o server"},
	"live federate":        {"bloodhound live federate --config federation.yaml"},
	"live test":            {"bloodhound live test ./internal/parser --run TestParse"},
	"live try":             {"bloodhound live try --change new.conf n1"},
	"model check":          {"bloodhound model check Raft.tla"},
	"model propose":        {"bloodhound model propose Raft.tla --world ."},
	"model trace":          {"bloodhound model trace RaftTrace.tla log.ndjson"},
	"replay": {"bloodhound replay e4bbcad0e9dc", "bloodhound replay e4bbcad0e9dc --at violation --ps --logs",
		"bloodhound replay --all --code ../patched"},
	"report":    {"bloodhound report e4bbcad0e9dc --open", "bloodhound report e4bbcad0e9dc --html failure.html --markdown issue.md"},
	"run":       {"bloodhound run", "bloodhound run --seed 7 --logs", "bloodhound run examples/quickstart --trace run.trace"},
	"schema":    {"bloodhound schema"},
	"shrink":    {"bloodhound shrink e4bbcad0e9dc", "bloodhound shrink e4bbcad0e9dc --shrink-cpu 10m"},
	"sweep":     {"bloodhound sweep", "bloodhound sweep --kind power_loss --per-class 8"},
	"test":      {"bloodhound test --budget 10m --comment comment.md", "bloodhound test --seeds 100 --junit junit.xml"},
	"verify":    {"bloodhound verify", "bloodhound verify --seed 7 --runs 10"},
	"vm fault":  {"bloodhound vm fault 'crash on n1 for 2s'"},
	"vm pause":  {"bloodhound vm pause"},
	"vm resume": {"bloodhound vm resume"},
	"vm status": {"bloodhound vm status"},
	"worker":    {"bloodhound worker . --store dir:store --for 1h"},
}

// flagGroups are the purposes of flags, in the order in which help lists them. What belongs to none comes last.
var flagGroups = []struct {
	title string
	names []string
}{
	{"World", []string{"config", "compose", "engine", "mode", "async-vm", "base-image", "kernel", "initrd", "qemu"}},
	{"Tape", []string{"seed", "boot-seed", "tape", "until", "runs", "original", "update"}},
	{"Search", []string{"seeds", "timeout", "budget", "strategy", "max-depth", "corpus", "full-length", "keep-going", "from-boot",
		"around", "kind", "per-class", "cpu", "time"}},
	{"Shrinking", []string{"no-shrink", "shrink-cpu", "shrink-runs", "shrink-time"}},
	{"Machine", []string{"workers", "snapshots", "snapshot-memory", "memory"}},
	{"Looking inside", []string{"at", "ps", "sockets", "files", "fds", "ls", "cat", "tar", "core", "output", "logs", "reached",
		"process", "drivers", "listen", "gdb-port", "delve", "launch-json"}},
	{"Code", []string{"coverage", "coverage-threshold", "since", "code", "good", "bad", "base", "all"}},
	{"Results", []string{"verbose", "json", "html", "open", "markdown", "comment", "junit", "sarif", "trace", "trace-format", "pcap"}},
}

// helpColumns is how wide the lists of flags are.
const helpColumns = 100

// documentVerbs gives each verb its examples, and lists its flags by their purpose.
func documentVerbs(root *cobra.Command) {
	var each func(c *cobra.Command, path string)
	each = func(c *cobra.Command, path string) {
		if lines := examples[path]; len(lines) > 0 {
			c.Example = "  " + strings.Join(lines, "\n  ")
		}
		for _, sub := range c.Commands() {
			each(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
	}
	each(root, "")
	root.SetUsageFunc(func(c *cobra.Command) error { return printUsage(c.OutOrStdout(), c) })
}

// printUsage prints how a verb is used: its lines, examples, verbs below it, and flags.
func printUsage(w io.Writer, c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, g := range groupsOf(c.LocalFlags()) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(helpColumns))
	}
	if inherited := c.InheritedFlags(); inherited.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags of %s:\n%s", c.Parent().CommandPath(), inherited.FlagUsagesWrapped(helpColumns))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flagGroup are the flags of one purpose.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// groupsOf parts the flags of a verb by their purpose. A verb with few of them has one group.
func groupsOf(flags *pflag.FlagSet) (list []flagGroup) {
	const few = 8
	sorted := map[string]*pflag.FlagSet{}
	count := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		count++
		title := ""
		for _, g := range flagGroups {
			if slices.Contains(g.names, f.Name) {
				title = g.title
			}
		}
		if sorted[title] == nil {
			sorted[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sorted[title].AddFlag(f)
	})
	if count == 0 {
		return nil
	}
	if count <= few {
		return []flagGroup{{"Flags", flags}}
	}
	for _, g := range flagGroups {
		if sorted[g.title] != nil {
			list = append(list, flagGroup{g.title + " flags", sorted[g.title]})
		}
	}
	if sorted[""] != nil {
		list = append(list, flagGroup{"Other flags", sorted[""]})
	}
	return list
}
