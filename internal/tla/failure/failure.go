// Package failure ends work on a specification from deep within, by a panic with an error that the function which began it returns.
package failure

import (
	"errors"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// failure is the value of a panic that Catch returns as an error.
type failure struct{ err error }

// Wrap converts an error to the value of a panic.
func Wrap(err error) any { return failure{err} }

// Catch calls f, and returns the error of a failure that ends it.
func Catch(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// CatchValue calls f, and returns as an error what is wrong with a value in it.
func CatchValue(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Error:
			err = errors.New(r.Message)
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
