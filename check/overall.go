package check

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/engine"
)

// Exit codes of the command line.
const (
	ExitHolds           = 0
	ExitViolated        = 1
	ExitUsage           = 2 // wrong usage or configuration
	ExitEngine          = 3 // the engine or the machine failed
	ExitNotReproducible = 4
	ExitUnknown         = 5
)

// precedence of exit codes, the first wins. Wrong usage ends a command before there is anything to weigh.
var precedence = []int{ExitUsage, ExitEngine, ExitViolated, ExitNotReproducible, ExitUnknown, ExitHolds}

// Worst is the exit code that tells most of several, by precedence: 3, 1, 4, 5, 0. Of none it is ExitUnknown.
func Worst(codes ...int) int {
	for _, c := range precedence {
		if slices.Contains(codes, c) {
			return c
		}
	}
	if len(codes) == 0 {
		return ExitUnknown
	}
	return ExitEngine
}

// Overall weighs the verdicts of one run: the status of all together, and the exit code. A run that cannot repeat and
// shows no violation is not reproducible, whatever else it shows. A violation is exit code 1 until a replay has
// failed to show it again; saying so then (exit code 4) is for whoever replays.
func Overall(verdicts []engine.Verdict, repeat engine.Repeat) (engine.Status, int) {
	if len(verdicts) == 0 {
		return engine.Unknown, Worst(ExitUnknown, repeatCode(repeat))
	}
	status, codes := engine.Holds, []int{repeatCode(repeat)}
	for _, v := range verdicts {
		switch v.Status {
		case engine.Holds:
			codes = append(codes, ExitHolds)
		case engine.Violated:
			status = engine.Violated
			codes = append(codes, ExitViolated)
		default:
			if status == engine.Holds {
				status = engine.Unknown
			}
			codes = append(codes, ExitUnknown)
		}
	}
	return status, Worst(codes...)
}

func repeatCode(r engine.Repeat) int {
	if r.Reproducible {
		return ExitHolds
	}
	return ExitNotReproducible
}
