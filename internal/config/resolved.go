package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// written is a configuration as its files say it, after variables were filled in and Compose files were merged.
type written struct {
	top      *source.Node
	composed *source.Node      // nil without Compose files
	compose  []string          // the Compose files that were named, absolute
	counted  []*source.Entry   // the entries of `nodes` before `count` and templates made several of some
	groupOf  map[string]string // by nodes, those that stand for them
}

// YAML writes the configuration as a bloodhound.yaml that gives the same world in the same folder: variables and defaults are filled in, Compose
// files are merged, and keys without effect are left out. Comments name what follows from that: addresses, added nodes, and the rules of a preset.
func (r *Result) YAML() ([]byte, error) {
	top := r.values()
	r.fillDefaults(top)
	schema.Order(top, &keys.Bloodhound)
	r.explain(top)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(top)
	return out.Bytes(), err
}

// values are the keys that the files have.
func (r *Result) values() *yaml.Node {
	top := *r.written.top
	top.Entries = slices.Clone(top.Entries)
	for i, e := range top.Entries {
		if e.Name == "nodes" && r.written.counted != nil {
			nodes := *e.Value
			nodes.Entries = r.written.counted
			top.Entries[i] = &source.Entry{Key: e.Key, Name: e.Name, Value: &nodes}
		}
	}
	w := &schema.Writer{}
	values := w.Write(&top, &keys.Bloodhound)
	if r.written.composed == nil {
		return values
	}
	compose := r.composeFiles()
	if compose == nil {
		compose = r.composeModel()
	}
	if v := schema.Value(values, "compose"); v != nil {
		*v = *compose
	} else {
		schema.Set(values, "compose", compose)
	}
	return values
}

// composeFiles are the names of the Compose files, if some lie in other folders: the paths in these start there, so that they have no other place. Else
// it is nil.
func (r *Result) composeFiles() *yaml.Node {
	elsewhere := func(f *source.File) bool { return f.Compose && f.Dir != r.Spec.Dir }
	if !slices.ContainsFunc(r.files, elsewhere) {
		return nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, f := range r.written.compose {
		list.Content = append(list.Content, schema.TextNode(relative(r.Spec.Dir, f)))
	}
	return list
}

// composeModel merges all Compose files into one document, as `docker compose config` does.
func (r *Result) composeModel() *yaml.Node {
	w := &schema.Writer{Dir: r.Spec.Dir, Model: true}
	model := w.Write(r.written.composed, &keys.Compose)
	schema.Order(model, &keys.Compose)
	name := r.written.composed.Entry("name")
	if _, given := r.lookup("COMPOSE_PROJECT_NAME"); given && name != nil && name.Implied {
		schema.Set(model, "name", schema.TextNode(name.Value.Text))
	}
	return model
}

// lookup finds a variable that Compose files are filled in from.
func (r *Result) lookup(name string) (string, bool) {
	for _, f := range r.files {
		if f.Compose {
			return f.Lookup(name)
		}
	}
	return "", false
}

// relative is a path from a folder on, where it lies in it.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil {
		return rel
	}
	return path
}

// filler adds keys that no file has.
type filler struct{ *yaml.Node }

// mappingAt returns the mapping at a key, and adds an empty one if there is none.
func (f filler) mappingAt(key string) filler {
	v := schema.Value(f.Node, key)
	if v == nil {
		v = &yaml.Node{Kind: yaml.MappingNode}
		schema.Set(f.Node, key, v)
	}
	return filler{v}
}

