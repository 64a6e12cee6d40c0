//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"golang.org/x/sys/unix"
)

// mapsToWrite reports whether a program of a node maps a blob shared and writable.
func mapsToWrite(k *Kernel, node kernel.NodeID, blob int64) bool {
	for _, id := range k.Nodes[node].Procs {
		p := k.Procs[id]
		if p.Zombie || !slices.ContainsFunc(k.Spaces[p.Space].Regions,
			func(r kernel.Region) bool { return r.Object.Kind == kernel.KeyBlob && r.Object.ID == blob }) {
			continue
		}
		for line := range strings.Lines(k.M.Maps(p.Threads[0])) {
			if m, ok := machine.ParseMap(line); ok && m.Shared && m.Writable && m.Blob == blob {
				return true
			}
		}
	}
	return false
}

const maxRegions = 1 << 16

func addRegion(k *Kernel, t *Thread, r kernel.Region) {
	s := k.Spaces[k.Proc(t).Space]
	s.Regions = slices.DeleteFunc(s.Regions, func(o kernel.Region) bool { return o.Start >= r.Start && o.Start+o.Size <= r.Start+r.Size })
	if len(s.Regions) < maxRegions {
		s.Regions = append(s.Regions, r)
	}
}

// addFile notes that a file was mapped.
func addFile(k *Kernel, node kernel.NodeID, s *kernel.Space, f kernel.FileMap) {
	s.Files = slices.DeleteFunc(s.Files, func(o kernel.FileMap) bool { return o.Start >= f.Start && o.End <= f.End })
	if len(s.Files) < maxRegions {
		tree := k.Nodes[node].FS
		f.Dev, f.Path = tree.Stat(f.File).Dev, nameOf(tree, f.File)
		s.Files = append(s.Files, f)
	}
}

// addPrograms notes what execve has mapped: the files of a program and of its interpreter, which may be none.
func addPrograms(k *Kernel, t *Thread, s *kernel.Space, programs ...program) {
	names := make([]string, len(programs))
	for i, exe := range programs {
		fd := exe.fd
		if exe.code != nil {
			fd = exe.code.FD()
		}
		if exe.file != 0 {
			names[i] = k.M.RealName(fd)
		}
	}
	for line := range strings.Lines(k.M.Maps(t.ID)) {
		m, ok := machine.ParseMap(line)
		if !ok || m.Start > machine.LastAddress || machine.Reserved(m.Start, m.End-m.Start) {
			continue
		}
		i := slices.Index(names, m.Name)
		if m.Name == "" {
			i = -1
		}
		if i >= 0 {
			addFile(k, t.Node, s, kernel.FileMap{Start: m.Start, End: m.End, File: programs[i].file, Real: m.Name})
		}
		switch {
		case !m.Executable:
		case i < 0: // such as the stack
			madeCode(k, t, m.Start, m.End-m.Start, m.Writable)
		default:
			changes := k.Nodes[t.Node].FS.Get(programs[i].file).Blob != 0
			if changes {
				k.M.MapWritten(t.ID, m.Start, m.End-m.Start, true)
			}
			mapCode(k, t, programs[i].fd, changes, m.Writable, m.Start, m.End-m.Start, m.Offset)
		}
	}
}

// mapCode has a thread trap at instructions whose results no run repeats, in a part of a file that it has mapped. changes says that
// the world writes to the file, writable that the program may write to the map.
func mapCode(k *Kernel, t *Thread, fd int, changes, writable bool, addr, size, offset uint64) {
	name, rest := k.M.TrapChance(t.ID, fd, changes, addr, size, offset)
	cannotTrap(k, t, name)
	for _, r := range rest {
		madeCode(k, t, r.From, r.To-r.From, writable)
	}
	if changes || writable {
		madeCode(k, t, addr, size, true)
	}
}

// cannotTrap takes the name of an instruction at which no breakpoint could be put, "" for none.
func cannotTrap(k *Kernel, t *Thread, name string) {
	if name != "" {
		k.Unrepeatable("%s maps code that may execute %s where it cannot be trapped", k.Proc(t).Path, name)
	}
}

