package engines

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func newContainer() (engine.Engine, error) { return container.New(), nil }

func containerRefuses(spec *world.Spec) string { return container.Refuses(spec) }
