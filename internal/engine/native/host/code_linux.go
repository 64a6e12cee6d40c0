//go:build linux && amd64

package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Which blocks of a program are executed is found out by one-shot breakpoints. The program is not executed from its file but
// from a copy in memory in which int3 lies at each place that is of interest. All processes of a run share the copy: the
// thread that hits a place first puts the file's byte back for all of them, by one store into the page cache, and continues. So a block
// costs one stop a run, a block of which nothing is to be learned costs nothing, and no process gets private pages.

// What a breakpoint is: int3, behind which the thread stops, or in runs that contrast with those (Machine.Contrast) hlt, at which
// it stops, because only Linux may execute it.
const (
	int3 = 0xcc
	hlt  = 0xf4
)

// Watched is a copy of a program's file with breakpoints.
type Watched struct {
	Binary *code.Binary
	fd     int
	bytes  []byte      // the copy, which processes execute
	wanted blocks.Bits // where breakpoints were set when the run began
	stands blocks.Bits // where they are set now
	points pointBits   // see points_linux.go
	first  uint64      // the first place, and the last
	last   uint64
	mark   byte // what its breakpoints are
	worlds int  // that execute it: copies of one another, of which one runs at a time
}

// FD is the file to execute or map instead of the original one.
func (w *Watched) FD() int { return w.fd }

// Hits are the numbers of the places that were executed since the run began, ascending.
func (w *Watched) Hits() blocks.List { return w.wanted.Without(w.stands) }

// Resume sets breakpoints wherever they are wanted and were not hit.
func (w *Watched) Resume(hits blocks.List) {
	hit := blocks.NewBits(len(w.Binary.Places))
	for _, i := range hits {
		hit.Set(int(i))
	}
	for i := range w.Binary.Places {
		if w.stands.Has(i) != (w.wanted.Has(i) && !hit.Has(i)) {
			w.poke(i)
		}
	}
}

// set puts breakpoints at the places that are wanted, and takes them from all others.
func (w *Watched) set(covered blocks.Bits) {
	n := len(w.Binary.Places)
	for i := range w.wanted {
		want := ^uint64(0)
		if 64*i+64 > n {
			want = 1<<(n%64) - 1
		}
		if covered != nil {
			want &^= covered[i]
		}
		for rest := want ^ w.stands[i]; rest != 0; rest &= rest - 1 {
			w.poke(64*i + bits.TrailingZeros64(rest))
		}
		w.wanted[i] = want
	}
}

// poke sets a breakpoint where there is none, or takes it away.
func (w *Watched) poke(i int) {
	if w.stands.Has(i) {
		w.stands.Clear(i)
	} else {
		w.stands.Set(i)
	}
	w.lay(i)
}

// lay writes the byte of a place: a breakpoint if one is wanted there for anything.
func (w *Watched) lay(i int) {
	at := w.Binary.Offset(w.Binary.Places[i])
	if w.stands.Has(i) || w.points.lies(i) {
		w.bytes[at] = w.mark
	} else {
		w.bytes[at] = w.Binary.Original[i]
	}
}

// paint makes breakpoints of a kind of those that lie in the copy and of those to come.
func (w *Watched) paint(mark byte) {
	if w.mark == mark {
		return
	}
	w.mark = mark
	for i := range w.Binary.Places {
		if w.stands.Has(i) || w.points.lies(i) {
			w.lay(i)
		}
	}
}

func (w *Watched) close() {
	unix.Munmap(w.bytes)
	unix.Close(w.fd)
}

// Bounds of what a process keeps of copies that no run uses.
const (
	maxIdleCopies = 16
	maxIdleBytes  = 1 << 30
)

// copies holds this process' knowledge of programs: analyses by file, and copies that no run uses at present.
var copies struct {
	sync.Mutex
	known   map[fileKey]analysis
	digests map[fileKey]string // of files that were not analysed
	idle    []*Watched
}

// fileKey names the bytes of a file: they are the same as long as the whole key is.
type fileKey struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
}

func keyOf(fd int) (fileKey, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return fileKey{st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}, err
}

type analysis struct {
	binary *code.Binary
	digest string
	err    error
}

var errLeftOut = errors.New("it is not watched in this run")