// maxMadeAtOnce bounds the code that is looked through as it is made executable, which some programs do again and again. What is larger
// is looked through at the end alone.
const maxMadeAtOnce = 4 << 20

// madeCode notes that a program may execute what was not looked through as it was mapped. Code that the program cannot write to is there already.
func madeCode(k *Kernel, t *Thread, addr, size uint64, later bool) {
	k.Spaces[k.Proc(t).Space].Made = true
	if later || size > maxMadeAtOnce || k.Unsafe != "" {
		return
	}
	name, tooMuch := k.M.MadeChance(t.ID, addr, addr+(size+4095)&^4095)
	k.MadeUnsafe(t, name, tooMuch)
}

// newSpace makes an address space in which the program of a file runs.
func newSpace(k *Kernel, node kernel.NodeID, exe fs.InodeID) *kernel.Space {
	s := &kernel.Space{ID: k.NewID("space"), Node: node, Refs: 1, Exe: exe, ExecNs: k.Now}
	if exe != 0 {
		k.Nodes[node].FS.Ref(exe)
	}
	k.Spaces[s.ID] = s
	return s
}

func copySpace(k *Kernel, id kernel.SpaceID) kernel.SpaceID {
	old := k.Spaces[id]
	c := newSpace(k, old.Node, old.Exe)
	c.Modules = slices.Clone(old.Modules)
	c.Counts, c.ExecNs, c.Break, c.Regions, c.Files = old.Counts, old.ExecNs, old.Break, slices.Clone(old.Regions), slices.Clone(old.Files)
	c.Bars = slices.Clone(old.Bars)
	c.Made, c.Unforked = old.Made, old.Unforked
	for _, r := range c.Regions {
		if seg := k.Segs[r.Seg]; seg != nil {
			seg.Attach++
		}
	}
	return c.ID
}

// sysMmap sees maps of files and shared maps; private anonymous ones come here only from nodes that may lack memory.
func sysMmap(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, size, prot, flags := args[0].Pointer(), args[1].Size(), args[2].Uint64(), args[3].Uint64()
	fd, offset := args[4].Int(), args[5].Int64()
	if size == 0 || offset%4096 != 0 {
		return fail(unix.EINVAL)
	}
	switch {
	case !machine.Reserved(addr, (size+4095)&^4095):
	case flags&unix.MAP_FIXED_NOREPLACE != 0:
		return fail(unix.EEXIST)
	case flags&unix.MAP_FIXED != 0:
		return refuseReserved(k, t)
	}
	var f *File
	if flags&unix.MAP_ANONYMOUS == 0 {
		if f = k.File(t, fd); f == nil || f.Kind == kernel.FilePath {
			return fail(unix.EBADF)
		}
	}
	if f == nil || f.Kind == kernel.FileZero { // a map of /dev/zero belongs to no file
		return mapAnonymous(k, t, f != nil, size, prot, flags)
	}
	return mapFile(k, t, f, size, prot, flags, offset)
}

// mapAnonymous maps memory that belongs to no file; zero says that it was asked of /dev/zero.
func mapAnonymous(k *Kernel, t *Thread, zero bool, size, prot, flags uint64) Result {
	addr := t.Call.Args[0].Pointer()
	if prot&unix.PROT_WRITE != 0 {
		if r, starved := starved(k, t, fail(unix.ENOMEM)); starved {
			return r
		}
	}
	switch {
	case flags&unix.MAP_HUGETLB != 0: // the machine's, if it has any
		return fail(unix.ENOMEM)
	case flags&0xf == unix.MAP_PRIVATE:
		if prot&unix.PROT_EXEC == 0 && !zero && flags&machine.Populating == 0 {
			return kernel.Passed
		}
		r := Result(k.M.Execute(t.ID, unix.SYS_MMAP, addr, size, prot, flags&^machine.Populating|unix.MAP_ANONYMOUS, ^uint64(0), 0))
		if r >= 0 && prot&unix.PROT_EXEC != 0 {
			madeCode(k, t, uint64(r), size, true)
		}
		return populateMap(k, t, r, size, prot, flags)
	case flags&0xf != unix.MAP_SHARED:
		return fail(unix.EINVAL)
	}
	return mapShared(k, t, size, prot, flags)
}

