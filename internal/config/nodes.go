package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// MaxNodes bounds the nodes of a world, those that drivers and checks add included; addresses end at 10.77.0.249.
const MaxNodes = 240

// searchPath is PATH where a node names none.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Docker's first delay before it starts a program again (it doubles there).
const restartDelayNs = 100_000_000

// declared is a node as it was written.
type declared struct {
	name  string
	of    string   // the service that it is a replica of, or empty
	index int      // which replica, from 1 on; also of a node of which there is one
	key   string   // nodes.NAME or services.NAME
	at    position // its name
	value *node
	ports []port
	image *image.Image // nil without one
	nets  []want       // the networks it is on, in the order of its interfaces
	// everywhere: it is on all networks there are. offline: it is on none.
	everywhere, offline bool
	// ours: it is no node of the user's, but a client for our drivers or checks.
	ours bool
	spec world.Node
}

// port is a port of a node that a port of this machine stands for.
type port struct{ published, target int }

// declare gathers the nodes: services of Compose files, and what the configuration says of them and of others.
func (l *loader) declare(top *node) {
	groups := []struct {
		key   string
		value *node
	}{{"services", l.composed.get("services")}, {"nodes", top.get("nodes")}}
	for _, g := range groups {
		for _, e := range g.value.entriesOf() {
			if e.value.bad {
				continue
			}
			same := slices.IndexFunc(l.nodes, func(d *declared) bool { return strings.EqualFold(d.name, e.name) })
			switch {
			case same < 0:
				l.nodes = append(l.nodes, &declared{name: e.name, key: g.key + "." + e.name, at: e.key.position, value: e.value})
			case l.nodes[same].name != e.name:
				l.fail(e.key.position, "rename one of them", "node %q differs from %q only in letter case, and names of machines ignore it", e.name, l.nodes[same].name)
			default:
				l.nodes[same].value = mergeNodes(withoutBuild(l.nodes[same].value, e.value), e.value)
			}
		}
	}
	l.nodes = slices.DeleteFunc(l.nodes, func(d *declared) bool {
		if l.active(d) {
			return false
		}
		l.left = append(l.left, d)
		l.note(d.at, d.key+".profiles", "left out: COMPOSE_PROFILES names none of its profiles")
		return true
	})
	l.deployed()
	l.replicate()
	switch {
	case len(l.nodes) == 0 && len(l.left) > 0 && len(l.errs) == 0:
		d := l.left[0]
		remedy := "give one a `scale:` from 1 on"
		if !l.active(d) {
			remedy = "set COMPOSE_PROFILES=" + strings.Join(d.value.get("profiles").words(), ",")
		}
		l.fail(d.at, remedy, "there are no nodes: %s and all others are left out, by their profiles or a scale of 0", d.name)
	case len(l.nodes) == 0 && len(l.errs) == 0:
		at := top.position
		l.fail(at, "write `nodes:` with at least one node and its `command:`, or name a Compose file: `compose: compose.yaml`", "there are no nodes")
	case len(l.nodes) > MaxNodes-2:
		l.fail(l.nodes[MaxNodes-2].at, "use fewer", "more than %d nodes", MaxNodes-2)
		l.nodes = l.nodes[:MaxNodes-2]
	}
}

// mergeNodes replaces keys of a node by those of another description of it; the entries of mappings, and environments,
// are merged.
func mergeNodes(base, over *node) *node {
	merged := &node{position: over.position, kind: mapping}
	for _, e := range base.entries {
		switch o := over.entry(e.name); {
		case o != nil && e.implied:
			merged.entries = append(merged.entries, o)
		case o != nil:
			merged.entries = append(merged.entries, &entry{key: o.key, name: o.name, value: mergeValues(e.value, o.value)})
		default:
			merged.entries = append(merged.entries, e)
		}
	}
	for _, o := range over.entries {
		if !base.has(o.name) {
			merged.entries = append(merged.entries, o)
		}
	}
	return merged
}

// withoutBuild takes away the Dockerfile of a service where the configuration says what the node runs instead: a command
// that builds it here, or an image.
func withoutBuild(base, over *node) *node {
	if !over.has("build") && !over.has("image") {
		return base
	}
	n := *base
	n.entries = slices.DeleteFunc(slices.Clone(base.entries), func(e *entry) bool { return e.name == "build" })
	return &n
}

func mergeValues(base, over *node) *node {
	if a, ok := base.value.([]variable); ok && !base.bad && !over.bad {
		if b, ok := over.value.([]variable); ok {
			return &node{position: over.position, kind: over.kind, value: append(slices.Clone(a), b...)}
		}
	}
	if base.kind == mapping && over.kind == mapping && !base.bad && !over.bad {
		return mergeNodes(base, over)
	}
	return over
}

// active tells whether a node's profiles are asked for.
func (l *loader) active(d *declared) bool {
	profiles := d.value.get("profiles")
	if profiles == nil || len(profiles.items) == 0 {
		return true
	}
	wanted, _ := d.value.file.lookup("COMPOSE_PROFILES")
	for _, w := range strings.Split(wanted, ",") {
		if w = strings.TrimSpace(w); w == "*" || slices.Contains(profiles.words(), w) {
			return true
		}
	}
	return false
}

