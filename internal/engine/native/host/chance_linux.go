//go:build linux && amd64

package host

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Some instructions give results that no run repeats: random numbers, the number of the CPU, which parts of the processor's state are
// in use (a switch of the real kernel changes that at its own time). Linux cannot trap them. So they are found in the
// files that programs map executable, a breakpoint takes the place of each in the process' own copy of the page, and the engine
// answers the thread that comes to one: from the tape, or as a CPU would that is always the first one.

// chancePlaces are where such breakpoints are set in one address space. Threads and vfork children share them.
type chancePlaces struct {
	at       map[uint64]*code.Found
	mark     byte        // what they are
	spans    [][2]uint64 // of the maps that hold them
	code     []span      // all that was made executable and not writable: apart, and in order
	watched  []span      // see Watch: apart, and in order
	suspects []*suspect  // see suspects_linux.go
	files    []searchedMap
	pages    map[uint64]uint64 // digests of the pages of files that the engine has touched
}

// maxChancePlaces bounds the breakpoints in one address space: a program that maps files again and again must not fill memory.
const maxChancePlaces = 1 << 16

func (c *chancePlaces) copied() *chancePlaces {
	if c == nil {
		return nil
	}
	n := &chancePlaces{at: maps.Clone(c.at), mark: c.mark, spans: slices.Clone(c.spans), code: slices.Clone(c.code),
		watched: slices.Clone(c.watched), files: slices.Clone(c.files), pages: maps.Clone(c.pages)}
	for _, s := range c.suspects {
		n.suspects = append(n.suspects, s.copied())
	}
	return n
}

// chances are the instructions that this process has found in files.
var chances struct {
	sync.Mutex
	files map[fileKey]*code.Findings
}

// chanceIn finds the instructions of an open file. The result for a file that changes must not be kept.
func chanceIn(fd int, changes bool) (*code.Findings, error) {
	key, err := keyOf(fd)
	if err != nil {
		return nil, err
	}
	chances.Lock()
	defer chances.Unlock()
	if found, ok := chances.files[key]; ok && !changes {
		return found, nil
	}
	find := searchFile
	if !changes && key.size >= leastKept {
		find = searchOnce
	}
	found, err := find(fd, key)
	if err != nil {
		return nil, err
	}
	if !changes {
		if chances.files == nil {
			chances.files = map[fileKey]*code.Findings{}
		}
		chances.files[key] = found
	}
	return found, nil
}

// searchFile searches an open file.
func searchFile(fd int, key fileKey) (*code.Findings, error) {
	file, err := contents(fd, key.size)
	if err != nil {
		return nil, err
	}
	return code.Chance(file), nil
}

// searchOnce searches an open file, unless one of the user's runs has searched it before.
func searchOnce(fd int, key fileKey) (*code.Findings, error) {
	if found := findings.read(keptByStat(key)); found != nil {
		return found, nil
	}
	file, err := contents(fd, key.size)
	if err != nil {
		return nil, err
	}
	found := findings.read(keptByDigest(file))
	if found == nil {
		found = code.Chance(file)
		findings.write(keptByDigest(file), found)
	}
	findings.write(keptByStat(key), found)
	return found, nil
}

// TrapChance puts breakpoints at the instructions of chance in a map that a thread's process has just made of a part of a file: fd is an
// open file with the same bytes. changes says that the world writes to it. Where nothing proves that bytes are such an instruction, it watches
// their pages instead. It reports the first instruction that it could not trap, or "", and what of the map was not searched.
func (m *Machine) TrapChance(id ThreadID, fd int, changes bool, addr, size, offset uint64) (untrapped string, rest []machine.Span) {
	if m.leaks.Instructions {
		return "", nil
	}
	t := m.get(id)
	found, err := chanceIn(fd, changes)
	if err != nil {
		return "", []machine.Span{{From: addr, To: addr + size}}
	}
	m.placesOf(t).executable(addr, addr+size)
	proven := found.Found
	var spared []code.Found
	if m.Contrast && !changes {
		proven, spared = nil, proven
	}
	untrapped = m.trapAll(t, proven, addr, size, offset)
	if name := m.suspectAll(t, spared, found.Unproven, changes, addr, size, offset); untrapped == "" {
		untrapped = name
	}
	for _, part := range found.Unsearched(offset, size, pageSize) {
		from := addr + part.Offset - offset
		rest = append(rest, machine.Span{From: from, To: from + part.Size})
	}
	if !changes {
		m.searched(t, addr, size, offset, rest)
	}
	return untrapped, rest
}

