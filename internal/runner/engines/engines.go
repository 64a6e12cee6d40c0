// Package engines has the table of engines.
package engines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// row is an engine.
type row struct {
	// Name is what users write, and Spec the value of world.Spec.Engine.
	Name string
	Spec string
	make func() (engine.Engine, error)
}

// Auto is the name that asks for the first engine that can run a world.
const Auto = "auto"

// table has the engines in the order in which Auto tries them. The last one runs in tests only.
var table = []row{
	{Name: "native", Spec: world.Native, make: newNative},
	{Name: "vm", Spec: world.VM, make: notYet("vm")},
	{Name: "container", Spec: world.Container, make: notYet("container")},
	{Name: world.InProcess, Spec: world.InProcess, make: func() (engine.Engine, error) {
		return nil, fmt.Errorf("its nodes are Go code of a test, which alone can run them: run `go test` with the test's flag -sim.replay")
	}},
}

func notYet(name string) func() (engine.Engine, error) {
	return func() (engine.Engine, error) {
		return nil, fmt.Errorf("this version does not have the engine %s; use --engine native", name)
	}
}

// Names lists what users may ask for.
func Names() []string {
	var names []string
	for _, r := range table {
		if r.Spec != world.InProcess {
			names = append(names, r.Name)
		}
	}
	return append(names, Auto)
}

// Choose sets the engine of a Spec to the one that users call name. For Auto it returns the name and the reason.
func Choose(spec *world.Spec, name string) (reason string, err error) {
	if name == Auto {
		name, reason = "native", "engine native: it is the first one"
	}
	i := slices.IndexFunc(table, func(r row) bool { return r.Name == name && r.Spec != world.InProcess })
	if i < 0 {
		return "", fmt.Errorf("there is no engine %q; the engines are %s", name, strings.Join(Names(), ", "))
	}
	spec.Engine = table[i].Spec
	return reason, nil
}

// For makes the engine that runs a Spec.
func For(spec *world.Spec) (engine.Engine, error) {
	for _, r := range table {
		if r.Spec == spec.Engine {
			return r.make()
		}
	}
	return nil, fmt.Errorf("the world %s is for the engine %q, which this version does not have", spec.Name, spec.Engine)
}
