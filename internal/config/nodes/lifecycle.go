package nodes

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/images"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// postStart reads the commands that run when the node has started.
func postStart(l *load.State, d *load.Node) {
	key := d.Key + ".post_start"
	for _, item := range d.Value.Get("post_start").List() {
		words := l.Argv(item.Get("command"), key+".command")
		if len(words) == 0 || words[0] == "" {
			if !item.Entry("command").IsBad() {
				l.Fail(item.Position, "add `command:`, a program and its arguments", "%s has no command", key)
			}
			continue
		}
		var vars []source.Variable
		for _, line := range d.Spec.Env {
			name, value, _ := strings.Cut(line, "=")
			vars = append(vars, source.Variable{Name: name, Text: value, Set: true})
		}
		vars = append(vars, source.ValueOr(item.Get("environment"), []source.Variable(nil))...)
		h := world.Hook{Command: words, Env: source.Environment(vars, item.File.Lookup), User: source.ValueOr(item.Get("user"), "")}
		switch dir := source.ValueOr(item.Get("working_dir"), ""); {
		case dir == "":
		case path.IsAbs(dir):
			h.WorkingDir = path.Clean(dir)
		default:
			h.WorkingDir = path.Join(d.Spec.WorkingDir, dir)
		}
		d.Spec.PostStart = append(d.Spec.PostStart, h)
	}
}

func dependencies(l *load.State, d *load.Node) {
	on := d.Value.Get("depends_on")
	var add func(at source.Position, written string, dep world.Dependency)
	add = func(at source.Position, written string, dep world.Dependency) {
		key := d.Key + "." + written
		replicas := l.ReplicasOf(dep.Node)
		switch {
		case len(replicas) > 0:
			for _, r := range replicas {
				dep.Node = r.Name
				add(at, written, dep)
			}
		case dep.Node == d.Name:
			l.Fail(at, "remove it", "%s: node %s depends on itself", key, d.Name)
		case l.Node(dep.Node) == nil && !dep.Required:
			l.Note(at, key, "unknown node %q, which is not required", dep.Node)
		case !slices.ContainsFunc(d.Spec.DependsOn, func(o world.Dependency) bool { return o.Node == dep.Node }) && l.Known(at, key, dep.Node):
			d.Spec.DependsOn = append(d.Spec.DependsOn, dep)
		}
	}
	for _, item := range on.List() {
		add(item.Position, "depends_on", world.Dependency{Node: item.Text, Condition: world.Started, Required: true})
	}
	for _, e := range on.EntriesOf() {
		if !e.Value.Bad {
			written := "depends_on"
			if e.Implied {
				written = e.Key.Text
			}
			add(e.Key.Position, written, world.Dependency{Node: e.Name,
				Condition: world.Condition(source.ValueOr(e.Value.Get("condition"), string(world.Started))),
				Required:  source.ValueOr(e.Value.Get("required"), true)})
		}
	}
	for _, item := range d.Value.Get("links").List() {
		name, _, _ := strings.Cut(item.Text, ":")
		add(item.Position, "links", world.Dependency{Node: name, Condition: world.Started, Required: true})
	}
}

// cycles complains about nodes that wait for each other.
func cycles(l *load.State) {
	const (
		fresh = iota
		open
		done
	)
	state := map[string]int{}
	var visit func(d *load.Node, trail []string)
	visit = func(d *load.Node, trail []string) {
		state[d.Name] = open
		trail = append(trail, d.Name)
		for _, dep := range d.Spec.DependsOn {
			next := l.Node(dep.Node)
			switch {
			case next == nil || state[dep.Node] == done:
			case state[dep.Node] == open:
				from := slices.Index(trail, dep.Node)
				l.Fail(l.PlaceOf(d, "depends_on"), "remove one of these dependencies", "nodes depend on each other: %s",
					strings.Join(append(slices.Clone(trail[from:]), dep.Node), " -> "))
			default:
				visit(next, trail)
			}
		}
		state[d.Name] = done
	}
	for _, d := range l.Nodes {
		if state[d.Name] == fresh {
			visit(d, nil)
		}
	}
}

func health(l *load.State, d *load.Node) *world.Healthcheck {
	n, key := d.Value.Get("healthcheck"), d.Key+".healthcheck"
	var own *world.Healthcheck // of the image
	if d.Image != nil {
		own = images.Health(d.Image)
	}
	if n == nil {
		return own
	}
	if source.ValueOr(n.Get("disable"), false) {
		return nil
	}
	usual := images.UsualHealth
	if own != nil {
		usual = *own
	}
	h := &world.Healthcheck{
		IntervalNs:      source.ValueOr(n.Get("interval"), usual.IntervalNs),
		TimeoutNs:       source.ValueOr(n.Get("timeout"), usual.TimeoutNs),
		StartPeriodNs:   source.ValueOr(n.Get("start_period"), usual.StartPeriodNs),
		StartIntervalNs: source.ValueOr(n.Get("start_interval"), usual.StartIntervalNs),
		Retries:         int(source.ValueOr(n.Get("retries"), int64(usual.Retries))),
	}
	test := n.Get("test")
	if test == nil && own != nil {
		h.Command = own.Command
		return h
	}
	if test == nil && images.LeavesHealth(l, d) {
		return nil
	}
	if test == nil {
		l.Missing(n, "test", "add `test:`, a command whose exit code 0 means healthy; `disable: true` turns the check off", "%s has no test", key)
		return nil
	}
	if test.Kind == source.Scalar {
		h.Command = []string{"/bin/sh", "-c", test.Text}
		return h
	}
	words := test.Words()
	if len(words) == 1 && words[0] == "NONE" {
		return nil
	}
	if h.Command = images.HealthCommand(words); h.Command == nil {
		l.Fail(test.Position, "write [CMD, program, argument...], [CMD-SHELL, line] or [NONE]", "%s.test does not start with CMD, CMD-SHELL or NONE", key)
		return nil
	}
	return h
}

func restart(l *load.State, n *source.Node, key string) world.Restart {
	r := world.Restart{Mode: world.RestartNo, DelayNs: load.RestartDelayNs}
	if n == nil {
		return r
	}
	mode, count, counted := strings.Cut(n.Text, ":")
	switch m := world.RestartMode(mode); {
	case m == world.RestartOnFailure && counted:
		tries, err := strconv.Atoi(count)
		if err != nil || tries < 1 || tries > 1e6 {
			l.Fail(n.Position, "write a number of attempts, such as on-failure:3", "%s: %q is not a number of attempts", key, source.Shorten(count))
		}
		r.Mode, r.MaxRetries = m, tries
	case counted:
		l.Fail(n.Position, "only on-failure has a number of attempts", "%s: unknown value %q", key, source.Shorten(n.Text))
	case m == "false": // an unquoted no, as YAML 1.1 reads it
	case m == world.RestartNo, m == world.RestartAlways, m == world.RestartOnFailure, m == world.RestartUnlessStopped:
		r.Mode = m
	default:
		l.Fail(n.Position, suggest.Remedy(mode, []string{"no", "always", "on-failure", "unless-stopped"}), "%s: unknown value %q", key, source.Shorten(n.Text))
	}
	return r
}

// signal reads the name or number of a signal.
func signal(l *load.State, n *source.Node, key string) string {
	if n == nil {
		return world.SIGTERM
	}
	number := world.SignalNumber(n.Text)
	if number == 0 {
		l.Fail(n.Position, suggest.Remedy(strings.ToUpper(n.Text), world.SignalNames()), "%s: unknown signal %q", key, source.Shorten(n.Text))
	}
	return world.SignalName(number)
}
