package engines

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func newVM() (engine.Engine, error) { return vm.New(), nil }

func vmRefuses(spec *world.Spec) string { return vm.Refuses(spec) }
