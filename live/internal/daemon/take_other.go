//go:build !(linux && amd64)

package daemon

import "errors"

// Daemon is a live program of which checkpoints can be made.
type Daemon struct{ PID int }

// Checkpoint is a copy of a daemon that stands still, and is forked for each list of inputs.
type Checkpoint struct{ PID int }

// Attach is an error: see ErrSystem.
func Attach(int) (*Daemon, error) { return nil, ErrSystem }

// ErrSystem is the error of Attach on another system than linux/amd64.
var ErrSystem = errors.New("bloodhound takes checkpoints of daemons only on linux/amd64: run it there")