// trappable reports whether an instruction needs a breakpoint on this machine: the processor may trap it by itself, for Linux or for the engine.
func (m *Machine) trappable(kind code.Kind) bool {
	switch kind {
	case code.SGDT, code.SIDT, code.SLDT, code.STR, code.SMSW:
		return !preventsUserMode()
	case code.CPUID:
		return !m.cpuidTraps
	}
	return true
}

// preventsUserMode reports whether processor and kernel have user-mode instruction prevention (UMIP): sgdt, sidt, sldt, str and smsw trap, and
// Linux answers them with constants (arch/x86/kernel/umip.c).
var preventsUserMode = sync.OnceValue(func() bool {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, flags, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			return slices.Contains(strings.Fields(flags), "umip")
		}
	}
	return false
})

// Bounds of what is looked at of the code that a program has made.
const (
	madeAtOnce   = 1 << 20
	madeOverlaps = 128     // of one part with the next: an instruction is distinguished from data by what is before it
	madeMost     = 1 << 34 // of all addresses at which there may be code
	madeLooked   = 1 << 16 // of places that look like an instruction
)

// MadeChance looks through memory in which a thread's process may execute what was not in a file for an instruction that no run repeats.
// It reports too many places that look like one.
func (m *Machine) MadeChance(id ThreadID, from, to uint64) (name string, tooMuch bool) {
	if m.leaks.Instructions {
		return "", false
	}
	t, looked := m.get(id), 0
	m.placesOf(t).executable(from, to)
	return m.madeChance(t, from, to, &looked)
}

// madeChance is MadeChance; looked counts the places that look like such an instruction.
func (m *Machine) madeChance(t *thread, from, to uint64, looked *int) (name string, tooMuch bool) {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.tid)) // of memory that may be executed and not read, too
	if err != nil {
		return "", true
	}
	defer memory.Close()
	b := make([]byte, min(madeAtOnce, to-from))
	for at := from; at < to; {
		n, _ := memory.ReadAt(b[:min(uint64(len(b)), to-at)], int64(at))
		t.chance.hidden(at, b[:n]) // while breakpoints lie there: a block may begin with such an instruction
		t.traps.restored(at, b[:n])
		t.unbroken(at, b[:n])
		t.chance.hidden(at, b[:n])
		found, places := code.InCode(b[:n])
		if len(found) > 0 {
			return found[0].Kind.String(), false
		}
		if *looked += places; places == code.MostInCode || *looked > madeLooked {
			return "", true
		}
		switch {
		case n < pageSize: // what is not mapped
			at = pageDown(at) + pageSize
		case n == len(b):
			at += uint64(n) - madeOverlaps
		default:
			at += uint64(n)
		}
	}
	return "", false
}

// AllMadeChance searches all memory that a thread's process may execute, as MadeChance does, except for pages that still have their file's
// content. It also reports too much such memory.
func (m *Machine) AllMadeChance(id ThreadID) (name string, tooMuch bool) {
	if m.leaks.Instructions {
		return "", false
	}
	all, looked := uint64(0), 0
	for line := range strings.Lines(m.Maps(id)) {
		l, ok := machine.ParseMap(line)
		if !ok || !l.Executable || machine.Engine(l.Start, l.End) || l.Start > machine.LastAddress {
			continue
		}
		if all += l.End - l.Start; all > madeMost {
			return "", true
		}
		if name, tooMuch = m.madeInMap(m.get(id), &l, fileOf(line), &looked); name != "" || tooMuch {
			return name, tooMuch
		}
	}
	return "", false
}

// madeInMap searches those pages of one map that are in memory.
func (m *Machine) madeInMap(t *thread, l *machine.RealMap, file string, looked *int) (name string, tooMuch bool) {
	for from := l.Start; from < l.End; {
		pages := make([]dump.Page, min((l.End-from)/pageSize, madeAtOnce))
		if !m.Pages(t.id, from, pages) {
			return "", true
		}
		address := func(i int) uint64 { return from + uint64(i)*pageSize }
		wanted := make([]bool, len(pages)+1)
		for i, p := range pages {
			wanted[i] = p != dump.Absent && !t.asSearched(l, file, address(i), p)
		}
		for i := 0; i < len(pages); i++ {
			first := i
			for wanted[i] {
				i++
			}
			if first == i {
				continue
			}
			if name, tooMuch = m.madeChance(t, address(first), address(i), looked); name != "" || tooMuch {
				return name, tooMuch
			}
		}
		from = address(len(pages))
	}
	return "", false
}

