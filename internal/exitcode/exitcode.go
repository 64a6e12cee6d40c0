// Package exitcode has the exit codes of this project's programs. Where several apply, the precedence is 3, 1, 4, 5, 0.
package exitcode

// The exit codes.
const (
	Holds           = 0
	Violated        = 1
	Usage           = 2 // wrong usage or configuration
	Engine          = 3 // the engine or the machine failed
	NotReproducible = 4
	Unknown         = 5
)
