package project

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// onNative asks for the engine that runs the tape of what another engine has observed.
const onNative = " --engine native"

// RequireRepeats refuses a verb that needs runs to repeat for an engine whose runs happen once.
func RequireRepeats(spec *world.Spec, verb string) error {
	if spec.Engine != world.Container {
		return nil
	}
	return fmt.Errorf("`%s` needs runs that repeat, and runs of the container engine happen only once, in real time; `%s ...%s` plays "+
		"the same seed on the native engine", verb, verb, onNative)
}

// OnNativeEngine are arguments of a command that ask for the native engine.
func OnNativeEngine(arguments string) string {
	return strings.ReplaceAll(arguments, " --engine "+world.Container, "") + onNative
}
