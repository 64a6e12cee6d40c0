// Package engines has the table of engines.
package engines

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// table has a row for each engine, by its name in world.Spec.Engine.
var table = map[string]func() (engine.Engine, error){
	world.Native: newNative,
	world.InProcess: func() (engine.Engine, error) {
		return nil, fmt.Errorf("its nodes are Go code of a test, which alone can run them: run `go test` with the test's flag -sim.replay")
	},
}

// For makes the engine that runs a Spec.
func For(spec *world.Spec) (engine.Engine, error) {
	make, ok := table[spec.Engine]
	if !ok {
		return nil, fmt.Errorf("the world %s is for the engine %q, which this version does not have", spec.Name, spec.Engine)
	}
	return make()
}
