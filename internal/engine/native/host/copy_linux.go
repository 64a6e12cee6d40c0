//go:build linux && amd64

package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
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

// noCopy says why a world cannot be copied as it stands.
func noCopy(reason string) error { return errors.New("cannot copy a world: " + reason) }

// Fork copies what is real of a world. The copy's threads stand where the original's do, which goes on as if nothing had happened.
// It must be called on the Tracer's thread.
func (c *Checkpoint) Fork() (_ *Checkpoint, err error) {
	n := &Checkpoint{Tracer: c.Tracer, executed: c.Executed(), points: c.Points()}
	made := false
	defer func() {
		if !made { // also after a panic
			n.Close()
		}
	}()
	if n.Machine, err = c.Machine.sibling(); err != nil {
		return nil, err
	}
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
	p := copying{from: c.Machine, to: n.Machine, old: c, new: n, mapped: map[fs.BlobID]bool{}}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if n.Blobs, err = c.Blobs.Fork(&n.Lack, p.mapped); err != nil {
		return nil, err
	}
	for i := range p.spaces {
		if err := p.copySpace(&p.spaces[i]); err != nil {
			return nil, err
		}
	}
	c.Tracer.users++
	made = true
	return n, nil
}

// copying is a copy of the processes of a machine that is being made.
type copying struct {
	from, to *Machine
	old, new *Checkpoint
	spaces   []addressSpace
	mapped   map[fs.BlobID]bool
}

// addressSpace is one of the original's.
type addressSpace struct {
	threads []*thread // those of one process together, main threads first
	text    string    // /proc/PID/maps
	maps    []machine.RealMap
}

