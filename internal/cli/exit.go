package cli

import (
	"errors"

	"github.com/bloodhound-dst/bloodhound/internal/check"
)

// exitCodes is the part of a help text on exit codes.
const exitCodes = `Exit codes: 0 all properties hold, 1 violated, 2 wrong usage or configuration, 3 engine or machine failed, 4 not reproducible, 5 unknown.`

// exitError is an error with the code that the program ends with. All other errors are the user's: check.ExitUsage.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// failed marks err as a failure of the engine or the machine.
func failed(err error) error { return &exitError{check.ExitEngine, err} }

func codeOf(err error) int {
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return check.ExitUsage
}
