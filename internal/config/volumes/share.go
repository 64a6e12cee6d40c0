package volumes

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sharing is one mount of a volume of Compose files.
type sharing struct {
	d      *load.Node
	volume *world.Volume
	at     load.Location
}

// Share deals with named volumes and bind mounts that several services have. One that is filled before it is used belongs to
// the node that uses it, as others do; all else is one volume that the nodes share. Those of bloodhound.yaml
// belong to their nodes, unless volumes_from lends them.
func Share(l *load.State) {
	type source struct {
		kind world.VolumeKind
		name string
	}
	uses := map[source][]sharing{}
	var sources []source
	for _, d := range l.Nodes {
		for i := range d.Spec.Volumes {
			v := &d.Spec.Volumes[i]
			at, ok := l.Places[load.Place{Node: d.Name, Part: engine.PartVolume, Name: v.Target}]
			if !ok || at.File == nil || !at.File.Compose && !l.Lent[v.Source] || v.Kind != world.Named && v.Kind != world.Bind {
				continue
			}
			s := source{v.Kind, v.Source}
			if uses[s] == nil {
				sources = append(sources, s)
			}
			uses[s] = append(uses[s], sharing{d, v, at})
		}
	}
	for _, s := range sources {
		shareVolume(l, s.name, uses[s])
	}
}

// shareVolume decides what the uses of one volume have to do with each other.
func shareVolume(l *load.State, name string, uses []sharing) {
	written := slices.ContainsFunc(uses, func(u sharing) bool { return !u.volume.ReadOnly })
	if len(uses) < 2 || !written {
		return
	}
	twice := false // on one node
	for i, u := range uses {
		for _, o := range uses[:i] {
			if twice = twice || o.d == u.d; o.d == u.d && o.volume.ReadOnly != u.volume.ReadOnly {
				l.Note(u.at.Position, u.at.Key, "%s is writable at both %s and %s, since one of the two mounts is writable", name,
					o.volume.Target, u.volume.Target)
			}
		}
	}
	bound := filepath.IsAbs(name) // also of a folder that is not there
	last := make([]*load.Node, len(uses))
	for i := range uses {
		for _, writer := range uses {
			switch {
			case !twice && (writer.volume.ReadOnly || writer.d == uses[i].d):
			case !bound && !twice && completes(l, writer.d, uses[i].d):
				if last[i] == nil || completes(l, last[i], writer.d) {
					last[i] = writer.d
				}
			case bound || twice || !completes(l, uses[i].d, writer.d):
				for _, u := range uses {
					u.volume.Shared = true
				}
				return
			}
		}
	}
	for i, u := range uses {
		if last[i] != nil {
			u.volume.From, u.volume.NoCopy = last[i].Name, true
		}
	}
}

// MountVolumesFrom mounts the volumes of other nodes at the same places.
func MountVolumesFrom(l *load.State, d *load.Node, done map[*load.Node]bool) {
	if done[d] {
		return
	}
	done[d] = true
	key := d.Key + ".volumes_from"
	for _, item := range d.Value.Get("volumes_from").List() {
		name, mode, _ := strings.Cut(item.Text, ":")
		from := l.Node(l.Members(name)[0]) // the replicas of a service have the same, but for volumes without a name
		switch {
		case name == "container":
			l.Fail(item.Position, "make it a service, and use the name of the service",
				"%s: %q is a Docker container, which a world cannot use", key, source.Shorten(item.Text))
			continue
		case mode != "" && mode != "ro" && mode != "rw":
			l.Fail(item.Position, "use ro or rw", "%s: unknown mode %q", key, mode)
			continue
		case from == nil:
			l.Known(item.Position, key, name)
			continue
		}
		MountVolumesFrom(l, from, done)
		for _, v := range from.Spec.Volumes {
			if v.Kind != world.Named && v.Kind != world.Bind || slices.ContainsFunc(d.Spec.Volumes, func(o world.Volume) bool { return o.Target == v.Target }) {
				continue
			}
			v.ReadOnly = v.ReadOnly || mode == "ro"
			mount(l, d, item.Position, key, v)
			if l.Lent == nil {
				l.Lent = map[string]bool{}
			}
			l.Lent[v.Source] = true
			if of := (load.Place{Node: from.Name, Part: engine.PartVolume, Name: v.Target}); l.Places[of].File == nil { // a volume of its image
				l.Places[of] = load.Location{Position: from.At, Key: from.Key}
			}
		}
	}
}

// completes reports whether a node has completed when another starts.
func completes(l *load.State, first, then *load.Node) bool {
	var seen []string
	var visit func(d *load.Node) bool
	visit = func(d *load.Node) bool {
		if d == nil || slices.Contains(seen, d.Name) {
			return false
		}
		seen = append(seen, d.Name)
		return slices.ContainsFunc(d.Spec.DependsOn, func(dep world.Dependency) bool {
			return dep.Node == first.Name && dep.Condition == world.Completed || visit(l.Node(dep.Node))
		})
	}
	return visit(then)
}
