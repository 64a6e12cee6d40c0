//go:build linux && amd64

package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
)

// maxOpenBase bounds how many base files a node's Base keeps open.
const maxOpenBase = 1024

// Layer is the source of a part of a node's tree: a folder or file of the machine, or the tree of an image, whose
// contents are files of the machine.
type Layer struct {
	Path string // absolute, for a folder or file
	// Ours is a program of the engine's: whoever has installed it, root owns it in a world, and everybody may execute it.
	Ours bool

	Image *rootfs.Root // nil for a folder or file
	Below string       // of an image: the folder that the layer begins at, "" for the whole image
}

// imagePath converts a path of the layer to the path in its image.
func (l *Layer) imagePath(path string) string {
	switch {
	case l.Below == "":
		return path
	case path == "":
		return l.Below
	}
	return l.Below + "/" + path
}

// Base is the lower layers of one node, read-only. Names are looked up without following any symlink, so nothing leads
// out of a layer; fs follows links by itself, inside the world.
type Base struct {
	layers []Layer
	roots  []int // descriptors of the layers, -1 for an image
	// hidden are the names that are not there, whatever the machine says.
	hidden map[baseFile]bool
	tops   []string         // of layers that are folders or files of the machine, without symlinks
	then   *filetree.Lookup // of the project's folder when the run was recorded
	open   map[baseFile]int
	order  []baseFile // of opening: the oldest is closed first
	lack   *Lack      // of the world that reads it now
	worlds int        // that read it: copies of one another
}

type baseFile struct {
	layer int
	path  string
}

// NewBase opens the layers of a node. What lies in a layer at one of the hidden paths, which are absolute, is not there for it; a
// layer of its own at such a path is. The same holds of what the project's folder did not have then, where that is known. A
// resource that the machine refuses is noted in lack, which may be nil.
func NewBase(layers []Layer, hidden []string, project string, then *filetree.Tree, lack *Lack) (*Base, error) {
	b := &Base{then: then.LookupAt(resolved(project)), worlds: 1, layers: layers, lack: lack, open: map[baseFile]int{}, hidden: map[baseFile]bool{}}
	for i, l := range layers {
		if l.Image != nil {
			b.roots = append(b.roots, -1)
			b.tops = append(b.tops, "")
			continue
		}
		top := resolved(l.Path)
		b.tops = append(b.tops, top)
		for _, h := range hidden {
			if below, ok := strings.CutPrefix(filepath.Join(resolved(filepath.Dir(h)), filepath.Base(h)), strings.TrimRight(top, "/")+"/"); ok {
				b.hidden[baseFile{i, below}] = true
			}
		}
		fd, err := unix.Open(l.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			b.Close()
			return nil, fmt.Errorf("cannot open %s: %w", l.Path, err)
		}
		b.roots = append(b.roots, fd)
	}
	return b, nil
}

// Paths are the layers that are folders or files of the machine.
func (b *Base) Paths() []string {
	var paths []string
	for i, l := range b.layers {
		if b.roots[i] >= 0 {
			paths = append(paths, l.Path)
		}
	}
	return paths
}

// resolved is a path without symlinks, or itself if it leads nowhere.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Hides reports whether a name is kept from the node.
func (b *Base) Hides(layer int, path string) bool {
	return b.hidden[baseFile{layer, path}] || b.roots[layer] >= 0 && path != "" && b.then.Later(filepath.Join(b.tops[layer], path))
}

// Later reports whether an absolute path of the machine is later than the folder of the project that the run was recorded with.
func (b *Base) Later(full string) bool { return b.then.Later(full) }

