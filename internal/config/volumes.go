package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sharing is one mount of a volume of Compose files.
type sharing struct {
	d      *declared
	volume *world.Volume
	at     location
}

// shareVolumes deals with named volumes and bind mounts that several services have. One that is filled before it is used belongs to
// the node that uses it, as others do; all else is one volume that the nodes share. Those of bloodhound.yaml
// belong to their nodes, unless volumes_from lends them.
func (l *loader) shareVolumes() {
	type source struct {
		kind world.VolumeKind
		name string
	}
	uses := map[source][]sharing{}
	var sources []source
	for _, d := range l.nodes {
		for i := range d.spec.Volumes {
			v := &d.spec.Volumes[i]
			at, ok := l.result.places[place{d.name, engine.PartVolume, v.Target}]
			if !ok || at.file == nil || !at.file.compose && !l.lent[v.Source] || v.Kind != world.Named && v.Kind != world.Bind {
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
		l.shareVolume(s.name, uses[s])
	}
}

// shareVolume decides what the uses of one volume have to do with each other.
func (l *loader) shareVolume(name string, uses []sharing) {
	written := slices.ContainsFunc(uses, func(u sharing) bool { return !u.volume.ReadOnly })
	if len(uses) < 2 || !written {
		return
	}
	twice := false // on one node
	for i, u := range uses {
		for _, o := range uses[:i] {
			if twice = twice || o.d == u.d; o.d == u.d && o.volume.ReadOnly != u.volume.ReadOnly {
				l.note(u.at.position, u.at.key, "%s can be written at both %s and %s, since it can at one of them", name, o.volume.Target, u.volume.Target)
			}
		}
	}
	bound := filepath.IsAbs(name) // also of a folder that is not there
	last := make([]*declared, len(uses))
	for i := range uses {
		for _, writer := range uses {
			switch {
			case !twice && (writer.volume.ReadOnly || writer.d == uses[i].d):
			case !bound && !twice && l.completes(writer.d, uses[i].d):
				if last[i] == nil || l.completes(last[i], writer.d) {
					last[i] = writer.d
				}
			case bound || twice || !l.completes(uses[i].d, writer.d):
				for _, u := range uses {
					u.volume.Shared = true
				}
				return
			}
		}
	}
	for i, u := range uses {
		if last[i] != nil {
			u.volume.From, u.volume.NoCopy = last[i].name, true
		}
	}
}

// volumesFrom mounts what other nodes have mounted, at the same places.
type volumesFrom struct {
	*loader
	done []*declared
}

func (l *volumesFrom) mount(d *declared) {
	if slices.Contains(l.done, d) {
		return
	}
	l.done = append(l.done, d)
	key := d.key + ".volumes_from"
	for _, item := range d.value.get("volumes_from").list() {
		name, mode, _ := strings.Cut(item.text, ":")
		from := l.node(l.members(name)[0]) // the replicas of a service have the same, but for volumes without a name
		switch {
		case name == "container":
			l.fail(item.position, "make it a service, and name that", "%s: %q is a container of Docker's, which no world reaches", key, shorten(item.text))
			continue
		case mode != "" && mode != "ro" && mode != "rw":
			l.fail(item.position, "modes are ro and rw", "%s: mode %q is not known", key, mode)
			continue
		case from == nil:
			l.known(item.position, key, name)
			continue
		}
		l.mount(from)
		for _, v := range from.spec.Volumes {
			if v.Kind != world.Named && v.Kind != world.Bind || slices.ContainsFunc(d.spec.Volumes, func(o world.Volume) bool { return o.Target == v.Target }) {
				continue
			}
			v.ReadOnly = v.ReadOnly || mode == "ro"
			l.loader.mount(d, item.position, key, v)
			if l.lent == nil {
				l.lent = map[string]bool{}
			}
			l.lent[v.Source] = true
			if of := (place{from.name, engine.PartVolume, v.Target}); l.result.places[of].file == nil { // a volume of its image
				l.result.places[of] = location{from.at, from.key}
			}
		}
	}
}

// completes tells whether a node has completed when another starts.
func (l *loader) completes(first, then *declared) bool {
	var seen []string
	var visit func(d *declared) bool
	visit = func(d *declared) bool {
		if d == nil || slices.Contains(seen, d.name) {
			return false
		}
		seen = append(seen, d.name)
		return slices.ContainsFunc(d.spec.DependsOn, func(dep world.Dependency) bool {
			return dep.Node == first.name && dep.Condition == world.Completed || visit(l.node(dep.Node))
		})
	}
	return visit(then)
}