// mapShared maps memory that processes share: an unnamed file of the engine.
func mapShared(k *Kernel, t *Thread, size, prot, flags uint64) Result {
	addr := t.Call.Args[0].Pointer()
	id := fs.BlobID(k.NewID("blob"))
	if e := k.Handles.Blobs.Create(id); e != 0 {
		return failure(e)
	}
	defer k.Handles.Blobs.Free(id) // the map keeps it
	if e := k.Handles.Blobs.Truncate(id, int64((size+4095)&^4095)); e != 0 {
		return failure(e)
	}
	r := mapFD(k, t, k.Handles.Blobs.FD(id), addr, size, prot, flags&^unix.MAP_ANONYMOUS, 0, true)
	if r > 0 || r == 0 && flags&unix.MAP_FIXED != 0 {
		addRegion(k, t, kernel.Region{Start: uint64(r), Size: (size + 4095) &^ 4095, Object: Key{Kind: kernel.KeyBlob, ID: int64(id)}, Anon: true})
		if prot&unix.PROT_EXEC != 0 {
			madeCode(k, t, uint64(r), size, true)
			k.M.MapWritten(t.ID, uint64(r), size, true)
		}
	}
	return populateMap(k, t, r, size, prot, flags)
}

func mapFile(k *Kernel, t *Thread, f *File, size, prot, flags uint64, offset int64) Result {
	addr := t.Call.Args[0].Pointer()
	mode := f.Flags & unix.O_ACCMODE
	shared := flags&0xf == unix.MAP_SHARED || flags&0xf == 3 // MAP_SHARED_VALIDATE
	switch {
	case flags&0xf == 0:
		return fail(unix.EINVAL)
	case f.Kind != kernel.FileInode:
		return fail(unix.ENODEV)
	case mode == unix.O_WRONLY, shared && prot&unix.PROT_WRITE != 0 && mode == unix.O_RDONLY:
		return fail(unix.EACCES)
	}
	fd, object, e := mapping(k, t, f, shared && mode == unix.O_RDWR)
	if e != 0 {
		return fail(e)
	}
	var watched machine.Code
	chanceFD := fd // before breakpoints of another kind are in it
	if k.Code != nil && prot&unix.PROT_EXEC != 0 && prot&unix.PROT_WRITE == 0 && !shared && object.Kind == kernel.KeyBase {
		name := nameOf(k.Node(t).FS, f.Inode)
		if watched, _ = k.Code(t, name, name, fd, true); watched != nil {
			fd = watched.FD()
		}
	}
	r := mapFD(k, t, fd, addr, size, prot, flags, uint64(offset), shared && mode == unix.O_RDWR)
	if r >= 0 && watched != nil {
		k.M.MapCode(t.ID, watched, uint64(r), (size+4095)&^4095, uint64(offset))
	}
	if r >= 0 && prot&unix.PROT_EXEC != 0 {
		changes := object.Kind != kernel.KeyBase
		mapCode(k, t, chanceFD, changes, prot&unix.PROT_WRITE != 0, uint64(r), (size+4095)&^4095, uint64(offset))
	}
	if r >= 0 && object.Kind == kernel.KeyBlob && (shared || prot&unix.PROT_EXEC != 0) {
		k.M.MapWritten(t.ID, uint64(r), size, prot&unix.PROT_EXEC != 0)
	}
	if r >= 0 {
		addFile(k, t.Node, k.Spaces[k.Proc(t).Space], kernel.FileMap{
			Start: uint64(r), End: uint64(r) + (size+4095)&^4095, File: f.Inode, Real: k.M.RealName(fd), Object: object,
			Description: f.ID, SyncErrors: f.SyncErrors, ReadOnly: mode == unix.O_RDONLY})
	}
	if r >= 0 && shared && prot&unix.PROT_WRITE != 0 {
		t.Call.Act = moments.Map
	}
	if r >= 0 && shared {
		if e := noteShared(k, t, f, object, uint64(r), (size+4095)&^4095, prot); e != 0 {
			return fail(e)
		}
		addRegion(k, t, kernel.Region{Start: uint64(r), Size: (size + 4095) &^ 4095, Object: object})
	}
	if r >= 0 && prot&unix.PROT_READ != 0 { // it will be read, where the engine does not see it
		recovers(k, t, f)
		if shared {
			k.Node(t).FS.LookAt(f.Inode, offset, offset+int64(size))
		}
	}
	return populateMap(k, t, r, size, prot, flags)
}

