package checkpoint

import (
	"bytes"
	"fmt"
	"go/version"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// Tag is the build tag of programs that are built with the overlay. Without it [Take] is an error.
const Tag = "bloodhound_live"

// versions are the releases of Go whose runtime the overlay was tried with, and where the runtime has the system call.
var versions = map[string]string{
	"go1.24": "internal/runtime/syscall",
	"go1.25": "internal/runtime/syscall",
	"go1.26": "internal/runtime/syscall/linux",
}

// The order of the locks is that of the runtime: another one deadlocks with its monitor thread.
var source = template.Must(template.New("").Parse(`package runtime

import (
	syscalls "{{.}}"
	_ "unsafe"
)

//go:linkname bloodhoundFork github.com/bloodhound-dst/bloodhound/live/internal/checkpoint.fork
func bloodhoundFork(clock uintptr) (pid, errno int, stoppedNs int64) {
	world := stopTheWorldGC(stwUnknown)
	begin := nanotime()
	systemstack(func() {
		lock(&sched.lock)
		lock(&allpLock)
		lock(&mheap_.lock)
		const clone, sigchld = 56, 17
		r, _, e := syscalls.Syscall6(clone, sigchld, 0, 0, 0, 0, 0)
		pid, errno = int(r), int(e)
		unlock(&mheap_.lock)
		unlock(&allpLock)
		unlock(&sched.lock)
	})
	if pid == 0 && errno == 0 {
		memstats.enablegc = false
		sched.gcwaiting.Store(false)
		getg().m.p.ptr().status = _Prunning
		vdsoClockgettimeSym = clock
		netpollWakeSig.Store(1) // the poller's files are closed: nothing wakes it, or waits for it
		netpollWaiters.Store(0)
		sched.lastpoll.Store(0)
		getg().m.preemptoff = "" // a panic here may be recovered from
		return
	}
	stoppedNs = nanotime() - begin
	startTheWorldGC(world)
	return
}
`))

// Overlay is the file that the runtime of a release of Go gets, by its path in that release's folder: what -overlay of `go build` replaces.
// goVersion is as runtime.Version prints it.
func Overlay(goroot, goVersion string) (path string, text []byte, err error) {
	release := version.Lang(goVersion)
	where, tried := versions[release]
	if !tried {
		var known []string
		for v := range versions {
			known = append(known, v)
		}
		slices.Sort(known)
		return "", nil, fmt.Errorf("checkpoints of live processes are untested with %s: build with one of %s, "+
			"for example with GOTOOLCHAIN=%s.0",
			goVersion, strings.Join(known, ", "), known[len(known)-1])
	}
	var b bytes.Buffer
	err = source.Execute(&b, where)
	return filepath.Join(goroot, "src", "runtime", "bloodhound_fork_linux_amd64.go"), b.Bytes(), err
}
