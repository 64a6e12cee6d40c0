package engines

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
)

func newVM() (engine.Engine, error) { return vm.New(), nil }
