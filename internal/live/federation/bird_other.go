//go:build !(linux && amd64)

package federation

import (
	"context"

	"github.com/bloodhound-dst/bloodhound/internal/live/daemon"
)

// Checkpoint is an error: see daemon.ErrSystem.
func (b *BIRD) Checkpoint(context.Context) (Copy, error) { return nil, daemon.ErrSystem }
