package cli

import "github.com/bloodhound-dst/bloodhound/internal/engine"

// newEngine makes the engine of this machine. Tests of this package put the fake one in its place.
var newEngine func() (engine.Engine, error) = hostEngine
