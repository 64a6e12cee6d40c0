// Package workloads reads the programs that drive the servers.
package workloads

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Read reads `workload` and `workloads`, and adds a client node for those that name none.
func Read(l *load.State, top *source.Node) {
	all := top.Get("workloads").List()
	one := top.Get("workload")
	if one != nil && top.Has("workloads") {
		l.Fail(top.Entry("workloads").Key.Position, "list all of them under `workloads:`", "the file has both workload and workloads")
	}
	prefix := func(i int) string { return fmt.Sprintf("workloads[%d]", i) }
	if one != nil {
		all, prefix = append([]*source.Node{one}, all...), func(int) string { return "workload" }
	}
	load := ""
	for i, n := range all {
		w, ok := workload(l, n, prefix(i))
		if !ok {
			continue
		}
		if !n.Has("node") {
			if load == "" {
				load = l.Client("load").Name
			}
			w.Node = load
		}
		template(l, n.Get("config").Get("template"), &w)
		l.Spec.Workloads = append(l.Spec.Workloads, w)
	}
	for _, d := range l.Nodes {
		used := slices.ContainsFunc(all, func(n *source.Node) bool { return source.ValueOr(n.Get("node"), "") == d.Name })
		if d.Spec.Role == world.Client && d.At.Line > 0 && len(d.Spec.Command) == 0 && !used && !d.Value.Entry("command").IsBad() {
			l.Fail(d.At, "add `command:`, or use it as the `node:` of a workload", "client %s has no command, and no workload runs on it", d.Name)
		}
	}
}

// workload reads one workload; false is one of which nothing is known.
func workload(l *load.State, n *source.Node, key string) (world.Workload, bool) {
	before := len(l.Errs)
	c := n.Get("config")
	w := world.Workload{Driver: source.ValueOr(n.Get("driver"), "")}
	if w.Driver == "" {
		l.Missing(n, "driver", "add `driver:`, one of "+strings.Join(keys.Drivers, ", "), "%s has no driver", key)
		return w, false
	}
	w.Name = source.ValueOr(n.Get("name"), w.Driver)
	if slices.ContainsFunc(l.Spec.Workloads, func(o world.Workload) bool { return o.Name == w.Name }) {
		l.Fail(n.Position, "give each workload a unique `name:`", "%s: another workload has the name %q", key, w.Name)
	}
	l.Remember(load.Place{Part: engine.PartWorkload, Name: w.Name}, n.Get("driver"), key)
	l.OnlyFor(n, key, "driver", w.Driver, map[string]string{"command": "command"})
	choosing := kinds.Choosing()
	l.OnlyFor(c, key+".config", "driver", w.Driver, map[string]string{"target": kinds.Targeted(), "master": "redis", "replicas": "redis",
		"command": "command", "announces": "command", "ready_timeout": "command", "environment": "command composer", "template": "composer",
		"qps": choosing, "max_operations": choosing, "timeout": choosing, "clients": choosing + " composer", "operations": choosing,
		"dictionary": choosing, "schedule": choosing, "options": choosing})
	w.Node = source.ValueOr(n.Get("node"), "")
	if on := n.Get("node"); on != nil && l.Known(on.Position, key+".node", w.Node) && l.Node(w.Node).Spec.Role != world.Client {
		l.Fail(on.Position, "set `role: client` for the node, or remove `node:` to use a new client",
			"%s.node: %s is a server, and drivers run on clients only", key, w.Node)
	}
	if w.Driver != "command" {
		w.Clients = int(source.ValueOr(c.Get("clients"), int64(4)))
	}
	w.RatePerS = source.ValueOr(c.Get("qps"), 0.0)
	w.DurationNs = source.ValueOr(c.Get("duration"), int64(0)) // 0 is completed when faults.settle is known
	w.Operations = int(source.ValueOr(c.Get("max_operations"), int64(0)))
	w.TimeoutNs = source.ValueOr(c.Get("timeout"), int64(0)) // 0 is the driver's own
	if o := c.Get("options"); o != nil {
		w.Options = map[string]string{}
		for _, e := range o.Entries {
			switch v := e.Value.Value.(type) {
			case bool:
				w.Options[e.Name] = strconv.FormatBool(v)
			case string:
				w.Options[e.Name] = v
			case int64:
				w.Options[e.Name] = strconv.FormatInt(v, 10)
			}
		}
		belongs := map[string]string{}
		for _, e := range o.Entries {
			belongs[e.Name] = kinds.With(e.Name)
		}
		l.OnlyFor(o, key+".config.options", "driver", w.Driver, belongs)
	}
	switch w.Driver {
	case "command":
		commandDriver(l, n, &w, key)
	case "composer":
		driverEnv(c, &w)
		return w, true
	case "sql":
		databases(l, c.Get("target"), key+".config.target", &w)
	case "redis":
		targets(l, c.Get("master"), "redis", key+".config.master", &w)
		targets(l, c.Get("replicas"), "redis", key+".config.replicas", &w)
	default:
		if k, known := kinds.Named(w.Driver); known {
			targets(l, c.Get("target"), k.Schemes[0], key+".config.target", &w)
		}
	}
	if k, known := kinds.Named(w.Driver); known && len(w.Targets) == 0 && w.Options["sentinels"] == "" && len(l.Errs) == before {
		name := map[string]string{"redis": "master"}[w.Driver]
		l.Fail(n.Position, fmt.Sprintf("add `config: {%s: %q}`", cmp.Or(name, "target"), k.Target), "%s has no server", key)
	}
	mix(l, c.Get("operations"), &w, key+".config.operations")
	dictionary(l, c.Get("dictionary"), &w, key+".config.dictionary")
	schedule(l, c, &w, key+".config")
	if kinds.Drains(&w) {
		w.Announces, w.ReadyNs = true, min(readyNs, l.Spec.MaxTimeNs/4)
	}
	return w, true
}