func (l *loader) node(name string) *declared {
	for _, d := range l.nodes {
		if d.name == name {
			return d
		}
	}
	return nil
}

func (l *loader) nodeNames() []string {
	var names []string
	for _, d := range l.nodes {
		names = append(names, d.name)
	}
	return names
}

// known complains about a name that is no node's.
func (l *loader) known(at position, key, name string) bool {
	if l.node(name) != nil {
		return true
	}
	if replicas := l.replicasOf(name); len(replicas) > 0 {
		l.fail(at, "name one of them, such as "+replicas[0].name, "%s: %q is %d nodes", key, name, len(replicas))
		return false
	}
	for _, d := range l.left {
		if d.name != name {
			continue
		}
		if l.active(d) {
			l.fail(at, "give it a `scale:` from 1 on", "%s: %s is left out, since its scale is 0", key, name)
		} else {
			l.fail(at, "set COMPOSE_PROFILES="+strings.Join(d.value.get("profiles").words(), ","), "%s: %s is left out, since none of its profiles is asked for", key, name)
		}
		return false
	}
	l.fail(at, suggest(name, l.nodeNames()), "%s: there is no node %q", key, name)
	return false
}

func (l *loader) buildNodes() {
	for _, d := range l.nodes {
		l.buildNode(d)
	}
	for _, d := range l.nodes {
		for _, dep := range d.spec.DependsOn {
			on := l.node(dep.Node)
			if dep.Condition == world.Healthy && on != nil && on.spec.Health == nil && !on.value.entry("healthcheck").isBad() && !l.leavesHealth(on) {
				l.fail(l.placeOf(d, "depends_on"), fmt.Sprintf("give %s a `healthcheck:`, or use service_started", dep.Node),
					"node %s waits until %s is healthy, but nothing says when it is", d.name, dep.Node)
			}
		}
	}
	l.cycles()
	from := volumesFrom{loader: l}
	for _, d := range l.nodes {
		from.mount(d)
	}
	l.shareVolumes()
}

func (e *entry) isBad() bool { return e != nil && e.value.bad }

// placeOf is where a node has a key, or else its name.
func (l *loader) placeOf(d *declared, key string) position {
	if e := d.value.entry(key); e != nil {
		return e.key.position
	}
	return d.at
}

func (l *loader) buildNode(d *declared) {
	n, v := &d.spec, d.value
	key := d.key
	n.Name = d.name
	n.Role = world.Role(valueOr(v.get("role"), string(world.Server)))
	n.Hostname = l.hostName(v.get("hostname"), key+".hostname", l.hostOf(d))
	home := l.dirOf(d, "root")
	if n.Root = valueOr(v.get("root"), world.HostRoot); n.Root != world.HostRoot && n.Root != world.NoRoot {
		n.Root = l.under(home, n.Root)
	}
	found := l.imageOf(d)
	if n.Image != nil {
		n.Root = ""
	}
	n.WorkingDir = l.workingDir(d)
	if l.buildStep(d) && found {
		n.Command = l.commandOf(d)
	}
	n.User = valueOr(v.get("user"), "")
	if n.Image != nil && n.User == "" {
		n.User = d.image.Config.Config.User
	}
	n.Env = l.environment(d)
	n.Clock = world.Clock{OffsetNs: valueOr(v.get("clock").get("offset"), int64(0)),
		DriftPPB: int64(valueOr(v.get("clock").get("drift_ppm"), 0.0) * 1000)}
	l.volumes(d)
	l.dependencies(d)
	n.Health = l.health(d)
	l.postStart(d)
	l.rememberParts(d)
	n.Restart = l.restart(v.get("restart"), key+".restart")
	n.StopSignal = l.signal(v.get("stop_signal"), key+".stop_signal")
	if d.image != nil && !v.has("stop_signal") { // Docker, too, does without one of an image that it does not know
		n.StopSignal = world.SignalName(world.SignalNumber(d.image.Config.Config.StopSignal))
	}
	n.StopGraceNs = valueOr(v.get("stop_grace_period"), int64(10e9))
	l.bounds(d)
	l.names(d)
	l.extraHosts(d)
	l.ports(d)
}

// dirOf is the folder in which the relative paths of a node's key start: that of the file that has it.
func (l *loader) dirOf(d *declared, key string) string {
	f := d.at.file
	if e := d.value.entry(key); e != nil {
		f = e.key.file
	}
	return f.dir
}

// hostOf is the name of the machine whose network a node has: as a rule its own.
func (l *loader) hostOf(d *declared) string {
	for range MaxNodes {
		of, shares := strings.CutPrefix(valueOr(d.value.get("network_mode"), ""), "service:")
		other := l.node(of)
		if !shares || other == nil {
			break
		}
		d = other
	}
	return valueOr(d.value.get("hostname"), d.name)
}

func (l *loader) hostName(n *node, key, otherwise string) string {
	name := valueOr(n, otherwise)
	if n != nil && !nodeName.MatchString(name) {
		l.fail(n.position, "use letters, digits, and - _ . inside", "%s: %q is no name for a machine", key, shorten(name))
		return otherwise
	}
	return name
}