// openat opens a file below a layer's root and refuses to follow links (openat2(2)).
func (b *Base) openat(layer int, path string, flags uint64) (int, errno.Errno) {
	if l := &b.layers[layer]; l.Image != nil {
		e := l.Image.Tree.Lookup(l.imagePath(path))
		if e == nil {
			return -1, errno.ENOENT
		}
		if e.Kind != rootfs.File {
			return -1, errno.EACCES
		}
		fd, err := unix.Open(l.Image.File(e.Digest), int(flags)|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		return fd, number(err)
	}
	root := b.roots[layer]
	if path == "" {
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", root), int(flags)&^unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return fd, number(err)
	}
	fd, err := unix.Openat2(root, path,
		&unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	if err == unix.ENOSYS { // before Linux 5.6; fs has checked every element of the path
		fd, err = unix.Openat(root, path, int(flags)|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	return fd, number(err)
}

// Lstat reports what a name refers to.
func (b *Base) Lstat(layer int, path string) (fs.BaseAttr, errno.Errno) {
	if b.Hides(layer, path) {
		return fs.BaseAttr{}, errno.ENOENT
	}
	if l := &b.layers[layer]; l.Image != nil {
		return lstat(l.Image.Tree, l.imagePath(path))
	}
	var st unix.Stat_t
	err := unix.Fstatat(b.roots[layer], path, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	if err != nil {
		return fs.BaseAttr{}, number(err)
	}
	a := fs.BaseAttr{Mode: st.Mode, UID: int(st.Uid), GID: int(st.Gid), Size: st.Size, MtimeNs: st.Mtim.Nano(), Rdev: st.Rdev}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFREG || kind == unix.S_IFDIR {
		if mode, known := b.then.Mode(filepath.Join(b.tops[layer], path), kind == unix.S_IFDIR); known {
			a.Mode = kind | mode
		}
	}
	if b.layers[layer].Ours {
		a.Mode, a.UID, a.GID = unix.S_IFREG|0o755, 0, 0
	}
	return a, errno.OK
}

// types are the file types of an image's entries, as in inode(7).
var types = map[rootfs.Kind]uint32{rootfs.File: unix.S_IFREG, rootfs.Symlink: unix.S_IFLNK, rootfs.Folder: unix.S_IFDIR, rootfs.FIFO: unix.S_IFIFO}

// lstat reports what an image says of a name.
func lstat(t *rootfs.Tree, path string) (fs.BaseAttr, errno.Errno) {
	e := t.Lookup(path)
	if e == nil {
		return fs.BaseAttr{}, errno.ENOENT
	}
	a := fs.BaseAttr{Mode: types[e.Kind] | e.Mode, UID: e.UID, GID: e.GID, Size: e.Size, MtimeNs: e.MtimeNs}
	if e.Kind == rootfs.Symlink {
		a.Size = int64(len(e.Target))
	}
	if first := t.Same(path); first != path || t.Links(path) > 1 {
		a.Same, a.Nlink = first, t.Links(path)
	}
	return a, errno.OK
}

// Readlink reads a symlink.
func (b *Base) Readlink(layer int, path string) (string, errno.Errno) {
	if l := &b.layers[layer]; l.Image != nil {
		e := l.Image.Tree.Lookup(l.imagePath(path))
		switch {
		case e == nil:
			return "", errno.ENOENT
		case e.Kind != rootfs.Symlink:
			return "", errno.EINVAL
		}
		return e.Target, errno.OK
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(b.roots[layer], path, buf)
	if err != nil {
		return "", number(err)
	}
	return string(buf[:n]), errno.OK
}

// ReadDir lists a folder.
func (b *Base) ReadDir(layer int, path string) ([]string, errno.Errno) {
	if l := &b.layers[layer]; l.Image != nil {
		return l.Image.Tree.Names(l.imagePath(path)), errno.OK
	}
	fd, e := b.openat(layer, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if e != errno.OK {
		b.lack.note("open", e)
		return nil, e
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			return nil, number(err)
		}
		if n == 0 {
			return names, errno.OK
		}
		for p := buf[:n]; len(p) > 0; {
			size := binary.LittleEndian.Uint16(p[16:])
			name := p[unsafe.Offsetof(unix.Dirent{}.Name):size]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if s := string(name); s != "." && s != ".." && !b.Hides(layer, filepath.Join(path, s)) {
				names = append(names, s)
			}
			p = p[size:]
		}
	}
}

// FD opens a file for reading, mapping or executing. The descriptor stays open at least until maxOpenBase other
// files were opened.
func (b *Base) FD(layer int, path string) (int, errno.Errno) {
	key := baseFile{layer, path}
	if fd, ok := b.open[key]; ok {
		return fd, errno.OK
	}
	fd, e := b.openat(layer, path, unix.O_RDONLY)
	if e != errno.OK {
		b.lack.note("open", e)
		return -1, e
	}
	if len(b.order) >= maxOpenBase {
		unix.Close(b.open[b.order[0]])
		delete(b.open, b.order[0])
		b.order = append(b.order[:0], b.order[1:]...)
	}
	b.open[key] = fd
	b.order = append(b.order, key)
	return fd, errno.OK
}

// ReadAt reads from a file; with an empty p it only opens it.
func (b *Base) ReadAt(layer int, path string, p []byte, off int64) (int, errno.Errno) {
	fd, e := b.FD(layer, path)
	if e != errno.OK || len(p) == 0 {
		return 0, e
	}
	return count(unix.Pread(fd, p, off))
}

// Close closes everything.
func (b *Base) Close() {
	if b.worlds--; b.worlds > 0 {
		return
	}
	for _, fd := range b.open {
		unix.Close(fd)
	}
	for _, fd := range b.roots {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func count(n int, err error) (int, errno.Errno) {
	if err != nil {
		return 0, number(err)
	}
	return n, errno.OK
}

func number(err error) errno.Errno {
	if err != nil {
		return errno.Errno(err.(syscall.Errno))
	}
	return errno.OK
}
