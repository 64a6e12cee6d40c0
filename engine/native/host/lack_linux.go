//go:build linux && amd64

package host

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/engine/native/fs"
)

// remedies are what to do where this machine, or a limit of the user, does not give what a world needs.
var remedies = []struct {
	errno  syscall.Errno
	remedy string
}{
	{unix.EMFILE, "raise the limit on open files, as with ulimit -n 4096: each file that a world writes takes one"},
	{unix.ENFILE, "this machine has no more open files to give (/proc/sys/fs/file-max): end what has many of them open"},
	{unix.EAGAIN, "raise the limit on processes, as with ulimit -u 4096, or that of the control group (pids.max)"},
	{unix.ENOMEM, "this machine has no more memory to give: end what takes much of it, or run fewer workers"},
	{unix.ENOSPC, "this machine has no more memory to give to files: end what takes much of it, or run fewer workers"},
}

// Explain adds the remedy to an error that is the machine's, or a limit's, and not the world's.
func Explain(err error) error {
	for _, r := range remedies {
		// Of the files of nodes a world says itself that they are full.
		if errors.Is(err, r.errno) || (r.errno == unix.EMFILE || r.errno == unix.ENFILE) && errors.Is(err, fs.Errno(r.errno)) {
			return fmt.Errorf("%w; %s", err, r.remedy)
		}
	}
	return err
}

// Lack is the first thing that this machine did not give when a world needed it. The world ends then: what its programs would see
// next depends on the machine.
type Lack struct{ Err error }

func (l *Lack) note(what string, err error) {
	if l == nil || l.Err != nil || err == nil {
		return
	}
	if e := Explain(err); e != err {
		l.Err = fmt.Errorf("%s: %w", what, e)
	}
}