func (l *loader) workingDir(d *declared) string {
	inRoot := d.spec.Root != world.HostRoot && d.spec.Root != world.NoRoot
	dir := d.at.file.dir
	if inRoot {
		dir = "/"
	}
	if d.image != nil && path.IsAbs(d.image.Config.Config.WorkingDir) {
		dir = path.Clean(d.image.Config.Config.WorkingDir)
	}
	w := d.value.get("working_dir")
	switch p := valueOr(w, ""); {
	case p == "":
		return dir
	case inRoot && !path.IsAbs(p):
		return path.Join("/", p)
	default:
		return l.under(l.dirOf(d, "working_dir"), p)
	}
}

func (l *loader) commandOf(d *declared) []string {
	v, key := d.value, d.key
	var words []string
	if d.image != nil {
		words = l.imageCommand(d)
	} else {
		words = append(l.argv(v.get("entrypoint"), key+".entrypoint"), l.argv(v.get("command"), key+".command")...)
	}
	if v.entry("command").isBad() || v.entry("entrypoint").isBad() || len(words) == 0 && v.incomplete {
		return words
	}
	if len(words) > 0 {
		if words[0] == "" || strings.ContainsRune(strings.Join(words, ""), 0) {
			l.fail(l.placeOf(d, "command"), "write the program's path or name", "%s: the program's name is empty or holds the character 0", key)
		}
		return words
	}
	switch {
	case d.spec.Role == world.Client:
		// A client without a command is a place for drivers; workloads says so if none uses it.
	case l.opts.Describe && d.image != nil:
		// The image may have one.
	case d.image != nil:
		l.fail(l.placeOf(d, "image"), "give it `command:`, the program that it runs", "node %s has no command, and its image has none", d.name)
	case v.has("build"):
		l.fail(l.placeOf(d, "build"), "say with `command:` which program it runs; `build:` only makes it", "node %s has no command", d.name)
	default:
		l.fail(l.placeOf(d, "command"), "give it `command:`, the program that it runs", "node %s has no command", d.name)
	}
	return nil
}

// environment gathers variables: what every node has, then env_file, then environment.
func (l *loader) environment(d *declared) []string {
	home := "/"
	if u, _, _ := strings.Cut(d.spec.User, ":"); u == "" || u == "root" || u == "0" {
		home = "/root"
	}
	if d.image != nil {
		home = HomeOf(d.image, d.spec.User)
	}
	vars := []variable{{"PATH", searchPath, true}, {"HOME", home, true}, {"HOSTNAME", d.spec.Hostname, true}}
	if l.opts.Describe && d.image != nil {
		vars = vars[2:] // the image has the others
	}
	if d.image != nil {
		for _, line := range d.image.Config.Config.Env {
			name, value, _ := strings.Cut(line, "=")
			vars = append(vars, variable{name, value, true})
		}
	}
	files := d.value.get("env_file")
	if files != nil && files.kind == scalar {
		vars = append(vars, l.envFileOf(files, d.key+".env_file")...)
	}
	for _, item := range files.list() {
		vars = append(vars, l.envFileOf(item, d.key+".env_file")...)
	}
	vars = append(vars, valueOr(d.value.get("environment"), []variable(nil))...)
	return settle(vars, d.value.file.lookup)
}

// settle resolves names without a value and keeps the last value of each name, in the order of first mention.
func settle(vars []variable, lookup func(string) (string, bool)) []string {
	var env []string
	place := map[string]int{}
	for _, v := range vars {
		if !v.set {
			value, ok := lookup(v.name)
			if !ok {
				continue
			}
			v.text = value
		}
		line := v.name + "=" + v.text
		if i, ok := place[v.name]; ok {
			env[i] = line
			continue
		}
		place[v.name] = len(env)
		env = append(env, line)
	}
	return env
}

func (l *loader) envFileOf(item *node, key string) []variable {
	p, required, raw := item.text, true, false
	if item.kind == mapping {
		p = valueOr(item.get("path"), "")
		required = valueOr(item.get("required"), true)
		raw = item.get("format") != nil
		if p == "" {
			l.missing(item, "path", "add `path:`", "%s has no path", key)
			return nil
		}
	}
	full := l.beside(item.file, p)
	content, err := readBounded(full)
	if err != nil {
		if required || !os.IsNotExist(err) {
			l.fail(item.position, "name a file of NAME=value lines, or write {path: "+p+", required: false}", "%s: %v", key, err)
		}
		return nil
	}
	if raw {
		var vars []variable
		for _, line := range strings.Split(string(content), "\n") {
			line = strings.TrimSuffix(line, "\r")
			if name, value, set := strings.Cut(line, "="); name != "" && line[0] != '#' {
				vars = append(vars, variable{name, value, set})
			}
		}
		return vars
	}
	return l.envFile(full, content, item.file.lookup)
}

