// Package volumes reads the mounts of nodes, and decides which of them nodes share.
package volumes

import (
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// tmpfsOptions reads options such as size=64m,mode=1770.
func tmpfsOptions(l *load.State, at source.Position, key, options string, v *world.Volume) {
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		number, err := strconv.ParseInt(value, 10, 32)
		ok := err == nil && number >= 0
		switch name {
		case "", "rw", "exec", "noexec", "suid", "nosuid", "dev", "nodev", "noatime", "relatime", "z", "Z":
			ok = true
		case "ro":
			v.ReadOnly, ok = true, true
		case "size":
			v.SizeBytes, ok = schema.ReadSize(value)
		case "mode":
			v.Mode, ok = permissions("0" + value)
		case "uid":
			v.UID = int(number)
		case "gid":
			v.GID = int(number)
		default:
			l.Fail(at, "use size, mode, uid, gid, ro, rw, or options without effect, such as noexec", "%s: unknown option %q", key, source.Shorten(option))
			return
		}
		if !ok {
			l.Fail(at, "write options such as size=64m, mode=1770, uid=1000", "%s: option %q has an invalid value", key, source.Shorten(option))
		}
	}
}

// permissions reads a mode: 0o1770, 01770, or a decimal number.
func permissions(s string) (uint32, bool) {
	v, err := strconv.ParseUint(strings.TrimSpace(s), 0, 32)
	return uint32(v), err == nil && v > 0 && v <= 0o7777
}

// imageVolumes are the folders that an image wants to be volumes. They begin with what the image has there.
func imageVolumes(d *load.Node) {
	var targets []string
	for target := range d.Image.Config.Config.Volumes {
		if path.IsAbs(target) && path.Clean(target) != "/" {
			targets = append(targets, path.Clean(target))
		}
	}
	slices.Sort(targets)
	for _, target := range targets {
		if !slices.ContainsFunc(d.Spec.Volumes, func(v world.Volume) bool { return v.Target == target }) {
			d.Spec.Volumes = append(d.Spec.Volumes, world.Volume{Kind: world.Named, Source: d.Name + ":" + target, Target: target})
		}
	}
}

// ReadMounts reads the mounts of a node: volumes, tmpfs, configs, secrets, and the volumes of its image.
func ReadMounts(l *load.State, d *load.Node) {
	key := d.Key + ".volumes"
	for _, item := range d.Value.Get("volumes").List() {
		var v world.Volume
		ok := false
		if item.Kind == source.Scalar {
			v, ok = shortVolume(l, d, item, key)
		} else {
			v, ok = longVolume(l, d, item, key)
		}
		if ok && namedVolume(l, d, item.Position, key, &v) {
			bindSource(l, item, key, &v)
			mount(l, d, item.Position, key, v)
		}
	}
	t := d.Value.Get("tmpfs")
	for _, p := range t.Words() {
		target, options, _ := strings.Cut(p, ":")
		v := world.Volume{Kind: world.Tmpfs, Target: target}
		tmpfsOptions(l, t.Position, d.Key+".tmpfs", options, &v)
		mount(l, d, t.Position, d.Key+".tmpfs", v)
	}
	mountFiles(l, d, "configs", "/")
	mountFiles(l, d, "secrets", "/run/secrets")
	if d.Image != nil {
		imageVolumes(d)
	}
}

// bindSource looks at what a Compose file binds: Docker makes a folder of what is not there, and here that one lies in the
// world.
func bindSource(l *load.State, item *source.Node, key string, v *world.Volume) {
	if v.Kind != world.Bind || !item.File.Compose {
		return
	}
	info, err := os.Stat(v.Source)
	create := item.Get("bind").Get("create_host_path")
	switch {
	case errors.Is(err, os.ErrNotExist) && (create == nil || create.Text != "false"):
		v.Kind, v.NoCopy = world.Named, true
		l.Note(item.Position, key, "%s does not exist; the mount starts as an empty folder", v.Source)
	case err == nil && info.Mode()&os.ModeSocket != 0:
		l.Note(item.Position, key, "%s is a socket of the host; in a world nothing listens on it", v.Source)
	}
}

// namedVolume looks a named volume up in the Compose files: it may be another name for a folder, or for memory.
func namedVolume(l *load.State, d *load.Node, at source.Position, key string, v *world.Volume) bool {
	if v.Kind != world.Named || v.Source == d.Name+":"+v.Target {
		return true
	}
	made := l.Composed.Get("volumes").Entry(v.Source)
	if made == nil {
		if at.File.Compose {
			l.Fail(at, "define it under `volumes:` at the top level of the Compose file", "%s: unknown volume %q", key, source.Shorten(v.Source))
			return false
		}
		return true
	}
	options := made.Value.Get("driver_opts")
	option := func(name string) string {
		if n := options.Get(name); n != nil {
			return n.Text
		}
		return ""
	}
	switch {
	case options == nil:
	case slices.Contains(strings.Split(option("o"), ","), "bind"):
		v.Kind, v.Source = world.Bind, l.Under(options.File.Dir, option("device"))
	case option("type") == "tmpfs":
		v.Kind, v.Source = world.Tmpfs, ""
	default:
		l.Fail(options.Position, "remove the options, or use a bind mount",
			"volumes.%s.driver_opts: a world cannot mount an external %s", v.Source, cmp.Or(option("type"), "file system"))
		return false
	}
	return true
}

