//go:build linux && amd64

package host

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A world's threads have the TSC trapped. On a switch between such a thread and one that may read it, the kernel
// rewrites the processor's register CR4, and in a virtual machine each write can cost as much as the rest of a stop.
// So the loop's own thread, which runs before and after every one of them, gives the TSC up too. Two things in this
// process may read it there: the machine's vDSO, which is brought to ask the kernel instead, and Go's runtime, for its
// profiles of contention, which is answered by a signal handler.

var (
	segvBefore   uintptr // the handler of SIGSEGV that was there before
	trappedReads uint64  // how often the handler has answered
	prepareTSC   = sync.OnceValue(func() error {
		if err := quietVDSO(); err != nil {
			return err
		}
		return handleSegv()
	})
)

func segvAddress() uintptr

// giveUpTSC makes the calling OS thread one that cannot read the TSC. Where that is not possible all works as well,
// only slower.
func giveUpTSC() error {
	if err := prepareTSC(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_TSC, unix.PR_TSC_SIGSEGV, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_TSC: %w", err)
	}
	before := atomic.LoadUint64(&trappedReads)
	time.Now()
	if atomic.LoadUint64(&trappedReads) != before {
		takeTSC()
		return fmt.Errorf("the vDSO of this kernel always reads the TSC")
	}
	return nil
}

// takeTSC lets the calling OS thread read the TSC again.
func takeTSC() { unix.Prctl(unix.PR_SET_TSC, unix.PR_TSC_ENABLE, 0, 0, 0) }

// quietVDSO puts zeroes in place of the data that the kernel shares with this process' vDSO: they say that there is no
// clock that a program could read by itself (VDSO_CLOCKMODE_NONE), and then the vDSO makes the system call. A
// read that is under way in another thread finds that the sequence count has moved, and starts again.
func quietVDSO() error {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uintptr
		if !strings.HasSuffix(lines.Text(), "[vvar]") {
			continue
		}
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil {
			return err
		}
		_, _, errno := syscall.RawSyscall6(unix.SYS_MMAP, from, to-from, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0), 0)
		if errno != 0 {
			return fmt.Errorf("mmap over [vvar]: %w", errno)
		}
		return nil
	}
	return nil // no such data: the vDSO, if there is one, makes system calls
}

// handleSegv puts segvHandler before Go's handler of SIGSEGV.
func handleSegv() error {
	var sa sigaction
	if errno := rtSigaction(unix.SIGSEGV, nil, &sa); errno != 0 {
		return fmt.Errorf("sigaction: %w", errno)
	}
	segvBefore, sa.handler = sa.handler, segvAddress()
	if errno := rtSigaction(unix.SIGSEGV, &sa, nil); errno != 0 {
		return fmt.Errorf("sigaction: %w", errno)
	}
	return nil
}
