//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package contest

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the exclusive lock on a file unless another program has it. On a file system without locks nobody has.
func lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
