package console

import (
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// ExitCodes is the part of a help text on exit codes.
const ExitCodes = `Exit codes: 0 all properties hold, 1 violated, 2 wrong usage or configuration, 3 engine or machine failed, 4 not reproducible, 5 unknown.`

// Failed marks err as a failure of the engine or the machine.
func Failed(err error) error { return program.Failed(err) }

// CodeOf returns the exit code for an error.
func CodeOf(err error) int { return program.CodeOf(err) }