func (m *Machine) trapAll(t *thread, found []code.Found, addr, size, offset uint64) (untrapped string) {
	span := false
	page := &codePage{}
	for i := range found {
		f := &found[i]
		if f.Offset < offset || f.Offset >= offset+size || !m.trappable(f.Kind) {
			continue
		}
		trapped, there := m.trap(t, f, addr+f.Offset-offset, page)
		span = span || trapped
		if there && !trapped && untrapped == "" {
			untrapped = f.Kind.String()
		}
	}
	if span {
		t.chance.spans = append(t.chance.spans, [2]uint64{addr, addr + size})
	}
	return untrapped
}

// codePage is a page of a program's code as it is now, while breakpoints are put into it: libraries have several in one.
type codePage struct {
	from  uint64
	known bool
	bytes [pageSize]byte
}

// part gives some bytes of the program, nil where they cannot be read. What does not lie in one page is read by itself.
func (p *codePage) part(t *thread, at uint64, size int) []byte {
	from := pageDown(at)
	if at+uint64(size) > from+pageSize {
		p.known = false
		b := make([]byte, size)
		return b[:t.see(at, b)]
	}
	if !p.known || p.from != from {
		p.from, p.known = from, t.see(from, p.bytes[:]) == pageSize
	}
	if !p.known {
		return nil
	}
	return p.bytes[at-from:][:size]
}

// trap puts a breakpoint at an instruction. there is false if something else is at that address than what was searched.
func (m *Machine) trap(t *thread, f *code.Found, at uint64, page *codePage) (trapped, there bool) {
	word := at &^ 7 // it is written as a whole
	size := max(8, int(at-word)+f.Length)
	b := page.part(t, word, size)
	if len(b) != size || string(b[at-word+1:][:f.Length-1]) != string(f.Bytes[1:f.Length]) {
		return false, false
	}
	if len(m.placesOf(t).at) >= maxChancePlaces || !t.pokeByte(b[:8], at, m.Mark()) {
		return false, true
	}
	t.chance.at[at] = f
	return true, true
}

// placesOf makes a thread's places, which all threads of its address space share.
func (m *Machine) placesOf(t *thread) *chancePlaces {
	if t.chance == nil {
		t.chance = &chancePlaces{at: map[uint64]*code.Found{}, mark: m.Mark()}
		for _, o := range m.threads {
			if o.space == t.space {
				o.chance = t.chance
			}
		}
	}
	return t.chance
}

// setByte writes one byte into a process' own copy of a page, whatever its protection, and reports whether it could. A page that is
// shared has no copy of its own.
func (m *Machine) setByte(t *thread, at uint64, v byte) bool {
	place := at &^ 7
	var word [8]byte
	if t.see(place, word[:]) != len(word) {
		return false
	}
	return t.pokeByte(word[:], at, v)
}

// pokeByte is setByte where the word around the byte is known.
func (t *thread) pokeByte(word []byte, at uint64, v byte) bool {
	place := at &^ 7
	word[at-place] = v
	return ptrace(unix.PTRACE_POKETEXT, t.tid, uintptr(place), uintptr(binary.LittleEndian.Uint64(word))) == 0
}

// Mark returns the instruction byte of the run's breakpoints.
func (m *Machine) Mark() byte {
	if m.Contrast {
		return hlt
	}
	return int3
}

// trapSignal is the signal with which a thread stops at a breakpoint.
func (m *Machine) trapSignal() syscall.Signal {
	if m.Contrast {
		return unix.SIGSEGV
	}
	return unix.SIGTRAP
}

// trapped deals with a breakpoint of the engine at which a thread has trapped. It reports whether it was one.
func (m *Machine) trapped(t *thread, stop *machine.Stop) (ours, goesOn bool) {
	if int32(binary.LittleEndian.Uint32(stop.Info[8:])) != siKernel {
		return false, false
	}
	at := t.load().Rip
	if !m.Contrast {
		at--
	}
	f := t.chance.find(t, at)
	if f == nil {
		return m.hit(t, at, stop)
	}
	m.covers(t, at)
	r := t.load()
	r.Rip = at
	t.dirty = true
	if m.emulate(t, &f.Instruction) {
		m.unforce(t, m.trapSignal())
		t.at = atStart
		m.watch.continues()
		return true, true
	}
	// The processor would raise a general protection fault.
	stop.Signal = int(unix.SIGSEGV)
	stop.Info = [128]byte{}
	binary.LittleEndian.PutUint32(stop.Info[0:], uint32(unix.SIGSEGV))
	binary.LittleEndian.PutUint32(stop.Info[8:], siKernel)
	ptrace(unix.PTRACE_SETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(&stop.Info)))
	return true, false
}

