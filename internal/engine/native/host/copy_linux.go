//go:build linux && amd64

package host

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// A world is copied while all its threads stand at calls. One thread of each address space executes a fork: the real kernel copies
// the memory when one of the two sides writes to it. In the copy, the other threads are made by clone, and get the registers, the
// extended state, the mask of signals and the alternate stack of those that they are copies of. Robust lists, rseq and the address
// that is cleared at a thread's end are no state of real threads: the engine answers the calls that set them. Maps of memfds that
// the world may write to lead to the memfds of the copy.

// errCopy is why a world cannot be copied as it stands.
type errCopy struct{ reason string }

func (e errCopy) Error() string { return "cannot copy a world: " + e.reason }

func noCopy(format string, args ...any) error { return errCopy{fmt.Sprintf(format, args...)} }

// Fork copies what is real of a world. The copy's threads stand where the original's do, which goes on as if nothing had happened.
// It must be called on the Tracer's thread.
func (c *Checkpoint) Fork() (_ *Checkpoint, err error) {
	n := &Checkpoint{Tracer: c.Tracer, executed: c.Executed()}
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	from := c.Machine
	if n.Machine, err = NewMachine(c.Tracer, from.leaks, from.watch.limitNs/1e6, from.Stops == stopsAskedFor); err != nil {
		return nil, err
	}
	n.Machine.watch.stop()
	n.Machine.Stops, n.Machine.identities = from.Stops, from.identities
	n.Machine.Lack = &n.Lack
	for _, v := range c.VDSOs {
		w, err := copyVDSO(v)
		if err != nil {
			return nil, err
		}
		n.VDSOs = append(n.VDSOs, w)
	}
	for _, b := range c.Bases {
		b.worlds++
		n.Bases = append(n.Bases, b)
	}
	for _, w := range c.Watched {
		if w != nil {
			w.worlds++
		}
		n.Watched = append(n.Watched, w)
	}
	p := copying{from: from, to: n.Machine, old: c, new: n, maps: map[int][]memfdMap{}}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if n.Blobs, err = c.Blobs.Fork(&n.Lack, p.mapped); err != nil {
		return nil, err
	}
	for _, threads := range p.spaces {
		if err := p.copySpace(threads); err != nil {
			return nil, err
		}
	}
	c.Tracer.users++
	return n, nil
}

// copying is a copy of the processes of a machine that is being made.
type copying struct {
	from, to *Machine
	old, new *Checkpoint
	spaces   [][]*thread        // the threads of each address space, those of one process together, main threads first
	maps     map[int][]memfdMap // by address space
	texts    map[int][]byte     // /proc/PID/maps of the original, by address space
	mapped   map[fs.BlobID]bool
}

// prepare stops all threads and learns what they map.
func (p *copying) prepare() error {
	p.texts, p.mapped = map[int][]byte{}, map[fs.BlobID]bool{}
	bySpace := map[int][]*thread{}
	for _, id := range slices.Sorted(maps.Keys(p.from.threads)) {
		t := p.from.threads[id]
		if t.ended {
			continue
		}
		p.from.withdraw(t)
		switch {
		case t.tid >= nowhere || t.queued != nil:
			return noCopy("a process was ended by the machine")
		case t.at == atSignal:
			return noCopy("a thread stands at a signal")
		case t.foreign && t.at == atCall:
			return noCopy("a thread stands at a call of another architecture")
		}
		bySpace[t.space] = append(bySpace[t.space], t)
	}
	for _, space := range slices.Sorted(maps.Keys(bySpace)) {
		threads := bySpace[space]
		slices.SortStableFunc(threads, func(a, b *thread) int {
			if a.tgid != b.tgid {
				return cmp.Compare(a.tgid, b.tgid)
			}
			return cmp.Compare(order(a), order(b))
		})
		p.spaces = append(p.spaces, threads)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", threads[0].tid))
		if err != nil {
			return err
		}
		p.texts[space] = text
		p.maps[space] = memfdMaps(text)
		for _, m := range p.maps[space] {
			if m.blob > 0 {
				p.mapped[m.blob] = true
			}
		}
	}
	return nil
}

func order(t *thread) int {
	if t.leader {
		return 0
	}
	return 1
}

// memfdMap is a part of an address space that maps a memfd of the engine.
type memfdMap struct {
	start, end, offset uint64
	prot               uint64
	shared             bool
	blob               fs.BlobID // 0 for the page of time
}

