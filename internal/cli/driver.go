package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/hand"
	"github.com/bloodhound-dst/bloodhound/internal/selftest"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
)

// driverName is the hidden verb that engines start drivers inside a world with.
const driverName = "driver"

// StopFaultsName is the name under which programs of a world find this program to ask for a quiet period.
const StopFaultsName = "stop-faults"

// StopFaults asks for a quiet period.
func StopFaults(args []string, errs io.Writer) int { return workload.StopFaults(args, errs) }

// selfTestDriver is followed by the name of a program of package selftest.
const selfTestDriver = "selftest"

// driver runs a driver. It stays away from everything else in this package: what a process inside a world does is
// part of the run.
func driver(args []string, out io.Writer) int {
	if len(args) == 2 && args[0] == selfTestDriver && selftest.Programs[args[1]] != nil {
		if err := selftest.Programs[args[1]](out); err != nil {
			fmt.Fprintln(out, "bloodhound driver:", err)
			return check.ExitEngine
		}
		return check.ExitHolds
	}
	if len(args) > 0 && args[0] == hand.Verb {
		return hand.Main(args[1:], os.Stdin, out, os.Stderr)
	}
	if len(args) != 1 {
		fmt.Fprintln(out, "bloodhound driver: give the kind of the driver, and nothing else")
		return check.ExitUsage
	}
	return workload.Main(args[0], os.Getenv, out)
}