// find gives the instruction whose breakpoint lies at an address, if the process still has that code there.
func (c *chancePlaces) find(t *thread, at uint64) *code.Found {
	if c == nil || c.at[at] == nil {
		return nil
	}
	f := c.at[at]
	var b [16]byte
	n := t.see(at, b[:f.Length])
	if n != f.Length || b[0] != c.mark || string(b[1:n]) != string(f.Bytes[1:n]) {
		return nil
	}
	return f
}

// hasPage reports whether a page has such a breakpoint.
func (c *chancePlaces) hasPage(page uint64) bool {
	if c == nil {
		return false
	}
	for at := range c.at {
		if at&^(pageSize-1) == page {
			return true
		}
	}
	return false
}

// restored puts the instructions' own bytes over breakpoints in what was read of a process' memory.
func (c *chancePlaces) restored(addr uint64, p []byte) {
	if c == nil {
		return
	}
	end := addr + uint64(len(p))
	for _, s := range c.spans {
		if s[0] >= end || s[1] <= addr {
			continue
		}
		for at, f := range c.at {
			if at >= addr && at < end && p[at-addr] == c.mark {
				p[at-addr] = f.Bytes[0]
			}
		}
		return
	}
}

// hidden puts breakpoints all over the instructions at which they are set: what is behind a prefix looks like an instruction of its own.
func (c *chancePlaces) hidden(addr uint64, p []byte) {
	if c == nil {
		return
	}
	for at, f := range c.at {
		for i := range uint64(f.Length) {
			if at >= addr && at-addr+i < uint64(len(p)) && p[at-addr] == c.mark {
				p[at-addr+i] = c.mark
			}
		}
	}
	for _, s := range c.suspects {
		if s.changed {
			continue
		}
		for _, f := range slices.Concat(s.spared, s.window.Open()) {
			for i := range uint64(f.Length) {
				if at := f.Offset + i; at >= addr && at-addr < uint64(len(p)) && p[at-addr] == f.Bytes[i] {
					p[at-addr] = c.mark
				}
			}
		}
	}
}

// see reads memory that the process itself may be allowed to execute alone.
func (t *thread) see(addr uint64, p []byte) int {
	if n := transfer(unix.SYS_PROCESS_VM_READV, t.tid, addr, p); n == len(p) {
		return n
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.tid))
	if err != nil {
		return 0
	}
	defer memory.Close()
	n, _ := memory.ReadAt(p, int64(addr))
	return n
}

// registers are the general registers in the order of their numbers in instructions.
func registers(r *machine.Regs) [16]*uint64 {
	return [16]*uint64{&r.Rax, &r.Rcx, &r.Rdx, &r.Rbx, &r.Rsp, &r.Rbp, &r.Rsi, &r.Rdi, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15}
}

// place is the address of an instruction's operand in memory.
func place(r *machine.Regs, in *code.Instruction) uint64 {
	all := registers(r)
	a := uint64(in.Disp)
	if in.Base != code.NoRegister {
		a += *all[in.Base]
	}
	if in.Index != code.NoRegister {
		a += *all[in.Index] * in.Scale
	}
	if in.Relative {
		a += r.Rip + uint64(in.Length)
	}
	if in.Short {
		a = uint64(uint32(a))
	}
	switch {
	case in.FS:
		a += r.Fs_base
	case in.GS:
		a += r.Gs_base
	}
	return a
}

// Flags of the processor.
const (
	carryFlag  = 1 << 0
	parityFlag = 1 << 2
	adjustFlag = 1 << 4
	zeroFlag   = 1 << 6
	signFlag   = 1 << 7
	overFlag   = 1 << 11
	arithmetic = carryFlag | parityFlag | adjustFlag | zeroFlag | signFlag | overFlag
)