// memfdMaps finds the maps of blobs and of pages of time in /proc/PID/maps (proc_pid_maps(5)).
func memfdMaps(text []byte) (list []memfdMap) {
	for line := range bytes.Lines(text) {
		at := bytes.Index(line, []byte(" /memfd:"))
		if at < 0 {
			continue
		}
		f := bytes.Fields(line)
		if len(f) < 6 || len(f[1]) < 4 {
			continue
		}
		var m memfdMap
		from, to, _ := bytes.Cut(f[0], []byte("-"))
		m.start, _ = strconv.ParseUint(string(from), 16, 64)
		m.end, _ = strconv.ParseUint(string(to), 16, 64)
		m.offset, _ = strconv.ParseUint(string(f[2]), 16, 64)
		for i, bit := range []uint64{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
			if f[1][i] != '-' {
				m.prot |= bit
			}
		}
		m.shared = f[1][3] == 's'
		if blob, ok := bytes.CutPrefix(f[5], []byte("/memfd:blob-")); ok {
			id, _ := strconv.ParseInt(string(blob), 10, 64)
			m.blob = fs.BlobID(id)
		} else if m.start != machine.TimePageAt {
			continue
		}
		list = append(list, m)
	}
	return list
}

// copySpace copies an address space and the processes that run in it: one, and vfork children that have no program of their own yet.
func (p *copying) copySpace(threads []*thread) error {
	first := threads[0]
	var main *thread // of the process that is being made
	var maker *thread
	codes, chances := first.code.copied(), first.chance.copied()
	for _, o := range threads {
		var n *thread
		var err error
		switch {
		case maker == nil:
			if n, err = p.thread(p.from, first, o, unix.CLONE_PARENT); err != nil {
				return err
			}
			maker, main = n, n
		case o.tgid == main.copyOf:
			const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM
			if n, err = p.thread(p.to, main, o, thread); err != nil {
				return err
			}
		default:
			if n, err = p.thread(p.to, maker, o, unix.CLONE_VM|unix.CLONE_PARENT); err != nil {
				return err
			}
			main = n
		}
		n.code, n.chance = codes, chances
		if n == maker {
			if err := p.remap(first, n); err != nil {
				return err
			}
			continue
		}
		if n == main {
			if err := p.handlers(first, o, n); err != nil {
				return err
			}
		}
		if err := p.own(o, n); err != nil {
			return err
		}
	}
	return nil
}

// thread has a thread of either machine execute a clone, for a copy of o.
func (p *copying) thread(m *Machine, by, o *thread, flags uint64) (*thread, error) {
	o.load()
	stack := uint64(0)
	if flags&unix.CLONE_VM != 0 {
		stack = o.regs.Rsp
	}
	var tid int
	var errno syscall.Errno
	m.aside(by, func() { tid, errno = m.clone(by, flags, stack, 0) })
	if errno != 0 {
		return nil, Explain(fmt.Errorf("cannot copy a thread: %w", errno))
	}
	n := &thread{
		id: o.id, tid: tid, tgid: tid, leader: true, space: o.space, at: o.at, regs: o.regs, loaded: true, dirty: true,
		gadget: o.gadget, auxv: o.auxv, spinTurns: o.spinTurns, spin: o.spin, foreign: o.foreign, listener: o.listener, copyOf: o.tgid,
	}
	if n.at == atCall {
		n.at = atWithdrawn
	}
	if o.spinLoop != nil {
		s := *o.spinLoop
		n.spinLoop = &s
	}
	if flags&unix.CLONE_THREAD != 0 {
		n.tgid, n.leader = by.tgid, false
	}
	n.vdso = p.new.VDSOs[slices.Index(p.old.VDSOs, o.vdso)]
	p.to.threads[n.id] = n
	p.to.alive[n.tgid]++
	p.to.spaces = max(p.to.spaces, n.space)
	return n, nil
}

// aside runs f, in which a thread executes calls of the engine's choice, and has the thread stand where it stood.
func (m *Machine) aside(t *thread, f func()) {
	m.withdraw(t)
	nr, at := t.load().Orig_rax, t.at
	f()
	if at == atCall || at == atWithdrawn {
		t.at, t.regs.Orig_rax = atWithdrawn, nr
	}
}

// Places in struct stack_t (sigaltstack(2)), and its size.
const (
	stackFlags = 8
	stackSize  = 16
	stackBytes = 24
	onStack    = 1 // SS_ONSTACK
)

// own gives a thread, n, what belongs to o alone, which is no thread that executed the fork.
func (p *copying) own(o, n *thread) error {
	area := make([]byte, maxExtended)
	v := unix.Iovec{Base: &area[0], Len: uint64(len(area))}
	if e := ptrace(unix.PTRACE_GETREGSET, o.tid, ntX86XState, uintptr(unsafe.Pointer(&v))); e != 0 {
		return fmt.Errorf("cannot read the state of a thread: %w", e)
	}
	if e := ptrace(unix.PTRACE_SETREGSET, n.tid, ntX86XState, uintptr(unsafe.Pointer(&v))); e != 0 {
		return fmt.Errorf("cannot write the state of a thread: %w", e)
	}
	var mask uint64
	ptrace(ptraceGetSigmask, o.tid, 8, uintptr(unsafe.Pointer(&mask)))
	ptrace(ptraceSetSigmask, n.tid, 8, uintptr(unsafe.Pointer(&mask)))

	shared := o.vdso.Shared[pageSize:]
	defer p.from.cleanScratch(o)
	var r int64
	p.from.aside(o, func() { r = p.from.execute(o, unix.SYS_SIGALTSTACK, 0, machine.ScratchArea) })
	if r != 0 {
		return fmt.Errorf("cannot read the alternate stack of a thread: %w", syscall.Errno(-r))
	}
	if binary.LittleEndian.Uint64(shared[stackSize:]) == 0 {
		return nil
	}
	copied := n.vdso.Shared[pageSize:]
	copy(copied, shared[:stackBytes])
	copied[stackFlags] &^= onStack
	defer p.to.cleanScratch(n)
	p.to.aside(n, func() { r = p.to.execute(n, unix.SYS_SIGALTSTACK, machine.ScratchArea, 0) })
	if r != 0 {
		return fmt.Errorf("cannot set the alternate stack of a thread: %w", syscall.Errno(-r))
	}
	return nil
}

