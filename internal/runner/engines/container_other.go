//go:build !linux

package engines

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func newContainer() (engine.Engine, error) {
	return nil, fmt.Errorf("the container engine needs a Docker or Podman daemon that sees this machine's files, on Linux: nodes " +
		"and drivers are started by this very program")
}

func containerRefuses(*world.Spec) string { return "" }
