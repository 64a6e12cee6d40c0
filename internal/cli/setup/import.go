package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	yaml "go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/incident"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// maxRecordBytes bounds a record of an incident.
const maxRecordBytes = 256 << 20

// importing holds the flags of import.
type importing struct {
	format string
	world  string
	out    string
	nodes  map[string]string
	lead   time.Duration
}

func importVerb(a *console.App) *cobra.Command {
	i := &importing{}
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a test from logs or histories of an incident",
		Long: "Read the records of an incident: JSON lines of operations and faults, a Jepsen history (EDN), " +
			"OpenTelemetry traces (OTLP as JSON), Kubernetes events (`kubectl get events -o json`), access logs. " +
			"Several files of one incident are merged by their times.\n\n" +
			"--world names the configuration that has the servers. Beside it, import writes a copy whose workload" +
			" repeats the operations at their times and whose rules inject the faults at theirs. `bloodhound docs" +
			" reference/import` has the formats.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("import needs one or more files of records: bloodhound import FILE...")
			}
			return flags.NoneEmpty(args)
		},
		RunE: func(_ *cobra.Command, args []string) error { return importRecords(a, i, args) },
	}
	c.Flags().StringVar(&i.format, "format", "", "the files' `format`, if their content does not show it: "+strings.Join(incident.Formats, ", "))
	c.Flags().StringVar(&i.world, "world", ".", "the `folder or file` of the configuration with the servers")
	c.Flags().StringVar(&i.out, "out", "incident", "the `name` of the files to write, without .yaml and .jsonl")
	c.Flags().StringToStringVar(&i.nodes, "node", nil,
		"map a server of the records to a node with another name, as `SERVER=NODE`; repeat for several")
	c.Flags().DurationVar(&i.lead, "lead", 5*time.Second, "virtual `time` before the first record, for the servers to start")
	return c
}

func importRecords(a *console.App, i *importing, args []string) error {
	switch {
	case filepath.Base(i.out) != i.out || i.out == ".":
		return fmt.Errorf("--out %s: import writes beside the configuration of --world; give a name without a slash",
			flags.ShellQuote(i.out))
	case i.lead < 0:
		return fmt.Errorf("--lead %s is below 0; give the time that servers need to start", i.lead)
	}
	t, err := i.read(args)
	if err != nil {
		return err
	}
	base := i.world
	if info, err := os.Stat(base); err == nil && info.IsDir() {
		base = filepath.Join(base, project.ConfigName)
	}
	loaded, err := project.ReadConfig(config.Options{Path: base, Describe: true})
	if err != nil {
		return err
	}
	spec := loaded.Spec
	for server, node := range i.nodes {
		if !slices.ContainsFunc(spec.Nodes, func(n world.Node) bool { return n.Name == node }) {
			return fmt.Errorf("--node %s=%s: %s has no node %q", server, node, base, node)
		}
	}
	text, err := os.ReadFile(base)
	if err != nil {
		return err
	}
	p := newPlay(t, spec, i)
	if err := p.check(base); err != nil {
		return err
	}
	schedule := filepath.Join(filepath.Dir(base), i.out+".jsonl")
	project := filepath.Join(filepath.Dir(base), i.out+".yaml")
	files := []string{schedule, project}
	for _, name := range files {
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s exists already; remove it first, or choose another name with --out", name)
		}
	}
	out, err := p.project(text, strings.Join(args, ", "), i.out+".jsonl")
	if err != nil {
		return fmt.Errorf("%s: %w", base, err)
	}
	if err := p.write(schedule, project, out); err != nil {
		for _, name := range files { // none of them was there before
			os.Remove(name)
		}
		return err
	}
	p.report(a.Out, t, base)
	fmt.Fprintf(a.Out, "wrote %s: run `bloodhound explore %s`\n", project, flags.ShellQuote(project))
	return nil
}

