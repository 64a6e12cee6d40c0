// Package nodes reads the nodes of a world: services of Compose files, and the nodes of bloodhound.yaml.
package nodes

import (
	"fmt"
	"path"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/images"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/volumes"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Build makes the world.Node of each declared node, with its mounts.
func Build(l *load.State) {
	for _, d := range l.Nodes {
		buildNode(l, d)
	}
	for _, d := range l.Nodes {
		for _, dep := range d.Spec.DependsOn {
			on := l.Node(dep.Node)
			if dep.Condition == world.Healthy && on != nil && on.Spec.Health == nil && !on.Value.Entry("healthcheck").IsBad() && !images.LeavesHealth(l, on) {
				l.Fail(l.PlaceOf(d, "depends_on"), fmt.Sprintf("add a `healthcheck:` to %s, or use service_started", dep.Node),
					"node %s waits until %s is healthy, but that node has no healthcheck", d.Name, dep.Node)
			}
		}
	}
	cycles(l)
	lent := map[*load.Node]bool{}
	for _, d := range l.Nodes {
		volumes.MountVolumesFrom(l, d, lent)
	}
	volumes.Share(l)
}

func buildNode(l *load.State, d *load.Node) {
	n, v := &d.Spec, d.Value
	key := d.Key
	n.Name = d.Name
	n.Role = world.Role(source.ValueOr(v.Get("role"), string(world.Server)))
	n.Hostname = l.HostName(v.Get("hostname"), key+".hostname", hostOf(l, d))
	home := l.DirOf(d, "root")
	if n.Root = source.ValueOr(v.Get("root"), world.HostRoot); n.Root != world.HostRoot && n.Root != world.NoRoot {
		n.Root = l.Under(home, n.Root)
	}
	found := images.FindImage(l, d)
	if n.Image != nil {
		n.Root = ""
	}
	n.WorkingDir = workingDir(l, d)
	if buildStep(l, d) && found {
		n.Command = commandOf(l, d)
	}
	releases(l, d)
	n.User = source.ValueOr(v.Get("user"), "")
	if n.Image != nil && n.User == "" {
		n.User = d.Image.Config.Config.User
	}
	n.Env = environment(l, d)
	n.Clock = world.Clock{OffsetNs: source.ValueOr(v.Get("clock").Get("offset"), int64(0)),
		DriftPPB: int64(source.ValueOr(v.Get("clock").Get("drift_ppm"), 0.0) * 1000)}
	volumes.ReadMounts(l, d)
	dependencies(l, d)
	n.Health = health(l, d)
	postStart(l, d)
	rememberParts(l, d)
	n.Restart = restart(l, v.Get("restart"), key+".restart")
	n.Allow = l.Allowances(v.Get("allow"), key+".allow")
	n.StopSignal = signal(l, v.Get("stop_signal"), key+".stop_signal")
	if d.Image != nil && !v.Has("stop_signal") { // Docker, too, does without one of an image that it does not know
		n.StopSignal = world.SignalName(world.SignalNumber(d.Image.Config.Config.StopSignal))
	}
	n.StopGraceNs = source.ValueOr(v.Get("stop_grace_period"), int64(10e9))
	bounds(l, d)
	names(l, d)
	extraHosts(l, d)
	ports(l, d)
}

func workingDir(l *load.State, d *load.Node) string {
	inRoot := d.Spec.Root != world.HostRoot && d.Spec.Root != world.NoRoot
	dir := d.At.File.Dir
	if inRoot {
		dir = "/"
	}
	if d.Image != nil && path.IsAbs(d.Image.Config.Config.WorkingDir) {
		dir = path.Clean(d.Image.Config.Config.WorkingDir)
	}
	w := d.Value.Get("working_dir")
	switch p := source.ValueOr(w, ""); {
	case p == "":
		return dir
	case inRoot && !path.IsAbs(p):
		return path.Join("/", p)
	default:
		return l.Under(l.DirOf(d, "working_dir"), p)
	}
}

// releases reads the commands of later releases, and of a machine that replaces the node.
func releases(l *load.State, d *load.Node) {
	list := d.Value.Get("releases")
	for i, item := range list.List() {
		if words := programOf(l, item, fmt.Sprintf("%s.releases[%d]", d.Key, i)); words != nil {
			d.Spec.Releases = append(d.Spec.Releases, words)
		}
	}
	if r := d.Value.Get("replacement"); r != nil {
		d.Spec.Replacement = programOf(l, r, d.Key+".replacement")
	}
	d.Spec.Downgrade = source.ValueOr(d.Value.Get("downgrade"), false)
	if down := d.Value.Get("downgrade"); down != nil && len(list.List()) == 0 {
		l.Idle(down.Position, d.Key+".downgrade", "the node has no `releases`")
	}
}

// programOf reads a program and its arguments; nil if it names none.
func programOf(l *load.State, n *source.Node, key string) []string {
	words := l.Argv(n, key)
	if len(words) > 0 && words[0] != "" && !strings.ContainsRune(strings.Join(words, ""), 0) {
		return words
	}
	if !n.Bad {
		l.Fail(n.Position, "write the path or name of a program, and its arguments",
			"%s: the name of the program is empty, or contains a NUL character", key)
	}
	return nil
}

func commandOf(l *load.State, d *load.Node) []string {
	v, key := d.Value, d.Key
	var words []string
	if d.Image != nil {
		words = images.Command(l, d)
	} else {
		words = append(l.Argv(v.Get("entrypoint"), key+".entrypoint"), l.Argv(v.Get("command"), key+".command")...)
	}
	if v.Entry("command").IsBad() || v.Entry("entrypoint").IsBad() || len(words) == 0 && v.Incomplete {
		return words
	}
	if len(words) > 0 {
		if words[0] == "" || strings.ContainsRune(strings.Join(words, ""), 0) {
			l.Fail(l.PlaceOf(d, "command"), "write the path or name of a program", "%s: the name of the program is empty, or contains a NUL character", key)
		}
		return words
	}
	switch {
	case d.Spec.Role == world.Client:
		// A client without a command is a place for drivers; workloads says so if none uses it.
	case l.Describe && d.Image != nil:
		// The image may have one.
	case d.Image != nil:
		l.Fail(l.PlaceOf(d, "image"), "add `command:`, the program that it runs", "node %s has no command, and its image has none", d.Name)
	case v.Has("build"):
		l.Fail(l.PlaceOf(d, "build"), "add `command:`, the program that it runs; `build:` only builds it", "node %s has no command", d.Name)
	default:
		l.Fail(l.PlaceOf(d, "command"), "add `command:`, the program that it runs", "node %s has no command", d.Name)
	}
	return nil
}