func commandDriver(l *load.State, n *source.Node, w *world.Workload, key string) {
	c := n.Get("config")
	at, name := n.Get("command"), key+".command"
	if inside := c.Get("command"); inside != nil {
		if at != nil {
			l.Fail(inside.Position, "remove one of them", "%s has two commands", key)
		}
		at, name = inside, key+".config.command"
	}
	w.Command = l.Program(at, name)
	l.Remember(load.Place{Part: engine.PartWorkload, Name: w.Name}, at, name)
	if len(w.Command) == 0 && !n.Entry("command").IsBad() && !c.Entry("command").IsBad() {
		l.Fail(n.Position, "add `command:`, a program that reports its operations to $BLOODHOUND_REPORT", "%s has no command", key)
	}
	w.Announces = source.ValueOr(c.Get("announces"), false)
	if e := c.Get("ready_timeout"); e != nil && !w.Announces {
		l.Fail(e.Position, "add `announces: true`, or remove it", "%s.config.ready_timeout: the driver does not report when it is ready", key)
	}
	if w.Announces {
		w.ReadyNs = source.ValueOr(c.Get("ready_timeout"), min(readyNs, l.Spec.MaxTimeNs/4))
		if w.ReadyNs >= l.Spec.MaxTimeNs {
			l.Fail(c.Get("ready_timeout").Position, "set a shorter time, or raise `simulation: {max_time: ...}`",
				"%s.config.ready_timeout is not shorter than simulation.max_time", key)
		}
	}
	driverEnv(c, w)
}

// readyNs is how long faults wait for a driver that announces where it is; a quarter of max_time if that is less.
const readyNs int64 = 30e9

func driverEnv(c *source.Node, w *world.Workload) {
	if e := c.Get("environment"); e != nil {
		w.Env = source.Environment(source.ValueOr(e, []source.Variable(nil)), e.File.Lookup)
	}
}

// templatesDir is where test templates lie in a node.
const templatesDir = "/opt/antithesis/test/v1"

// template reads where the test template of a composer is: a folder of the project is mounted where templates lie.
func template(l *load.State, n *source.Node, w *world.Workload) {
	if n == nil || w.Driver != "composer" || n.Bad {
		return
	}
	w.Options = map[string]string{"template": n.Text}
	if path.IsAbs(n.Text) {
		return
	}
	dir := l.Under(l.Spec.Dir, n.Text)
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.Fail(n.Position, "write the path of a folder with test commands, such as parallel_driver_NAME", "template: %v", err)
		return
	}
	target := path.Join(templatesDir, filepath.Base(dir))
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() }) {
		target = templatesDir // templates, each in a folder of its own
	}
	w.Options["template"] = target
	on := l.Node(w.Node)
	if on == nil {
		return // reported already
	}
	on.Spec.Volumes = append(on.Spec.Volumes, world.Volume{Kind: world.Bind, Source: dir, Target: target})
}

// targets reads the URLs of a driver's servers.
func targets(l *load.State, n *source.Node, scheme, key string, w *world.Workload) {
	for _, item := range n.Scalars() {
		if u, ok := l.ServerURL(item.Position, scheme, key, item.Text); ok {
			w.Targets = append(w.Targets, u)
		}
	}
}

// databases reads the URLs of databases.
func databases(l *load.State, n *source.Node, key string, w *world.Workload) {
	for _, item := range n.Scalars() {
		scheme, _, _ := strings.Cut(strings.TrimSpace(item.Text), "://")
		if scheme != "postgres" && scheme != "postgresql" && scheme != "mysql" {
			l.Fail(item.Position, "write postgres://USER:PASSWORD@NODE:PORT/NAME or mysql://...",
				"%s: %q is not the URL of a database", key, source.Shorten(item.Text))
			continue
		}
		if u, ok := l.ServerURL(item.Position, scheme, key, item.Text); ok {
			w.Targets = append(w.Targets, u)
		}
	}
}
