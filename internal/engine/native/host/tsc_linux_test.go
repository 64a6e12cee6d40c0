//go:build linux && amd64

package host

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// onOwnThread runs f where nothing else runs afterwards: the thread ends with it.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// Threads that gave up the TSC end while others contend for the runtime's locks.
func TestThreadsEnd(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for range 8 { // makers of threads and garbage
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					onOwnThread(func() { _ = make([]byte, 1<<16) })
				}
			}
		}()
	}
	for range 300 {
		onOwnThread(func() {
			m, err := NewMachine(&Tracer{}, Leaks{}, 1000, false)
			if err != nil {
				t.Error(err)
				return
			}
			m.Close()
		})
	}
}

// A thread that gave up the TSC still knows the time, is answered when it reads the TSC, and panics at a nil pointer.
func TestGiveUpTSC(t *testing.T) {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		needs.Missing(t, "writable and executable memory", err)
	}
	defer unix.Munmap(code)
	function := func(offset int, b ...byte) func() uint64 {
		copy(code[offset:], b)
		entry := uintptr(unsafe.Pointer(&code[offset]))
		pointer := &entry
		return *(*func() uint64)(unsafe.Pointer(&pointer))
	}
	// What follows the instruction: shl rdx, 32; or rax, rdx; ret
	rdtsc := function(0, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3)
	rdtscp := function(64, 0x0f, 0x01, 0xf9, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3)

	onOwnThread(func() {
		var before, after unix.Timespec
		unix.ClockGettime(unix.CLOCK_REALTIME, &before)
		if err := giveUpTSC(); err != nil {
			t.Log(err)
			return
		}
		defer takeTSC()
		reads := atomic.LoadUint64(&trappedReads)
		now := time.Now()
		unix.ClockGettime(unix.CLOCK_REALTIME, &after)
		if now.UnixNano() < before.Nano() || now.UnixNano() > after.Nano() {
			t.Errorf("the time is %v, between %v and %v", now.UnixNano(), before.Nano(), after.Nano())
		}
		if n := atomic.LoadUint64(&trappedReads); n != reads {
			t.Errorf("%d clock reads were trapped", n-reads)
		}
		a, b := rdtsc(), rdtscp()
		if a == 0 || b < a {
			t.Errorf("rdtsc gives %d, then rdtscp %d", a, b)
		}
		if n := atomic.LoadUint64(&trappedReads); n != reads+2 {
			t.Errorf("%d reads of the TSC were trapped, want 2", n-reads)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a nil pointer was read")
				}
			}()
			var p *int
			*p++
		}()
	})
}