// noteShared notes a shared map of a file.
func noteShared(k *Kernel, t *Thread, f *File, object Key, addr, size, prot uint64) unix.Errno {
	tree := k.Node(t).FS
	if object.Kind != kernel.KeyBlob || !tree.Lasting(f.Inode) {
		return 0
	}
	tree.NoteShared(f.Inode)
	if f.Flags&unix.O_ACCMODE == unix.O_RDWR {
		if prot&unix.PROT_WRITE == 0 {
			k.M.Watch(t.ID, addr, addr+size) // mprotect may make it writable
		} else if e := tree.Storable(env(k, t), f.Inode); e != errno.OK {
			return unix.Errno(e)
		}
	}
	if k.Node(t).ReadsHarmed {
		tree.Evict(env(k, t), f.Inode)
	}
	if tree.Full != 0 || k.Node(t).ReadsHarmed {
		bar(k, t)
	}
	return 0
}

// mapFD maps one of the engine's own files into a thread's process.
func mapFD(k *Kernel, t *Thread, fd int, addr, size, prot, flags, offset uint64, writable bool) Result {
	r := k.M.OpenFD(t.ID, fd, writable)
	if r < 0 {
		return Result(r)
	}
	v := k.M.Execute(t.ID, unix.SYS_MMAP, addr, size, prot, flags&^(unix.MAP_DENYWRITE|unix.MAP_EXECUTABLE|machine.Populating), uint64(r), offset)
	k.M.Execute(t.ID, unix.SYS_CLOSE, uint64(r))
	return Result(v)
}

// reserved refuses what touches the engine's own pages. The errno is that of sealed memory (mseal(2)).
func reserved(k *Kernel, t *Thread, addr, size uint64) (Result, bool) {
	if !machine.Reserved(addr, (size+4095)&^4095) {
		return 0, false
	}
	return refuseReserved(k, t), true
}

func refuseReserved(k *Kernel, t *Thread) Result {
	return k.Refuse(t, CallName(t.Call.Nr)+"(the engine's pages)", unix.EPERM)
}

// sysMunmap sees what ends above the place of all that the kernel has chosen a place for.
func sysMunmap(k *Kernel, t *Thread) Result {
	addr, size := t.Call.Args[0].Pointer(), t.Call.Args[1].Size()
	if r, reserved := reserved(k, t, addr, size); reserved {
		return r
	}
	return Result(k.M.Native(t.ID))
}

// Kinds of advice that x/sys does not know (asm-generic/mman-common.h).
const madvSoftOffline = 101

