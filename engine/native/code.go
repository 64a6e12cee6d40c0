//go:build linux && amd64

package native

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/coverage/code"
	"github.com/bloodhound-dst/bloodhound/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/engine/native/kernel"
)

// codeWatch is what a world knows of the binaries whose blocks are watched.
type codeWatch struct {
	watch  *code.Watch
	hits   []code.Hits     // of binaries that were met; their blocks are filled in at the end
	copies []*host.Watched // of each, nil where it is off
}

// watched gives the copy of a file with breakpoints, if its blocks are to be watched: the kernel asks at each exec and each map
// of code.
func (w *World) watched(t *kernel.Thread, path, real string, fd int, library bool) *host.Watched {
	c := &w.code
	p := w.kernel.Procs[t.Proc]
	if w.kernel.Nodes[t.Node].Driver || p.Tag == 0 || w.director.Jobs[p.Tag-1].Kind != jobMain || real == kernel.Self {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		path = real
	}
	choice := c.watch.Choice
	if !choice.Watches(path, library) && (path == real || !choice.Watches(real, library)) {
		return nil
	}
	copied, digest, err := host.Watch(fd, c.watch, c.copies)
	if digest == "" {
		return nil
	}
	i := slices.IndexFunc(c.hits, func(h code.Hits) bool { return h.Digest == digest })
	if i < 0 {
		h := code.Hits{Digest: digest, Path: path, File: host.RealName(fd)}
		if err != nil {
			h.Off = err.Error()
		} else {
			h.Total = len(copied.Binary.Places)
		}
		c.hits, c.copies = append(c.hits, h), append(c.copies, copied)
	}
	return copied
}

// codeHits are the blocks that were executed so far. Binaries of which nothing is new are left out if the State knows them.
func (w *World) codeHits() []code.Hits {
	var list []code.Hits
	for i, h := range w.code.hits {
		if c := w.code.copies[i]; c != nil {
			h.Blocks = c.Hits()
		}
		if len(h.Blocks) > 0 || w.code.watch.State.Get(h.Digest) == nil {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b code.Hits) int { return strings.Compare(a.Digest, b.Digest) })
	return list
}
