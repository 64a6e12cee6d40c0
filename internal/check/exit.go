package check

import "github.com/bloodhound-dst/bloodhound/internal/exitcode"

// Exit codes of verdicts, as package exitcode has them.
const (
	ExitHolds           = exitcode.Holds
	ExitViolated        = exitcode.Violated
	ExitUsage           = exitcode.Usage
	ExitEngine          = exitcode.Engine
	ExitNotReproducible = exitcode.NotReproducible
	ExitUnknown         = exitcode.Unknown
)
