package driverfile

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	// DriversVariable names the environment variable that names the file of another program bloodhound-drivers.
	DriversVariable = "BLOODHOUND_DRIVERS_FILE"
	// DriversName is the program with the drivers that need client libraries. It is a whole driver program, which takes the place of the small one
	// in worlds that need it: engines start one program, failures record one digest, and all other worlds keep the small program.
	DriversName = "bloodhound-drivers"

	driversPath = module + "/drivers/cmd/" + DriversName
	getDrivers  = "install it with `go install " + driversPath + "@latest`, or copy it from the release archive beside bloodhound or into a " +
		"folder of PATH"
)

// For returns the path of the driver program for the worlds of a Spec: Find, or bloodhound-drivers if one of the workloads needs it. That is, in
// this order, the file that DriversVariable names, the program beside this one, or the one in PATH. Where it is missing, the error is an
// engine.Mistakes.
func For(spec *world.Spec) (string, error) {
	for i := range spec.Workloads {
		if w := &spec.Workloads[i]; kinds.IsField(w) {
			path, err := findDrivers()
			if err != nil {
				return "", engine.Mistakes{{Part: engine.PartWorkload, Name: w.Name,
					Problem: fmt.Sprintf("the driver %s is part of the program %s: %v", w.Driver, DriversName, err), Remedy: getDrivers}}
			}
			return path, nil
		}
	}
	return Find()
}

// VariableFor names the environment variable that sets the driver program for the worlds of a Spec.
func VariableFor(spec *world.Spec) string {
	for i := range spec.Workloads {
		if kinds.IsField(&spec.Workloads[i]) {
			return DriversVariable
		}
	}
	return Variable
}

func findDrivers() (string, error) {
	if path := os.Getenv(DriversVariable); path != "" {
		return named(DriversVariable, path)
	}
	path, err := program.Companion(DriversName)
	if err != nil {
		return "", err
	}
	theirs, err := buildinfo.ReadFile(path)
	if err != nil || theirs.Path != driversPath {
		return "", fmt.Errorf("%s is another program; remove it, or set %s=FILE", path, DriversVariable)
	}
	if ours, known := debug.ReadBuildInfo(); known && otherVersion(ours, theirs) {
		return "", fmt.Errorf("%s has version %s, and this program has version %s", path, version(theirs), version(ours))
	}
	return path, nil
}

// otherVersion reports whether two programs are known to have different versions.
func otherVersion(ours, theirs *debug.BuildInfo) bool {
	return version(ours) != "" && version(theirs) != "" && version(ours) != version(theirs)
}