// postStart reads the commands that run when the node has started.
func (l *loader) postStart(d *declared) {
	key := d.key + ".post_start"
	for _, item := range d.value.get("post_start").list() {
		words := l.argv(item.get("command"), key+".command")
		if len(words) == 0 || words[0] == "" {
			if !item.entry("command").isBad() {
				l.fail(item.position, "give it `command:`, a program and its arguments", "%s: there is no command", key)
			}
			continue
		}
		var vars []variable
		for _, line := range d.spec.Env {
			name, value, _ := strings.Cut(line, "=")
			vars = append(vars, variable{name, value, true})
		}
		vars = append(vars, valueOr(item.get("environment"), []variable(nil))...)
		h := world.Hook{Command: words, Env: settle(vars, item.file.lookup), User: valueOr(item.get("user"), "")}
		switch dir := valueOr(item.get("working_dir"), ""); {
		case dir == "":
		case path.IsAbs(dir):
			h.WorkingDir = path.Clean(dir)
		default:
			h.WorkingDir = path.Join(d.spec.WorkingDir, dir)
		}
		d.spec.PostStart = append(d.spec.PostStart, h)
	}
}

func (l *loader) volumes(d *declared) {
	key := d.key + ".volumes"
	for _, item := range d.value.get("volumes").list() {
		var v world.Volume
		ok := false
		if item.kind == scalar {
			v, ok = l.shortVolume(d, item, key)
		} else {
			v, ok = l.longVolume(d, item, key)
		}
		if ok && l.namedVolume(d, item.position, key, &v) {
			l.bindSource(item, key, &v)
			l.mount(d, item.position, key, v)
		}
	}
	t := d.value.get("tmpfs")
	for _, p := range t.words() {
		target, options, _ := strings.Cut(p, ":")
		v := world.Volume{Kind: world.Tmpfs, Target: target}
		l.tmpfsOptions(t.position, d.key+".tmpfs", options, &v)
		l.mount(d, t.position, d.key+".tmpfs", v)
	}
	l.mountFiles(d, "configs", "/")
	l.mountFiles(d, "secrets", "/run/secrets")
	if d.image != nil {
		l.imageVolumes(d)
	}
}

// bindSource looks at what a Compose file binds: Docker makes a folder of what is not there, and here that one lies in the
// world.
func (l *loader) bindSource(item *node, key string, v *world.Volume) {
	if v.Kind != world.Bind || !item.file.compose {
		return
	}
	info, err := os.Stat(v.Source)
	create := item.get("bind").get("create_host_path")
	switch {
	case errors.Is(err, os.ErrNotExist) && (create == nil || create.text != "false"):
		v.Kind, v.NoCopy = world.Named, true
		l.note(item.position, key, "%s is not there; it begins as an empty folder", v.Source)
	case err == nil && info.Mode()&os.ModeSocket != 0:
		l.note(item.position, key, "%s is a socket of this machine, and nobody answers at it in a world", v.Source)
	}
}

// namedVolume looks a named volume up in the Compose files: it may be another name for a folder, or for memory.
func (l *loader) namedVolume(d *declared, at position, key string, v *world.Volume) bool {
	if v.Kind != world.Named || v.Source == d.name+":"+v.Target {
		return true
	}
	made := l.composed.get("volumes").entry(v.Source)
	if made == nil {
		if at.file.compose {
			l.fail(at, "declare it under `volumes:` at the top of the Compose file", "%s: there is no volume %q", key, shorten(v.Source))
			return false
		}
		return true
	}
	options := made.value.get("driver_opts")
	option := func(name string) string {
		if n := options.get(name); n != nil {
			return n.text
		}
		return ""
	}
	switch {
	case options == nil:
	case slices.Contains(strings.Split(option("o"), ","), "bind"):
		v.Kind, v.Source = world.Bind, l.under(options.file.dir, option("device"))
	case option("type") == "tmpfs":
		v.Kind, v.Source = world.Tmpfs, ""
	default:
		l.fail(options.position, "remove them, or make it a bind mount", "volumes.%s.driver_opts: a world mounts no %s from outside", v.Source, cmp.Or(option("type"), "file system"))
		return false
	}
	return true
}

func (l *loader) mount(d *declared, at position, key string, v world.Volume) {
	if !path.IsAbs(v.Target) || path.Clean(v.Target) == "/" {
		l.fail(at, "write an absolute path below /, such as /data", "%s: the target %q is no place for a mount", key, v.Target)
		return
	}
	v.Target = path.Clean(v.Target)
	for _, other := range d.spec.Volumes {
		if other.Target == v.Target {
			l.fail(at, "remove one of them", "%s: two mounts at %s", key, v.Target)
			return
		}
	}
	if v.Kind == world.Bind {
		for _, of := range []string{"/proc", "/sys", "/dev"} {
			if v.Source == "/" || v.Source == of || strings.HasPrefix(v.Source, of+"/") {
				l.fail(at, "remove the mount; every node has a /proc, a /sys and a /dev of its own", "%s: what is in %s changes from moment to moment with this machine, and a run could not be made again", key, cmp.Or(strings.TrimSuffix(v.Source, "/"), "/"))
				return
			}
		}
	}
	d.spec.Volumes = append(d.spec.Volumes, v)
	l.result.places[place{d.name, engine.PartVolume, v.Target}] = location{at, key}
}

