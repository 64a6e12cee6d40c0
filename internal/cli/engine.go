package cli

import (
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
)

// engineFor makes the engine that runs a Spec. Tests of this package put the fake one in its place.
var engineFor = engines.For
