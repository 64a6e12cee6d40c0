//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"path"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// Limits of what instrumented programs announce.
const (
	// MostEdges bounds the edges of a process (MOST of voidstar/voidstar.c): bits in its memory.
	MostEdges = 1 << 24
	// MostModules bounds the modules of a process that are read.
	MostModules = 1024
	// announcedHead is the size of struct module of voidstar/voidstar.c without the name.
	announcedHead = 40
	maxSymbolName = 4096
)

// edgesFile is where modules of edges announce themselves.
var edgesFile = Behaviour{
	Devices: []uint64{fs.DevEdges}, Seekable: true,
	Write: func(k *Kernel, t *Thread, _ *File, data []byte) Result { return announce(k, t, data) },
}

// announce takes an announcement, one a write. It looks names up in the node's tree whether a caller asks for edges or
// not: inodes are numbered as they are met.
func announce(k *Kernel, t *Thread, data []byte) Result {
	if len(data) < announcedHead || len(data) > announcedHead+maxSymbolName {
		return fail(unix.EINVAL)
	}
	le := binary.LittleEndian
	word := func(i int) uint64 { return le.Uint64(data[8*i:]) }
	a := kernel.Announced{Module: kernel.Module{Ran: word(0), First: word(1), Count: word(2)}, Symbols: string(data[announcedHead:]), FD: -1}
	if a.Count == 0 || a.First > MostEdges || a.Count > MostEdges && a.First < MostEdges {
		return fail(unix.EINVAL)
	}
	s := k.Spaces[k.Proc(t).Space]
	if guards := word(3); guards != 0 {
		if f := s.FileAt(word(4)); f != nil {
			base := f.Start
			for _, o := range s.Files {
				if o.File == f.File {
					base = min(base, o.Start)
				}
			}
			a.Path, a.FD, a.Guards = f.Path, fileOf(k, t, f.File), guards-base
		}
	} else {
		a.Path, a.FD = symbols(k, t, a.Symbols)
	}
	if k.Edges == nil {
		return Result(len(data))
	}
	a.Beyond = len(s.Modules) == MostModules
	if a.Counts = k.Edges(t, &a); a.Counts != 0 && !a.Beyond && a.First < MostEdges {
		s.Modules = append(s.Modules, a.Module)
	}
	return Result(len(data))
}

// symbols finds a file of symbols: in /symbols, where instrumented images have them, or beside the program.
func symbols(k *Kernel, t *Thread, name string) (file string, fd int) {
	if name == "" {
		return "", -1
	}
	places := []string{name}
	if !path.IsAbs(name) {
		dir := path.Dir(k.Proc(t).Path)
		places = []string{path.Join("/symbols", name), path.Join(dir, name), path.Join(dir, "symbols", name), path.Join(dir, "..", "symbols", name)}
	}
	for _, place := range places {
		id, f, e := findAs(k, t, env(k, t), unix.AT_FDCWD, place, 0)
		if e == 0 && f == nil && k.Node(t).FS.Get(id).Mode&unix.S_IFMT == unix.S_IFREG {
			return place, fileOf(k, t, id)
		}
	}
	return "", -1
}

// fileOf is the open file of this process that has an inode's bytes, or -1.
func fileOf(k *Kernel, t *Thread, id fs.InodeID) int {
	s := k.Node(t).FS
	if s.Inodes[id] == nil {
		return -1
	}
	c, e := s.Content(env(k, t), id, false)
	if e != errno.OK {
		return -1
	}
	fd, failed := fdOf(k, t, c)
	if failed != 0 {
		return -1
	}
	return fd
}
