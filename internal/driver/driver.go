// Package driver is the program that runs inside worlds: built-in workloads and probers, the roles of the self-test, and the parts of
// the engines container and vm that work within a container or a virtual machine.
//
// Whatever such a process does is part of the run, so this package links nothing that acts by itself when a program starts: the command
// bloodhound-driver has the same trace in each build of the same source. Where bloodhound finds no driver program, it is its own driver
// (see package driverfile).
package driver

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/hand"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/guest"
	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/selftest/roles"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
)

const (
	// Verb comes first in the arguments of a process inside a world.
	Verb = "driver"
	// SelfTest comes after Verb, and before the name of a role of the self-test.
	SelfTest = "selftest"

	// stopFaultsName is the file name under which programs in a world find this program, to ask for a period without faults.
	stopFaultsName = "stop-faults"
	// guestPath is the path of this program in a virtual machine of the engine vm, where it is process 1.
	guestPath = "/init"
)

// IsAsked reports whether args, which begin with the program's own name, belong to a process inside a world.
func IsAsked(args []string) bool {
	return filepath.Base(args[0]) == stopFaultsName || isGuest(args) || len(args) > 1 && args[1] == Verb
}

func isGuest(args []string) bool { return os.Getpid() == 1 && args[0] == guestPath }

// Main does what args ask for, and returns the exit code of the process. args begin with the program's own name. protocols are the drivers on
// client libraries, of which only the program bloodhound-drivers has any.
func Main(args []string, protocols workload.Protocols, in io.Reader, out, errs io.Writer) int {
	switch {
	case filepath.Base(args[0]) == stopFaultsName:
		return workload.StopFaults(args[1:], errs)
	case isGuest(args):
		return guest.Main(out)
	case len(args) < 2 || args[1] != Verb:
		fmt.Fprintln(errs, "bloodhound-driver: bloodhound starts this program inside worlds; there is nothing to run by hand")
		return exitcode.Usage
	}
	args = args[2:]
	switch {
	case len(args) == 2 && args[0] == SelfTest && roles.Programs[args[1]] != nil:
		if err := roles.Programs[args[1]](out); err != nil {
			fmt.Fprintln(out, "bloodhound driver:", err)
			return exitcode.Engine
		}
		return exitcode.Holds
	case len(args) > 0 && args[0] == hand.Verb:
		return hand.Main(args[1:], in, out, errs)
	case len(args) != 1:
		fmt.Fprintln(out, "bloodhound driver: give the kind of the driver, and nothing else")
		return exitcode.Usage
	}
	return workload.Main(args[0], protocols, os.Getenv, out)
}