func (l *loader) shortVolume(d *declared, item *node, key string) (world.Volume, bool) {
	parts := strings.Split(item.text, ":")
	v := world.Volume{Kind: world.Named}
	switch len(parts) {
	case 1: // anonymous
		v.Source, v.Target = d.name+":"+parts[0], parts[0]
		return v, true
	case 2:
		if !path.IsAbs(parts[1]) && path.IsAbs(parts[0]) {
			l.fail(item.position, "write SOURCE:TARGET:"+parts[1], "%s: %q has no target", key, shorten(item.text))
			return v, false
		}
	case 3:
		for _, mode := range strings.Split(parts[2], ",") {
			switch mode {
			case "ro":
				v.ReadOnly = true
			case "rw", "":
			case "nocopy":
				v.NoCopy = true
			case "z", "Z", "cached", "delegated", "consistent", "private", "rprivate", "shared", "rshared", "slave", "rslave":
				l.idle(item.position, key, "the mode "+mode+": mounts are private to a node and empty or read from the project")
			default:
				l.fail(item.position, "modes are ro and rw", "%s: mode %q is not known", key, mode)
				return v, false
			}
		}
	default:
		l.fail(item.position, "write SOURCE:TARGET or SOURCE:TARGET:ro", "%s: %q has too many parts", key, shorten(item.text))
		return v, false
	}
	v.Source, v.Target = parts[0], parts[1]
	if strings.HasPrefix(v.Source, ".") || strings.HasPrefix(v.Source, "~") || filepath.IsAbs(v.Source) || strings.Contains(v.Source, "/") {
		v.Kind, v.Source = world.Bind, l.under(item.file.dir, v.Source)
	}
	if v.Source == "" {
		l.fail(item.position, "write SOURCE:TARGET", "%s: %q has no source", key, shorten(item.text))
		return v, false
	}
	return v, true
}

func (l *loader) longVolume(d *declared, item *node, key string) (world.Volume, bool) {
	v := world.Volume{Kind: world.VolumeKind(valueOr(item.get("type"), "")), Source: valueOr(item.get("source"), ""),
		Target: valueOr(item.get("target"), ""), ReadOnly: valueOr(item.get("read_only"), false)}
	if item.entry("type").isBad() || item.entry("source").isBad() || item.entry("target").isBad() {
		return v, false
	}
	switch {
	case v.Kind == "":
		l.missing(item, "type", "add `type: bind`, `volume` or `tmpfs`", "%s: a mount has no type", key)
		return v, false
	case v.Target == "":
		l.missing(item, "target", "add `target:`, an absolute path in the node", "%s: a mount has no target", key)
		return v, false
	case v.Kind == world.Tmpfs && v.Source != "":
		l.fail(item.position, "remove `source:`", "%s: a tmpfs has no source", key)
		return v, false
	case v.Kind == world.Bind && v.Source == "":
		l.missing(item, "source", "add `source:`, a path of this machine", "%s: a bind mount has no source", key)
		return v, false
	case v.Kind == world.Bind:
		v.Source = l.under(item.file.dir, v.Source)
	case v.Kind == world.Named && v.Source == "":
		v.Source = d.name + ":" + v.Target
	}
	v.NoCopy = valueOr(item.get("volume").get("nocopy"), false)
	tmpfs := item.get("tmpfs")
	v.SizeBytes = valueOr(tmpfs.get("size"), int64(0))
	if mode := tmpfs.get("mode"); mode != nil {
		ok := false
		if v.Mode, ok = permissions(mode.text); !ok {
			l.fail(mode.position, "write 0o1770, say", "%s.tmpfs.mode: %q is no mode", key, shorten(mode.text))
		}
	}
	for _, of := range []world.VolumeKind{world.Named, world.Tmpfs} {
		if e := item.entry(string(of)); e != nil && v.Kind != of {
			l.idle(e.key.position, key+"."+string(of), "the mount is of another type")
		}
	}
	return v, true
}

func (l *loader) dependencies(d *declared) {
	on := d.value.get("depends_on")
	var add func(at position, written string, dep world.Dependency)
	add = func(at position, written string, dep world.Dependency) {
		key := d.key + "." + written
		replicas := l.replicasOf(dep.Node)
		switch {
		case len(replicas) > 0:
			for _, r := range replicas {
				dep.Node = r.name
				add(at, written, dep)
			}
		case dep.Node == d.name:
			l.fail(at, "remove it", "%s: %s waits for itself", key, d.name)
		case l.node(dep.Node) == nil && !dep.Required:
			l.note(at, key, "there is no node %q, and it is not required", dep.Node)
		case !slices.ContainsFunc(d.spec.DependsOn, func(o world.Dependency) bool { return o.Node == dep.Node }) && l.known(at, key, dep.Node):
			d.spec.DependsOn = append(d.spec.DependsOn, dep)
		}
	}
	for _, item := range on.list() {
		add(item.position, "depends_on", world.Dependency{Node: item.text, Condition: world.Started, Required: true})
	}
	for _, e := range on.entriesOf() {
		if !e.value.bad {
			written := "depends_on"
			if e.implied {
				written = e.key.text
			}
			add(e.key.position, written, world.Dependency{Node: e.name, Condition: world.Condition(valueOr(e.value.get("condition"), string(world.Started))),
				Required: valueOr(e.value.get("required"), true)})
		}
	}
	for _, item := range d.value.get("links").list() {
		name, _, _ := strings.Cut(item.text, ":")
		add(item.position, "links", world.Dependency{Node: name, Condition: world.Started, Required: true})
	}
}

