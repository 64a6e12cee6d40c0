//go:build !(bloodhound_live && linux && amd64)

package checkpoint

import (
	"errors"
	"syscall"
)

func errno(n uint32) error { return syscall.Errno(n) }

// Capture is an error: see ErrNotBuilt.
func Capture(*Plan) (*Checkpoint, error) { return nil, ErrNotBuilt }

// ErrNotBuilt is the error of Take in a program that was not built with the overlay.
var ErrNotBuilt = errors.New("this program cannot take checkpoints of itself: build it for linux/amd64 with the " +
	"overlay and the build tag " + Tag)