// handlers gives the process of n, which has those of first, the handlers of signals of o.
func (p *copying) handlers(first, o, n *thread) error {
	for sig := 1; sig <= 64; sig++ {
		has, _ := p.from.Action(first.id, sig)
		wants, _ := p.from.Action(o.id, sig)
		if has == wants {
			continue
		}
		copy(n.vdso.Shared[pageSize:], wants[:])
		var r int64
		p.to.aside(n, func() { r = p.to.execute(n, unix.SYS_RT_SIGACTION, uint64(sig), machine.ScratchArea, 0, 8) })
		p.to.cleanScratch(n)
		if r != 0 {
			return fmt.Errorf("cannot set the handler of a signal: %w", syscall.Errno(-r))
		}
	}
	return nil
}

// remap has the maps of memfds in an address space that was just forked from that of o lead to the memfds of the copy.
func (p *copying) remap(o, n *thread) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", n.tid))
	if err != nil {
		return err
	}
	if !bytes.Equal(text, p.texts[o.space]) {
		return noCopy("a program has memory that a fork leaves out (MADV_DONTFORK)")
	}
	for _, m := range p.maps[o.space] {
		fd := n.vdso.FD
		if m.blob != 0 {
			var ok bool
			if fd, ok = p.new.Blobs.behind(m.blob); !ok {
				return noCopy("a map of a file in memory that is not known")
			}
		}
		private, err := o.privatePages(m)
		if err != nil {
			return err
		}
		flags, kind := uint64(unix.O_RDONLY), uint64(unix.MAP_PRIVATE)
		if m.shared {
			flags, kind = unix.O_RDWR, unix.MAP_SHARED
		}
		var r int64
		p.to.aside(n, func() { r = p.to.mapAt(n, fd, flags, m, kind, private) })
		if r < 0 {
			return fmt.Errorf("cannot map a file in memory of a copy: %w", syscall.Errno(-r))
		}
	}
	return nil
}

// mapAt maps an open file of this process where at is, and writes pages into the map.
func (m *Machine) mapAt(t *thread, fd int, flags uint64, at memfdMap, kind uint64, pages []page) int64 {
	path := m.ownFile(fd)
	if !m.scratch(t, path) {
		return -int64(unix.ESRCH)
	}
	opened := m.execute(t, unix.SYS_OPENAT, 0, machine.ScratchArea, flags|unix.O_CLOEXEC)
	m.writeAt(t, machine.ScratchArea, make([]byte, len(path)))
	if opened < 0 {
		return opened
	}
	prot := at.prot
	if len(pages) > 0 {
		prot |= unix.PROT_READ | unix.PROT_WRITE
	}
	r := m.execute(t, unix.SYS_MMAP, at.start, at.end-at.start, prot, kind|unix.MAP_FIXED, uint64(opened), at.offset)
	m.execute(t, unix.SYS_CLOSE, uint64(opened))
	if r < 0 || len(pages) == 0 {
		return r
	}
	for i := range pages {
		if m.writeAt(t, pages[i].addr, pages[i].data[:]) < pageSize {
			return -int64(unix.ENOMEM)
		}
	}
	return m.execute(t, unix.SYS_MPROTECT, at.start, at.end-at.start, at.prot)
}

// page is a page of a private map that the process has written to.
type page struct {
	addr uint64
	data [pageSize]byte
}

// privatePages are those of a private map of a file that are the process' own.
func (t *thread) privatePages(m memfdMap) (list []page, err error) {
	if m.shared {
		return nil, nil
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", t.tid))
	if err != nil {
		return nil, err
	}
	defer pagemap.Close()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.tid))
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	entries := make([]byte, (m.end-m.start)/pageSize*8)
	if _, err := pagemap.ReadAt(entries, int64(m.start/pageSize*8)); err != nil {
		return nil, err
	}
	for i := 0; i < len(entries); i += 8 {
		v := binary.LittleEndian.Uint64(entries[i:])
		if v&(pagePresent|pageSwapped) == 0 || v&pageOfFile != 0 {
			continue
		}
		p := page{addr: m.start + uint64(i)/8*pageSize}
		if _, err := memory.ReadAt(p.data[:], int64(p.addr)); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}
