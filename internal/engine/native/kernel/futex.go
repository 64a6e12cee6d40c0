//go:build linux && amd64

package kernel

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Waiter is a thread in a futex' queue.
type Waiter struct {
	Thread ThreadID
	Bits   uint32
	PI     bool
}

// FutexKey names the word at an address: by address space, or by the object that is mapped there. As on Linux a word
// of private memory has another name for calls that do not say that it is private.
func (k *Kernel) FutexKey(t *Thread, addr uint64, private bool) Key {
	p := k.Proc(t)
	if private {
		return Key{Kind: KeySpace, ID: p.Space, Addr: addr}
	}
	if len(k.Spaces[p.Space].Regions) > 0 {
		if key, ok := k.sharedKey(t, addr); ok {
			return key
		}
	}
	return Key{Kind: KeySpace, ID: p.Space, Addr: addr | 1}
}

// sharedKey names a word of shared memory. munmap and mremap pass the engine by, so the real map of the process says
// what is there now.
func (k *Kernel) sharedKey(t *Thread, addr uint64) (Key, bool) {
	m, ok := machine.MapAt(k.M.Maps(t.ID), addr)
	if !ok || !m.Shared {
		return Key{}, false
	}
	if m.Blob != 0 {
		return Key{Kind: KeyBlob, ID: m.Blob, Addr: m.Offset + addr - m.Start}, true
	}
	if f := k.Spaces[k.Proc(t).Space].Mapped(&m); f != nil && f.Object != (Key{}) { // a file of the base
		return Key{Kind: f.Object.Kind, ID: f.Object.ID, Addr: m.Offset + addr - m.Start}, true
	}
	return Key{}, false
}

// FutexWake wakes up to n waiters whose bits match.
func (s *State) FutexWake(key Key, n int, bits uint32) Result {
	woken := 0
	list := s.Futexes[key]
	for i := 0; i < len(list) && woken < max(n, 1); {
		if list[i].Bits&bits == 0 || list[i].PI {
			i++
			continue
		}
		t := s.Threads[list[i].Thread]
		list = slices.Delete(list, i, i+1)
		t.Call.Woken = true
		s.Awake(t)
		woken++
	}
	s.SetFutex(key, list)
	return Result(woken)
}

// SetFutex replaces the threads that wait on a futex.
func (s *State) SetFutex(key Key, list []Waiter) {
	if len(list) == 0 {
		delete(s.Futexes, key)
	} else {
		s.Futexes[key] = list
	}
}

// FutexWakeAt wakes waiters of a word of an ending thread's memory: Linux names it as a shared one then.
func (k *Kernel) FutexWakeAt(t *Thread, addr uint64, n int) {
	k.FutexWake(k.FutexKey(t, addr, false), n, ^uint32(0))
}
