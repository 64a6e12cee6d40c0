//go:build !linux

package engines

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func newContainer() (engine.Engine, error) {
	return nil, fmt.Errorf("the container engine runs only on Linux, with a Docker or Podman daemon that sees " +
		"this machine's files, because bloodhound itself starts nodes and drivers")
}

func containerRefuses(*world.Spec) string { return "" }