// Watch gives the copy of an open file, with breakpoints wherever watch.State does not say that the block is covered, and with none if watch is
// nil: one of those that the world holds already, or one that Unwatch must be given in the end. The error is why nothing of the file
// can be watched; without a digest the file cannot be read. What counts by itself has no copy: Binary is all that it gives then. mark is what
// the breakpoints are.
func Watch(fd int, watch *code.Watch, held []*Watched, mark byte) (w *Watched, digest string, err error) {
	key, err := keyOf(fd)
	if err != nil {
		return nil, "", err
	}
	copies.Lock()
	defer copies.Unlock()
	a, ok := copies.known[key]
	var file []byte
	if !ok {
		if file, err = contents(fd, key.size); err != nil {
			return nil, "", err
		}
		a.digest = code.Digest(file)
		a.binary, a.err = code.Analyse(file)
		if copies.known == nil {
			copies.known = map[fileKey]analysis{}
		}
		copies.known[key] = a
	}
	if a.err != nil {
		return nil, a.digest, a.err
	}
	covered := blocks.NewBits(len(a.binary.Places))
	if watch == nil {
		for i := range covered {
			covered[i] = ^uint64(0)
		}
	} else {
		known := watch.State.Get(a.digest)
		switch {
		case known != nil && known.Off != "":
			return nil, a.digest, errors.New(known.Off)
		case watch.Only != "" && watch.Only != a.digest:
			return nil, "", errLeftOut
		case known != nil && known.Total == len(a.binary.Places):
			covered = known.Quiet()
		}
	}
	if a.binary.Counters != nil {
		return &Watched{Binary: a.binary}, a.digest, nil
	}
	if i := slices.IndexFunc(held, func(w *Watched) bool { return w != nil && w.Binary.Digest == a.digest }); i >= 0 {
		return held[i], a.digest, nil
	}
	if i := slices.IndexFunc(copies.idle, func(w *Watched) bool { return w.Binary.Digest == a.digest }); i >= 0 {
		w = copies.idle[i]
		copies.idle = slices.Delete(copies.idle, i, i+1)
	} else {
		if file == nil {
			if file, err = contents(fd, key.size); err != nil {
				return nil, a.digest, err
			}
		}
		if w, err = newCopy(a.binary, file); err != nil {
			return nil, a.digest, err
		}
	}
	w.paint(mark)
	w.set(covered)
	w.SetPoints(Points{})
	w.worlds = 1
	return w, a.digest, nil
}

// Digest returns the digest of an open file.
func Digest(fd int) (string, error) {
	key, err := keyOf(fd)
	if err != nil {
		return "", err
	}
	copies.Lock()
	defer copies.Unlock()
	if a, ok := copies.known[key]; ok {
		return a.digest, nil
	}
	if d, ok := copies.digests[key]; ok {
		return d, nil
	}
	file, err := contents(fd, key.size)
	if err != nil {
		return "", err
	}
	if copies.digests == nil {
		copies.digests = map[fileKey]string{}
	}
	d := code.Digest(file)
	copies.digests[key] = d
	return d, nil
}

// Unwatch gives copies back, for the next run.
func Unwatch(list []*Watched) {
	copies.Lock()
	defer copies.Unlock()
	for _, w := range list {
		if w == nil {
			continue
		}
		if w.worlds--; w.worlds == 0 {
			copies.idle = append(copies.idle, w)
		}
	}
	total := 0
	for i := len(copies.idle) - 1; i >= 0; i-- {
		if total += len(copies.idle[i].bytes); len(copies.idle)-i > maxIdleCopies || total > maxIdleBytes {
			for _, w := range copies.idle[:i+1] {
				w.close()
			}
			copies.idle = slices.Delete(copies.idle, 0, i+1)
			return
		}
	}
}

func contents(fd int, size int64) ([]byte, error) {
	if size > code.MaxFileBytes {
		return nil, code.ErrTooLarge
	}
	b := make([]byte, size)
	for n := 0; n < len(b); {
		m, err := unix.Pread(fd, b[n:], int64(n))
		if err != nil {
			return nil, err
		}
		if m == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		n += m
	}
	return b, nil
}

