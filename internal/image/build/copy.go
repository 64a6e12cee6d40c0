package build

import (
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/patternmatcher"
	mode "github.com/tonistiigi/dchapes-mode"
)

// copying is one COPY or ADD.
type copying struct {
	dest     string // in the image, absolute
	isFolder bool   // it is meant to be one
	link     bool
	parents  bool
	chown    string
	chmod    string
	excludes *patternmatcher.PatternMatcher
	items    []item
}

// item is a source: a path of files, an archive that is unpacked, or a text.
type item struct {
	files *files
	paths []string // that the source's pattern stands for
	// pivot is the folder below which --parents keeps the folders of a path.
	pivot  string
	unpack bool
}

func (s *steps) copy(c *instructions.CopyCommand) error {
	from, err := s.sources(c.From)
	if err != nil {
		return err
	}
	cp, err := s.copying(c.SourcesAndDest, c.Link, c.Chown, c.Chmod, c.ExcludePatterns)
	if err != nil {
		return err
	}
	cp.parents = c.Parents
	inputs := []string{"COPY", text(c.ExcludePatterns), fmt.Sprint(c.Parents)}
	for _, p := range c.SourcePaths {
		if from.tree == nil { // a stage that is not done yet: its key stands for its files
			inputs = append(inputs, from.key, p)
			continue
		}
		it, err := cp.find(from, p)
		if err != nil {
			return err
		}
		cp.items = append(cp.items, it)
		if inputs, err = cp.digests(inputs, &it, p); err != nil {
			return err
		}
	}
	return s.copies(c, cp, &c.SourcesAndDest, inputs)
}

// copying reads what COPY and ADD share.
func (s *steps) copying(p instructions.SourcesAndDest, link bool, chown, chmod string, excludes []string) (*copying, error) {
	if p.DestPath == "" {
		return nil, &Error{Text: "the destination is empty", Remedy: "write a path in the image"}
	}
	cp := &copying{dest: s.inImage(p.DestPath), link: link, chown: chown, chmod: chmod}
	last := path.Base(p.DestPath)
	cp.isFolder = strings.HasSuffix(p.DestPath, "/") || last == "." || last == ".." || cp.dest == "/"
	if n := len(p.SourcePaths) + len(p.SourceContents); n > 1 && !cp.isFolder {
		return nil, &Error{Text: fmt.Sprintf("there are %d sources, but the destination %s is not a folder", n, p.DestPath), Remedy: "end it with /"}
	}
	if len(excludes) > 0 {
		var err error
		if cp.excludes, err = patternmatcher.New(excludes); err != nil {
			return nil, &Error{Text: "--exclude: " + err.Error()}
		}
	}
	return cp, nil
}

