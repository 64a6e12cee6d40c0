package console

import (
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// Failed marks err as a failure of the engine or the machine.
func Failed(err error) error { return program.Failed(err) }

// CodeOf returns the exit code for an error.
func CodeOf(err error) int { return program.CodeOf(err) }
