//go:build amd64

package cli

import (
	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native"
)

// hostEngine is the native engine.
func hostEngine() (engine.Engine, error) { return native.New(), nil }