// copies writes the layer of a COPY or ADD.
func (s *steps) copies(c instructions.Command, cp *copying, p *instructions.SourcesAndDest, inputs []string) error {
	for _, text := range p.SourceContents {
		inputs = append(inputs, "<<", text.Path, text.Data)
	}
	inputs = append(inputs, cp.dest, fmt.Sprint(cp.isFolder, cp.link), cp.chown, cp.chmod)
	return s.effect(c, inputs, func(l *layer) error {
		l.links = cp.link
		o, err := s.owner(cp.chown)
		if err != nil {
			return err
		}
		for i := range cp.items {
			if err := cp.copy(l, &cp.items[i], o); err != nil {
				return err
			}
		}
		for _, text := range p.SourceContents {
			e := &rootfs.Entry{Path: text.Path, Kind: rootfs.File, Mode: 0o644, Size: int64(len(text.Data)), MtimeNs: epoch}
			f := &files{tree: rootfs.NewTree(&rootfs.Layer{Entries: []rootfs.Entry{*e}}), open: func(*rootfs.Entry) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(text.Data)), nil
			}}
			if err := cp.copy(l, &item{files: f, paths: []string{text.Path}}, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// sources are the files that --from names: those of the context if it is empty.
func (s *steps) sources(from string) (*files, error) {
	if from == "" {
		f, err := s.folder(s.request.Context)
		if err != nil {
			return nil, err
		}
		return &f.files, nil
	}
	if c, ok := s.request.Contexts[from]; ok && c.Image == nil {
		f, err := s.folder(c.Dir)
		if err != nil {
			return nil, err
		}
		return &f.files, nil
	}
	var st *state
	var err error
	if j := s.file.find(from, s.number); j >= 0 {
		st, err = s.stage(j, s.do)
	} else {
		st, err = s.resolveBase(from, s.number, s.do)
	}
	if err != nil {
		return nil, err
	}
	return s.filesOf(st)
}

// filesOf are the files of a state; of one that is only planned, a key.
func (s *steps) filesOf(st *state) (*files, error) {
	f := &files{key: st.key, owned: true, digest: func(e *rootfs.Entry) (string, error) { return e.Digest, nil },
		open:    func(e *rootfs.Entry) (io.ReadCloser, error) { return os.Open(s.Store.File(e.Digest)) },
		missing: func(string) string { return "the stage or image to copy from does not have it" }}
	if !s.do {
		return f, nil
	}
	s.state.ns = max(s.state.ns, st.ns)
	tree, err := s.treeOf(st)
	f.tree = tree
	return f, err
}

const wildcards = `*?[\`

// find resolves a source path.
func (cp *copying) find(f *files, pattern string) (item, error) {
	it := item{files: f}
	missing := func(p string) error {
		e := &Error{Text: fmt.Sprintf("%s is not there: %s", pattern, f.missing(p))}
		if strings.HasPrefix(path.Clean(pattern), "..") {
			e.Text = fmt.Sprintf("%s is outside the context", pattern)
			e.Remedy = "use a larger `context:`, or add the folder to `additional_contexts:` and copy from it with --from"
		}
		return e
	}
	if cp.parents {
		pivot, rest, ok := strings.Cut(pattern, "/./")
		if !ok {
			pivot, rest = "", pattern
		}
		real, err := resolve(f.tree.Lookup, pivot, true)
		if err != nil {
			return it, err
		}
		it.pivot = real
		rest = strings.TrimPrefix(path.Clean("/"+rest), "/")
		if rest == "" {
			rest = "**"
		}
		m, err := patternmatcher.New([]string{rest})
		if err != nil {
			return it, &Error{Text: fmt.Sprintf("%s: %v", pattern, err)}
		}
		err = each(f.tree, real, func(p string) error {
			ok, err := m.MatchesOrParentMatches(below(real, p))
			if ok {
				it.paths = append(it.paths, p)
			}
			return err
		})
		if err == nil && len(it.paths) == 0 && !strings.ContainsAny(pattern, wildcards) {
			err = missing(rest)
		}
		return it, err
	}
	p := strings.TrimPrefix(path.Clean("/"+pattern), "/")
	if strings.ContainsAny(p, wildcards) {
		found, err := glob(f.tree, "", strings.Split(p, "/"))
		if err != nil {
			return it, &Error{Text: fmt.Sprintf("%s: %v", pattern, err)}
		}
		if len(found) > 0 || f.tree.Lookup(p) == nil {
			it.paths = found
			return it, nil
		}
	}
	real, err := resolve(f.tree.Lookup, p, true)
	if err != nil {
		return it, err
	}
	if f.tree.Lookup(real) == nil {
		return it, missing(p)
	}
	it.paths = []string{p}
	return it, nil
}

// glob finds the names that match elements of a pattern, in order.
func glob(t *rootfs.Tree, dir string, elements []string) ([]string, error) {
	real, err := resolve(t.Lookup, dir, true)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range t.Names(real) {
		ok, err := path.Match(elements[0], name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		p := strings.TrimPrefix(dir+"/"+name, "/")
		if len(elements) == 1 {
			found = append(found, p)
			continue
		}
		more, err := glob(t, p, elements[1:])
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// each visits all that is below a folder of a tree, folders before what is in them.
func each(t *rootfs.Tree, dir string, visit func(p string) error) error {
	for _, name := range t.Names(dir) {
		p := strings.TrimPrefix(dir+"/"+name, "/")
		if err := visit(p); err != nil {
			return err
		}
		if t.Lookup(p).Kind == rootfs.Folder {
			if err := each(t, p, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// below is a path from a folder above it on.
func below(dir, p string) string {
	if dir == "" {
		return p
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
}

// digests adds to inputs all that a source's files are.
func (cp *copying) digests(inputs []string, it *item, pattern string) ([]string, error) {
	f := it.files
	if f.key != "" {
		return append(inputs, f.key, pattern), nil
	}
	one := func(p, seen string) error {
		e := f.tree.Lookup(p)
		content := ""
		if e.Kind == rootfs.File {
			var err error
			if content, err = f.digest(e); err != nil {
				return err
			}
		}
		inputs = append(inputs, seen, fmt.Sprintf("%c %o", e.Kind, e.Mode), content, e.Target)
		return nil
	}
	inputs = append(inputs, fmt.Sprint(len(it.paths)), fmt.Sprint(it.unpack))
	for _, p := range it.paths {
		real := p
		var err error
		if !cp.parents {
			if real, err = resolve(f.tree.Lookup, p, true); err != nil {
				return nil, err
			}
		}
		if f.tree.Lookup(real) == nil {
			continue // a link that leads nowhere, of those that match
		}
		if err := one(real, p); err != nil {
			return nil, err
		}
		if cp.parents || f.tree.Lookup(real).Kind != rootfs.Folder {
			continue
		}
		err = each(f.tree, real, func(q string) error {
			if left, err := cp.excluded(below(real, q)); left || err != nil {
				return err
			}
			return one(q, below(real, q))
		})
		if err != nil {
			return nil, err
		}
	}
	return inputs, nil
}

func (cp *copying) excluded(p string) (bool, error) {
	if cp.excludes == nil {
		return false, nil
	}
	return cp.excludes.MatchesOrParentMatches(p)
}

// copy writes one source.
func (cp *copying) copy(l *layer, it *item, o owner) error {
	t := it.files.tree
	if cp.parents {
		return cp.copyParents(l, it, o)
	}
	for _, p := range it.paths {
		real, err := resolve(t.Lookup, p, true)
		if err != nil {
			return err
		}
		e := t.Lookup(real)
		if e == nil {
			continue
		}
		if it.unpack {
			done, err := cp.unpack(l, it.files, e, o)
			if done || err != nil {
				return err
			}
		}
		if e.Kind == rootfs.Folder {
			to, err := cp.folderAt(l, it.files, e, o)
			if err == nil {
				err = cp.tree(l, it.files, real, to, o)
			}
			if err != nil {
				return err
			}
			continue
		}
		if left, err := cp.excluded(path.Base(p)); left || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		to, err := cp.fileAt(l, path.Base(p), len(it.paths) > 1, o)
		if err != nil {
			return err
		}
		if err := cp.put(l, it.files, e, to, o); err != nil {
			return err
		}
	}
	return nil
}

// fileAt is where a file goes: into the destination if that is a folder, or in its place.
func (cp *copying) fileAt(l *layer, name string, several bool, o owner) (string, error) {
	real, err := resolve(l.lookup, cp.dest, true)
	if err != nil {
		return "", err
	}
	if e := l.lookup(real); cp.isFolder || several || e != nil && e.Kind == rootfs.Folder {
		dir, err := l.folder(cp.dest, o)
		return strings.TrimPrefix(dir+"/"+name, "/"), err
	}
	dir, err := l.folder(path.Dir(cp.dest), o)
	return strings.TrimPrefix(dir+"/"+path.Base(cp.dest), "/"), err
}

// folderAt is the destination of what is in a folder. One that is not there becomes like that folder.
func (cp *copying) folderAt(l *layer, f *files, e *rootfs.Entry, o owner) (string, error) {
	real, err := resolve(l.lookup, cp.dest, true)
	if err != nil || real == "" || l.lookup(real) != nil {
		if err == nil {
			err = l.parents(real, o)
		}
		return real, err
	}
	if err := l.parents(strings.TrimPrefix(path.Dir("/"+real), "/"), o); err != nil {
		return "", err
	}
	return real, cp.put(l, f, e, real, o)
}

// tree copies what is in a folder into another one, which is there.
func (cp *copying) tree(l *layer, f *files, from, to string, o owner) error {
	linked := map[string]string{} // the first of the names of a file -> where it went
	return each(f.tree, from, func(p string) error {
		rel := below(from, p)
		if left, err := cp.excluded(rel); left || err != nil {
			return err
		}
		e := f.tree.Lookup(p)
		at := strings.TrimPrefix(to+"/"+rel, "/")
		if e.Kind == rootfs.File && f.tree.Links(p) > 1 {
			same := f.tree.Same(p)
			if first := linked[same]; first != "" {
				return l.put(&rootfs.Entry{Path: at, Kind: rootfs.File, First: first}, nil)
			}
			linked[same] = at
		}
		return cp.put(l, f, e, at, o)
	})
}

// copyParents copies names with the folders above them, below the pivot.
func (cp *copying) copyParents(l *layer, it *item, o owner) error {
	to, err := l.folder(cp.dest, o)
	if err != nil {
		return err
	}
	var put func(p string) error
	put = func(p string) error {
		at := strings.TrimPrefix(to+"/"+below(it.pivot, p), "/")
		if _, ok := l.made[at]; ok || p == it.pivot || p == "" {
			return nil
		}
		dir := path.Dir(p)
		if dir == "." {
			dir = ""
		}
		if err := put(dir); err != nil {
			return err
		}
		return cp.put(l, it.files, it.files.tree.Lookup(p), at, o)
	}
	for _, p := range it.paths {
		if left, err := cp.excluded(below(it.pivot, p)); err != nil {
			return err
		} else if left {
			continue
		}
		if err := put(p); err != nil {
			return err
		}
	}
	return nil
}

// put copies one name.
func (cp *copying) put(l *layer, f *files, e *rootfs.Entry, at string, o owner) error {
	n := *e
	n.Path, n.First = at, ""
	if !f.owned {
		n.UID, n.GID = 0, 0
	}
	if o.given {
		n.UID, n.GID = o.uid, o.gid
	}
	if cp.chmod != "" && n.Kind != rootfs.Symlink {
		mode, err := chmod(cp.chmod, n.Mode, n.Kind == rootfs.Folder)
		if err != nil {
			return err
		}
		n.Mode = mode
	}
	if there := l.lookup(at); there != nil && n.Kind == rootfs.Folder && there.Kind != rootfs.Folder {
		return &Error{Text: fmt.Sprintf("a folder cannot be copied to /%s, which is not a folder in the image", at),
			Remedy: "copy to the folder it links to, or use --link"}
	} else if there != nil && there.Kind == rootfs.Folder && n.Kind != rootfs.Folder {
		return &Error{Text: fmt.Sprintf("a file cannot be copied to /%s, which is a folder in the image", at)}
	}
	return l.put(&n, func() (io.ReadCloser, error) { return f.open(e) })
}

// chmod is a mode after a change, which is octal, or in the words of chmod(1).
func chmod(change string, was uint32, folder bool) (uint32, error) {
	if n, err := strconv.ParseUint(change, 8, 32); err == nil {
		if n > 0o7777 {
			return 0, &Error{Text: fmt.Sprintf("--chmod=%s is not a valid mode", change), Remedy: "write a mode such as 755 or u=rwX,go=rX"}
		}
		return uint32(n), nil
	}
	set, err := mode.Parse(change)
	if err != nil {
		return 0, &Error{Text: fmt.Sprintf("--chmod=%s is not a valid mode: %v", change, err), Remedy: "write a mode such as 755 or u=rwX,go=rX"}
	}
	m := os.FileMode(was & 0o777)
	if folder {
		m |= os.ModeDir
	}
	for bit, special := range specialBits {
		if was&bit != 0 {
			m |= special
		}
	}
	return permissions(set.Apply(m)), nil
}

// specialBits are those beside the permissions, as os has them.
var specialBits = map[uint32]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky}
