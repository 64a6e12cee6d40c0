//go:build linux && amd64

package native

import (
	"debug/elf"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
)

// Features implements engine.Featured.
func (e *Engine) Features() []string { return host.Features() }

// Doctor reports what this machine offers to the engine, and what to do about what is missing.
func (e *Engine) Doctor() []engine.Check {
	ptrace, speed, notices, walls := e.ptraceChecks()
	return []engine.Check{
		{Name: "machine", OK: true, Detail: host.Describe()},
		ptrace,
		speed,
		notices,
		walls,
		outerFilterCheck(),
		openFilesCheck(),
		ownProgramCheck(),
		procCheck(),
		cpuCheck(),
		{Name: "user", OK: true, Detail: fmt.Sprintf("uid %d; no root is needed", os.Getuid())},
	}
}

// ptraceChecks start the stub, which takes ptrace, seccomp, personality, PR_SET_TSC and memory access, and look at what
// stops cost.
func (e *Engine) ptraceChecks() (ptrace, speed, notices, walls engine.Check) {
	ptrace = engine.Check{Name: "ptrace and seccomp", Required: true, Detail: "a program can be traced, filtered, and read",
		Remedy: "in a container, leave out the seccomp profile (docker run --security-opt seccomp=unconfined; in Kubernetes " +
			"seccompProfile: {type: Unconfined}); " +
			"with Yama, /proc/sys/kernel/yama/ptrace_scope must be 2 or less"}
	speed = engine.Check{Name: "speed of stops", Detail: "the engine itself runs with the TSC disabled, like the " +
		"programs of a world",
		Remedy: "runs are correct without it, but in a virtual machine each system call may cost twice as much"}
	notices = engine.Check{Name: "calls without a stop", Detail: "seccomp hands most calls over as notifications",
		Remedy: "runs are correct without it, but each system call costs 1.5 times as much; it needs Linux 5.6, " +
			"seccomp, pidfd_open and pidfd_getfd"}
	walls = engine.Check{Name: "second wall", Detail: "not looked at",
		Remedy: "programs are contained without it; a kernel with Landlock (Linux 5.13 or later, with landlock " +
			"among its security modules) would also keep a program that escaped from files and networks"}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the OS thread ends with the goroutine
		done <- func() error {
			m, err := host.NewMachine(&host.Tracer{}, host.Leaks{}, defaultSpinCPUMs, os.Getenv(ReferenceVariable) != "")
			if err != nil {
				return err
			}
			defer m.Close()
			if speed.OK = m.Slow == nil; !speed.OK {
				speed.Detail = m.Slow.Error()
			}
			vdso, err := host.NewVDSO()
			if err != nil {
				return err
			}
			defer host.FreeVDSO(vdso)
			w, err := host.Enclose(nil)
			if err != nil {
				return err
			}
			if walls.OK = w.Landlock > 0; walls.OK {
				walls.Detail = fmt.Sprintf("Landlock, version %d: worlds write no file of this machine and read only what their nodes have", w.Landlock)
			} else {
				walls.Detail = w.Why.Error()
			}
			err = m.Spawn(1, vdso)
			if notices.OK = m.Stops == ""; !notices.OK {
				notices.Detail = m.Stops
			}
			return err
		}()
	}()
	if err := <-done; err != nil {
		ptrace.Detail = err.Error()
		return ptrace, speed, notices, walls
	}
	ptrace.OK = true
	return ptrace, speed, notices, walls
}

// outerFilterCheck looks for a seccomp filter that answers calls of programs before the engine sees them.
func outerFilterCheck() engine.Check {
	c := engine.Check{Name: "calls reach the engine", OK: true, Detail: "no other seccomp filter answers them",
		Remedy: "programs that make such calls run differently than on other machines; in a container, leave out " +
			"the seccomp profile (docker run --security-opt seccomp=unconfined), and in a unit of systemd the " +
			"settings that filter system calls"}
	if answered := host.OuterFilter(); len(answered) > 0 {
		c.OK, c.Detail = false, "a seccomp filter around Bloodhound answers "+strings.Join(answered, ", ")
	}
	return c
}

// wantFiles is how many open files a world of some size needs: each written file is one.
const wantFiles = 4096

func openFilesCheck() engine.Check {
	var l unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return engine.Check{Name: "open files", OK: l.Max >= wantFiles, Detail: fmt.Sprintf("up to %d", l.Max),
		Remedy: fmt.Sprintf("raise the hard limit on open files to %d or more (ulimit -Hn, "+
			"/etc/security/limits.conf): each file that a world writes needs one",
			wantFiles)}
}

// ownProgramCheck looks at the program that drivers and checks are.
func ownProgramCheck() engine.Check {
	c := engine.Check{Name: "own program", Detail: "static: drivers and checks load no library of this machine into a run",
		Remedy: "runs are correct without it, but their trace hashes repeat only on machines with the same C " +
			"library and /etc/ld.so.cache; build bloodhound with CGO_ENABLED=0"}
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	defer f.Close()
	c.OK = !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if !c.OK {
		c.Detail = "needs the C library of this machine, which therefore becomes part of each run"
	}
	return c
}

func procCheck() engine.Check {
	c := engine.Check{Name: "/proc", Required: true, Detail: "/proc/self/fd can be read", Remedy: "mount /proc where bloodhound runs: mount -t proc proc /proc"}
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		c.Detail = err.Error()
		return c
	}
	c.OK = true
	return c
}

func cpuCheck() engine.Check {
	n := len(host.AllowedCPUs())
	return engine.Check{Name: "processors", OK: true, Detail: fmt.Sprintf("%d: as many worlds run at once", n)}
}
