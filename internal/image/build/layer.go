package build

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
)

// layer is the layer that a step writes.
type layer struct {
	*steps
	before *state
	ns     int64
	caches []cached
	out    *rootfs.LayerWriter
	made   map[string]rootfs.Kind // names that the layer has so far
	links  bool                   // --link: nothing of the tree below counts
}

// write lets change fill the layer and returns its diff id.
func (l *layer) write(change func(*layer) error) (string, error) {
	return l.Store.AddLayer(l.ctx, func(w *rootfs.LayerWriter) error {
		l.out, l.made = w, map[string]rootfs.Kind{}
		return change(l)
	})
}

// treeOf is the tree of a state that is done.
func (w *work) treeOf(s *state) (*rootfs.Tree, error) {
	if s.tree == nil {
		layers, err := w.layersOf(s)
		if err != nil {
			return nil, err
		}
		s.tree = rootfs.NewTree(layers...)
	}
	return s.tree, nil
}

func (w *work) layersOf(s *state) ([]*rootfs.Layer, error) {
	var layers []*rootfs.Layer
	for _, diff := range s.layers {
		l, err := w.Store.Layer(w.ctx, diff)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// maxLinks bounds the symlinks that are followed to one name, as Linux does (path_resolution(7)).
const maxLinks = 40

// resolve follows symlinks in a path of a tree, which never lead outside of the tree, and returns the real one, relative to the
// root. What is not there resolves to itself. The last element is followed only if last.
func resolve(lookup func(string) *rootfs.Entry, p string, last bool) (string, error) {
	rest := strings.Split(strings.Trim(path.Clean("/"+p), "/"), "/")
	at, links := "", 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		next := strings.TrimPrefix(at+"/"+name, "/")
		e := lookup(next)
		if e == nil || e.Kind != rootfs.Symlink || !last && len(rest) == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many links", p)
		}
		if path.IsAbs(e.Target) {
			at = ""
		}
		rest = append(strings.Split(e.Target, "/"), rest...)
	}
	return at, nil
}

// lookup finds a name in what is there so far.
func (l *layer) lookup(p string) *rootfs.Entry {
	if kind, ok := l.made[p]; ok {
		return &rootfs.Entry{Path: p, Kind: kind}
	}
	if l.links {
		return nil
	}
	tree, err := l.treeOf(l.before)
	if err != nil {
		return nil
	}
	return tree.Lookup(p)
}

// folder makes a folder and those above it where they are not there, and returns its real path.
func (l *layer) folder(p string, o owner) (string, error) {
	if _, err := l.treeOf(l.before); err != nil {
		return "", err
	}
	real, err := resolve(l.lookup, p, true)
	if err != nil {
		return "", err
	}
	return real, l.parents(real, o)
}

// parents makes a real path and the folders above it.
func (l *layer) parents(real string, o owner) error {
	if real == "" || real == "." {
		return nil
	}
	switch e := l.lookup(real); {
	case e != nil && e.Kind == rootfs.Folder:
		return nil
	case e != nil:
		return &Error{Text: fmt.Sprintf("/%s is not a folder in the image", real)}
	}
	dir := path.Dir(real)
	if dir == "." {
		dir = ""
	}
	if err := l.parents(dir, o); err != nil {
		return err
	}
	return l.put(&rootfs.Entry{Path: real, Kind: rootfs.Folder, Mode: 0o755, UID: o.uid, GID: o.gid, MtimeNs: l.ns}, nil)
}

// put adds an entry.
func (l *layer) put(e *rootfs.Entry, content func() (io.ReadCloser, error)) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	l.made[e.Path] = e.Kind
	l.ns = max(l.ns, e.MtimeNs)
	if e.Kind != rootfs.File || e.First != "" || e.Size == 0 {
		return l.out.Add(e, nil)
	}
	r, err := content()
	if err != nil {
		return err
	}
	defer r.Close()
	return l.out.Add(e, image.Until(l.ctx, r))
}

// owner is whom files belong to.
type owner struct {
	uid, gid int
	given    bool
}

// owner reads USER[:GROUP], names or numbers, as the files of the image know them.
func (s *steps) owner(text string) (owner, error) {
	if text == "" {
		return owner{}, nil
	}
	user, group, hasGroup := strings.Cut(text, ":")
	o := owner{given: true}
	if n, err := strconv.Atoi(user); err == nil {
		o.uid, o.gid = n, n
	} else if user != "" {
		f, err := s.account("etc/passwd", user, 4)
		if err != nil {
			return o, err
		}
		if o.uid, err = strconv.Atoi(f[2]); err == nil {
			o.gid, err = strconv.Atoi(f[3])
		}
		if err != nil {
			return o, &Error{Text: fmt.Sprintf("the image's /etc/passwd has no numeric ids for %s", user)}
		}
	}
	if hasGroup && group != "" {
		if n, err := strconv.Atoi(group); err == nil {
			o.gid = n
			return o, nil
		}
		f, err := s.account("etc/group", group, 3)
		if err != nil {
			return o, err
		}
		if o.gid, err = strconv.Atoi(f[2]); err != nil {
			return o, &Error{Text: fmt.Sprintf("the image's /etc/group has no numeric id for %s", group)}
		}
	}
	return o, nil
}

// maxAccountsBytes bounds /etc/passwd and /etc/group.
const maxAccountsBytes = 16 << 20

// account finds the fields of a name in a file of accounts, of which there are so many at least.
func (s *steps) account(file, name string, fields int) ([]string, error) {
	tree, err := s.treeOf(s.state)
	if err != nil {
		return nil, err
	}
	missing := &Error{Text: fmt.Sprintf("the image's /%s has no %q", file, name), Remedy: "create it in an earlier RUN, or use a number"}
	real, err := resolve(tree.Lookup, file, true)
	if err != nil {
		return nil, err
	}
	e := tree.Lookup(real)
	if e == nil || e.Kind != rootfs.File {
		return nil, missing
	}
	f, err := os.Open(s.Store.File(e.Digest))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAccountsBytes))
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if f := strings.Split(lines.Text(), ":"); len(f) >= fields && f[0] == name {
			return f, nil
		}
	}
	return nil, missing
}
