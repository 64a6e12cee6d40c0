package report

import (
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Then returns the content of the project's folder when the run of a failure was stored, as far as it is known. It
// returns nil if a file of the folder that the run read has changed since then: the folder now holds another build,
// which may need files that came with it.
func (f *Failure) Then() *filetree.Tree {
	top := strings.TrimSuffix(f.Spec.Dir, "/") + "/"
	then := &filetree.Tree{Folders: map[string]string{}, Unlooked: true}
	if f.Tree != nil {
		then = f.Tree.Clone()
	}
	var read []string
	for path, stored := range f.Files {
		inside, ok := strings.CutPrefix(path, top)
		folder := inside == "" || strings.HasSuffix(inside, "/")
		switch {
		case !ok:
		case folder && !unlisted(stored):
			then.SetNames(strings.TrimSuffix(inside, "/"), stored)
		case folder:
		case filedigest.Text(path, nil) != stored:
			return nil
		default:
			read = append(read, inside)
		}
	}
	for _, path := range append(read, namedIn(f.Spec, top)...) {
		then.Add(path)
	}
	return then
}

// unlisted reports whether the names in a folder, as a run has them, are not all there.
func unlisted(names string) bool {
	return names == "gone" || names == "unreadable" || strings.HasPrefix(names, "sha256:")
}

// namedIn gives the files below a folder that nodes of a Spec name: programs, and what is mounted.
func namedIn(spec *world.Spec, top string) (list []string) {
	add := func(name string) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(top, name)
		}
		if inside, ok := strings.CutPrefix(name, top); ok && inside != "" {
			list = append(list, inside)
		}
	}
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		if len(n.Command) > 0 && strings.Contains(n.Command[0], "/") {
			add(n.Command[0])
		}
		for _, v := range n.Volumes {
			if v.Kind == world.Bind {
				add(v.Source)
			}
		}
	}
	return list
}

// Renew replaces the run of a failure, the smallest one if there is one and original is false, by the same tape's run as it is now. The Tree is
// that of the project's folder now.
func (f *Failure) Renew(version string, o *check.Judged, v check.Verdict, tree *filetree.Tree, original bool) {
	f.TraceVersion, f.Bloodhound = TraceVersion, version
	if s := f.Smallest; s != nil && !original {
		s.Verdict, s.Hash, s.Events, s.VirtualNs, s.Files, s.Machine, s.Tree = v, o.Hash, o.Events, o.VirtualNs, o.Files, o.Machine, tree
		return
	}
	if s := f.Smallest; s != nil && s.Tree == nil {
		s.Tree = f.Tree
	}
	f.Verdict, f.Decisions, f.Hash, f.Events, f.VirtualNs, f.Files, f.Machine, f.Tree = v, o.Decisions, o.Hash, o.Events, o.VirtualNs, o.Files, o.Machine, tree
}
