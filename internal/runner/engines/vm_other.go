//go:build !linux || !amd64

package engines

import (
	"fmt"
	"runtime"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func newVM() (engine.Engine, error) {
	return nil, fmt.Errorf("the engine vm runs on Linux for x86-64, and this machine is %s on %s", runtime.GOOS, runtime.GOARCH)
}

func vmRefuses(*world.Spec) string { return "" }
