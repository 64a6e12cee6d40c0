package program

import (
	"errors"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
)

// Error is an error with the code that the program ends with. All other errors are the user's: exitcode.Usage.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// WithCode gives an error a code.
func WithCode(code int, err error) error { return &Error{code, err} }

// Failed marks err as a failure of the engine or the machine.
func Failed(err error) error { return WithCode(exitcode.Engine, err) }

// ErrInterrupted is the error of work that was cut short.
var ErrInterrupted = WithCode(exitcode.Unknown, errors.New("interrupted"))

// CodeOf is the exit code of an error.
func CodeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return exitcode.Usage
}
