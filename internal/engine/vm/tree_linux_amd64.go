package vm

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// tree is a folder, a file or an image that nodes see, read-only. It stays as it is while worlds run.
type tree struct {
	root    string       // of this machine
	machine bool         // the machine's own files, of which nodes do not see all
	image   *rootfs.Root // or nil
	empty   bool
	undated []string // files below have the date of the world's start
	startNs int64
	hidden  []string
	then    *filetree.Lookup // of the project's folder when the run was recorded
}

// stateFolder is where Bloodhound keeps what runs make: nodes see only its folder bin.
const stateFolder = ".bloodhound"

func errnoOf(err error) int {
	var e syscall.Errno
	if errors.As(err, &e) {
		return int(e)
	}
	return int(unix.EIO)
}

// hides reports whether nodes do not see a path of the machine.
func (t *tree) hides(full string) bool {
	if slices.Contains(t.hidden, full) || t.then.Later(full) {
		return true
	}
	dir, name := filepath.Split(full)
	if filepath.Base(dir) == stateFolder {
		return name != "bin"
	}
	if name != stateFolder {
		return false
	}
	programs, err := os.ReadDir(filepath.Join(full, "bin"))
	return err != nil || len(programs) == 0
}

// emptied reports whether a folder of the machine is empty on nodes, or lies in one that is.
func (t *tree) emptied(full string) bool {
	if !t.machine {
		return false
	}
	if _, ok := world.Emptied(full); ok {
		return true
	}
	return full == "/proc" || full == "/sys" || strings.HasPrefix(full, "/proc/") || strings.HasPrefix(full, "/sys/")
}

func (t *tree) full(p string) string {
	if p == "" {
		return t.root
	}
	return filepath.Join(t.root, p)
}

func (t *tree) stat(p string) (a wire.Attr) {
	switch {
	case t.empty && p == "":
		return wire.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 1, MtimeNs: t.startNs}
	case t.empty:
		return wire.Attr{Errno: int(unix.ENOENT)}
	case t.image != nil:
		return t.imageStat(p)
	}
	full := t.full(p)
	if p != "" && (t.hides(full) || t.emptied(path.Dir(full))) {
		return wire.Attr{Errno: int(unix.ENOENT)}
	}
	var st unix.Stat_t
	if err := unix.Lstat(full, &st); err != nil {
		return wire.Attr{Errno: errnoOf(err)}
	}
	a = wire.Attr{Mode: st.Mode, UID: st.Uid, GID: st.Gid, Size: st.Size, Nlink: 1, Rdev: uint32(st.Rdev), MtimeNs: t.dated(full, st.Mtim.Nano())}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFREG || kind == unix.S_IFDIR {
		if mode, known := t.then.Mode(full, kind == unix.S_IFDIR); known {
			a.Mode = kind | mode
		}
	}
	switch kind {
	case unix.S_IFLNK:
		target, err := os.Readlink(full)
		if err != nil {
			return wire.Attr{Errno: errnoOf(err)}
		}
		a.Target = target
	case unix.S_IFDIR:
		a.Size = wire.PageBytes // that of the machine depends on its file system
	}
	return a
}

func (t *tree) dated(full string, ns int64) int64 {
	for _, dir := range t.undated {
		if full == dir || strings.HasPrefix(full, strings.TrimSuffix(dir, "/")+"/") {
			return t.startNs
		}
	}
	return ns
}

func (t *tree) imageStat(p string) wire.Attr {
	e := t.image.Tree.Lookup(p)
	if e == nil {
		return wire.Attr{Errno: int(unix.ENOENT)}
	}
	a := wire.Attr{Mode: uint32(e.Mode), UID: uint32(e.UID), GID: uint32(e.GID), Size: e.Size,
		Nlink: uint32(t.image.Tree.Links(p)), Target: e.Target, MtimeNs: e.MtimeNs}
	switch e.Kind {
	case rootfs.Folder:
		a.Mode |= unix.S_IFDIR
	case rootfs.Symlink:
		a.Mode |= unix.S_IFLNK
		a.Size = int64(len(e.Target))
	case rootfs.FIFO:
		a.Mode |= unix.S_IFIFO
	default:
		a.Mode |= unix.S_IFREG
	}
	return a
}

func (t *tree) list(p string) (errno int, names []wire.Name) {
	switch {
	case t.empty:
		return 0, nil
	case t.image != nil:
		for _, name := range t.image.Tree.Names(p) {
			names = append(names, wire.Name{Mode: t.imageStat(path.Join(p, name)).Mode, Name: name})
		}
		return 0, names
	}
	full := t.full(p)
	if t.emptied(full) {
		return 0, nil
	}
	entries, err := os.ReadDir(full)
	if err != nil {
		return errnoOf(err), nil
	}
	for _, e := range entries { // which are sorted
		if !t.hides(filepath.Join(full, e.Name())) {
			names = append(names, wire.Name{Mode: kindOf(e.Type()), Name: e.Name()})
		}
	}
	return 0, names
}

func kindOf(m os.FileMode) uint32 {
	switch {
	case m.IsDir():
		return unix.S_IFDIR
	case m&os.ModeSymlink != 0:
		return unix.S_IFLNK
	case m&os.ModeNamedPipe != 0:
		return unix.S_IFIFO
	case m&os.ModeSocket != 0:
		return unix.S_IFSOCK
	case m&os.ModeCharDevice != 0:
		return unix.S_IFCHR
	case m&os.ModeDevice != 0:
		return unix.S_IFBLK
	}
	return unix.S_IFREG
}

// file is where the bytes of a path lie on this machine.
func (t *tree) file(p string) (name string, errno int) {
	if t.image == nil {
		return t.full(p), 0
	}
	e := t.image.Tree.Lookup(p)
	if e == nil || e.Digest == "" && e.Size > 0 {
		return "", int(unix.ENOENT)
	}
	if e.Size == 0 {
		return os.DevNull, 0
	}
	return t.image.File(e.Digest), 0
}

// opened are files of trees that are read: a file is read in many parts.
type opened struct {
	name string
	f    *os.File
}

const maxOpened = 32

// read reads a part of a file.
func (w *World) read(r wire.FileRequest) (errno int, b []byte) {
	t := w.tree(r.Tree)
	if t == nil {
		return int(unix.ENOENT), nil
	}
	name, errno := t.file(r.Path)
	if errno != 0 {
		return errno, nil
	}
	f, err := w.open(name)
	if err != nil {
		return errnoOf(err), nil
	}
	if t.image == nil {
		w.note(name)
	}
	b = make([]byte, min(r.Size, wire.WindowBytes-4))
	n, err := f.ReadAt(b, r.Offset)
	if err != nil && err != io.EOF {
		return errnoOf(err), nil
	}
	return 0, b[:n]
}

func (w *World) open(name string) (*os.File, error) {
	for i, o := range w.opened {
		if o.name == name {
			w.opened = append(slices.Delete(w.opened, i, i+1), o)
			return o.f, nil
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if len(w.opened) >= maxOpened {
		w.opened[0].f.Close()
		w.opened = slices.Delete(w.opened, 0, 1)
	}
	w.opened = append(w.opened, opened{name, f})
	return f, nil
}

func (w *World) tree(i int) *tree {
	if i < 0 || i >= len(w.trees) {
		return nil
	}
	return w.trees[i]
}