func newCopy(b *code.Binary, file []byte) (*Watched, error) {
	fd, err := unix.MemfdCreate(copyName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	if err := unix.Ftruncate(fd, int64(len(file))); err != nil {
		unix.Close(fd)
		return nil, sized(os.NewSyscallError("ftruncate", err))
	}
	bytes, err := unix.Mmap(fd, 0, len(file), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("mmap", err)
	}
	copy(bytes, file)
	n := len(b.Places)
	w := &Watched{Binary: b, fd: fd, bytes: bytes, wanted: blocks.NewBits(n), stands: blocks.NewBits(n),
		points: pointBits{laid: blocks.NewBits(n), ever: blocks.NewBits(n)}}
	if n > 0 {
		w.first, w.last = b.Places[0], b.Places[n-1]
	}
	return w, nil
}

// codeMap is a part of an address space where code of a copy was mapped.
type codeMap struct {
	from, to uint64
	bias     uint64 // what was added to the file's addresses
	file     *Watched
}

// codeMaps lists the maps of code in one address space. Threads and vfork children share them.
type codeMaps struct{ list []codeMap }

// maxCodeMaps bounds what is known of an address space. The newest are kept: programs map what they have unmapped anew.
const maxCodeMaps = 256

func (c *codeMaps) add(m codeMap) {
	c.list = slices.DeleteFunc(c.list, func(o codeMap) bool { return o.from >= m.from && o.to <= m.to })
	if len(c.list) == maxCodeMaps {
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.list = append(c.list, m)
}

// moved notes that what lay in a range of addresses has come to another.
func (c *codeMaps) moved(from, to, size uint64) {
	if c == nil {
		return
	}
	for _, m := range slices.Clone(c.list) {
		if m.from < from+size && m.to > from {
			first, end := max(m.from, from), min(m.to, from+size)
			c.add(codeMap{first - from + to, end - from + to, m.bias - from + to, m.file})
		}
	}
}

// copied are the maps of a forked process.
func (c *codeMaps) copied() *codeMaps {
	if c == nil {
		return nil
	}
	return &codeMaps{slices.Clone(c.list)}
}

// runs notes that a program was executed, which begins at an entry point.
func (t *thread) runs(c machine.Code, entry uint64) {
	t.code = nil
	if w, ok := c.(*Watched); ok && w.last >= w.first {
		bias := entry - w.Binary.Entry
		t.code = &codeMaps{[]codeMap{{w.first + bias, w.last + bias + 1, bias, w}}}
	}
}

// MapCode notes that a thread's process has mapped a part of a copy.
func (m *Machine) MapCode(id ThreadID, c machine.Code, addr, size, offset uint64) {
	t, w := m.get(id), c.(*Watched)
	for _, s := range w.Binary.Segments {
		if offset < s.Offset+s.Size && s.Offset < offset+size {
			if t.code == nil {
				t.code = &codeMaps{} // threads that were there before share it from now on
				for _, o := range m.threads {
					if o.space == t.space {
						o.code = t.code
					}
				}
			}
			bias := addr - offset - (s.Addr - s.Offset)
			t.code.add(codeMap{addr, addr + size, bias, w})
		}
	}
}

// hit deals with a trap of a thread that has come to what is perhaps a breakpoint in a copy. It reports whether it was one: then the file's
// instruction is there again, and the thread is about to execute it. goesOn is false if it has come to a point, as stop says.
func (m *Machine) hit(t *thread, at uint64, stop *machine.Stop) (ours, goesOn bool) {
	if t.code == nil {
		return false, false
	}
	r := t.load()
	for i := len(t.code.list) - 1; i >= 0; i-- {
		c := &t.code.list[i]
		if at < c.from || at >= c.to {
			continue
		}
		w := c.file
		n, ok := w.Binary.Find(at - c.bias)
		if !ok || !w.wanted.Has(n) && !w.points.ever.Has(n) || !m.shows(t, c, at) {
			continue
		}
		if w.stands.Has(n) {
			w.poke(n)
		}
		point := w.lift(n)
		var b [1]byte
		if transfer(unix.SYS_PROCESS_VM_READV, t.tid, at, b[:]) == 1 && b[0] == w.mark {
			m.setByte(t, at, w.Binary.Original[n]) // the process has its own copy of the page: it wrote to it
		}
		r.Rip = at
		t.dirty = true
		m.unforce(t, m.trapSignal())
		t.at = atStart
		if !point || m.walks {
			return true, true
		}
		stop.Kind, stop.Code, stop.Place = machine.StopPoint, w, n
		return true, false
	}
	return false, false
}

// synchronous are the signals by which the processor reports mistakes: bit n-1 is signal n.
const synchronous = 1<<(unix.SIGILL-1) | 1<<(unix.SIGTRAP-1) | 1<<(unix.SIGABRT-1) | 1<<(unix.SIGBUS-1) | 1<<(unix.SIGFPE-1) | 1<<(unix.SIGSEGV-1)

// sigIgnore is SIG_IGN.
const sigIgnore = 1

// unforce undoes what Linux does to a thread that traps while it blocks the signal of the trap, SIGTRAP or SIGSEGV
// (force_sig_info_to_task of kernel/signal.c): the signal is not blocked any more, and its handler is gone. Where there was a handler,
// that shows whether it was blocked; it is asked for at breakpoints only, which are rarer than clock reads. Where there was none, nothing
// does; but the threads that block it then block all signals.
func (m *Machine) unforce(t *thread, sig syscall.Signal) {
	if m.Action == nil {
		return
	}
	others := uint64(synchronous) &^ (1 << (sig - 1))
	var mask uint64
	ptrace(ptraceGetSigmask, t.tid, 8, uintptr(unsafe.Pointer(&mask)))
	blocked := mask&others == others
	action, handled := m.Action(t.id, int(sig))
	if binary.LittleEndian.Uint64(action[:]) == sigIgnore { // Linux takes that back, too
		defer m.cleanScratch(t)
		if m.scratch(t, action[:]) {
			m.execute(t, unix.SYS_RT_SIGACTION, uint64(sig), machine.ScratchArea, 0, 8)
		}
	}
	// A handler that blocks all signals while it runs, as Go's does, is one of those.
	if handled && (blocked || sig == unix.SIGTRAP && binary.LittleEndian.Uint64(action[24:])&others != others) {
		defer m.cleanScratch(t)
		m.execute(t, unix.SYS_RT_SIGACTION, uint64(sig), 0, machine.ScratchArea, 8)
		if blocked = binary.LittleEndian.Uint64(t.vdso.Shared[pageSize:]) == 0; blocked && m.scratch(t, action[:]) {
			m.execute(t, unix.SYS_RT_SIGACTION, uint64(sig), machine.ScratchArea, 0, 8)
		}
	}
	if blocked {
		mask |= 1 << (sig - 1)
		ptrace(ptraceSetSigmask, t.tid, 8, uintptr(unsafe.Pointer(&mask)))
	}
}

// shows reports whether a process has a file's code at an address, and not something else that it has mapped there since.
func (m *Machine) shows(t *thread, c *codeMap, at uint64) bool {
	const around = 16
	from, to := max(at-around, c.from), min(at+around, c.to)
	for _, s := range c.file.Binary.Segments {
		if at-c.bias-s.Addr < s.Size {
			from, to = max(from, s.Addr+c.bias), min(to, s.Addr+s.Size+c.bias)
		}
	}
	b := make([]byte, to-from)
	if transfer(unix.SYS_PROCESS_VM_READV, t.tid, from, b) != len(b) || b[at-from] != c.file.mark {
		return false
	}
	offset := c.file.Binary.Offset(at-c.bias) - (at - from)
	for i, v := range b {
		if is := c.file.bytes[offset+uint64(i)]; is != v && is != c.file.mark && v != c.file.mark {
			return m.mapsCopy(t, at) // the process may have written near by
		}
	}
	return true
}

// mapsCopy reports whether an address of a process is in a map of a copy.
func (m *Machine) mapsCopy(t *thread, at uint64) bool {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", t.tid))
	for line := range strings.Lines(string(list)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 && at >= from && at < to {
			return strings.Contains(line, "/memfd:"+copyName)
		}
	}
	return false
}

// copyName is the name of copies in maps.
const copyName = "bloodhound-code"

// unbroken puts the file's bytes over breakpoints in what was read of a process' memory.
func (t *thread) unbroken(addr uint64, p []byte) {
	if t.code == nil {
		return
	}
	end := addr + uint64(len(p))
	for i := range t.code.list {
		c := &t.code.list[i]
		from, to := max(addr, c.from), min(end, c.to)
		if from >= to {
			continue
		}
		places := c.file.Binary.Places
		for n, _ := c.file.Binary.Find(from - c.bias); n < len(places) && places[n] < to-c.bias; n++ {
			if b := &p[places[n]+c.bias-addr]; *b == c.file.mark && (c.file.wanted.Has(n) || c.file.points.ever.Has(n)) {
				*b = c.file.Binary.Original[n]
			}
		}
	}
}

// covers notes that a thread has come to an address, and leaves the byte that lies there.
func (m *Machine) covers(t *thread, at uint64) {
	if t.code == nil {
		return
	}
	for i := range t.code.list {
		c := &t.code.list[i]
		if at < c.from || at >= c.to {
			continue
		}
		if n, ok := c.file.Binary.Find(at - c.bias); ok && c.file.stands.Has(n) {
			c.file.poke(n)
		}
	}
}

// stepped deals with a breakpoint that a single step has ended with, as trapped does.
func (m *Machine) stepped(t *thread, stop *machine.Stop) (ours, goesOn bool) {
	if t.code == nil && t.chance == nil {
		return false, false
	}
	stop.Info = [128]byte{}
	if ptrace(unix.PTRACE_GETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(&stop.Info))) != syscall.Errno(0) {
		return false, false
	}
	stop.Kind, stop.Signal = machine.StopSignal, int(m.trapSignal())
	return m.trapped(t, stop)
}
