package check

// Exit codes of the command line. Where several apply, the precedence is 3, 1, 4, 5, 0.
const (
	ExitHolds           = 0
	ExitViolated        = 1
	ExitUsage           = 2 // wrong usage or configuration
	ExitEngine          = 3 // the engine or the machine failed
	ExitNotReproducible = 4
	ExitUnknown         = 5
)