// sysMadvise sees advice that the real kernel is not asked for, and advice on what lies where the engine's pages are.
func sysMadvise(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, length, advice := args[0].Pointer(), args[1].Size(), args[2].Uint64()
	if size := (length + 4095) &^ 4095; addr%4096 != 0 || size < length || addr+size < addr {
		return fail(unix.EINVAL)
	}
	if r, reserved := reserved(k, t, addr, length); reserved {
		return r
	}
	switch int(advice) {
	case unix.MADV_FREE, unix.MADV_DONTNEED: // What the former does depends on the machine's memory; the latter is one legal outcome.
		r := k.M.Execute(t.ID, unix.SYS_MADVISE, addr, length, unix.MADV_DONTNEED)
		cannotTrap(k, t, k.M.TrapAgain(t.ID, addr, length)) // Linux drops pages before the first that it cannot, too
		return Result(r)
	case unix.MADV_MERGEABLE, unix.MADV_UNMERGEABLE: // pages are never merged: other worlds would see how long a write takes
		return 0
	case unix.MADV_HWPOISON, madvSoftOffline:
		return fail(unix.EPERM)
	case unix.MADV_POPULATE_READ, unix.MADV_POPULATE_WRITE:
		return populate(k, t, addr, length, advice)
	}
	if machine.Advised(uint32(advice)) {
		if slices.Contains(machine.ForkAdvice, uint32(advice)) {
			k.Spaces[k.Proc(t).Space].Unforked = true
		}
		return Result(k.M.Native(t.ID))
	}
	return fail(unix.EINVAL)
}

// sysArchPrctl sees all but questions for the bases of FS and GS: the answer of the real kernel, or its change, differs from machine
// to machine.
func sysArchPrctl(k *Kernel, t *Thread) Result { return fail(unix.EINVAL) }

// sysMsync makes the files durable that are mapped in a range, those parts of them. As on Linux, a part of the
// range that is not mapped is an error after the others were written, and a file whose synchronisation fails ends
// the call.
func sysMsync(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, size, flags := args[0].Pointer(), args[1].Size(), args[2].Uint64()
	if addr%4096 != 0 || flags&^7 != 0 || flags&5 == 5 {
		return fail(unix.EINVAL)
	}
	// The real kernel knows what is mapped. It is asked beside the call, since a call that waits for the disk begins again.
	r := Result(k.M.Execute(t.ID, unix.SYS_MSYNC, addr, size, flags))
	if flags&unix.MS_SYNC == 0 || r < 0 && r != fail(unix.ENOMEM) {
		return r
	}
	if !written(k, t, nil) {
		return awaitDisk(k, t)
	}
	if failed := syncMapped(k, t, addr, addr+(size+4095)&^4095); failed != 0 {
		return failed
	}
	return r
}

// syncMapped makes what is mapped between two addresses durable. munmap and mremap pass the engine by, so it asks
// the real map, which names the bytes.
func syncMapped(k *Kernel, t *Thread, from, to uint64) Result {
	tree, space := k.Node(t).FS, k.Spaces[k.Proc(t).Space]
	if len(tree.ByBlob) == 0 {
		return 0
	}
	for line := range strings.Lines(k.M.Maps(t.ID)) {
		m, ok := machine.ParseMap(line)
		if !ok || !m.Shared || m.End <= from || m.Start >= to || m.Blob == 0 {
			continue
		}
		id := tree.FileOf(fs.BlobID(m.Blob))
		f := space.Mapped(&m)
		if id == 0 || f != nil && f.ReadOnly {
			continue
		}
		start, end := max(m.Start, from)-m.Start+m.Offset, min(m.End, to)-m.Start+m.Offset
		if r := syncPart(k, t, f, id, int64(start), int64(end)); r != 0 {
			return r
		}
	}
	return 0
}

// syncPart makes a part of a file durable by a map, of which f may be nil if it is not noted. It fails as fsync
// does (sync): the error goes to the description that was mapped, once, whether or not it is still open.
func syncPart(k *Kernel, t *Thread, f *kernel.FileMap, id fs.InodeID, from, to int64) Result {
	tree := k.Node(t).FS
	before := tree.Get(id).SyncErrors
	seen := &before
	if f != nil {
		seen = &f.SyncErrors
		if open := k.Files[f.Description]; open != nil {
			seen = &open.SyncErrors
		}
	}
	if tree.Unwritten(env(k, t), id, from, to) && harm(k, t, id, fault.Sync, from, 0).Kind != "" {
		if e := tree.FailRange(env(k, t), id, from, to); e != errno.OK {
			return failure(e)
		}
	} else if e := tree.SyncRange(env(k, t), id, from, to); e != errno.OK {
		return failure(e)
	}
	if n := tree.Get(id).SyncErrors; n != *seen {
		*seen = n
		return fail(unix.EIO)
	}
	return 0
}

