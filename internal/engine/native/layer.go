//go:build linux && amd64

package native

import (
	"fmt"
	"io"

	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
)

// Ended reports how a node's main process has ended.
func (w *World) Ended(node string) (code int, over bool) {
	w.do(func() {
		if i := w.nodeID(node); i >= 0 {
			s := &w.director.Nodes[i]
			code, over = s.ExitCode, s.Status == director.Ended
		}
	})
	return code, over
}

// Layer hands out what a node's programs have changed in its root. The caller's thread does it: the world's own may write nothing
// on this machine.
func (w *World) Layer(node string, change func(e rootfs.Entry, content io.Reader) error) error {
	i := w.nodeID(node)
	if i < 0 {
		return fmt.Errorf("there is no node %s", node)
	}
	return w.layer(w.kernel.Nodes[i], change)
}

var kinds = map[uint32]rootfs.Kind{fs.S_IFREG: rootfs.File, fs.S_IFDIR: rootfs.Folder, fs.S_IFLNK: rootfs.Symlink, fs.S_IFIFO: rootfs.FIFO}

func (w *World) layer(node *kernel.Node, change func(e rootfs.Entry, content io.Reader) error) error {
	env := w.kernel.TreeEnv(node)
	return node.FS.Upper(env, func(u *fs.Upper) error {
		if u.Whiteout {
			return change(rootfs.Entry{Path: u.Path, Kind: rootfs.Whiteout}, nil)
		}
		if u.Opaque {
			if err := change(rootfs.Entry{Path: u.Path, Kind: rootfs.Opaque}, nil); err != nil {
				return err
			}
		}
		in := u.Inode
		kind, ok := kinds[in.Mode&fs.S_IFMT]
		if !ok { // sockets, on which no program listens any more, and devices, which a world has of its own
			return nil
		}
		e := rootfs.Entry{Path: u.Path, Kind: kind, Mode: in.Mode & 0o7777, UID: in.UID, GID: in.GID, MtimeNs: in.MtimeNs, Target: u.Target, First: u.First}
		for _, x := range in.Xattrs {
			if e.Xattrs == nil {
				e.Xattrs = map[string]string{}
			}
			e.Xattrs[x.Name] = string(x.Value)
		}
		if kind != rootfs.File || u.First != "" {
			return change(e, nil)
		}
		e.Size = in.Size
		return change(e, &fileReader{state: node.FS, env: env, id: in.ID})
	})
}

// fileReader reads a file of a node.
type fileReader struct {
	state *fs.State
	env   *fs.Env
	id    fs.InodeID
	off   int64
}

func (r *fileReader) Read(p []byte) (int, error) {
	n, e := r.state.ReadAt(r.env, r.id, p, r.off)
	r.off += int64(n)
	switch {
	case e != errno.OK:
		return n, e
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}
