package config

import (
	"path/filepath"
	"slices"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/world"
)

// sharing is one mount of a named volume of Compose files.
type sharing struct {
	d      *declared
	volume *world.Volume
	at     location
}

// shareVolumes deals with named volumes that several services have. Nodes of a world share no disk: what one of them has
// written is there for another that starts when it has completed, and all else is a mistake here. Named volumes of
// bloodhound.yaml belong to their nodes.
func (l *loader) shareVolumes() {
	uses := map[string][]sharing{}
	var names []string
	for _, d := range l.nodes {
		for i := range d.spec.Volumes {
			v := &d.spec.Volumes[i]
			at, ok := l.result.places[place{d.name, engine.PartVolume, v.Target}]
			if !ok || at.file == nil || !at.file.compose {
				continue
			}
			if v.Kind == world.Bind || v.Kind == world.Named && filepath.IsAbs(v.Source) { // the latter is bound and not there
				l.boundTwice(d, v, at)
				continue
			}
			if v.Kind != world.Named {
				continue
			}
			if uses[v.Source] == nil {
				names = append(names, v.Source)
			}
			uses[v.Source] = append(uses[v.Source], sharing{d, v, at})
		}
	}
	for _, name := range names {
		l.shareVolume(name, uses[name])
	}
}

// boundTwice tells of a folder that an earlier service binds too: what one of them writes there, the other does not see.
func (l *loader) boundTwice(d *declared, v *world.Volume, at location) {
	for _, o := range l.nodes {
		if o == d {
			return
		}
		for _, w := range o.spec.Volumes {
			if w.Kind == v.Kind && w.Source == v.Source && (!w.ReadOnly || !v.ReadOnly) && o.key != d.key {
				l.note(at.position, at.key, "%s binds %s too, and what one of them writes there stays with itself", o.name, v.Source)
				return
			}
		}
	}
}

func (l *loader) shareVolume(name string, uses []sharing) {
	for i := range uses {
		reader := &uses[i]
		var last *sharing // to write before it
		for k := range uses {
			writer := &uses[k]
			switch {
			case writer.volume.ReadOnly || i == k:
			case reader.d == writer.d:
				l.fail(reader.at.position, "mount it once", "%s: the volume %q is mounted twice, and mounts of a world share nothing", reader.at.key, name)
				return
			case l.completes(writer.d, reader.d):
				if last == nil || l.completes(last.d, writer.d) {
					last = writer
				}
			case !l.completes(reader.d, writer.d):
				l.fail(reader.at.position, "let one of them complete before the other starts (`depends_on: {NAME: {condition: service_completed_successfully}}`), or give each a volume of its own",
					"%s: %s and %s share the volume %q while both may run, and nodes of a world share no disk", reader.at.key, reader.d.name, writer.d.name, name)
				return
			}
		}
		if last != nil {
			reader.volume.From, reader.volume.NoCopy = last.d.name, true
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