// cycles complains about nodes that wait for each other.
func (l *loader) cycles() {
	const (
		fresh = iota
		open
		done
	)
	state := map[string]int{}
	var visit func(d *declared, trail []string)
	visit = func(d *declared, trail []string) {
		state[d.name] = open
		trail = append(trail, d.name)
		for _, dep := range d.spec.DependsOn {
			next := l.node(dep.Node)
			switch {
			case next == nil || state[dep.Node] == done:
			case state[dep.Node] == open:
				from := slices.Index(trail, dep.Node)
				l.fail(l.placeOf(d, "depends_on"), "remove one of these dependencies", "nodes wait for each other: %s",
					strings.Join(append(slices.Clone(trail[from:]), dep.Node), " -> "))
			default:
				visit(next, trail)
			}
		}
		state[d.name] = done
	}
	for _, d := range l.nodes {
		if state[d.name] == fresh {
			visit(d, nil)
		}
	}
}

func (l *loader) health(d *declared) *world.Healthcheck {
	n, key := d.value.get("healthcheck"), d.key+".healthcheck"
	var own *world.Healthcheck // of the image
	if d.image != nil {
		own = imageHealth(d.image)
	}
	if n == nil {
		return own
	}
	if valueOr(n.get("disable"), false) {
		return nil
	}
	usual := usualHealth
	if own != nil {
		usual = *own
	}
	h := &world.Healthcheck{
		IntervalNs:      valueOr(n.get("interval"), usual.IntervalNs),
		TimeoutNs:       valueOr(n.get("timeout"), usual.TimeoutNs),
		StartPeriodNs:   valueOr(n.get("start_period"), usual.StartPeriodNs),
		StartIntervalNs: valueOr(n.get("start_interval"), usual.StartIntervalNs),
		Retries:         int(valueOr(n.get("retries"), int64(usual.Retries))),
	}
	test := n.get("test")
	if test == nil && own != nil {
		h.Command = own.Command
		return h
	}
	if test == nil && l.leavesHealth(d) {
		return nil
	}
	if test == nil {
		l.missing(n, "test", "add `test:`, a command whose exit code 0 means healthy; `disable: true` turns the check off", "%s has no test", key)
		return nil
	}
	if test.kind == scalar {
		h.Command = []string{"/bin/sh", "-c", test.text}
		return h
	}
	words := test.words()
	if len(words) == 1 && words[0] == "NONE" {
		return nil
	}
	if h.Command = healthCommand(words); h.Command == nil {
		l.fail(test.position, "write [CMD, program, argument...], [CMD-SHELL, line] or [NONE]", "%s.test does not say how it is run", key)
		return nil
	}
	return h
}

// usualHealth is what Docker takes for what a healthcheck does not say.
var usualHealth = world.Healthcheck{IntervalNs: 30e9, TimeoutNs: 30e9, StartIntervalNs: 5e9, Retries: 3}

// healthCommand is the command of a healthcheck's test, nil if the test names none.
func healthCommand(test []string) []string {
	switch {
	case len(test) >= 2 && test[0] == "CMD":
		return test[1:]
	case len(test) == 2 && test[0] == "CMD-SHELL":
		return []string{"/bin/sh", "-c", test[1]}
	}
	return nil
}

func (l *loader) restart(n *node, key string) world.Restart {
	r := world.Restart{Mode: world.RestartNo, DelayNs: restartDelayNs}
	if n == nil {
		return r
	}
	mode, count, counted := strings.Cut(n.text, ":")
	switch m := world.RestartMode(mode); {
	case m == world.RestartOnFailure && counted:
		tries, err := strconv.Atoi(count)
		if err != nil || tries < 1 || tries > 1e6 {
			l.fail(n.position, "write on-failure:3, say", "%s: %q is not a number of attempts", key, shorten(count))
		}
		r.Mode, r.MaxRetries = m, tries
	case counted:
		l.fail(n.position, "only on-failure has a number of attempts", "%s: %q is not known here", key, shorten(n.text))
	case m == "false": // an unquoted no, as YAML 1.1 reads it
	case m == world.RestartNo, m == world.RestartAlways, m == world.RestartOnFailure, m == world.RestartUnlessStopped:
		r.Mode = m
	default:
		l.fail(n.position, suggest(mode, []string{"no", "always", "on-failure", "unless-stopped"}), "%s: %q is not known here", key, shorten(n.text))
	}
	return r
}

// signal reads the name or number of a signal.
func (l *loader) signal(n *node, key string) string {
	if n == nil {
		return world.SIGTERM
	}
	number := world.SignalNumber(n.text)
	if number == 0 {
		l.fail(n.position, suggest(strings.ToUpper(n.text), world.SignalNames()), "%s: %q is no signal", key, shorten(n.text))
	}
	return world.SignalName(number)
}

// projectName is the name that somebody gave the Compose project. That of its folder is not one: a run is the same wherever
// the project lies.
func (l *loader) projectName() string {
	e := l.composed.entry("name")
	if e == nil {
		return ""
	}
	if _, given := e.key.file.lookup("COMPOSE_PROJECT_NAME"); e.implied && !given {
		return ""
	}
	return e.value.text
}

