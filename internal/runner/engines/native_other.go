//go:build !linux || !amd64

package engines

import (
	"fmt"
	"runtime"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

func newNative() (engine.Engine, error) {
	return nil, fmt.Errorf("the engine native runs programs of Linux on x86-64, and this machine is %s on %s\n"+
		"use a Linux x86-64 machine, virtual machine or container (no root needed), for example: docker run --platform "+
		"linux/amd64 -v \"$PWD\":/src -w /src golang go run ./cmd/bloodhound run; "+
		"docs/platforms.md says what runs here", runtime.GOOS, runtime.GOARCH)
}