func (f filler) plain(key, value string) {
	if f.Kind == yaml.MappingNode && schema.Value(f.Node, key) == nil {
		schema.Set(f.Node, key, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
}

func (f filler) text(key, value string) {
	if value != "" && f.Kind == yaml.MappingNode && schema.Value(f.Node, key) == nil {
		schema.Set(f.Node, key, schema.TextNode(value))
	}
}

func (f filler) remove(key string) {
	for i := 0; i+1 < len(f.Content); i += 2 {
		if f.Content[i].Value == key {
			f.Content = slices.Delete(f.Content, i, i+2)
			return
		}
	}
}

func (f filler) number(key string, value int64) {
	if value != 0 {
		f.plain(key, strconv.FormatInt(value, 10))
	}
}

func (f filler) time(key string, ns int64) { f.plain(key, schema.DurationText(ns)) }

func (f filler) rate(key string, ppm uint64) {
	f.plain(key, strconv.FormatFloat(float64(ppm)/1e6, 'f', -1, 64))
}

// fillDefaults adds the values of keys that the files leave to their defaults.
func (r *Result) fillDefaults(values *yaml.Node) {
	s, top := r.Spec, filler{values}
	top.text("name", s.Name)
	top.text("engine", r.Engine)
	r.fillSimulation(top.mappingAt("simulation"))
	link := top.mappingAt("network")
	link.time("latency", s.DefaultLink.LatencyNs)
	link.time("jitter", s.DefaultLink.JitterNs)
	link.number("bandwidth_bytes", s.DefaultLink.BandwidthBytes)
	r.fillNodes(values)
	r.fillWorkloads(values)
	r.fillFaults(values)
	search := top.mappingAt("exploration")
	search.text("strategy", r.Exploration.Strategy)
	if seed := r.Exploration.Seed; seed != nil {
		search.plain("seed", strconv.FormatUint(*seed, 10))
	}
	top.mappingAt("output").text("dir", relative(s.Dir, r.Output.Dir))
}

func (r *Result) fillSimulation(n filler) {
	s := r.Spec
	n.time("max_time", s.MaxTimeNs)
	n.time("time_step", s.TimeStepNs)
	n.plain("start", time.Unix(0, s.StartUnixNs).UTC().Format(time.RFC3339Nano))
	n.rate("preempt_rate", s.Sched.PreemptPPM)
	n.number("cpus", int64(s.Sched.CPUs))
	if s.Sched.Blocks > 0 {
		n.mappingAt("switches").rate("rate", s.Sched.SwitchPPM)
	}
	cost := n.mappingAt("cost")
	cost.number("call_ns", s.Cost.CallNs)
	cost.number("clock_read_ns", s.Cost.ClockReadNs)
	cost.number("sync_ns", s.Cost.SyncNs)
	n.mappingAt("limits").time("wall_time", s.Limits.WallMs*int64(time.Millisecond))
}

// fillNodes completes nodes that are no services of Compose files, which have more defaults. Nodes of active profiles are there without them.
func (r *Result) fillNodes(values *yaml.Node) {
	r.eachNode(schema.Value(schema.Value(values, "compose"), "services"), func(_ *yaml.Node, n filler, _ []*world.Node) { n.remove("profiles") })
	r.eachNode(schema.Value(values, "nodes"), func(_ *yaml.Node, n filler, specs []*world.Node) {
		n.remove("profiles")
		if r.written.composed.Get("services").Has(specs[0].Name) {
			return
		}
		n.text("role", string(specs[0].Role))
		n.text("restart", string(specs[0].Restart.Mode))
	})
}

// eachNode visits the nodes at a key, with what the world has for each of them.
func (r *Result) eachNode(nodes *yaml.Node, visit func(key *yaml.Node, n filler, specs []*world.Node)) {
	for i := 0; nodes != nil && i+1 < len(nodes.Content); i += 2 {
		key, n := nodes.Content[i], nodes.Content[i+1]
		var specs []*world.Node
		for k := range r.Spec.Nodes {
			if of := r.Spec.Nodes[k].Name; of == key.Value || r.written.groupOf[of] == key.Value {
				specs = append(specs, &r.Spec.Nodes[k])
			}
		}
		if len(specs) > 0 && n.Kind == yaml.MappingNode {
			visit(key, filler{n}, specs)
		}
	}
}

func (r *Result) fillWorkloads(values *yaml.Node) {
	var all []*yaml.Node
	if one := schema.Value(values, "workload"); one != nil {
		all = append(all, one)
	}
	if list := schema.Value(values, "workloads"); list != nil {
		all = append(all, list.Content...)
	}
	if len(all) != len(r.Spec.Workloads) {
		return
	}
	for i, n := range all {
		w := &r.Spec.Workloads[i]
		filler{n}.text("name", w.Name)
		if len(w.Schedule) > 0 || n.Kind != yaml.MappingNode {
			continue // whose file decides
		}
		c := filler{n}.mappingAt("config")
		if w.Driver != "command" {
			c.number("clients", int64(w.Clients))
		}
		c.time("duration", w.DurationNs)
	}
}

// fillFaults completes the section of the files, or adds one that a flag asks for. Without either there is none: campaigns then have faults of their own.
func (r *Result) fillFaults(values *yaml.Node) {
	f := &r.Spec.Faults
	n := schema.Value(values, "faults")
	if n == nil && (!f.Enabled || r.UsualFaults) {
		return
	}
	faults := filler{values}.mappingAt("faults")
	if mode := schema.Value(faults.Node, "mode"); mode != nil && f.Mode != "" { // a flag wins
		mode.SetString(f.Mode)
	}
	faults.plain("enabled", strconv.FormatBool(f.Enabled))
	faults.text("mode", f.Mode)
	faults.time("settle", f.SettleNs)
	faults.plain("swarm", strconv.FormatBool(f.Swarm))
}

// explain adds what follows from the keys as comments.
func (r *Result) explain(top *yaml.Node) {
	var names []string
	for _, f := range r.files {
		names = append(names, relative(r.Spec.Dir, filepath.Join(f.Dir, filepath.Base(f.Name))))
	}
	head := []string{"What Bloodhound reads in " + strings.Join(names, ", ") + ", as a bloodhound.yaml for the same folder."}
	if slices.ContainsFunc(r.Spec.Nodes, func(n world.Node) bool { return n.Image != nil }) {
		head = append(head, "Images add their own settings: command, environment, user, volumes and so on.")
	}
	shown := map[string]bool{}
	for _, nodes := range []*yaml.Node{schema.Value(top, "nodes"), schema.Value(schema.Value(top, "compose"), "services")} {
		r.eachNode(nodes, func(key *yaml.Node, n filler, specs []*world.Node) {
			var lines []string
			for _, s := range specs {
				if !shown[s.Name] {
					lines = append(lines, addresses(s))
				}
				shown[s.Name] = true
			}
			key.HeadComment = strings.Join(lines, "\n")
		})
	}
	for i := range r.Spec.Nodes {
		if n := &r.Spec.Nodes[i]; !shown[n.Name] {
			head = append(head, fmt.Sprintf("Node %s (%s)", addresses(n), n.Role))
		}
	}
	if len(top.Content) > 0 {
		top.Content[0].HeadComment = strings.Join(head, "\n")
	}
	r.explainPreset(top)
}

// addresses names a node and its addresses.
func addresses(n *world.Node) string {
	list := []string{n.Name}
	for _, a := range n.Attachments {
		list = append(list, fmt.Sprintf("%s %s", a.Network, strings.TrimSpace(a.IPv4+" "+a.IPv6)))
	}
	if len(n.Attachments) == 0 {
		list = append(list, strings.TrimSpace(n.IPv4+" "+n.IPv6))
	}
	return strings.TrimSuffix(strings.Join(list, ", "), ", ")
}

// explainPreset lists the rules that the mode of faults stands for.
func (r *Result) explainPreset(top *yaml.Node) {
	f := &r.Spec.Faults
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value != "faults" || f.Mode == "" {
			continue
		}
		lines := []string{"Rules of the preset " + f.Mode + ":"}
		for k := range f.Rules {
			if rule := &f.Rules[k]; !rule.ByUser && rule.RatePPM > 0 {
				lines = append(lines, "  "+fault.Sentence(rule))
			}
		}
		top.Content[i].HeadComment = strings.Join(lines, "\n")
	}
}