// names gathers further names of a node.
func (l *loader) names(d *declared) {
	key := d.key
	if d.of != "" {
		d.spec.Aliases = append(d.spec.Aliases, d.of)
	}
	add := func(name string) {
		if name != d.name && name != d.spec.Hostname && !slices.Contains(d.spec.Aliases, name) {
			d.spec.Aliases = append(d.spec.Aliases, name)
		}
	}
	if c := d.value.get("container_name"); c != nil && d.of != "" {
		l.fail(c.position, "remove it, or have one", "%s.container_name: %s is several nodes, and a name is for one", key, d.of)
	} else if c != nil {
		name := l.hostName(c, key+".container_name", d.name)
		for _, o := range l.nodes {
			if o == d {
				break
			}
			if slices.Contains(o.spec.Aliases, name) {
				l.fail(c.position, "give each a name of its own", "%s.container_name: %s has the name %q too", key, o.name, name)
			}
		}
		add(name)
	} else if project := l.projectName(); project != "" && l.composed.get("services").has(cmp.Or(d.of, d.name)) {
		add(fmt.Sprintf("%s-%s-%d", project, cmp.Or(d.of, d.name), d.index)) // what Compose calls the container
	}
	l.wants(d)
	if name := d.value.get("domainname"); name != nil {
		d.spec.DomainName = l.hostName(name, key+".domainname", "")
	}
	search := d.value.get("dns_search")
	for _, name := range search.words() {
		if name == "." { // Compose's word for none
			continue
		}
		if !nodeName.MatchString(name) {
			l.fail(search.position, "use letters, digits, and - _ . inside", "%s: %q is no domain", key+".dns_search", shorten(name))
			continue
		}
		d.spec.SearchDomains = append(d.spec.SearchDomains, name)
	}
}

// called tells whether a node has a name, on some network at least.
func (d *declared) called(name string) bool {
	same := func(have string) bool { return strings.EqualFold(have, name) }
	return same(d.name) || same(d.spec.Hostname) || slices.ContainsFunc(d.spec.Aliases, same) ||
		slices.ContainsFunc(d.nets, func(w want) bool { return slices.ContainsFunc(w.aliases, same) })
}

func (l *loader) extraHosts(d *declared) {
	key := d.key + ".extra_hosts"
	hosts := d.value.get("extra_hosts")
	add := func(at position, name, ip string) {
		ip = strings.Trim(strings.TrimSpace(ip), "[]")
		if ip == "host-gateway" {
			l.fail(at, "make what runs there a node", "%s: a world reaches nothing outside, and has no host-gateway", key)
			return
		}
		addr, err := netip.ParseAddr(ip)
		if err != nil || !nodeName.MatchString(name) {
			l.fail(at, "write NAME=IP", "%s: %q is not a name and an address", key, shorten(name+"="+ip))
			return
		}
		d.spec.ExtraHosts = append(d.spec.ExtraHosts, world.Host{Name: name, IP: addr.String()})
	}
	for _, item := range hosts.list() {
		name, ip, ok := strings.Cut(item.text, "=")
		if !ok {
			name, ip, _ = strings.Cut(item.text, ":")
		}
		add(item.position, strings.TrimSpace(name), ip)
	}
	for _, e := range hosts.entriesOf() {
		if !e.value.bad {
			for _, ip := range e.value.words() {
				add(e.key.position, e.name, ip)
			}
		}
	}
}

// ports keeps which port of this machine stands for which port of the node, for targets that name localhost.
func (l *loader) ports(d *declared) {
	key := d.key + ".ports"
	ports := d.value.get("ports")
	if ports == nil {
		return
	}
	l.idle(d.value.entry("ports").key.position, key, "nodes reach each other on all ports, and nothing is reachable from outside; targets that name localhost mean the node that publishes their port")
	for _, item := range ports.list() {
		published, target := valueOr(item.get("published"), ""), valueOr(item.get("target"), "")
		if item.kind == scalar {
			parts := strings.Split(item.text, ":")
			target, _, _ = strings.Cut(parts[len(parts)-1], "/")
			published = target
			if len(parts) > 1 {
				published = parts[len(parts)-2]
			}
		}
		p, err1 := portRange(published)
		t, err2 := portRange(target)
		if published == "" {
			p, err1 = t, err2
		}
		if err1 != nil || err2 != nil || p[1]-p[0] != t[1]-t[0] {
			l.fail(item.position, `write "8080:80"`, "%s: this is not a published port and a port of the node", key)
			continue
		}
		for i := 0; i <= t[1]-t[0]; i++ {
			d.ports = append(d.ports, port{p[0] + i, t[0] + i})
		}
	}
}

// portRange reads 80 or 80-89.
func portRange(s string) ([2]int, error) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	a, err := strconv.ParseUint(from, 10, 16)
	if err != nil {
		return [2]int{}, err
	}
	b, err := strconv.ParseUint(to, 10, 16)
	if err == nil && b < a {
		err = strconv.ErrRange
	}
	return [2]int{int(a), int(b)}, err
}