// maxMounts bounds the mounts of a node: each is compared with those before it.
const maxMounts = 4096

func mount(l *load.State, d *load.Node, at source.Position, key string, v world.Volume) {
	if !path.IsAbs(v.Target) || path.Clean(v.Target) == "/" {
		l.Fail(at, "write an absolute path below /, such as /data", "%s: %q is not a valid mount target", key, v.Target)
		return
	}
	v.Target = path.Clean(v.Target)
	if len(d.Spec.Volumes) >= maxMounts {
		if len(d.Spec.Volumes) == maxMounts { // one more, so that this is said once
			d.Spec.Volumes = append(d.Spec.Volumes, v)
			l.Fail(at, "mount fewer folders", "%s: node %s has more than %d mounts", key, d.Name, maxMounts)
		}
		return
	}
	for _, other := range d.Spec.Volumes {
		if other.Target == v.Target {
			l.Fail(at, "remove one of them", "%s: there are two mounts at %s", key, v.Target)
			return
		}
	}
	if v.Kind == world.Bind {
		for _, of := range []string{"/proc", "/sys", "/dev"} {
			if v.Source == "/" || v.Source == of || strings.HasPrefix(v.Source, of+"/") {
				l.Fail(at, "remove the mount; every node has a /proc, a /sys and a /dev of its own",
					"%s: files in %s change with the state of the host, so runs would not be reproducible", key, cmp.Or(strings.TrimSuffix(v.Source, "/"), "/"))
				return
			}
		}
	}
	d.Spec.Volumes = append(d.Spec.Volumes, v)
	l.Places[load.Place{Node: d.Name, Part: engine.PartVolume, Name: v.Target}] = load.Location{Position: at, Key: key}
}

func shortVolume(l *load.State, d *load.Node, item *source.Node, key string) (world.Volume, bool) {
	parts := strings.Split(item.Text, ":")
	v := world.Volume{Kind: world.Named}
	switch len(parts) {
	case 1: // anonymous
		v.Source, v.Target = d.Name+":"+parts[0], parts[0]
		return v, true
	case 2:
		if !path.IsAbs(parts[1]) && path.IsAbs(parts[0]) {
			l.Fail(item.Position, "write SOURCE:TARGET:"+parts[1], "%s: %q has no target", key, source.Shorten(item.Text))
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
				l.Idle(item.Position, key, "the mode "+mode+": mounts are private to a node")
			default:
				l.Fail(item.Position, "use ro or rw", "%s: unknown mode %q", key, mode)
				return v, false
			}
		}
	default:
		l.Fail(item.Position, "write SOURCE:TARGET or SOURCE:TARGET:ro", "%s: %q has too many parts", key, source.Shorten(item.Text))
		return v, false
	}
	v.Source, v.Target = parts[0], parts[1]
	if strings.HasPrefix(v.Source, ".") || strings.HasPrefix(v.Source, "~") || filepath.IsAbs(v.Source) || strings.Contains(v.Source, "/") {
		v.Kind, v.Source = world.Bind, l.Under(item.File.Dir, v.Source)
	}
	if v.Source == "" {
		l.Fail(item.Position, "write SOURCE:TARGET", "%s: %q has no source", key, source.Shorten(item.Text))
		return v, false
	}
	return v, true
}

func longVolume(l *load.State, d *load.Node, item *source.Node, key string) (world.Volume, bool) {
	v := world.Volume{Kind: world.VolumeKind(source.ValueOr(item.Get("type"), "")), Source: source.ValueOr(item.Get("source"), ""),
		Target: source.ValueOr(item.Get("target"), ""), ReadOnly: source.ValueOr(item.Get("read_only"), false)}
	if item.Entry("type").IsBad() || item.Entry("source").IsBad() || item.Entry("target").IsBad() {
		return v, false
	}
	switch {
	case v.Kind == "":
		l.Missing(item, "type", "add `type: bind`, `volume` or `tmpfs`", "%s: a mount has no type", key)
		return v, false
	case v.Target == "":
		l.Missing(item, "target", "add `target:`, an absolute path in the node", "%s: a mount has no target", key)
		return v, false
	case v.Kind == world.Tmpfs && v.Source != "":
		l.Fail(item.Position, "remove `source:`", "%s: a tmpfs has no source", key)
		return v, false
	case v.Kind == world.Bind && v.Source == "":
		l.Missing(item, "source", "add `source:`, a path on the host", "%s: a bind mount has no source", key)
		return v, false
	case v.Kind == world.Bind:
		v.Source = l.Under(item.File.Dir, v.Source)
	case v.Kind == world.Named && v.Source == "":
		v.Source = d.Name + ":" + v.Target
	}
	v.NoCopy = source.ValueOr(item.Get("volume").Get("nocopy"), false)
	tmpfs := item.Get("tmpfs")
	v.SizeBytes = source.ValueOr(tmpfs.Get("size"), int64(0))
	if mode := tmpfs.Get("mode"); mode != nil {
		ok := false
		if v.Mode, ok = permissions(mode.Text); !ok {
			l.Fail(mode.Position, "write a mode such as 0o1770", "%s.tmpfs.mode: %q is not a mode", key, source.Shorten(mode.Text))
		}
	}
	for _, of := range []world.VolumeKind{world.Named, world.Tmpfs} {
		if e := item.Entry(string(of)); e != nil && v.Kind != of {
			l.Idle(e.Key.Position, key+"."+string(of), "the mount is of another type")
		}
	}
	return v, true
}
