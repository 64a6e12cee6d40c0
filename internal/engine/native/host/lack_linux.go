//go:build linux && amd64

package host

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// remedies tells the user what to do if this machine, or one of the user's limits, does not give a world what it needs.
var remedies = []struct {
	errno  syscall.Errno
	remedy string
}{
	{unix.EMFILE, "raise the limit on open files, as with ulimit -n 4096: each file that a world writes needs one"},
	{unix.ENFILE, "this machine has reached its limit on open files (/proc/sys/fs/file-max): end programs that " +
		"have many open"},
	{unix.EAGAIN, "raise the limit on processes, for example with ulimit -u 4096, or the limit of the control group (pids.max)"},
	{unix.ENOMEM, "this machine is out of memory: end programs that use much of it, or run fewer workers"},
	{unix.ENOSPC, "this machine has no memory left for files: end programs that use much of it, or run fewer workers"},
}

// explained is an error with its remedy.
type explained struct{ error }

func (e explained) Unwrap() error { return e.error }

// Explain adds the remedy to an error that is the machine's, or a limit's, and not the world's. One that has it stays as it is.
func Explain(err error) error {
	if errors.As(err, new(explained)) {
		return err
	}
	for _, r := range remedies {
		// Of the files of nodes a world says itself that they are full.
		if errors.Is(err, r.errno) || (r.errno == unix.EMFILE || r.errno == unix.ENFILE) && errors.Is(err, errno.Errno(r.errno)) {
			return explained{fmt.Errorf("%w; %s", err, r.remedy)}
		}
	}
	return err
}

// meetsNoLimit is an error if the user has a hard limit that programs of a world would meet: what they find would depend on it.
func meetsNoLimit() error {
	for _, l := range []struct {
		resource int
		least    uint64
		what     string
		remedy   string
	}{
		{unix.RLIMIT_DATA, dataLimitBytes, "data of a process", "`ulimit -Hd` is 8388608 (8 GiB) or more"},
		{unix.RLIMIT_AS, unix.RLIM_INFINITY, "address space", "`ulimit -Hv` is unlimited"},
		{unix.RLIMIT_CPU, leastCPUSeconds, "CPU time", "`ulimit -Ht` is 600 or more"},
	} {
		var has unix.Rlimit
		if err := unix.Getrlimit(l.resource, &has); err != nil {
			return fmt.Errorf("getrlimit: %w", err)
		}
		if has.Max < l.least {
			return fmt.Errorf("the hard limit on %s is so low that runs would depend on it; start bloodhound where %s", l.what, l.remedy)
		}
	}
	return nil
}

// Lack is the first thing that this machine did not give when a world needed it. The world ends then: what its programs would see
// next depends on the machine.
type Lack struct{ Err error }

func (l *Lack) note(what string, err error) {
	if l == nil || l.Err != nil || err == nil {
		return
	}
	if e := Explain(err); errors.As(e, new(explained)) {
		l.Err = fmt.Errorf("%s: %w", what, e)
	}
}
