//go:build bloodhound_live && linux && amd64

package checkpoint

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// fork stops the world and forks this process. In the child, which gets the pid 0, one goroutine runs: the caller. clock is the function
// that the child's runtime calls for the time.
func fork(clock uintptr) (pid, errno int, stoppedNs int64)

// clockAddress is the address of frozenClock.
func clockAddress() uintptr

// wallNow and monotonicNow are the time at which a copy was made, in seconds and nanoseconds.
var wallNow, monotonicNow unix.Timespec

func errno(n uint32) error { return unix.Errno(n) }

// taking is held while a checkpoint is made.
var taking sync.Mutex

// Capture makes a checkpoint of this process. It takes inputs when it is ready.
func Capture(p *Plan) (*Checkpoint, error) {
	taking.Lock()
	defer taking.Unlock()
	requestsRead, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer requestsRead.Close()
	outcomes, outcomesWrite, err := os.Pipe()
	if err != nil {
		requests.Close()
		return nil, err
	}
	defer outcomesWrite.Close()
	failed := func(err error) (*Checkpoint, error) {
		requests.Close()
		outcomes.Close()
		return nil, err
	}
	e := explorers{Plan: p, in: int(requestsRead.Fd()), out: int(outcomesWrite.Fd()), parent: os.Getpid()}
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &wallNow); err != nil {
		return failed(err)
	}
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonicNow); err != nil {
		return failed(err)
	}
	pid, code, stoppedNs := fork(clockAddress())
	if p.Forked != nil {
		p.Forked()
	}
	if code != 0 {
		return failed(fmt.Errorf("cannot fork a checkpoint: %w", unix.Errno(code)))
	}
	if pid == 0 {
		e.serve()
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return failed(err)
	}
	return &Checkpoint{Client: Connect(requests, outcomes), PID: pid, Paused: time.Duration(stoppedNs), process: process}, nil
}