// read reads the records of files as one timeline, which has operations or faults.
func (i *importing) read(files []string) (*incident.Timeline, error) {
	var list []*incident.Timeline
	for _, name := range files {
		text, err := regular.Read(name, maxRecordBytes)
		if err != nil {
			return nil, err
		}
		t, err := incident.Read(name, text, i.format)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	t := incident.Join(list)
	if err := t.Check(); err != nil {
		return nil, err
	}
	if len(t.Operations)+len(t.Faults) == 0 {
		return nil, fmt.Errorf("%s contains no operations or faults, only %s of other kinds: %s", strings.Join(files, ", "),
			plural.Count(total(t.Ignored), "record"), counted(t))
	}
	return t, nil
}

// report says what was imported from a timeline, and what may be wrong with it for the configuration in a file.
func (p *play) report(out io.Writer, t *incident.Timeline, file string) {
	fmt.Fprintf(out, "%s of %s and %s within %s\n", plural.Count(len(p.operations), "operation"),
		plural.Count(p.clients, "client"), plural.Count(len(p.rules), "fault"), time.Duration(p.endNs-p.startNs).Round(time.Millisecond))
	for _, r := range p.rules {
		fmt.Fprintf(out, "  %s (%s)\n", r.sentence, r.why)
	}
	for _, what := range t.IgnoredKinds() {
		fmt.Fprintf(out, "not imported: %s\n", ignoredText(t.Ignored[what], what))
	}
	if p.unmet > 0 {
		fmt.Fprintf(out, "warning: %s %s after the last operation, so no request overlaps %s, and the verdict on "+
			"their kinds is unknown; also import the requests of that time\n", plural.Count(p.unmet, "fault"),
			plural.Verb(p.unmet, "begins", "begin"), plural.Verb(p.unmet, "it", "them"))
	}
	if p.short {
		fmt.Fprintf(out, "warning: faults are injected only while the workload runs, and the workload of %s "+
			"may end before the last fault; set its duration to %s\n",
			file, p.lastsFor())
	}
}

// write writes the operations and the configuration, and reads both.
func (p *play) write(schedule, file string, text []byte) error {
	if len(p.operations) > 0 {
		var lines bytes.Buffer
		for _, o := range p.operations {
			row, err := json.Marshal(o)
			if err != nil {
				return err
			}
			lines.Write(append(row, '\n'))
		}
		if err := report.WriteFile(schedule, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := report.WriteFile(file, text); err != nil {
		return err
	}
	if _, err := project.ReadConfig(config.Options{Path: file, Describe: true}); err != nil {
		return fmt.Errorf("the incident does not fit this configuration: %w", err)
	}
	return nil
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func counted(t *incident.Timeline) string {
	var parts []string
	for _, what := range t.IgnoredKinds() {
		parts = append(parts, ignoredText(t.Ignored[what], what))
	}
	return strings.Join(parts, ", ")
}

// ignoredText writes how much was ignored of a kind, whose first word is a plural: events of something.
func ignoredText(n int, kind string) string {
	word, rest, _ := strings.Cut(kind, " ")
	return strings.TrimSpace(plural.Count(n, strings.TrimSuffix(word, "s")) + " " + rest)
}

// play is an incident in a world: times count from the start of the workload.
type play struct {
	timeline       *incident.Timeline
	workload       *world.Workload
	startNs, endNs int64
	lead           time.Duration
	maxTimeNs      int64
	settleNs       int64
	watchNs        int64 // how long properties want the world watched after the faults
	operations     []world.Scheduled
	clients        int
	rules          []importedRule
	untilNs        int64          // when the last fault has ended
	short          bool           // the workload may end before it; project has it last longer where a key of the configuration can
	unmet          int            // faults that begin after the last operation
	strangers      map[string]int // faults of servers that are no nodes
}

type importedRule struct{ sentence, why string }

func newPlay(t *incident.Timeline, spec *world.Spec, i *importing) *play {
	p := &play{timeline: t, startNs: t.Begin.Ns, endNs: t.Until().Ns, lead: i.lead, maxTimeNs: spec.MaxTimeNs,
		settleNs: spec.Faults.SettleNs, strangers: map[string]int{}}
	if k := slices.IndexFunc(spec.Workloads, func(w world.Workload) bool { return w.Driver != "command" && w.Driver != "composer" }); k >= 0 {
		p.workload = &spec.Workloads[k]
	}
	for k := range spec.Properties {
		c := &spec.Properties[k].Check
		p.watchNs = max(p.watchNs, spec.Properties[k].TimeoutNs, c.GraceNs+2*c.HangNs)
		if c.Alerts != nil {
			p.watchNs = max(p.watchNs, c.GraceNs+c.Alerts.WatchNs)
		}
	}
	clients := map[string]int{}
	for _, o := range t.Operations {
		op := p.operation(o.Op)
		if op == "" {
			t.Ignored[fmt.Sprintf("operations %s, which the driver cannot play", o.Op)]++
			continue
		}
		if _, ok := clients[o.Client]; !ok {
			clients[o.Client] = len(clients)
		}
		p.operations = append(p.operations, world.Scheduled{AtMs: float64(p.at(o.TimeNs)) / 1e6, Client: clients[o.Client], Op: op, Key: o.Key, Value: o.Value})
	}
	p.clients = len(clients)
	for _, f := range t.Faults {
		target, stranger := p.target(spec, f, i.nodes)
		if stranger != "" {
			p.strangers[stranger]++
			t.Ignored[fmt.Sprintf("faults of %q, which is not a server of this world", stranger)]++
			continue
		}
		lasts, clause := max(cmp.Or(f.EndNs, p.endNs)-f.TimeNs, leastNs), ""
		if fault.RowOf(f.Kind).Lasts() {
			clause = " for " + time.Duration(lasts).Round(time.Millisecond).String()
		}
		p.untilNs = max(p.untilNs, p.at(f.TimeNs)+lasts)
		if n := len(p.operations); n > 0 && float64(p.at(f.TimeNs)) > p.operations[n-1].AtMs*1e6 {
			p.unmet++
		}
		why := f.Why + " " + f.Server
		if f.Peer != "" {
			why += " and " + f.Peer
		}
		if f.EndNs == 0 {
			why += ", whose end is not recorded"
		}
		if f.AmountNs > 0 {
			clause += " by " + time.Duration(f.AmountNs).String()
		}
		p.rules = append(p.rules, importedRule{fmt.Sprintf("%s on %s after %s%s max 1", f.Kind, target,
			time.Duration(p.at(f.TimeNs)).Round(time.Millisecond), clause), why})
	}
	lasts := func(w world.Workload) bool {
		return w.Driver != "command" && w.Operations == 0 && w.DurationNs >= p.untilNs
	}
	p.short = len(p.rules) > 0 && len(p.operations) == 0 && len(spec.Workloads) > 0 && !slices.ContainsFunc(spec.Workloads, lasts)
	return p
}

// target names the server or link of a fault as rules do; or returns, as stranger, the server that this world does not
// have.
func (p *play) target(spec *world.Spec, f incident.Fault, nodes map[string]string) (target, stranger string) {
	for _, server := range []string{f.Server, f.Peer} {
		if server == "" {
			continue
		}
		node := cmp.Or(nodes[server], server)
		if !slices.ContainsFunc(spec.Nodes, func(n world.Node) bool { return n.Name == node && n.Role == world.Server }) {
			return "", server
		}
		switch {
		case target == "":
			target = node
		case f.OneWay:
			target += "->" + node
		default:
			target += "-" + node
		}
	}
	return target, ""
}

// lastsFor is a duration of the workload in which the last fault ends.
func (p *play) lastsFor() string {
	return (time.Duration(p.untilNs).Round(time.Second) + time.Second).String()
}

// at is a time of the records, after the start of the workload.
func (p *play) at(ns int64) int64 { return ns - p.startNs + p.lead.Nanoseconds() }

// operation returns the driver's name for an operation of the records, empty if the driver has none.
func (p *play) operation(op string) string {
	if p.workload == nil {
		return ""
	}
	op = strings.ToLower(op)
	switch p.workload.Driver {
	case "redis":
		return map[string]string{"put": "SET", "set": "SET", "write": "SET", "get": "GET", "read": "GET", "delete": "DEL", "del": "DEL", "incr": "INCR"}[op]
	case "etcd":
		if slices.Contains([]string{"range_put", "lease_put", "compact"}, op) {
			return op
		}
	}
	return map[string]string{"put": "put", "set": "put", "write": "put", "get": "get", "read": "get", "delete": "delete", "del": "delete"}[op]
}

// check returns why the incident cannot be played in this world.
func (p *play) check(base string) error {
	switch {
	case p.workload == nil && len(p.timeline.Operations) > 0:
		return fmt.Errorf("%s has no workload that can play operations; add one with the driver http, redis, sql or etcd", base)
	case len(p.operations) == 0 && len(p.timeline.Operations) > 0:
		return fmt.Errorf("none of %s fits the driver %s: %s", plural.Count(len(p.timeline.Operations), "operation"),
			p.workload.Driver, counted(p.timeline))
	case len(p.rules) == 0 && len(p.timeline.Faults) > 0:
		names := slices.Sorted(maps.Keys(p.strangers))
		return fmt.Errorf("none of %s names a server of %s: they name %s; map each name to a node with --node %s=NODE",
			plural.Count(len(p.timeline.Faults), "fault"), base, strings.Join(names, ", "), names[0])
	}
	return nil
}

// leastNs is how long a fault lasts at least.
const leastNs = 100_000_000

// quietNs is the margin of an imported run: simulation.max_time allows that much after faults, settling and watching.
const quietNs = 30_000_000_000

// project is the configuration with the incident in the place of its workload and its faults.
func (p *play) project(base []byte, from, schedule string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(base, &doc); err != nil {
		return nil, err
	}
	top := doc.Content[0]
	top.HeadComment = "# An incident in this world, written by bloodhound import from " + from + "."
	lastNs := p.at(p.endNs) + p.settleNs + p.watchNs + quietNs
	if lastNs > p.maxTimeNs {
		set(child(top, "simulation"), "max_time", scalar((time.Duration(lastNs).Round(time.Second) + time.Second).String()))
	}
	if len(p.operations) > 0 {
		w := child(top, "workload")
		if list := valueOf(top, "workloads"); list != nil {
			return nil, errors.New("it has `workloads`, but an incident needs a single one, under `workload`")
		}
		c := child(w, "config")
		for _, key := range []string{"qps", "operations_per_second", "clients", "max_operations", "operations", "dictionary", "duration", "duration_seconds"} {
			remove(c, key)
		}
		set(c, "schedule", scalar(schedule))
		if last := p.operations[len(p.operations)-1]; float64(p.untilNs) > last.AtMs*1e6 {
			set(c, "duration", scalar(p.lastsFor()))
		}
	} else if w := valueOf(top, "workload"); p.short && w != nil && p.workload != nil && p.workload.Operations == 0 {
		c := child(w, "config")
		remove(c, "duration_seconds")
		set(c, "duration", scalar(p.lastsFor()))
		p.short = false
	}
	faults := &yaml.Node{Kind: yaml.MappingNode}
	set(faults, "start", scalar("0s"))
	set(faults, "settle", scalar(time.Duration(p.settleNs).String()))
	rules := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range p.rules {
		n := scalar(r.sentence)
		n.LineComment = "# " + r.why
		rules.Content = append(rules.Content, n)
	}
	if len(p.rules) > 0 {
		set(faults, "rules", rules)
	}
	set(top, "faults", faults)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// valueOf returns the value of a key in a mapping, nil without the key.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func set(n *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	n.Content = append(n.Content, scalar(key), v)
}

func remove(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// child is a mapping below a key, made if it is not there.
func child(n *yaml.Node, key string) *yaml.Node {
	v := valueOf(n, key)
	if v == nil {
		v = &yaml.Node{Kind: yaml.MappingNode}
		set(n, key, v)
	}
	return v
}
