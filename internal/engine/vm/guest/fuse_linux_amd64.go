package guest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// The agent serves one file system by FUSE (linux/fuse.h, version 7.31): the trees of the engine, read-only, each below a folder
// treeName(i), and the files that programs of the world report to. The engine's trees stay as they are, so the kernel may keep all
// that it has read.

const fuseDir = "/fuse"

func treeName(tree int) string { return "t" + strconv.Itoa(tree) }

// Opcodes of FUSE.
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opReadlink    = 5
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatfs      = 17
	opRelease     = 18
	opFsync       = 20
	opInit        = 26
	opOpendir     = 27
	opReaddir     = 28
	opReleasedir  = 29
	opInterrupt   = 36
	opBatchForget = 42
)

const (
	fuseRoot     = 1
	forever      = 1 << 40 // seconds for which names and attributes hold
	maxReadBytes = 128 << 10
	inBytes      = 40 // of the header of a request
)

// sink is a file that programs report to.
type sink struct {
	name string
	kind string // of the notices
}

var sinks = []sink{{"report", wire.Reported}, {"sdk", wire.Told}, {"control", wire.Asked}}

// inode is a file that the kernel knows.
type inode struct {
	tree int // sinkTree: the file is sinks[sink]
	path string
	sink int
	attr wire.Attr
}

const sinkTree = -1

type fuse struct {
	fd     int
	bell   *bell
	inodes []inode // by node id
	known  map[string]uint64
	told   func(kind string, pid int, text []byte)
}

// mountFuse makes the file system, and serves it from now on.
func mountFuse(b *bell, told func(kind string, pid int, text []byte)) error {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/fuse: %w", err)
	}
	s := &fuse{fd: fd, bell: b, inodes: make([]inode, fuseRoot+1), known: map[string]uint64{}, told: told}
	s.inodes[fuseRoot] = inode{tree: sinkTree, sink: -1, attr: wire.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 1}}
	if err := os.MkdirAll(fuseDir, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("bloodhound", fuseDir, "fuse", unix.MS_NODEV|unix.MS_NOATIME,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions,max_read=%d", fd, maxReadBytes)); err != nil {
		return fmt.Errorf("mount -t fuse: %w", err)
	}
	go s.serve()
	return nil
}

func (s *fuse) serve() {
	buffer := make([]byte, 1<<20+unix.PathMax)
	for {
		n, err := unix.Read(s.fd, buffer)
		if err == unix.EINTR || err == unix.ENOENT { // an interrupted request
			continue
		}
		if err != nil {
			panic("fuse: " + err.Error())
		}
		in := buffer[:n]
		unique := binary.LittleEndian.Uint64(in[8:])
		body, errno, silent := s.answer(in)
		if silent {
			continue
		}
		reply := make([]byte, 16, 16+len(body))
		if errno != 0 {
			body = nil
		}
		binary.LittleEndian.PutUint32(reply, uint32(16+len(body)))
		binary.LittleEndian.PutUint32(reply[4:], uint32(-int32(errno)))
		binary.LittleEndian.PutUint64(reply[8:], unique)
		if _, err := unix.Write(s.fd, append(reply, body...)); err != nil && err != unix.ENOENT {
			panic(fmt.Sprintf("fuse: answer to %d: %v", binary.LittleEndian.Uint32(in[4:]), err))
		}
	}
}

func (s *fuse) answer(in []byte) (body []byte, errno unix.Errno, silent bool) {
	le := binary.LittleEndian
	op, id, pid, arg := le.Uint32(in[4:]), le.Uint64(in[16:]), int(le.Uint32(in[32:])), in[inBytes:]
	if op == opInit {
		return initReply(arg), 0, false
	}
	if op == opForget || op == opBatchForget || op == opInterrupt {
		return nil, 0, true
	}
	if id == 0 || id >= uint64(len(s.inodes)) {
		return nil, unix.ESTALE, false
	}
	n := &s.inodes[id]
	switch op {
	case opLookup:
		return s.lookup(id, string(arg[:max(bytes.IndexByte(arg, 0), 0)]))
	case opGetattr, opSetattr:
		if op == opSetattr && n.tree != sinkTree {
			return nil, unix.EROFS, false
		}
		reply := make([]byte, 16, 104)
		le.PutUint64(reply, forever)
		return appendAttr(reply, id, &n.attr), 0, false
	case opReadlink:
		return []byte(n.attr.Target), 0, false
	case opOpen:
		const directIO, keepCache, nonSeekable = 1, 2, 4
		flags := uint32(keepCache)
		if n.tree == sinkTree {
			flags = directIO | nonSeekable
		}
		reply := make([]byte, 16)
		le.PutUint32(reply[8:], flags)
		return reply, 0, false
	case opOpendir:
		const keepCache, cacheDir = 2, 8
		reply := make([]byte, 16)
		le.PutUint32(reply[8:], keepCache|cacheDir)
		return reply, 0, false
	case opRead:
		if n.tree == sinkTree {
			return nil, 0, false
		}
		reply := s.bell.ask(wire.Read, wire.FileRequest{Tree: n.tree, Path: n.path, Offset: int64(le.Uint64(arg[8:])),
			Size: int(le.Uint32(arg[16:]))}.Append(nil))
		return reply[4:], unix.Errno(le.Uint32(reply)), false
	case opWrite:
		if n.tree != sinkTree || n.sink < 0 {
			return nil, unix.EROFS, false
		}
		size := le.Uint32(arg[16:])
		s.told(sinks[n.sink].kind, pid, bytes.Clone(arg[40:40+size]))
		reply := make([]byte, 8)
		le.PutUint32(reply, size)
		return reply, 0, false
	case opReaddir:
		return s.readdir(n, int64(le.Uint64(arg[8:])), int(le.Uint32(arg[16:])))
	case opStatfs:
		reply := make([]byte, 80)
		for i, v := range []uint64{1 << 30, 1 << 29, 1 << 29, 1 << 20, 1 << 19} {
			le.PutUint64(reply[8*i:], v)
		}
		le.PutUint32(reply[40:], 4096)
		le.PutUint32(reply[44:], 255)
		le.PutUint32(reply[48:], 4096)
		return reply, 0, false
	case opRelease, opReleasedir, opFsync:
		return nil, 0, false
	}
	return nil, unix.ENOSYS, false
}

