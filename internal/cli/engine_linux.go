//go:build amd64

package cli

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
)

// hostEngine is the native engine.
func hostEngine() (engine.Engine, error) { return native.New(), nil }