// buildStep reads `build:`. Equal steps of several nodes run once. It returns false if the step is wrong.
func (l *loader) buildStep(d *declared) bool {
	n := d.value.get("build")
	if n == nil {
		return !d.value.has("build")
	}
	if fromDockerfile(n) {
		return true // imageOf finds what it has made
	}
	key := d.key + ".build"
	b := Build{Node: d.name, Dir: n.file.dir}
	if n.kind == mapping {
		b.Argv = l.argv(n.get("command"), key+".command")
		if dir := valueOr(n.get("dir"), ""); dir != "" {
			b.Dir = l.under(n.file.dir, dir)
		}
		b.Env = settle(valueOr(n.get("environment"), []variable(nil)), n.file.lookup)
	} else {
		b.Argv = l.argv(n, key)
	}
	refused := slices.ContainsFunc(n.entries, func(e *entry) bool { return e.value.bad })
	switch {
	case refused || n.bad:
		return false
	case len(b.Argv) == 0 || b.Argv[0] == "":
		l.fail(n.position, "write the command that builds the program, such as `go build -o bin/app ./cmd/app`", "%s has no command", key)
		return false
	case len(b.Argv) == 1 && isFolder(l.under(n.file.dir, b.Argv[0])):
		l.fail(n.position, noDockerfile, "%s: %q is a folder, as if with a Dockerfile", key, b.Argv[0])
		return false
	}
	for _, o := range l.result.Builds {
		if o.Dir == b.Dir && slices.Equal(o.Argv, b.Argv) && slices.Equal(o.Env, b.Env) {
			return true
		}
	}
	l.result.Builds = append(l.result.Builds, b)
	return true
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// client adds a node for drivers or checks of our own. The name gets a number where it is taken.
func (l *loader) client(name string) *declared {
	unique := name
	taken := func(name string) bool {
		return slices.ContainsFunc(l.nodes, func(d *declared) bool { return d.called(name) })
	}
	for i := 2; taken(unique); i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	d := &declared{name: unique, at: position{file: l.files[0]}, value: &node{kind: mapping, position: position{file: l.files[0]}}, everywhere: true, ours: true}
	d.spec = world.Node{Name: unique, Role: world.Client, Hostname: unique, Root: world.NoRoot, WorkingDir: "/",
		Env:         []string{"PATH=" + searchPath, "HOME=/root", "HOSTNAME=" + unique},
		Restart:     world.Restart{Mode: world.RestartNo, DelayNs: restartDelayNs},
		StopSignal:  "SIGTERM",
		StopGraceNs: 10e9}
	l.nodes = append(l.nodes, d)
	return d
}

// checker is the node that probes run on. No fault touches it: what it sees is the servers' doing.
func (l *loader) checker() *declared {
	if i := slices.IndexFunc(l.nodes, func(d *declared) bool { return d.spec.Role == world.Checker }); i >= 0 {
		return l.nodes[i]
	}
	d := l.client("checker")
	d.spec.Role = world.Checker
	return d
}

// furnish gives the project's folder to nodes that have no other files, and this machine's files to the clients of our own on which a
// user's program runs. Other clients need neither.
func (l *loader) furnish() {
	scripts := slices.ContainsFunc(l.spec.Properties, func(p world.Property) bool { return len(p.Check.Script) > 0 }) ||
		slices.ContainsFunc(l.spec.Faults.Roles, func(r world.NodeRole) bool { return r.Check != nil && len(r.Check.Script) > 0 })
	for _, d := range l.nodes {
		if !d.ours {
			if d.spec.Root == world.NoRoot {
				project := world.Volume{Kind: world.Bind, Source: l.spec.Dir, Target: l.spec.Dir}
				d.spec.Volumes = slices.Insert(d.spec.Volumes, 0, project)
			}
			continue
		}
		if scripts && d.spec.Role == world.Checker || slices.ContainsFunc(l.spec.Workloads, func(w world.Workload) bool {
			return w.Node == d.name && (w.Driver == "command" || w.Driver == "composer")
		}) {
			d.spec.Root, d.spec.WorkingDir = world.HostRoot, l.spec.Dir
		}
	}
}

// addresses numbers the nodes in their order, or gives them networks, and completes what needs addresses.
func (l *loader) addresses(top *node) {
	for _, n := range l.nets { // also those that no node is on: their mistakes are mistakes all the same
		l.describe(n)
	}
	if l.separate() {
		l.attach()
		l.unsharedLinks(top)
	} else {
		for i, d := range l.nodes {
			d.spec.IPv4 = fmt.Sprintf("10.77.0.%d", 10+i)
			d.spec.IPv6 = fmt.Sprintf("fd77::%x", 10+i)
			for _, w := range d.nets {
				for _, alias := range w.aliases {
					if alias != d.spec.Hostname && !slices.Contains(d.spec.Aliases, alias) {
						d.spec.Aliases = append(d.spec.Aliases, alias)
					}
				}
			}
		}
	}
	for _, d := range l.nodes {
		for _, item := range d.value.get("links").list() {
			name, alias, ok := strings.Cut(item.text, ":")
			if !ok || alias == name {
				continue
			}
			for _, member := range l.members(name) {
				on := l.node(member)
				if on == nil {
					continue // dependencies has told
				}
				if ip := addressFor(d, on); ip != "" {
					d.spec.ExtraHosts = append(d.spec.ExtraHosts, world.Host{Name: alias, IP: ip})
				} else {
					l.idle(item.position, d.key+".links", fmt.Sprintf("%s shares no network with %s", d.name, member))
				}
			}
		}
		l.spec.Nodes = append(l.spec.Nodes, d.spec)
	}
}