// sysMincore says that all pages are in memory: which ones really are depends on the machine.
func sysMincore(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, size, vecAddr := args[0].Pointer(), args[1].Size(), args[2].Pointer()
	pages := (size + 4095) / 4096
	if addr%4096 != 0 || pages > 1<<24 {
		return fail(unix.EINVAL)
	}
	b := make([]byte, pages)
	if !k.Peek(t, vecAddr, b) {
		return fail(unix.EFAULT)
	}
	if r := k.M.Native(t.ID); r < 0 { // it has reported pages before the first that is not mapped
		k.Poke(t, vecAddr, b)
		return Result(r)
	}
	for i := range b {
		b[i] = 1
	}
	return stored(k.Out(t, vecAddr, b))
}

func sysZero(k *Kernel, t *Thread) Result { return 0 }

func sysShmget(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	key, size, flags := int64(args[0].Int()), args[1].Int64(), int(args[2].Int64())
	p := k.Proc(t)
	if key != 0 {
		for _, id := range slices.Sorted(maps.Keys(k.Segs)) {
			s := k.Segs[id]
			if s.Node != t.Node || s.Key != key || s.Removed {
				continue
			}
			if flags&unix.IPC_CREAT != 0 && flags&unix.IPC_EXCL != 0 {
				return fail(unix.EEXIST)
			}
			if size > s.Size {
				return fail(unix.EINVAL)
			}
			return Result(s.ID)
		}
		if flags&unix.IPC_CREAT == 0 {
			return fail(unix.ENOENT)
		}
	}
	limits := ipcLimits(k, t)
	if size <= 0 || size > limits.ShmBytes {
		return fail(unix.EINVAL)
	}
	pages := func(size int64) int64 { return (size-1)/4096 + 1 }
	segments, used := held(t.Node, k.Segs, func(s *kernel.ShmSegment) (kernel.NodeID, int64) { return s.Node, pages(s.Size) })
	if segments >= limits.ShmSegments || used+pages(size) > limits.ShmPages {
		return fail(unix.ENOSPC)
	}
	blob := fs.BlobID(k.NewID("blob"))
	if e := k.Handles.Blobs.Create(blob); e != 0 {
		return failure(e)
	}
	if e := k.Handles.Blobs.Truncate(blob, (size+4095)&^4095); e != 0 {
		return failure(e)
	}
	s := &kernel.ShmSegment{ID: k.NewID("shm"), Node: t.Node, Key: key, Blob: int64(blob), Size: size,
		Mode: uint32(flags & 0o777), UID: p.Cred.EUID, GID: p.Cred.EGID,
		Creator: p.PID, CtNs: k.RealNs(k.Node(t))}
	k.Segs[s.ID] = s
	return Result(s.ID)
}

func sysShmat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	shmid, addr, flags := int64(args[0].Int()), args[1].Pointer(), args[2].Uint64()
	s := k.Segs[shmid]
	if s == nil || s.Node != t.Node {
		return fail(unix.EINVAL)
	}
	prot, mapFlags, want := uint64(unix.PROT_READ|unix.PROT_WRITE), uint64(unix.MAP_SHARED), uint32(6)
	if flags&0o10000 != 0 { // SHM_RDONLY
		prot, want = unix.PROT_READ, 4
	}
	if !s.Permissions().Allows(k.Proc(t), want) {
		return fail(unix.EACCES)
	}
	if addr != 0 {
		if flags&0o20000 != 0 { // SHM_RND
			addr &^= 4095
		}
		if addr%4096 != 0 {
			return fail(unix.EINVAL)
		}
		mapFlags |= 0x100000    // MAP_FIXED_NOREPLACE
		if flags&0o40000 != 0 { // SHM_REMAP
			mapFlags = unix.MAP_SHARED | unix.MAP_FIXED
		}
	}
	size := uint64(s.Size+4095) &^ 4095
	if addr != 0 {
		if r, reserved := reserved(k, t, addr, size); reserved {
			return r
		}
	}
	r := mapFD(k, t, k.Handles.Blobs.FD(fs.BlobID(s.Blob)), addr, size, prot, mapFlags, 0, true)
	switch {
	case r == -Result(unix.EEXIST): // what is mapped already is replaced with SHM_REMAP alone
		return fail(unix.EINVAL)
	case r < 0:
		return r
	}
	k.M.MapWritten(t.ID, uint64(r), size, false)
	s.Attach++
	s.Last, s.AtNs = k.Proc(t).PID, k.RealNs(k.Node(t))
	addRegion(k, t, kernel.Region{Start: uint64(r), Size: size, Object: Key{Kind: kernel.KeyBlob, ID: s.Blob}, Seg: s.ID})
	return r
}

