//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// EnvOf is env for any identity; t may be nil, /proc and /sys are empty then.
func (k *Kernel) EnvOf(n *Node, t *Thread, c fs.Cred) *fs.Env {
	k.Caller, k.programs.node = t, n.ID
	k.tree.NowNs, k.tree.Cred, k.tree.Base, k.tree.Root = k.RealNs(n), c, k.Handles.Bases[n.ID], 0
	return &k.tree
}

// TreeEnv is the Env of a node's tree, for the world around the kernel.
func (k *Kernel) TreeEnv(n *Node) *fs.Env { return k.EnvOf(n, nil, fs.Cred{}) }

// WakeTreeWatchers wakes the threads that wait for what has happened in a node's tree.
func (k *Kernel) WakeTreeWatchers(n *Node) {
	k.notified(n)
	if k.Shared != nil { // what has happened there, others watch too
		for _, other := range k.Nodes {
			k.notified(other)
		}
	}
	if len(n.FS.Noticed) > 0 {
		for _, id := range n.FS.TakeNoticed() {
			k.Seen(net.FaultRef{Kind: fault.PowerLoss, ID: id})
		}
	}
	if len(n.FS.Gone) > 0 {
		for _, id := range n.FS.TakeGone() {
			k.Net.Forgotten(n.Net, int64(id))
		}
	}
}

// notified wakes those whose watches of a node's tree have events.
func (s *State) notified(n *Node) {
	if len(n.FS.Ready) > 0 {
		for _, id := range n.FS.TakeReady() {
			s.Wake(InotifyKey(n.ID, id), unix.EPOLLIN)
		}
	}
}

// DropCwd gives up a process' current folder.
func (k *Kernel) DropCwd(p *Proc) { k.dropFolder(p, &p.Cwd) }

// DropRoot gives up a process' root folder.
func (k *Kernel) DropRoot(p *Proc) { k.dropFolder(p, &p.Root) }

func (k *Kernel) dropFolder(p *Proc, held *fs.InodeID) {
	if *held != 0 {
		n := k.Nodes[p.Node]
		n.FS.Unref(k.TreeEnv(n), *held)
	}
	*held = 0
}

// releaseInode gives up what an open file holds of its inode.
func (k *Kernel) releaseInode(f *File) {
	n := k.Nodes[f.Node]
	if f.Kind != FilePath {
		n.FS.Close(f.Inode, f.Flags&unix.O_ACCMODE != unix.O_RDONLY)
	}
	flock := n.FS.DropFlock(f.Inode, f.ID)
	if n.FS.DropLock(f.Inode, fs.Lock{Owner: f.ID, OFD: true, Last: fs.ToEnd}) || flock {
		k.Wake(k.LockKey(f), AllEvents)
	}
	n.FS.Unref(k.TreeEnv(n), f.Inode)
	k.WakeTreeWatchers(n)
}
