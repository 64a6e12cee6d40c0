//go:build linux && amd64

package daemon

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// churn makes checkpoints and takes them down, so many, in a process of its own that a test kills.
func churn(process, times string) {
	var pid, n int
	fmt.Sscan(process, &pid)
	fmt.Sscan(times, &n)
	d, err := Attach(pid)
	fmt.Println("attached")
	for i := 0; err == nil && i < n; i++ {
		var c *Checkpoint
		if c, err = d.TakeCheckpoint(); err == nil {
			err = c.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// unharmed checks that a daemon is as it was, after its tracer was killed.
func unharmed(t *testing.T, l *live, how string, blocked string) {
	t.Helper()
	sum, _, _, faults, childless, _, _ := l.report()
	if faults != 0 && how != "epoll" { // whose wait fails when a process is stopped (signal(7))
		t.Errorf("%d calls failed", faults)
	}
	if childless != 1 {
		t.Error("the daemon has a child")
	}
	if got := l.ask("add 1"); got != fmt.Sprintf("sum %d", sum+1) {
		t.Error(got)
	}
	s, err := status(l.cmd.Process.Pid)
	for tries := 0; err == nil && s["SigBlk"] != blocked && tries < 1000; tries++ { // while the daemon's handler runs, its signal is blocked
		time.Sleep(time.Millisecond)
		s, err = status(l.cmd.Process.Pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s["SigBlk"] != blocked || s["TracerPid"] != "0" {
		t.Errorf("the daemon blocks signals %s instead of %s, and is traced by %s", s["SigBlk"], blocked, s["TracerPid"])
	}
	gone(t, copies(t, l)...)
}

// A daemon goes on whenever the process that makes checkpoints of it is killed. It is killed at random moments while the daemon works.
func TestControllersAreKilledAtRandom(t *testing.T) {
	for _, how := range []string{"poll", "select", "epoll", "alarm"} {
		t.Run(how, func(t *testing.T) {
			l := start(t, how, 20, 16)
			s, _ := status(l.cmd.Process.Pid)
			want := l.ask("work")
			var over atomic.Bool
			done := make(chan error)
			go func() {
				answers, n := 0, 0
				for !over.Load() {
					fmt.Fprintln(l.conn, "add 1")
					sum, err := l.reader.ReadString('\n')
					if err != nil || sum != fmt.Sprintf("sum %d\n", n+2) {
						done <- fmt.Errorf("after %d answers: %q (%v)", answers, sum, err)
						return
					}
					n++
					fmt.Fprintln(l.conn, "work")
					if work, err := l.reader.ReadString('\n'); err != nil || work != want+"\n" {
						done <- fmt.Errorf("after %d answers: %q instead of %q (%v)", answers, work, want, err)
						return
					}
					answers++
				}
				done <- nil
			}()
			random := rand.New(rand.NewPCG(1, 2))
			killed := 0
			for killed < 50 {
				cmd := exec.Command(os.Args[0], "churn", fmt.Sprint(l.cmd.Process.Pid), "1000000")
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(random.IntN(30_000)) * time.Microsecond) // a random moment
				cmd.Process.Kill()
				if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the controller ended: %v", err)
				}
				killed++
			}
			over.Store(true)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			unharmed(t, l, how, s["SigBlk"])
		})
	}
}

// It is killed before each of the calls by which it works on the daemon, in turn.
func TestControllersAreKilledAtEachCall(t *testing.T) {
	for _, how := range []string{"epoll", "alarm"} {
		t.Run(how, func(t *testing.T) {
			l := start(t, how, 20, 0)
			s, _ := status(l.cmd.Process.Pid)
			calls := 0
			for over := false; !over; calls++ {
				result := make(chan error)
				go func() {
					runtime.LockOSThread() // which ends with this goroutine
					var err error
					over, err = killAt(l.cmd.Process.Pid, calls)
					result <- err
				}()
				if err := <-result; err != nil {
					t.Fatal(err)
				}
				unharmed(t, l, how, s["SigBlk"])
				if t.Failed() {
					t.Fatalf("after call %d", calls)
				}
			}
			if calls < 20 {
				t.Errorf("only %d calls", calls)
			}
			t.Logf("%d calls", calls)
		})
	}
}

// killAt has a process make a checkpoint of a daemon, and kills it before a call of those that work on other processes. It reports whether the
// daemon had been let go before.
func killAt(daemon, call int) (over bool, err error) {
	cmd := exec.Command(os.Args[0], "churn", fmt.Sprint(daemon), "1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	pid := cmd.Process.Pid
	defer cmd.Process.Kill()
	const here = 0x20000000 // __WNOTHREAD: what this thread traces
	var s unix.WaitStatus
	if _, err := unix.Wait4(pid, &s, unix.WALL|here, nil); err != nil {
		return false, err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_EXITKILL); err != nil {
		return false, err
	}
	thread, signal, n := pid, 0, 0
	inside := map[int]bool{}
	for {
		if err := ptrace(unix.PTRACE_SYSCALL, thread, 0, uintptr(signal)); err != nil && err != unix.ESRCH {
			return false, err
		}
		if thread, err = unix.Wait4(-1, &s, unix.WALL|here, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return false, err
		}
		signal = 0
		switch {
		case !s.Stopped():
			if thread == pid {
				if s.Exited() && s.ExitStatus() != 0 {
					return false, errors.New("the controller failed")
				}
				return true, nil
			}
		case s.StopSignal() == unix.SIGTRAP|0x80:
			if inside[thread] = !inside[thread]; !inside[thread] {
				continue
			}
			var r unix.PtraceRegs
			if err := unix.PtraceGetRegs(thread, &r); err != nil {
				return false, err
			}
			switch r.Orig_rax {
			case unix.SYS_PTRACE, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_WAIT4:
				if n == call {
					unix.Kill(pid, unix.SIGKILL)
					for thread != pid || s.Stopped() { // it ends after its other threads
						if thread, err = unix.Wait4(-1, &s, unix.WALL|here, nil); err != nil && err != unix.EINTR {
							return false, err
						}
					}
					return over, nil
				}
				n++
				if r.Orig_rax == unix.SYS_PTRACE && r.Rdi == unix.PTRACE_DETACH && r.Rsi == uint64(daemon) {
					over = true
				}
			}
		case event(s) == 0 && s.StopSignal() != unix.SIGSTOP && s.StopSignal() != unix.SIGTRAP:
			signal = int(s.StopSignal())
		}
	}
}