func sysShmdt(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	space := k.Spaces[k.Proc(t).Space]
	for i, r := range space.Regions {
		if r.Seg != 0 && r.Start == addr {
			k.M.Execute(t.ID, unix.SYS_MUNMAP, r.Start, r.Size)
			space.Regions = slices.Delete(space.Regions, i, i+1)
			if s := k.Segs[r.Seg]; s != nil {
				s.Last, s.DtNs = k.Proc(t).PID, k.RealNs(k.Node(t))
				k.Detach(s)
			}
			return 0
		}
	}
	return fail(unix.EINVAL)
}

func sysShmctl(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	shmid, cmd, addr := args[0].Int(), args[1].Int(), args[2].Pointer()
	s, done := k.Segs[int64(shmid)], Result(0)
	cmd &^= 0x100
	switch cmd {
	case ipcInfo, shmInfo:
		return shmLimits(k, t, cmd, addr)
	case shmStat, shmStatAny:
		id, ok := idAt(segments(k, t.Node), shmid)
		if !ok {
			return fail(unix.EINVAL)
		}
		s, done = k.Segs[id], Result(id)
	}
	if s == nil || s.Node != t.Node {
		return fail(unix.EINVAL)
	}
	switch perm, p := s.Permissions(), k.Proc(t); cmd {
	case unix.IPC_RMID, unix.IPC_SET:
		if !perm.Owns(p) {
			return fail(unix.EPERM)
		}
	case unix.IPC_STAT, shmStat:
		if !perm.Allows(p, 4) {
			return fail(unix.EACCES)
		}
	}
	switch cmd {
	case 0: // IPC_RMID
		s.Removed, s.Key = true, 0
		s.Attach++
		k.Detach(s)
		return 0
	case 1: // IPC_SET
		return 0
	case unix.IPC_STAT, shmStat, shmStatAny:
		var b [112]byte // struct shmid_ds
		le := binary.LittleEndian
		le.PutUint32(b[0:], uint32(s.Key))
		le.PutUint32(b[4:], uint32(s.UID))
		le.PutUint32(b[8:], uint32(s.GID))
		le.PutUint32(b[12:], uint32(s.UID))
		le.PutUint32(b[16:], uint32(s.GID))
		mode := s.Mode
		if s.Removed {
			mode |= 0o1000 // SHM_DEST
		}
		le.PutUint32(b[20:], mode)
		le.PutUint64(b[48:], uint64(s.Size))
		le.PutUint64(b[56:], uint64(s.AtNs/1e9))
		le.PutUint64(b[64:], uint64(s.DtNs/1e9))
		le.PutUint64(b[72:], uint64(s.CtNs/1e9))
		le.PutUint32(b[80:], uint32(s.Creator))
		le.PutUint32(b[84:], uint32(s.Last))
		le.PutUint64(b[88:], uint64(s.Attach))
		if !k.Out(t, addr, b[:]) {
			return fail(unix.EFAULT)
		}
		return done
	case 11, 12: // SHM_LOCK, SHM_UNLOCK
		return 0
	}
	return fail(unix.EINVAL) // Linux knows no other
}
