package guest

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// out writes n bytes to an I/O port.
//
//go:noescape
func out(port uint16, p *byte, n int)

// bell asks the engine (package wire).
type bell struct {
	mu            sync.Mutex
	table, window []byte
	ring          [wire.BellBytes]byte
	asked         uint64 // requests so far
}

func newBell() (*bell, error) {
	b := &bell{}
	memory, err := unix.Mmap(-1, 0, wire.WindowBytes+wire.PageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	if err := unix.Mlock(memory); err != nil {
		return nil, err
	}
	b.table, b.window = memory[:wire.PageBytes], memory[wire.PageBytes:]
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	physical := func(p *byte) (uint64, error) {
		var entry [8]byte
		if _, err := f.ReadAt(entry[:], int64(uintptr(unsafe.Pointer(p))/wire.PageBytes*8)); err != nil {
			return 0, err
		}
		const present, frames = 1 << 63, 1<<55 - 1 // proc_pid_pagemap(5)
		e := binary.LittleEndian.Uint64(entry[:])
		if e&present == 0 || e&frames == 0 {
			return 0, fmt.Errorf("a pinned page has no physical address")
		}
		return (e & frames) * wire.PageBytes, nil
	}
	for i := range wire.Pages {
		at, err := physical(&b.window[i*wire.PageBytes])
		if err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint64(b.table[wire.TablePages+8*i:], at)
	}
	at, err := physical(&b.table[0])
	if err != nil {
		return nil, err
	}
	copy(b.ring[:], wire.Magic[:])
	binary.LittleEndian.PutUint64(b.ring[8:], at)
	return b, nil
}

// ask makes a request, and returns a copy of the answer. No virtual time passes in between.
func (b *bell) ask(kind int, request []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(request) > len(b.window) {
		panic(fmt.Sprintf("a request of %d bytes", len(request)))
	}
	copy(b.window, request)
	binary.LittleEndian.PutUint64(b.table[wire.TableKind:], uint64(kind))
	binary.LittleEndian.PutUint64(b.table[wire.TableRequest:], uint64(len(request)))
	b.asked++
	binary.LittleEndian.PutUint64(b.table[wire.TableNumber:], b.asked)
	runtime.LockOSThread() // the right to use a port is a thread's
	defer runtime.UnlockOSThread()
	if _, _, errno := unix.Syscall(unix.SYS_IOPERM, wire.Port, 1, 1); errno != 0 {
		panic("ioperm: " + errno.Error())
	}
	out(wire.Port, &b.ring[0], len(b.ring))
	return append([]byte(nil), b.window[:binary.LittleEndian.Uint64(b.table[wire.TableAnswer:])]...)
}
