package cli

import "github.com/bloodhound-dst/bloodhound/internal/program"

// exitCodes is the part of a help text on exit codes.
const exitCodes = `Exit codes: 0 all properties hold, 1 violated, 2 wrong usage or configuration, 3 engine or machine failed, 4 not reproducible, 5 unknown.`

// failed marks err as a failure of the engine or the machine.
func failed(err error) error { return program.Failed(err) }

func codeOf(err error) int { return program.CodeOf(err) }
