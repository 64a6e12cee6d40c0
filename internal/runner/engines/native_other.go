//go:build !linux || !amd64

package engines

import (
	"fmt"
	"runtime"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

func newNative() (engine.Engine, error) {
	return nil, fmt.Errorf("the native engine runs Linux programs for x86-64, and this machine is %s on %s.\n"+
		"Here bloodhound can read configurations and failure files. To run a world, use a Linux x86-64 machine, virtual\n"+
		"machine or container (no root needed), for example: docker run --platform linux/amd64 -v \"$PWD\":/src -w /src golang go run ./cmd/bloodhound run",
		runtime.GOOS, runtime.GOARCH)
}
