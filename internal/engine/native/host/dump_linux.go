//go:build linux && amd64

package host

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

const (
	ntX86Xstate    = 0x202 // linux/elf.h
	maxXStateBytes = 16 << 10
)

// Registers gives those of a thread whose process is about to end. A call at which it stopped is left as it is.
func (m *Machine) Registers(id ThreadID) (machine.Regs, bool) {
	t := m.get(id)
	switch t.at { // no program shall see what the call would have done
	case atPassed:
		t.at = atNotice
	case atLet:
		t.at = atCall
	}
	m.withdraw(t)
	if t.loaded {
		return t.regs, true
	}
	errno := ptrace(unix.PTRACE_GETREGS, t.tid, 0, uintptr(unsafe.Pointer(&t.regs)))
	return t.regs, errno == 0
}

// Look gives the registers of a thread whose process continues. A call that was answered is over then, as if the thread had run on.
func (m *Machine) Look(id ThreadID) (machine.Regs, bool) {
	t := m.get(id)
	m.withdraw(t)
	if t.queued != nil && t.queued.Kind == machine.StopExit {
		return machine.Regs{}, false
	}
	return *t.load(), true
}

// XState is the extended state of a stopped thread as NT_X86_XSTATE has it, or what FXSAVE stores where this machine gives no more.
func (m *Machine) XState(id ThreadID) []byte {
	t := m.get(id)
	area := make([]byte, maxXStateBytes)
	iov := unix.Iovec{Base: &area[0], Len: uint64(len(area))}
	if ptrace(unix.PTRACE_GETREGSET, t.tid, ntX86Xstate, uintptr(unsafe.Pointer(&iov))) == 0 {
		steadyPointers(area)
		return dump.OneForm(area[:iov.Len], components())
	}
	if ptrace(unix.PTRACE_GETFPREGS, t.tid, 0, uintptr(unsafe.Pointer(&area[0]))) == 0 {
		steadyPointers(area)
		return area[:512]
	}
	return nil
}

// Bits of an entry of /proc/PID/pagemap (proc_pid_pagemap(5)).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// Pages describes the pages of a thread's process from an address on.
func (m *Machine) Pages(id ThreadID, addr uint64, pages []dump.Page) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", m.get(id).tid))
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 8*len(pages))
	if n, err := f.ReadAt(b, int64(addr/pageSize*8)); err != nil || n < len(b) {
		return false
	}
	for i := range pages {
		switch v := binary.LittleEndian.Uint64(b[8*i:]); {
		case v&(pagePresent|pageSwapped) == 0:
			pages[i] = dump.Absent
		case v&pageOfFile != 0:
			pages[i] = dump.OfFile
		default:
			pages[i] = dump.Private
		}
	}
	return true
}

// components are the parts of the extended state that this machine has, beyond those of FXSAVE.
func components() (list []dump.Component) {
	for i := 2; i < 63; i++ {
		size, offset, _, _ := cpuid(0xd, uint32(i))
		if size > 0 && offset > 0 {
			list = append(list, dump.Component{Number: i, Offset: int(offset), Size: int(size)})
		}
	}
	return list
}

// maxFileBytes bounds a program or a library that is read whole.
const maxFileBytes = 1 << 30

// ReadFile reads an open file of this process from its start; nil if it cannot be read, or is too long.
func (m *Machine) ReadFile(fd int) []byte {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Size > maxFileBytes {
		return nil
	}
	b := make([]byte, st.Size)
	for read := 0; read < len(b); {
		n, err := unix.Pread(fd, b[read:], int64(read))
		if n <= 0 || err != nil {
			return nil
		}
		read += n
	}
	return b
}
