//go:build linux && amd64

package daemon

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// live is the daemon of testdata, with its only connection.
type live struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	conn   net.Conn
	reader *bufio.Reader
	daemon *Daemon
}

// built is the folder of the daemon's program.
var built string

func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(built, "daemon")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	out, err := exec.Command(needs.Program(t, "gcc"), "-O2", "-ftree-vectorize", "-w", "-pthread", "-o", path, "testdata/daemon.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "hold" {
		hold(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 4 && os.Args[1] == "churn" {
		churn(os.Args[2], os.Args[3])
	}
	var err error
	if built, err = os.MkdirTemp("", "bloodhound-daemon-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// start starts a daemon that waits by a call (how), with a timeout, and has so much memory.
func start(t *testing.T, how string, timeoutMs, mib int) *live {
	t.Helper()
	needs.Unfiltered(t)
	l := &live{t: t, dir: t.TempDir()}
	l.cmd = exec.Command(program(t), how, l.dir, fmt.Sprint(timeoutMs), fmt.Sprint(mib))
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cmd.Process.Kill(); l.cmd.Wait() })
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if l.conn, err = net.Dial("tcp", "127.0.0.1:"+strings.TrimSpace(port)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.conn.Close() })
	l.reader = bufio.NewReader(l.conn)
	l.ask("add 1")
	if l.daemon, err = Attach(l.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return l
}

// ask sends a line to the daemon itself.
func (l *live) ask(line string) string {
	l.t.Helper()
	l.conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintln(l.conn, line)
	answer, err := l.reader.ReadString('\n')
	if err != nil {
		l.t.Fatalf("the daemon does not answer %q: %v", line, err)
	}
	return strings.TrimSpace(answer)
}

// report returns the counters of the daemon.
func (l *live) report() (sum, ticks, alarms, faults, childless, shared, pid int) {
	l.t.Helper()
	text := l.ask("report")
	if _, err := fmt.Sscan(text, &sum, &ticks, &alarms, &faults, &childless, &shared, &pid); err != nil {
		l.t.Fatalf("%q: %v", text, err)
	}
	return
}

func (l *live) takeCheckpoint() *Checkpoint {
	l.t.Helper()
	c, err := l.daemon.TakeCheckpoint()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	return c
}

// peer is the number of the daemon's connection.
func (l *live) peer(c *Checkpoint) int {
	l.t.Helper()
	fd, err := FD(c.Files(), l.conn.LocalAddr().String())
	if err != nil {
		l.t.Fatal(err)
	}
	return fd
}

// try delivers lines to an explorer of a checkpoint.
func (l *live) try(c *Checkpoint, lines ...string) *Outcome {
	l.t.Helper()
	var inputs []Input
	for _, line := range lines {
		inputs = append(inputs, Input{FD: l.peer(c), Data: []byte(line + "\n")})
	}
	o, err := c.Deliver(inputs, Budget{Calls: 10000, CPU: 2 * time.Second})
	if err != nil {
		l.t.Fatal(err)
	}
	return o
}

func text(list []Message) (all string) {
	for _, m := range list {
		all += string(m.Data)
	}
	return all
}

// What is delivered to copies has its effect in each of them alone.
func TestDeliver(t *testing.T) {
	for _, how := range []string{"poll", "ppoll", "select", "epoll", "read", "alarm"} {
		t.Run(how, func(t *testing.T) {
			l := start(t, how, 30000, 0)
			l.takeCheckpoint().Close() // the daemon's call is a restarted one from now on
			c := l.takeCheckpoint()
			for range 3 {
				o := l.try(c, "add 5", "add 6")
				if o.Status != Done || text(o.Outputs) != "sum 6\nsum 12\n" || text(o.Logs) != "added 5\nadded 6\n" || o.Unread != 0 || len(o.Refused) != 0 {
					t.Errorf("%+v", o)
				}
				if to := o.Outputs[0].To; to != l.conn.LocalAddr().String() {
					t.Errorf("an output to %s", to)
				}
				if to := o.Logs[0].To; to != l.dir+"/log" {
					t.Errorf("a log to %s", to)
				}
			}
			if f := strings.Fields(text(l.try(c, "report").Outputs)); len(f) < 4 || f[3] != "0" {
				t.Errorf("a copy had a call that failed: %v", f)
			}
			if got := l.ask("add 0"); got != "sum 1" {
				t.Error(got)
			}
			if log, _ := os.ReadFile(l.dir + "/log"); string(log) != "added 1\nadded 0\n" {
				t.Errorf("%q", log)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			gone(t, c.PID)
			if _, err := c.Deliver(nil, Budget{}); err != ErrEnded {
				t.Error(err)
			}
		})
	}
}

// A copy goes on at each delivery where it was after the one before, until it ends.
func TestACopyGoesOn(t *testing.T) {
	for _, how := range []string{"poll", "select", "epoll", "read"} {
		t.Run(how, func(t *testing.T) {
			l := start(t, how, 30000, 0)
			c := l.takeCheckpoint()
			budget := Budget{Calls: 1000, CPU: time.Second}
			var copies [2]*Copy
			for i := range copies {
				var err error
				if copies[i], err = c.Copy(); err != nil {
					t.Fatal(err)
				}
			}
			ask := func(y *Copy, line string) *Outcome {
				t.Helper()
				o, err := y.Deliver([]Input{{FD: l.peer(c), Data: []byte(line + "\n")}}, budget)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			for i := range 3 {
				for j, y := range copies {
					o := ask(y, fmt.Sprintf("add %d", 10*(j+1)))
					if want := fmt.Sprintf("sum %d\n", 1+10*(j+1)*(i+1)); o.Status != Done || text(o.Outputs) != want || o.Unread != 0 || len(o.Logs) != 1 {
						t.Errorf("%+v instead of %s", o, want)
					}
				}
			}
			if o := ask(copies[0], "exit"); o.Status != Crashed || o.Code != 3 {
				t.Errorf("%+v", o)
			}
			if _, err := copies[0].Deliver(nil, budget); err != ErrEnded {
				t.Error(err)
			}
			if o := ask(copies[1], "add 1"); text(o.Outputs) != "sum 62\n" {
				t.Errorf("%+v", o)
			}
			for range 2 {
				for _, y := range copies {
					if err := y.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			if _, err := copies[1].Deliver(nil, budget); err != ErrEnded {
				t.Error(err)
			}
			if got := l.ask("add 1"); got != "sum 2" {
				t.Error(got)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the kernel had received for the daemon before the checkpoint, a copy reads first; and so does the daemon.
func TestReceivedBytesAreCopied(t *testing.T) {
	l := start(t, "poll", 30000, 0)
	l.ask("nap")
	fmt.Fprintln(l.conn, "add 5")
	c := l.takeCheckpoint()
	if o := l.try(c, "add 6"); o.Status != Done || text(o.Outputs) != "sum 6\nsum 12\n" || o.Unread != 0 {
		t.Errorf("%+v %s", o, text(o.Outputs))
	}
	if got, err := l.reader.ReadString('\n'); err != nil || got != "sum 6\n" {
		t.Errorf("%q (%v)", got, err)
	}
}

// A copy has the process id of the daemon, and its clocks stand still at the time of the checkpoint.
func TestCopiesBelieveToBeTheDaemon(t *testing.T) {
	l := start(t, "poll", 30000, 0)
	before := time.Now()
	c := l.takeCheckpoint()
	after := time.Now()
	var pid int
	fmt.Sscan(strings.Fields(text(l.try(c, "report").Outputs))[6], &pid)
	if pid != l.cmd.Process.Pid {
		t.Errorf("process %d", pid)
	}
	time.Sleep(50 * time.Millisecond) // so that a clock that goes on shows another time
	for range 2 {
		var ns int64
		var same int
		o := l.try(c, "clock")
		fmt.Sscan(text(o.Outputs), &ns, &same)
		if same != 1 || ns < before.UnixNano() || ns > after.UnixNano() {
			t.Errorf("%s, between %d and %d", text(o.Outputs), before.UnixNano(), after.UnixNano())
		}
	}
	o, err := c.Deliver([]Input{{Advance: 95 * time.Second}, {FD: l.peer(c), Data: []byte("report\n")}}, Budget{Calls: 1000, CPU: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if f := strings.Fields(text(o.Outputs)); len(f) < 4 || f[1] != "1" || f[3] != "0" {
		t.Errorf("%+v", o)
	}
}

// Whatever a copy does, it ends, says how, and reaches nothing.
func TestCopiesAreShutIn(t *testing.T) {
	l := start(t, "poll", 30000, 4)
	c := l.takeCheckpoint()
	if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.PID)); err != nil || len(open) != 0 {
		t.Errorf("the checkpoint has open files %v (%v)", open, err)
	}
	if s, err := status(c.PID); err != nil || s["Seccomp"] != "2" || s["NoNewPrivs"] != "1" {
		t.Errorf("%v (%v)", s, err)
	} else if _, err := os.Stat("/proc/self/task/" + s["TracerPid"]); err != nil {
		t.Errorf("it is not traced by this process: %v", err)
	}
	o := l.try(c, "hostile")
	if o.Status != Done || text(o.Outputs) != "bad 0\n" || text(o.Logs) != "boo\n" {
		t.Errorf("%+v: %s", o, text(o.Outputs))
	}
	for _, name := range []string{"openat", "open", "mkdir", "clone", "clone3", "execve", "ptrace", "kill", "mmap", "madvise",
		"connect", "bind", "io_uring_setup", "shmget", "memfd_create", "setuid", "prctl"} {
		if o.Refused[name] == 0 {
			t.Errorf("%s was not refused: %v", name, o.Refused)
		}
	}
	if _, err := os.Stat(l.dir + "/escaped"); err == nil {
		t.Error("a copy made a file")
	}
	if o := l.try(c, "shared"); text(o.Outputs) != "8 x\n" {
		t.Errorf("%+v", o)
	}
	if o := l.try(c, "memory"); o.Status != Done || text(o.Outputs) != "memory 1\n" {
		t.Errorf("%+v", o)
	}
	for _, w := range []struct {
		line   string
		status Status
		signal syscall.Signal
		code   int
	}{{"segv", Crashed, syscall.SIGSEGV, 0}, {"abort", Crashed, syscall.SIGABRT, 0}, {"int80", Crashed, syscall.SIGSYS, 0}, {"exit", Crashed, 0, 3},
		{"loop", Stuck, 0, 0}, {"calls", Stuck, 0, 0}, {"flood", Stuck, 0, 0}, {"block", Done, 0, 0}} {
		if o := l.try(c, w.line); o.Status != w.status || o.Signal != int(w.signal) || o.Code != w.code {
			t.Errorf("%s: %+v", w.line, o.Status)
		}
	}
	sum, _, _, faults, childless, shared, _ := l.report()
	if sum != 1 || faults != 0 || childless != 1 || shared != 0 {
		t.Errorf("the daemon has sum %d, faults %d, childless %d, shared %d", sum, faults, childless, shared)
	}
	if o := l.try(c, "add 1"); o.Status != Done || text(o.Outputs) != "sum 2\n" {
		t.Errorf("%+v", o)
	}
}

// A daemon that waits goes on to wait, for as long as it would have, and its memory and registers are what they were.
func TestTheDaemonDoesNotNotice(t *testing.T) {
	for _, how := range []string{"poll", "ppoll", "select", "epoll", "read"} {
		t.Run(how, func(t *testing.T) {
			l := start(t, how, -1, 0)
			// The kernel writes the number of the CPU into the memory of a process (rseq(2)).
			var allowed, one unix.CPUSet
			if err := unix.SchedGetaffinity(0, &allowed); err != nil {
				t.Fatal(err)
			}
			for cpu := 0; one.Count() == 0; cpu++ {
				if allowed.IsSet(cpu) {
					one.Set(cpu)
				}
			}
			if err := unix.SchedSetaffinity(l.cmd.Process.Pid, &one); err != nil {
				t.Fatal(err)
			}
			l.ask("add 0")
			time.Sleep(20 * time.Millisecond) // it is about to wait again
			before := state(t, l.cmd.Process.Pid)
			for range 10 {
				l.takeCheckpoint().Close()
			}
			for i, after := range state(t, l.cmd.Process.Pid) {
				if after != before[i] {
					t.Errorf("%s instead of %s", after, before[i])
				}
			}
			if got := l.ask("add 1"); got != "sum 2" {
				t.Error(got)
			}
			if _, _, _, faults, childless, _, _ := l.report(); faults != 0 || childless != 1 {
				t.Errorf("%d faults, childless: %d", faults, childless)
			}
		})
	}
	for _, how := range []string{"poll", "ppoll", "select", "epoll", "alarm"} {
		t.Run(how+" with a timeout", func(t *testing.T) {
			l := start(t, how, 20, 0)
			_, before, _, _, _, _, _ := l.report()
			for range 30 {
				l.takeCheckpoint().Close()
			}
			for {
				_, ticks, alarms, faults, childless, _, _ := l.report()
				if faults != 0 || childless != 1 {
					t.Fatalf("%d faults, childless: %d", faults, childless)
				}
				if how == "alarm" && alarms > 20 || how != "alarm" && ticks > before+3 {
					return
				}
				time.Sleep(50 * time.Millisecond) // it counts on
			}
		})
	}
}

// state is a digest of each part of a process's memory, and the arguments of the call in which it waits, with its registers; the number may
// have become that of restart_syscall(2).
func state(t *testing.T, pid int) (parts []string) {
	t.Helper()
	list, err := readMaps(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if b := make([]byte, m.to-m.from); !strings.HasPrefix(m.name, "[vvar") && readMemory(pid, m.from, b) == nil {
			parts = append(parts, fmt.Sprintf("%x-%x %s %s %x", m.from, m.to, m.rights, m.name, sha256.Sum256(b)))
		}
	}
	call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, arguments, _ := strings.Cut(string(call), " ")
	s, err := status(pid)
	if err != nil {
		t.Fatal(err)
	}
	return append(parts, arguments, s["SigBlk"], s["TracerPid"])
}

// Each of many checkpoints is made and taken down, and nothing is left behind.
func TestManyCheckpoints(t *testing.T) {
	n := 100
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		n = 1000
	}
	l := start(t, "alarm", 5, 64)
	var pauses []time.Duration
	for i := range n {
		c := l.takeCheckpoint()
		if o := l.try(c, "add 41"); o.Status != Done || text(o.Outputs) != "sum 42\n" {
			t.Fatalf("checkpoint %d: %+v", i, o)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		pauses = append(pauses, c.Paused)
	}
	if _, _, _, faults, childless, _, _ := l.report(); faults != 0 || childless != 1 {
		t.Errorf("%d faults, childless: %d", faults, childless)
	}
	if left := copies(t, l); len(left) > 0 {
		t.Errorf("processes %d are left", left)
	}
	slices.Sort(pauses)
	t.Logf("%d checkpoints; the daemon stood still for %v (median), %v at most", n, pauses[n/2], pauses[n-1])
}

// copies are the processes that run the program of a daemon, and are not it.
func copies(t *testing.T, l *live) (list []int) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		text, _ := os.ReadFile(name)
		var pid int
		fmt.Sscanf(name, "/proc/%d/", &pid)
		if strings.Contains(string(text), l.dir) && pid != l.cmd.Process.Pid {
			list = append(list, pid)
		}
	}
	return list
}

func gone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		for n := 0; ; n++ {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || strings.Contains(string(text), ") Z ") {
				break
			}
			if n == 1000 {
				t.Fatalf("process %d lives on", pid)
			}
			time.Sleep(10 * time.Millisecond) // the kernel ends it
		}
	}
}

// hold makes a checkpoint and an explorer that does not end, in a process of its own that a test kills.
func hold(peer, process string) {
	var pid int
	fmt.Sscan(process, &pid)
	d, err := Attach(pid)
	if err != nil {
		panic(err)
	}
	c, err := d.TakeCheckpoint()
	if err != nil {
		panic(err)
	}
	fd, err := FD(c.Files(), peer)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.PID)
	o, err := c.Deliver([]Input{{FD: fd, Data: []byte("loop\n")}}, Budget{Calls: 1000, CPU: time.Hour})
	fmt.Println(o, err)
	os.Exit(0)
}

// Whichever process is killed, the daemon goes on, and what depends on the killed one ends.
func TestProcessesThatAreKilled(t *testing.T) {
	l := start(t, "poll", 50, 0)
	for _, which := range []string{"explorer", "checkpoint", "controller"} {
		t.Run(which, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "hold", l.conn.LocalAddr().String(), fmt.Sprint(l.cmd.Process.Pid))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			lines := bufio.NewScanner(out)
			lines.Scan()
			var checkpoint int
			fmt.Sscan(lines.Text(), &checkpoint)
			var all []int
			for n := 0; len(all) != 2; n++ {
				if all = copies(t, &live{dir: l.dir, cmd: l.cmd}); n == 1000 {
					t.Fatalf("copies %d", all)
				}
				time.Sleep(10 * time.Millisecond) // they are about to be made
			}
			explorer := all[0] + all[1] - checkpoint
			switch which {
			case "explorer":
				syscall.Kill(explorer, syscall.SIGKILL)
				if !lines.Scan() {
					t.Error("the controller has ended")
				}
			case "checkpoint":
				syscall.Kill(checkpoint, syscall.SIGKILL)
				gone(t, checkpoint)
				syscall.Kill(explorer, syscall.SIGKILL)
				if !lines.Scan() || !strings.Contains(lines.Text(), ErrEnded.Error()) {
					t.Errorf("%q", lines.Text())
				}
			case "controller":
				cmd.Process.Kill()
			}
			gone(t, checkpoint, explorer)
			if _, _, _, faults, _, _, _ := l.report(); faults != 0 {
				t.Errorf("%d faults", faults)
			}
			if s, _ := status(l.cmd.Process.Pid); s["TracerPid"] != "0" {
				t.Error("the daemon is traced")
			}
		})
	}
}

// Processes of which there is no true copy are refused, with what to do.
func TestAttachRefuses(t *testing.T) {
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	refused := func(pid int, reason string) {
		t.Helper()
		if _, err := Attach(pid); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v instead of %s", err, reason)
		}
	}
	refused(1<<30, "there is no process")
	refused(os.Getpid(), "is this process")
	if os.Geteuid() != 0 {
		refused(1, "run bloodhound as that user, or as root")
	}
	l := start(t, "poll", -1, 0)
	l.ask("thread")
	refused(l.cmd.Process.Pid, "has 2 threads, but a fork copies only one")
	if _, err := l.daemon.TakeCheckpoint(); err == nil || !strings.Contains(err.Error(), "has 2 threads") {
		t.Error(err)
	}
	l = start(t, "poll", -1, 0)
	l.ask("filter")
	refused(l.cmd.Process.Pid, "start the daemon without")
	runtime.LockOSThread()
	if err := unix.PtraceSeize(sleep.Process.Pid); err != nil {
		t.Fatal(err)
	}
	refused(sleep.Process.Pid, "end that debugger first")
	if err := unix.PtraceInterrupt(sleep.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, _, err := wait(sleep.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceDetach(sleep.Process.Pid); err != nil {
		t.Fatal(err)
	}
	runtime.UnlockOSThread()
	syscall.Kill(sleep.Process.Pid, syscall.SIGSTOP)
	for {
		if s, _ := status(sleep.Process.Pid); s["State"][:1] == "T" {
			break
		}
		time.Sleep(time.Millisecond) // it is about to stop
	}
	refused(sleep.Process.Pid, "kill -CONT")
}