// emulate executes an instruction of chance for a thread that stopped before it, and leaves the thread behind it. false means
// that the processor would raise a general protection fault.
func (m *Machine) emulate(t *thread, in *code.Instruction) bool {
	r := t.load()
	all := registers(r)
	next := r.Rip + uint64(in.Length)
	put := func(register int, v uint64) {
		switch to := all[register]; {
		case in.Wide:
			*to = v
		case in.Narrow:
			*to = *to&^0xffff | v&0xffff
		default:
			*to = v & 0xffffffff
		}
	}
	switch in.Kind {
	case code.RDRAND, code.RDSEED:
		var b [8]byte
		if m.Random != nil {
			m.Random(t.id, b[:])
		}
		put(in.Register, binary.LittleEndian.Uint64(b[:]))
		r.Eflags = r.Eflags&^arithmetic | carryFlag
	case code.RDPID:
		*all[in.Register] = 0
	case code.LSL:
		selector := uint64(0)
		if in.Register != code.NoRegister {
			selector = *all[in.Register] & 0xffff
		} else {
			var b [2]byte
			if m.readAt(t, place(r, in), b[:]) != len(b) {
				return false
			}
			selector = uint64(binary.LittleEndian.Uint16(b[:]))
		}
		r.Eflags &^= zeroFlag
		if limit, ok := segmentLimit(selector); ok {
			put(in.Reg, limit)
			r.Eflags |= zeroFlag
		}
	case code.CPUID:
		v := m.identify(uint32(r.Rax), uint32(r.Rcx))
		r.Rax, r.Rbx, r.Rcx, r.Rdx = uint64(v[0]), uint64(v[1]), uint64(v[2]), uint64(v[3])
	case code.XGETBV:
		s := m.extended(t)
		switch uint32(r.Rcx) {
		case 0:
			r.Rax, r.Rdx = s.enabled&0xffffffff, s.enabled>>32
		case 1:
			used := s.used() & s.enabled
			r.Rax, r.Rdx = used&0xffffffff, used>>32
		default:
			return false
		}
	case code.XSAVE, code.XSAVEOPT, code.XSAVEC:
		if !m.save(t, in, place(r, in)) {
			return false
		}
	case code.FNSTENV, code.FNSAVE, code.FXSAVE:
		if !m.saveX87(t, in, place(r, in)) {
			return false
		}
	case code.XBEGIN: // every transaction aborts, as if it had been interrupted
		r.Rax = 0
		next += uint64(in.Disp)
	case code.UMWAIT:
		r.Eflags &^= arithmetic
	case code.SGDT, code.SIDT:
		var b [10]byte // a limit of 0 and an address, as Linux answers where the processor can trap them (arch/x86/kernel/umip.c)
		binary.LittleEndian.PutUint64(b[2:], map[code.Kind]uint64{code.SGDT: 0xfffffffffffe0000, code.SIDT: 0xffffffffffff0000}[in.Kind])
		if m.writeAt(t, place(r, in), b[:]) != len(b) {
			return false
		}
	case code.SLDT, code.STR, code.SMSW:
		v := map[code.Kind]uint64{code.SLDT: 0, code.STR: 0x40, code.SMSW: 0x80050033}[in.Kind]
		if in.Register != code.NoRegister {
			put(in.Register, v)
		} else if b := [2]byte{byte(v), byte(v >> 8)}; m.writeAt(t, place(r, in), b[:]) != len(b) {
			return false
		}
	}
	r.Rip = next
	t.dirty = true
	return true
}

// segmentLimit is the limit of a segment that programs may use, as LSL gives it (asm/segment.h). That of the segment by which Linux shows
// the number of the CPU is 0: the first one.
func segmentLimit(selector uint64) (limit uint64, ok bool) {
	if selector&4 != 0 {
		return 0, false
	}
	switch selector >> 3 {
	case userCS32 >> 3, userSS >> 3, userCS >> 3:
		return 0xffffffff, true
	case cpuNode >> 3:
		return 0, true
	}
	return 0, false
}

const (
	userCS32 = 0x23
	cpuNode  = 0x7b
)

// unmapVDSO takes the real vDSO from a fresh program, and the pages with the machine's time that come with it. vdso is its address.
func (m *Machine) unmapVDSO(t *thread, vdso uint64) bool {
	if m.vdsoAround == [2]uint64{} {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", t.tgid))
		from, to := vdsoRange(string(list))
		if vdso < from || vdso >= to {
			return false
		}
		m.vdsoAround = [2]uint64{vdso - from, to - vdso}
	}
	from, to := vdso-m.vdsoAround[0], vdso+m.vdsoAround[1]
	return m.execute(t, unix.SYS_MUNMAP, from, to-from) == 0
}

// vdsoRange is the range of the real vDSO and its data in a list of maps (proc_pid_maps(5)).
func vdsoRange(list string) (from, to uint64) {
	for line := range strings.Lines(list) {
		var a, b uint64
		name := line[strings.LastIndexByte(line, ' ')+1:]
		if !strings.HasPrefix(name, "[vdso]") && !strings.HasPrefix(name, "[vvar") {
			continue
		}
		if n, _ := fmt.Sscanf(line, "%x-%x", &a, &b); n != 2 {
			continue
		}
		if to == 0 {
			from = a
		}
		from, to = min(from, a), max(to, b)
	}
	return from, to
}