// prepare stops all threads and learns what they map.
func (p *copying) prepare() error {
	bySpace := map[int][]*thread{}
	for _, id := range slices.Sorted(maps.Keys(p.from.threads)) {
		t := p.from.threads[id]
		if t.ended {
			continue
		}
		p.from.withdraw(t)
		switch {
		case t.tid >= nowhere || t.queued != nil:
			return noCopy("the machine ended a process")
		case t.at == atSignal:
			return noCopy("a thread stands at a signal")
		case t.foreign && t.at == atCall:
			return noCopy("a thread is at a system call of another architecture")
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
		text := threads[0].realMaps()
		if text == "" {
			return noCopy("cannot read the memory map of a process")
		}
		maps := memfdMaps(text)
		p.spaces = append(p.spaces, addressSpace{threads, text, maps})
		for i := range maps {
			if blob := maps[i].Blob; blob > 0 {
				p.mapped[fs.BlobID(blob)] = true
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

// memfdMaps finds the maps of blobs and of the page of time among the lines of /proc/PID/maps.
func memfdMaps(text string) (list []machine.RealMap) {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, " /memfd:") {
			continue
		}
		if m, ok := machine.ParseMap(line); ok && (m.Blob > 0 || m.Start == machine.TimePageAt) {
			list = append(list, m)
		}
	}
	return list
}

// copySpace copies an address space and the processes that run in it: one, and vfork children that have no program of their own yet.
func (p *copying) copySpace(s *addressSpace) error {
	const ofThread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM
	first := s.threads[0]
	var maker *thread // of the processes of the copy
	var main *thread  // of the process that is being made, a copy of process of
	var of int
	codes, chances, traps := first.code.copied(), first.chance.copied(), first.traps.copied()
	for _, o := range s.threads {
		m, by, flags := p.to, main, uint64(ofThread)
		switch {
		case maker == nil:
			m, by, flags = p.from, first, unix.CLONE_PARENT
		case o.tgid != of:
			by, flags = maker, unix.CLONE_VM|unix.CLONE_PARENT
		}
		n, err := p.thread(m, by, o, flags)
		if err != nil {
			return err
		}
		n.code, n.chance, n.traps = codes, chances, traps
		if n.leader {
			main, of = n, o.tgid
		}
		switch {
		case maker == nil:
			maker = n
			err = p.remap(s, n)
		case n.leader:
			if err = p.handlers(first, o, n); err == nil {
				err = p.own(o, n)
			}
		default:
			err = p.own(o, n)
		}
		if err != nil {
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
	tid := m.aside(by, func() int64 {
		tid, errno := m.clone(by, flags, stack, 0)
		if errno != 0 {
			return -int64(errno)
		}
		return int64(tid)
	})
	if tid < 0 {
		return nil, Explain(fmt.Errorf("cannot copy a thread: %w", syscall.Errno(-tid)))
	}
	n := &thread{
		id: o.id, tid: int(tid), tgid: int(tid), leader: true, space: o.space, at: o.at, regs: o.regs, loaded: true, dirty: true,
		gadget: o.gadget, auxv: o.auxv, spinTurns: o.spinTurns, spin: o.spin, foreign: o.foreign, listener: o.listener, held: o.held,
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

// aside runs f, in which a thread executes calls of the engine's choice, and has the thread stand where it stood. It returns what f does.
func (m *Machine) aside(t *thread, f func() int64) int64 {
	m.withdraw(t)
	nr, at := t.load().Orig_rax, t.at
	r := f()
	if at == atCall || at == atWithdrawn {
		t.at, t.regs.Orig_rax = atWithdrawn, nr
	}
	return r
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
	if r := p.from.aside(o, func() int64 { return p.from.execute(o, unix.SYS_SIGALTSTACK, 0, machine.ScratchArea) }); r != 0 {
		return fmt.Errorf("cannot read the alternate stack of a thread: %w", syscall.Errno(-r))
	}
	if binary.LittleEndian.Uint64(shared[stackSize:]) == 0 {
		return nil
	}
	copied := n.vdso.Shared[pageSize:]
	copy(copied, shared[:stackBytes])
	copied[stackFlags] &^= onStack
	defer p.to.cleanScratch(n)
	if r := p.to.aside(n, func() int64 { return p.to.execute(n, unix.SYS_SIGALTSTACK, machine.ScratchArea, 0) }); r != 0 {
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
		r := p.to.aside(n, func() int64 { return p.to.execute(n, unix.SYS_RT_SIGACTION, uint64(sig), machine.ScratchArea, 0, 8) })
		p.to.cleanScratch(n)
		if r != 0 {
			return fmt.Errorf("cannot set the handler of a signal: %w", syscall.Errno(-r))
		}
	}
	return nil
}

// remap has the maps of memfds in an address space that a thread was just forked in lead to the memfds of the copy.
func (p *copying) remap(s *addressSpace, n *thread) error {
	if n.realMaps() != s.text {
		return noCopy("a program has memory that a fork leaves out (MADV_DONTFORK)")
	}
	o, vdso := s.threads[0], n.vdso
	n.vdso = o.vdso // whose scratch area is mapped, until that of the copy is in its place
	for i := range s.maps {
		m := &s.maps[i]
		fd := vdso.FD
		if m.Blob != 0 {
			var ok bool
			if fd, ok = p.new.Blobs.behind(fs.BlobID(m.Blob)); !ok {
				return noCopy("a mapping of an unknown file in memory")
			}
		}
		private, err := o.privatePages(m)
		if err != nil {
			return err
		}
		if r := p.to.aside(n, func() int64 { return p.to.mapAt(n, fd, m, private) }); r < 0 {
			return fmt.Errorf("cannot map a file in memory of a copy: %w", syscall.Errno(-r))
		}
		if m.Blob == 0 {
			n.vdso = vdso
		}
	}
	return nil
}

// mapAt maps an open file of this process where at is, and writes pages into the map.
func (m *Machine) mapAt(t *thread, fd int, at *machine.RealMap, pages []page) int64 {
	opened := m.OpenFD(t.id, fd, at.Shared)
	if opened < 0 {
		return opened
	}
	prot, kind, size := at.Prot(), uint64(unix.MAP_PRIVATE), at.End-at.Start
	if at.Shared {
		kind = unix.MAP_SHARED
	}
	first := prot
	if len(pages) > 0 {
		first |= unix.PROT_READ | unix.PROT_WRITE
	}
	r := m.execute(t, unix.SYS_MMAP, at.Start, size, first, kind|unix.MAP_FIXED, uint64(opened), at.Offset)
	m.execute(t, unix.SYS_CLOSE, uint64(opened))
	if r < 0 || len(pages) == 0 {
		return r
	}
	for i := range pages {
		if m.writeAt(t, pages[i].addr, pages[i].data[:]) < pageSize {
			return -int64(unix.ENOMEM)
		}
	}
	return m.execute(t, unix.SYS_MPROTECT, at.Start, size, prot)
}

// page is a page of a private map that the process has written to.
type page struct {
	addr uint64
	data [pageSize]byte
}

// privatePages returns the pages of a private map of a file that have become the process' own.
func (t *thread) privatePages(m *machine.RealMap) (list []page, err error) {
	if m.Shared {
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
	entries := make([]byte, (m.End-m.Start)/pageSize*8)
	if _, err := pagemap.ReadAt(entries, int64(m.Start/pageSize*8)); err != nil {
		return nil, err
	}
	for i := 0; i < len(entries); i += 8 {
		v := binary.LittleEndian.Uint64(entries[i:])
		if v&(pagePresent|pageSwapped) == 0 || v&pageOfFile != 0 {
			continue
		}
		p := page{addr: m.Start + uint64(i)/8*pageSize}
		if _, err := memory.ReadAt(p.data[:], int64(p.addr)); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}
