//go:build linux && amd64

package native

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sharing is the volumes that several nodes of a world mount, numbered from 1 on in the order of the nodes.
type sharing struct {
	volumes []sharedVolume
	layers  []host.Layer // what they begin with: layers 1 and so on of each node
}

type sharedVolume struct {
	kind   world.VolumeKind
	source string
	layer  int // of each node, or fs.NoLayer
}

// number returns the number of a node's volume, or 0 if no other node mounts it.
func (s *sharing) number(v *world.Volume) int {
	if !v.Shared {
		return 0
	}
	return 1 + slices.IndexFunc(s.volumes, func(o sharedVolume) bool { return o.kind == v.Kind && o.source == v.Source })
}

func (s *sharing) layer(number int) int { return s.volumes[number-1].layer }

// share makes the volumes that nodes share, in a kernel without nodes. A volume begins with what the first node that has something at its place has there, as
// container engines do it.
func (w *World) share(nodes []world.Node) error {
	w.shared = sharing{}
	for i := range nodes {
		n := &nodes[i]
		for k := range n.Volumes {
			v := &n.Volumes[k]
			if !v.Shared {
				continue
			}
			number := w.shared.number(v)
			if number == 0 {
				w.shared.volumes = append(w.shared.volumes, sharedVolume{v.Kind, v.Source, fs.NoLayer})
				number = len(w.shared.volumes)
			}
			if w.shared.layer(number) != fs.NoLayer {
				continue
			}
			lower, err := w.root(n)
			if err != nil {
				return err
			}
			if l, ok := w.beginning(v, lower); ok {
				w.shared.layers = append(w.shared.layers, l)
				w.shared.volumes[number-1].layer = len(w.shared.layers)
			}
		}
	}
	if len(w.shared.volumes) > 0 {
		w.kernel.Shared = fs.NewShared(len(w.shared.volumes))
	}
	return nil
}

// beginning returns the initial content of a volume: the bound folder, or the folder of the node's image at its place.
// It returns false if the volume starts empty.
func (w *World) beginning(v *world.Volume, lower host.Layer) (host.Layer, bool) {
	switch v.Kind {
	case world.Bind:
		return host.Layer{Path: v.Source}, true
	case world.Named:
		below := strings.Trim(v.Target, "/")
		if v.NoCopy || lower.Image == nil {
			break
		}
		if e := lower.Image.Tree.Lookup(below); e == nil || e.Kind != rootfs.Folder {
			break
		}
		return host.Layer{Path: lower.Path + "/" + below, Image: lower.Image, Below: below}, true
	}
	return host.Layer{}, false
}
