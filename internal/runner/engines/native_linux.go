//go:build amd64

package engines

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
)

func newNative() (engine.Engine, error) { return native.New(), nil }