func initReply(arg []byte) []byte {
	le := binary.LittleEndian
	const asyncRead, bigWrites, parallelDirops, cacheSymlinks = 1 << 0, 1 << 5, 1 << 18, 1 << 23
	reply := make([]byte, 64)
	le.PutUint32(reply[0:], 7)
	le.PutUint32(reply[4:], 31)
	le.PutUint32(reply[8:], maxReadBytes)
	le.PutUint32(reply[12:], le.Uint32(arg[12:])&(asyncRead|bigWrites|parallelDirops|cacheSymlinks))
	le.PutUint16(reply[16:], 16)
	le.PutUint16(reply[18:], 12)
	le.PutUint32(reply[20:], maxReadBytes)
	le.PutUint32(reply[24:], 1)
	return reply
}

// lookup answers with the file of a name. That there is none holds forever, too.
func (s *fuse) lookup(dir uint64, name string) ([]byte, unix.Errno, bool) {
	reply := make([]byte, 40, 128)
	binary.LittleEndian.PutUint64(reply[16:], forever)
	binary.LittleEndian.PutUint64(reply[24:], forever)
	id, errno := s.find(dir, name)
	switch {
	case errno == unix.ENOENT && dir != fuseRoot:
		return appendAttr(reply, 0, &wire.Attr{}), 0, false
	case errno != 0:
		return nil, errno, false
	}
	binary.LittleEndian.PutUint64(reply, id)
	return appendAttr(reply, id, &s.inodes[id].attr), 0, false
}

func (s *fuse) find(dir uint64, name string) (uint64, unix.Errno) {
	key := strconv.FormatUint(dir, 10) + "/" + name
	if id, ok := s.known[key]; ok {
		return id, 0
	}
	n := inode{tree: s.inodes[dir].tree, path: name}
	if p := s.inodes[dir].path; p != "" {
		n.path = p + "/" + name
	}
	if dir == fuseRoot {
		n.path, n.sink = "", -1
		for i, k := range sinks {
			if k.name == name {
				n.sink, n.attr = i, wire.Attr{Mode: unix.S_IFREG | 0o666, Nlink: 1}
			}
		}
		if n.sink < 0 {
			tree, err := strconv.Atoi(strings.TrimPrefix(name, "t"))
			if err != nil || treeName(tree) != name {
				return 0, unix.ENOENT
			}
			n.tree = tree
		}
	}
	if n.tree != sinkTree {
		n.attr = wire.ParseAttr(s.bell.ask(wire.Stat, wire.FileRequest{Tree: n.tree, Path: n.path}.Append(nil)))
		if n.attr.Errno != 0 {
			return 0, unix.Errno(n.attr.Errno)
		}
	}
	id := uint64(len(s.inodes))
	s.inodes = append(s.inodes, n)
	s.known[key] = id
	return id, 0
}

func (s *fuse) readdir(n *inode, from int64, size int) (out []byte, errno unix.Errno, silent bool) {
	if n.tree == sinkTree {
		return nil, 0, false
	}
	e, names := wire.ParseNames(s.bell.ask(wire.List, wire.FileRequest{Tree: n.tree, Path: n.path, Offset: from}.Append(nil)))
	if e != 0 {
		return nil, unix.Errno(e), false
	}
	le := binary.LittleEndian
	for i, name := range names {
		const head = 24
		entry := make([]byte, (head+len(name.Name)+7)&^7)
		le.PutUint64(entry, uint64(from)+uint64(i)+fuseRoot+1) // d_ino: not 0, and no promise
		le.PutUint64(entry[8:], uint64(from)+uint64(i)+1)
		le.PutUint32(entry[16:], uint32(len(name.Name)))
		le.PutUint32(entry[20:], name.Mode>>12&0xf)
		copy(entry[head:], name.Name)
		if len(out)+len(entry) > size {
			break
		}
		out = append(out, entry...)
	}
	return out, 0, false
}

// appendAttr writes a struct fuse_attr.
func appendAttr(b []byte, id uint64, a *wire.Attr) []byte {
	le := binary.LittleEndian
	seconds, ns := uint64(a.MtimeNs/1e9), uint32(a.MtimeNs%1e9)
	for _, v := range []uint64{id, uint64(a.Size), uint64(a.Size+511) / 512, seconds, seconds, seconds} {
		b = le.AppendUint64(b, v)
	}
	for _, v := range []uint32{ns, ns, ns, a.Mode, a.Nlink, a.UID, a.GID, a.Rdev, 4096, 0} {
		b = le.AppendUint32(b, v)
	}
	return b
}
